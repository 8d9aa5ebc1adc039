"""The paper's bagging: solve for parts of the rows, and average."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import scipy.sparse as sp

from noiseproof._deletion.base import RobustLPResult, RobustLPSolver
from noiseproof._deletion.hinge import DeletionHinge
from noiseproof._stop import Stop


def in_chunks(
    problem: DeletionHinge,
    chunks: Sequence[Any],
    solver: RobustLPSolver,
    stop: Stop,
    states: Sequence[Any] | None = None,
) -> RobustLPResult:
    """Average of the classifiers of all chunks, judged on the whole problem.

    The multipliers of the chunks, put together, are feasible for the whole problem, so
    they bound what averaging has cost. After an interrupt other chunks stay at zero.
    """
    answers = []
    for rows, state in zip(chunks, states or [None] * len(chunks), strict=True):
        part = problem if len(chunks) == 1 else _take(problem, rows)
        answers.append(solver(part, stop, state))
        if answers[-1].interrupted:
            stop = replace(stop, max_iter=0)
    states = [answer.state for answer in answers]
    if len(answers) == 1:
        return replace(answers[0], state=states)
    w = np.mean([answer.w for answer in answers], axis=0)
    b = float(np.mean([answer.b for answer in answers]))
    p, q = _together(problem, chunks, answers)
    return RobustLPResult(
        *(w, b, p, q, problem.value(w, b), problem.lower_bound(p, q)),
        n_iter=sum(answer.n_iter for answer in answers),
        converged=all(answer.converged for answer in answers),
        state=states,
        interrupted=any(answer.interrupted for answer in answers),
    )


def _take(problem: DeletionHinge, rows: Any) -> DeletionHinge:
    return replace(
        problem, X=problem.X[rows], y=problem.y[rows], weights=problem.weights[rows]
    )


def _together(
    problem: DeletionHinge, chunks: Sequence[Any], answers: Sequence[RobustLPResult]
) -> tuple[Any, Any]:
    """The multipliers of all rows and of all stored entries, in their order."""
    p, q = np.empty(len(problem.y)), np.empty(problem.X.nnz)
    places = (np.arange(problem.X.nnz), problem.X.indices, problem.X.indptr)
    place = sp.csr_array(places, shape=problem.X.shape)
    for rows, answer in zip(chunks, answers, strict=True):
        p[rows] = answer.p
        q[place[rows].data] = answer.q
    return p, q
