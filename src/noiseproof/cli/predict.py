"""`noiseproof predict`: predictions for a raw table."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from noiseproof.cli.options import Data, Json, Model


def predict(
    model: Model,
    data: Data,
    output: Annotated[
        Path | None,
        typer.Option(
            "--output",
            "-o",
            help="CSV file for the predictions, which are otherwise printed.",
        ),
    ] = None,
    interval: Annotated[
        float | None,
        typer.Option(
            help="For regression: add columns lower and upper, an interval that "
            "contains the target with this probability, such as 0.9, whichever values "
            "are missing."
        ),
    ] = None,
    worth: Annotated[
        bool,
        typer.Option(
            "--worth",
            help="Add columns most_valuable and worth: which missing value of the row "
            "it would help most to know, and by how much the expected loss would fall.",
        ),
    ] = False,
    spreadsheet_safe: Annotated[
        bool,
        typer.Option(
            "--spreadsheet-safe",
            help="Put ' before class labels that a spreadsheet would run as formulas.",
        ),
    ] = False,
    strict: Annotated[
        bool,
        typer.Option(
            "--strict",
            help="Refuse a table that differs from the training table.",
        ),
    ] = False,
    json: Json = False,
) -> None:
    """Predict the target of each row of a table.

    Columns are found by name. Three kinds of values count as missing: those of a
    column that is not in the table, those that cannot be read, and words that did
    not occur in training. Extra columns are ignored. Notes on the error stream say
    so. They also list columns with values out of the range of training, and columns
    with many more missing values than in training.

    \b
    Examples:
      noiseproof predict model.npf new.csv -o out.csv
      noiseproof predict model.npf new.csv | head
      noiseproof predict model.npf new.csv --interval 0.9 -o out.csv
      noiseproof predict model.npf new.csv --worth -o out.csv
      cat new.csv | noiseproof predict model.npf - -o out.csv
    """
    from noiseproof.cli.files import open_model, read_raw
    from noiseproof.cli.output import (
        check_output,
        note,
        show_json,
        show_notes,
        write_csv,
    )
    from noiseproof.serving import answer_columns

    check_output(output, model, data)
    saved = open_model(model)
    if strict and saved.served is None:
        raise typer.BadParameter(
            f"--strict: {model} does not describe the training table. Use a model of "
            "`noiseproof train`, or save noiseproof.serving.Served(model, table)."
        )
    rows, asked = read_raw([saved], data).X, saved.model
    options: dict[str, Any] = {"interval": interval}
    if saved.served is not None:
        rows, asked = saved.served.read(rows), saved.served
        options["strict"] = strict
        show_notes([] if strict else rows.notes)
    found = answer_columns(asked, rows, **options)
    columns = {name: column.tolist() for name, column in found.items()}
    if worth:
        columns |= _most_valuable(saved, rows)
    if output is not None:
        write_csv(columns, output, safe=spreadsheet_safe)
        note(f"{len(columns['prediction']):,} predictions written to {output}")
    if json:
        show_json(columns)
    elif output is None:
        write_csv(columns, None, safe=spreadsheet_safe)


def _most_valuable(saved: Any, rows: Any) -> dict[str, list[Any]]:
    """The column of the most valuable missing value of each row, and its worth."""
    import numpy as np

    from noiseproof.evaluation import value_of_cells

    X = rows.X if saved.served is not None else rows
    values = np.nan_to_num(value_of_cells(saved.model, X), nan=-1.0)
    names = [str(name) for name in getattr(X, "columns", range(X.shape[1]))]
    found: dict[str, list[Any]] = {"most_valuable": [], "worth": []}
    for best, most in zip(values.argmax(axis=1), values.max(axis=1), strict=True):
        found["most_valuable"].append(names[best] if most >= 0 else "")
        found["worth"].append(float(most) if most >= 0 else "")
    return found
