"""Models of tables with words, and what they are asked."""

from __future__ import annotations

from importlib.util import find_spec
from typing import Any

import numpy as np
from sklearn.calibration import CalibratedClassifierCV
from sklearn.compose import (
    TransformedTargetRegressor,
    make_column_selector,
    make_column_transformer,
)
from sklearn.ensemble import (
    HistGradientBoostingClassifier,
    HistGradientBoostingRegressor,
    RandomForestClassifier,
    RandomForestRegressor,
)
from sklearn.impute import SimpleImputer
from sklearn.linear_model import LogisticRegression, Ridge
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer, OneHotEncoder, StandardScaler
from sklearn.svm import SVC, SVR

from experiments.tables import Table, without, words
from noiseproof.tables import TableEncoder

LINEAR, BOOSTING, FOREST, KERNEL = "linear", "boosting", "forest", "kernel machine"
RIVALS = ("LightGBM", "XGBoost", "CatBoost")
_LEAST = 1e-6  # probability that counts
_MOST = 0.9  # share of the values that a copy of a row loses
_KINDS = 10  # of words that CatBoost codes as one-hot: its default takes minutes
_FOLDS = 3  # that make probabilities of a kernel machine's scores


def boosting(table: Table, n_trees: int) -> Any:
    """Scikit-learn's boosted trees; they take words and NaN as they are."""
    kind = (
        HistGradientBoostingClassifier
        if table.n_classes
        else HistGradientBoostingRegressor
    )
    return kind(max_iter=n_trees, early_stopping=False, random_state=0)


def linear(table: Table, *, indicators: bool = False) -> Any:
    """Logistic or ridge regression behind mean fill."""
    model = LogisticRegression(max_iter=1000) if table.n_classes else Ridge()
    return make_pipeline(TableEncoder(), SimpleImputer(add_indicator=indicators), model)


def forest(table: Table, n_trees: int) -> Any:
    """A random forest, which takes NaN, but no words."""
    kind = RandomForestClassifier if table.n_classes else RandomForestRegressor
    one_hot = OneHotEncoder(handle_unknown="ignore", sparse_output=False)
    encoder = make_column_transformer(
        (one_hot, make_column_selector(dtype_include="category")),
        remainder="passthrough",
    )
    return make_pipeline(encoder, kind(n_trees, random_state=0))


def kernel_machine(table: Table) -> Any:
    """A support vector machine with the Gaussian kernel, and probabilities."""
    if table.n_classes:
        model = CalibratedClassifierCV(SVC(), cv=_FOLDS, ensemble=False)
    else:
        model = TransformedTargetRegressor(SVR(), transformer=StandardScaler())
    return make_pipeline(TableEncoder(), SimpleImputer(), model)


def rivals(table: Table, names: tuple[str, ...], n_trees: int) -> dict[str, Any]:
    """Other packages' boosted trees, which take NaN, if they are installed."""
    found: dict[str, Any] = {}
    classify = table.n_classes > 0
    if "LightGBM" in names and find_spec("lightgbm"):
        from lightgbm import LGBMClassifier, LGBMRegressor

        found["LightGBM"] = (LGBMClassifier if classify else LGBMRegressor)(
            n_estimators=n_trees, random_state=0, n_jobs=1, verbose=-1
        )
    if "XGBoost" in names and find_spec("xgboost"):
        from xgboost import XGBClassifier, XGBRegressor

        found["XGBoost"] = (XGBClassifier if classify else XGBRegressor)(
            n_estimators=n_trees, enable_categorical=True, random_state=0, n_jobs=1
        )
    if "CatBoost" in names and find_spec("catboost"):
        from catboost import CatBoostClassifier, CatBoostRegressor

        model = (CatBoostClassifier if classify else CatBoostRegressor)(
            iterations=3 * n_trees, random_seed=0, thread_count=1, verbose=0,
            allow_writing_files=False, cat_features=words(table.X),
            one_hot_max_size=_KINDS,
        )  # fmt: skip
        found["CatBoost"] = make_pipeline(FunctionTransformer(_with_missing), model)
    return found


def _with_missing(X: Any) -> Any:
    """A word for a missing word, since CatBoost takes NaN among numbers only."""
    text = {name: X[name].astype(object).fillna("missing") for name in words(X)}
    return X.assign(**text)


def with_copies(table: Table, n_copies: int, rng: np.random.Generator) -> Table:
    """The rows, and incomplete copies; each copy of a row has a rate of its own."""
    import pandas as pd

    X, y = table
    copies = [
        without(X, rng.random(X.shape) < rng.uniform(0, _MOST, (len(y), 1)))
        for _ in range(n_copies)
    ]
    stacked = pd.concat([X, *copies], ignore_index=True)
    return Table(stacked, np.tile(y, n_copies + 1))


def answers(model: Any, X: Any, n_classes: int) -> Any:
    """Probabilities of all classes, or predicted quantities."""
    if not n_classes:
        return np.ravel(model.predict(X))
    found = np.zeros((len(X), n_classes))
    found[:, model.classes_] = model.predict_proba(X)
    return found


def scores(found: Any, y: Any) -> tuple[float, float | None]:
    """Accuracy and log-loss; or the root mean squared error, and None."""
    if found.ndim == 1:
        return float(np.mean((found - y) ** 2) ** 0.5), None
    p = np.clip(found, _LEAST, 1)
    p /= p.sum(axis=1, keepdims=True)
    hits = found.argmax(axis=1) == y
    return float(np.mean(hits)), float(-np.mean(np.log(p[np.arange(len(y)), y])))
