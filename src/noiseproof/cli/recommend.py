"""`noiseproof recommend`: find the best model for an expected perturbation."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Annotated, Any

import typer

import noiseproof
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
    judging,
    name_of,
    parse_happening,
)


def recommend(
    data: Data,
    target: Target = None,
    expect: Annotated[
        str,
        typer.Option(
            help="What will happen to the features. missing:0.3: 30% of the values "
            "are missing (empty fields). mar:0.3 or mnar:0.3: missing more often where "
            "another value, or the value itself, is large. columns:0.2: 20% of the "
            "columns are missing, the most relevant first. outages:0.1: columns are "
            "missing for many consecutive rows. like:today.csv: missing as in that "
            "table. missing:iron=0.5,age=0.1: rates by column. delete:0.3: values "
            "read as zero. Also gaussian:0.2, deletion:3, ..."
        ),
    ] = "missing:0.3",
    groups: GroupsOption = None,
    output: Annotated[
        Path | None,
        typer.Option(
            "--output",
            "-o",
            help="File for the best model. Without it, no model is saved.",
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
    """Find the best of up to 16 models, or a blend, for what will happen.

    Linear models, boosted trees and forests are cross-validated on the same perturbed
    rows: as they are, behind imputers, trained on incomplete copies of the rows, and
    averaged over the missing values. With --groups, whole groups of columns are missing
    or deleted.

    \b
    Examples:
      noiseproof recommend data.csv --target y --expect missing:0.3
      noiseproof recommend data.csv -t y --expect delete:0.5 -o model.npf
      noiseproof recommend data.csv -t y --expect like:today.csv
      noiseproof recommend data.csv -t y --groups sensors.json
    """
    from noiseproof.cli.files import TableOptions
    from noiseproof.cli.output import check_output

    check_output(output, data, groups)
    table = TableOptions(target, drop, coerce, categorical, task, n_features)
    options = judging(groups, folds, seed, json)
    recommended(table, data, parse_happening(expect), options, output, json)


def recommended(
    table: Any,
    data: Path,
    happening: tuple[Any, float],
    options: dict[str, Any],
    output: Path | None,
    json: bool,
) -> None:
    """Recommend a model, print the scores of all contenders, and save the best one.

    With groups among the options, whole groups of columns are missing or deleted.
    """
    from noiseproof.cli.files import save_trained
    from noiseproof.cli.output import show_json

    rows = table.read(data, quiet=json)
    perturb, level = happening
    if options["groups"] is not None and perturb in ("missing", "delete"):
        perturb = "_".join((perturb, "groups"))
    start = time.perf_counter()
    found = noiseproof.recommend(
        *(rows.X, rows.y, perturb, level),
        task=table.task,
        encoder=table.encoder,
        **options,
    )
    contest = found.contest
    perturbed, clean = contest.means[contest.choice]
    parts = f" of {contest.shares}" if contest.choice == "blend" else ""
    summary = {
        "parameters": repr(found.model),
        "rows": rows.X.shape[0],
        "columns": rows.X.shape[1],
        "target": rows.target,
        "tuned_for": name_of((perturb, level)),
        "model": contest.choice,
        "described": f"{contest.choice}{parts}",
        "scoring": contest.metric,
        "expected": contest.expected,
        "tuned_score": perturbed,
        "clean_score": clean,
        "seconds": round(time.perf_counter() - start, 3),
    }
    if output is not None:
        save_trained(found.model, output, rows, summary)
    if json:
        where = {} if output is None else {"file": str(output)}
        show_json({**summary, **_as_data(contest), **where})
        return
    _show(found, output)


def _as_data(contest: Any) -> dict[str, Any]:
    """The scores of all contenders and the verdict, for JSON."""
    return {
        "contenders": contest.to_dict(),
        "failed": dict(contest.failed),
        "left_out": dict(contest.left_out),
        "dropped": contest.dropped,
        "folds": contest.folds,
        "verdict": contest.verdict,
    }


def _show(found: Any, output: Path | None) -> None:
    """Print the scores, the best contender first, and the verdict."""
    from noiseproof.cli.output import note, say, show_table

    contest = found.contest
    say(f"{contest.metric} under {contest.expected}, {contest.folds}:")
    show_table(contest.printed)
    say(contest.verdict)
    if output is not None:
        say(f"Saved as {output}")
        if found.keeps_rows:
            note(
                "Note: the file contains rows of the training data. They are used to "
                "impute missing values or to calibrate intervals. "
                "AverageOverMissing(..., 'joint-gaussian', n_calibration=0) keeps none."
            )
