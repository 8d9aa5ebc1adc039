"""`noiseproof recommend`: which model to take for what will happen."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from noiseproof.cli.options import (
    Categorical,
    Coerce,
    Data,
    Drop,
    GroupsOption,
    Json,
    NFeatures,
    Seed,
    Target,
    Task,
    parse_happening,
    read_groups,
)
from noiseproof.cli.train import Columns, recommended


def recommend(
    data: Data,
    target: Target = None,
    expect: Annotated[
        str,
        typer.Option(
            help="What will happen: missing:0.3 (cells are empty, and the model "
            "knows), delete:0.3 (they read as zero), gaussian:0.2, deletion:3, ..."
        ),
    ] = "missing:0.3",
    groups: GroupsOption = None,
    output: Annotated[
        Path | None,
        typer.Option(
            "--output",
            "-o",
            help="File for the best model; without it, no model is saved.",
        ),
    ] = None,
    drop: Drop = None,
    coerce: Coerce = None,
    categorical: Categorical = None,
    task: Task = None,
    n_features: NFeatures = None,
    folds: Annotated[
        int,
        typer.Option(min=2, help="Folds of the cross-validation; fewer are quicker."),
    ] = 5,
    seed: Seed = 0,
    json: Json = False,
) -> None:
    """Find the best of several models for what will happen to the features.

    Plain models, dropout models, imputers, models trained on incomplete copies
    and models that average over what is missing are cross-validated on the same
    damaged rows. With --groups whole groups of columns are missing or deleted.

    \b
    Examples:
      noiseproof recommend data.csv --target y --expect missing:0.3
      noiseproof recommend data.csv -t y --expect delete:0.5 -o model.npf
      noiseproof recommend data.csv -t y --groups sensors.json
    """
    from noiseproof.cli.output import check_output

    check_output(output, data, groups)
    happening = parse_happening(expect)
    sensors = None if groups is None else read_groups(groups)
    columns = Columns(drop or [], coerce or [], categorical or [], task)
    table = columns.read(data, target, n_features, quiet=json)
    recommended(table, columns, happening, sensors, output, folds, seed, json)
