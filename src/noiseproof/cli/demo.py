"""`noiseproof demo`: see plain models fall and robust ones hold."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Annotated, Any

import typer

from noiseproof.cli.options import Json

_LEVELS = tuple(level / 10 for level in range(10))
_REPEATS = 10
_FOLDS = 3
_WEIGHTS = [1.0, 10.0]
_RATES = [0.1, 0.3, 0.5]


def demo(
    output: Annotated[
        Path, typer.Option("--output", "-o", help="HTML file for the report.")
    ] = Path("noiseproof-demo.html"),
    json: Json = False,
) -> None:
    """Pixels of handwritten digits die: two plain models and three of ours.

    All five choose their constants in the same way: by cross-validation on the training
    half, with half of the pixels of the held-out rows dead.

    \b
    Example:
      noiseproof demo
    """
    from threadpoolctl import threadpool_limits

    from noiseproof.cli.output import check_output, note, show_json
    from noiseproof.cli.tune import tune
    from noiseproof.report import write_report

    check_output(output)
    X_train, X_test, y_train, y_test = _digits()
    if not json:
        note("Choosing constants by cross-validation on the training half ...")
    with threadpool_limits(1):  # threads would wait for each other on such small data
        models = {}
        for name, (model, grid) in _candidates().items():
            best, _ = tune(model, grid, X_train, y_train, "delete", 0.5, folds=_FOLDS)
            models[name] = model.set_params(**best).fit(X_train, y_train)
        summary = write_report(
            *(models, X_test, y_test, output),
            levels=_LEVELS,
            n_repeats=_REPEATS,
            title="Handwritten digits whose pixels die",
            settings={"command": "noiseproof demo"},
            training_rows=len(y_train),
            progress=False if json else None,
        )
    scores = {model.name: model.deletion.y for model in summary.models}
    if json:
        show_json({"levels": _LEVELS, "models": scores})
    else:
        _show(scores, len(y_train), len(y_test))
    note(f"Report written to {output}")


def _digits() -> list[Any]:
    from sklearn.datasets import load_digits
    from sklearn.model_selection import train_test_split

    X, y = load_digits(return_X_y=True)
    split: list[Any] = train_test_split(
        X / 16.0, y, test_size=0.5, random_state=0, stratify=y
    )
    return split


def _candidates() -> dict[str, tuple[Any, dict[str, list[Any]]]]:
    """Each model with the constants it may choose from."""
    from sklearn.linear_model import LogisticRegression
    from sklearn.svm import LinearSVC

    import noiseproof as npf

    plain = {"C": [0.001, 0.01, 0.1, *_WEIGHTS]}
    robust = {"C": _WEIGHTS, "noise": _RATES}
    return {
        "LinearSVC": (LinearSVC(random_state=0), plain),
        "Logistic": (LogisticRegression(max_iter=1000), plain),
        "DropoutSVC": (npf.DropoutSVC(), robust),
        "DropoutLogistic": (npf.DropoutLogisticRegression(), robust),
        "DropoutRidge": (npf.DropoutRidgeClassifier(), robust),
    }


def _show(scores: Mapping[str, Sequence[float]], n_train: int, n_test: int) -> None:
    from noiseproof.cli.output import say, show_table

    say(f"Handwritten digits, {n_train} to train, {n_test} to test; then pixels die.")
    say(f"Accuracy, mean of {_REPEATS} draws:\n")
    columns = {"dead": [f"{level:.0%}" for level in _LEVELS]}
    for name, means in scores.items():
        columns[name] = [f"{mean:.3f}" for mean in means]
    show_table(columns)
