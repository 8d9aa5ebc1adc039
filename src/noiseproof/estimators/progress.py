"""Progress of a fit: scikit-learn's callbacks where they exist, else printed lines."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from math import isnan
from typing import Any

Report = Callable[[int, float, float], bool]


@contextmanager
def reporting(estimator: Any, X: Any, y: Any) -> Iterator[Report | None]:
    """A function that solvers call after each step, or None if nobody listens."""
    listeners: list[Report] = []
    context = None
    if getattr(estimator, "_skl_callbacks", None):
        context = estimator._init_callback_context(max_subtasks=None)
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
        # online learners know their loss, but not how far it is from the lowest
        gap = "" if isnan(suboptimality) else f"  gap {suboptimality:.1e}"
        print(f"[{name}] step {step:4d}  objective {value:.9g}{gap}")
        return False

    return listen
