"""`noiseproof cost`: estimate what missing values cost, without labels."""

from __future__ import annotations

import json as json_format
from math import isfinite
from pathlib import Path
from typing import Annotated, Any

import typer

from noiseproof.cli.options import GroupsOption, Json, Model, Seed, Target, read_groups

_ALARM = 3  # exit status
_SHOWN = 20  # columns
_SERIES = "batch", "rows", "score", "complete_score", "cost", "costliest", "warnings"


def cost(
    model: Model,
    data: Annotated[
        list[Path],
        typer.Argument(
            metavar="DATA",
            help="Tables with missing values. The target need not be there, and is "
            "not used. Several tables make a series.",
        ),
    ],
    scoring: Annotated[
        str | None,
        typer.Option(
            help="accuracy (the default) or log_loss for classifiers, squared_error "
            "for regressors."
        ),
    ] = None,
    by: Annotated[
        str | None,
        typer.Option(
            help="Column that splits the table into batches, such as a date. The "
            "batches make a series."
        ),
    ] = None,
    groups: GroupsOption = None,
    costs: Annotated[
        Path | None,
        typer.Option(
            help="JSON file with the price of looking up a missing value, by column: "
            '{"iron": 12.5, ...}. Other columns have price 1. Adds a column with '
            "worth / price."
        ),
    ] = None,
    calibration: Annotated[
        Path | None,
        typer.Option(
            help="Table with the target, on which the model was not trained, used to "
            "correct the estimates. By default, training rows that the model was not "
            "fitted on are used."
        ),
    ] = None,
    target: Target = None,
    fail_above: Annotated[
        float | None,
        typer.Option(
            help="Exit with status 3 if missing values cost more than this (in the "
            "last batch of a series)."
        ),
    ] = None,
    output: Annotated[
        Path | None,
        typer.Option(
            "--output", "-o", help="File for the result: an HTML page, or .csv."
        ),
    ] = None,
    seed: Seed = 0,
    json: Json = False,
) -> None:
    """Estimate how much missing values lower the score, in total and by column.

    No labels are needed, but the model must average over missing values, as those
    that `recommend` finds for missing values do. Its averaged probabilities tell how
    often it is right on these rows, and how often it would be right if nothing were
    missing. Warnings say when not to trust the estimate.

    \b
    Examples:
      noiseproof cost model.npf today.csv
      noiseproof cost model.npf today.csv -o cost.html --fail-above 0.05
      noiseproof cost model.npf monday.csv tuesday.csv wednesday.csv
      noiseproof cost model.npf week.csv --by day
      noiseproof cost model.npf today.csv --costs prices.json
    """
    from noiseproof.cli.files import open_model
    from noiseproof.cli.output import check_output, note, show_json
    from noiseproof.evaluation import missing_cost

    check_output(output, model, *data, groups, costs, calibration)
    _check_kind(output)
    if costs is not None and (by is not None or len(data) > 1):
        _check_has_columns(output)
    prices, sensors = _prices(costs), read_groups(groups)
    saved = open_model(model)
    batches, labels = _batches(saved, data, by, target or saved.notes.get("target"))
    labelled = None
    if calibration is not None:
        labelled = _labelled(saved, calibration, target)
    found: Any = missing_cost(
        *(saved.model, batches),
        scoring=scoring,
        groups=sensors,
        by=labels,
        calibration=labelled,
        random_state=seed,
    )
    parts = getattr(found, "batches", {data[0].name: found})
    last = list(parts.values())[-1]
    rates = _rates_in_training(saved, last)
    table = _table(last, rates, prices)
    if output is not None:
        _write(found, table, prices, output)
    if json:
        show_json([_as_dict(name, part, rates, prices) for name, part in parts.items()])
    else:
        _say(found, last, table)
    for one in last.warnings:
        note(f"Warning: {one}")
    cost = last.cost
    if fail_above is not None and cost.value > fail_above:
        note(
            f"Alarm: missing values cost {cost:.3f}, which is more than {fail_above:g}."
        )
        raise typer.Exit(_ALARM)


def _check_kind(output: Path | None) -> None:
    """Raise an error if a file's name asks for neither HTML nor CSV."""
    if output is not None and output.suffix not in ("", ".html", ".htm", ".csv"):
        raise typer.BadParameter(
            f"{output} is neither an HTML page nor a CSV file; write to .html or .csv."
        )


def _check_has_columns(output: Path | None) -> None:
    """Raise an error if the result of a series is written without its columns."""
    if output is not None and output.suffix == ".csv":
        raise typer.BadParameter(
            "The CSV file of a series has a row for each batch and none for columns, "
            "so it cannot show --costs; write an HTML page instead (-o cost.html)."
        )


def _write(found: Any, table: Any, prices: dict[str, float], output: Path) -> None:
    """Write an HTML page, or a CSV file: of the batches if there are several."""
    from noiseproof.cli.output import note, write_csv
    from noiseproof.io import atomic_write
    from noiseproof.report import render_cost

    if output.suffix == ".csv":
        write_csv(found.to_dict() if hasattr(found, "batches") else table, output)
    else:
        with atomic_write(output) as file:
            file.write(render_cost(found, prices=prices).encode())
    note(f"Written to {output}")


def _say(found: Any, last: Any, table: Any) -> None:
    """Print the series if there is one, then the columns of the last batch."""
    from noiseproof.cli.output import say

    if hasattr(found, "batches"):
        series = found.to_dict()
        _show({name: series[name] for name in _SERIES})
        say(f"The last batch, {list(found.batches)[-1]}:")
    say(f"{last.summary}.")
    say("For each column: the share of values missing today and in training, what they")
    say("cost, with a 95% interval (low, high), and what one missing value is worth:")
    _show(table, _SHOWN)
    _say_groups(last)
    say(last.verdict)


def _batches(saved: Any, paths: list[Path], by: str | None, target: Any) -> Any:
    """Read one table, or several by name, as the model gets them; and batch labels."""
    from noiseproof.cli.files import read_raw
    from noiseproof.cli.output import show_notes

    if by is not None and len(paths) > 1:
        raise typer.BadParameter("--by splits one table; pass a single table.")
    tables, labels = [], None
    for path in paths:
        X = read_raw([saved], path).X
        if by is not None:
            if by not in getattr(X, "columns", ()):
                raise ValueError(f"--by: {path} has no column {by!r}.")
            if saved.served is not None and by in saved.served.names:
                raise ValueError(
                    f"--by: {by!r} is also a column of the model; copy it under "
                    "another name, and pass that name."
                )
            labels = X[by]
            X = X.drop(columns=by)
        if target in getattr(X, "columns", ()):
            X = X.drop(columns=target)
        if saved.served is not None:
            arrived = saved.served.read(X)
            show_notes([n for n in arrived.notes if n.kind != "missing"])
            X = arrived.X
        tables.append(X)
    names = [path.name for path in paths]
    if len(set(names)) < len(names):
        names = list(map(str, paths))
    if len(set(names)) < len(names):
        raise typer.BadParameter("A table is given twice; pass each of them once.")
    found = dict(zip(names, tables, strict=True))
    return (found if len(paths) > 1 else tables[0]), labels


def _labelled(saved: Any, path: Path, target: str | None) -> tuple[Any, Any]:
    """Read labelled rows, by which estimates are corrected."""
    from noiseproof.cli.files import read_for

    table = read_for([saved], path, target)
    X = table.X if saved.served is None else saved.served.read(table.X).X
    return X, table.y


def _prices(path: Path | None) -> dict[str, float]:
    """Read the price of finding out a missing value, by column."""
    if path is None:
        return {}
    try:
        pairs = json_format.loads(path.read_text(encoding="utf-8")).items()
        prices = {str(name): _price(price) for name, price in pairs}
    except (ValueError, AttributeError):
        prices = {"": 0.0}
    if any(price <= 0 for price in prices.values()):
        raise ValueError(
            f'{path} must contain JSON such as {{"iron": 12.5}}, with positive prices.'
        )
    return prices


def _price(given: Any) -> float:
    """A number of the JSON file; zero for anything else, which is no price."""
    number = isinstance(given, int | float) and not isinstance(given, bool)
    return float(given) if number and isfinite(given) else 0.0


def _rates_in_training(saved: Any, found: Any) -> dict[str, float]:
    """Share of values that were missing in training, by column."""
    rates = dict(found.missing_before)
    for name, clause in saved.served.contract().items() if saved.served else ():
        if clause["missing_rate"] is not None:
            rates[name] = clause["missing_rate"]
    return rates


def _table(found: Any, rates: Any, prices: dict[str, float]) -> dict[str, list[Any]]:
    """The table of columns, the most costly first."""
    names, ends = list(found.by_column), list(found.by_column.values())
    table: dict[str, list[Any]] = {
        "column": names,
        "today": [found.missing[name] for name in names],
        "training": [rates.get(name) for name in names],
        "cost": [one.value for one in ends],
        "low": [one.low for one in ends],
        "high": [one.high for one in ends],
        "worth": [found.worth[name] for name in names],
    }
    if prices:
        unknown = [name for name in prices if name not in rates and name not in names]
        if unknown:
            raise ValueError(f"--costs: the model has no column {unknown[0]!r}.")
        pairs = zip(names, table["worth"], strict=True)
        table["worth/price"] = [w / prices.get(name, 1.0) for name, w in pairs]
    return table


def _show(table: Any, most: int | None = None) -> None:
    """Print a table, with shares in per cent."""
    from noiseproof.cli.output import say, show_table

    n = len(next(iter(table.values())))
    shown = {}
    for name, cells in table.items():
        some = list(cells)[:most]
        shown[name] = [_text(cell, name in ("today", "training")) for cell in some]
    show_table(shown)
    if most is not None and n > most:
        say(f"and {n - most} more columns")


def _text(cell: Any, share: bool) -> str:
    if cell is None:
        return "-"
    if not isinstance(cell, float):
        return str(cell)
    return f"{cell:.0%}" if share else f"{cell:.4f}"


def _say_groups(found: Any) -> None:
    """Print what groups cost, if there are any."""
    from noiseproof.cli.output import listed, say

    if found.by_group:
        say("Cost of the missing values of groups of columns:")
        names = found.by_group
        members = [listed(found.groups[name], 6) for name in names]
        _show({
            "group": list(names),
            "cost": [one.value for one in names.values()],
            "low": [one.low for one in names.values()],
            "high": [one.high for one in names.values()],
            "columns": members,
        })  # fmt: skip


def _ends(estimate: Any) -> dict[str, float]:
    return {"value": estimate.value, "low": estimate.low, "high": estimate.high}


def _as_dict(
    batch: str, found: Any, rates: Any, prices: dict[str, float]
) -> dict[str, Any]:
    """The whole result for one batch, for JSON."""
    return {
        "batch": batch,
        "scoring": found.scoring,
        "rows": found.n_rows,
        **{
            name: _ends(getattr(found, name))
            for name in ("score", "complete_score", "cost")
        },
        "columns": _table(found, rates, prices),
        "groups": {
            name: {**_ends(one), "columns": found.groups[name]}
            for name, one in found.by_group.items()
        },
        "verdict": found.verdict,
        "warnings": list(found.warnings),
    }
