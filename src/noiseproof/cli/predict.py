"""`noiseproof predict`: predictions for a raw table."""

from __future__ import annotations

import warnings
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
            "--output", "-o", help="CSV file; without it, the predictions are printed."
        ),
    ] = None,
    spreadsheet_safe: Annotated[
        bool,
        typer.Option(
            "--spreadsheet-safe",
            help="Put ' before class labels that a spreadsheet would run as formulas.",
        ),
    ] = False,
    json: Json = False,
) -> None:
    """Predict the target of each row of a table.

    Columns are found by name. A column that is not there is missing in every row,
    a cell that cannot be read is missing, and columns that training did not have
    are ignored. Notes say so, and name texts never seen in training and columns
    with many more missing cells.

    \b
    Examples:
      noiseproof predict model.npf new.csv -o out.csv
      noiseproof predict model.npf new.csv | head
      cat new.csv | noiseproof predict model.npf - -o out.csv
    """
    from noiseproof.cli.files import open_model, read_for
    from noiseproof.cli.output import (
        check_output,
        note,
        show_json,
        show_notes,
        write_csv,
    )
    from noiseproof.tables import new_table_notes

    check_output(output, model, data)
    warnings.filterwarnings("ignore", "Column .* which no training row had")  # notes do
    saved = open_model(model)
    table = read_for([saved], data, None, labelled=False)
    if saved.encoder is not None:
        show_notes(new_table_notes(saved.encoder, table.X))
    columns: dict[str, Any] = {"prediction": saved.model.predict(table.X).tolist()}
    if hasattr(saved.model, "predict_proba"):
        probabilities = saved.model.predict_proba(table.X)
        for name, column in zip(saved.model.classes_, probabilities.T, strict=True):
            columns[f"probability_{name}"] = column.tolist()
    if output is not None:
        write_csv(columns, output, safe=spreadsheet_safe)
        note(f"{len(columns['prediction']):,} predictions written to {output}")
    if json:
        show_json(columns)
    elif output is None:
        write_csv(columns, None, safe=spreadsheet_safe)
