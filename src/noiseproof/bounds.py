"""Risk bounds for linear classifiers whose features go missing or are corrupted.

These are the bounds of Dekel and Shamir 2008. Throughout, v are the feature values, V
is their sum, N the budget and P = V - N. The risk is the probability that a row is
misclassified after some deletion of features whose values sum to at most N. Every
function checks those of its assumptions that can be checked on data. That rows are
drawn independently from one distribution is up to the caller.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.optimize import brentq
from sklearn.utils import check_array

from noiseproof._deletion import DeletionHinge
from noiseproof._docs import shared_docs
from noiseproof._rows import canonical, stored_rows
from noiseproof.attacks import check_budget

__all__ = [
    "PacBayesBound",
    "corruption_margin",
    "kl_inverse",
    "online_to_batch_risk",
    "pac_bayes_risk",
]

_ROUNDING = 1e-9


@dataclass(frozen=True)
@shared_docs
class PacBayesBound:
    """The bound of theorem 2 for one classifier.

    Parameters
    ----------
    risk : float
        Upper bound of the risk, from inverting the divergence.
    explicit : float
        The weaker bound in closed form.
    empirical : float
        The γ-loss: the share of rows whose margin is too small after some deletion.
    complexity : float
        Complexity term of the bound, β(m, δ, γ) / (m - 1).

    {See Also: pac_bayes_risk}

    {References: Dekel 2008}
    """

    risk: float
    explicit: float
    empirical: float
    complexity: float


@shared_docs
def kl_inverse(empirical: float, divergence: float) -> float:
    """Compute the largest ε with KL(empirical ‖ ε) <= divergence, to 1e-10.

    Parameters
    ----------
    empirical : float
        A probability.
    divergence : float
        Maximum divergence between `empirical` and ε, in nats.

    Returns
    -------
    epsilon : float
        The largest ε, between `empirical` and 1.

    {See Also: pac_bayes_risk}

    Examples
    --------
    >>> from noiseproof.bounds import kl_inverse
    >>> round(kl_inverse(0.1, 0.02), 3)
    0.17
    """
    _check(0 <= empirical <= 1, f"empirical must be a probability; got {empirical!r}.")
    _check(divergence >= 0, f"divergence must not be negative; got {divergence!r}.")
    if divergence > 50:
        return 1.0  # exact in double precision
    if empirical == 0:
        return float(-np.expm1(-divergence))
    if empirical == 1 or divergence == 0:
        return float(empirical)
    entropy = empirical * np.log(empirical) + (1 - empirical) * np.log1p(-empirical)

    def excess(log_rest: float) -> float:
        # solved for log(1 - ε), which is accurate if ε is close to 1
        epsilon = -np.expm1(log_rest)
        own = entropy - empirical * np.log(epsilon) - (1 - empirical) * log_rest
        return float(own - divergence)

    low = -(divergence - entropy) / (1 - empirical) - 1.0  # certainly too far
    root = brentq(excess, low, np.log1p(-empirical), xtol=1e-13, rtol=1e-14)
    return float(min(1.0, -np.expm1(root)))


@shared_docs
def pac_bayes_risk(
    coef: ArrayLike,
    X: Any,
    y: ArrayLike,
    *,
    budget: float,
    values: ArrayLike | None = None,
    margin: float = 1.0,
    C: float = 1.0,
    intercept: float = 0.0,
    delta: float = 0.05,
) -> PacBayesBound:
    """Bound the risk under deletion from the training rows alone (theorem 2).

    With probability 1 - δ over the sample, for all w with ‖w‖_∞ <= C at once,

        KL(ℓ ‖ risk) <= x,   x = [ln(m/δ) + Σ_j ln(4 P C / (γ v_j))_+] / (m - 1)

    where ℓ is the γ-loss: the share of rows with y Σ_{j in J} w_j x_j < γ V(J)/P for
    some set J of features that remains after a deletion within the budget. The explicit
    form is ℓ + √(2 ℓ x) + 2 x, which is McAllester's lower bound of the divergence,
    solved for the risk.

    The assumptions are: rows are drawn independently from one distribution; x_j is in
    [-1, 1]; there is no intercept; v_j > 0; ‖w‖_∞ <= C; and γ, C, N and v were chosen
    before the sample was seen. All but the first and the last are checked. Negative
    logarithms are replaced by zero, as the proof requires if the value of a feature
    exceeds 4 P C / γ. For values other than 1 the γ-loss includes partial deletions,
    which can only increase the bound.

    Parameters
    ----------
    coef : array-like of shape (d,) or (1, d)
        Weights of the classifier.
    X : array-like or sparse matrix of shape (m, d)
        Training rows.
    y : array-like of shape (m,)
        Labels in ±1.
    {fixed budget, values, margin, box C}
    intercept : float, default=0.0
        Intercept of the classifier, which must be zero.
    {delta}

    Returns
    -------
    bound : PacBayesBound
        Both forms of the bound, the γ-loss and the complexity term.

    See Also
    --------
    online_to_batch_risk : Bounds the risk of the online algorithm.
    noiseproof.evaluation.Certificates.risk_bound :
        Gives a tighter bound, from rows that were not used in training.

    {References: Dekel 2008}

    Examples
    --------
    >>> import numpy as np
    >>> from noiseproof.bounds import pac_bayes_risk
    >>> y = np.random.default_rng(0).choice([-1, 1], 5000)
    >>> X = y[:, None] * np.ones(4)  # each feature tells the label, one may be lost
    >>> found = pac_bayes_risk(np.ones(4), X, y, budget=1)
    >>> found.empirical, round(found.risk, 3)
    (0.0, 0.004)
    """
    X, w = _rows(X), np.ravel(np.asarray(coef, dtype=np.float64))
    m, d = X.shape
    v, kept = _adversary(budget, values, d)
    y = np.asarray(y, dtype=np.float64)
    _positive(margin=margin, C=C)
    _probability(delta)
    _check(m > 1, "Theorem 2 needs at least 2 rows.")
    _check(w.shape == (d,), f"coef must have {d} weights; got {w.shape[0]}.")
    _check(y.shape == (m,) and bool(np.isin(y, (-1, 1)).all()), "y must hold -1 and 1.")
    _check(bool(np.all(v > 0)), "Theorem 2 needs feature values above zero.")
    _check(not np.any(intercept), "Theorem 2 needs a classifier without intercept.")
    _check(np.abs(w).max() <= C * (1 + _ROUNDING), f"Some weight is beyond C={C:g}.")
    largest = float(np.abs(X.data).max(initial=0.0))
    _check(
        largest <= 1 + _ROUNDING,
        f"Theorem 2 needs features between -1 and 1, but one is {largest:g} in "
        "absolute value; scale X.",
    )
    problem = DeletionHinge(X, y, np.ones(m), v, budget, C, margin=margin)
    empirical = float(np.mean(problem.excess(w, 0.0)[0] > 0))
    volume = np.maximum(np.log(4 * kept * C / (margin * v)), 0.0).sum()
    x = float((np.log(m / delta) + volume) / (m - 1))
    explicit = min(1.0, empirical + np.sqrt(2 * empirical * x) + 2 * x)
    return PacBayesBound(kl_inverse(empirical, x), float(explicit), empirical, x)


@shared_docs
def online_to_batch_risk(
    best_loss: float,
    X: Any,
    *,
    budget: float,
    values: ArrayLike | None = None,
    margin: float = 1.0,
    C: float = 1.0,
    delta: float = 0.05,
) -> float:
    """Bound the risk of the averaged robust Perceptron (corollary 1).

    With probability 1 - δ over the m rows of one pass, the averaged hypothesis has

        γ risk <= E ξ <= E ξ* + (3 C + φ) √(2 (n + 1 + ln(2/δ)) / m),  φ = γ V/P

    for n features, where ξ is the loss of eq. (12) and ξ* that of any fixed hypothesis
    with weights and intercept in [-C, C].

    The assumptions are: rows are drawn independently from one distribution, and each is
    used once, with the step size C √(n + 1) / √(2 m) (the default of
    `RobustPerceptron`); and ‖x‖₁ <= 1. Only the last one is checked.

    Parameters
    ----------
    best_loss : float
        E ξ*, the expected loss of the best fixed hypothesis, or an upper bound of it.
    X : array-like or sparse matrix of shape (m, n)
        Training rows.
    {fixed budget, values, margin, box C, delta}

    Returns
    -------
    risk : float
        Upper bound of the risk, at most 1.

    {See Also: pac_bayes_risk, RobustPerceptron}

    {References: Dekel 2008}

    Examples
    --------
    >>> import numpy as np
    >>> from noiseproof.bounds import online_to_batch_risk
    >>> X = np.full((200_000, 4), 0.25)
    >>> round(online_to_batch_risk(0.05, X, budget=1, C=1.0), 2)
    0.09
    """
    X = _rows(X)
    m, n = X.shape
    v, kept = _adversary(budget, values, n)
    _positive(margin=margin, C=C)
    _probability(delta)
    _check(best_loss >= 0, f"best_loss must not be negative; got {best_loss!r}.")
    largest = float(abs(X).sum(axis=1).max())
    _check(
        largest <= 1 + _ROUNDING,
        "Corollary 1 needs rows whose absolute values add up to at most 1, but for one "
        f"row they add up to {largest:g}; scale X.",
    )
    phi = margin * float(v.sum()) / kept
    excess = (3 * C + phi) * np.sqrt(2 * (n + 1 + np.log(2 / delta)) / m)
    return float(min(1.0, (best_loss + excess) / margin))


@shared_docs
def corruption_margin(budget: float, *, C: float = 1.0, epsilon: float = 0.05) -> float:
    """Compute the margin that also protects from random corruption (theorem 3).

    Suppose that N features are replaced by independent noise instead of being deleted.
    A classifier trained for deletion with at least this margin γ errs with probability
    at most E[ℓ_γ] + ε. The margin is

        C √(2 N ln(1/ε)),

    as follows from Hoeffding's inequality for N independent terms of mean zero in
    [-C, C]. (The printed theorem has C √(N ln(1/ε)/2), half of this, which would
    require terms in an interval of length C.)

    The assumptions are: v = 1; features and noise are in [-1, 1] and have mean zero;
    the noise of different features is independent; ‖w‖_∞ <= C; and there is no
    intercept.

    Parameters
    ----------
    budget : float
        N, the number of features that may be corrupted.
    {box C}
    epsilon : float, default=0.05
        Maximum probability that the noise exceeds the margin.

    Returns
    -------
    margin : float
        The smallest sufficient γ.

    {See Also: pac_bayes_risk, RobustLPClassifier}

    {References: Dekel 2008}

    Examples
    --------
    >>> from noiseproof.bounds import corruption_margin
    >>> round(corruption_margin(10, C=0.5, epsilon=0.05), 3)
    3.87
    """
    _positive(C=C)
    _probability(epsilon)
    _check(budget >= 0, f"budget must not be negative; got {budget!r}.")
    return float(C * np.sqrt(2 * budget * np.log(1 / epsilon)))


def _check(holds: bool, sentence: str) -> None:
    if not holds:
        raise ValueError(sentence)


def _positive(**numbers: float) -> None:
    for name, number in numbers.items():
        _check(number > 0, f"{name} must be positive; got {number!r}.")


def _probability(number: float) -> None:
    _check(0 < number < 1, f"A probability must lie within (0, 1); got {number!r}.")


def _rows(X: Any) -> Any:
    X = check_array(
        X, accept_sparse="csr", dtype=np.float64, ensure_all_finite="allow-nan"
    )
    return stored_rows(canonical(X))


def _adversary(
    budget: float, values: ArrayLike | None, d: int
) -> tuple[NDArray[np.float64], float]:
    """The feature values and P, which must be positive."""
    v = check_budget(budget, values, d)
    kept = float(v.sum()) - budget
    _check(kept > 0, "budget must be less than the total value of the features.")
    return v, kept
