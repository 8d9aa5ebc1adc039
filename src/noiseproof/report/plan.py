"""What a report is asked to find out."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from numbers import Integral
from typing import Any

from numpy.typing import ArrayLike

__all__ = ["LEVELS", "Plan"]

LEVELS = (0.0, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9)

_SPACES = {
    "input": "A deleted feature becomes {gone} in the data, before any step of the "
    "model.",
    "model": "A deleted feature becomes {gone} as the model proper sees it, behind its "
    "scalers and encoders.",
}
_GONE = {"zero": "zero", "nan": "a missing value"}


@dataclass(frozen=True)
class Plan:
    """The options of `write_report`, which explains them."""

    levels: ArrayLike = LEVELS
    n_repeats: int = 10
    groups: Mapping[Any, Sequence[Any]] | None = None
    feature_names: Sequence[str] | None = None
    title: str = "Robustness report"
    random_state: int = 0
    n_jobs: int | None = None
    settings: Mapping[str, Any] | None = None
    training_rows: int | None = None
    delta: float = 0.05
    space: str = "model"
    missing: str = "zero"
    max_rows: int = 20_000
    progress: Any = None

    def check(self) -> None:
        """Raise one clear sentence for what the evaluation would not notice at once."""
        for name, known in (("space", _SPACES), ("missing", _GONE)):
            value = getattr(self, name)
            if value not in known:
                words = " or ".join(map(repr, known))
                raise ValueError(f"{name} must be {words}; got {value!r}.")
        for name in ("n_repeats", "max_rows"):
            value = getattr(self, name)
            if not isinstance(value, Integral) or value < 1:
                raise ValueError(
                    f"{name} must be a whole number from 1; got {value!r}."
                )
        if not 0 < self.delta < 1:
            raise ValueError(f"delta must lie within (0, 1); got {self.delta!r}.")
        if not isinstance(self.random_state, Integral):
            raise TypeError(
                "random_state must be a whole number, so that the page can be "
                f"reproduced; got {self.random_state!r}."
            )

    @property
    def deleted(self) -> str:
        """What a deletion means."""
        return _SPACES[self.space].format(gone=_GONE[self.missing])
