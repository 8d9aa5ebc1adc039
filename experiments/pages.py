"""The Markdown page of one experiment."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import asdict
from typing import Any, NamedTuple

import numpy as np

from experiments.experiment import (
    BEYOND,
    Claim,
    Experiment,
    Layout,
    Row,
    Settings,
    distinct,
    select,
)
from noiseproof._version import versions

HOLDS, FAILS = "- Holds:", "- **Does not hold:**"
_COUNT = 100  # no share of anything, in percent or not, is so large


class Cell(NamedTuple):
    """Mean over the rows of a cell, and its standard error (NaN for one row)."""

    mean: float
    error: float


def cells(rows: Sequence[Row], layout: Layout) -> dict[tuple[Hashable, ...], Cell]:
    """Each cell of the table, in order of appearance."""
    groups: dict[tuple[Hashable, ...], list[float]] = {}
    for row in rows:
        groups.setdefault(layout.key(row), []).append(row[layout.value])
    return {key: _cell(np.asarray(values)) for key, values in groups.items()}


def _cell(values: Any) -> Cell:
    if len(values) == 1:
        return Cell(float(values[0]), float("nan"))
    error = np.std(values, ddof=1) / np.sqrt(len(values))
    return Cell(float(np.mean(values)), float(error))


def page(
    experiment: Experiment[Any],
    size: str,
    settings: Settings,
    rows: Sequence[Row],
    claims: Sequence[Claim],
    seconds: float,
) -> str:
    """Table, verdicts, and everything needed to run it again."""
    verdicts = [
        f"{HOLDS if claim.holds else FAILS} {claim.text} ({claim.numbers})."
        for claim in claims
    ]
    used = ", ".join(f"{name} {number}" for name, number in versions().items())
    options = ", ".join(f"{k} = {_plain(v)}" for k, v in asdict(settings).items())
    parts = [
        f"## {experiment.name}: {experiment.title}",
        f"{experiment.paper}. {_measured(experiment)}",
        *_summary(experiment, rows),
        tables(experiment, rows),
        "\n".join(verdicts),
        *filter(None, [experiment.notes(rows)]),
        experiment.protocol,
        *([f"Tried: {experiment.tried}"] if experiment.tried else []),
        f"{_command(experiment, size)}, {seconds:.0f} s of processor time. "
        f"Settings: {options}. {used}.",
    ]
    return "\n\n".join(parts) + "\n"


def _command(experiment: Experiment[Any], size: str) -> str:
    """What to type for the same again; the tiny size is for tests, from Python."""
    if size == "tiny":
        return f'`run("{experiment.name}", "tiny")`'
    return f"`noiseproof reproduce {experiment.name} --{size}`"


def _measured(experiment: Experiment[Any]) -> str:
    """What the tables show, and where the paper's own numbers are."""
    layout = experiment.layout
    shown = f"{layout.value.capitalize().replace('_', ' ')} by {layout.curve}"
    if experiment.printed:
        return f"{shown}; the paper's numbers are in brackets."
    if experiment.paper == BEYOND:
        return f"{shown}."
    return f"{shown}; the paper prints no numbers for these results."


def _summary(experiment: Experiment[Any], rows: Sequence[Row]) -> list[str]:
    """What the plot shows as a table, if it is not what the other tables show."""
    if not experiment.summary:
        return []
    return [experiment.summary, tables(experiment, *experiment.drawn(rows))]


def tables(
    experiment: Experiment[Any], rows: Sequence[Row], layout: Layout | None = None
) -> str:
    """A table for each panel, a line for each x, a column for each curve."""
    layout = layout or experiment.layout
    panel = layout.panel
    if panel is None:
        return _table(experiment, rows, layout)
    return "\n\n".join(
        f"**{name}**\n\n{_table(experiment, select(rows, **{panel: name}), layout)}"
        for name in distinct(rows, panel)
    )


def _table(experiment: Experiment[Any], rows: Sequence[Row], layout: Layout) -> str:
    found = cells(rows, layout)
    curves = list(dict.fromkeys(key[-1] for key in found))
    lines = list(dict.fromkeys(key[:-1] for key in found))
    head = [layout.x.replace("_", " "), *map(str, curves)]
    body = [
        [_plain(line[-1]), *(_text(experiment, found, (*line, c)) for c in curves)]
        for line in lines
    ]
    return "\n".join(
        f"| {' | '.join(line)} |" for line in [head, ["---"] * len(head), *body]
    )


def _text(experiment: Experiment[Any], found: Any, key: tuple[Hashable, ...]) -> str:
    if key not in found:
        return ""
    mean, error = found[key]
    is_count = mean.is_integer() and mean >= _COUNT
    digits = 0 if is_count else experiment.layout.digits
    text = f"{mean:.{digits}f}"
    if not np.isnan(error):
        text += f" ± {error:.{digits}f}"
    return text + (f" ({experiment.printed[key]})" if key in experiment.printed else "")


def _plain(value: Any) -> str:
    if isinstance(value, tuple | list):
        return "(" + ", ".join(map(_plain, value)) + ")"
    return f"{value:g}" if isinstance(value, float) else str(value)
