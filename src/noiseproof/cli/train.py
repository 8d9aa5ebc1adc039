"""`noiseproof train`: a table becomes a model in a file."""

from __future__ import annotations

import time
import warnings
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Annotated, Any

import numpy as np
import typer

from noiseproof.cli.cluster import (
    ClusterOption,
    Files,
    check_fits_blocks,
    only_file,
    spread,
)
from noiseproof.cli.options import (
    Categorical,
    Coerce,
    Drop,
    GroupsOption,
    Json,
    NFeatures,
    Seed,
    Target,
    Task,
    has_level,
    parse_attack,
    parse_happening,
    parse_noise,
    read_groups,
)
from noiseproof.cli.tune import choices, judged
from noiseproof.cli.tune import tune as tuned

_EXPECTED = ("missing", 0.3)  # what a model is judged for if nothing is said
_OPTIONS = {"C": "--C"} | {
    name: f"--{name}" for name in ("noise", "budget", "attack", "groups")
}


def train(
    files: Files,
    output: Annotated[Path, typer.Option("--output", "-o", help="File for the model.")],
    target: Target = None,
    model: Annotated[
        str | None,
        typer.Option(
            help="Estimator: dropout-svc, dropout-logistic, robust-lp, ...; for "
            "quantities dropout-ridge or dropout-poisson; auto: the best of several "
            "for what --tune says. The default is auto with --tune, and "
            "dropout-logistic without."
        ),
    ] = None,
    noise: Annotated[
        str | None,
        typer.Option(
            help="What to expect of each feature: a dropout rate such as 0.3, auto (a "
            "rate from the numbers of rows and features; the default), none, rates by "
            "column such as iron=0.5,age=0.1 or a JSON file, or a law such as "
            "gaussian:0.1."
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
    drop: Drop = None,
    coerce: Coerce = None,
    categorical: Categorical = None,
    task: Task = None,
    n_features: NFeatures = None,
    folds: Annotated[
        int,
        typer.Option(
            min=0,
            help="Folds of the cross-validation that compares the model with a plain "
            "one and with the most frequent class; 0 skips it.",
        ),
    ] = 5,
    cluster: ClusterOption = None,
    seed: Seed = 0,
    json: Json = False,
) -> None:
    """Train a robust model on a table and save it.

    Numbers are standardised and text is one-hot encoded. Both steps are saved
    with the model, which takes raw tables. Empty cells are missing features.

    \b
    Examples:
      noiseproof train data.csv --target y -o model.npf
      noiseproof train data.csv -t y -o model.npf --noise 0.3 --C 10
      noiseproof train data.csv -t y -o model.npf --tune missing:0.5
      noiseproof train data.csv -t y -o model.npf --tune missing:0.5 \\
        --model dropout-svc
      noiseproof train data.csv -t y -o model.npf --noise 0.2 \\
        --groups sensors.json
      noiseproof train data.csv -t y -o model.npf --noise iron=0.5,age=0.05
      noiseproof train data.csv -t price -o model.npf --task regression
      noiseproof train text.svm -o model.npf --model robust-lp --budget 20
      noiseproof train part*.parquet -t y -o model.npf --cluster local
    """
    from noiseproof.cli.output import check_output

    data = only_file(files, cluster)
    check_output(output, *files, groups)
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
    columns = Columns(drop or [], coerce or [], categorical or [], task, scale)
    how = (happening or _EXPECTED, folds or 5, seed, json, sensors)
    tuning = None if happening is None else fixed
    if cluster is not None:
        read = partial(columns.read, target=target, n_features=n_features, quiet=True)
        table = cluster, files, read
        _on_cluster(table, columns, model, given, tuning, how, output)
        return
    automatic = model is None and tune is not None and not any(_given(given))
    if model == "auto" or automatic:  # else what is given is given to a model of ours
        _check_auto(given, happening)
        table = columns.read(data, target, n_features, quiet=json)
        recommended(table, columns, happening, sensors, output, folds or 5, seed, json)
        return
    if model is not None:
        _make_estimator(model, seed, **given)  # refuses what it must before the work
    table = columns.read(data, target, n_features, quiet=json)
    quantity = columns.is_quantity(table.y)
    model = model or ("dropout-ridge" if quantity else "dropout-logistic")
    estimator = _make_estimator(model, seed, **given)
    _check_target(estimator, quantity, table, task)
    pipeline = _pipeline(model, estimator, columns.encoder(), table, sensors)
    fitted, summary = _fit(pipeline, model, table, tuning, how, bool(folds), quantity)
    _keep(fitted, summary, _notes_of(table), output, json)


def _fit(
    pipeline: Any,
    model: str,
    table: Any,
    fixed: set[str] | None,
    how: tuple[Any, ...],
    judge: bool,
    quantity: bool,
) -> tuple[Any, dict[str, Any]]:
    """The fitted pipeline and its summary; tuned, less what is fixed, unless None."""
    start = time.perf_counter()
    found = {} if fixed is None else _tune(pipeline, table, fixed, *how)
    fitted = pipeline.fit(table.X, table.y)
    summary = _summary(table, fitted, model) | found
    if judge:
        summary["judged"] = _judged(pipeline, table, quantity, *how)
    summary["seconds"] = round(time.perf_counter() - start, 3)
    return fitted, summary


def _on_cluster(
    table: tuple[Any, ...],
    columns: Columns,
    model: str | None,
    given: dict[str, Any],
    fixed: set[str] | None,
    how: tuple[Any, ...],
    output: Path,
) -> None:
    """Train on files that the workers of a cluster read; tune on a sample of rows."""
    from joblib import parallel_config

    _, _, seed, json, sensors = how
    if model == "auto":
        raise typer.BadParameter(
            "--cluster cannot train --model auto, most of whose models need all rows "
            "in one memory: name one, such as --model dropout-logistic."
        )
    check_fits_blocks(_make_estimator(model or "dropout-logistic", seed, **given))
    start = time.perf_counter()
    with spread(*table) as parts:
        sample = parts.sample
        quantity = columns.is_quantity(sample.y)
        model = model or ("dropout-ridge" if quantity else "dropout-logistic")
        estimator = _make_estimator(model, seed, **given)
        _check_target(estimator, quantity, sample, columns.task)
        if hasattr(estimator, "calibrated"):  # needs the scores of all rows at once
            estimator.set_params(calibrated=False)
        pipeline = _pipeline(model, estimator, columns.encoder(), sample, sensors)
        found = {}
        if fixed is not None:
            with parallel_config(backend="dask"):
                found = _tune(pipeline, sample, fixed, *how)
        found |= {"rows": parts.rows, "training_score": parts.fit(pipeline)}
    summary = _summary(sample, pipeline, model) | found
    summary["seconds"] = round(time.perf_counter() - start, 3)
    _keep(pipeline, summary, _notes_of(sample), output, json)


def _keep(
    fitted: Any,
    summary: dict[str, Any],
    notes: dict[str, Any],
    output: Path,
    json: bool,
) -> None:
    from noiseproof.io import save

    save(fitted, output, notes=notes | {"training": summary})
    _show(summary, output, json)


def _tune(pipeline: Any, table: Any, fixed: set[str], *how: Any) -> dict[str, Any]:
    """Give the last step the constants that are best for what will happen."""
    grid = choices(pipeline, table.X, fixed)
    best, contest = tuned(pipeline, grid, table.X, table.y, *how)
    pipeline[-1].set_params(**best)
    place = contest.contenders.index(contest.best)
    score = float(contest.damaged[place].mean())
    return {"tuned_for": _words(how[0]), "tuned_score": score}


def _notes_of(table: Any) -> dict[str, Any]:
    """What later commands need to know about the training table."""
    return {"target": table.target, "first_index": table.first_index}


def _words(happening: Any) -> str:
    perturb, level = happening
    what = perturb if isinstance(perturb, str) else type(perturb).__name__
    return f"{what}:{level:g}"


@dataclass(frozen=True)
class Columns:
    """What is said about the columns of a table, and the encoder that follows."""

    drop: list[str]
    coerce: list[str]
    categorical: list[str]
    task: str | None
    scale: str = "auto"

    def read(
        self, data: Path, target: str | None, n_features: int | None, *, quiet: bool
    ) -> Any:
        """The table without dropped columns; what is worth a note is printed."""
        from noiseproof.cli.files import read_data, require_target
        from noiseproof.cli.output import show_notes
        from noiseproof.tables import TableError, column_notes, target_note

        if self.task not in (None, "classification", "regression"):
            raise typer.BadParameter(
                f"--task {self.task}: use classification or regression."
            )
        table = read_data(data, target, n_features=n_features)
        require_target(table, data)
        for option in ("drop", "coerce", "categorical"):
            unknown = [n for n in getattr(self, option) if n not in table.names]
            if unknown:
                raise TableError(
                    f"{data} has no column {unknown[0]!r}, as in --{option}."
                )
        # the notes say so
        warnings.filterwarnings("ignore", ".* different texts in .* leave it out")
        if self.drop:
            table = replace(table, X=table.X.drop(columns=self.drop))
        if not quiet:
            answered = [*self.coerce, *self.categorical]
            notes = column_notes(
                table.X.drop(columns=answered) if answered else table.X
            )
            about = target_note(table.y, str(table.target), self.is_quantity(table.y))
            show_notes(notes + [about] * (about is not None and self.task is None))
        return table

    def is_quantity(self, y: Any) -> bool:
        """Whether the task is a regression: as said, or by the target."""
        from noiseproof._recommend import is_quantity

        return is_quantity(y) if self.task is None else self.task == "regression"

    def encoder(self) -> Any:
        """The encoder of such a table."""
        from noiseproof.tables import TableEncoder

        return TableEncoder(
            self.scale, coerce=self.coerce, categorical=self.categorical
        )


def _given(options: dict[str, Any]) -> list[str]:
    return [_OPTIONS[name] for name, value in options.items() if value is not None]


def _check_auto(given: dict[str, Any], happening: Any) -> None:
    """Refuse, in one sentence, what a portfolio of models has no place for."""
    extra = _given(given)
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
    table: Any,
    columns: Columns,
    happening: Any,
    sensors: Any,
    output: Path | None,
    folds: int,
    seed: int,
    json: bool,
) -> None:
    """Judge a portfolio of models for what will happen; show it, and save the best.

    With sensors whole groups of columns are missing or deleted.
    """
    from noiseproof import recommend
    from noiseproof.cli.output import show_json
    from noiseproof.io import save

    perturb, level = happening
    if sensors is not None and perturb in ("missing", "delete"):
        perturb = f"{perturb}_groups"
    start = time.perf_counter()
    found = recommend(
        *(table.X, table.y, perturb, level),
        groups=sensors,
        task="regression" if columns.is_quantity(table.y) else "classification",
        encoder=columns.encoder(),
        cv=folds,
        random_state=seed,
        progress=False if json else None,
    )
    judged, model = found.contest, found.model
    summary = {
        "parameters": repr(model),
        "rows": table.X.shape[0],
        "columns": table.X.shape[1],
        "target": table.target,
        "tuned_for": _words((perturb, level)),
        **_outcome(judged),
        "seconds": round(time.perf_counter() - start, 3),
    }
    if output is not None:
        save(model, output, notes=_notes_of(table) | {"training": summary})
    if json:
        contenders = {"contenders": judged.to_dict(), "failed": dict(judged.failed)}
        where = {} if output is None else {"file": str(output)}
        show_json({**summary, **contenders, "verdict": judged.verdict, **where})
        return
    _show_contest(judged, table.X.shape[0], model, output)


def _outcome(judged: Any) -> dict[str, Any]:
    """What a contest tells about the model that it recommends."""
    from noiseproof.evaluation import BLEND

    place = judged.contenders.index(judged.choice)
    parts = f" of {judged._shares()}" if judged.choice == BLEND else ""
    return {
        "model": judged.choice,
        "described": f"{judged.choice}{parts}",
        "scoring": judged.metric,
        "expected": judged.expected,
        "tuned_score": float(judged.damaged[place].mean()),
        "clean_score": float(judged.clean[place].mean()),
    }


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
                "Note: the file contains rows of the training data, which fill missing "
                "cells; AverageOverMissing(..., 'joint-gaussian') would keep none."
            )


def _holds_rows(part: Any) -> bool:
    """Whether rows of the training are part of a model, or of a part of it."""
    from noiseproof._private import IMPUTER_ROWS

    if isinstance(part, list | tuple):
        return any(map(_holds_rows, part))
    if not hasattr(part, "__dict__"):
        return False
    own = vars(part)
    # of Donors and ReducedModels, imputers and kernel machines
    if own.keys() & {"rows_", IMPUTER_ROWS, "support_vectors_"}:
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
    if known.get("noise") == 0.5 and name != "dropout-sgd":
        given.setdefault("noise", "auto")
    if "calibrated" in known:
        given["calibrated"] = True
    return estimator.set_params(**given)


def _check_groups(name: str, estimator: Any) -> None:
    """Refuse groups, before any work, if no part of the estimator takes them."""
    from sklearn.base import clone

    from noiseproof.cli.files import give_groups
    from noiseproof.groups import Groups

    if not give_groups(clone(estimator), Groups.packed({"any": [0]})):
        raise typer.BadParameter(
            f"--model {name} cannot train for --groups: use dropout noise, such as "
            "--noise 0.2, robust-lp with --budget, or --attack deletion:1."
        )


def _check_target(estimator: Any, quantity: bool, table: Any, task: Any) -> None:
    """Refuse quantities for classifiers and text for regressors, in one sentence."""
    from sklearn.base import is_regressor

    y, name = table.y, table.target
    if is_regressor(estimator) and y.dtype.kind not in "fiu":
        raise ValueError(
            f"The target {name!r} holds classes, such as {y[0]!s}, not numbers: "
            "use a classifier, such as --model dropout-logistic."
        )
    if quantity and not is_regressor(estimator):
        raise ValueError(
            f"The target {name!r} has {len(np.unique(y))} different numbers in "
            f"{len(y)} rows, so it is a quantity rather than a class: use --model "
            "dropout-ridge, dropout-poisson for counts, or --task classification."
        )
    if task == "classification" and is_regressor(estimator):
        raise ValueError(
            "--task classification needs a classifier, such as --model "
            "dropout-logistic."
        )


def _pipeline(name: str, estimator: Any, encoder: Any, table: Any, sensors: Any) -> Any:
    """The estimator behind an encoder, and behind zeros for NaN if it needs them.

    Sensors, and columns with rates of their own, are found again among the features.
    """
    from sklearn.impute import SimpleImputer
    from sklearn.pipeline import Pipeline
    from sklearn.utils import get_tags

    from noiseproof.cli.files import give_groups, groups_behind
    from noiseproof.noise import Dropout

    if sensors is not None:
        _check_groups(name, estimator)
    steps: list[tuple[str, Any]] = [("table", encoder)]
    if not get_tags(estimator).input_tags.allow_nan:
        zeros = SimpleImputer(strategy="constant", fill_value=0.0)
        steps.append(("missing", zeros))
    pipeline = Pipeline([*steps, ("model", estimator)])
    rates = getattr(estimator, "noise", None)
    votes = hasattr(estimator, "certify_votes")  # a column of text has one vote only
    if sensors is None and not votes and not isinstance(rates, dict):
        return pipeline
    d = pipeline[:-1].fit_transform(table.X).shape[1]
    if isinstance(rates, dict):
        columns = groups_behind(pipeline, table.X, d, None)
        unknown = [name for name in rates if name not in table.names]
        if unknown:
            raise ValueError(f"--noise: there is no column {unknown[0]!r}.")
        each = np.zeros(d)  # columns that are not named do not fail
        for g, column in enumerate(columns.names):
            each[columns[g]] = rates.get(str(column), 0.0)
        estimator.set_params(noise=Dropout(each))
    if sensors is not None or votes:
        groups = groups_behind(pipeline, table.X, d, sensors)
        if sensors is not None or len(groups) < d:
            give_groups(estimator, groups)
    return pipeline


def _judged(pipeline: Any, table: Any, quantity: bool, *how: Any) -> dict[str, Any]:
    """Cross-validated scores of the model, of a plain one and of none."""
    from sklearn.base import clone
    from sklearn.dummy import DummyClassifier, DummyRegressor
    from sklearn.pipeline import Pipeline

    from noiseproof.estimators import DropoutLogisticRegression, DropoutRidge

    plain = DropoutRidge(None) if quantity else DropoutLogisticRegression(None)
    name = "plain ridge regression" if quantity else "plain logistic regression"
    contenders = {
        "this model": clone(pipeline),
        name: Pipeline([("table", clone(pipeline[0])), ("model", plain)]),
        "mean of the target" if quantity else "most frequent class": (
            DummyRegressor() if quantity else DummyClassifier()
        ),
    }
    try:
        found = judged(contenders, table.X, table.y, *how)
    except ValueError as error:
        return {"failed": str(error)}
    return {
        "expected": found.expected,
        "folds": found.damaged.shape[1],
        "clean": dict(zip(found.contenders, found.clean.mean(axis=1), strict=True)),
        "damaged": dict(zip(found.contenders, found.damaged.mean(axis=1), strict=True)),
    }


def _described(estimator: Any) -> str:
    """What was trained, with the constants that matter, defaults included."""
    parts = [type(estimator).__name__]
    noise = getattr(estimator, "noise_", None)
    if noise is not None:
        level = np.asarray(noise.level)
        low, high = float(level.min()), float(level.max())
        how = f"{low:g}" if low == high else f"{low:g} to {high:g}"
        auto = " (automatic)" if getattr(estimator, "noise", None) == "auto" else ""
        groups = "of groups " if getattr(noise, "groups", None) is not None else ""
        law = type(noise).__name__.lower()
        parts.append(f"{law} {noise.level_name} {groups}{how}{auto}")
    parts += [
        f"{name} {getattr(estimator, name):g}"
        for name in ("C", "budget", "alpha")
        if isinstance(getattr(estimator, name, None), int | float)
    ]
    return ", ".join(parts)


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
        "described": _described(fitted[-1]),
    }


def _show(summary: dict[str, Any], output: Path, json: bool) -> None:
    from noiseproof.cli.output import say, show_json, show_table

    if json:
        show_json({**summary, "file": str(output)})
        return
    say(
        f"Trained on {summary['rows']:,} rows, {summary['columns']:,} columns "
        f"({summary['features']:,} features) in {summary['seconds']:.1f} s:"
    )
    say(f"  {summary['described']}")
    scoring = "R²" if summary["scoring"] == "r2" else "Accuracy"
    found = summary.get("judged", {})
    if "failed" in found:
        say(f"Not cross-validated: {found['failed']}")
    elif found:
        folds, expected = found["folds"], found["expected"]
        say(f"{scoring} in {folds}-fold cross-validation, on clean rows and damaged,")
        say(f"with {expected}:")
        show_table(
            {
                "": list(found["clean"]),
                "clean": [f"{score:.3f}" for score in found["clean"].values()],
                "damaged": [f"{score:.3f}" for score in found["damaged"].values()],
            }
        )
    say(f"Saved as {output}")
