"""Online dropout descent as an estimator."""

from __future__ import annotations

from numbers import Integral, Real
from typing import Any, ClassVar, Self

import numpy as np
from sklearn.model_selection import train_test_split
from sklearn.utils import check_random_state

from noiseproof._docs import shared_docs
from noiseproof._marginal import OnlineState, Patience
from noiseproof._private import Interval, StrOptions, check_parameters
from noiseproof._rows import (
    Array,
    read_training,
    read_weights,
    remember_missing,
    zero_missing,
)
from noiseproof.estimators.linear import LinearClassifier
from noiseproof.noise import Dropout, as_noise


@shared_docs
class DropoutSGDClassifier(LinearClassifier):
    """Online linear classifier by dropout descent, for streams and data out of core.

    Each row moves the weights of its own features by η g / H, with H the Fisher
    information of each feature so far: rare features take large steps, as dropout
    regularisation asks for (Wager et al. 2013, eq. 16-17). η = (1 - δ) / δ for the
    dropout rate δ. A pass over the data in chunks by `partial_fit` gives the same bits
    as one call.

    Parameters
    ----------
    noise : float or Dropout, default=0.5
        Dropout rate δ in (0, 1), or one per feature.
    C : float, default=0.01
        1 / C is where H starts: the smaller, the more cautious the first steps.
    loss : {"log_loss", "hinge"}, default="log_loss"
        The loss.
    rule : {"dropout", "adagrad"}, default="dropout"
        Whether to divide by H or by the root of the summed squared slopes.
    average : bool, default=False
        Whether `coef_` is the mean over all steps rather than the last weights.
    {fit_intercept}
    max_iter : int, default=5
        Passes over the data in `fit`.
    tol : float or None, default=1e-3
        `fit` stops when the score (early stopping) or the mean loss has not improved
        by this much for `n_iter_no_change` passes; None makes all passes.
    shuffle : bool, default=True
        Whether `fit` shuffles the rows before each pass.
    early_stopping : bool, default=False
        Whether to judge progress on a held-out part of the data.
    validation_fraction : float, default=0.1
        The part that is held out.
    n_iter_no_change : int, default=2
        Passes without improvement before `fit` stops.
    random_state : int, RandomState instance or None, default=None
        Seed of shuffling and of the held-out part.
    class_weight : dict, "balanced" or None, default=None
        Weight of the rows of each class; "balanced" in `fit` only.
    warm_start : bool, default=False
        Whether `fit` goes on from the last state.
    {missing, verbose}

    Attributes
    ----------
    {coef_, intercept_, classes_}
    n_iter_ : int
        Passes made by `fit`.
    t_ : int
        Rows seen.

    See Also
    --------
    DropoutLogisticRegression : The optimum, for rows that fit in memory.
    RobustPerceptron : Online learning for the worst case.

    {References: Wager 2013}

    Examples
    --------
    >>> from sklearn.datasets import load_digits
    >>> from noiseproof import DropoutSGDClassifier
    >>> X, y = load_digits(return_X_y=True)
    >>> model = DropoutSGDClassifier(random_state=0).fit(X[:1000] / 16, y[:1000])
    >>> model.score(X[1000:] / 16, y[1000:]) > 0.85
    True
    """

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        "noise": [Real, Dropout],
        "C": [Interval(Real, 0, None, closed="neither")],
        "loss": [StrOptions({"log_loss", "hinge"})],
        "rule": [StrOptions({"dropout", "adagrad"})],
        "average": ["boolean"],
        "fit_intercept": ["boolean"],
        "max_iter": [Interval(Integral, 1, None, closed="left")],
        "tol": [Interval(Real, 0, None, closed="left"), None],
        "shuffle": ["boolean"],
        "early_stopping": ["boolean"],
        "validation_fraction": [Interval(Real, 0, 1, closed="neither")],
        "n_iter_no_change": [Interval(Integral, 1, None, closed="left")],
        "random_state": ["random_state"],
        "class_weight": [dict, StrOptions({"balanced"}), None],
        "warm_start": ["boolean"],
        "missing": [StrOptions({"allow", "warn", "error"})],
        "verbose": ["verbose"],
    }

    def __init__(
        self,
        noise: Any = 0.5,
        *,
        C: float = 0.01,
        loss: str = "log_loss",
        rule: str = "dropout",
        average: bool = False,
        fit_intercept: bool = True,
        max_iter: int = 5,
        tol: float | None = 1e-3,
        shuffle: bool = True,
        early_stopping: bool = False,
        validation_fraction: float = 0.1,
        n_iter_no_change: int = 2,
        random_state: Any = None,
        class_weight: Any = None,
        warm_start: bool = False,
        missing: str = "allow",
        verbose: int = 0,
    ):
        self.noise = noise
        self.C = C
        self.loss = loss
        self.rule = rule
        self.average = average
        self.fit_intercept = fit_intercept
        self.max_iter = max_iter
        self.tol = tol
        self.shuffle = shuffle
        self.early_stopping = early_stopping
        self.validation_fraction = validation_fraction
        self.n_iter_no_change = n_iter_no_change
        self.random_state = random_state
        self.class_weight = class_weight
        self.warm_start = warm_start
        self.missing = missing
        self.verbose = verbose

    def _rate(self, d: int) -> Array:
        """η of each feature: (1 - δ) / δ for the dropout rule, 1 for AdaGrad's."""
        noise = as_noise(self.noise)
        noise.check(d)
        if noise.group_labels(d) is not None:
            raise ValueError(
                "DropoutSGDClassifier learns each feature by itself, so its noise "
                "cannot have groups; use DropoutLogisticRegression or DropoutSVC."
            )
        delta = np.broadcast_to(np.asarray(noise.level, dtype=np.float64), d)
        if np.any(delta <= 0):
            raise ValueError(
                "DropoutSGDClassifier needs a dropout rate above 0: its step size is "
                f"(1 - rate) / rate; got noise={self.noise!r}."
            )
        eta = (1 - delta) / delta if self.rule == "dropout" else np.ones(d)
        return np.ascontiguousarray(eta)

    def _clean(self, X: Any, *, afresh: bool) -> Any:
        """Missing entries as zeros, by the policy; what was missing is remembered."""
        return zero_missing(X) if remember_missing(self, X, afresh=afresh) else X

    def _begin(self, d: int) -> None:
        k = 1 if len(self.classes_) == 2 else len(self.classes_)
        self._state = OnlineState(k, d, prior=1 / self.C)

    def _learn(self, X: Any, labels: Any, weights: Array, order: Any) -> float:
        return self._state.learn(
            *(X, labels, weights, order),
            rate=self._rate(X.shape[1]),
            hinge=self.loss == "hinge",
            adagrad=self.rule == "adagrad",
            intercept=self.fit_intercept,
        )

    def _publish(self) -> None:
        state = self._state
        last = (state.w.copy(), state.b[:, 0].copy())
        self.coef_, self.intercept_ = state.average() if self.average else last
        self.t_ = state.t

    def partial_fit(
        self, X: Any, y: Any, classes: Any = None, sample_weight: Any = None
    ) -> Self:
        """Update the model with more rows, in one pass and in the order given.

        {(X, y, classes, sample_weight) -> self}
        """
        check_parameters(self)
        first = not hasattr(self, "_state")
        X, y = read_training(self, X, y, reset=first)
        labels = self._encode_batch(y, classes, first=first)
        weights = read_weights(sample_weight, X)
        if self.class_weight == "balanced":
            raise ValueError("class_weight='balanced' needs all data at once: use fit.")
        weights = weights * self._class_weights(labels, weights)
        X = self._clean(X, afresh=first)
        if first:
            self._begin(X.shape[1])
        self._learn(X, labels, weights, np.arange(X.shape[0]))
        self._publish()
        return self

    def fit(self, X: Any, y: Any) -> Self:
        """Pass over the data several times.

        There is no `sample_weight` here: an online pass over a row of weight 2 is not
        a pass over two rows. `partial_fit` takes weights.

        {(X, y) -> self}
        """
        check_parameters(self)
        again = self.warm_start and hasattr(self, "_state")
        X, y = read_training(self, X, y, reset=not again)
        labels = self._encode(y)
        self._rate(X.shape[1])
        if not again:
            self._begin(X.shape[1])
        X = self._clean(X, afresh=not again)
        weights = self._class_weights(labels, np.ones(len(y)))
        self._passes(X, labels, weights)
        return self

    def _passes(self, X: Any, labels: Any, weights: Array) -> None:
        """Learn from all rows until the cost stops falling."""
        rng = check_random_state(self.random_state)
        rows, held_out = np.arange(len(labels)), None
        if self.early_stopping:
            part = self.validation_fraction
            rows, held_out = train_test_split(
                rows, test_size=part, random_state=rng, stratify=labels
            )
        progress = Patience(self.tol, self.n_iter_no_change)
        for n_iter in range(1, self.max_iter + 1):
            order = rng.permutation(rows) if self.shuffle else rows
            cost = self._learn(X, labels, weights, order) / len(rows)
            self._publish()
            if held_out is not None:
                scores = np.asarray(X[held_out] @ self.coef_.T) + self.intercept_
                wrong = self._winners(scores) != labels[held_out]
                cost = float(np.mean(wrong))
            self.n_iter_ = n_iter
            if self.verbose:
                print(f"[{type(self).__name__}] pass {n_iter}  cost {cost:.6f}")
            if progress.stalled(cost):
                break
