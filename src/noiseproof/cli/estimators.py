"""Estimators by their short names, with only the options they have."""

from __future__ import annotations

from typing import Any

import numpy as np
import typer

_FEW = 20  # so many different numbers may be classes
_OPTIONS = {"noise": "--noise", "C": "--C", "budget": "--budget", "attack": "--attack"}


def make_estimator(name: str, seed: int, **options: Any) -> Any:
    """The estimator of that name; options that are None keep its defaults."""
    from noiseproof.estimators import ESTIMATORS

    if name not in ESTIMATORS:
        raise typer.BadParameter(
            f"--model {name} is unknown: use one of {', '.join(ESTIMATORS)}."
        )
    estimator = ESTIMATORS[name]()
    known = estimator.get_params(deep=False)
    given = {key: value for key, value in options.items() if value is not None}
    for key in given.keys() - known.keys():
        raise typer.BadParameter(f"--model {name} has no {_OPTIONS[key]}.")
    if "random_state" in known:
        given["random_state"] = seed
    return estimator.set_params(**given)


def make_pipeline(estimator: Any, scale: str) -> Any:
    """The estimator behind an encoder, and behind zeros for NaN if it needs them."""
    from sklearn.impute import SimpleImputer
    from sklearn.pipeline import Pipeline
    from sklearn.utils import get_tags

    from noiseproof.tables import TableEncoder

    steps: list[tuple[str, Any]] = [("table", TableEncoder(scale))]
    if not get_tags(estimator).input_tags.allow_nan:
        zeros = SimpleImputer(strategy="constant", fill_value=0.0)
        steps.append(("missing", zeros))
    return Pipeline([*steps, ("model", estimator)])


def check_target(estimator: Any, y: Any, name: str | None) -> None:
    """Refuse quantities for classifiers and text for regressors, in one sentence."""
    from sklearn.base import is_regressor

    kind, different = y.dtype.kind, len(np.unique(y))
    if is_regressor(estimator):
        if kind not in "fiu":
            raise ValueError(
                f"The target {name!r} holds classes, such as {y[0]!s}, not numbers: "
                "use a classifier, such as --model dropout-logistic."
            )
        return
    many = different > max(_FEW, len(y) / 2 if kind in "iu" else 0)
    if kind in "fiu" and many:
        raise ValueError(
            f"The target {name!r} has {different} different numbers in {len(y)} rows, "
            "so it is a quantity rather than a class: use --model dropout-ridge, or "
            "dropout-poisson for counts."
        )
