"""When solvers stop, and whom they tell how far they are."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np


@dataclass(frozen=True)
class Stop:
    """When to stop.

    Parameters
    ----------
    tol : float
        Relative suboptimality to reach.
    max_iter : int
        Steps allowed.
    report : callable, optional
        Called after each step with its number, the summed objective and the largest
        relative suboptimality; a true answer stops the solver there.
    done_iter : int
        Steps that earlier stages have taken.
    """

    tol: float
    max_iter: int
    report: Callable[[int, float, float], bool | None] | None = None
    done_iter: int = 0

    def looser(self, tol: float) -> Stop:
        """The same with another accuracy."""
        return replace(self, tol=tol)

    def fewer(self, n_iter: int) -> Stop:
        """What is left after some steps."""
        left = self.max_iter - n_iter
        return replace(self, max_iter=left, done_iter=self.done_iter + n_iter)

    def tell(self, step: int, value: Any, relative_gain: Any) -> bool:
        """Report a step; whether the user asks to stop."""
        if self.report is None:
            return False
        gain = float(np.max(relative_gain))
        return bool(self.report(self.done_iter + step, float(value.sum()), gain))
