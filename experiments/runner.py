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

from joblib import Parallel, delayed
from sklearn.exceptions import ConvergenceWarning

from experiments.data import load
from experiments.experiment import Claim, Experiment, Part, Row, Settings
from experiments.pages import page
from experiments.pictures import picture
from experiments.ranks import diagram
from experiments.unfinished import Unfinished
from noiseproof.io import atomic_write

_WIDTH = 78


@dataclass(frozen=True)
class Report:
    """What a run gave, the paths written, and `seconds` of processor time."""

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
    n_jobs: int = 1,
) -> Report:
    """Read all data first, so that a missing file costs no work; then run and write."""
    if size not in experiment.sizes:
        legal = ", ".join(experiment.sizes)
        raise ValueError(f"size={size!r} is not known; use one of {legal}.")
    settings = experiment.sizes[size]
    data = {name: load(name, made=size == "tiny") for name in settings.data}
    kept = Unfinished()
    if out is not None:
        told = asdict(settings)
        fixed = {key: told[key] for key in told if key not in experiment.grows_by}
        kept = Unfinished(out / f"{experiment.name}-{size}.unfinished", fixed)
    parts = list(experiment.parts(settings, data))
    _finish(experiment.name, parts, kept, progress, n_jobs)
    done = [kept.known[part.name] for part in parts]
    rows = [row for some, _ in done for row in some]
    seconds = sum(took for _, took in done)
    claims = experiment.claims(rows)
    if out is None:
        return Report(experiment, size, settings, rows, claims, seconds)
    content: dict[str, bytes | None] = {
        ".csv": table(rows),
        ".md": page(experiment, size, settings, rows, claims, seconds).encode(),
        ".png": picture(experiment, rows),
    }
    found = experiment.ranks(rows)
    if found is not None:
        content["-ranks.png"] = diagram(found)
    files = list(_write(out / experiment.name, content))
    kept.remove()
    return Report(experiment, size, settings, rows, claims, seconds, files)


def _finish(
    name: str,
    parts: Sequence[Part],
    kept: Unfinished,
    progress: Callable[[str], None] | None,
    n_jobs: int,
) -> None:
    """Do what is not done yet, in so many processes; tell how long it may take."""
    left = [part for part in parts if part.name not in kept.known]
    progress = progress or (_show if sys.stderr.isatty() else None)
    start = time.perf_counter()
    work = Parallel(n_jobs=min(n_jobs, len(left)) or 1, return_as="generator_unordered")
    for count, (part, rows, seconds) in enumerate(
        work(delayed(_timed)(part) for part in left), start=1
    ):
        kept.keep(part, rows, seconds)
        if progress is not None:
            passed = time.perf_counter() - start
            more = passed / count * (len(left) - count)
            where = f"{len(parts) - len(left) + count} of {len(parts)} parts"
            progress(
                f"{name}: {where}, {passed:.0f} s, about {more:.0f} s left: {part}"
            )
    if progress is _show:
        _show("")


def _timed(part: Part) -> tuple[str, list[Row], float]:
    """Name, rows and seconds of processor time, the same on a busy machine."""
    start = time.process_time()
    with warnings.catch_warnings():
        # rivals that stop at their default max_iter are compared as they are
        warnings.simplefilter("ignore", ConvergenceWarning)
        # trees on copies that are scaled up are a contender on purpose
        warnings.filterwarnings("ignore", "Dropout scales up what survives")
        rows = list(part.work())
    return part.name, rows, round(time.process_time() - start, 2)


def _show(line: str) -> None:
    """Overwrite the last line at the terminal."""
    print(f"\r{line[:_WIDTH]:<{_WIDTH}}\r", end="", file=sys.stderr, flush=True)


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
