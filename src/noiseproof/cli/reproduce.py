"""`noiseproof reproduce`: the papers' tables and figures."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from noiseproof.cli.options import Json


def reproduce(
    name: Annotated[
        str | None, typer.Argument(metavar="NAME", help="Experiment; see --list.")
    ] = None,
    list_: Annotated[
        bool, typer.Option("--list", help="List all experiments and end.")
    ] = False,
    full: Annotated[
        bool,
        typer.Option("--full/--quick", help="The paper's protocol, or about a minute."),
    ] = False,
    out: Annotated[
        Path, typer.Option(help="Folder for the table, page and plot.")
    ] = Path("results"),
    json: Json = False,
) -> None:
    """Repeat a table or figure of the papers and check their claims.

    Reads the papers' data from the folder in the environment variable NOISEPROOF_DATA.

    \b
    Examples:
      noiseproof reproduce --list
      noiseproof reproduce wager-table3
      noiseproof reproduce chen-fig1 --full --out results
    """
    from experiments import EXPERIMENTS

    if list_:
        _show_list(json)
    elif name is None:
        raise typer.BadParameter("Name an experiment, or use --list to see them.")
    elif name not in EXPERIMENTS:
        raise typer.BadParameter(
            f"There is no experiment {name}: use one of {', '.join(EXPERIMENTS)}."
        )
    else:
        _run(name, "full" if full else "quick", out, json)


def _show_list(json: bool) -> None:
    from experiments import EXPERIMENTS

    from noiseproof.cli.output import say, show_json

    if json:
        show_json({name: e.title for name, e in EXPERIMENTS.items()})
        return
    width = max(map(len, EXPERIMENTS))
    for name, experiment in EXPERIMENTS.items():
        say(f"{name:<{width}}  {experiment.title}")


def _run(name: str, size: str, out: Path, json: bool) -> None:
    from experiments import run

    from noiseproof.cli.output import note, say, show_json

    report = run(name, size, out, progress=note)
    if json:
        claims = [
            {"claim": c.text, "holds": c.holds, "numbers": c.numbers}
            for c in report.claims
        ]
        files = [str(path) for path in report.files]
        show_json({"name": name, "size": size, "claims": claims, "files": files})
        return
    for claim in report.claims:
        say(f"[{'holds' if claim.holds else 'FAILS'}] {claim.text}: {claim.numbers}")
    for path in report.files:
        say(f"Written to {path}")
