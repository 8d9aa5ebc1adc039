"""`noiseproof evaluate`: scores while features are missing, noisy or attacked."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from noiseproof.cli.options import (
    AttackOption,
    Data,
    GroupsOption,
    Json,
    Levels,
    Models,
    Repeats,
    Seed,
    Target,
    parse_attack,
    parse_levels,
    parse_perturbation,
    read_groups,
)

_SHOWN = 8  # of the most fragile columns
_MOST_GROUPS = 20  # so many have 190 pairs, and some models predict once for each
_PREDICTIONS, _LEAST = 10_000, 100  # of averaged models, and rows at least


def evaluate(
    models: Models,
    data: Data,
    target: Target = None,
    noise: Annotated[
        str,
        typer.Option(
            help="What happens to the features. missing: each value is missing (NaN) "
            "with a probability, the level. delete: the same, but it reads as zero, "
            "and the model is not told. delete-count: the level is the number of "
            "values of a row that read as zero. missing-groups, delete-groups: whole "
            "--groups are missing, or read as zero. mar, mnar: values are missing more "
            "often where another value, or the value itself, is large. columns: a "
            "share of the columns is missing, the most relevant first; "
            "columns:iron,age names them. outages: columns are missing for many "
            "consecutive rows. like:today.csv: values are missing as in that table. "
            "missing:iron=0.5,age=0.1: a rate for each column. dropout, gaussian, "
            "laplace, poisson: noise of that kind. With a level after a colon, such as "
            "missing:0.3, only that level is shown beside 0."
        ),
    ] = "missing",
    attack: AttackOption = None,
    levels: Levels = None,
    repeats: Repeats = 10,
    groups: GroupsOption = None,
    seed: Seed = 0,
    json: Json = False,
) -> None:
    """Score models on a table whose features are missing, noisy or attacked.

    Prints the accuracy (R² in regression) at each level, and how the score changes
    when a column is lost; with --groups, when a group or a pair of groups is lost.
    Values are removed from the table itself. A model that refuses missing values
    gets the column means in their place. Noise and attacks act after scaling.

    \b
    Examples:
      noiseproof evaluate model.npf test.csv --target y
      noiseproof evaluate plain.npf robust.npf test.csv -t y --levels 0,0.2,0.5
      noiseproof evaluate model.npf test.csv -t y --noise delete --levels 0,0.5
      noiseproof evaluate model.npf test.csv -t y --noise like:today.csv
      noiseproof evaluate model.npf test.csv -t y --attack deletion --levels 0,1,2
      noiseproof evaluate model.npf test.csv -t y --groups sensors.json --json
      noiseproof evaluate model.npf test.csv -t y --groups sensors.json \\
        --noise missing-groups --levels 0,0.3
    """
    from noiseproof.cli.files import open_models, read_for
    from noiseproof.evaluation import as_perturbation, robustness_curve, scoring_of

    perturb, level = parse_perturbation(noise)
    if attack:
        perturb, level = parse_attack(attack), None
    sensors = read_groups(groups)
    saved = open_models(models)
    table = read_for(list(saved.values()), data, target)
    first = next(iter(saved.values()))
    d = first.n_features(table.X)
    happening = as_perturbation(perturb)
    curve = robustness_curve(
        {name: one.judged_on(table.X) for name, one in saved.items()},
        *(table.X, table.y, perturb),
        parse_levels(levels) if levels else _default_levels(perturb, level, d),
        groups=sensors if happening.takes_groups else None,
        scoring=scoring_of(first.model, table.y),
        n_repeats=repeats,
        random_state=seed,
        space="input" if happening.in_table else "model",
    )
    kinds = {"cost": "column" if sensors is None else "group"}
    if sensors is not None and 2 <= len(sensors) <= _MOST_GROUPS:
        kinds["pair_cost"] = "pair of groups"
    zero = isinstance(perturb, str) and perturb.startswith("delete")
    lost = {"groups": sensors, "deleted_as": "zero" if zero else "nan"}
    fragile = {
        kind: {
            name: _fragility(one, table, pairs=key == "pair_cost", **lost)
            for name, one in saved.items()
        }
        for key, kind in kinds.items()
    }
    if json:
        by_key = {key: fragile[kind] for key, kind in kinds.items()}
        _show_json(curve, by_key, table, data)
    else:
        _show_text(curve, fragile, table)


def _default_levels(perturb: Any, level: float | None, d: int) -> list[float]:
    """Levels for a curve: 0 and the given one, or those of the perturbation.

    Perturbations given by name use the levels of a similar class.
    """
    from noiseproof.attacks import FeatureDeletion
    from noiseproof.noise import Dropout

    if level and getattr(perturb, "own_level", None) is None:
        return [0.0, level]
    part = FeatureDeletion() if perturb == "delete_count" else perturb
    part = part if hasattr(part, "default_levels") else Dropout()
    return list(part.default_levels(d))


def _fragility(saved: Any, table: Any, **options: Any) -> Any:
    """Measure what losing each column, each group or each pair of groups costs.

    A model that averages over missing values predicts many rows for each one, so it is
    evaluated on fewer rows.
    """
    from sklearn.utils import resample

    from noiseproof.evaluation import feature_fragility, scoring_of

    X, y, rows = table.X, table.y, max(_LEAST, _PREDICTIONS // table.X.shape[1])
    if saved.takes_raw_rows and len(y) > rows:
        X, y = resample(X, y, replace=False, n_samples=rows, random_state=0)
    return feature_fragility(
        *(saved.judged_on(X), X, y),
        scoring=scoring_of(saved.model, table.y),
        **options,
    )


def _show_json(
    curve: Any, fragile: dict[str, dict[str, Any]], table: Any, data: Path
) -> None:
    """Print scores and costs of all models as JSON."""
    from noiseproof.cli.output import show_json

    parts = zip(curve.models, curve.mean, *curve.interval, strict=True)
    by_model = {
        name: {"mean": mean, "low": low, "high": high}
        | {
            key: dict(zip(found[name].names, found[name].cost, strict=True))
            for key, found in fragile.items()
        }
        for name, mean, low, high in parts
    }
    show_json(
        {
            "data": str(data),
            "rows": table.X.shape[0],
            "scoring": curve.scoring,
            "level": curve.label,
            "repeats": curve.n_repeats,
            "levels": curve.levels,
            "models": by_model,
        }
    )


def _show_text(curve: Any, fragile: dict[str, dict[str, Any]], table: Any) -> None:
    """Print a table of scores by level, and a table of the highest costs."""
    from noiseproof.cli.output import say, show_table

    columns = {"level": [f"{level:g}" for level in curve.levels]}
    for name, means in zip(curve.models, curve.mean, strict=True):
        columns[name] = [f"{mean:.3f}" for mean in means]
    repeats = f", mean of {curve.n_repeats} draws" if curve.n_repeats > 1 else ""
    scoring = {"r2": "R²"}.get(curve.scoring, curve.scoring)
    say(f"{scoring.capitalize()} on {table.X.shape[0]:,} rows{repeats},")
    say(f"by {curve.label}:")
    show_table(columns)
    if curve.note:
        say(curve.note)
    for kind, found in fragile.items():
        fates = {part.lost_as for part in found.values()}
        fate = fates.pop() if len(fates) == 1 else "missing"
        say(f"Change of {scoring} with a {kind} {fate}, worst first:")
        show_table(_changes(found, kind))
        left_out = len(next(iter(found.values())).names) - _SHOWN
        if left_out > 0:
            many = kind.replace("pair", "pairs") if " " in kind else f"{kind}s"
            say(f"{left_out} more {many} cost less; --json has them all.")


def _changes(fragile: dict[str, Any], kind: str) -> dict[str, list[str]]:
    """Change of each model's score, for the columns or groups that cost most."""
    from noiseproof.evaluation import costliest

    costs = {
        model: dict(zip(part.names, part.cost, strict=True))
        for model, part in fragile.items()
    }
    shown = costliest(costs.values())[:_SHOWN]
    columns = {kind: shown}
    for model, cost in costs.items():
        columns[model] = [f"{-cost.get(name, 0.0) or 0.0:+.3f}" for name in shown]
    return columns
