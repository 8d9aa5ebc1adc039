"""Base class of the models that solve the robust linear program."""

from __future__ import annotations

import warnings
from dataclasses import replace
from numbers import Integral, Real
from typing import Any, ClassVar, Self

import numpy as np
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils import check_random_state

from noiseproof._deletion import (
    ROBUST_LP_SOLVERS,
    DeletionProgram,
    RobustLPResult,
    in_chunks,
)
from noiseproof._docs import shared_docs
from noiseproof._private import (
    WRAPPERS,
    Interval,
    StrOptions,
    check_parameters,
    with_callbacks,
)
from noiseproof._rows import (
    read_training,
    read_weights,
    remember_missing,
    stored_rows,
    without_zeros,
)
from noiseproof._stop import Stop, reporting
from noiseproof.estimators.robust_base import RobustModel


@shared_docs
class RobustLPModel(RobustModel):
    """Base class of linear models that solve one or several `DeletionProgram`.

    Subclasses convert `y` to targets, and build the programs from the targets.
    """

    _reading: ClassVar[dict[str, Any]] = {}
    C: Any
    fit_intercept: bool
    n_chunks: int
    solver: str
    tol: float
    max_iter: int
    warm_start: bool
    random_state: Any

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        **RobustModel._parameter_constraints,
        "n_chunks": [Interval(Integral, 1, None, closed="left")],
        "solver": [StrOptions(set(ROBUST_LP_SOLVERS))],
        "tol": [Interval(Real, 0, None, closed="neither")],
        "max_iter": [Interval(Integral, 1, None, closed="left")],
        "warm_start": ["boolean"],
        "random_state": ["random_state"],
    }

    @with_callbacks
    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Fit the model.

        {(X, y, sample_weight) -> self}
        """
        check_parameters(self)
        X, y = read_training(self, X, y, **self._reading)
        weights = read_weights(sample_weight, X)
        counted = weights > 0
        if not counted.all():
            X, y, weights = X[counted], y[counted], weights[counted]
        targets, labels = self._targets(y, weights)
        self._set_adversary(X, labels, weights)
        chunks = self._chunks(labels)
        remember_missing(self, X, afresh=True)
        rows = without_zeros(stored_rows(X).astype(np.float64, copy=False))
        programs = self._programs(
            targets,
            X=rows,
            weights=weights,
            values=self.feature_values_,
            budget=self.budget_,
            C=self._box(targets, weights),
            fit_intercept=bool(self.fit_intercept),
            labels=self._labels,
        )
        with reporting(self, X, y) as report:
            stop = Stop(self.tol, self.max_iter, report)
            results = self._solve(programs, chunks, stop)
        self._unpack(results, X.dtype)
        if any(result.interrupted for result in results):
            raise KeyboardInterrupt
        if not all(result.converged for result in results):
            self._warn()
        return self

    def _targets(self, y: Any, weights: Any) -> tuple[Any, Any]:
        """The targets that `_programs` needs, and the class of each row.

        Classes are used to split rows into chunks and to compute feature values.
        """
        raise NotImplementedError

    def _programs(self, targets: Any, **given: Any) -> list[DeletionProgram]:
        """The programs to solve, with the arguments `given` that all of them share."""
        raise NotImplementedError

    def _box(self, targets: Any, weights: Any) -> float:
        """The maximum absolute value of a weight."""
        return float(self.C)

    def _chunks(self, labels: Any) -> list[Any]:
        """The rows of each chunk, stratified by class."""
        if self.n_chunks == 1:
            return [np.arange(len(labels))]
        rng = check_random_state(self.random_state)
        shuffled = rng.permutation(len(labels))
        dealt = shuffled[np.argsort(labels[shuffled], kind="stable")]
        return [np.sort(dealt[c :: self.n_chunks]) for c in range(self.n_chunks)]

    def _solve(
        self, programs: list[DeletionProgram], chunks: list[Any], stop: Stop
    ) -> list[RobustLPResult]:
        """Solve one program after the other.

        After an interrupt the weights of the remaining programs stay at zero.
        """
        states = getattr(self, "_states", None) if self.warm_start else None
        if states is None or np.shape(states) != (len(programs), len(chunks)):
            states = [None] * len(programs)
        solver = ROBUST_LP_SOLVERS[self.solver]
        results = []
        for program, state in zip(programs, states, strict=True):
            results.append(in_chunks(program, chunks, solver, stop, state))
            if results[-1].interrupted:
                stop = replace(stop, max_iter=0)
        if self.warm_start:
            self._states = [result.state for result in results]
        return results

    def _unpack(self, results: list[RobustLPResult], dtype: Any) -> None:
        self.coef_ = np.array([result.w for result in results], dtype=dtype)
        self.intercept_ = np.array([result.b for result in results], dtype=dtype)
        value = np.array([result.value for result in results])
        gap = value - [result.bound for result in results]
        single = len(results) == 1
        self.objective_ = float(value[0]) if single else value
        self.gap_ = float(gap[0]) if single else gap
        self.n_iter_ = sum(result.n_iter for result in results)

    def _warn(self) -> None:
        warnings.warn(
            f"{type(self).__name__} stopped after {self.n_iter_} iterations, before "
            f"its gap was below tol={self.tol:g} (see gap_); increase max_iter or tol, "
            "or scale the features.",
            ConvergenceWarning,
            stacklevel=3 + WRAPPERS,
        )

    def __getstate__(self) -> Any:
        """Leave out the solver's state, which is large and only used by warm starts."""
        state = super().__getstate__()
        return {name: part for name, part in state.items() if name != "_states"}
