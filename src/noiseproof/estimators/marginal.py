"""Base classes of the estimators that minimise the expected loss under noise."""

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

    Subclasses name the loss (`_loss`, a key of the registry of losses) and the
    parameters that are passed to it, and convert `y` to a row of numbers for each
    class.
    """

    _loss: ClassVar[str]
    _loss_parameters: ClassVar[tuple[str, ...]] = ()
    _reading: ClassVar[dict[str, Any]] = {}
    fits_blocks: ClassVar[bool] = True  # whether `fit` leaves Dask's blocks in place
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
        """Set the parameters of this estimator.

        `noise__rate` can be set even if `noise` is a number.

        Parameters
        ----------
        **params : dict
            Parameters by name, as in scikit-learn.

        Returns
        -------
        self : object
            This estimator.
        """
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
            Training data. NaN marks a missing value. Arrays of torch and CuPy, dense or
            CSR, stay on their device, and fitted attributes are on that device, too.
        y : array-like of shape (n_samples,)
            Class labels, or targets of a regression.
        sample_weight : array-like of shape (n_samples,), default=None
            Weight of each row.
        X_unlabeled : array-like, sparse matrix or list of them, default=None
            Rows without labels, which help to estimate the noising penalty (Wager et
            al. 2013, section 6). Each of them has the weight `unlabeled_weight`. Inside
            a cross-validation pass a list, `[X_unlabeled]`. Otherwise scikit-learn
            would split these rows, too, if they are as many as the rows of X.

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
                finally:  # after a failure, a warm start can resume from the last step
                    self._unpack(theta, values, numpy_type(X))
            self._move(X, given_y)
        if not done:
            warnings.warn(
                f"{type(self).__name__} stopped after {self.n_iter_} iterations, "
                f"before it reached the accuracy tol={self.tol:g}; increase max_iter "
                "or tol, or scale the features.",
                ConvergenceWarning,
                stacklevel=2 + WRAPPERS,
            )
        return self

    def _parts(self, semi_supervised: bool) -> tuple[Loss, Noise]:
        """Loss and noise from the parameters, or a clear error if they are invalid."""
        check_parameters(self)
        expectation = getattr(self, "expectation", "exact")
        options = {name: getattr(self, name) for name in self._loss_parameters}
        loss = make_loss(self._loss, expectation, **options)
        name = type(loss).__name__
        if semi_supervised and not loss.label_free_penalty:
            raise ValueError(
                f"{type(self).__name__} cannot use X_unlabeled: the noising penalty of "
                f"{name} depends on the labels, which these rows do not have; use "
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
        """A row of targets (for each class, of labels ±1), and the weights of rows."""
        raise NotImplementedError

    def _design(self, X: Any, noise: Noise, *, labeled: bool) -> Design:
        """The data as a `Design`, checked against the noise and the solver."""
        has_missing = remember_missing(self, X, afresh=labeled)
        design = as_design(X, has_missing)
        on_device = design.where == "device"
        if on_device and self.solver != "newton":
            raise ValueError(
                f"solver={self.solver!r} works for NumPy arrays only; for arrays on a "
                "GPU or another device use solver='newton'."
            )
        if on_device and noise.group_labels(X.shape[1]) is not None:
            raise ValueError(
                "Noise with groups works for NumPy arrays only; for arrays on a GPU or "
                "another device use noise without groups."
            )
        lowest, largest = design.extremes()
        if max(-lowest, largest) > _LARGEST:
            raise ValueError(
                f"X has values as large as {max(-lowest, largest):.2g}, whose powers "
                "overflow floating-point numbers; scale the features."
            )
        noise.check(X.shape[1], minimum=lowest)
        return design

    def _start(self, shape: tuple[int, int]) -> Array:
        """Zeros, or with `warm_start` the last solution if its shape is the same."""
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
        """Move fitted attributes to the device of X, and `classes_` to that of y."""
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
            "X and X_unlabeled must be on the same device: arrays on a device and "
            "arrays in memory cannot be used in one fit."
        )


class MarginalClassifier(LinearClassifier, MarginalEstimator):
    """Base class of classifiers: one-vs-rest problems, solved in the same passes."""

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        **MarginalEstimator._parameter_constraints,
        "class_weight": [dict, StrOptions({"balanced"}), None],
    }

    def _targets(self, y: Any, weights: Array) -> tuple[Any, Array]:
        labels = self._encode(y)
        return self._signs(labels), weights * self._class_weights(labels, weights)


class MarginalRegressor(LinearRegressor, MarginalEstimator):
    """Base class of regressors, which predict the mean of one target."""

    _reading: ClassVar[dict[str, Any]] = {"y_numeric": True}

    def _targets(self, y: Any, weights: Array) -> tuple[Any, Array]:
        return y[None, :], weights

    def _unpack(self, theta: Array, value: Array, dtype: Any) -> None:
        super()._unpack(theta, value, dtype)
        self.coef_ = self.coef_[0]
        self.intercept_ = float(self.intercept_[0])
