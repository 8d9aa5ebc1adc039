"""Objectives of rows in remote blocks: sums of the objectives of the blocks.

A request to a block names θ, the classes and the smoothing, and its result depends on
nothing else. Between requests, a block caches the moments or cumulants of its rows. If
the cache is lost, they are computed again, with the same bits.
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

_FEWEST = 64  # least number of rows near a kink that each block may return

Some = tuple[int, ...] | None  # indices of classes; None for all


class View(NamedTuple):
    """The objective that a request to a block refers to."""

    point: int  # number of the θ that is sent along
    classes: Some = None  # classes of the job for which θ has a row
    chosen: Some = None  # those of `classes` that are needed
    smoothing: float = 0.0


def _narrowed(some: Some, k: int, choice: Any) -> tuple[int, ...]:
    """Apply a choice to some classes (None: all `k`); return the selected ones."""
    known = np.arange(k) if some is None else np.array(some, dtype=int)
    return tuple(known[choice].tolist())


class _Rows:
    """The objective of one block, as a request sees it.

    The steps that lead there are cached, so that the next request repeats only the
    steps that differ.
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
    """Answer a request on a block; `verb` is the name of a method of `_Rows`."""
    rows = _Rows(design, memory, (y, weights, make), theta, view)
    return getattr(rows, verb)(*arguments)


@dataclass(eq=False, kw_only=True)
class RemoteObjective(Objective):
    """The sum of the objectives of all blocks, at θ."""

    job: Job  # sends requests to the blocks
    template: Objective  # local and without data, for what does not depend on rows
    sent: Any  # θ of the view's classes, as sent to tasks; None for θ = 0
    view: View  # which classes, and how much smoothing
    eager: bool = False  # whether evaluating the value also returns the gradient

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
        """Create the sum at θ = 0."""
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
        """Return the sum of the blocks' results."""
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
        """Return the objective along θ + α P, with a pass for each α.

        So results depend on θ alone, not on the path to it. The first step is the most
        likely to be accepted, so its gradient is computed along with its value.
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

    `asked` is the objective whose curvature the blocks compute, `inner` are those of
    its classes that are still needed, and `point` is the objective of these.
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
    """Select the stiffest of the rows that blocks have found for a class, or None."""
    found = [one for one in blocks if one is not None]
    if not found:
        return None
    stiffness = np.concatenate([values for values, _ in found])
    rows = stack([rows for _, rows in found])
    if len(stiffness) <= MOST_STIFF:
        return rows
    return rows[np.argpartition(stiffness, -MOST_STIFF)[-MOST_STIFF:]]
