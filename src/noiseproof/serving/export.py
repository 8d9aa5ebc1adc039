"""Export of our fitted linear models as plain scikit-learn models."""

from __future__ import annotations

import warnings
from copy import deepcopy
from typing import Any

import numpy as np
from sklearn.base import is_regressor
from sklearn.impute import SimpleImputer
from sklearn.linear_model import (
    LogisticRegression,
    PoissonRegressor,
    Ridge,
    SGDClassifier,
)
from sklearn.pipeline import make_pipeline
from sklearn.svm import LinearSVC
from sklearn.utils.validation import check_is_fitted

from noiseproof._docs import shared_docs
from noiseproof._pipelines import unwrap
from noiseproof._private import keep_loss
from noiseproof._rows import host
from noiseproof.estimators import DropoutPoissonRegressor
from noiseproof.serving.served import Served
from noiseproof.tables import TableEncoder

_CARRIED = ("n_features_in_", "feature_names_in_", "n_iter_")


@shared_docs
def as_sklearn(model: Any) -> Any:
    """Convert to a plain scikit-learn linear model with the same coefficients.

    Its predictions are the same, too. Use it for tools that only know scikit-learn's
    own classes, such as exporters to other formats.

    The plain model refuses missing values (NaN). For our models a missing feature adds
    nothing to the score, so replace NaN by zero to get the same prediction.

    A `TableEncoder` at the start of a pipeline, as the command line puts it there,
    becomes the scalers and encoders inside it, followed by an imputer that writes these
    zeros. They take the columns of training by name, with values of the same types. The
    columns that it coerces to numbers must then be numeric, with NaN for missing
    values; a warning names them.

    Parameters
    ----------
    model : estimator
        A fitted linear model of this package, a pipeline or search that ends in one, or
        `CorruptedCopies` of a linear model. For `AverageOverMissing` and
        `ReducedModels`, the model for complete rows is converted.

    Returns
    -------
    plain : estimator
        A classifier with probabilities becomes a `LogisticRegression`, or, if it has
        more than two classes and is not calibrated, an `SGDClassifier`, whose
        probabilities are one-vs-rest like ours. Other classifiers become a `LinearSVC`.
        A regressor becomes a `Ridge` or a `PoissonRegressor`. In a pipeline the last
        step is replaced, and nested pipelines are flattened. Arrays are copied; the
        other steps of a pipeline are shared.

    {See Also: to_onnx, save, linear_view}

    Examples
    --------
    >>> from noiseproof import DropoutLogisticRegression, as_sklearn
    >>> X, y = [[0.0], [1.0], [2.0]], [0, 0, 1]
    >>> model = DropoutLogisticRegression(noise=0.1).fit(X, y)
    >>> plain = as_sklearn(model)
    >>> plain
    LogisticRegression()
    >>> bool((plain.predict_proba(X) == model.predict_proba(X)).all())
    True
    """
    before, model = unwrap(model.model if isinstance(model, Served) else model)
    if before:
        steps = [part for _, step in before for part in _plain_steps(step)]
        return make_pipeline(*steps, as_sklearn(model))
    check_is_fitted(model)
    if hasattr(model, "estimator_"):
        return as_sklearn(model.estimator_)
    if not hasattr(model, "coef_"):
        raise TypeError(
            f"{type(model).__name__} has no coef_: only linear models can be converted "
            "to plain scikit-learn models."
        )
    if type(model).__module__.startswith("sklearn."):
        return deepcopy(model)
    plain = _regressor(model) if is_regressor(model) else _classifier(model)
    for name in _CARRIED:
        if hasattr(model, name):
            setattr(plain, name, deepcopy(getattr(model, name)))
    return plain


def _plain_steps(step: Any) -> list[Any]:
    """A step of a pipeline as steps of scikit-learn's own classes."""
    if not isinstance(step, TableEncoder):
        return [step]
    if step.coerced_:
        names = ", ".join(repr(name) for name, *_ in step.coerced_)
        warnings.warn(
            "scikit-learn has no class that coerces text to numbers, so the plain "
            f"model needs numbers in {names}, with NaN for missing values.",
            stacklevel=3,
        )
    zeros = SimpleImputer(strategy="constant", fill_value=0.0, keep_empty_features=True)
    return [step.encoder_, zeros.fit(np.zeros((1, len(step.get_feature_names_out()))))]


def _regressor(model: Any) -> Any:
    if isinstance(model, DropoutPoissonRegressor):
        plain = PoissonRegressor()
        keep_loss(plain)
    else:
        plain = Ridge()
    plain.coef_ = np.array(host(model.coef_))
    plain.intercept_ = host(model.intercept_)
    return plain


def _classifier(model: Any) -> Any:
    classes = np.array(host(model.classes_))
    if not hasattr(model, "predict_proba"):
        plain = LinearSVC()
    elif len(classes) == 2 or getattr(model, "calibrated", False):
        plain = LogisticRegression()
    else:
        plain = SGDClassifier(loss="log_loss")
    scale = getattr(model, "scale_", 1.0)  # of calibrated probabilities
    coef, intercept = (
        scale * np.array(host(x)) for x in (model.coef_, model.intercept_)
    )
    if len(classes) == 2 and len(coef) == 2:  # scikit-learn has one row for two classes
        coef, intercept = coef[1:] - coef[:1], intercept[1:] - intercept[:1]
    plain.classes_, plain.coef_, plain.intercept_ = classes, coef, intercept
    return plain
