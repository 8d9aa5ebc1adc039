"""Which of several models to take, if this is what will happen to the features."""

from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.stats import t as student
from sklearn.base import clone, is_classifier
from sklearn.model_selection import check_cv

from noiseproof._sklearn import _safe_indexing
from noiseproof.evaluation.curves import robustness_curve
from noiseproof.evaluation.models import as_scorer
from noiseproof.evaluation.progress import progress_bar
from noiseproof.evaluation.results import Result, frozen

Scores = NDArray[np.float64]


@dataclass(frozen=True, repr=False, eq=False)
class Contest(Result):
    """What `contest` returns: scores by contender and fold, and what they cost.

    Attributes
    ----------
    contenders : tuple of str
        Names, in the order given.
    clean, damaged : array of shape (n_contenders, n_folds)
        Score on the held-out rows as they are, and after what was expected.
    fit_seconds, predict_seconds : array of shape (n_contenders,)
        Mean time of a fit, and of a prediction for 1,000 damaged rows.
    failed : dict of str to str
        Contenders that could not be fitted or asked, with the reason.
    expected : str
        What happened to the held-out rows.
    metric : str
        Name of the score.
    confidence : float
        Confidence at which contenders count as different.
    """

    contenders: tuple[str, ...]
    clean: Scores
    damaged: Scores
    fit_seconds: Scores
    predict_seconds: Scores
    failed: Mapping[str, str]
    expected: str
    metric: str
    confidence: float

    @property
    def best(self) -> str:
        """The contender with the highest mean score under damage."""
        return self.contenders[int(self.damaged.mean(axis=1).argmax())]

    @property
    def level_with_best(self) -> list[str]:
        """Contenders whose folds do not tell them apart from the best, without it.

        Differences are taken fold by fold. Folds share training rows, so their variance
        is raised as Nadeau and Bengio (2003) propose.
        """
        best = self.contenders.index(self.best)
        k = self.damaged.shape[1]
        gaps = self.damaged[best] - self.damaged
        error = np.sqrt((1 / k + 1 / max(1, k - 1)) * gaps.var(axis=1, ddof=1))
        reach = student.ppf(0.5 + self.confidence / 2, k - 1) * error
        return [
            name
            for i, name in enumerate(self.contenders)
            if i != best and gaps[i].mean() <= reach[i]
        ]

    @property
    def verdict(self) -> str:
        """The outcome in one or two sentences."""
        i = self.contenders.index(self.best)
        rivals = self.level_with_best
        text = (
            f"{self.best} is best under {self.expected}: {self.metric} "
            f"{self.damaged[i].mean():.3f}, {self.clean[i].mean():.3f} on clean rows."
        )
        if not rivals:
            return text
        return f"{text} The folds show no difference to {', '.join(rivals)}."

    def _title(self) -> str:
        return f"{self.metric} under {self.expected}, {self.damaged.shape[1]} folds"

    def _columns(self) -> dict[str, Any]:
        return {
            "contender": self.contenders,
            "damaged": self.damaged.mean(axis=1),
            "± s.e.": self.damaged.std(axis=1, ddof=1) / np.sqrt(self.damaged.shape[1]),
            "clean": self.clean.mean(axis=1),
            "fit s": self.fit_seconds,
            "predict s/1000": self.predict_seconds,
        }

    def _overview(self) -> dict[str, Any]:
        order = np.argsort(-self.damaged.mean(axis=1), kind="stable")
        columns = self._columns()
        lost = self.clean.mean(axis=1).max() - self.clean.mean(axis=1)
        columns["lost on clean"] = lost
        return {name: np.asarray(column)[order] for name, column in columns.items()}


def contest(
    contenders: Mapping[str, Any],
    X: Any,
    y: Any,
    perturb: Any,
    level: float,
    *,
    scoring: Any = None,
    cv: Any = 5,
    n_repeats: int = 3,
    random_state: Any = 0,
    confidence: float = 0.95,
    progress: Any = None,
    **options: Any,
) -> Contest:
    """Cross-validate models for what is expected to happen to their features.

    Every contender is trained on clean folds and judged on held-out rows, as they are
    and after the perturbation; all contenders see the same rows with the same cells
    gone. One that cannot be fitted is left out, with the reason in `failed`.

    Parameters
    ----------
    contenders : dict of str to estimator
        Unfitted estimators that take X as it is.
    X : array-like, sparse matrix or data frame of shape (n_samples, n_features)
        Rows.
    y : array-like of shape (n_samples,)
        Labels or targets.
    perturb, level
        What is expected, as in `robustness_curve`.
    scoring : str, scorer or callable, default=None
        The metric; None is accuracy for classifiers and R² for regressors.
    cv : int, splitter or iterable, default=5
        Folds, stratified for classifiers.
    n_repeats : int, default=3
        Draws of the perturbation for each fold.
    random_state : int, default=0
        Seed of the perturbation.
    confidence : float, default=0.95
        At which contenders count as different.
    progress : bool, callable or None, default=None
        As in `robustness_curve`.
    **options : dict
        Further options of `robustness_curve`, such as `deleted_as` or `space`.

    Returns
    -------
    contest : Contest
        Scores and costs, the best contender and a verdict.

    Examples
    --------
    >>> from sklearn.datasets import load_digits
    >>> from sklearn.linear_model import LogisticRegression
    >>> from noiseproof import DropoutLogisticRegression
    >>> from noiseproof.evaluation import contest
    >>> X, y = load_digits(return_X_y=True)
    >>> contenders = {
    ...     "plain": LogisticRegression(C=10.0, max_iter=1000),
    ...     "dropout": DropoutLogisticRegression(0.2, C=10.0),
    ... }
    >>> contest(contenders, X / 16, y, "delete", 0.5, cv=3).best
    'dropout'
    """
    classify = is_classifier(next(iter(contenders.values())))
    if scoring is None:
        scoring = "accuracy" if classify else "r2"
    watch = _Watch(as_scorer(scoring))
    folds = list(check_cv(cv, y, classifier=classify).split(X, y))
    alive, failed = dict(contenders), {}
    scores: dict[str, list[Scores]] = {name: [] for name in contenders}
    fit_seconds = dict.fromkeys(contenders, 0.0)
    label = str(perturb)
    with progress_bar(progress, len(folds) * len(contenders)) as tick:
        for train, test in folds:
            rows, wanted = _safe_indexing(X, test), np.asarray(y)[test]
            for name, contender in list(alive.items()):
                try:
                    start = time.perf_counter()
                    known = _safe_indexing(X, train), np.asarray(y)[train]
                    model = clone(contender).fit(*known)
                    fit_seconds[name] += time.perf_counter() - start
                    watch.name = name
                    curve = robustness_curve(
                        {name: model}, rows, wanted, perturb, [0, level],
                        scoring=watch, n_repeats=n_repeats, random_state=random_state,
                        progress=False, **options,
                    )  # fmt: skip
                except (ValueError, TypeError, AttributeError, MemoryError) as error:
                    failed[name] = str(error)
                    del alive[name]
                else:
                    scores[name].append(curve.mean[0])
                    label = curve.label
                tick()
    if not alive:
        raise ValueError(f"No contender could be judged: {failed}.")
    names = tuple(alive)
    table = np.array([scores[name] for name in names])  # contender, fold, level
    return Contest(
        names,
        frozen(table[:, :, 0]),
        frozen(table[:, :, 1]),
        frozen([fit_seconds[name] / len(folds) for name in names]),
        frozen([watch.per_thousand(name) for name in names]),
        failed,
        f"{label} {level:g}",
        scoring if isinstance(scoring, str) else getattr(scoring, "__name__", "score"),
        confidence,
    )


class _Watch:
    """A score that remembers how long predictions took, by contender."""

    def __init__(self, score: Any):
        self.score = score
        self.name = ""
        self.seconds: dict[str, float] = {}
        self.rows: dict[str, int] = {}

    def __call__(self, model: Any, X: Any, y: Any) -> float:
        start = time.perf_counter()
        value = self.score(model, X, y)
        took = time.perf_counter() - start
        self.seconds[self.name] = self.seconds.get(self.name, 0.0) + took
        self.rows[self.name] = self.rows.get(self.name, 0) + len(y)
        return float(value)

    def per_thousand(self, name: str) -> float:
        return 1000 * self.seconds[name] / self.rows[name]
