"""What `feature_fragility` returns."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from noiseproof.evaluation.results import Result, frozen

__all__ = ["Fragility"]


@dataclass(frozen=True, repr=False, eq=False)
class Fragility(Result):
    """What losing each feature, or group of features, costs; the dearest first.

    Parameters
    ----------
    names : tuple of str
        Features or groups, by falling cost.
    cost : array of shape (n_names,)
        Score with all features less that without these.
    score : float
        With all features.
    scoring : str
        Name of the metric.
    kind : {"feature", "group"}
        What the names are.
    """

    names: tuple[str, ...]
    cost: NDArray[np.float64]
    score: float
    scoring: str
    kind: str

    def __post_init__(self) -> None:
        object.__setattr__(self, "cost", frozen(self.cost))

    def _title(self) -> str:
        return (
            f"{self.scoring} lost without each {self.kind}, of {self.score:.3f} "
            "with all"
        )

    def _columns(self) -> dict[str, Any]:
        return {self.kind: self.names, "cost": self.cost}
