"""The robust Perceptron: online learning against feature deletion."""

from __future__ import annotations

from numbers import Integral, Real
from typing import Any, ClassVar, Self

import numpy as np
from sklearn.utils import check_random_state

from noiseproof._docs import shared_docs
from noiseproof._private import Interval, check_parameters, with_callbacks
from noiseproof._rows import read_training, remember_missing, stored_rows, unsigned
from noiseproof._stop import reporting
from noiseproof.attacks import effective_budget
from noiseproof.estimators.robust_base import RobustClassifier

_BLOCK = 1 << 20  # entries of X that are read at a time


@shared_docs
class RobustPerceptron(RobustClassifier):
    """Averaged Perceptron trained on each row after its worst feature deletion.

    With feature values v_j, V their sum, N the budget and P = V - N, a row (x, y) has
    the loss (Dekel and Shamir 2008, section 3)

        ξ = [max over J of γ V(J)/P - y (b + Σ_{j in J} w_j x_j)]_+           (eq. 12)

    where J is the set of features that remains after the deletion of features whose
    values sum to at most N. If ξ > 0, the weights of the remaining features are
    updated: w_j ← clip(w_j + τ y x_j) and b ← clip(b + τ y), where clip limits numbers
    to ±C. The final weights are the mean over all steps, and the risk of this
    classifier is bounded (`noiseproof.bounds.online_to_batch_risk`). For values other
    than 0 and 1 the adversary may also delete a part of one feature.

    Parameters
    ----------
    {budget, feature_values}
        `partial_fit` computes them from the first batch.
    {groups}
        With groups, the budget and the feature values refer to groups. "mutual_info"
        then adds up the values of the members of each group.
    {margin}
    C : float, default=1.0
        Maximum absolute value of a weight, and of the intercept.
    {fit_intercept}
    step : float, default=None
        Step size τ. None means C √(n + 1) / √(2 m) with n features and m rows to come,
        as in the paper. In `partial_fit`, where the number of rows to come is not
        known, m is the number of rows so far.
    max_iter : int, default=1
        Number of passes over the data in `fit`.
    shuffle : bool, default=True
        Whether `fit` shuffles the rows before each pass.
    random_state : int, RandomState instance or None, default=None
        Seed of the order of the rows.
    {missing, verbose}

    Attributes
    ----------
    averaged_ : array of shape (1, n_features) or (n_classes, n_features)
        Mean of the weights over all steps; the same as `coef_`.
    {coef_, intercept_, classes_}
    online_loss_ : array of shape (1,) or (n_classes,)
        Mean of ξ / γ over all rows, each computed before the update for that row.
    {n_iter_}
    n_seen_ : int
        Number of rows seen.
    {feature_values_, budget_, missing_in_training_}

    See Also
    --------
    RobustLPClassifier : Finds the optimum, for thousands of rows.
    mutual_info_values : Computes feature values from data.
    noiseproof.bounds.online_to_batch_risk : Bounds the risk of the model.

    {References: Dekel 2008}

    Examples
    --------
    >>> from sklearn.datasets import load_digits
    >>> from noiseproof import RobustPerceptron
    >>> X, y = load_digits(n_class=2, return_X_y=True)
    >>> model = RobustPerceptron(budget=5, random_state=0).fit(X[:200] / 16, y[:200])
    >>> round(model.score(X[200:] / 16, y[200:]), 2)
    0.99
    """

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        **RobustClassifier._parameter_constraints,
        "step": [Interval(Real, 0, None, closed="neither"), None],
        "max_iter": [Interval(Integral, 1, None, closed="left")],
        "shuffle": ["boolean"],
        "random_state": ["random_state"],
    }

    def __init__(
        self,
        budget: float | None = None,
        *,
        feature_values: Any = None,
        groups: Any = None,
        margin: float = 1.0,
        C: float = 1.0,
        fit_intercept: bool = True,
        step: float | None = None,
        max_iter: int = 1,
        shuffle: bool = True,
        random_state: Any = None,
        missing: str = "allow",
        verbose: int = 0,
    ):
        self.budget = budget
        self.feature_values = feature_values
        self.groups = groups
        self.margin = margin
        self.C = C
        self.fit_intercept = fit_intercept
        self.step = step
        self.max_iter = max_iter
        self.shuffle = shuffle
        self.random_state = random_state
        self.missing = missing
        self.verbose = verbose

    @with_callbacks
    def fit(self, X: Any, y: Any) -> Self:
        """Fit the model from scratch.

        {(X, y) -> self}
        """
        check_parameters(self)
        X, y = read_training(self, X, y)
        labels = self._encode(y)
        self._begin(X, labels)
        remember_missing(self, X, afresh=True)
        signs = self._signs(labels)
        rng = check_random_state(self.random_state)
        m, d = X.shape
        step = self.C * np.sqrt((d + 1) / (2 * m * self.max_iter))
        with reporting(self, X, y) as report:
            for n_iter in range(1, self.max_iter + 1):
                order = rng.permutation(m) if self.shuffle else np.arange(m)
                self._learn(X, signs, order, self.step or step)
                self.n_iter_ = n_iter
                if report and report(n_iter, float(self.online_loss_.sum()), np.nan):
                    break
        return self

    def partial_fit(self, X: Any, y: Any, classes: Any = None) -> Self:
        """Update the model with more rows, in the order given.

        {(X, y, classes) -> self}
        """
        check_parameters(self)
        first = not hasattr(self, "classes_")
        X, y = read_training(self, X, y, reset=first)
        labels = self._encode_batch(y, classes, first=first)
        if first:
            self._begin(X, labels)
        remember_missing(self, X, afresh=first)
        self._learn(X, self._signs(labels), np.arange(X.shape[0]), self.step or -1.0)
        return self

    def _begin(self, X: Any, labels: Any) -> None:
        self._set_adversary(X, labels)
        k = len(self.classes_) if len(self.classes_) > 2 else 1
        self._state = np.zeros((2, k, X.shape[1] + 1))
        self._losses = np.zeros(k)
        self.n_seen_ = 0

    def _learn(self, X: Any, signs: Any, order: Any, step: float) -> None:
        """Learn from the rows of X in the given order.

        A step of -1 stands for the step size of the paper.
        """
        # Numba is imported here, at the first pass, to keep the import light
        from noiseproof._deletion.kernels import learn

        values, total = self.feature_values_, self.feature_values_.sum()
        labels = None if self._labels is None else self._labels.astype(np.uint32)
        price = self.margin / (total - self.budget_)
        limit = effective_budget(self.budget_, values)
        size = max(1, _BLOCK // max(1, X.shape[1]))
        losses = np.zeros(len(signs))
        for start in range(0, len(order), size):
            chosen = order[start : start + size]
            rows = unsigned(stored_rows(X[chosen]).astype(np.float64, copy=False))
            losses += learn(
                *rows, labels, signs.take(chosen, axis=1), values, limit, price,
                price * total, float(self.C), float(step), self.n_seen_ + start,
                self.fit_intercept, *self._state,
            )  # fmt: skip
        self._losses = self._losses + losses
        self.n_seen_ += len(order)
        self.online_loss_ = self._losses / (self.margin * self.n_seen_)
        W, drift = self._state
        mean = W - drift / self.n_seen_
        self.averaged_ = self.coef_ = np.ascontiguousarray(mean[:, :-1])
        self.intercept_ = mean[:, -1].copy()
