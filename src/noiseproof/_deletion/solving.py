"""The interface of solvers of the robust linear program, and the paper's bagging.

A solver is a function of a `DeletionProgram`, a `Stop` and, if it can use one, the
state of an earlier solve. It neither prints nor warns. `Stop.tol` bounds the certified
relative gap (F - lower bound) / F, where F counts as at least `_FLOOR` times its value
without any feature.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from noiseproof._deletion.program import Array, DeletionProgram
from noiseproof._stop import Stop

_FLOOR = 1e-3


@dataclass(frozen=True)
class RobustLPResult:
    """The final model (w, b) of a solver, with certified bounds."""

    w: Array
    b: float
    p: Array  # dual variables of the sides of the rows
    q: Array  # dual variables of the pairs
    value: float  # F(w, b)
    bound: float  # lower bound of F
    n_iter: int
    converged: bool
    state: Any = None  # what a later solve can start from
    interrupted: bool = False  # from the keyboard


RobustLPSolver = Callable[[DeletionProgram, Stop, Any], RobustLPResult]


def close_enough(
    problem: DeletionProgram, value: float, bound: float, tol: float
) -> bool:
    """Return whether the certified relative gap is below `tol`."""
    return value - bound <= tol * max(value, _FLOOR * problem.unit)


def in_chunks(
    problem: DeletionProgram,
    chunks: Sequence[Any],
    solver: RobustLPSolver,
    stop: Stop,
    states: Sequence[Any] | None = None,
) -> RobustLPResult:
    """Average the models of all chunks, and certify the average on the whole problem.

    The multipliers of the chunks, put together, are feasible for the whole problem, so
    they bound the loss from averaging. After an interrupt, the remaining models are
    zero.
    """
    parts = [problem] if len(chunks) == 1 else [problem.take(rows) for rows in chunks]
    answers: list[RobustLPResult] = []
    for part, state in zip(parts, states or [None] * len(chunks), strict=True):
        answers.append(solver(part, stop, state))
        if answers[-1].interrupted:
            stop = replace(stop, max_iter=0)
    states = [answer.state for answer in answers]
    if len(answers) == 1:
        return replace(answers[0], state=states)
    w = np.mean([answer.w for answer in answers], axis=0)
    b = float(np.mean([answer.b for answer in answers]))
    sides, m = len(problem.slopes), len(problem.pairs.values)
    p, q = np.empty((sides, len(problem.y))), np.empty((sides, m))
    for rows, answer in zip(chunks, answers, strict=True):
        p[:, rows], q[:, problem.pairs_of(rows)] = answer.p, answer.q
    return RobustLPResult(
        *(w, b, p, q, problem.value(w, b), problem.lower_bound(p, q)),
        n_iter=sum(answer.n_iter for answer in answers),
        converged=all(answer.converged for answer in answers),
        state=states,
        interrupted=any(answer.interrupted for answer in answers),
    )
