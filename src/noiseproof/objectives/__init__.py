"""Objectives: where noise, loss and design meet, once."""

from __future__ import annotations

import numpy as np

from noiseproof.design import Array, Design
from noiseproof.losses import CumulantLoss, Loss, MomentLoss
from noiseproof.noise import Noise
from noiseproof.objectives.base import Objective, Point, Ray
from noiseproof.objectives.cumulant import CumulantTerm
from noiseproof.objectives.moment import MomentTerm
from noiseproof.objectives.semi_supervised import semi_supervised_objective
from noiseproof.objectives.terms import Term


def marginal_objective(
    design: Design,
    y: Array,
    weights: Array,
    noise: Noise,
    loss: Loss,
    fit_intercept: bool,
) -> Objective:
    """½ ‖w‖² + Σ_i c_i E[loss(y_i, w·x~_i + b)], for a row of `y` per class.

    Parameters
    ----------
    design : Design
        The data, n rows of d features.
    y : array of shape (k, n)
        Targets, or labels -1 and +1.
    weights : array of shape (n,)
        C times the sample weights.
    noise : Noise
        What corrupts the features.
    loss : Loss
        Row loss with its expectation.
    fit_intercept : bool
        Whether to add an intercept, neither penalised nor noised.
    """
    shape = (len(y), design.shape[1] + fit_intercept)
    if isinstance(loss, CumulantLoss):
        cumulant = CumulantTerm(design, y, weights, noise, loss, fit_intercept)
        bound = noise.max_slope()
        return Objective([cumulant], shape, fit_intercept, bound=bound)
    assert isinstance(loss, MomentLoss)
    law = noise.variance_law()
    moment = MomentTerm(design, y, weights, law, loss, fit_intercept)
    return Objective(
        [moment],
        shape,
        fit_intercept,
        kink_width=loss.kink_width,
        is_noisy=bool(np.any(law.constant) or np.any(law.scale)),
        is_convex=loss.convex,
        has_majorizer=loss.has_majorizer,
    )


__all__ = [
    "CumulantTerm",
    "MomentTerm",
    "Objective",
    "Point",
    "Ray",
    "Term",
    "marginal_objective",
    "semi_supervised_objective",
]
