"""Online learning with adaptive dropout regularisation."""

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
    """Online linear classifier with dropout, for streams and out-of-core data.

    Each row updates the weights of its non-zero features by steps of size η g / H.
    Here g is the derivative of the loss with respect to the weight, H the Fisher
    information accumulated for the feature so far, and η = (1 - δ) / δ for the dropout
    rate δ. So rare features take large steps, as dropout regularisation requires (Wager
    et al. 2013, eq. 16-17). A pass over the data in chunks with `partial_fit` gives
    exactly the same weights as a single call.

    Parameters
    ----------
    noise : float or Dropout, default=0.5
        Dropout rate δ in (0, 1), or one per feature.
    C : float, default=0.01
        The initial value of H is 1 / C: the smaller C, the smaller the first steps.
    loss : {"log_loss", "hinge"}, default="log_loss"
        The loss function.
    rule : {"dropout", "adagrad"}, default="dropout"
        Update rule. "dropout" divides by H, "adagrad" by the root of the sum of the
        squared derivatives.
    average : bool, default=False
        Whether `coef_` is the mean of the weights over all steps, rather than the last
        weights.
    {fit_intercept}
    max_iter : int, default=5
        Maximum number of passes over the data in `fit`.
    tol : float or None, default=1e-3
        Stopping criterion of `fit`. It stops when the mean loss, or with
        `early_stopping` the share of errors on the held-out rows, has not improved by
        this much for `n_iter_no_change` passes. None makes `max_iter` passes.
    shuffle : bool, default=True
        Whether `fit` shuffles the rows before each pass.
    early_stopping : bool, default=False
        Whether to hold out some rows and to stop when their predictions no longer
        improve.
    validation_fraction : float, default=0.1
        Share of the rows that is held out for early stopping.
    n_iter_no_change : int, default=2
        Number of passes without improvement after which `fit` stops.
    random_state : int, RandomState instance or None, default=None
        Seed of the order of the rows and of the choice of the held-out rows.
    class_weight : dict, "balanced" or None, default=None
        Weights of the classes. "balanced" gives all classes the same total weight, and
        is available in `fit` only.
    warm_start : bool, default=False
        Whether `fit` continues from the state of the previous call.
    {missing, verbose}

    Attributes
    ----------
    {coef_, intercept_, classes_}
    n_iter_ : int
        Number of passes made by `fit`.
    t_ : int
        Number of rows seen.

    See Also
    --------
    DropoutLogisticRegression : Finds the optimum, for data that fits into memory.
    RobustPerceptron : Learns online against the worst deletions.

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
                "DropoutSGDClassifier updates each feature separately, so its noise "
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
        """X with zeros for missing values, after the check of the parameter `missing`.

        Which features were missing is remembered.
        """
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
            raise ValueError(
                "class_weight='balanced' is not available in partial_fit, since it "
                "needs all rows; use fit, or pass the weights of the classes."
            )
        weights = weights * self._class_weights(labels, weights)
        X = self._clean(X, afresh=first)
        if first:
            self._begin(X.shape[1])
        self._learn(X, labels, weights, np.arange(X.shape[0]))
        self._publish()
        return self

    def fit(self, X: Any, y: Any) -> Self:
        """Fit the model in several passes over the data.

        There is no `sample_weight`: in an online pass, a row of weight 2 is not the
        same as two rows. `partial_fit` accepts weights.

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
        """Make passes over the rows until the loss no longer improves."""
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
