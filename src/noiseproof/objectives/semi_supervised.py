"""Unlabelled rows that help to estimate the noising penalty."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from noiseproof.design import Array, Design
from noiseproof.losses import CumulantLoss, Loss, MomentLoss
from noiseproof.losses.mixture import Mixture
from noiseproof.noise import Dropout, Noise
from noiseproof.objectives.base import Objective
from noiseproof.objectives.cumulant import CumulantTerm
from noiseproof.objectives.moment import MomentTerm
from noiseproof.objectives.terms import Term


def semi_supervised_objective(
    design: Design,
    y: Array,
    weights: Array,
    noise: Noise,
    loss: Loss,
    fit_intercept: bool,
    *,
    unlabeled: Sequence[Design],
    alpha: float,
    C: float,
) -> Objective:
    """½ ‖w‖² + C { Σ s_i loss(v = 0) + ρ [R_labelled + α R_unlabelled] }.

    Wager et al. 2013, eq. (19), ρ = n / (n + α m), with n the summed sample weights and
    m the number of unlabelled rows. R = Σ loss(v) - loss(v = 0) does not depend on
    labels, so unlabelled rows have it too; they get label 1, which cancels.

    Parameters are those of `marginal_objective`, and

    unlabeled : sequence of Design
        The unlabelled rows, in as many containers as there are.
    alpha : float
        Weight of an unlabelled row against a labelled one.
    C : float
        Weight of the data, which `weights` has in it already.
    """
    n = weights.sum() / C
    share = n / (n + alpha * sum(part.shape[0] for part in unlabeled))
    blocks = [(design, y, weights, 1 - share, share)]
    for part in unlabeled:
        rows = part.shape[0]
        ones = np.ones((len(y), rows))
        blocks.append((part, ones, np.full(rows, C * share * alpha), -1.0, 1.0))
    terms: list[Term] = []
    for block in blocks:
        terms += _terms(*block, noise=noise, loss=loss, fit_intercept=fit_intercept)
    shape = (len(y), design.shape[1] + fit_intercept)
    bound = noise.max_slope() if isinstance(loss, CumulantLoss) else np.inf
    return Objective(terms, shape, fit_intercept, bound=bound, is_convex=False)


def _terms(
    design: Design,
    y: Array,
    weights: Array,
    plain: float,
    noisy: float,
    *,
    noise: Noise,
    loss: Loss,
    fit_intercept: bool,
) -> list[Term]:
    """Σ c_i [plain * loss(v = 0) + noisy * loss(v)] over one block of rows."""
    if isinstance(loss, MomentLoss):
        mixture, law = Mixture(loss, plain, noisy), noise.variance_law()
        return [MomentTerm(design, y, weights, law, mixture, fit_intercept)]
    assert isinstance(loss, CumulantLoss)
    return [
        CumulantTerm(design, y, factor * weights, law, loss, fit_intercept)
        for factor, law in ((plain, Dropout(0.0)), (noisy, noise))
    ]
