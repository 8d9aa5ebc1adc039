"""Models that average over missing values, as the estimates of costs see them."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, is_regressor
from sklearn.pipeline import Pipeline
from sklearn.utils.validation import check_is_fitted

from noiseproof._pipelines import Steps, transform, unwrap
from noiseproof._rows import density
from noiseproof.conditionals import Conditional, holes
from noiseproof.groups import feature_names

Array = NDArray[np.float64]

N_DRAWS = 20
UNLIKELY = 1e-6  # log-loss has no bound
SCORINGS = ("accuracy", "log_loss", "squared_error")


@dataclass(frozen=True)
class Averaged:
    """A model for incomplete rows, and the conditional from which it draws values.

    `steps` are the steps of a pipeline before the model. All rows here have gone
    through them.
    """

    model: Any
    law: Any
    steps: Steps
    outer: Any  # the model that was given, or the last step of it

    @classmethod
    def of(cls, model: Any) -> Averaged:
        """Find the conditional of a model, a pipeline, or a vote of such models.

        For a vote, take the first member that has one.
        """
        steps, last = unwrap(model)
        for one in (last, *_members(last)):
            law = getattr(one, "conditional_", None)
            if hasattr(law, "draws"):
                break
        else:
            if isinstance(last, BaseEstimator):
                check_is_fitted(last)
            raise TypeError(
                f"{type(last).__name__} does not average over missing values, so their "
                "cost cannot be estimated. Wrap the model, and fit the wrapper on the "
                "training rows: AverageOverMissing(FrozenEstimator(model)).fit(X, y)."
            )
        if getattr(last, "levels_", ()):
            raise TypeError(
                "The model predicts a quantile, which the squared error does not "
                "measure; pass a model that predicts the mean."
            )
        if not (hasattr(last, "predict_proba") or is_regressor(last)):
            raise TypeError(
                f"{type(last).__name__} has no predict_proba, so its score cannot be "
                "estimated without labels. Calibrate the classifier first, for example "
                "with CalibratedClassifierCV."
            )
        outer = model.steps[-1][1] if isinstance(model, Pipeline) else model
        return cls(last, law, steps, outer)

    @property
    def classes(self) -> Any:
        """Labels of a classifier; None for a regressor."""
        return self.model.classes_ if hasattr(self.model, "predict_proba") else None

    def kept_aside(self) -> tuple[Averaged, Any, NDArray[Any]] | None:
        """A model fitted without some training rows, these rows, and their targets.

        None if no rows were held out. Members of a vote that were fitted on the same
        rows with the same seed have held out the same rows. A member that has held out
        none is used as it is, although it was fitted on these rows, too.
        """
        for one in (self.outer, self.model):
            if hasattr(one, "_kept_aside"):
                found = one._kept_aside()
                if found is None:
                    return None
                without, X, targets = found
                inner = Averaged.of(without)
                # X has gone through the steps before `one`, but today's rows have not
                inside, _ = unwrap(one)
                before = self.steps[: len(self.steps) - len(inside)]
                whole = replace(inner, steps=before + inner.steps)
                return whole, inner.read(X), targets
        members = _members(self.model) if self.classes is not None else []
        kept = [getattr(one, "_kept_aside", lambda: None)() for one in members]
        there = [one for one in kept if one is not None]
        if not there:
            return None
        first, X, places = there[0]
        own = codes_of(self.law, X)
        for _, others, _ in there:
            if not np.array_equal(own, codes_of(self.law, others), equal_nan=True):
                return None
        models = [
            member if one is None else one[0]
            for member, one in zip(members, kept, strict=True)
        ]
        vote = _Vote(models, self.model.weights, self.classes)
        law = first.conditional_
        return Averaged(vote, law, self.steps, vote), X, self.classes[places]

    def read(self, X: Any) -> Any:
        """Rows as the model gets them, after the steps of its pipeline."""
        if density(X) is not None:
            raise TypeError(
                "X is a sparse matrix, in which missing values cannot be told from "
                "zeros; pass a dense array or a data frame with NaN."
            )
        shape = np.shape(X)
        if len(shape) != 2:
            raise ValueError(
                f"X must have rows and columns; got the shape {shape}. A single row "
                "has the shape (1, n_features)."
            )
        X = transform(self.steps, X)
        return X if hasattr(X, "columns") else np.asarray(X)

    def names(self, X: Any) -> list[str]:
        """Names of the columns after the steps, as these tell them."""
        names = feature_names(self.steps[0][1] if self.steps else self.model, X)
        try:
            for _, step in self.steps:
                names = list(step.get_feature_names_out(names))
        except (AttributeError, ValueError):  # a step that does not tell
            names = feature_names(self.model, self.read(X))
        return [str(name) for name in names]

    def targets(self, y: Any) -> NDArray[Any]:
        """Read targets, and refuse those that the model cannot have."""
        y = np.asarray(y)
        if y.ndim != 1:
            raise ValueError(f"y must have one dimension; got the shape {y.shape}.")
        values = y.tolist()
        if missing := sum(value is None or value != value for value in values):
            raise ValueError(f"y has {missing:,} missing values; leave out these rows.")
        if self.classes is None:
            try:
                return y.astype(np.float64)
            except (TypeError, ValueError):
                raise ValueError("y must be numbers for a regressor.") from None
        classes = self.classes.tolist()
        if values and not set(values) & set(classes):
            raise ValueError(
                f"y has none of the classes of the model, such as {classes[0]!r}; got "
                f"{values[0]!r}."
            )
        return y

    def answers(self, X: Any) -> Array:
        """Probabilities (n, k), or predictions (n, 1)."""
        if self.classes is not None:
            return np.asarray(self.model.predict_proba(X), dtype=np.float64)
        found = np.asarray(self.model.predict(X), dtype=np.float64)
        if found.ndim > 1:
            raise TypeError("The model has several targets; pass a model with one.")
        return found[:, None]

    def scoring(self, scoring: str | None) -> str:
        """Check the metric that was asked for, or choose the default."""
        legal = SCORINGS[:2] if self.classes is not None else SCORINGS[2:]
        if scoring is not None and scoring not in legal:
            raise ValueError(
                f"scoring must be {' or '.join(map(repr, legal))} for a "
                f"{'regressor' if self.classes is None else 'classifier'}; got "
                f"{scoring!r}."
            )
        return scoring or legal[0]


class _Vote:
    """Weighted mean of probabilities, as in `VotingClassifier`; classes are numbers."""

    def __init__(self, models: Any, weights: Any, classes: Any):
        self.models, self.weights, self.classes_ = models, weights, classes

    def predict_proba(self, X: Any) -> Array:
        """Probabilities of all classes; zero for those that a model has not seen."""
        found = np.zeros((len(self.models), X.shape[0], len(self.classes_)))
        for own, model in zip(found, self.models, strict=True):
            own[:, model.classes_] = model.predict_proba(X)
        return np.asarray(np.average(found, axis=0, weights=self.weights))


def _members(model: Any) -> list[Any]:
    """The members of a vote; none for other models."""
    return list(getattr(model, "estimators_", []))


class Drawn:
    """Draws of the missing values of rows, and the model's answers for each draw.

    `answers` (n, K, k), `weights` (n, K) and `codes` (n, K, d) have a place for each
    draw. If a row has fewer draws than others, its remaining weights are zero.
    """

    def __init__(self, averaged: Averaged, X: Any):
        wide = {"wide": True} if isinstance(averaged.law, Conditional) else {}
        n_draws = max(getattr(averaged.model, "n_draws", 0), N_DRAWS)
        found = averaged.law.draws(X, n_draws, **wide)
        n = X.shape[0]
        counts = np.bincount(found.origin, minlength=n)
        starts = np.cumsum(counts) - counts
        place = np.arange(counts.max(initial=1))
        there = place < counts[:, None]
        self.draw = np.where(there, starts[:, None] + place, starts[:, None])
        self.weights = np.where(there, found.weights[self.draw], 0.0)
        self.rows = found.rows
        self.answers = averaged.answers(found.rows)[self.draw]
        self.codes = codes_of(averaged.law, found.rows)[self.draw]
        self.is_number = numbers_of(averaged.law, self.codes.shape[-1])
        self.missing = holes(X)

    def risks(self, scoring: str) -> tuple[Array, Array]:
        """Expected losses of the rows as they are, and if nothing were missing.

        For squared errors the noise of the target is left out, which is not known.
        """
        mean = np.einsum("nk,nkc->nc", self.weights, self.answers)
        if scoring == "squared_error":
            apart = (self.answers - mean[:, None])[..., 0] ** 2
            return np.einsum("nk,nk->n", self.weights, apart), np.zeros(len(mean))
        each = risk(self.answers, scoring)
        return risk(mean, scoring), np.einsum("nk,nk->n", self.weights, each)


def codes_of(law: Any, rows: Any) -> Array:
    """Values of rows as numbers; equal words get equal numbers."""
    cells = getattr(law, "cells_", None)
    found = rows if cells is None else cells.codes(rows)
    return np.asarray(found, dtype=np.float64)


def numbers_of(law: Any, d: int) -> NDArray[np.bool_]:
    """Which columns are numeric."""
    cells = getattr(law, "cells_", None)
    return np.ones(d, dtype=bool) if cells is None else cells.is_number


def risk(answers: Array, scoring: str) -> Array:
    """The loss that a classifier expects of its own answers, over their last axis."""
    if scoring == "accuracy":
        return np.asarray(1.0 - answers.max(axis=-1))
    likely = np.maximum(answers, UNLIKELY)
    return np.asarray(-np.einsum("...c,...c->...", answers, np.log(likely)))


def losses_by_belief(answers: Array, beliefs: Array, scoring: str) -> Array:
    """The losses of answers that are expected by somebody who gives other answers.

    For squared errors the noise of the target is left out.
    """
    if scoring == "squared_error":
        return np.asarray((answers - beliefs)[:, 0] ** 2)
    if scoring == "accuracy":
        return np.asarray(
            1.0 - beliefs[np.arange(len(beliefs)), answers.argmax(axis=1)]
        )
    likely = np.maximum(answers, UNLIKELY)
    return np.asarray(-np.einsum("nc,nc->n", beliefs, np.log(likely)))


def losses(answers: Array, y: NDArray[Any], classes: Any, scoring: str) -> Array:
    """The actual losses of answers, given the targets."""
    if classes is None:
        return (answers[:, 0] - np.asarray(y, dtype=np.float64)) ** 2
    hit = np.equal.outer(y, classes)
    if scoring == "accuracy":
        return 1.0 - hit[np.arange(len(y)), answers.argmax(axis=1)]
    # no hit: a class that the model does not know
    likely = np.where(hit.any(axis=1), (answers * hit).sum(axis=1), 0.0)
    return -np.log(np.maximum(likely, UNLIKELY))
