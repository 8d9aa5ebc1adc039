"""`noiseproof recommend`: which model to take for what will happen."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from noiseproof.cli.options import Data, Json, Seed, Target, parse_happening
from noiseproof.cli.train import recommended


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
    output: Annotated[
        Path | None,
        typer.Option("--output", "-o", help="File for the best model, if wanted."),
    ] = None,
    drop: Annotated[
        list[str] | None, typer.Option(help="Column to leave out; may be repeated.")
    ] = None,
    seed: Seed = 0,
    json: Json = False,
) -> None:
    """Judge several models by cross-validation, for what will happen to the features.

    Plain models, dropout models, imputers, models trained on incomplete copies and
    models that average over what is missing see the same damaged rows.

    \b
    Examples:
      noiseproof recommend data.csv --target y --expect missing:0.3
      noiseproof recommend data.csv -t y --expect delete:0.5 -o model.npf
    """
    from noiseproof.cli.output import check_output

    check_output(output, data)
    happening = parse_happening(expect)
    recommended(data, target, drop, None, happening, output, seed, json)
