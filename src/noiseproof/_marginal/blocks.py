"""A term whose rows are in blocks elsewhere: a sum of the terms of the blocks.

What a block answers is a function of θ, of the classes and of the smoothing that a
question names. The moments or cumulants of the rows stay with the block between two
questions; where they are lost they are worked out again, with the same bits.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cached_property, partial
from itertools import count
from typing import Any, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray

from noiseproof._marginal.moment import MOST_STIFF
from noiseproof._marginal.objective import Expansion, Loss, Term
from noiseproof._rows import Array, Design, Job, Memory, as_design, stack
from noiseproof.noise import Noise

_FEWEST = 64  # rows near a kink that each block may name

Some = tuple[int, ...] | None  # classes, or all


class View(NamedTuple):
    """Which term a block is asked about.

    Parameters
    ----------
    point : int
        Number of the θ that goes with it.
    classes : tuple of int or None
        Classes of the job that θ has a row for.
    chosen : tuple of int or None
        Those of them that are looked at.
    smoothing : float
        How much kinks are rounded off.
    """

    point: int
    classes: Some = None
    chosen: Some = None
    smoothing: float = 0.0


def _narrowed(some: Some, k: int, choice: Any) -> tuple[int, ...]:
    """Those of some classes, `k` if it is all of them, that a choice leaves."""
    known = np.arange(k) if some is None else np.array(some, dtype=int)
    return tuple(known[choice].tolist())


class _Rows:
    """One block at work: its term as a question sees it.

    The steps that lead there are remembered, so that of the next question only those
    are done again which differ.
    """

    def __init__(
        self,
        design: Design,
        memory: Memory,
        data: tuple[Array, Array, Callable[..., Term]],
        theta: Array | None,
        view: View,
    ):
        self.memory = memory
        y, weights, make = data
        start = memory.step(0, None, lambda: make(design, y, weights))

        def move() -> Term:
            term = start
            if view.classes is not None:
                term = term.restrict(list(view.classes))
            return term if theta is None else term.at(theta)

        def look(term: Term) -> Term:
            if view.chosen is not None:
                term = term.restrict(list(view.chosen))
            return term.smoothed(view.smoothing) if view.smoothing else term

        there = memory.step(1, view.point, move)
        key = (view.chosen, view.smoothing)
        self.term: Term = memory.step(2, key, lambda: look(there))

    def curvature(self, majorized: Any, inner: Some = None) -> Any:
        mask = None if majorized is None else np.array(majorized)
        whole = self.memory.step(3, majorized, lambda: self.term.hessian(mask))
        if inner is None:
            return whole
        return self.memory.step(4, inner, lambda: whole.restrict(list(inner)))

    def evaluate(self, with_gradient: bool) -> Array:
        term = self.term
        parts = [term.value, term.smoothing_gap]
        return _packed(*parts, term.gradient) if with_gradient else _packed(*parts)

    def gradient(self) -> Array:
        return self.term.gradient

    def label_sums(self) -> Array | None:
        return self.term.label_sums

    def expansion(self, majorized: Any) -> Array:
        mask = None if majorized is None else np.array(majorized)
        return _packed(*self.term.expansion(mask))

    def diagonal(self, majorized: Any, inner: Some) -> Array:
        curvature = self.curvature(majorized, inner)
        if not self.term.loss.kink_width:
            return _packed(curvature.diagonal)
        return _packed(curvature.diagonal, curvature.doubtful, curvature.variance)

    def product(self, majorized: Any, inner: Some, P: Array) -> Array:
        return np.asarray(self.curvature(majorized, inner).product(P))

    def stiffest(
        self, majorized: Any, inner: Some, variance: Array, most: int
    ) -> list[Any]:
        curvature = self.curvature(majorized, inner)
        stiffness = curvature.stiffness(variance)
        return [curvature.stiffest(k, row, most) for k, row in enumerate(stiffness)]


def _packed(*parts: Array) -> Array:
    return np.concatenate([np.ravel(part) for part in parts])


def _answer(
    design: Design,
    memory: Memory,
    y: Array,
    weights: Array,
    make: Callable[..., Term],
    theta: Array | None,
    view: View,
    verb: str,
    *arguments: Any,
) -> Any:
    """What a block answers to a question, which is the name of a method of `_Rows`."""
    rows = _Rows(design, memory, (y, weights, make), theta, view)
    return getattr(rows, verb)(*arguments)


@dataclass(eq=False)
class BlocksTerm(Term):
    """The sum of the terms of all blocks, at θ.

    Parameters
    ----------
    job : Job
        Takes questions to the blocks.
    template : Term
        A term of the same kind, for what does not depend on rows.
    sent : object
        θ of the view's classes as tasks get it; None at the start, where it is zero.
    view : View
        Which classes, how smooth.
    eager : bool
        Whether the gradient comes with the value, as it is sure to be wanted.
    """

    job: Job
    template: Term
    sent: Any
    view: View
    eager: bool = False

    @classmethod
    def of(
        cls,
        loss: Loss,
        design: Design,
        y: Any,
        weights: Any,
        noise: Noise,
        intercept: bool,
    ) -> Self:
        """The term at θ = 0."""
        make = partial(_made, loss, noise=noise, intercept=intercept)
        job = design.job(make, y, weights)
        row = as_design(np.zeros((1, design.shape[1])))
        template = make(row, np.ones((len(y), 1)), np.zeros(1))
        return cls(job, template, None, View(job.number()))

    @property
    def loss(self) -> Loss:  # type: ignore[override]
        return self.template.loss

    @property
    def weights(self) -> Array:  # type: ignore[override]
        """None: the rows are not here, so that no sample of them can be taken."""
        return np.zeros(0)

    @property
    def fit_intercept(self) -> bool:  # type: ignore[override]
        return self.template.fit_intercept

    @property
    def _of_point(self) -> int:
        """Number of classes that θ has a row for."""
        classes = self.view.classes
        return self.template.shape[0] if classes is None else len(classes)

    @property
    def shape(self) -> tuple[int, int]:
        chosen = self.view.chosen
        k = self._of_point if chosen is None else len(chosen)
        return k, self.template.shape[1]

    @property
    def is_noisy(self) -> bool:
        return self.template.is_noisy

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
            sent=self.job.share(theta, keep=True),
            view=View(self.job.number(), classes, None, view.smoothing),
            eager=eager,
        )

    def ray(self, P: Array) -> Callable[[Array, Array], BlocksTerm]:
        """Each step is a pass, so that rows depend on θ alone, not on the way there.

        The first step is the likeliest to be taken, and brings its gradient along.
        """
        tries = count()
        return lambda alpha, theta: self.at(theta, eager=next(tries) == 0)

    def restrict(self, classes: Any) -> Self:
        chosen = _narrowed(self.view.chosen, self._of_point, classes)
        part = replace(self, view=self.view._replace(chosen=chosen))
        for name in ("value", "gradient", "smoothing_gap"):
            if name in self.__dict__:
                part.__dict__[name] = self.__dict__[name][classes]
        return part

    def smoothed(self, smoothing: float) -> Self:
        if smoothing == self.view.smoothing:
            return self
        view = self.view._replace(smoothing=smoothing)
        return replace(self, view=view, eager=False)

    @cached_property
    def _found(self) -> Array:
        """Values, smoothing gaps and, if eager, gradients of the classes, packed."""
        return self.ask("evaluate", self.eager)

    @cached_property
    def value(self) -> Array:
        return self._found[: self.shape[0]]

    @cached_property
    def smoothing_gap(self) -> Array:
        k = self.shape[0]
        return self._found[k : 2 * k]

    @cached_property
    def gradient(self) -> Array:
        if self.eager:
            return self._found[2 * self.shape[0] :].reshape(self.shape)
        return self.ask("gradient")

    def expansion(self, majorized: NDArray[np.bool_] | None) -> Expansion:
        (k, D), n = self.shape, 0 if majorized is None else self.shape[1]
        mask = None if majorized is None else tuple(majorized.tolist())
        found = self.ask("expansion", mask)
        value, gap, gradient, matrix = np.split(found, np.cumsum([k, k, k * D]))
        return Expansion(value, gap, gradient.reshape(k, D), matrix.reshape(k, n, n))

    def hessian(self, majorized: NDArray[np.bool_] | None = None) -> BlocksCurvature:
        mask = None if majorized is None else tuple(majorized.tolist())
        return BlocksCurvature(self, mask)


def _made(
    loss: Loss, design: Design, y: Array, weights: Array, noise: Noise, intercept: bool
) -> Term:
    return loss.term(design, y, weights, noise, intercept)


@dataclass(eq=False)
class BlocksCurvature:
    """The sum of the curvatures of all blocks.

    Parameters
    ----------
    term : BlocksTerm
        Whose curvature it is.
    majorized : tuple of bool or None
        Classes that have the curvature of their majoriser.
    inner : tuple of int or None
        Classes of the term that are left.
    """

    term: BlocksTerm
    majorized: tuple[bool, ...] | None
    inner: Some = None

    @property
    def shape(self) -> tuple[int, int]:
        k, D = self.term.shape
        return k if self.inner is None else len(self.inner), D

    def _ask(self, verb: str, *arguments: Any) -> Array:
        return self.term.ask(verb, self.majorized, self.inner, *arguments)

    @cached_property
    def _diagonals(self) -> tuple[Array, NDArray[np.bool_], Array]:
        """The diagonal, which classes may have stiff rows, and the variance part."""
        k, D = self.shape
        found = self._ask("diagonal")
        diagonal, rest = found[: k * D].reshape(k, D), found[k * D :]
        return diagonal, rest[:k] > 0, rest[k:].reshape(k, -1)

    @property
    def diagonal(self) -> Array:
        return self._diagonals[0]

    def product(self, P: Array) -> Array:
        return self._ask("product", self.term.job.share(P))

    @cached_property
    def _stiffest(self) -> list[list[Any]]:
        """For each class the stiff rows of the blocks that have some."""
        term, variance = self.term, self._diagonals[2]
        most = max(_FEWEST, 2 * MOST_STIFF // len(term.job))
        found = term.job.collect(
            *(_answer, term.sent, term.view, "stiffest", self.majorized, self.inner),
            *(term.job.share(variance), most),
        )
        return [
            [one for one in each if one is not None]
            for each in zip(*found, strict=True)
        ]

    def stiff_rows(self, k: int) -> Any:
        if not self.term.loss.kink_width or not self._diagonals[1].any():
            return None
        found = self._stiffest[k]
        if not found:
            return None
        stiffness = np.concatenate([values for values, _ in found])
        rows = stack([rows for _, rows in found])
        if len(stiffness) <= MOST_STIFF:
            return rows
        return rows[np.argpartition(stiffness, -MOST_STIFF)[-MOST_STIFF:]]

    def restrict(self, classes: Any) -> BlocksCurvature:
        inner = _narrowed(self.inner, self.term.shape[0], classes)
        return replace(self, inner=inner)
