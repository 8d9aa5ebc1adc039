"""What all average-case estimators share: validate, build, solve, unpack."""

from __future__ import annotations

import warnings
from numbers import Integral, Real
from typing import Any, ClassVar

import numpy as np
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils._param_validation import Interval, StrOptions
from sklearn.utils.validation import _check_sample_weight

from noiseproof.design import Array, Design, as_design
from noiseproof.estimators.linear import LinearModel
from noiseproof.estimators.progress import (
    WRAPPERS,
    CallbackSupportMixin,
    reporting,
)
from noiseproof.estimators.validation import read_unlabeled, remember_missing
from noiseproof.losses import Loss, MomentLoss, make_loss
from noiseproof.noise import Noise, as_noise
from noiseproof.objectives import (
    Objective,
    marginal_objective,
    semi_supervised_objective,
)
from noiseproof.solvers import Result, Stop, check_solver, minimize


class MarginalEstimator(CallbackSupportMixin, LinearModel):
    """Minimise ½ ‖w‖² + C Σ_i s_i E[loss(y_i, w·x~_i + b)] over w and b.

    Subclasses name a loss of the registry and the expectation, and unpack θ.
    """

    _loss: ClassVar[str]
    noise: Any
    C: float
    fit_intercept: bool
    solver: str
    tol: float
    max_iter: int
    warm_start: bool
    missing: str

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        "noise": [Real, Noise, None],
        "C": [Interval(Real, 0, None, closed="neither")],
        "fit_intercept": ["boolean"],
        "solver": [str],
        "tol": [Interval(Real, 0, None, closed="neither")],
        "max_iter": [Interval(Integral, 1, None, closed="left")],
        "warm_start": ["boolean"],
        "unlabeled_weight": [Interval(Real, 0, None, closed="left")],
        "missing": [StrOptions({"allow", "warn", "error"})],
        "verbose": ["verbose"],
    }

    def set_params(self, **params: Any) -> Any:
        """Set parameters; `noise__rate` works even where noise is a plain number."""
        nested = any(name.startswith("noise__") for name in params)
        if nested and "noise" not in params and not isinstance(self.noise, Noise):
            self.noise = as_noise(self.noise)
        return super().set_params(**params)

    def _make_loss(self) -> Loss:
        expectation = getattr(self, "expectation", "exact")
        return make_loss(self._loss, expectation)

    def _prepare(self, X_unlabeled: Any = None) -> tuple[Noise, Loss, Any]:
        """Noise, loss and solver from the parameters, or one clear sentence."""
        self._validate_params()
        loss = self._make_loss()
        has_majorizer = isinstance(loss, MomentLoss) and loss.has_majorizer
        served = type(loss).__name__
        if X_unlabeled is not None:
            self._check_label_free(loss)
            has_majorizer, served = False, f"{served} with X_unlabeled"
        solver = check_solver(self.solver, has_majorizer, served)
        noise = as_noise(self.noise)
        noise.check()
        return noise, loss, solver

    def _check_label_free(self, loss: Loss) -> None:
        if not loss.label_free_penalty:
            raise ValueError(
                f"{type(self).__name__} cannot use X_unlabeled: the noising penalty of "
                f"{type(loss).__name__} depends on the labels, which those rows lack; "
                "use DropoutLogisticRegression with expectation 'variational', "
                "'taylor' or 'gaussian', DropoutRidge or DropoutPoissonRegressor."
            )

    def _weights(self, X: Any, sample_weight: Any) -> Array:
        return np.asarray(
            _check_sample_weight(
                sample_weight, X, dtype=np.float64, ensure_non_negative=True
            )
        )

    def _design(self, X: Any, noise: Noise, *, labeled: bool) -> Design:
        """The data as a design that the noise can act on."""
        has_missing = remember_missing(self, X, afresh=labeled)
        design = as_design(X, has_missing)
        noise.check(X.shape[1], minimum=design.minimum())
        return design

    def _objective(
        self, X: Any, Y: Array, weights: Array, noise: Noise, loss: Loss, Zs: list[Any]
    ) -> Objective:
        design = self._design(X, noise, labeled=True)
        weights = self.C * weights
        alpha = getattr(self, "unlabeled_weight", 0.0)
        if not Zs or alpha == 0:
            return marginal_objective(
                design, Y, weights, noise, loss, self.fit_intercept
            )
        unlabeled = [self._design(Z, noise, labeled=False) for Z in Zs]
        return semi_supervised_objective(
            design, Y, weights, noise, loss, self.fit_intercept,
            unlabeled=unlabeled, alpha=alpha, C=self.C,
        )  # fmt: skip

    def _minimize(
        self,
        X: Any,
        Y: Array,
        weights: Array,
        parts: tuple[Noise, Loss, Any],
        X_unlabeled: Any = None,
    ) -> Result:
        """Fit a row of `Y` per class, all together."""
        noise, loss, solver = parts
        Zs = read_unlabeled(self, X_unlabeled)
        objective = self._objective(X, Y, weights, noise, loss, Zs)
        start = self._start(objective.shape, objective.bound)
        with reporting(self, X, Y) as report:
            stop = Stop(self.tol, self.max_iter, report)
            result = minimize(solver, objective, start, stop)
        self._unpack(result, X.dtype)
        if not (result.converged or result.stopped):
            warnings.warn(
                f"{type(self).__name__} stopped after {result.n_iter} iterations, "
                f"before its objective was known to tol={self.tol:g}; increase "
                "max_iter, loosen tol or scale the features.",
                ConvergenceWarning,
                stacklevel=3 + WRAPPERS,
            )
        return result

    def _start(self, shape: tuple[int, int], bound: float | Array) -> Array:
        """Zero, or with `warm_start` the last solution where it fits."""
        start = np.zeros(shape)
        if not (self.warm_start and hasattr(self, "coef_")):
            return start
        coef = np.atleast_2d(self.coef_)
        d = shape[1] - self.fit_intercept
        if coef.shape == (shape[0], d) and np.all(np.abs(coef) < bound):
            start[:, :d] = coef
            if self.fit_intercept:
                start[:, -1] = self.intercept_
        return start

    def _unpack(self, result: Result, dtype: Any) -> None:
        theta = result.point.theta
        k = len(theta)
        coef = theta[:, :-1] if self.fit_intercept else theta
        self.coef_ = np.ascontiguousarray(coef, dtype=dtype)
        self.intercept_ = (
            theta[:, -1].astype(dtype) if self.fit_intercept else np.zeros(k, dtype)
        )
        value = result.point.value
        self.objective_ = float(value[0]) if k == 1 else value.copy()
        self.n_iter_ = result.n_iter
