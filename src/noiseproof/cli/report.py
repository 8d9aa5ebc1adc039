"""`noiseproof report`: an HTML page about models."""

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
    parse_perturbation,
    read_groups,
)


def report(
    models: Models,
    data: Data,
    output: Annotated[
        Path, typer.Option("--output", "-o", help="HTML file for the report.")
    ],
    target: Target = None,
    levels: Levels = "0,0.1,0.2,0.3,0.4,0.5,0.6,0.7,0.8,0.9",
    repeats: Repeats = 10,
    groups: GroupsOption = None,
    missing: Annotated[
        bool,
        typer.Option(
            "--missing/--deleted",
            help="Whether lost values are missing (NaN), or deleted: replaced by zero "
            "without telling the model.",
        ),
    ] = True,
    noise: Annotated[
        str | None,
        typer.Option(
            help="How values go missing on the curve: mar, mnar, columns, outages, "
            "like:today.csv, or rates by column such as missing:iron=0.5,age=0.1. By "
            "default each value is missing with the same probability."
        ),
    ] = None,
    seed: Seed = 0,
) -> None:
    """Write an HTML report on models, evaluated on a table.

    The report is one file that needs no network. It has curves, certificates, the
    most fragile columns and, if values of the table are missing, what they cost.

    \b
    Examples:
      noiseproof report model.npf test.csv --target y -o page.html
      noiseproof report plain.npf robust.npf test.csv --target y -o page.html
      noiseproof report model.npf test.csv -t y -o page.html --noise mnar
    """
    from noiseproof.cli.files import open_models, read_for
    from noiseproof.cli.output import check_output, say
    from noiseproof.report import write_report

    check_output(output, *models, data, groups)
    sensors = read_groups(groups)
    at = parse_levels(levels or "0")
    perturb = None if noise is None else parse_perturbation(noise)[0]
    saved = open_models(models)
    table = read_for(list(saved.values()), data, target)
    rows = [one.notes.get("training", {}).get("rows") for one in saved.values()]
    write_report(
        {name: one.judged_on(table.X) for name, one in saved.items()},
        *(table.X, table.y, output),
        data=data.name,
        target=table.target,
        levels=at,
        n_repeats=repeats,
        deleted_as="nan" if missing else "zero",
        perturb=perturb,
        groups=sensors,
        random_state=seed,
        settings={"command": shlex.join(["noiseproof", *sys.argv[1:]])},
        training_rows=rows[0] if len(set(rows)) == 1 else None,
    )
    say(f"Written to {output}")
