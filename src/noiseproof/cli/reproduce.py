"""`noiseproof reproduce`: the papers' tables and figures, from a checkout."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from typing import Annotated

import typer

import noiseproof
from noiseproof.cli.options import Json


def reproduce(
    name: Annotated[
        str | None,
        typer.Argument(metavar="NAME", help="Name of the experiment; see --list."),
    ] = None,
    list_: Annotated[
        bool, typer.Option("--list", help="List all experiments and exit.")
    ] = False,
    full: Annotated[
        bool,
        typer.Option(
            "--full/--quick",
            help="Run the protocol of the paper, or a short version that takes about a "
            "minute.",
        ),
    ] = False,
    out: Annotated[
        Path, typer.Option(help="Folder for the table, the page and the plot.")
    ] = Path("results"),
    jobs: Annotated[
        int,
        typer.Option(
            "--jobs",
            "-j",
            help="Number of processes that share the work. By default one per core.",
        ),
    ] = os.cpu_count() or 1,
    json: Json = False,
) -> None:
    """Reproduce a table or figure of the papers, and check its claims.

    This needs the source of noiseproof, and does the same as
    `python -m experiments`. The data of the papers are read from the folder in the
    environment variable NOISEPROOF_DATA.

    \b
    Examples:
      noiseproof reproduce --list
      noiseproof reproduce wager-table3
      noiseproof reproduce chen-fig1 --full --out results --jobs 4
    """
    beside = Path(noiseproof.__file__).parents[2]  # of an editable installation
    for root in (beside, Path.cwd()):
        if all(
            (root / part / "__init__.py").is_file()
            for part in ("experiments", "src/noiseproof")
        ):
            break
    else:
        raise FileNotFoundError(
            "The experiments are not in the installed package. Get the source of "
            "noiseproof, and run the command in its folder."
        )
    words = [*([name] if name else []), "--full" if full else "--quick"]
    words += ["--out", str(out), "--jobs", str(jobs)]
    words += [*["--list"] * list_, *["--json"] * json]
    paths = [str(root / "src"), str(root), os.environ.get("PYTHONPATH", "")]
    done = subprocess.run(
        [sys.executable, "-m", "experiments", *words],
        env={**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, paths))},
    )
    raise typer.Exit(done.returncode)
