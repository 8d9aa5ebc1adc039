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
        str | None, typer.Argument(metavar="NAME", help="Experiment; see --list.")
    ] = None,
    list_: Annotated[
        bool, typer.Option("--list", help="List all experiments and exit.")
    ] = False,
    full: Annotated[
        bool,
        typer.Option(
            "--full/--quick",
            help="The protocol of the paper, or a short version of about a minute.",
        ),
    ] = False,
    out: Annotated[
        Path, typer.Option(help="Folder for the table, page and plot.")
    ] = Path("results"),
    json: Json = False,
) -> None:
    """Reproduce a table or figure of the papers and check their claims.

    Works in a checkout of noiseproof, as `python -m experiments` does. Reads the
    papers' data from the folder in the environment variable NOISEPROOF_DATA.

    \b
    Examples:
      noiseproof reproduce --list
      noiseproof reproduce wager-table3
      noiseproof reproduce chen-fig1 --full --out results
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
            "The experiments are not in the installed package: get the source of "
            "noiseproof and give the command in its folder."
        )
    words = [*([name] if name else []), "--full" if full else "--quick"]
    words += ["--out", str(out), *["--list"] * list_, *["--json"] * json]
    paths = [str(root / "src"), str(root), os.environ.get("PYTHONPATH", "")]
    done = subprocess.run(
        [sys.executable, "-m", "experiments", *words],
        env={**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, paths))},
    )
    raise typer.Exit(done.returncode)
