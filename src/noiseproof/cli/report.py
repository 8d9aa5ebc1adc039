"""`noiseproof report`: one page to show."""

from __future__ import annotations

import shlex
import sys
from pathlib import Path
from typing import Annotated

import typer

from noiseproof.cli.options import (
    Data,
    GroupsOption,
    Levels,
    Models,
    Repeats,
    Seed,
    Target,
    parse_levels,
    read_groups,
)


def report(
    models: Models,
    data: Data,
    output: Annotated[
        Path, typer.Option("--output", "-o", help="HTML file for the page.")
    ],
    target: Target = None,
    levels: Levels = "0,0.1,0.2,0.3,0.4,0.5,0.6,0.7,0.8,0.9",
    repeats: Repeats = 10,
    groups: GroupsOption = None,
    missing: Annotated[
        bool,
        typer.Option(
            "--missing/--deleted",
            help="Whether lost cells are missing (the model knows) or deleted (they "
            "read as zero).",
        ),
    ] = True,
    seed: Seed = 0,
) -> None:
    """Write a self-contained HTML page about models and a table.

    \b
    Examples:
      noiseproof report model.npf test.csv --target y -o page.html
      noiseproof report plain.npf robust.npf test.csv --target y -o page.html
    """
    from noiseproof.cli.files import open_models, read_for
    from noiseproof.cli.output import check_output, say
    from noiseproof.report import write_report

    check_output(output, *models, data, groups)
    sensors = read_groups(groups)
    at = parse_levels(levels or "0")
    saved = open_models(models)
    table = read_for(list(saved.values()), data, target)
    rows = [one.notes.get("training", {}).get("rows") for one in saved.values()]
    write_report(
        {name: one.model for name, one in saved.items()},
        *(table.X, table.y, output),
        data=data.name,
        target=table.target,
        levels=at,
        n_repeats=repeats,
        deleted_as="nan" if missing else "zero",
        groups=sensors,
        random_state=seed,
        settings={"command": shlex.join(["noiseproof", *sys.argv[1:]])},
        training_rows=rows[0] if len(set(rows)) == 1 else None,
    )
    say(f"Written to {output}")
