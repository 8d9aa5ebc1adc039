"""Run an experiment and write its table, page and plot."""

from __future__ import annotations

import csv
import io
import sys
import time
import warnings
from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from sklearn.exceptions import ConvergenceWarning

from experiments.data import load
from experiments.experiment import Claim, Experiment, Row, Settings
from experiments.pages import page
from experiments.pictures import picture
from experiments.unfinished import Unfinished
from noiseproof.io import atomic_write

_WIDTH = 78


@dataclass(frozen=True)
class Report:
    """What a run gave, the paths written, and `seconds` of processor time.

    These are NaN if the run had been stopped.
    """

    experiment: Experiment[Any]
    size: str
    settings: Settings
    rows: Sequence[Row]
    claims: Sequence[Claim]
    seconds: float
    files: Sequence[Path] = ()


def run_experiment(
    experiment: Experiment[Any],
    size: str,
    out: Path | None,
    progress: Callable[[str], None] | None,
) -> Report:
    """Read all data first, so that a missing file costs no work; then run and write."""
    if size not in experiment.sizes:
        legal = ", ".join(experiment.sizes)
        raise ValueError(f"size={size!r} is not known; use one of {legal}.")
    settings = experiment.sizes[size]
    data = {name: load(name, made=size == "tiny") for name in settings.data}
    start, cpu = time.perf_counter(), time.process_time()
    progress = progress or (_show if sys.stderr.isatty() else None)
    rows, kept = [], Unfinished()
    if experiment.grows_by and out is not None:
        told = asdict(settings)
        fixed = {key: told[key] for key in told if key not in experiment.grows_by}
        kept = Unfinished(out / f"{experiment.name}-{size}.unfinished", fixed)
    with warnings.catch_warnings():
        # rivals that stop at their default max_iter are compared as they are
        warnings.simplefilter("ignore", ConvergenceWarning)
        for row in experiment.resumed(settings, data, kept):
            rows.append(row)
            if progress is not None:
                progress(_line(experiment, row, time.perf_counter() - start))
    if progress is _show:
        _show("")
    seconds = time.process_time() - cpu  # unlike the clock, the same on a busy machine
    if kept.is_resumed:
        seconds = float("nan")  # what the finished parts took is not on file
    claims = experiment.claims(rows)
    if out is None:
        return Report(experiment, size, settings, rows, claims, seconds)
    parts = {
        ".csv": table(rows),
        ".md": page(experiment, size, settings, rows, claims, seconds).encode(),
        ".png": picture(experiment, rows),
    }
    files = list(_write(out / experiment.name, parts))
    kept.remove()
    return Report(experiment, size, settings, rows, claims, seconds, files)


def _show(line: str) -> None:
    """Overwrite the last line at the terminal."""
    print(f"\r{line[:_WIDTH]:<{_WIDTH}}\r", end="", file=sys.stderr, flush=True)


def _line(experiment: Experiment[Any], row: Row, seconds: float) -> str:
    where = ", ".join(str(part) for part in experiment.layout.key(row))
    return f"{experiment.name}, {seconds:.0f} s: {where}"


def table(rows: Sequence[Row]) -> bytes:
    """All rows as CSV, with the keys of any of them as columns."""
    names = dict.fromkeys(name for row in rows for name in row)
    text = io.StringIO(newline="")
    writer = csv.DictWriter(text, names, lineterminator="\n")
    writer.writeheader()
    writer.writerows(rows)
    return text.getvalue().encode()


def _write(stem: Path, parts: dict[str, bytes | None]) -> Iterator[Path]:
    """Write each file whole or not at all; a part that is None is left out."""
    stem.parent.mkdir(parents=True, exist_ok=True)
    for suffix, content in parts.items():
        if content is None:
            continue
        path = stem.with_name(stem.name + suffix)
        with atomic_write(path) as file:
            file.write(content)
        yield path
