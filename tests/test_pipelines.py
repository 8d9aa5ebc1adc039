"""Whether a model accepts missing values, against trying it."""

import warnings

import numpy as np
import pytest
from sklearn.calibration import CalibratedClassifierCV
from sklearn.compose import (
    ColumnTransformer,
    TransformedTargetRegressor,
    make_column_transformer,
)
from sklearn.decomposition import PCA
from sklearn.ensemble import (
    BaggingClassifier,
    HistGradientBoostingClassifier,
    HistGradientBoostingRegressor,
    RandomForestClassifier,
    VotingClassifier,
)
from sklearn.frozen import FrozenEstimator
from sklearn.impute import MissingIndicator, SimpleImputer
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline, make_union
from sklearn.preprocessing import FunctionTransformer, OneHotEncoder, StandardScaler

from noiseproof import (
    AverageOverMissing,
    ConformalRegressor,
    DropoutLogisticRegression,
)
from noiseproof._pipelines import takes_nan
from noiseproof.tables import TableEncoder

TREES = HistGradientBoostingClassifier(max_iter=2)
TREES_OF_A_QUANTITY = HistGradientBoostingRegressor(max_iter=2)
LINEAR = LogisticRegression()
SCALED = make_pipeline(StandardScaler(), TREES)
MODELS = [
    TREES,
    RandomForestClassifier(3),
    LINEAR,
    DropoutLogisticRegression(),
    AverageOverMissing(LINEAR, "donors"),
    SCALED,
    make_pipeline(SCALED),
    make_pipeline(None, "passthrough", TREES),
    make_pipeline(StandardScaler(), LINEAR),
    make_pipeline(PCA(2), TREES),
    make_pipeline(SimpleImputer(), PCA(2), LINEAR),
    make_pipeline(make_pipeline(StandardScaler(), SimpleImputer()), LINEAR),
    make_pipeline(TableEncoder(), TREES),
    make_pipeline(TableEncoder(), LINEAR),
    make_pipeline(FunctionTransformer(np.negative), TREES),
    make_pipeline(FunctionTransformer(np.negative, validate=True), TREES),
    make_pipeline(make_union(StandardScaler(), MissingIndicator()), TREES),
    make_pipeline(make_union(SimpleImputer(), MissingIndicator()), LINEAR),
    make_pipeline(make_column_transformer((StandardScaler(), [0, 1])), TREES),
    make_pipeline(make_column_transformer((PCA(1), [0, 1])), TREES),
    make_pipeline(
        make_column_transformer(
            (SimpleImputer(), [0, 1]), (OneHotEncoder(handle_unknown="ignore"), [2])
        ),
        LINEAR,
    ),
    make_pipeline(
        ColumnTransformer([("i", SimpleImputer(), [0])], remainder="passthrough"),
        LINEAR,
    ),
    CalibratedClassifierCV(SCALED, cv=2),
    CalibratedClassifierCV(cv=2),
    GridSearchCV(SCALED, {"histgradientboostingclassifier__max_depth": [1, 2]}, cv=2),
    GridSearchCV(LINEAR, {"C": [1.0]}, cv=2),
    VotingClassifier([("a", TREES), ("b", TREES)]),
    BaggingClassifier(TREES, 2),
    TransformedTargetRegressor(TREES_OF_A_QUANTITY),
    TransformedTargetRegressor(),
    ConformalRegressor(make_pipeline(StandardScaler(), TREES_OF_A_QUANTITY)),
]


@pytest.mark.parametrize("model", MODELS, ids=lambda model: str(model)[:60])
def test_takes_nan_is_what_fitting_shows(model, rng):
    X = np.round(rng.normal(size=(60, 4)), 1)
    y = (X[:, 0] > 0).astype(int)
    X[::7, 1], X[::5, 2] = np.nan, np.nan
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # searches warn before they raise
            found = model.fit(X, y).predict(X)
        accepted = bool(np.isfinite(found).all())
    except ValueError:
        accepted = False
    assert takes_nan(model) == accepted
    assert takes_nan(FrozenEstimator(model)) == accepted
