"""Answers that are easy to read, keep and pass on.

Every function of this package returns a frozen dataclass derived from `Result`. It is
one tidy table, an observation a row, with a title; the rest follows: a data frame, a
dictionary fit for JSON, a readable `repr` and a table in a notebook, with a picture.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import fields
from html import escape
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import stdtrit

from noiseproof._charts import Chart, swatch, to_svg

Table = Mapping[str, ArrayLike]

_HEAD, _TAIL = 12, 5  # rows of a long table that `repr` shows
_GAP = "..."


def half_width(values: NDArray[Any], confidence: float = 0.95) -> Any:
    """Half of the interval of a mean over the last axis, from Student's t.

    NaN for a single value, which says nothing about the spread.
    """
    n = values.shape[-1]
    if n == 1:
        return np.full(values.shape[:-1], np.nan)
    quantile = stdtrit(n - 1, (1 + confidence) / 2)
    return quantile * values.std(axis=-1, ddof=1) / np.sqrt(n)


def costliest(costs: Iterable[Mapping[str, float]]) -> list[str]:
    """Names by falling cost to the model that it costs most."""
    worst: dict[str, float] = {}
    for own in costs:
        for name, cost in own.items():
            worst[name] = max(cost, worst.get(name, -np.inf))
    return sorted(worst, key=lambda name: -worst[name])


class Result:
    """A tidy table with a title. Subclasses are dataclasses that give the two.

    Derive with `@dataclass(frozen=True, repr=False, eq=False)` and override `_columns`
    and `_title`; `_overview` where the whole table is too long to be read; and `_chart`
    or `_strips` for a picture. Arrays are copied, and the copies cannot be written to.

    Examples
    --------
    >>> from dataclasses import dataclass
    >>> from noiseproof.evaluation.results import Result
    >>> @dataclass(frozen=True, repr=False, eq=False)
    ... class Costs(Result):
    ...     feature: list
    ...     cost: list
    ...     def _title(self):
    ...         return "Costs of 2 features"
    ...     def _columns(self):
    ...         return {"feature": self.feature, "cost": self.cost}
    >>> Costs(["age", "weight"], [0.25, 0.125])
    Costs of 2 features
    <BLANKLINE>
    feature   cost
    age      0.250
    weight   0.125
    >>> Costs(["age", "weight"], [0.25, 0.125]).to_dict()
    {'feature': ['age', 'weight'], 'cost': [0.25, 0.125]}
    """

    def __post_init__(self) -> None:
        for field in fields(self):  # type: ignore[arg-type]  # subclasses are dataclasses
            value = getattr(self, field.name)
            if isinstance(value, np.ndarray):
                value = value.copy()
                value.setflags(write=False)
                object.__setattr__(self, field.name, value)

    def _columns(self) -> Table:
        """The tidy table: columns of one length by name."""
        raise NotImplementedError

    def _title(self) -> str:
        """What this is, in one line."""
        raise NotImplementedError

    def _overview(self) -> Table:
        """The table that people see."""
        return self._columns()

    def to_dict(self) -> dict[str, list[Any]]:
        """The table as plain lists by column name, ready for JSON.

        Returns
        -------
        columns : dict of str to list
            Numbers and words of Python itself, not of NumPy.
        """
        return {name: np.asarray(c).tolist() for name, c in self._columns().items()}

    def to_frame(self) -> Any:
        """The table as a data frame; needs pandas.

        Returns
        -------
        frame : pandas.DataFrame
            One observation a row.
        """
        try:
            import pandas as pd
        except ImportError as error:
            raise ImportError(
                "to_frame() needs pandas: pip install 'noiseproof[cli]', or use "
                "to_dict()."
            ) from error
        return pd.DataFrame({n: np.asarray(c) for n, c in self._columns().items()})

    def __repr__(self) -> str:
        names, columns = _printed(self._overview())
        aligned = map(_aligned, names, columns)
        lines = zip(*aligned, strict=True)
        return "\n".join([self._title(), "", *("  ".join(x).rstrip() for x in lines)])

    def _repr_html_(self) -> str:
        names, columns = _printed(self._overview())
        head = "".join(f"<th>{escape(name)}</th>" for name in names)
        cells = [[f"<td>{escape(cell)}</td>" for cell in c] for c in columns]
        if strips := _ends(self._strips()):
            head += "<th></th>"
            cells.append([f'<td style="min-width: 180px">{one}</td>' for one in strips])
        rows = ("".join(row) for row in zip(*cells, strict=True))
        body = "".join(f"<tr>{row}</tr>" for row in rows)
        return (
            f'<table><caption style="text-align: left; white-space: nowrap">'
            f"{escape(self._title())}</caption><thead><tr>{head}</tr></thead>"
            f"<tbody>{body}</tbody></table>{self._below()}"
        )

    def _chart(self) -> Chart | None:
        """What can be drawn; none by default."""
        return None

    def _below(self) -> str:
        """HTML below the table in a notebook: the chart, if it has a line."""
        chart = self._chart()
        return _figure(chart) if chart and len(chart.lines[0].series.x) > 1 else ""

    def _strips(self) -> list[str]:
        """A picture for each row of the overview, as HTML; none by default."""
        return []


def _figure(chart: Chart) -> str:
    """A chart for a notebook; if there are several lines with their names."""
    names = (
        f'<span style="white-space: nowrap">{swatch(line.number)} {escape(line.name)}'
        "</span>"
        for line in chart.lines
    )
    legend = " &emsp; ".join(names) if len(chart.lines) > 1 else ""
    return f'<div style="max-width: 640px">{legend}{to_svg(chart)}</div>'


def _ends(items: list[str]) -> list[str]:
    """Of a long list the beginning and the end."""
    if len(items) <= _HEAD + _TAIL + 1:
        return items
    return [*items[:_HEAD], _GAP, *items[-_TAIL:]]


def _printed(table: Table) -> tuple[list[str], list[list[str]]]:
    """Names and cells as text; of a long table the beginning and the end."""
    cells = (_cells(np.asarray(values)) for values in table.values())
    return list(table), [_ends(column) for column in cells]


def _cells(values: NDArray[Any]) -> list[str]:
    """Numbers of a column with equally many decimals, unless they differ widely."""
    if values.dtype.kind != "f":
        return [str(value) for value in values]
    sizes = np.abs(values[np.isfinite(values) & (values != 0)])
    if np.all(sizes == np.round(sizes)) and np.all(sizes < 1e6):
        pattern = "{:.0f}"
    else:
        wide = sizes.max(initial=0.0) >= 1e5 or sizes.min(initial=1.0) < 1e-3
        pattern = "{:.3g}" if wide else "{:.3f}"
    return [pattern.format(value) for value in values]


def _aligned(name: str, cells: list[str]) -> list[str]:
    """A column of equal width: words to the left, numbers to the right."""
    width = max(map(len, [name, *cells]))
    words = any(cell[:1].isalpha() for cell in cells if cell not in ("nan", "inf"))
    return [c.ljust(width) if words else c.rjust(width) for c in [name, *cells]]
