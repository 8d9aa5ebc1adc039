"""`noiseproof demo`: pixels go missing, and models fall or hold."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Annotated, Any

import typer

from noiseproof.cli.options import Json

_LEVELS = (0.0, 0.2, 0.5, 0.8)
_REPEATS = 3
_GONE = (0.2, 0.4)  # share of the columns that vanish, the most relevant first
_ITERATIONS = 40  # of boosting, for each of ten classes
_COST_ROWS = 100  # on which the page loses every pixel in turn, for every model


def demo(
    output: Annotated[
        Path, typer.Option("--output", "-o", help="HTML file for the report.")
    ] = Path("noiseproof-demo.html"),
    json: Json = False,
) -> None:
    """Show how models hold when pixels of handwritten digits go missing.

    Compares a boosted model as it is, trained on copies with missing pixels,
    behind an imputer, and averaged over what is missing; an averaged support
    vector machine; and a dropout model. All know which pixels are missing.
    The table is printed, and an HTML page shows the same numbers. A second table
    compares averaged trees with trees that are retrained without the columns
    that have vanished.

    \b
    Example:
      noiseproof demo
    """
    from threadpoolctl import threadpool_limits

    from noiseproof.cli.output import check_output, note, show_json
    from noiseproof.report import write_report

    check_output(output)
    X, X_test, y, y_test = _digits()
    with threadpool_limits(1):  # threads would wait for each other on such small data
        models, fit_seconds = _trained(X, y, quiet=json)
        if not json:
            note("Making pixels missing, predicting and writing the report ...")
        summary = write_report(
            *(models, X_test, y_test, output),
            levels=_LEVELS,
            n_repeats=_REPEATS,
            title="Handwritten digits whose pixels go missing",
            settings={"command": "noiseproof demo"},
            training_rows=len(y),
            deleted_as="nan",
            space="input",
            cost_rows=_COST_ROWS,
            feature_names=_pixels(),
            progress=False if json else None,
        )
        milliseconds = {name: _per_row(model, X_test) for name, model in models.items()}
        vanished = _vanished(models, X, y, X_test, y_test)
    scores = {model.name: model.deletion.y for model in summary.models}
    if json:
        times = {"fit_seconds": fit_seconds, "milliseconds_per_row": milliseconds}
        gone = {"shares_gone": _GONE, "columns_gone": vanished}
        show_json({"levels": _LEVELS, "models": scores, **times, **gone})
    else:
        _show(scores, fit_seconds, milliseconds, len(y), len(y_test))
        _show_vanished(vanished)
    note(f"Report written to {output}")


def _trained(X: Any, y: Any, *, quiet: bool) -> tuple[dict[str, Any], dict[str, float]]:
    """Fitted models, and the seconds that each of them took, by name."""
    from noiseproof.cli.output import note

    models, seconds = {}, {}
    for name, model in _candidates().items():
        if not quiet:
            note(f"Training {name} ...")
        start = time.perf_counter()
        models[name] = model.fit(X, y)
        seconds[name] = time.perf_counter() - start
    return models, seconds


def _vanished(
    models: dict[str, Any], X: Any, y: Any, X_test: Any, y_test: Any
) -> dict[str, list[float]]:
    """Accuracies when whole columns vanish, by model."""
    from noiseproof import ReducedModels
    from noiseproof.evaluation import MissingColumns, robustness_curve

    compared = {name: models[name] for name in ("boosting", "averaged boosting")}
    retrained = ReducedModels(models["boosting"]).fit(X, y)
    curve = robustness_curve(
        {**compared, "boosting, retrained": retrained},
        *(X_test, y_test, MissingColumns(), _GONE),
        n_repeats=1,
    )
    return dict(zip(curve.models, curve.mean.tolist(), strict=True))


def _per_row(model: Any, X: Any) -> float:
    """Milliseconds to predict a row with half of its pixels missing."""
    from noiseproof.noise import Missing

    rows = Missing(0.5).sample(X, rng=0)
    start = time.perf_counter()
    model.predict(rows)
    return 1000 * (time.perf_counter() - start) / len(rows)


def _show(
    scores: Any, fit_seconds: Any, milliseconds: Any, n: int, n_test: int
) -> None:
    """Print accuracies and times, a model a row."""
    from noiseproof.cli.output import say, show_table

    say(f"Handwritten digits, {n} to train, {n_test} to test. Accuracy by the share of")
    say(f"pixels that are missing (NaN), mean of {_REPEATS} draws; time to fit, and to")
    say("predict a row with half of its pixels missing:\n")
    columns = {"model": list(scores)}
    for i, level in enumerate(_LEVELS):
        columns[f"{level:.0%}"] = [f"{scores[name][i]:.3f}" for name in scores]
    columns["fit"] = [f"{fit_seconds[name]:.1f} s" for name in scores]
    columns["per row"] = [f"{milliseconds[name]:.2f} ms" for name in scores]
    show_table(columns)


def _show_vanished(scores: dict[str, list[float]]) -> None:
    """Print accuracies without some columns, a model a row."""
    from noiseproof.cli.output import say, show_table

    say("Whole columns missing from all rows, the most relevant first; retrained is")
    say("trained again without these columns, the others are the models above:\n")
    columns = {"model": list(scores)}
    for i, share in enumerate(_GONE):
        columns[f"{share:.0%}"] = [f"{own[i]:.3f}" for own in scores.values()]
    show_table(columns)


def _pixels() -> list[str]:
    """Names of the columns."""
    return [f"row {i // 8 + 1}, column {i % 8 + 1}" for i in range(64)]


def _digits() -> list[Any]:
    """Rows and labels of handwritten digits, one half each to train and to test."""
    from sklearn.datasets import load_digits
    from sklearn.model_selection import train_test_split

    X, y = load_digits(return_X_y=True)
    split: list[Any] = train_test_split(
        X / 16.0, y, test_size=0.5, random_state=0, stratify=y
    )
    return split


def _candidates() -> dict[str, Any]:
    """Models to compare, by name."""
    from sklearn.ensemble import HistGradientBoostingClassifier
    from sklearn.impute import KNNImputer
    from sklearn.pipeline import make_pipeline
    from sklearn.svm import SVC

    import noiseproof as npf

    boosting = HistGradientBoostingClassifier(max_iter=_ITERATIONS, random_state=0)
    copies = npf.CorruptedCopies(boosting, npf.noise.Missing(0.5), 2, random_state=0)
    return {
        "boosting": boosting,
        "boosting, NaN copies": copies,
        "KNNImputer + boosting": make_pipeline(KNNImputer(), boosting),
        "averaged boosting": npf.AverageOverMissing(boosting, random_state=0),
        "averaged SVC": npf.AverageOverMissing(SVC(), random_state=0),
        "dropout logistic": npf.DropoutLogisticRegression(0.3, C=10.0),
    }
