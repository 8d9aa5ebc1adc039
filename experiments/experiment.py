"""What every experiment answers: rows, and the claims they bear out or not."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, ClassVar, Generic, NamedTuple, TypeVar

import numpy as np

from experiments.ranks import Ranks

Row = dict[str, Any]
BEYOND = "Beyond the papers"  # where an experiment repeats none of their figures


class Part(NamedTuple):
    """Work that depends on no other part: a process may do it, a file may keep it."""

    name: str
    work: Callable[[], Iterable[Row]]


@dataclass(frozen=True)
class Settings:
    """How large a run is: which data, how many repetitions, which grids."""

    data: tuple[str, ...] = ()
    seed: int = 0


S = TypeVar("S", bound=Settings)


@dataclass(frozen=True)
class Layout:
    """Which keys of a row make the table and the plot.

    Parameters
    ----------
    value : str
        What is measured; averaged over rows that agree in the other keys.
    x, curve : str
        Horizontal axis, and what tells curves apart: a row and a column of the table.
    panel : str or None
        What gets a plot of its own.
    digits : int
        Decimals of the table.
    log_x : bool
        Whether the horizontal axis is logarithmic.
    """

    value: str = "error"
    x: str = "level"
    curve: str = "model"
    panel: str | None = None
    digits: int = 3
    log_x: bool = False

    def key(self, row: Row) -> tuple[Hashable, ...]:
        """Cell of the table that a row belongs to, the curve last."""
        names = (self.panel, self.x, self.curve)
        return tuple(row[name] for name in names if name is not None)


@dataclass(frozen=True)
class Claim:
    """A sentence of the paper, whether our rows bear it out, and the numbers."""

    text: str
    holds: bool
    numbers: str


class Experiment(ABC, Generic[S]):
    """One table or figure: settings of each size, rows, and computed verdicts.

    Attributes
    ----------
    name : str
        As in `noiseproof reproduce NAME`; the module has the same name.
    title, paper : str
        What it shows, and where the paper shows it; `BEYOND` if no paper does.
    protocol : str
        How constants are chosen, and what differs from the paper.
    sizes : dict
        Settings of "tiny", "quick" and "full".
    layout : Layout
        Shape of the table and the plot.
    summary : str
        Words above a table of what `drawn` shows; empty if that is the layout's.
    printed : dict
        The paper's own numbers, by cell of the table; empty for a figure that prints
        none.
    grows_by : tuple of str
        Settings that only add parts to the work: those that are done stay valid.
    tried : str
        What else was tried where a claim does not hold, and with what success.
    """

    name: ClassVar[str]
    title: ClassVar[str]
    paper: ClassVar[str] = BEYOND
    protocol: ClassVar[str]
    sizes: ClassVar[Mapping[str, Any]]
    layout: ClassVar[Layout]
    printed: ClassVar[Mapping[tuple[Hashable, ...], float]] = {}
    summary: ClassVar[str] = ""
    grows_by: ClassVar[tuple[str, ...]] = ()
    tried: ClassVar[str] = ""

    def parts(self, settings: S, data: Mapping[str, Any]) -> Iterator[Part]:
        """The work in parts, in the order of the table: implement this, or `rows`."""
        yield Part("all", partial(self.rows, settings, data))

    def rows(self, settings: S, data: Mapping[str, Any]) -> Iterator[Row]:
        """Results, one a dict, with the keys of the layout."""
        for part in self.parts(settings, data):
            yield from part.work()

    @abstractmethod
    def claims(self, rows: Sequence[Row]) -> list[Claim]:
        """Verdicts on the paper's claims, computed from the rows."""

    def drawn(self, rows: Sequence[Row]) -> tuple[Sequence[Row], Layout]:
        """What the plot shows, if it is not what the table shows."""
        return rows, self.layout

    def ranks(self, rows: Sequence[Row]) -> Ranks | None:
        """What a critical-difference diagram shows; None for no diagram."""
        return None

    def notes(self, rows: Sequence[Row]) -> str:
        """Markdown that follows the verdicts, computed from the rows."""
        return ""


def select(rows: Sequence[Row], **key: Any) -> list[Row]:
    """Rows that agree with the key."""
    return [row for row in rows if all(row[k] == v for k, v in key.items())]


def mean(rows: Sequence[Row], value: str, **key: Any) -> float:
    """Mean of a value over the rows that agree with the key."""
    return float(np.mean([row[value] for row in select(rows, **key)]))


def distinct(rows: Sequence[Row], key: str) -> list[Any]:
    """Values of a key, in order of appearance."""
    return list(dict.fromkeys(row[key] for row in rows))


def below(text: str, ours: float, theirs: float, digits: int = 3) -> Claim:
    """The claim that one number is smaller than another."""
    return Claim(text, ours < theirs, f"{ours:.{digits}f} against {theirs:.{digits}f}")


def above(text: str, ours: float, theirs: float, digits: int = 3) -> Claim:
    """The claim that one number is larger than another."""
    return Claim(text, ours > theirs, f"{ours:.{digits}f} against {theirs:.{digits}f}")


def close(text: str, ours: float, theirs: float, tolerance: float) -> Claim:
    """The claim that one number is larger than another by a tolerance at most."""
    numbers = f"{ours:.3f} against {theirs:.3f}, at most {tolerance} more allowed"
    return Claim(text, ours <= theirs + tolerance, numbers)
