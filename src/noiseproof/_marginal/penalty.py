"""Noise as a penalty: what it adds to the objective, apart from any labels."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from sklearn.utils import check_array

from noiseproof._docs import shared_docs
from noiseproof._marginal.losses import LOSSES, Loss, make_loss
from noiseproof._rows import Array, as_design, canonical
from noiseproof.noise import Dropout, Noise, as_noise

# names of the GLMs in Wager et al., and of our losses
_GLMS = {"linear": "quadratic", "logistic": "logistic", "poisson": "poisson"}


class Estimate(NamedTuple):
    """A Monte Carlo mean and its standard error."""

    mean: float
    standard_error: float


@shared_docs
@dataclass(frozen=True)
class NoisingPenalty:
    """R(β) = Σ_i E[A(x~_i·β)] - A(x_i·β), of Wager et al. 2013, eq. (5).

    Parameters
    ----------
    value : float
        R, computed with the requested expectation.
    quadratic : float
        R^q = ½ Σ_i A''(x_i·β) Var(x~_i·β), eq. (6).
    _problem : tuple
        Data for `monte_carlo`.

    See Also
    --------
    penalty : Computes this penalty.

    {References: Wager 2013}
    """

    value: float
    quadratic: float
    _problem: tuple[Loss, Noise, Any, Array, float]

    def monte_carlo(self, n_draws: int = 1000, random_state: Any = None) -> Estimate:
        """Estimate R by explicit corruption, independently of every formula.

        Parameters
        ----------
        n_draws : int, default=1000
            Number of corrupted copies of X.
        random_state : int, Generator or None, default=None
            Seed.

        Returns
        -------
        estimate : Estimate
            Mean and standard error.
        """
        loss, noise, X, coef, intercept = self._problem
        rng = np.random.default_rng(random_state)
        y = np.ones(X.shape[0])

        def total(rows: Any) -> float:
            return float(loss.plain(y, rows @ coef + intercept).sum())

        clean = total(X)
        # the linear part of the loss averages out; what is left is E[A] - A
        draws = [total(noise.sample(X, rng)) - clean for _ in range(n_draws)]
        error = np.std(draws, ddof=1) / np.sqrt(n_draws)
        return Estimate(float(np.mean(draws)), float(error))


@shared_docs
def penalty(
    loss: str, expectation: str, noise: Any, X: Any, coef: Any, intercept: float = 0.0
) -> NoisingPenalty:
    """Compute the noising penalty of a generalised linear model.

    Parameters
    ----------
    loss : {"linear", "logistic", "poisson"}
        The GLM; "quadratic" is another name of the linear one.
    expectation : str
        How E[A] is computed: "exact" (linear, Poisson), "variational", "gaussian"
        (logistic), or "taylor" for the quadratic approximation itself.
    noise : float or Noise
        What corrupts the features; a number is a dropout rate.
    X : array-like or sparse matrix of shape (n_samples, n_features)
        The rows.
    coef : array-like of shape (n_features,)
        The weights β.
    intercept : float, default=0.0
        The intercept, which is not noised.

    Returns
    -------
    penalty : NoisingPenalty
        Its `value`, its `quadratic` approximation and a `monte_carlo` reference.

    See Also
    --------
    DropoutLogisticRegression : Trains with this penalty.
    DropoutPoissonRegressor : Trains with this penalty.

    {References: Wager 2013}

    Examples
    --------
    >>> import numpy as np
    >>> import noiseproof
    >>> X = np.eye(3)
    >>> r = noiseproof.penalty("logistic", "gaussian", 0.5, X, [1.0, 2.0, 3.0])
    >>> round(r.value, 2), round(r.quadratic, 2)
    (0.65, 0.51)
    """
    name = _GLMS.get(loss, loss)
    if name not in _GLMS.values():
        raise ValueError(f"loss={loss!r} is no GLM; use one of {', '.join(_GLMS)}.")
    row_loss = make_loss(name, expectation)
    if not row_loss.label_free_penalty:
        raise ValueError(
            f"The penalty of expectation={expectation!r} depends on the labels; use "
            "another expectation."
        )
    noise = as_noise(noise)
    X = canonical(check_array(X, accept_sparse="csr", dtype=np.float64))
    coef = np.asarray(coef, dtype=np.float64).ravel()
    design = as_design(X)
    noise.check(X.shape[1], minimum=design.extremes()[0])
    value = _total(row_loss, noise, design, coef, intercept) - _total(
        row_loss, Dropout(0.0), design, coef, intercept
    )
    quadratic = _quadratic(name, noise, design, coef, intercept)
    problem = (row_loss, noise, X, coef, float(intercept))
    return NoisingPenalty(value, quadratic, problem)


def _total(loss: Loss, noise: Noise, design: Any, coef: Array, b: float) -> float:
    """Compute Σ_i E[loss] at label 1; the part that depends on labels cancels later."""
    y, weights = np.ones((1, design.shape[0])), np.ones(design.shape[0])
    term = loss.term(design, y, weights, noise, True)
    return float(term.at(np.append(coef, b)[None, :]).value[0])


def _quadratic(name: str, noise: Noise, design: Any, coef: Array, b: float) -> float:
    """Compute R^q, the penalty of the Taylor expectation if the loss has one."""
    key = "taylor" if (name, "taylor") in LOSSES else "exact"
    loss = make_loss(name, key)
    return _total(loss, noise, design, coef, b) - _total(
        loss, Dropout(0.0), design, coef, b
    )
