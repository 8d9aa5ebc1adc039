"""Compare what `recommend` finds with a careful user's own models, and its time.

    python benchmarks/recommend.py                  # nine tables, see docs/choosing.md
    python benchmarks/recommend.py heart,credit     # some of them
    python benchmarks/recommend.py times            # iris, heart and credit
    python benchmarks/recommend.py times FOLDER     # these, Soybean and Satellite
    python benchmarks/recommend.py times FOLDER iris,Soybean

The nine tables are those of TabFSBench (the folder tabfsbench of NOISEPROOF_DATA), from
150 to 45,312 rows. 80 % of a table go to `recommend(..., "missing", 0.3)` with its
defaults, and to three models that one would write down: boosting with early stopping, a
random forest and a tuned linear model, plain and inside `AverageOverMissing`. All are
then asked about at most 2,000 of the other rows, as they are and with 30 % of the cells
missing, drawn three times. Standard errors are those of the rival's score over the test
rows. docs/results/recommend.csv keeps the results; a table that is run again replaces
its line. OMP_NUM_THREADS=1 keeps all to one core.

`times` compares `recommend` with a five-fold `cross_validate` of scikit-learn's default
histogram gradient boosting behind the same encoder, both on one core: by processor
time, which does not depend on what else the machine does, and by wall time. Any of the
nine tables may be named, and those in mlbench's files in FOLDER, such as
usr/lib/R/site-library/mlbench/data of Debian's r-cran-mlbench; these are read by the
package rdata.
"""

from __future__ import annotations

import lzma
import os
import sys
import time
import warnings
from collections.abc import Callable
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from common import folder, stored_lines
from sklearn.base import clone
from sklearn.ensemble import (
    HistGradientBoostingClassifier,
    HistGradientBoostingRegressor,
    RandomForestClassifier,
    RandomForestRegressor,
)
from sklearn.impute import SimpleImputer
from sklearn.linear_model import LogisticRegression, RidgeCV
from sklearn.model_selection import GridSearchCV, cross_validate, train_test_split
from sklearn.pipeline import make_pipeline
from threadpoolctl import threadpool_limits

from noiseproof import AverageOverMissing, recommend
from noiseproof.tables import TableEncoder

LEVEL, DRAWS, TEST_ROWS = 0.3, 3, 2_000
OUT = Path(__file__).parents[1] / "docs" / "results" / "recommend.csv"
TABLES = {  # and their targets
    "iris": "Species",
    "heart": "HeartDisease",
    "credit": "class",
    "concrete": "csMPa",
    "laptop": "Price_euros",
    "abalone": "Age",
    "bike": "count",
    "eyemovements": "label",
    "electricity": "class",
}
QUANTITIES = ("abalone", "bike", "concrete", "laptop")
TIMED = ("iris", "heart", "credit")
MLBENCH = {"Soybean": "Class", "Satellite": "classes"}


def main() -> None:
    if sys.argv[1:2] == ["times"]:
        source = Path(sys.argv[2]) if sys.argv[2:] else None
        default = [*TIMED, *(MLBENCH if source else ())]
        times(sys.argv[3].split(",") if sys.argv[3:] else default, source)
        return
    found = stored_lines(OUT, "table", TABLES, judge)
    for what in ("clean", "missing"):
        within = sum(row[f"{what}_within"] == "yes" for row in found.values())
        ahead = sum(
            float(row[f"{what}_pick"]) >= float(row[f"{what}_best"])
            for row in found.values()
        )
        print(
            f"{what} rows: not behind in {ahead} of {len(found)}, and at most one "
            f"standard error behind in {within}"
        )


def table(name: str) -> tuple[pd.DataFrame, Any]:
    """A table of TabFSBench; of a date the parts that tell something are numbers."""
    with lzma.open(
        folder() / "tabfsbench" / f"{name}.csv.xz", "rt", encoding="utf-8"
    ) as file:
        X = pd.read_csv(file)
    if name == "bike":
        when = pd.to_datetime(X.pop("datetime"), format="mixed")
        X = X.assign(hour=when.dt.hour, weekday=when.dt.dayofweek, month=when.dt.month)
    y = X.pop(TABLES[name])
    return X, y.to_numpy(float if name in QUANTITIES else str)


def rivals(classify: bool) -> dict[str, Any]:
    """What a careful user would write down."""
    kinds = [HistGradientBoostingClassifier, RandomForestClassifier]
    if not classify:
        kinds = [HistGradientBoostingRegressor, RandomForestRegressor]
    boosting = kinds[0](max_iter=500, early_stopping=True, random_state=0)
    grid = {"C": [0.01, 0.1, 1.0, 10.0]}
    logistic = GridSearchCV(LogisticRegression(max_iter=1000), grid, cv=3)
    linear = logistic if classify else RidgeCV(np.logspace(-2, 3, 11))
    encoder = TableEncoder(sparse_output=False)
    return {
        "boosting": make_pipeline(encoder, boosting),
        "forest": make_pipeline(encoder, kinds[1](random_state=0)),
        "linear": make_pipeline(encoder, SimpleImputer(), linear),
    }


def judge(name: str) -> dict[str, Any]:
    """One table: recommend, and the rivals, on rows that none has seen."""
    X, y = table(name)
    classify = name not in QUANTITIES
    halves = train_test_split(
        X, y, test_size=0.2, random_state=0, stratify=y if classify else None
    )
    X_train, X_test, y_train, y_test = halves
    X_test, y_test = X_test[:TEST_ROWS], y_test[:TEST_ROWS]
    start = time.perf_counter()
    task = "classification" if classify else "regression"
    found = recommend(X_train, y_train, "missing", LEVEL, task=task, progress=False)
    seconds = time.perf_counter() - start
    plain = rivals(classify)
    averaged = {
        f"averaged {one}": AverageOverMissing(model, random_state=0, n_calibration=0)
        for one, model in plain.items()
    }
    rng = np.random.default_rng(1)
    holes = [rng.random(X_test.shape) < LEVEL for _ in range(DRAWS)]
    shown = {"clean": [X_test], "missing": [X_test.mask(hole) for hole in holes]}
    row = {
        "table": name,
        "rows": len(y_train),
        "columns": X.shape[1],
        "metric": found.contest.metric,
        "pick": found.contest.choice,
        "seconds": f"{seconds:.0f}",
    }
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        fitted = {
            one: clone(model).fit(X_train, y_train)
            for one, model in {**plain, **averaged}.items()
        }
        for what, own in (("clean", plain), ("missing", averaged)):
            row |= compared(what, found.model, fitted, own, shown[what], y_test)
    return row


def compared(
    what: str, pick: Any, fitted: dict[str, Any], own: Any, tables: Any, y: Any
) -> dict[str, Any]:
    """The pick and the best of its rivals, on clean rows or on incomplete ones."""
    classify = y.dtype.kind != "f"
    scores = {
        one: score([fitted[one].predict(rows) for rows in tables], y, classify)
        for one in own
    }
    best = max(scores, key=lambda one: scores[one][0])
    value, error = scores[best]
    mine = score([pick.predict(rows) for rows in tables], y, classify)[0]
    return {
        f"{what}_pick": f"{mine:.3f}",
        f"{what}_rival": best,
        f"{what}_best": f"{value:.3f}",
        f"{what}_error": f"{error:.3f}",
        f"{what}_within": "yes" if value - mine <= error else "no",
    }


def score(answers: Any, y: Any, classify: bool) -> tuple[float, float]:
    """Accuracy or R² over all draws, and its standard error over the rows."""
    if classify:
        rows = np.mean([answer == y for answer in answers], axis=0)
        return float(rows.mean()), float(rows.std(ddof=1) / np.sqrt(len(y)))
    rows = np.mean([(answer - y) ** 2 for answer in answers], axis=0) / np.var(y)
    return float(1 - rows.mean()), float(rows.std(ddof=1) / np.sqrt(len(y)))


def times(names: list[str], source: Path | None) -> None:
    """Time of `recommend`, divided by that of a cross-validation of boosted trees."""
    warnings.simplefilter("ignore")
    for name in names:
        X, y = mlbench(name, source) if name in MLBENCH else table(name)
        classify = name not in QUANTITIES
        kind = (
            HistGradientBoostingClassifier
            if classify
            else HistGradientBoostingRegressor
        )
        trees = make_pipeline(TableEncoder(), kind())
        task = "classification" if classify else "regression"
        once = seconds(cross_validate, trees, X, y, n_jobs=1)
        ours = seconds(
            recommend, X, y, "missing", LEVEL, task=task, n_jobs=1, progress=False
        )
        print(
            f"{name} {X.shape}: processor time {ours[0] / once[0]:.1f} times that of "
            f"cross_validate ({ours[0]:.1f} s, {once[0]:.1f} s), wall time "
            f"{ours[1] / once[1]:.1f} times",
            flush=True,
        )


def mlbench(name: str, source: Path | None) -> tuple[pd.DataFrame, Any]:
    """A table of mlbench, with words as text."""
    if source is None or find_spec("rdata") is None:
        sys.exit("mlbench's files need their folder, and rdata: pip install rdata.")
    import rdata

    X = pd.DataFrame(rdata.read_rda(source / f"{name}.rda")[name])
    y = X.pop(MLBENCH[name]).to_numpy(str)
    X = X.apply(lambda c: c.astype(object) if c.dtype == "category" else c)
    X.columns = X.columns.map(str)
    return X, y


def seconds(work: Callable[..., Any], *args: Any, **options: Any) -> Any:
    """Processor time of a call, with that of child processes, and its wall time."""
    before = os.times()
    with threadpool_limits(1):
        work(*args, **options)
    spent = np.subtract(os.times(), before)
    return spent[:4].sum(), spent[4]


if __name__ == "__main__":
    main()
