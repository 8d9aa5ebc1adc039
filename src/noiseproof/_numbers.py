"""Numbers as they are printed, so that a sentence and a table agree."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray


def as_score(score: float) -> str:
    """A score with three decimals."""
    return f"{score:.3f}"


def as_printed(scores: Any) -> NDArray[np.float64]:
    """Scores with the value that `as_score` shows.

    `np.round` may differ from it by one in the last place: it rounds 0.7875 up, though
    the nearest float lies below.
    """
    scores = np.asarray(scores, dtype=float)
    shown = [float(as_score(score)) for score in scores.ravel().tolist()]
    return np.array(shown).reshape(scores.shape)


def as_duration(time: float) -> str:
    """A duration with two significant digits and without an exponent."""
    return np.format_float_positional(
        time, precision=2, unique=False, fractional=False, trim="-"
    )
