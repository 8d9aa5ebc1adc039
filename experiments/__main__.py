"""Repeat a table or figure of the papers and check its claims.

Needs a checkout, and the papers' data in the folder that the environment variable
NOISEPROOF_DATA names. `noiseproof reproduce` takes the same words.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
import time
from collections.abc import Callable, Sequence
from pathlib import Path

from experiments import EXPERIMENTS, run

_EVERY = 10.0  # seconds between lines of progress, where none can be overwritten


def main(words: Sequence[str] | None = None) -> None:
    """Run one experiment, or list them all."""
    parser = argparse.ArgumentParser("python -m experiments", description=__doc__)
    parser.add_argument("name", nargs="?", metavar="NAME", help="one of --list")
    parser.add_argument("--list", action="store_true", help="list all and end")
    size = parser.add_mutually_exclusive_group()
    for one, told in (("quick", "about a minute; default"), ("full", "as the paper")):
        size.add_argument(
            f"--{one}", dest="size", action="store_const", const=one, help=told
        )
    parser.add_argument(
        *("--out", "-o"),
        type=Path,
        default=Path("results"),
        help="folder for the table, page and plot; default: %(default)s",
    )
    parser.add_argument(
        *("--jobs", "-j"),
        type=int,
        default=os.cpu_count(),
        help="processes that share the work; default: one a core (%(default)s)",
    )
    parser.add_argument("--json", action="store_true", help="print for machines")
    asked = parser.parse_args(words)
    if asked.list:
        _show_list(asked.json)
    elif asked.name is None:
        parser.error("Name an experiment, or use --list to see them.")
    elif asked.name not in EXPERIMENTS:
        legal = ", ".join(EXPERIMENTS)
        parser.error(f"There is no experiment {asked.name}: use one of {legal}.")
    else:
        try:
            _run(asked.name, asked.size or "quick", asked.out, asked.jobs, asked.json)
        except (OSError, ImportError) as error:  # no data, no folder, no package
            sys.exit(f"Error: {error}")


def _show_list(as_json: bool) -> None:
    titles = {name: experiment.title for name, experiment in EXPERIMENTS.items()}
    if as_json:
        print(json.dumps(titles, indent=2, ensure_ascii=False))
        return
    width = max(map(len, titles))
    print("\n".join(f"{name:<{width}}  {title}" for name, title in titles.items()))


def _run(name: str, size: str, out: Path, jobs: int, as_json: bool) -> None:
    report = run(name, size, out, progress=_progress(), n_jobs=jobs)
    if as_json:
        claims = [
            {"claim": c.text, "holds": bool(c.holds), "numbers": c.numbers}
            for c in report.claims
        ]
        files = [str(path) for path in report.files]
        found = {"name": name, "size": size, "claims": claims, "files": files}
        print(json.dumps(found, indent=2, ensure_ascii=False))
        return
    for claim in report.claims:
        print(f"[{'holds' if claim.holds else 'FAILS'}] {claim.text}: {claim.numbers}")
    for path in report.files:
        print(f"Written to {path}")


def _progress() -> Callable[[str], None] | None:
    """A line now and then; at a terminal the runner overwrites one line by itself."""
    if sys.stderr.isatty():
        return None
    told = -_EVERY

    def tell(line: str) -> None:
        nonlocal told
        if time.monotonic() - told >= _EVERY:
            told = time.monotonic()
            print(line, file=sys.stderr, flush=True)

    return tell


if __name__ == "__main__":
    main()
