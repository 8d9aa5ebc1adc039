"""What the estimators that minimise an invariant risk share: solve, report, warn."""

from __future__ import annotations

import warnings
from numbers import Integral, Real
from typing import Any, ClassVar

import numpy as np
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils import check_random_state

from noiseproof._invariant import INVARIANT_SOLVERS, InvariantResult
from noiseproof._marginal import Stop
from noiseproof._rows import Array, one_blas_thread
from noiseproof._sklearn import (
    WRAPPERS,
    CallbackSupportMixin,
    Interval,
    StrOptions,
    _check_sample_weight,
)
from noiseproof._stop import reporting
from noiseproof.attacks import Attack


class InvariantEstimator(CallbackSupportMixin):
    """Minimise Σ_i p_i l_i(f) + α/2 ‖f‖², the worst transform inside each l_i."""

    attack: Attack | None
    alpha: float
    solver: str
    tol: float
    max_iter: int
    random_state: Any

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        "attack": [Attack, None],
        "alpha": [Interval(Real, 0, None, closed="neither")],
        "solver": [StrOptions(set(INVARIANT_SOLVERS))],
        "tol": [Interval(Real, 0, None, closed="neither")],
        "max_iter": [Interval(Integral, 1, None, closed="left")],
        "random_state": ["random_state"],
        "verbose": ["verbose"],
    }

    @staticmethod
    def _weights(X: Any, sample_weight: Any) -> Array:
        weights = _check_sample_weight(
            sample_weight, X, dtype=np.float64, ensure_non_negative=True
        )
        if not weights.any():
            raise ValueError("sample_weight is zero for all rows; some must count.")
        return np.asarray(weights)

    def _solve(self, risk: Any, X: Any, y: Any) -> InvariantResult:
        with reporting(self, X, y) as report:
            stop = Stop(self.tol, self.max_iter, report)
            rng = check_random_state(self.random_state)
            # products here are narrow: threads of BLAS would wait more than they work
            with one_blas_thread():
                result = INVARIANT_SOLVERS[self.solver](risk, stop, rng)
        self.objective_ = result.value
        self.gap_ = max(0.0, result.value - result.bound)
        self.n_cuts_, self.n_iter_ = result.n_cuts, result.n_iter
        if not (result.converged or result.stopped):
            warnings.warn(
                f"{type(self).__name__} stopped after {result.n_iter} iterations, "
                f"before its gap was below tol={self.tol:g} (see gap_); increase "
                "max_iter or alpha, loosen tol or scale the features.",
                ConvergenceWarning,
                stacklevel=3 + WRAPPERS,
            )
        return result
