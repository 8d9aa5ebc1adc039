"""Estimators: scikit-learn's view of the whole. Users import them from `noiseproof`."""

from __future__ import annotations

from noiseproof._lazy import lazily

__all__ = ["ESTIMATORS"]  # all of them by a short name
__getattr__ = lazily(__name__, {"ESTIMATORS": "registry"})
