"""Every way to forecast from lagged readings of which some are missing."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property, partial
from typing import Any, NamedTuple, Protocol

import numpy as np
from scipy.optimize import minimize, nnls
from sklearn.compose import TransformedTargetRegressor
from sklearn.ensemble import HistGradientBoostingRegressor
from sklearn.frozen import FrozenEstimator
from sklearn.linear_model import RidgeCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from experiments.series import CALENDAR, Series
from noiseproof import (
    AverageOverMissing,
    CorruptedCopies,
    ReducedModels,
    RobustLPRegressor,
)
from noiseproof.conditionals import Donors, JointGaussian
from noiseproof.noise import Missing

BOOSTING, RIDGE = "boosting", "ridge"  # base models
PERSISTENCE, MEAN, LAST, OWN = "persistence", "mean fill", "last value", "own NaN"
COPIES, SIMULATED, AVERAGED = "NaN copies", "outage copies", "averaged"
REDUCED, BLEND = "reduced models", "blend"
ADAPTIVE, WORST_CASE = "adaptive", "adaptive, worst case"
ROBUST = "RobustLPRegressor"

_RATE = 0.2  # of sensors missing in the copies that know nothing of time
_LAWS = (Donors(), Donors(corrected=False), JointGaussian())
_PENALTIES = (1.0, 10.0, 100.0, 1000.0)
_SMOOTH = 0.02  # width over which a maximum is smoothed, in standard deviations
_STEPS = 300  # of the descent to the worst case; later ones gain less than a percent
_BUDGETS = (0.0, 0.1, 0.25, 0.5, 1.0)  # sensors that the robust program may lose
_LARGEST = 2.0  # weight of the robust program, in standard deviations
_NEVER = 1e3  # value of a feature of the calendar, far above any budget


class Rows(NamedTuple):
    """Rows as they arrive: with NaN, and with each sensor's last reading instead."""

    incomplete: Any
    last: Any

    @classmethod
    def joined(cls, parts: Iterable[Rows]) -> Rows:
        return cls(*map(np.concatenate, zip(*parts, strict=True)))


@dataclass(frozen=True)
class Past:
    """Training rows, their targets, and copies of the rows under simulated outages."""

    X: Any
    y: Any
    simulated: Any

    def __getitem__(self, chosen: Any) -> Past:
        return Past(self.X[chosen], self.y[chosen], self.simulated[:, chosen])


class Sizes(Protocol):
    """How large the models are."""

    @property
    def n_trees(self) -> int: ...
    @property
    def n_patterns(self) -> tuple[int, int]: ...


class Trained:
    """Training rows, and what several methods fit on them."""

    def __init__(self, past: Past, series: Series, sizes: Sizes):
        self.past, self.series, self.sizes = past, series, sizes
        self.means = past.X.mean(axis=0)

    @cached_property
    def models(self) -> dict[str, Any]:
        """The base models, fitted on complete rows."""
        linear = make_pipeline(StandardScaler(), RidgeCV(np.logspace(-2, 4, 13)))
        models = {BOOSTING: boosting(self.sizes.n_trees), RIDGE: linear}
        return {k: model.fit(self.past.X, self.past.y) for k, model in models.items()}

    @cached_property
    def halves(self) -> list[tuple[Trained, Any, Any]]:
        """A half of the rows to train on, with rows and targets of the other half.

        Each of the other rows comes once, under one of the simulated outages.
        """
        late = np.arange(len(self.past.y)) >= len(self.past.y) // 2
        found = []
        for half in (late, ~late):
            others = self.past[~half]
            places = np.arange(len(others.y))
            rows = others.simulated[places % len(others.simulated), places]
            trained = Trained(self.past[half], self.series, self.sizes)
            found.append((trained, rows, others.y))
        return found

    def filled(self, X: Any) -> Any:
        """Rows with means of the training rows where they are missing."""
        return np.where(np.isnan(X), self.means, X)


Forecaster = Callable[[Rows], Any]
Maker = Callable[[Trained], Forecaster]


def held_out(makers: Sequence[Maker], trained: Trained) -> tuple[Any, Any]:
    """Forecasts of held-out halves by each maker's models, and the true values."""
    forecasts, wanted = [], []
    for half, X, y in trained.halves:
        forecasts.append([make(half)(Rows(X, X)) for make in makers])
        wanted.append(y)
    return np.concatenate(forecasts, axis=1).T, np.concatenate(wanted)


def best(makers: Sequence[Maker], trained: Trained) -> Maker:
    """The maker with the least squared error on held-out halves."""
    forecasts, wanted = held_out(makers, trained)
    errors = ((forecasts - wanted[:, None]) ** 2).mean(axis=0)
    return makers[int(errors.argmin())]


def chosen(makers: Sequence[Maker], trained: Trained) -> Forecaster:
    """A model of the maker that is best on held-out halves."""
    return best(makers, trained)(trained)


def given_nan(model: Any) -> Forecaster:
    """A fitted model that takes rows with NaN."""
    return lambda rows: model.predict(rows.incomplete)


def persistence(trained: Trained) -> Forecaster:
    """The last reading of the target: its first lag, which follows the calendar."""
    place = trained.series.calendar.shape[1]
    return lambda rows: trained.filled(rows.last)[:, place]


def filling(base: str, which: str, trained: Trained) -> Forecaster:
    """The base model behind a fill."""
    model = trained.models[base]
    return lambda rows: model.predict(trained.filled(getattr(rows, which)))


def own_nan(trained: Trained) -> Forecaster:
    return given_nan(trained.models[BOOSTING])


def copies(trained: Trained) -> Forecaster:
    """Trees on copies in which whole sensors are missing."""
    groups = trained.series.groups
    rates = [_RATE * (not name.startswith(CALENDAR)) for name in groups]
    trees = CorruptedCopies(larger(trained), Missing(rates, groups), random_state=0)
    return given_nan(trees.fit(trained.past.X, trained.past.y))


def simulated(trained: Trained) -> Forecaster:
    """Trees on complete rows and on the same rows under simulated outages."""
    past = trained.past
    X = np.concatenate([past.X, *past.simulated])
    y = np.tile(past.y, 1 + len(past.simulated))
    return given_nan(larger(trained).fit(X, y))


def reduced(base: str, trained: Trained) -> Forecaster:
    n_patterns = trained.sizes.n_patterns[base == RIDGE]
    model = ReducedModels(trained.models[base], n_patterns)
    return given_nan(model.fit(trained.past.X, trained.past.y))


def averaged(base: str, law: Any, trained: Trained) -> Forecaster:
    model = AverageOverMissing(FrozenEstimator(trained.models[base]), law)
    return given_nan(model.fit(trained.past.X))


def blend(trained: Trained) -> Forecaster:
    """Averaged trees and trees on outages, weighted by held-out halves."""
    makers = [best(_AVERAGES[BOOSTING], trained), simulated]
    weights = mixture(*held_out(makers, trained))
    members = [make(trained) for make in makers]
    return lambda rows: np.stack([ask(rows) for ask in members], axis=1) @ weights


def mixture(forecasts: Any, wanted: Any) -> Any:
    """Weights, none negative and one in sum, of the least squared error."""
    heavy = 1e3 * np.abs(forecasts).max() * len(wanted) ** 0.5
    A = np.vstack([forecasts, np.full(forecasts.shape[1], heavy)])
    weights = nnls(A, np.append(wanted, heavy))[0]
    return weights / weights.sum()


def adaptive(kind: type[AdaptiveRidge], penalty: float, trained: Trained) -> Forecaster:
    return given_nan(kind(penalty).fit(trained.past))


def robust(budget: float, trained: Trained) -> Forecaster:
    """The robust program for lost sensors; a missing value is a mean, which is zero."""
    names = trained.series.groups
    values = [_NEVER if n.startswith(CALENDAR) else 1.0 for n in dict.fromkeys(names)]
    program = RobustLPRegressor(
        budget, groups=names, feature_values=values, C=_LARGEST, tol=1e-3
    )
    model = TransformedTargetRegressor(
        make_pipeline(StandardScaler(), program), transformer=StandardScaler()
    )
    model.fit(trained.past.X, trained.past.y)
    return lambda rows: model.predict(trained.filled(rows.incomplete))


class AdaptiveRidge:
    """Least squares whose weights are linear in which features are missing.

    A missing feature counts as its mean, and moves the weights of all others by an
    amount that is learned: y = (w + W m)'z + v'm, with z the standardised row, zero
    where it is missing, and m one there.
    """

    def __init__(self, penalty: float):
        self.penalty = penalty

    def fit(self, past: Past) -> AdaptiveRidge:
        self.means, self.scales = past.X.mean(axis=0), past.X.std(axis=0) + 1e-12
        gaps = np.isnan(np.concatenate(past.simulated))
        # columns of one sensor at one lag are missing together
        first = np.unique(gaps, axis=1, return_index=True)[1]
        self.masks = first[gaps[:, first].any(axis=0)]
        self.level = past.y.mean()
        wanted = past.y - self.level
        designs = map(self._design, (past.X, *past.simulated))
        sums = [(D.T @ D, D.T @ wanted) for D in designs]
        squares, products = (np.sum(part, axis=0) for part in zip(*sums, strict=True))
        penalties = self.penalty * np.eye(len(products))
        self.weights = np.linalg.solve(squares + penalties, products)
        return self

    def _parts(self, X: Any) -> tuple[Any, Any]:
        missing = np.isnan(X)
        Z = np.where(missing, 0.0, (X - self.means) / self.scales).astype(np.float32)
        return Z, missing[:, self.masks].astype(np.float32)

    def _design(self, X: Any) -> Any:
        Z, M = self._parts(X)
        return np.hstack([Z, M, np.einsum("ni,nj->nij", Z, M).reshape(len(Z), -1)])

    def predict(self, X: Any) -> Any:
        return self._design(X) @ self.weights + self.level


class AdaptiveRobust(AdaptiveRidge):
    """The same weights, but for the outage that is worst for each row.

    Minimised is the mean over the rows of the largest absolute error of all copies of
    a row, the complete one included, plus penalty / 2n times the squared weights. The
    target is in standard deviations here. A maximum of errors e is smoothed to
    t log Σ exp(e / t), which is at most t log(number of copies) above it. The problem
    is convex; L-BFGS starts from the least squares.
    """

    def fit(self, past: Past) -> AdaptiveRobust:
        super().fit(past)
        unit = past.y.std()
        copies = np.concatenate([past.X, *past.simulated])
        loss = partial(
            self._loss, *self._parts(copies), wanted=(past.y - self.level) / unit
        )
        options = {"maxiter": _STEPS}
        start = self.weights / unit
        found = minimize(loss, start, jac=True, method="L-BFGS-B", options=options)
        self.weights = found.x * unit
        return self

    def _loss(self, Z: Any, M: Any, weights: Any, wanted: Any) -> tuple[float, Any]:
        """The smoothed worst case, and its gradient."""
        n, (d, m) = len(wanted), (Z.shape[1], M.shape[1])
        w, v, W = np.split(weights.astype(np.float32), [d, d + m])
        forecasts = Z @ w + M @ v + np.einsum("nj,nj->n", Z @ W.reshape(d, m), M)
        errors = (forecasts.astype(np.float64).reshape(-1, n) - wanted) / _SMOOTH
        largest = np.abs(errors).max(axis=0)
        shares = np.exp(np.abs(errors) - largest)
        total = shares.sum(axis=0)
        worst = _SMOOTH * np.mean(largest + np.log(total))
        slopes = (np.sign(errors) * shares / total / n).ravel().astype(np.float32)
        gradient = [slopes @ Z, slopes @ M, (Z.T @ (slopes[:, None] * M)).ravel()]
        penalty = self.penalty / n
        return (
            float(worst + penalty / 2 * weights @ weights),
            np.concatenate(gradient) + penalty * weights,
        )


def boosting(n_trees: int, **options: Any) -> Any:
    return HistGradientBoostingRegressor(
        max_iter=n_trees, learning_rate=0.08, random_state=0, **options
    )


def larger(trained: Trained) -> Any:
    """Trees that have to learn patterns of missing values as well."""
    return boosting(5 * trained.sizes.n_trees // 2, max_leaf_nodes=63)


_AVERAGES: Mapping[str, list[Maker]] = {
    base: [partial(averaged, base, law) for law in _LAWS] for base in (BOOSTING, RIDGE)
}
_ADAPTIVE: Mapping[type[AdaptiveRidge], list[Maker]] = {
    kind: [partial(adaptive, kind, penalty) for penalty in _PENALTIES]
    for kind in (AdaptiveRidge, AdaptiveRobust)
}
METHODS: dict[tuple[str, str], Maker] = {
    (BOOSTING, PERSISTENCE): persistence,
    (BOOSTING, MEAN): partial(filling, BOOSTING, "incomplete"),
    (BOOSTING, LAST): partial(filling, BOOSTING, "last"),
    (BOOSTING, OWN): own_nan,
    (BOOSTING, COPIES): copies,
    (BOOSTING, SIMULATED): simulated,
    (BOOSTING, REDUCED): partial(reduced, BOOSTING),
    (BOOSTING, AVERAGED): partial(chosen, _AVERAGES[BOOSTING]),
    (BOOSTING, BLEND): blend,
    (RIDGE, PERSISTENCE): persistence,
    (RIDGE, MEAN): partial(filling, RIDGE, "incomplete"),
    (RIDGE, LAST): partial(filling, RIDGE, "last"),
    (RIDGE, ADAPTIVE): partial(chosen, _ADAPTIVE[AdaptiveRidge]),
    (RIDGE, WORST_CASE): partial(chosen, _ADAPTIVE[AdaptiveRobust]),
    (RIDGE, REDUCED): partial(reduced, RIDGE),
    (RIDGE, AVERAGED): partial(chosen, _AVERAGES[RIDGE]),
    (RIDGE, ROBUST): partial(chosen, [partial(robust, b) for b in _BUDGETS]),
}
