"""Rows that are in blocks elsewhere: a sum of the objectives of the blocks.

What a block answers is a function of θ, of the classes and of the smoothing that a
question names. The moments or cumulants of the rows stay with the block between two
questions; where they are lost they are worked out again, with the same bits.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from itertools import count
from typing import Any, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray

from noiseproof._marginal.moment import MOST_STIFF
from noiseproof._marginal.objective import (
    Classes,
    Curvature,
    Expansion,
    Loss,
    Objective,
    lazy,
)
from noiseproof._rows import Array, Design, Job, Memory, as_design, stack
from noiseproof.noise import Noise

_FEWEST = 64  # rows near a kink that each block may name

Some = tuple[int, ...] | None  # classes, or all


class View(NamedTuple):
    """Which objective a block is asked about."""

    point: int  # number of the θ that goes with it
    classes: Some = None  # classes of the job that θ has a row for
    chosen: Some = None  # those of them that are looked at
    smoothing: float = 0.0


def _narrowed(some: Some, k: int, choice: Any) -> tuple[int, ...]:
    """Those of some classes, `k` if it is all of them, that a choice leaves."""
    known = np.arange(k) if some is None else np.array(some, dtype=int)
    return tuple(known[choice].tolist())


class _Rows:
    """One block at work: its objective as a question sees it.

    The steps that lead there are remembered, so that of the next question only those
    are done again which differ.
    """

    def __init__(
        self,
        design: Design,
        memory: Memory,
        data: tuple[Array, Array, Callable[..., Objective]],
        theta: Array | None,
        view: View,
    ):
        self.memory = memory
        y, weights, make = data
        start = memory.step(0, None, lambda: make(design, y, weights))

        def move() -> Objective:
            rows = start
            if view.classes is not None:
                rows = rows.restrict(list(view.classes))
            return rows if theta is None else rows.at(theta)

        def look(rows: Objective) -> Objective:
            if view.chosen is not None:
                rows = rows.restrict(list(view.chosen))
            return rows.smoothed(view.smoothing) if view.smoothing else rows

        there = memory.step(1, view.point, move)
        key = (view.chosen, view.smoothing)
        self.rows: Objective = memory.step(2, key, lambda: look(there))

    def curvature(self, majorized: Any, inner: Some = None) -> Any:
        mask = None if majorized is None else np.array(majorized)
        whole = self.memory.step(3, majorized, lambda: self.rows.hessian(mask))
        if inner is None:
            return whole
        return self.memory.step(4, inner, lambda: whole.restrict(list(inner)))

    def evaluate(self, with_gradient: bool) -> Array:
        rows = self.rows
        parts = [rows.value, rows.smoothing_gap]
        return _packed(*parts, rows.gradient) if with_gradient else _packed(*parts)

    def gradient(self) -> Array:
        return self.rows.gradient

    def label_sums(self) -> Array | None:
        return self.rows.label_sums

    def expansion(self, majorized: Any) -> Array:
        mask = None if majorized is None else np.array(majorized)
        return _packed(*self.rows.expansion(mask))

    def diagonal(self, majorized: Any, inner: Some) -> Array:
        curvature = self.curvature(majorized, inner)
        if not self.rows.loss.kink_width:
            return _packed(curvature.diagonal)
        return _packed(curvature.diagonal, curvature.doubtful, curvature.variance)

    def product(self, majorized: Any, inner: Some, P: Array) -> Array:
        return np.asarray(self.curvature(majorized, inner).product(P))

    def stiffest(
        self, majorized: Any, inner: Some, variance: Array, most: int
    ) -> list[Any]:
        found: list[Any] = self.curvature(majorized, inner).stiffest(variance, most)
        return found


def _packed(*parts: Array) -> Array:
    return np.concatenate([np.ravel(part) for part in parts])


def _answer(
    design: Design,
    memory: Memory,
    y: Array,
    weights: Array,
    make: Callable[..., Objective],
    theta: Array | None,
    view: View,
    verb: str,
    *arguments: Any,
) -> Any:
    """What a block answers to a question, which is the name of a method of `_Rows`."""
    rows = _Rows(design, memory, (y, weights, make), theta, view)
    return getattr(rows, verb)(*arguments)


@dataclass(eq=False, kw_only=True)
class RemoteObjective(Objective):
    """The sum of the objectives of all blocks, at θ."""

    job: Job  # takes questions to the blocks
    template: Objective  # of the same kind, for what does not depend on rows
    sent: Any  # θ of the view's classes as tasks get it; None at the start: zero
    view: View  # which classes, how smooth
    eager: bool = False  # whether the gradient, which is sure to be wanted, comes along

    @classmethod
    def of(
        cls,
        loss: Loss,
        design: Any,
        y: Any,
        weights: Any,
        noise: Noise,
        intercept: bool,
    ) -> Self:
        """The sum at θ = 0."""
        make = partial(_made, loss, noise=noise, intercept=intercept)
        job = design.job(make, y, weights)
        row = as_design(np.zeros((1, design.shape[1])))
        template = make(row, np.ones((len(y), 1)), np.zeros(1))
        return cls(
            loss=template.loss,
            theta=template.theta,
            fit_intercept=intercept,
            job=job,
            template=template,
            sent=None,
            view=View(job.number()),
        )

    @property
    def label_sums(self) -> Array | None:
        return None if self.template.label_sums is None else self.ask("label_sums")

    @property
    def bound(self) -> float | Array:
        return self.template.bound

    def ask(self, verb: str, *arguments: Any) -> Array:
        """The sum of what the blocks answer."""
        return np.asarray(self.job.ask(_answer, self.sent, self.view, verb, *arguments))

    def at(self, theta: Array, eager: bool = True) -> Self:
        view, classes = self.view, self.view.classes
        if view.chosen is not None:
            k = self.template.shape[0]
            classes = _narrowed(classes, k, list(view.chosen))
        return replace(
            self,
            theta=theta,
            sent=self.job.share(theta, keep=True),
            view=View(self.job.number(), classes, None, view.smoothing),
            eager=eager,
        )

    def ray(self, P: Array) -> Callable[[Array], RemoteObjective]:
        """Each step is a pass, so that rows depend on θ alone, not on the way there.

        The first step is the likeliest to be taken, and brings its gradient along.
        """
        tries = count()

        def point(alpha: Array) -> RemoteObjective:
            return self.at(self.theta + alpha[:, None] * P, eager=next(tries) == 0)

        return point

    def restrict(self, classes: Any) -> Self:
        view, template = self.view, self.template
        k = template.shape[0] if view.classes is None else len(view.classes)
        chosen = _narrowed(view.chosen, k, classes)
        own = self._of(classes, "theta", "null_value")
        part = replace(self, **own, view=view._replace(chosen=chosen))
        for name in ("value", "gradient", "smoothing_gap"):
            if name in self.__dict__:
                part.__dict__[name] = self.__dict__[name][classes]
        return part

    def smoothed(self, smoothing: float) -> Self:
        if smoothing == self.view.smoothing:
            return self
        view = self.view._replace(smoothing=smoothing)
        return replace(self, view=view, eager=False)

    @lazy
    def _found(self) -> Array:
        """Values, smoothing gaps and, if eager, gradients of the classes, packed."""
        return self.ask("evaluate", self.eager)

    def _rows_value(self) -> Array:
        return self._found[: self.shape[0]]

    @lazy
    def smoothing_gap(self) -> Array:
        k = self.shape[0]
        return self._found[k : 2 * k]

    def _rows_gradient(self) -> Array:
        if self.eager:
            return self._found[2 * self.shape[0] :].reshape(self.shape)
        return self.ask("gradient")

    def _rows_expansion(self, majorized: Classes | None) -> Expansion:
        (k, D), n = self.shape, 0 if majorized is None else self.shape[1]
        mask = None if majorized is None else tuple(majorized.tolist())
        found = self.ask("expansion", mask)
        value, gap, gradient, matrix = np.split(found, np.cumsum([k, k, k * D]))
        return Expansion(value, gap, gradient.reshape(k, D), matrix.reshape(k, n, n))

    def hessian(self, majorized: Classes | None = None) -> RemoteCurvature:
        mask = None if majorized is None else tuple(majorized.tolist())
        return RemoteCurvature(self, self, mask)


def _made(
    loss: Loss, design: Design, y: Array, weights: Array, noise: Noise, intercept: bool
) -> Objective:
    return loss.term(design, y, weights, noise, intercept)


class RemoteCurvature(Curvature):
    """The sum of the curvatures of all blocks.

    `asked` is the objective whose curvature they know, `inner` those of its classes
    that are left, and `point` the objective of these.
    """

    def __init__(
        self,
        point: Objective,
        asked: RemoteObjective,
        majorized: tuple[bool, ...] | None,
        inner: Some = None,
    ):
        super().__init__(point)
        self.asked, self.majorized, self.inner = asked, majorized, inner

    def _ask(self, verb: str, *arguments: Any) -> Array:
        return self.asked.ask(verb, self.majorized, self.inner, *arguments)

    @lazy
    def _diagonals(self) -> tuple[Array, NDArray[np.bool_], Array]:
        """The diagonal, which classes may have stiff rows, and the variance part."""
        k, D = self.point.shape
        found = self._ask("diagonal")
        diagonal, rest = found[: k * D].reshape(k, D), found[k * D :]
        return diagonal, rest[:k] > 0, rest[k:].reshape(k, -1)

    def _rows_diagonal(self) -> Array:
        return self._diagonals[0]

    def _rows_product(self, P: Array) -> Array:
        return self._ask("product", self.asked.job.share(P))

    def stiff_rows(self) -> list[Any]:
        if not self.point.loss.kink_width or not self._diagonals[1].any():
            return super().stiff_rows()
        asked, variance = self.asked, self._diagonals[2]
        most = max(_FEWEST, 2 * MOST_STIFF // len(asked.job))
        found = asked.job.collect(
            *(_answer, asked.sent, asked.view, "stiffest", self.majorized, self.inner),
            *(asked.job.share(variance), most),
        )
        return [_stiffest(blocks) for blocks in zip(*found, strict=True)]

    def _restricted(self, classes: Any) -> RemoteCurvature:
        inner = _narrowed(self.inner, self.asked.shape[0], classes)
        point = self.point.restrict(classes)
        return RemoteCurvature(point, self.asked, self.majorized, inner)


def _stiffest(blocks: Sequence[Any]) -> Any:
    """The stiffest of the rows that blocks have found for a class, or None."""
    found = [one for one in blocks if one is not None]
    if not found:
        return None
    stiffness = np.concatenate([values for values, _ in found])
    rows = stack([rows for _, rows in found])
    if len(stiffness) <= MOST_STIFF:
        return rows
    return rows[np.argpartition(stiffness, -MOST_STIFF)[-MOST_STIFF:]]
