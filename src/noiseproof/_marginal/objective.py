"""What is minimised: the one place where noise, loss and design meet.

    objective(θ) = ½ ‖w‖² + Σ_terms term(θ),      θ = (w, b)

for `k` one-vs-rest problems at once: θ has shape (k, d + 1) or (k, d), a row per
class, with the intercept, which is neither penalised nor noised, in the last column.
Values are (k,), gradients (k, d + 1).

A loss makes a `Term` from rows and noise, the objective adds terms up, and solvers see
the `Objective` only. Terms and objectives are values: each is at some θ, a new one at
θ = 0, where no pass over the data is needed, and `at` returns another one. What was
not asked for is not computed.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property, reduce
from typing import Any, ClassVar, Literal, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray

from noiseproof._rows import Array, Design, contiguous, host, stack
from noiseproof._stop import Stop
from noiseproof.noise import Dropout, Noise

Exactness = Literal["exact", "bound", "approximation"]
Task = Literal["classification", "regression"]

_VANISHED = 1e-6  # of the zero model's objective: a fit this much better is perfect
# A gain this far below the objective is lost in the rounding of its sum over rows
_ROUNDING = 2e-14
_SURE = 0.999  # the mean of labels ±1 beyond which odds count as no larger


# Up to here, intercept included, second derivatives may be a matrix that is formed and
# factored; with more features conjugate gradients need less than that
FEW_FEATURES = 100
# A sample of this part of the rows makes a good start if it has that many rows for
# each feature: its own minimum is then about D / (2 rows) too high, relatively
_SAMPLE = 1 / 16
_ROWS_PER_FEATURE = 50


class Loss:
    """What a row costs, given what noise leaves of its score; labels are -1 and +1.

    A loss sees rows only, and says itself what solvers may expect of it.
    """

    task: ClassVar[Task] = "classification"
    convex: ClassVar[bool] = True
    label_free_penalty: ClassVar[bool] = False
    # whether a quadratic can touch the loss from above, which "irls" minimises
    has_majorizer: ClassVar[bool] = False

    @property
    def kink_width(self) -> float:
        """Noise on the score that rounds the loss off well; 0 if it has no kink.

        A loss with a kink is not differentiable at v = 0, so solvers must approach
        v = 0 gradually, starting from here.
        """
        return 0.0

    @property
    def hinge_margin(self) -> float | None:
        """Without noise the loss is max(0, this - y m); None if it is another one."""
        return None

    def exactness(self, noise: Noise) -> Exactness:
        """How the row loss relates to the true expectation under `noise`."""
        raise NotImplementedError

    def plain(self, y: Array, m: Array) -> Array:
        """The loss without noise, at score `m`."""
        raise NotImplementedError

    def constant(self, mean: Array) -> Array:
        """A score that serves all rows about as well as any one, from the mean label.

        Least squares' by default. Of a kinked loss the best would do worse as a start:
        it puts the rows of the larger class beyond the kink, where nothing pulls.
        """
        return mean

    def term(
        self, design: Design, y: Array, weights: Array, noise: Noise, intercept: bool
    ) -> Term:
        """Σ_i weights_i E[loss(y_i, w·x~_i + b)], for a row of `y` per class."""
        if design.in_blocks:
            from noiseproof._marginal.blocks import BlocksTerm

            return BlocksTerm.of(self, design, y, weights, noise, intercept)
        return self._term(design, y, weights, noise, intercept)

    def _term(
        self, design: Design, y: Array, weights: Array, noise: Noise, intercept: bool
    ) -> Term:
        """The term of rows that are here, at θ = 0."""
        raise NotImplementedError

    def mixture(
        self,
        design: Design,
        y: Array,
        weights: Array,
        noise: Noise,
        intercept: bool,
        *,
        plain: float,
        noisy: float,
    ) -> list[Term]:
        """Terms that sum to plain * the loss without noise + noisy * that with it."""
        return [
            self.term(design, y, plain * weights, Dropout(0.0), intercept),
            self.term(design, y, noisy * weights, noise, intercept),
        ]


class Expansion(NamedTuple):
    """A sum over rows to second order around some θ: small arrays, which add up.

    Parameters
    ----------
    value, gap : arrays of shape (k,)
        Value of each class, and what smoothing adds to it.
    gradient : array of shape (k, d + 1)
        Gradient of each class.
    matrix : array of shape (k, d + 1, d + 1)
        Second derivatives of each class, or those of its majoriser.
    """

    value: Array
    gap: Array
    gradient: Array
    matrix: Array

    def plus(self, other: Expansion) -> Expansion:
        """The expansion of a sum."""
        return Expansion(*map(np.add, self, other))

    def with_classes(self, classes: NDArray[np.bool_], found: Expansion) -> Expansion:
        """The same with other numbers for some classes."""
        parts = [part.copy() for part in self]
        for part, new in zip(parts, found, strict=True):
            part[classes] = new
        return Expansion(*parts)


class ThetaLayout:
    """How the parameters θ of a term are laid out: weights, then the intercept."""

    fit_intercept: bool

    def split(self, theta: Array) -> tuple[Array, Array]:
        """Weights and intercepts of θ; a direction splits the same way."""
        if self.fit_intercept:
            return contiguous(theta[:, :-1]), theta[:, -1]
        return theta, np.zeros(len(theta))

    def join(self, W: Array, b: Array) -> Array:
        """θ, or a gradient in it, from its two parts."""
        return np.concatenate([W, b[:, None]], axis=1) if self.fit_intercept else W


class Term(ThetaLayout):
    """A sum over rows of a loss, C included, at some θ.

    The curvature that `hessian` returns is a symmetric matrix per class, known by its
    `diagonal` (k, d + 1), its `product(P)` with one vector per class, its
    `stiff_rows(k)`, those whose curvature dwarfs the rest, scaled, or None, and its
    `restrict(classes)`. With few features `expansion` is better: all that a Newton
    step needs, matrix included, in one pass.
    """

    loss: Loss
    weights: Array  # of its rows

    @property
    def shape(self) -> tuple[int, int]:
        """Number of classes and of parameters of each."""
        raise NotImplementedError

    @property
    def origin(self) -> Array:
        """θ = 0, stored where the data is."""
        return np.zeros(self.shape)

    @property
    def on_device(self) -> bool:
        """Whether its rows, and θ with them, are arrays of another library."""
        return False

    @property
    def is_noisy(self) -> bool:
        """Whether the features have noise, which rounds kinks off, too."""
        return True

    @property
    def prefers_matrix(self) -> bool:
        """Whether to form the matrix of second derivatives is better than products."""
        return self.shape[1] <= FEW_FEATURES and not self.on_device

    @property
    def has_free_rays(self) -> bool:
        """Whether its value at other points of a ray costs no pass over the data."""
        return False

    @property
    def bound(self) -> float | Array:
        """The term is finite only for abs(w) below this; a number, or one each."""
        return np.inf

    @property
    def label_sums(self) -> Array | None:
        """Σ_i c_i y_i and Σ_i c_i of each class, (2, k); None where not known."""
        return None

    @property
    def value(self) -> Array:
        """Value of each class, (k,)."""
        raise NotImplementedError

    @property
    def gradient(self) -> Array:
        """Gradient of each class, (k, d + 1)."""
        raise NotImplementedError

    @property
    def smoothing_gap(self) -> Array:
        """What smoothing adds to the value, (k,)."""
        return np.zeros(self.shape[0])

    def hessian(self, majorized: NDArray[np.bool_] | None = None) -> Any:
        """Second derivatives; for the `majorized` classes those of the majoriser."""
        raise NotImplementedError

    def expansion(self, majorized: NDArray[np.bool_] | None) -> Expansion:
        """Value, gradient and second derivatives here: one pass over the data.

        The matrices of the `majorized` classes are those of the majoriser; None leaves
        all matrices out, and 0.7 of the work.
        """
        raise NotImplementedError

    def at(self, theta: Array) -> Self:
        """The term at another θ; what is asked for there costs a pass over the data."""
        raise NotImplementedError

    def with_intercept(self, theta: Array) -> Self:
        """The term at a θ that differs in the intercept alone: no pass, if possible."""
        return self.at(theta)

    def ray(self, P: Array) -> Callable[[Array, Array], Self]:
        """The term at θ + α P, as a function of α, (k,), and of that point."""
        raise NotImplementedError

    def restrict(self, classes: Any) -> Self:
        """The term of some classes only."""
        raise NotImplementedError

    def sample(self, rows: NDArray[np.intp], share: float) -> Self:
        """The term of some rows, this share of all of them, which count for all."""
        raise NotImplementedError

    def solve_dual(self, stop: Stop) -> tuple[Array, int, bool, bool] | None:
        """Minimise ½ ‖w‖² + this term by its dual, if it is about a plain hinge loss.

        What noise there is gets ignored. Returns θ, the number of steps, whether it
        converged and whether it was stopped.
        """
        return None

    def smoothed(self, smoothing: float) -> Self:
        """The term at the same θ with the kinks of its loss rounded off."""
        return self


def _total(parts: Iterable[Array]) -> Array:
    """The sum, without the pass that adding the first part to 0 would cost."""
    return reduce(np.add, parts)


@dataclass(eq=False)
class Objective:
    """½ ‖w‖² + a sum of terms, at θ.

    Parameters
    ----------
    terms : sequence of Term
        Sums over rows, which add up: over blocks of data, labelled or not.
    theta : array of shape (k, d + 1) or (k, d)
        Where the terms are.
    null_value : array of shape (k,)
        Objective of the zero model, without smoothing.
    """

    terms: Sequence[Term]
    theta: Array
    null_value: Array
    known: tuple[NDArray[np.bool_] | None, Expansion] | None = field(
        default=None, init=False
    )

    @classmethod
    def of(cls, terms: Sequence[Term]) -> Self:
        """The objective of new terms, at θ = 0."""
        return cls(terms, terms[0].origin, np.abs(_total(t.value for t in terms)))

    @property
    def shape(self) -> tuple[int, int]:
        """Number of classes and of parameters of each."""
        return self.theta.shape

    @property
    def fit_intercept(self) -> bool:
        """Whether the last parameter is an intercept."""
        return self.terms[0].fit_intercept

    @property
    def kink_width(self) -> float:
        """Smoothing that rounds the kinks of the terms off well; 0 if none has any."""
        return max(term.loss.kink_width for term in self.terms)

    @property
    def on_device(self) -> bool:
        """Whether rows and θ are arrays of another library."""
        return any(term.on_device for term in self.terms)

    @property
    def is_noisy(self) -> bool:
        """Whether the features have noise, which rounds kinks off, too."""
        return all(term.is_noisy for term in self.terms)

    @property
    def is_convex(self) -> bool:
        """Whether the curvature can only seem negative, by rounding."""
        return all(term.loss.convex for term in self.terms)

    @property
    def prefers_matrix(self) -> bool:
        """Whether to form the matrix of second derivatives is better than products."""
        return all(term.prefers_matrix for term in self.terms)

    @property
    def has_majorizer(self) -> bool:
        """Whether a quadratic can touch the objective from above."""
        return all(term.loss.has_majorizer for term in self.terms)

    @property
    def has_free_rays(self) -> bool:
        """Whether its value at other points of a ray costs no pass over the data."""
        return all(term.has_free_rays for term in self.terms)

    @property
    def bound(self) -> float | Array:
        """The objective is finite only for abs(w) below this."""
        return reduce(np.minimum, (term.bound for term in self.terms))

    @property
    def has_weights(self) -> NDArray[np.bool_]:
        """Whether any weight is not zero, of each class."""
        return host((self.theta * self.penalized).any(axis=1))

    @cached_property
    def penalized(self) -> Array:
        """1 for each weight and 0 for the intercept, (d + 1,)."""
        ones = np.ones_like(self.theta[0])
        if self.fit_intercept:
            ones[-1] = 0.0
        return ones

    @cached_property
    def value(self) -> Array:
        """Objective of each class, (k,)."""
        w = self.theta * self.penalized
        penalty = 0.5 * host(np.einsum("kd,kd->k", w, w))
        return penalty + _total(t.value for t in self.terms)

    @cached_property
    def gradient(self) -> Array:
        """Gradient of each class, (k, d + 1)."""
        return self.theta * self.penalized + _total(t.gradient for t in self.terms)

    @property
    def size(self) -> Array:
        """What accuracy is relative to: the value, unless that vanishes, (k,)."""
        return np.maximum(np.abs(self.value), _VANISHED * self.null_value)

    @cached_property
    def smoothing_gap(self) -> Array:
        """How far the smoothed objective lies above the true one here, (k,)."""
        return _total(term.smoothing_gap for term in self.terms)

    def expansion(self, majorized: NDArray[np.bool_] | None) -> Expansion:
        """Value, gradient and second derivatives here, all in one pass over the data.

        The matrices of the `majorized` classes are those of the majoriser; None leaves
        all matrices out, and 0.7 of the work.
        """
        if self.known is not None and majorized is not None:
            before, found = self.known
            if before is not None and np.array_equal(before, majorized):
                return found
        parts = [term.expansion(majorized) for term in self.terms]
        value, gap, gradient, matrix = reduce(Expansion.plus, parts)
        w = self.theta * self.penalized
        value += 0.5 * np.einsum("kd,kd->k", w, w)
        if majorized is not None:
            matrix += np.diag(self.penalized)
        found = Expansion(value, gap, gradient + w, matrix)
        self._remember(found)
        self.known = majorized, found
        return found

    def known_at(self, theta: Array, expansion: Expansion) -> Self:
        """The objective at another θ, where its expansion is known already."""
        point = self.at(theta)
        point._remember(expansion)
        return point

    def _remember(self, expansion: Expansion) -> None:
        self.value, self.smoothing_gap, self.gradient, _ = expansion

    def is_small(self, gain: Array, tol: float) -> NDArray[np.bool_]:
        """Whether a possible `gain` is too small to go on, for each class."""
        rounding = _ROUNDING * np.maximum(np.abs(self.value), self.null_value)
        return gain <= np.maximum(tol * self.size, rounding)

    def hessian(self, majorized: NDArray[np.bool_] | None = None) -> Curvature:
        """Second derivatives; for the `majorized` classes those of the majoriser."""
        parts = [term.hessian(majorized) for term in self.terms]
        nothing = np.zeros(self.shape[0])
        return Curvature(parts, self.penalized, self.is_convex, nothing)

    def at(self, theta: Array) -> Self:
        """The objective at another θ; to ask for anything there costs a pass."""
        return replace(self, terms=[t.at(theta) for t in self.terms], theta=theta)

    def at_constant(self) -> Self:
        """The objective without weights, with intercepts that fit the labels' mean.

        Of one class among many that is far better than θ = 0: newsgroups takes up to
        a quarter less time.
        """
        first = self.terms[0]
        sums = first.label_sums if self.fit_intercept else None
        if sums is None:
            return self
        theta, mean = self.theta + 0.0, sums[0] / sums[1]
        if first.loss.task == "classification":
            mean = np.clip(mean, -_SURE, _SURE)
        theta[:, -1] = first.loss.constant(mean)
        terms = [term.with_intercept(theta) for term in self.terms]
        return replace(self, terms=terms, theta=theta)

    def ray(self, P: Array) -> Callable[[Array], Objective]:
        """The objective at θ + α P as a function of α, one number for each class."""
        rays = [term.ray(P) for term in self.terms]

        def point(alpha: Array) -> Objective:
            theta = self.theta + alpha[:, None] * P
            return replace(self, terms=[ray(alpha, theta) for ray in rays], theta=theta)

        return point

    def restrict(self, classes: Any) -> Self:
        """The same θ for some classes only; nothing is evaluated again."""
        terms = [term.restrict(classes) for term in self.terms]
        return replace(
            self,
            terms=terms,
            theta=self.theta[classes],
            null_value=self.null_value[classes],
        )

    @property
    def is_tall(self) -> bool:
        """Whether a sample of the rows would tell almost the same."""
        if self.on_device:  # there the matrices of a sample are not formed
            return False
        rows = min(len(term.weights) for term in self.terms)
        return self.is_convex and rows * _SAMPLE >= _ROWS_PER_FEATURE * self.shape[1]

    def sample(self) -> Self:
        """The objective of one row of each sixteen in succession, drawn by lot."""
        terms, lots, every = [], np.random.default_rng(0), round(1 / _SAMPLE)
        for term in self.terms:
            starts = np.arange(0, len(term.weights) - every + 1, every)
            rows = starts + lots.integers(every, size=len(starts))
            terms.append(term.sample(rows, len(rows) / len(term.weights)))
        return replace(self, terms=terms)

    def smoothed(self, smoothing: float) -> Self:
        """The same θ with the kinks rounded off; nothing is evaluated again."""
        return replace(self, terms=[term.smoothed(smoothing) for term in self.terms])


@dataclass(frozen=True)
class Solution:
    """Where a solver ended.

    Parameters
    ----------
    point : Objective
        The objective at the last θ.
    n_iter : int
        Steps taken.
    converged : bool
        Whether the accuracy asked for was reached for every class.
    stopped : bool
        Whether the listener asked to stop.
    """

    point: Objective
    n_iter: int
    converged: bool
    stopped: bool = False


@dataclass
class Curvature:
    """The curvature of the terms plus that of the penalty: 1, for the intercept 0.

    Parameters
    ----------
    parts : sequence
        Curvatures of the terms, as `Term` describes them.
    penalized : array of shape (d + 1,)
        Curvature of the penalty.
    is_convex : bool
        Whether it can only seem negative, by rounding.
    lent : array of shape (k,)
        Curvature that the intercept of each class has been lent by the solver.
    """

    parts: Sequence[Any]
    penalized: Array
    is_convex: bool
    lent: Array

    @property
    def diagonal(self) -> Array:
        """Diagonal of each matrix, (k, d + 1); made anew each time."""
        total = _total(part.diagonal for part in self.parts) + self.penalized
        total[:, -1] += self.lent
        return total

    def product(self, P: Array) -> Array:
        """Product with one vector per class: one pass over the data."""
        total = _total(part.product(P) for part in self.parts)
        total += P * self.penalized
        if self.lent.any():
            total[:, -1] += self.lent * P[:, -1]
        return total

    def stiff_rows(self, k: int) -> Any:
        """Rows, scaled, whose curvature dwarfs the rest for class `k`; or None."""
        found = [part.stiff_rows(k) for part in self.parts]
        found = [rows for rows in found if rows is not None]
        return stack(found) if len(found) > 1 else found[0] if found else None

    def restrict(self, classes: Any) -> Curvature:
        """The matrices of some classes only."""
        parts = [part.restrict(classes) for part in self.parts]
        return replace(self, parts=parts, lent=self.lent[classes])


def marginal_objective(
    design: Design,
    y: Array,
    weights: Array,
    noise: Noise,
    loss: Loss,
    fit_intercept: bool,
    *,
    unlabeled: Sequence[Design] = (),
    unlabeled_weight: float = 0.0,
) -> Objective:
    """½ ‖w‖² + Σ_i c_i E[loss(y_i, w·x~_i + b)], for a row of `y` per class.

    With unlabelled rows, ½ ‖w‖² + Σ_i c_i loss_i(v = 0) + ρ [R_labelled +
    R_unlabelled], where R = Σ c [loss(v) - loss(v = 0)] is the noising penalty and ρ
    the share of the labelled rows in the weight of all (Wager et al. 2013, eq. 19). R
    does not depend on labels, so unlabelled rows have it too; they get label 1, which
    cancels.

    Parameters
    ----------
    design : Design
        The data, n rows of d features.
    y : array of shape (k, n)
        Targets, or labels -1 and +1.
    weights : array of shape (n,)
        C times the sample weights.
    noise : Noise
        What corrupts the features.
    loss : Loss
        Row loss with its expectation.
    fit_intercept : bool
        Whether to add an intercept, neither penalised nor noised.
    unlabeled : sequence of Design
        Rows without labels, in as many containers as there are.
    unlabeled_weight : float
        C times the weight of an unlabelled row.
    """
    blocks = (y, weights, noise, fit_intercept)
    if not unlabeled or not unlabeled_weight:
        return Objective.of([loss.term(design, *blocks)])
    rest = unlabeled_weight * sum(part.shape[0] for part in unlabeled)
    own = float(weights.sum())
    share = own / (own + rest)
    terms = loss.mixture(design, *blocks, plain=1 - share, noisy=share)
    for part in unlabeled:
        ones, own = part.full(1.0, len(y)), part.full(share * unlabeled_weight)
        blocks = (ones, own, noise, fit_intercept)
        terms += loss.mixture(part, *blocks, plain=-1.0, noisy=1.0)
    return Objective.of(terms)
