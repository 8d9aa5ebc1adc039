"""What all average-case estimators share: validate, build, solve, unpack."""

from __future__ import annotations

import warnings
from collections.abc import Mapping
from numbers import Integral, Real
from typing import Any, ClassVar, Self

import numpy as np
from sklearn.exceptions import ConvergenceWarning

from noiseproof._marginal import (
    Facts,
    Loss,
    Plan,
    Problem,
    Stop,
    check_solver,
    make_loss,
    solve,
)
from noiseproof._private import (
    WRAPPERS,
    CallbackSupportMixin,
    Interval,
    StrOptions,
    check_parameters,
    with_callbacks,
)
from noiseproof._rows import (
    Array,
    Design,
    as_design,
    freeing,
    host,
    numpy_type,
    placed,
    read_training,
    read_unlabeled,
    read_weights,
    remember_missing,
)
from noiseproof._stop import reporting
from noiseproof.estimators.linear import (
    LinearClassifier,
    LinearModel,
    LinearRegressor,
)
from noiseproof.noise import Noise, as_noise

_LARGEST = 1e70  # second derivatives are sums of fourth powers


class MarginalEstimator(CallbackSupportMixin, LinearModel):
    """Minimise ½ ‖w‖² + C Σ_i s_i E[loss(y_i, w·x~_i + b)] over w and b.

    Subclasses name a loss of the registry and those of their parameters that it takes,
    and turn `y` into a row of numbers per class.
    """

    _loss: ClassVar[str]
    _loss_parameters: ClassVar[tuple[str, ...]] = ()
    _reading: ClassVar[dict[str, Any]] = {}
    fits_blocks: ClassVar[bool] = (
        True  # whether `fit` leaves Dask's blocks where they are
    )
    noise: Any
    C: float
    fit_intercept: bool
    solver: str
    tol: float
    max_iter: int
    warm_start: bool
    missing: str

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        "noise": [Real, Noise, Mapping, StrOptions({"auto"}), None],
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

    @with_callbacks
    def fit(
        self, X: Any, y: Any, sample_weight: Any = None, X_unlabeled: Any = None
    ) -> Self:
        """Fit the model.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features)
            Training data; NaN means that a feature is missing there. Arrays of torch
            and CuPy, dense or CSR, stay on their device, and the fitted attributes
            are there, too.
        y : array-like of shape (n_samples,)
            Class labels, or the targets of a regression.
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
        loss, noise = self._parts(X_unlabeled is not None)
        given_y = y
        with freeing():
            X, y = read_training(self, X, y, in_blocks=True, **self._reading)
            weights = read_weights(sample_weight, X)
            names = getattr(self, "feature_names_in_", range(X.shape[1]))
            self.noise_ = noise = noise.on(names, float(weights.sum()))
            Y, weights = self._targets(y, weights)
            problem = Problem(
                self._design(X, noise, labeled=True),
                Y, self.C * weights, noise, loss, self.fit_intercept,
                unlabeled=[
                    self._design(Z, noise, labeled=False)
                    for Z in read_unlabeled(self, X_unlabeled)
                ],
                unlabeled_weight=self.C * getattr(self, "unlabeled_weight", 0.0),
            )  # fmt: skip
            _check_places(problem)
            theta, values = self._start(problem.shape), np.full(len(Y), np.nan)
            self.n_iter_ = 0
            with reporting(self, X, y) as report:
                facts = Facts.of(
                    problem, is_warm=bool(theta.any()), is_heard=report is not None
                )
                plan = Plan.of(facts, self.solver)
                stop = Stop(self.tol, self.max_iter, report)
                try:
                    self.n_iter_, done = solve(problem, plan, theta, values, stop)
                finally:  # if a cluster fails, the last step is kept for a warm start
                    self._unpack(theta, values, numpy_type(X))
            self._move(X, given_y)
        if not done:
            warnings.warn(
                f"{type(self).__name__} stopped after {self.n_iter_} iterations, "
                f"before its objective was known to tol={self.tol:g}; increase "
                "max_iter, loosen tol or scale the features.",
                ConvergenceWarning,
                stacklevel=2 + WRAPPERS,
            )
        return self

    def _parts(self, semi_supervised: bool) -> tuple[Loss, Noise]:
        """Loss and noise from the parameters, or one clear sentence."""
        check_parameters(self)
        expectation = getattr(self, "expectation", "exact")
        options = {name: getattr(self, name) for name in self._loss_parameters}
        loss = make_loss(self._loss, expectation, **options)
        name = type(loss).__name__
        if semi_supervised and not loss.label_free_penalty:
            raise ValueError(
                f"{type(self).__name__} cannot use X_unlabeled: the noising penalty of "
                f"{name} depends on the labels, which those rows lack; use "
                "DropoutLogisticRegression with expectation 'variational', 'taylor' or "
                "'gaussian', DropoutRidge or DropoutPoissonRegressor."
            )
        if semi_supervised:  # a difference of two losses has no majoriser
            check_solver(self.solver, False, f"{name} with X_unlabeled")
        else:
            check_solver(self.solver, loss.has_majorizer, name)
        noise = as_noise(self.noise)
        noise.check()
        return loss, noise

    def _targets(self, y: Any, weights: Array) -> tuple[Any, Array]:
        """A row of targets, or of labels ±1, for each class; the weights of rows."""
        raise NotImplementedError

    def _design(self, X: Any, noise: Noise, *, labeled: bool) -> Design:
        """The data as a design that the noise can act on."""
        has_missing = remember_missing(self, X, afresh=labeled)
        design = as_design(X, has_missing)
        on_device = design.where == "device"
        if on_device and self.solver != "newton":
            raise ValueError(
                f"solver={self.solver!r} works on NumPy arrays only; for arrays on a "
                "device use 'newton'."
            )
        if on_device and noise.group_labels(X.shape[1]) is not None:
            raise ValueError(
                "Noise with groups works on NumPy arrays only; for arrays on a device "
                "give each feature noise of its own."
            )
        lowest, largest = design.extremes()
        if max(-lowest, largest) > _LARGEST:
            raise ValueError(
                f"X has values as large as {max(-lowest, largest):.2g}, whose powers "
                "are too large for floating-point numbers; scale the features."
            )
        noise.check(X.shape[1], minimum=lowest)
        return design

    def _start(self, shape: tuple[int, int]) -> Array:
        """Zero, or with `warm_start` the last solution where it fits."""
        start = np.zeros(shape)
        if self.warm_start and hasattr(self, "coef_"):
            last = np.atleast_2d(host(self.coef_))
            if last.shape == (shape[0], shape[1] - self.fit_intercept):
                start[:, : last.shape[1]] = last
                if self.fit_intercept:
                    start[:, -1] = host(self.intercept_)
        return start

    def _unpack(self, theta: Array, value: Array, dtype: Any) -> None:
        coef = theta[:, :-1] if self.fit_intercept else theta
        self.coef_ = np.ascontiguousarray(coef, dtype=dtype)
        b = theta[:, -1] if self.fit_intercept else np.zeros(len(theta))
        self.intercept_ = b.astype(dtype)
        self.objective_ = float(value[0]) if len(value) == 1 else value

    def _move(self, X: Any, y: Any) -> None:
        """Put what was fitted where the data is; classes are where the labels are."""
        for name, value in vars(self).items():
            if name.endswith("_") and isinstance(value, np.ndarray):
                setattr(self, name, placed(value, y if name == "classes_" else X))

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.array_api_support = True
        return tags


def _check_places(problem: Problem) -> None:
    """Refuse rows on a device together with others that are not."""
    parts = [problem.design, *problem.unlabeled]
    if len({part.where == "device" for part in parts}) > 1:
        raise ValueError(
            "X_unlabeled must be where X is: arrays on a device and arrays in memory "
            "cannot be used in one fit."
        )


class MarginalClassifier(LinearClassifier, MarginalEstimator):
    """Classes one against the rest, solved together over the same passes."""

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        **MarginalEstimator._parameter_constraints,
        "class_weight": [dict, StrOptions({"balanced"}), None],
    }

    def _targets(self, y: Any, weights: Array) -> tuple[Any, Array]:
        labels = self._encode(y)
        return self._signs(labels), weights * self._class_weights(labels, weights)


class MarginalRegressor(LinearRegressor, MarginalEstimator):
    """One target, whose mean is predicted."""

    _reading: ClassVar[dict[str, Any]] = {"y_numeric": True}

    def _targets(self, y: Any, weights: Array) -> tuple[Any, Array]:
        return y[None, :], weights

    def _unpack(self, theta: Array, value: Array, dtype: Any) -> None:
        super()._unpack(theta, value, dtype)
        self.coef_ = self.coef_[0]
        self.intercept_ = float(self.intercept_[0])
