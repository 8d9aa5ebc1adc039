"""`noiseproof train`: train a model on a table and save it."""

from __future__ import annotations

import time
from functools import partial
from pathlib import Path
from typing import Annotated, Any

import typer

import noiseproof
from noiseproof.cli.cluster import spread
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
    judging,
    name_of,
    parse_attack,
    parse_happening,
    parse_noise,
)

_EXPECTED = "missing:0.3"  # what a model is judged for by default
# noise of the ridge regression inside, for wrappers that otherwise hold a classifier
_AROUND_RIDGE = {
    "average-over-missing": "auto",
    "reduced-models": "auto",
    "partition-ensemble": None,
    "corrupted-copies": None,
}
_DEFAULTS = {"classification": "dropout-logistic", "regression": "dropout-ridge"}


def train(
    files: Annotated[
        list[Path],
        typer.Argument(
            metavar="DATA...",
            help="Table: CSV, TSV, Parquet, svmlight or NPZ. With --cluster it may "
            "consist of several files.",
        ),
    ],
    output: Annotated[Path, typer.Option("--output", "-o", help="File for the model.")],
    target: Target = None,
    model: Annotated[
        str | None,
        typer.Option(
            "--model",
            help="Estimator: dropout-svc, dropout-logistic, robust-lp, ...; to predict "
            "a quantity dropout-ridge, dropout-poisson, robust-lp-regressor, or, "
            "around dropout-ridge, conformal-regressor, average-over-missing, "
            "reduced-models, partition-ensemble or corrupted-copies. auto: the best of "
            "up to 16 models, or a blend, for what --tune says (see `noiseproof "
            "recommend`). "
            "The default is auto with --tune; without it, dropout-logistic or, for a "
            "quantity, dropout-ridge.",
        ),
    ] = None,
    noise: Annotated[
        str | None,
        typer.Option(
            "--noise",
            help="Noise to train for: a dropout rate such as 0.3; auto, a rate that "
            "depends on the numbers of rows and features (the default); none; rates by "
            "column, such as iron=0.5,age=0.1 or a JSON file; or another kind of "
            "noise, such as gaussian:0.1.",
        ),
    ] = None,
    c: Annotated[
        float | None,
        typer.Option(
            "--C", help="Weight of the loss; a smaller C regularises more strongly."
        ),
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
            help="Choose the model, or with --model its noise, C and budget, by "
            "cross-validation for what will happen to the features. missing:0.5: half "
            "of the values are missing (empty fields). delete:0.5: half of the values "
            "read as zero. Also mar:0.5, mnar:0.5, columns:0.2, outages:0.1, "
            "like:today.csv, gaussian:0.2, deletion:3, ...; `noiseproof recommend "
            "--help` explains them."
        ),
    ] = None,
    scale: Annotated[
        str,
        typer.Option(
            help="How to scale numbers: standard; maxabs, for counts, where 0 means "
            "absent; none; or auto, which is standard, but maxabs for sparse files."
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
            "linear one and with the most frequent class. 0 skips it.",
        ),
    ] = 5,
    cluster: Annotated[
        str | None,
        typer.Option(
            "--cluster",
            help="Train with Dask, on more rows than fit in memory: the address of a "
            "scheduler, such as tcp://10.0.0.1:8786, or local.",
        ),
    ] = None,
    seed: Seed = 0,
    json: Json = False,
) -> None:
    """Train a robust model on a table and save it.

    Numbers are standardised and text is one-hot encoded. Both steps are saved
    with the model, so that it accepts raw tables. Empty fields are missing values.

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
    from noiseproof.cli.files import TableOptions, save_trained
    from noiseproof.cli.output import check_output
    from noiseproof.cli.recommend import recommended

    _check_files(files, cluster)
    check_output(output, *files, groups)
    table = TableOptions(target, drop, coerce, categorical, task, n_features, scale)
    given, fixed = _given(noise, c, budget, attack)
    happening = parse_happening(tune or _EXPECTED)
    options = judging(groups, folds or 5, seed, json)
    # noise, C, budget or attack without --model mean the default estimator
    if model == "auto" or (model is None and tune is not None and not given):
        _check_auto(given, tune, cluster)
        recommended(table, files[0], happening, options, output, json)
        return
    make = partial(_make_estimator, given=given, cluster=cluster, random_state=seed)
    if model is not None or cluster is not None:  # refuse bad options before any work
        make(model or "dropout-logistic")
    start = time.perf_counter()
    with spread(cluster, files, partial(table.read, quiet=True)) as parts:
        rows = table.read(files[0], quiet=json) if parts is None else parts.sample
        kind = table.task_of(rows.y)
        name = model or _DEFAULTS[kind]
        estimator = _for_task(make(name), name, kind)
        found = noiseproof.train(
            *(rows.X, rows.y, estimator, *happening),
            tune=tune is not None and _to_choose(estimator, fixed),
            cross_validate=folds > 0 and parts is None,
            task=task,
            encoder=table.encoder,
            **options,
        )
        summary = _summary(rows, found, name, name_of(happening))
        if parts is not None:  # so far the model was trained on a sample only
            score = parts.fit(found.model)
            summary |= {"rows": parts.rows, "training_score": score}
    summary["seconds"] = round(time.perf_counter() - start, 3)
    save_trained(found.model, output, rows, summary)
    _show(summary, output, json)


def _check_files(files: list[Path], cluster: str | None) -> None:
    """Refuse several files without a cluster."""
    if cluster is None and len(files) > 1:
        raise typer.BadParameter(
            f"{len(files)} files are one table only with --cluster, such as "
            "--cluster local."
        )


def _given(
    noise: str | None, c: float | None, budget: float | None, attack: str | None
) -> tuple[dict[str, Any], set[str]]:
    """The parameters that were given, and the names of those that stay untuned."""
    law, fixed = (None, False) if noise is None else parse_noise(noise)
    strength = None if attack is None else parse_attack(attack)
    parameters = {"noise": law, "C": c, "budget": budget, "attack": strength}
    given = {name: value for name, value in parameters.items() if value is not None}
    return given, set(given) - (set() if fixed else {"noise"})


def _check_auto(given: dict[str, Any], tune: str | None, cluster: str | None) -> None:
    """Refuse options that do not go with --model auto."""
    if cluster is not None:
        raise typer.BadParameter(
            "--cluster does not work with --model auto, since most of its models need "
            "all rows in memory: name a model, such as --model dropout-logistic."
        )
    if tune is None:
        raise typer.BadParameter(
            "--model auto needs --tune, which says what will happen, such as "
            "--tune missing:0.3."
        )
    for name in given:
        raise typer.BadParameter(
            f"--model auto has no --{name}: name a model, such as --model "
            "dropout-logistic."
        )


def _make_estimator(
    name: str, given: dict[str, Any], cluster: str | None, **defaults: Any
) -> Any:
    """The estimator of that short name, with the given parameters and our defaults."""
    from noiseproof.estimators import ESTIMATORS

    if name not in ESTIMATORS:
        raise typer.BadParameter(
            f"--model {name} is unknown: use one of {', '.join(ESTIMATORS)}."
        )
    estimator = ESTIMATORS[name]()
    if cluster is not None and not getattr(estimator, "fits_blocks", False):
        raise typer.BadParameter(
            f"--cluster cannot train {type(estimator).__name__}: use one of the "
            "dropout models, such as --model dropout-logistic."
        )
    known = estimator.get_params(deep=False)
    for key in given.keys() - known.keys():
        raise typer.BadParameter(f"--model {name} has no --{key}.")
    defaults["calibrated"] = cluster is None
    if known.get("noise") == 0.5 and name != "dropout-sgd":
        defaults["noise"] = "auto"
    defaults = {key: value for key, value in defaults.items() if key in known}
    return estimator.set_params(**(defaults | given))


def _for_task(estimator: Any, name: str, task: str) -> Any:
    """To predict a quantity, let a wrapper of any model wrap a regressor."""
    from noiseproof.estimators import DropoutRidge

    if task == "regression" and name in _AROUND_RIDGE:
        estimator.set_params(estimator=DropoutRidge(_AROUND_RIDGE[name]))
    return estimator


def _to_choose(estimator: Any, fixed: Any) -> list[str]:
    """Parameters to tune: those that the estimator has and the user has not set."""
    from noiseproof.training import TUNABLE

    known = estimator.get_params(deep=False)
    names = [name for name in TUNABLE if name in known and name not in fixed]
    if not names:
        raise typer.BadParameter("--tune has nothing left to choose.")
    return names


def _summary(table: Any, found: Any, name: str, happening: str) -> dict[str, Any]:
    """The facts about the training that are printed and saved with the model."""
    from sklearn.base import is_regressor

    last, judged, tuning = found.model[-1], found.contest, found.tuning
    summary = {
        "model": name,
        "parameters": repr(last),
        "rows": table.X.shape[0],
        "columns": table.X.shape[1],
        "features": int(last.n_features_in_),
        "target": table.target,
        "scoring": "r2" if is_regressor(last) else "accuracy",
        "described": found.description,
    }
    if tuning is not None:
        score, _ = tuning.means[tuning.best]
        summary |= {"tuned_for": happening, "tuned_score": score}
    if found.not_validated:
        summary["judged"] = {"failed": found.not_validated}
    elif judged is not None:
        summary["judged"] = {
            "expected": judged.expected,
            "folds": judged.perturbed.shape[1],
            "verdict": found.verdict,
            "clean": {name: clean for name, (_, clean) in judged.means.items()},
            "perturbed": {
                name: perturbed for name, (perturbed, _) in judged.means.items()
            },
        }
    return summary


def _show(summary: dict[str, Any], output: Path, json: bool) -> None:
    """Print what was trained, and its scores."""
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
    judged = summary.get("judged", {})
    if "failed" in judged:
        say(f"Not cross-validated: {judged['failed']}")
    elif judged:
        folds, expected = judged["folds"], judged["expected"]
        say(f"{scoring} in {folds}-fold cross-validation, on clean rows and on rows")
        say(f"perturbed by {expected}:")
        columns = {"clean": judged["clean"], "perturbed": judged["perturbed"]}
        scores = {
            name: [f"{score:.3f}" for score in column.values()]
            for name, column in columns.items()
        }
        show_table({"": list(judged["clean"]), **scores})
        say(judged["verdict"])
    say(f"Saved as {output}")
