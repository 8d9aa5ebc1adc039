"""Our fitted models as plain ones of scikit-learn, for other exporters."""

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
    """A plain scikit-learn linear model with the same coefficients and predictions.

    Tools that know scikit-learn's own classes, such as exporters to ONNX, can take it
    from there. What cannot be carried over is our reading of NaN as "this feature is
    not there": the plain model refuses NaN, so write zeros instead, which is the same.
    A `TableEncoder` in front, as the command line puts it, becomes the scalers and
    encoders that it holds, followed by an imputer that writes these zeros; they take
    the columns of training by name, with cells of the kinds that training had. Columns
    that it coerces must hold numbers, and NaN for what it would read as missing: a
    warning names them.

    Parameters
    ----------
    model : estimator
        A fitted linear model of this package, a pipeline or search that ends in one,
        or `CorruptedCopies` of a linear model. Of `AverageOverMissing` and
        `ReducedModels` the model for complete rows is taken.

    Returns
    -------
    plain : estimator
        Classifiers with probabilities become a `LogisticRegression`, or for more than
        two classes an `SGDClassifier`, whose probabilities are one-vs-rest as ours
        are (calibrated ones always the former, with scaled weights); other classifiers
        a `LinearSVC`; regressors a `PoissonRegressor` or a `Ridge`. Of a pipeline the
        last step is replaced; nested ones are laid flat. The arrays are copies, the
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
            f"{type(model).__name__} has no coef_: only linear models have a plain "
            "counterpart."
        )
    if type(model).__module__.startswith("sklearn."):
        return deepcopy(model)
    plain = _regressor(model) if is_regressor(model) else _classifier(model)
    for name in _CARRIED:
        if hasattr(model, name):
            setattr(plain, name, deepcopy(getattr(model, name)))
    return plain


def _plain_steps(step: Any) -> list[Any]:
    """A step of a pipeline by classes of scikit-learn alone."""
    if not isinstance(step, TableEncoder):
        return [step]
    if step.coerced_:
        names = ", ".join(repr(name) for name, *_ in step.coerced_)
        warnings.warn(
            f"No class of scikit-learn coerces text: give the plain model numbers, and "
            f"NaN for missing cells, in {names}.",
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
