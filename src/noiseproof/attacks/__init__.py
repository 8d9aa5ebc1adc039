"""Attacks: the worst that may happen to a row after training."""

from __future__ import annotations

from noiseproof.attacks.base import Attack, LinearModel
from noiseproof.attacks.feature_deletion import FeatureDeletion

ATTACKS: dict[str, type[Attack]] = {"feature-deletion": FeatureDeletion}

__all__ = ["ATTACKS", "Attack", "FeatureDeletion", "LinearModel"]
