"""What all average-case estimators share: validate, build, solve, unpack."""

from __future__ import annotations

import warnings
from numbers import Integral, Real
from typing import Any, ClassVar

import numpy as np
from sklearn.base import RegressorMixin
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils import compute_class_weight

from noiseproof._marginal import Result, Stop, check_solver, minimize
from noiseproof._marginal.losses import Loss, MomentLoss, make_loss
from noiseproof._marginal.objective import (
    Objective,
    marginal_objective,
    semi_supervised_objective,
)
from noiseproof._rows import (
    Array,
    Design,
    as_design,
    read_training,
    read_unlabeled,
    remember_missing,
)
from noiseproof._sklearn import (
    WRAPPERS,
    CallbackSupportMixin,
    Interval,
    StrOptions,
    _check_sample_weight,
    with_callbacks,
)
from noiseproof.estimators.linear import LinearClassifier, LinearModel
from noiseproof.estimators.progress import reporting
from noiseproof.noise import Noise, as_noise


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


class MarginalClassifier(LinearClassifier, MarginalEstimator):
    """Classes one against the rest, solved together over the same passes."""

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        **MarginalEstimator._parameter_constraints,
        "class_weight": [dict, StrOptions({"balanced"}), None],
    }

    @with_callbacks
    def fit(
        self, X: Any, y: Any, sample_weight: Any = None, X_unlabeled: Any = None
    ) -> Any:
        """Fit the model.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features)
            Training data; NaN means that a feature is missing there.
        y : array-like of shape (n_samples,)
            Class labels.
        sample_weight : array-like of shape (n_samples,), default=None
            Weight of each row.
        X_unlabeled : array-like, sparse matrix or list of them, default=None
            Rows without labels, which help to estimate the noising penalty (Wager et
            al. 2013, section 6), each counting `unlabeled_weight`. Pass `[X_unlabeled]`
            inside a cross-validation, which would else split rows that are as many as
            those of X.

        Returns
        -------
        self : object
            The fitted estimator.
        """
        parts = self._prepare(X_unlabeled)
        X, y = read_training(self, X, y)
        labels = self._encode(y)
        weights = self._weights(X, sample_weight)
        if self.class_weight is not None:
            weights = weights * self._class_weights(y, labels, weights)[labels]
        self._minimize(X, self._signs(labels), weights, parts, X_unlabeled)
        return self

    def _class_weights(self, y: Any, labels: Any, weights: Array) -> Array:
        """Weight of each class; a balanced one makes all classes weigh the same."""
        if self.class_weight != "balanced":
            per_class = compute_class_weight(
                self.class_weight, classes=self.classes_, y=y
            )
            return np.asarray(per_class)
        mass = np.bincount(labels, weights)  # scikit-learn 1.6 would count rows
        return np.asarray(mass.sum() / (len(mass) * np.where(mass > 0, mass, 1.0)))


class MarginalRegressor(RegressorMixin, MarginalEstimator):
    """One target; `coef_` has shape (n_features,) and `intercept_` is a number."""

    def _check_target(self, y: Array) -> None:
        """Raise one sentence if the loss cannot take such targets."""

    @with_callbacks
    def fit(
        self, X: Any, y: Any, sample_weight: Any = None, X_unlabeled: Any = None
    ) -> Any:
        """Fit the model.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features)
            Training data; NaN means that a feature is missing there.
        y : array-like of shape (n_samples,)
            Targets.
        sample_weight : array-like of shape (n_samples,), default=None
            Weight of each row.
        X_unlabeled : array-like, sparse matrix or list of them, default=None
            Rows without labels, which help to estimate the noising penalty (Wager et
            al. 2013, section 6), each counting `unlabeled_weight`. Pass `[X_unlabeled]`
            inside a cross-validation, which would else split rows that are as many as
            those of X.

        Returns
        -------
        self : object
            The fitted estimator.
        """
        parts = self._prepare(X_unlabeled)
        X, y = read_training(self, X, y, y_numeric=True)
        y = y.astype(np.float64)
        self._check_target(y)
        weights = self._weights(X, sample_weight)
        self._minimize(X, y[None, :], weights, parts, X_unlabeled)
        return self

    def _unpack(self, result: Result, dtype: Any) -> None:
        super()._unpack(result, dtype)
        self.coef_ = self.coef_[0]
        self.intercept_ = float(self.intercept_[0])

    def predict(self, X: Any) -> Array:
        """Predicted mean of the target.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features)
            Rows to predict for; a missing feature (NaN) adds nothing to the score.

        Returns
        -------
        y : array of shape (n_samples,)
            Predictions.
        """
        return self._scores(X)[:, 0]
