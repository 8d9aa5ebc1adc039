"""When solvers stop, and how they report progress."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from math import isnan
from typing import Any

import numpy as np

from noiseproof._private import CALLBACKS, callback_context

Report = Callable[[int, float, float], bool | None]


@dataclass(frozen=True)
class Stop:
    """When a solver stops, and the functions it calls after each step."""

    tol: float  # relative suboptimality to reach
    max_iter: int
    # called after each step with its number, the summed objective and the largest
    # relative suboptimality; the solver stops if it returns True
    report: Report | None = None
    keep: Callable[[Any], None] | None = None  # gets the parameters before `report`
    done_iter: int = 0  # steps that earlier stages have taken

    def fewer(self, n_iter: int) -> Stop:
        """Return the criteria that are left after some steps."""
        left = self.max_iter - n_iter
        return replace(self, max_iter=left, done_iter=self.done_iter + n_iter)

    def tell(
        self, step: int, value: Any, relative_gain: Any, theta: Any = None
    ) -> bool:
        """Report a step; return whether the user asks to stop."""
        if self.keep is not None and theta is not None:
            self.keep(theta)
        if self.report is None:
            return False
        gain = float(np.max(relative_gain))
        return bool(self.report(self.done_iter + step, float(value.sum()), gain))


@contextmanager
def reporting(estimator: Any, X: Any, y: Any) -> Iterator[Report | None]:
    """Yield the function to which `Stop` reports during a fit, or None if not needed.

    It calls scikit-learn's callbacks if these exist, and prints lines if `verbose`.
    """
    listeners: list[Report] = []
    context = None
    if getattr(estimator, CALLBACKS, None):
        context = callback_context(estimator)
        context.call_on_fit_task_begin(estimator=estimator, X=X, y=y)
        listeners.append(_to_callbacks(estimator, context, X, y))
    if estimator.verbose:
        listeners.append(_printing(type(estimator).__name__))

    def report(step: int, value: float, suboptimality: float) -> bool:
        answers = [listen(step, value, suboptimality) for listen in listeners]
        return any(answers)

    yield report if listeners else None
    if context is not None:
        context.call_on_fit_task_end(estimator=estimator, X=X, y=y)


def _to_callbacks(estimator: Any, context: Any, X: Any, y: Any) -> Report:
    def listen(step: int, value: float, suboptimality: float) -> bool:
        task = context.subcontext(task_name="step")
        task.call_on_fit_task_begin(estimator=estimator, X=X, y=y)
        return bool(task.call_on_fit_task_end(estimator=estimator, X=X, y=y))

    return listen


def _printing(name: str) -> Report:
    def listen(step: int, value: float, suboptimality: float) -> bool:
        # online learners know their loss, but not its distance from the minimum
        gap = "" if isnan(suboptimality) else f"  gap {suboptimality:.1e}"
        print(f"[{name}] step {step:4d}  objective {value:.9g}{gap}")
        return False

    return listen
