"""The objective function: the only place where noise, loss and design are combined.

    objective(θ) = ½ ‖w‖² + Σ_i c_i E[loss(y_i, w·x~_i + b)],      θ = (w, b)

for `k` one-vs-rest problems at once: θ has shape (k, d + 1) or (k, d), a row per
class, with the intercept, which is neither penalised nor noised, in the last column.
Values are (k,), gradients (k, d + 1).

An objective belongs to one θ and is not modified; `at` returns the objective at another
θ. A new objective is at θ = 0, where no pass over the data is needed. Values and
derivatives are computed when they are first needed. A sum over some rows is an
objective, too, with `ridge` = 0. The complete objective, with ½ ‖w‖², has `ridge` = 1.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field, replace
from functools import reduce
from typing import TYPE_CHECKING, Any, ClassVar, Literal, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray

from noiseproof._rows import Array, Design, contiguous, host
from noiseproof.noise import Dropout, Noise

Exactness = Literal["exact", "bound", "approximation"]
Task = Literal["classification", "regression"]
Classes = NDArray[np.bool_]  # a boolean for each class

_VANISHED = 1e-6  # fraction of the zero model's objective that counts as a perfect fit
# Relative gain below which rounding of the sum over rows dominates
_ROUNDING = 2e-14
_SURE = 0.999  # the mean of labels ±1 is clipped to this, so that the odds are bounded
_LONGEST_STEP = 1000.0  # longest step of the intercept, in widths of the kink


if TYPE_CHECKING:
    from functools import cached_property

    lazy = cached_property
else:

    class lazy:  # noqa: N801
        """`cached_property` as in Python 3.12, without a lock.

        In Python 3.11, all objects of a class share one lock. An objective that waits
        for other threads, which evaluate objectives of their own, would deadlock.
        """

        def __init__(self, compute):
            self._compute = compute

        def __set_name__(self, owner, name):
            self._name = name

        def __get__(self, instance, owner=None):
            value = instance.__dict__[self._name] = self._compute(instance)
            return value


class Loss:
    """The expected loss of a row, given its noisy score; labels are -1 and +1.

    A loss sees only rows, and declares the properties that solvers rely on.
    """

    task: ClassVar[Task] = "classification"
    convex: ClassVar[bool] = True
    label_free_penalty: ClassVar[bool] = False
    # whether a quadratic can touch the loss from above, which "irls" minimises
    has_majorizer: ClassVar[bool] = False
    # whether the mean and variance of a score are all that it needs
    needs_moments: ClassVar[bool] = False

    @property
    def kink_width(self) -> float:
        """Standard deviation of score noise that smooths the kink well; 0 if none.

        A loss with a kink is not differentiable at v = 0, so solvers must approach
        v = 0 gradually, starting from this value.
        """
        return 0.0

    @property
    def hinge_margin(self) -> float | None:
        """The c of a noiseless loss max(0, c - y m); None for any other loss."""
        return None

    def exactness(self, noise: Noise) -> Exactness:
        """Tell how the row loss relates to the true expectation under `noise`."""
        raise NotImplementedError

    def plain(self, y: Array, m: Array) -> Array:
        """Compute the loss without noise at score `m`."""
        raise NotImplementedError

    def constant(self, mean: Array) -> Array:
        """Return a constant score that is a good start, given the mean label.

        By default this is the least-squares solution. For a loss with a kink, the
        optimal constant would be a worse start: it puts the rows of the larger class
        beyond the kink, where the gradient vanishes.
        """
        return mean

    def term(
        self, design: Design, y: Array, weights: Array, noise: Noise, intercept: bool
    ) -> Objective:
        """Return Σ_i weights_i E[loss(y_i, w·x~_i + b)] at θ = 0.

        `y` has one row per class.
        """
        if design.where == "blocks":
            from noiseproof._marginal.remote import RemoteObjective

            return RemoteObjective.of(self, design, y, weights, noise, intercept)
        return self._term(design, y, weights, noise, intercept)

    def _term(
        self, design: Design, y: Array, weights: Array, noise: Noise, intercept: bool
    ) -> Objective:
        """Implement `term` for rows that are in this process."""
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
    ) -> list[Objective]:
        """Return terms that sum to plain * (noiseless loss) + noisy * (noisy loss)."""
        return [
            self.term(design, y, plain * weights, Dropout(0.0), intercept),
            self.term(design, y, noisy * weights, noise, intercept),
        ]


class Expansion(NamedTuple):
    """Second-order expansions of an objective around some θ; they can be added."""

    value: Array  # of each class, (k,)
    gap: Array  # the part of the value that is due to smoothing, (k,)
    gradient: Array  # (k, d + 1)
    matrix: Array  # second derivatives, or the majoriser's, (k, d + 1, d + 1)

    def plus(self, other: Expansion) -> Expansion:
        """Return the expansion of the sum of both objectives."""
        return Expansion(*map(np.add, self, other))

    def with_classes(self, classes: Classes, found: Expansion) -> Expansion:
        """Return a copy with the numbers of some classes replaced."""
        parts = [part.copy() for part in self]
        for part, new in zip(parts, found, strict=True):
            part[classes] = new
        return Expansion(*parts)


@dataclass(eq=False, kw_only=True)
class Objective:
    """ridge · ½ ‖w‖² + a sum over rows, at θ.

    Solvers use `value`, `gradient`, `hessian` or `expansion`, and get other objectives
    from `at`, `ray`, `restrict` and `smoothed`. Subclasses implement the sum over rows
    in the methods named `_rows_...`.
    """

    loss: Loss
    theta: Array
    fit_intercept: bool
    weights: Any = None  # C times the sample weights, (n,), for rows in memory
    ridge: float = 0.0
    null_value: Any = None  # objective of the zero model, without smoothing, (k,)
    # the last computed expansion, and which of its classes are majorised
    expanded: tuple[bytes | None, Expansion] | None = field(default=None, init=False)

    def _rows_value(self) -> Array:
        raise NotImplementedError

    def _rows_gradient(self) -> Array:
        raise NotImplementedError

    def _rows_expansion(self, majorized: Classes | None) -> Expansion:
        raise NotImplementedError

    @lazy
    def smoothing_gap(self) -> Array:
        """How far the smoothed objective lies above the true one here, (k,)."""
        return np.zeros(len(self.theta))

    def hessian(self, majorized: Classes | None = None) -> Curvature:
        """Return second derivatives; those of the majoriser for `majorized` classes."""
        raise NotImplementedError

    def at(self, theta: Array) -> Self:
        """Return the objective at another θ, where evaluating it costs a pass."""
        raise NotImplementedError

    def with_intercept(self, theta: Array) -> Self:
        """Return the objective at a θ that differs only in the intercepts.

        This avoids a pass over the data where possible.
        """
        return self.at(theta)

    def ray(self, P: Array) -> Callable[[Array], Objective]:
        """Return a function of α, (k,), that gives the objective at θ + α P."""
        return lambda alpha: self.at(self.theta + alpha[:, None] * P)

    def restrict(self, classes: Any) -> Self:
        """Restrict the objective to some classes; cached values are kept."""
        raise NotImplementedError

    def _of(self, classes: Any, *names: str) -> dict[str, Any]:
        """Select some classes from the named fields that are not None."""
        fields = ((name, getattr(self, name)) for name in names)
        return {n: field[classes] for n, field in fields if field is not None}

    def sample(self, rows: NDArray[np.intp]) -> Self:
        """Return the objective of some rows, reweighted to represent all rows."""
        raise NotImplementedError

    def smoothed(self, smoothing: float) -> Self:
        """Return the objective at the same θ, with the kinks of the loss smoothed."""
        return self

    @property
    def label_sums(self) -> Array | None:
        """Sums of weighted labels and of weights, (2, k); None if not applicable."""
        return None

    @property
    def bound(self) -> float | Array:
        """The objective is finite only for abs(w) below this."""
        return np.inf

    @property
    def shape(self) -> tuple[int, int]:
        """Number of classes, and number of parameters per class."""
        return self.theta.shape

    @lazy
    def penalized(self) -> Array:
        """1 for each weight and 0 for the intercept, (d + 1,)."""
        ones = np.ones_like(self.theta[0])
        if self.fit_intercept:
            ones[-1] = 0.0
        return ones

    @property
    def has_weights(self) -> Classes:
        """Whether each class has a nonzero weight."""
        return host((self.theta * self.penalized).any(axis=1))

    def split(self, theta: Array) -> tuple[Array, Array]:
        """Split θ, or a direction, into weights and intercepts."""
        if self.fit_intercept:
            return contiguous(theta[:, :-1]), theta[:, -1]
        return theta, np.zeros(len(theta))

    def join(self, W: Array, b: Array) -> Array:
        """Join weights and intercepts into θ, or the two parts of a gradient."""
        return np.concatenate([W, b[:, None]], axis=1) if self.fit_intercept else W

    @lazy
    def value(self) -> Array:
        """Objective of each class, (k,)."""
        if not self.ridge:
            return self._rows_value()
        w = self.theta * self.penalized
        penalty = 0.5 * self.ridge * host(np.einsum("kd,kd->k", w, w))
        return penalty + self._rows_value()

    @lazy
    def gradient(self) -> Array:
        """Gradient of each class, (k, d + 1)."""
        found = self._rows_gradient()
        if self.ridge:
            found = found + self.ridge * self.theta * self.penalized
        return found

    def expansion(self, majorized: Classes | None) -> Expansion:
        """Return value, gradient and second derivatives, from one pass over the data.

        For the `majorized` classes, the matrices are those of the majoriser. If
        `majorized` is None, no matrices are computed, which saves 0.7 of the work.
        """
        key = None if majorized is None else majorized.tobytes()
        if key is not None and self.expanded is not None and self.expanded[0] == key:
            return self.expanded[1]
        value, gap, gradient, matrix = self._rows_expansion(majorized)
        if self.ridge:
            w = self.theta * self.penalized
            value = value + 0.5 * self.ridge * np.einsum("kd,kd->k", w, w)
            gradient = gradient + self.ridge * w
            if majorized is not None:
                matrix = matrix + np.diag(self.ridge * self.penalized)
        found = Expansion(value, gap, gradient, matrix)
        self._remember(found)
        self.expanded = key, found
        return found

    def known_at(self, theta: Array, expansion: Expansion) -> Self:
        """Return the objective at another θ, given its expansion there."""
        point = self.at(theta)
        point._remember(expansion)
        return point

    def _remember(self, expansion: Expansion) -> None:
        self.value, self.smoothing_gap, self.gradient, _ = expansion

    @property
    def size(self) -> Array:
        """The scale of relative accuracies, (k,): the value, unless that vanishes."""
        return np.maximum(np.abs(self.value), _VANISHED * self.null_value)

    def is_small(self, gain: Array, tol: float) -> Classes:
        """Return for each class whether a possible `gain` is too small to continue."""
        rounding = _ROUNDING * np.maximum(np.abs(self.value), self.null_value)
        return gain <= np.maximum(tol * self.size, rounding)

    @property
    def lent(self) -> Array:
        """Extra curvature for the intercept of a loss with a kink, (k,).

        Where the loss is flat, nothing else limits the step of the unpenalised
        intercept. The extra curvature bounds this step, and vanishes with the gradient.
        """
        pull = np.abs(host(self.gradient[:, -1])) * self.fit_intercept
        return pull / (_LONGEST_STEP * self.loss.kink_width)

    def at_constant(self) -> Self:
        """Return the objective at zero weights, with intercepts for the mean label.

        If there are many classes, this is a far better start than θ = 0: newsgroups
        takes up to a quarter less time.
        """
        sums = self.label_sums if self.fit_intercept else None
        if sums is None:
            return self
        theta, mean = self.theta + 0.0, sums[0] / sums[1]
        if self.loss.task == "classification":
            mean = np.clip(mean, -_SURE, _SURE)
        theta[:, -1] = self.loss.constant(mean)
        return self.with_intercept(theta)


class Curvature:
    """Second derivatives at a point: a symmetric matrix for each class.

    It is available through its diagonal and through products with vectors, each of
    which costs a pass over the data. Subclasses implement the sum over rows; this class
    adds the penalty.
    """

    def __init__(self, point: Objective):
        self.point = point
        # extra curvature that a solver gives the intercept of each class
        self.lent = np.zeros(len(point.theta))

    def _rows_diagonal(self) -> Array:
        raise NotImplementedError

    def _rows_product(self, P: Array) -> Array:
        raise NotImplementedError

    @property
    def diagonal(self) -> Array:
        """Diagonal of each matrix, (k, d + 1); computed anew each time."""
        total = self._rows_diagonal() + self.point.ridge * self.point.penalized
        total[:, -1] += self.lent
        return total

    def product(self, P: Array) -> Array:
        """Multiply by one vector per class, in one pass over the data."""
        total = self._rows_product(P)
        if self.point.ridge:
            total += P * (self.point.ridge * self.point.penalized)
        if self.lent.any():
            total[:, -1] += self.lent * P[:, -1]
        return total

    def stiff_rows(self) -> list[Any]:
        """Return for each class its scaled rows of extreme curvature, or None."""
        return [None] * len(self.lent)

    def restrict(self, classes: Any) -> Curvature:
        """Return the matrices of some classes."""
        part = self._restricted(classes)
        part.lent = self.lent[classes]
        return part

    def _restricted(self, classes: Any) -> Curvature:
        raise NotImplementedError


def _total(parts: Iterable[Array]) -> Array:
    """Add the parts; unlike `sum`, this does not add the first one to 0."""
    return reduce(np.add, parts)


@dataclass(eq=False, kw_only=True)
class SumObjective(Objective):
    """A sum of objectives at the same θ: labelled and unlabelled rows."""

    parts: Sequence[Objective]

    def _each(self, change: Callable[[Any], Objective], **changes: Any) -> Self:
        return replace(self, parts=[change(part) for part in self.parts], **changes)

    def _rows_value(self) -> Array:
        return _total(part.value for part in self.parts)

    def _rows_gradient(self) -> Array:
        return _total(part.gradient for part in self.parts)

    def _rows_expansion(self, majorized: Classes | None) -> Expansion:
        return reduce(Expansion.plus, (p.expansion(majorized) for p in self.parts))

    @lazy
    def smoothing_gap(self) -> Array:
        return _total(part.smoothing_gap for part in self.parts)

    @property
    def bound(self) -> float | Array:
        return reduce(np.minimum, (part.bound for part in self.parts))

    @property
    def label_sums(self) -> Array | None:
        return self.parts[0].label_sums

    def hessian(self, majorized: Classes | None = None) -> SumCurvature:
        return SumCurvature(self, [part.hessian(majorized) for part in self.parts])

    def at(self, theta: Array) -> Self:
        return self._each(lambda part: part.at(theta), theta=theta)

    def with_intercept(self, theta: Array) -> Self:
        return self._each(lambda part: part.with_intercept(theta), theta=theta)

    def ray(self, P: Array) -> Callable[[Array], SumObjective]:
        rays = [part.ray(P) for part in self.parts]

        def point(alpha: Array) -> SumObjective:
            parts = [ray(alpha) for ray in rays]
            return replace(self, parts=parts, theta=parts[0].theta)

        return point

    def restrict(self, classes: Any) -> Self:
        own = self._of(classes, "theta", "null_value")
        return self._each(lambda part: part.restrict(classes), **own)

    def smoothed(self, smoothing: float) -> Self:
        return self._each(lambda part: part.smoothed(smoothing))


class SumCurvature(Curvature):
    """The sum of the curvatures of the parts."""

    def __init__(self, point: Objective, parts: Sequence[Curvature]):
        super().__init__(point)
        self.parts = parts

    def _rows_diagonal(self) -> Array:
        return _total(part.diagonal for part in self.parts)

    def _rows_product(self, P: Array) -> Array:
        return _total(part.product(P) for part in self.parts)

    def _restricted(self, classes: Any) -> SumCurvature:
        parts = [part.restrict(classes) for part in self.parts]
        return SumCurvature(self.point.restrict(classes), parts)


@dataclass(frozen=True)
class Problem:
    """Everything that the objective is made of, for all classes.

    With unlabelled rows the objective is ½ ‖w‖² + Σ_i c_i loss_i(v = 0) +
    ρ [R_labelled + R_unlabelled], where R = Σ c [loss(v) - loss(v = 0)] is the noising
    penalty and ρ the share of the labelled rows in the weight of all (Wager et al.
    2013, eq. 19). R does not depend on labels, so it can be computed for unlabelled
    rows, too; they get label 1, which cancels.
    """

    design: Design  # the data, n rows of d features
    y: Any  # targets, or labels -1 and +1, (k, n)
    weights: Array  # C times the sample weights, (n,)
    noise: Noise
    loss: Loss
    fit_intercept: bool
    unlabeled: Sequence[Design] = ()
    unlabeled_weight: float = 0.0  # C times the weight of an unlabelled row

    @property
    def shape(self) -> tuple[int, int]:
        """Shape of θ: number of classes, and of parameters per class."""
        return len(self.y), self.design.shape[1] + self.fit_intercept

    @property
    def is_mixed(self) -> bool:
        """Whether unlabelled rows are part of the objective."""
        return bool(self.unlabeled and self.unlabeled_weight)

    def objective(
        self, classes: slice = slice(None), threads: int | None = None
    ) -> Objective:
        """Return the objective of some classes at θ = 0; threads share its passes."""
        y = self.y[classes].astype(np.float64)
        rows, more = self.design, list(self.unlabeled)
        if threads is not None:
            rows = rows.with_threads(threads)
            more = [part.with_threads(threads) for part in more]
        own = (y, self.weights, self.noise, self.fit_intercept)
        if not self.is_mixed:
            return _finished(self.loss.term(rows, *own))
        rest = self.unlabeled_weight * sum(part.shape[0] for part in more)
        weight = float(self.weights.sum())
        share = weight / (weight + rest)
        parts = self.loss.mixture(rows, *own, plain=1 - share, noisy=share)
        for part in more:
            ones = part.full(1.0, len(y))
            weights = part.full(share * self.unlabeled_weight)
            data = (ones, weights, self.noise, self.fit_intercept)
            parts += self.loss.mixture(part, *data, plain=-1.0, noisy=1.0)
        first = parts[0]
        return _finished(
            SumObjective(
                loss=first.loss,
                theta=first.theta,
                fit_intercept=self.fit_intercept,
                parts=parts,
            )
        )


def _finished(rows: Objective) -> Objective:
    """Add the penalty to a sum over rows, which gives the objective at θ = 0."""
    return replace(rows, ridge=1.0, null_value=np.abs(rows.value))


@dataclass(frozen=True)
class Solution:
    """Where a solver ended."""

    point: Objective  # the objective at the last θ
    n_iter: int  # steps taken
    converged: bool  # whether every class reached the requested accuracy
    stopped: bool = False  # whether the listener asked to stop
