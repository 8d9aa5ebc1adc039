"""Attacks: what may happen to a row after training, in the worst case."""

from __future__ import annotations

from noiseproof.attacks.base import Attack, LinearMargins
from noiseproof.attacks.feature_deletion import FeatureDeletion
from noiseproof.attacks.feature_deletion import check_budget as check_budget
from noiseproof.attacks.feature_deletion import effective_budget as effective_budget
from noiseproof.attacks.feature_deletion import group_values as group_values
from noiseproof.attacks.feature_scaling import FeatureScaling
from noiseproof.attacks.images import (
    ImageRotation,
    ImageScale,
    ImageShear,
    ImageShift,
    LinearMaps,
)
from noiseproof.attacks.trajectory import Trajectory
from noiseproof.attacks.translation import Ellipsoid, NormBall
from noiseproof.attacks.union import Union, digit_invariances

ATTACKS: dict[str, type[Attack]] = {
    "feature-deletion": FeatureDeletion,
    "feature-scaling": FeatureScaling,
    "norm-ball": NormBall,
    "ellipsoid": Ellipsoid,
    "trajectory": Trajectory,
    "image-shift": ImageShift,
    "image-rotation": ImageRotation,
    "image-scale": ImageScale,
    "image-shear": ImageShear,
    "union": Union,
}

__all__ = [
    "ATTACKS",
    "Attack",
    "Ellipsoid",
    "FeatureDeletion",
    "FeatureScaling",
    "ImageRotation",
    "ImageScale",
    "ImageShear",
    "ImageShift",
    "LinearMaps",
    "LinearMargins",
    "NormBall",
    "Trajectory",
    "Union",
    "digit_invariances",
]
