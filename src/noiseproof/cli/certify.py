"""`noiseproof certify`: how many features must change before a prediction does."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import numpy as np
import typer

from noiseproof.cli.options import (
    AnyModel,
    AttackOption,
    Data,
    GroupsOption,
    Json,
    Levels,
    Target,
    ToleranceOption,
    parse_attack,
    parse_levels,
    parse_tolerance,
    read_groups,
)

_COUNTS = (0, 1, 2, 3, 5, 10, 20, 50, 100, 200, 500, 1000)
_SHARES = (0.1, 0.25, 0.5, 0.75, 0.9)


def certify(
    model: AnyModel,
    data: Data,
    target: Target = None,
    budget: Annotated[
        float | None,
        typer.Option(
            min=0,
            help="Also print an upper bound on the risk of new rows at this budget.",
        ),
    ] = None,
    attack: AttackOption = None,
    levels: Levels = None,
    groups: GroupsOption = None,
    tolerance: ToleranceOption = None,
    output: Annotated[
        Path | None,
        typer.Option(
            "--output", "-o", help="CSV file for the certificates, one line per row."
        ),
    ] = None,
    json: Json = False,
) -> None:
    """Prove how many features must change before each prediction can.

    For a linear model the result is exact: the smallest number of features whose
    deletion changes the prediction. With --groups it is the smallest number of
    groups, each of which is deleted as a whole. For a partition ensemble there are
    two lower bounds: on the number of features that must be set to other values, and
    on the number that must go missing.

    The certified accuracy at a budget is the share of rows that are predicted
    correctly, and still are after any change within the budget. In regression a
    prediction is correct if it is within the --tolerance.

    \b
    Examples:
      noiseproof certify model.npf test.csv --target y
      noiseproof certify model.npf test.csv -t y --budget 3 -o rows.csv
      noiseproof certify model.npf test.csv -t y --attack norm-ball
      noiseproof certify model.npf test.csv -t y --groups sensors.json
      noiseproof certify load.npf test.csv -t load --tolerance 15%
    """
    from noiseproof import evaluation
    from noiseproof.cli.files import open_model, read_for
    from noiseproof.cli.output import check_output, note, write_csv

    check_output(output, model, data, groups)
    sensors = read_groups(groups)
    kind = None if attack is None else parse_attack(attack)
    saved = open_model(model)
    table = read_for([saved], data, target)
    certificates = evaluation.certify(
        *(saved.model, table.X, table.y),
        groups=sensors,
        attack=kind,
        tolerance=parse_tolerance(tolerance, table.y),
        space="input" if saved.encoder is None else "model",
    )
    if output is not None:
        write_csv(certificates.to_dict(), output)
        note(f"Certificates of {len(table.X):,} rows written to {output}")
    at = parse_levels(levels) if levels else _budgets(certificates)
    what = "deletion" if kind is None else "change"
    _show(certificates, at, budget, what, json)


def _budgets(certificates: Any) -> list[float]:
    """Budgets at which to show the certified accuracy, until nothing is left of it."""
    budget, later = certificates.budget, certificates.deletion_budget
    budget = budget if later is None else later
    finite = budget[np.isfinite(budget)]
    if certificates.unit not in ("features", "groups"):
        return [0.0, *np.unique(np.quantile(finite, _SHARES))] if len(finite) else [0.0]
    last = finite.max(initial=0)
    return [count for count in _COUNTS if count <= last] or [0]


def _show(
    certificates: Any, levels: list[float], budget: float | None, what: str, json: bool
) -> None:
    """Print the certified accuracy by budget, and a summary in a sentence."""
    from noiseproof.cli.output import say, show_json, show_table

    accuracy = {"certified_accuracy": certificates.accuracy_at(levels)}
    median = {"median_budget": float(np.median(certificates.budget))}
    if certificates.deletion_budget is not None:
        missing = certificates.accuracy_at(levels, missing=True)
        accuracy["certified_accuracy_missing"] = missing
        median["median_deletion_budget"] = np.median(certificates.deletion_budget)
    risk = None if budget is None else certificates.risk_bound(budget)
    if json:
        show_json(
            {
                "unit": certificates.unit,
                "budgets": levels,
                **(accuracy | median),
                **({} if risk is None else {"budget": budget, "risk_bound": risk}),
                "rows": certificates.to_dict(),
            }
        )
        return
    n, voted = len(certificates.budget), certificates.deletion_budget is not None
    happens = "change" if voted else what
    within = certificates.tolerance is not None
    share = "Share within the tolerance" if within else "Accuracy"
    say(f"{share} on {n:,} rows, proven for any {happens} within the budget:")
    titles = "certified share" if within else "certified accuracy", "if they go missing"
    shares = [[f"{share:.3f}" for share in column] for column in accuracy.values()]
    show_table(
        {
            f"budget ({certificates.unit})": [f"{level:.4g}" for level in levels],
            **dict(zip(titles, shares, strict=False)),
        }
    )
    say(_takes(certificates, *median.values()))
    if risk is not None:
        say(
            "With 95 % confidence, the probability that the prediction for a new row "
            f"is wrong, or can be made wrong within a budget of {budget:g}, is at most "
            f"{risk:.3f}."
        )


def _takes(certificates: Any, median: float, missing: float | None = None) -> str:
    """A sentence about the budget that changes a prediction."""
    if certificates.tolerance is None:
        change, changes = "change a prediction", "changes the prediction of most rows"
    else:
        change = "move a prediction out of the tolerance"
        changes = "moves most predictions out of the tolerance"
    if missing is not None:
        return (
            f"It takes at least {median:g} {certificates.unit} (median) to {change} "
            f"if they are set to other values, and {missing:g} if they go missing."
        )
    takes = (
        f"It takes a budget of {median:.4g} (median) to {change}"
        if np.isfinite(median)
        else f"No budget {changes}"
    )
    exact, n = int(certificates.exact.sum()), len(certificates.budget)
    if exact == n:
        return f"{takes}; all budgets are exact."
    return f"{takes}; {exact:,} budgets are exact, {n - exact:,} are lower bounds."
