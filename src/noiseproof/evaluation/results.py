"""Base class of results, which are easy to read, keep and pass on.

The functions of this package return frozen dataclasses derived from `Result`. Each is
one tidy table, with an observation per row, and a title. From these follow a data
frame, a dictionary for JSON, a readable `repr`, and a table and a picture in notebooks.
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
    """Half the width of the interval of a mean over the last axis, from Student's t.

    NaN for a single value, which does not show the spread.
    """
    n = values.shape[-1]
    if n == 1:
        return np.full(values.shape[:-1], np.nan)
    quantile = stdtrit(n - 1, (1 + confidence) / 2)
    return quantile * values.std(axis=-1, ddof=1) / np.sqrt(n)


def costliest(costs: Iterable[Mapping[str, float]]) -> list[str]:
    """Names by decreasing cost, which is the largest over all models."""
    worst: dict[str, float] = {}
    for own in costs:
        for name, cost in own.items():
            worst[name] = max(cost, worst.get(name, -np.inf))
    return sorted(worst, key=lambda name: -worst[name])


class Result:
    """A tidy table with a title.

    Derive a class with `@dataclass(frozen=True, repr=False, eq=False)`, and override
    `_columns` and `_title`. Override `_overview` if the table is too long to read, and
    `_chart` or `_strips` to add a picture. Arrays are copied, and the copies are
    read-only.

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
        """The tidy table: columns of equal length, by name."""
        raise NotImplementedError

    def _title(self) -> str:
        """The title, in one line."""
        raise NotImplementedError

    def _overview(self) -> Table:
        """The table that is printed."""
        return self._columns()

    def to_dict(self) -> dict[str, list[Any]]:
        """Convert to plain lists by column name, ready for JSON.

        Returns
        -------
        columns : dict of str to list
            Lists of Python's own numbers and strings.
        """
        return {name: np.asarray(c).tolist() for name, c in self._columns().items()}

    def to_frame(self) -> Any:
        """Convert to a data frame. This needs pandas.

        Returns
        -------
        frame : pandas.DataFrame
            A row for each observation.
        """
        try:
            import pandas as pd
        except ImportError as error:
            raise ImportError(
                "to_frame() needs pandas: pip install 'noiseproof[cli]'. Or use "
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
        """The chart of the result; none by default."""
        return None

    def _below(self) -> str:
        """HTML below the table in a notebook: the chart, if there are two points."""
        chart = self._chart()
        return _figure(chart) if chart and len(chart.lines[0].series.x) > 1 else ""

    def _strips(self) -> list[str]:
        """A picture for each row of the overview, as HTML; none by default."""
        return []


def _figure(chart: Chart) -> str:
    """A chart for a notebook, with a legend if there are several lines."""
    names = (
        f'<span style="white-space: nowrap">{swatch(line.number)} {escape(line.name)}'
        "</span>"
        for line in chart.lines
    )
    legend = " &emsp; ".join(names) if len(chart.lines) > 1 else ""
    return f'<div style="max-width: 640px">{legend}{to_svg(chart)}</div>'


def _ends(items: list[str]) -> list[str]:
    """The beginning and the end of a long list."""
    if len(items) <= _HEAD + _TAIL + 1:
        return items
    return [*items[:_HEAD], _GAP, *items[-_TAIL:]]


def _printed(table: Table) -> tuple[list[str], list[list[str]]]:
    """Names and values as text; only the beginning and the end of a long table."""
    cells = (_cells(np.asarray(values)) for values in table.values())
    return list(table), [_ends(column) for column in cells]


def _cells(values: NDArray[Any]) -> list[str]:
    """Values of a column as text, with equal decimals unless they vary widely."""
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
    """A column padded to equal width: words are aligned left, numbers right."""
    width = max(map(len, [name, *cells]))
    words = any(cell[:1].isalpha() for cell in cells if cell not in ("nan", "inf"))
    return [c.ljust(width) if words else c.rjust(width) for c in [name, *cells]]
