"""Row losses and their expectations under noise, by (loss, expectation)."""

from __future__ import annotations

from noiseproof._marginal.losses.exponential import Exponential
from noiseproof._marginal.losses.hinge import HingeGaussian, HingeVariational
from noiseproof._marginal.losses.logistic import (
    LogisticGaussian,
    LogisticJensen,
    LogisticTaylor,
    LogisticVariational,
)
from noiseproof._marginal.losses.poisson import PoissonExact, PoissonTaylor
from noiseproof._marginal.losses.quadratic import Quadratic
from noiseproof._marginal.objective import Loss

LOSSES: dict[tuple[str, str], type[Loss]] = {
    ("hinge", "variational"): HingeVariational,
    ("hinge", "gaussian"): HingeGaussian,
    ("logistic", "variational"): LogisticVariational,
    ("logistic", "jensen"): LogisticJensen,
    ("logistic", "taylor"): LogisticTaylor,
    ("logistic", "gaussian"): LogisticGaussian,
    ("quadratic", "exact"): Quadratic,
    ("exponential", "exact"): Exponential,
    ("poisson", "exact"): PoissonExact,
    ("poisson", "taylor"): PoissonTaylor,
}


def expectations(loss: str) -> list[str]:
    """List the expectations that a loss is registered with."""
    return [expectation for name, expectation in LOSSES if name == loss]


def make_loss(loss: str, expectation: str, **parameters: float) -> Loss:
    """Return the registered row loss, or raise an error with the legal expectations."""
    if (loss, expectation) not in LOSSES:
        legal = ", ".join(repr(name) for name in expectations(loss))
        raise ValueError(
            f"expectation={expectation!r} is not known for the {loss} loss; "
            f"use one of {legal}."
        )
    return LOSSES[loss, expectation](**parameters)


__all__ = ["LOSSES", "Loss", "expectations", "make_loss"]
