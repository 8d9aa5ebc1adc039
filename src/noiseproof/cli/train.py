"""`noiseproof train`: a table becomes a model in a file."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Annotated, Any

import numpy as np
import typer

from noiseproof.cli.options import (
    Data,
    GroupsOption,
    Json,
    Seed,
    Target,
    has_level,
    parse_attack,
    parse_happening,
    parse_noise,
    read_groups,
)

_FEW = 20  # so many different numbers may be classes
# attributes of fitted parts: of Donors and ReducedModels, imputers and kernel machines
_KEPT_ROWS = ("rows_", "_fit_X", "support_vectors_")
_OPTIONS = {"C": "--C"} | {
    name: f"--{name}" for name in ("noise", "budget", "attack", "groups")
}


def train(
    data: Data,
    output: Annotated[Path, typer.Option("--output", "-o", help="File for the model.")],
    target: Target = None,
    model: Annotated[
        str | None,
        typer.Option(
            help="Estimator: dropout-svc, dropout-logistic, robust-lp, ...; for "
            "quantities dropout-ridge or dropout-poisson; auto: the best of several "
            "for what --tune says. Default: auto with --tune, else dropout-logistic."
        ),
    ] = None,
    noise: Annotated[
        str | None,
        typer.Option(
            help="What to expect of each feature: a dropout rate such as 0.3, none, or "
            "a law such as gaussian:0.1."
        ),
    ] = None,
    c: Annotated[
        float | None,
        typer.Option("--C", help="Weight of the data against the regulariser."),
    ] = None,
    groups: GroupsOption = None,
    budget: Annotated[
        float | None,
        typer.Option(help="Features that an adversary may delete from each row."),
    ] = None,
    attack: Annotated[
        str | None, typer.Option(help="Worst case to train for, such as deletion:5.")
    ] = None,
    tune: Annotated[
        str | None,
        typer.Option(
            help="Choose the model, or its noise, C and budget, by cross-validation, "
            "for what will happen: missing:0.5 (cells are empty, and the model knows), "
            "delete:0.5 (they read as zero), gaussian:0.2, deletion:3, ..."
        ),
    ] = None,
    scale: Annotated[
        str,
        typer.Option(
            help="How to scale numbers: standard, maxabs (for counts, where 0 means "
            "absent), none, or auto: standard, but maxabs for sparse files."
        ),
    ] = "auto",
    drop: Annotated[
        list[str] | None, typer.Option(help="Column to leave out; may be repeated.")
    ] = None,
    n_features: Annotated[
        int | None,
        typer.Option(
            min=1, help="Features of an svmlight file, if more than it mentions."
        ),
    ] = None,
    seed: Seed = 0,
    json: Json = False,
) -> None:
    """Train a robust model on a table and save it.

    Numbers are standardised, text is one-hot encoded, and both are saved with the
    model, which so takes raw tables again. Empty cells are missing features.

    \b
    Examples:
      noiseproof train data.csv --target y -o model.npf
      noiseproof train data.csv -t y -o model.npf --noise 0.3 --C 10
      noiseproof train data.csv -t y -o model.npf --tune missing:0.5
      noiseproof train data.csv -t y -o model.npf --tune delete:0.5 --model dropout-svc
      noiseproof train data.csv -t y -o model.npf --groups sensors.json --noise 0.2
      noiseproof train data.csv -t price -o model.npf --model dropout-ridge
      noiseproof train text.svm -o model.npf --model robust-lp --budget 20
    """
    from noiseproof.cli.output import check_output
    from noiseproof.io import save

    check_output(output, data, groups)
    sensors = None if groups is None else read_groups(groups)
    given = {
        "noise": None if noise is None else parse_noise(noise),
        "C": c,
        "budget": budget,
        "attack": None if attack is None else parse_attack(attack),
    }
    happening = None if tune is None else parse_happening(tune)
    fixed = {name for name, value in given.items() if value is not None}
    if noise is not None and not has_level(noise):
        fixed.remove("noise")  # the law is given, its level is not
    if model is None:  # what is given is given to a model of ours
        model = "dropout-logistic" if tune is None or any(_given(given)) else "auto"
    if model == "auto":
        _check_auto(given | {"groups": groups}, happening, scale)
        recommended(data, target, drop, n_features, happening, output, seed, json)
        return
    estimator = _make_estimator(model, seed, **given)
    if sensors is not None:
        _check_groups(model, estimator)
    table = _read(data, target, drop or [], n_features)
    _check_target(estimator, table.y, table.target)
    start = time.perf_counter()
    fitted, found = _fit(table, estimator, scale, happening, fixed, seed, sensors)
    summary = _summary(table, fitted, model)
    summary |= found | {"seconds": round(time.perf_counter() - start, 3)}
    notes = {"target": table.target, "first_index": table.first_index}
    save(fitted, output, notes=notes | {"training": summary})
    _show(summary, output, json)


def _given(options: dict[str, Any]) -> list[str]:
    return [_OPTIONS[name] for name, value in options.items() if value is not None]


def _check_auto(given: dict[str, Any], happening: Any, scale: str) -> None:
    """Refuse, in one sentence, what a portfolio of models has no place for."""
    extra = [*_given(given), *(["--scale"] if scale != "auto" else [])]
    if happening is None:
        raise typer.BadParameter(
            "--model auto needs --tune, which says what will happen, such as "
            "--tune missing:0.3."
        )
    if extra:
        raise typer.BadParameter(
            f"--model auto has no {extra[0]}: name a model, such as --model "
            "dropout-logistic."
        )


def recommended(
    data: Path,
    target: str | None,
    drop: list[str] | None,
    n_features: int | None,
    happening: Any,
    output: Path | None,
    seed: int,
    json: bool,
) -> None:
    """Judge a portfolio of models for what will happen; show it, and save the best."""
    from sklearn.base import is_regressor

    from noiseproof import recommend
    from noiseproof.cli.output import show_json
    from noiseproof.io import save

    table = _read(data, target, drop or [], n_features)
    start = time.perf_counter()
    found = recommend(
        *(table.X, table.y, *happening),
        random_state=seed,
        progress=False if json else None,
    )
    judged, model = found.contest, found.model
    perturb, level = happening
    what = perturb if isinstance(perturb, str) else type(perturb).__name__
    place = judged.contenders.index(judged.choice)
    summary = {
        "model": judged.choice,
        "parameters": repr(model),
        "rows": table.X.shape[0],
        "columns": table.X.shape[1],
        "target": table.target,
        "scoring": "r2" if is_regressor(model) else "accuracy",
        "tuned_for": f"{what}:{level:g}",
        "tuned_score": float(judged.damaged[place].mean()),
        "clean_score": float(judged.clean[place].mean()),
        "seconds": round(time.perf_counter() - start, 3),
    }
    if output is not None:
        notes = {"target": table.target, "first_index": table.first_index}
        save(model, output, notes=notes | {"training": summary})
    if json:
        contenders = {"contenders": judged.to_dict(), "failed": dict(judged.failed)}
        where = {} if output is None else {"file": str(output)}
        show_json({**summary, **contenders, "verdict": judged.verdict, **where})
        return
    _show_contest(judged, table.X.shape[0], model, output)


def _show_contest(judged: Any, rows: int, model: Any, output: Path | None) -> None:
    from noiseproof.cli.output import note, say, show_table

    say(f"{judged._title()} of {rows:,} rows:")
    show_table(
        {
            name: [cell if isinstance(cell, str) else f"{cell:.3f}" for cell in column]
            for name, column in judged._overview().items()
        }
    )
    for name, reason in judged.failed.items():
        note(f"Note: {name} was left out: {reason}")
    say(judged.verdict)
    if output is not None:
        say(f"Saved as {output}")
        if _holds_rows(model):
            note(
                "Note: the file contains rows of the training data, from which missing "
                "cells are filled; AverageOverMissing(..., 'joint-gaussian') has none."
            )


def _holds_rows(part: Any) -> bool:
    """Whether rows of the training are part of a model, or of a part of it."""
    if isinstance(part, list | tuple):
        return any(map(_holds_rows, part))
    if not hasattr(part, "__dict__"):
        return False
    own = vars(part)
    if any(name in own for name in _KEPT_ROWS):
        return True
    inner = [v for v in own.values() if isinstance(v, list | tuple) or _is_model(v)]
    return any(map(_holds_rows, inner))


def _is_model(value: Any) -> bool:
    return not isinstance(value, type) and (
        hasattr(value, "get_params") or hasattr(value, "estimator")
    )


def _make_estimator(name: str, seed: int, **options: Any) -> Any:
    """The estimator of that short name; options that are None keep its defaults."""
    from noiseproof.estimators import ESTIMATORS

    if name not in ESTIMATORS:
        raise typer.BadParameter(
            f"--model {name} is unknown: use one of {', '.join(ESTIMATORS)}."
        )
    estimator = ESTIMATORS[name]()
    known = estimator.get_params(deep=False)
    given = {key: value for key, value in options.items() if value is not None}
    for key in given.keys() - known.keys():
        raise typer.BadParameter(f"--model {name} has no {_OPTIONS[key]}.")
    if "random_state" in known:
        given["random_state"] = seed
    return estimator.set_params(**given)


def _check_groups(name: str, estimator: Any) -> None:
    """Refuse groups, before any work, if no part of the estimator takes them."""
    from sklearn.base import clone

    from noiseproof.cli.files import give_groups
    from noiseproof.groups import Groups

    if not give_groups(clone(estimator), Groups.packed({"any": [0]})):
        raise typer.BadParameter(
            f"--model {name} cannot train for --groups: use dropout noise such as "
            "--noise 0.2, robust-lp with --budget, or --attack deletion:1."
        )


def _read(
    data: Path, target: str | None, drop: list[str], n_features: int | None
) -> Any:
    from dataclasses import replace

    from noiseproof.cli.files import require_target
    from noiseproof.tables import TableError, read_table

    table = read_table(data, target, n_features=n_features)
    require_target(table, data)
    unknown = [name for name in drop if name not in table.names]
    if unknown:
        raise TableError(f"{data} has no column {unknown[0]!r} to drop.")
    return replace(table, X=table.X.drop(columns=drop)) if drop else table


def _check_target(estimator: Any, y: Any, name: str | None) -> None:
    """Refuse quantities for classifiers and text for regressors, in one sentence."""
    from sklearn.base import is_regressor

    kind, different = y.dtype.kind, len(np.unique(y))
    if is_regressor(estimator):
        if kind not in "fiu":
            raise ValueError(
                f"The target {name!r} holds classes, such as {y[0]!s}, not numbers: "
                "use a classifier, such as --model dropout-logistic."
            )
        return
    many = different > max(_FEW, len(y) / 2 if kind in "iu" else 0)
    if kind in "fiu" and many:
        raise ValueError(
            f"The target {name!r} has {different} different numbers in {len(y)} rows, "
            "so it is a quantity rather than a class: use --model dropout-ridge, or "
            "dropout-poisson for counts."
        )


def _fit(
    table: Any,
    estimator: Any,
    scale: str,
    happening: tuple[Any, float] | None,
    fixed: set[str],
    seed: int,
    sensors: Any = None,
) -> tuple[Any, dict[str, Any]]:
    """A fitted pipeline, and what cross-validation has found.

    The estimator stands behind an encoder, and behind zeros for NaN if it needs them.
    Sensors are groups of the table's columns, with all that the encoder makes of them.
    """
    from sklearn.impute import SimpleImputer
    from sklearn.pipeline import Pipeline
    from sklearn.utils import get_tags

    from noiseproof.cli.files import give_groups, groups_behind
    from noiseproof.cli.tune import choices, tune
    from noiseproof.tables import TableEncoder

    steps: list[tuple[str, Any]] = [("table", TableEncoder(scale))]
    if not get_tags(estimator).input_tags.allow_nan:
        zeros = SimpleImputer(strategy="constant", fill_value=0.0)
        steps.append(("missing", zeros))
    pipeline = Pipeline([*steps, ("model", estimator)])
    votes = hasattr(estimator, "certify_votes")  # a column of text has one vote only
    if sensors is not None or votes:
        d = pipeline[:-1].fit_transform(table.X).shape[1]
        groups = groups_behind(pipeline, table.X, d, sensors)
        if sensors is not None or len(groups) < d:
            give_groups(estimator, groups)
    found: dict[str, Any] = {}
    if happening is not None:
        grid = choices(pipeline, table.X, fixed)
        best, score = tune(
            *(pipeline, grid, table.X, table.y, *happening), sensors=sensors, seed=seed
        )
        estimator.set_params(**best)
        perturb, level = happening
        what = perturb if isinstance(perturb, str) else type(perturb).__name__
        found = {"tuned_for": f"{what}:{level:g}", "tuned_score": score}
    return pipeline.fit(table.X, table.y), found


def _summary(table: Any, fitted: Any, name: str) -> dict[str, Any]:
    from sklearn.base import is_regressor

    return {
        "model": name,
        "parameters": repr(fitted[-1]),
        "rows": table.X.shape[0],
        "columns": table.X.shape[1],
        "features": int(fitted[-1].n_features_in_),
        "target": table.target,
        "scoring": "r2" if is_regressor(fitted) else "accuracy",
        "training_score": float(fitted.score(table.X, table.y)),
    }


def _show(summary: dict[str, Any], output: Path, json: bool) -> None:
    from noiseproof.cli.output import say, show_json

    if json:
        show_json({**summary, "file": str(output)})
        return
    say(
        f"Trained on {summary['rows']:,} rows, {summary['columns']:,} columns "
        f"({summary['features']:,} features) in {summary['seconds']:.1f} s:"
    )
    say(f"  {summary['parameters']}")
    scoring = "R²" if summary["scoring"] == "r2" else "accuracy"
    if "tuned_for" in summary:
        say(
            f"Damaged by {summary['tuned_for']}, in cross-validation: {scoring} "
            f"{summary['tuned_score']:.3f}"
        )
    say(
        f"Undamaged, on the rows of training: {scoring} {summary['training_score']:.3f}"
    )
    say(f"Saved as {output}")
