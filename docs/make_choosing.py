"""Write the tables and the counts of docs/choosing.md from files in docs/results.

    python docs/make_choosing.py

`noiseproof reproduce beyond --full` writes beyond.csv, `noiseproof reproduce harms
--full` writes harms.csv, `noiseproof reproduce vanishing --full` writes vanishing.csv,
and `benchmarks/recommend.py` writes recommend.csv. This script replaces what stands
between the marks in docs/choosing.md. The sentences around it are written by hand.
"""

from __future__ import annotations

import csv
import sys
from pathlib import Path
from typing import Any

HERE = Path(__file__).parent
sys.path.insert(0, str(HERE.parent))  # experiments are beside the package, not in it

from docs.make_picture import LINES, relative_errors  # noqa: E402
from experiments.beyond import (  # noqa: E402
    ALONE,
    AUTO,
    AVERAGED,
    EXPERIMENT,
    UNSEEN,
)
from experiments.experiment import Row, distinct, mean, select  # noqa: E402

PAGE, SOURCE = HERE / "choosing.md", HERE / "results" / "beyond.csv"
START, END = "<!-- from beyond.csv -->\n", "<!-- to here -->\n"
SHORT_START = "<!-- short, from beyond.csv -->\n"
SHORT_END = "<!-- to here, short -->\n"
RACES = HERE / "results" / "recommend.csv"
RACES_START = "<!-- from recommend.csv -->\n"
RACES_END = "<!-- to here, from recommend.csv -->\n"
COUNTS_START = "<!-- counts from recommend.csv -->\n"
COUNTS_END = "<!-- to here, counts -->\n"
HARMS = HERE / "results" / "harms.csv"
HARMS_START = "<!-- from harms.csv -->\n"
HARMS_END = "<!-- to here, from harms.csv -->\n"
VANISHING_START = "<!-- from vanishing.csv -->\n"
VANISHING_END = "<!-- to here, from vanishing.csv -->\n"
_WIDE = "mnist"  # has fewer methods, so its means would not compare
_NAMES = {
    "mean": "`SimpleImputer`",
    "neighbours": "`KNNImputer`",
    "iterative": "`IterativeImputer`",
    AVERAGED: "**averaged**",
    "LightGBM": "LightGBM, NaN as it is",
    "CatBoost": "CatBoost, NaN as it is",
    "own NaN": "boosting, NaN as it is",
    "copies with NaN": "boosting, trained on NaN copies",
    AUTO: "**auto**",
}
_SHORT = {  # of boosting
    "own NaN": "boosting, NaN as it is",
    "mean": "after `SimpleImputer`",
    "neighbours": "after `KNNImputer`",
    "copies with NaN": "trained on copies with NaN",
    AVERAGED: "**in `AverageOverMissing`**",
    AUTO: "**what `recommend` picks**",
}
_HARMED = {  # methods of harms.csv that are shown, and what they are called
    "HistGradientBoosting": "boosted trees",
    "CorruptedCopies of HistGradientBoosting": "boosted trees, `CorruptedCopies`",
    "LinearSVC": "`LinearSVC`",
    "LogisticRegression": "`LogisticRegression`",
    "imputation + LogisticRegression": "`IterativeImputer`, linear",
    "DropoutSVC": "`DropoutSVC`",
    "DropoutLogisticRegression": "`DropoutLogisticRegression`",
    "RobustLPClassifier": "`RobustLPClassifier`",
    "RobustPerceptron": "`RobustPerceptron`",
    "InvariantSVC": "`InvariantSVC`",
}
_HARMS = {
    "clean": "clean",
    "deletion 50 %": "50 % deleted",
    "Gaussian 0.5": "Gaussian noise",
    "attack 5": "5 features attacked",
    "scaling 5": "5 scaled",
}


def rows() -> list[Row]:
    """The stored rows of data that were not used to design the methods."""
    with SOURCE.open(encoding="utf-8", newline="") as file:
        found: list[Any] = list(csv.DictReader(file))
    for row in found:
        for key in ("rate", "accuracy", "log_loss", "fit_seconds", "predict_seconds"):
            row[key] = float(row[key]) if row[key] else None
    return select(found, kind=UNSEEN)


def table(own: list[Row]) -> list[str]:
    """Means over data sets, harms and repetitions, a line for each method."""
    rates = distinct(own, "rate")
    head = " | ".join(f"{100 * rate:g} %" for rate in rates)
    lines = [f"| missing | {head} | fit, s | 300 rows, s |", "|---" * 6 + "|"]
    for model in distinct(own, "model"):
        for method in distinct(select(own, model=model), "method"):
            case = select(own, model=model, method=method)
            name = _NAMES[method]
            cells = [name if model == ALONE else f"{model}, {name}"]
            for rate in rates:
                text = f"{mean(case, 'accuracy', rate=rate):.3f}"
                if case[0]["log_loss"] is not None:
                    text += f" / {mean(case, 'log_loss', rate=rate):.2f}"
                cells.append(text)
            cells.append(f"{mean(case, 'fit_seconds'):.1f}")
            cells.append(f"{mean(case, 'predict_seconds'):.2f}")
            lines.append(f"| {' | '.join(cells)} |")
    return lines


def shown() -> str:
    """The table of all models, and how often each claim holds."""
    found = rows()
    narrow = [row for row in found if row["data"] != _WIDE]
    names, splits = distinct(narrow, "data"), len(distinct(narrow, "repetition"))
    told = (
        f"Mean accuracy, and log-loss where a model has probabilities, over "
        f"{', '.join(names)} ({splits} repetitions; single values or groups of columns "
        "missing):"
    )
    counts = [
        f"- {claim.text.split(': ', 1)[1].split(', or within')[0]} "
        f"({claim.text.split(', ')[1].split(':')[0]}): "
        f"{claim.numbers.split(', best in')[0]}"
        for claim in EXPERIMENT.claims(found)
    ]
    within = (
        "Number of cases in which each claim holds, counting ties within one standard "
        "error. The target, set before the measurement, was 90 % of the cases:"
    )
    return "\n".join([told, "", *table(narrow), "", within, "", *counts, ""])


def short() -> str:
    """Accuracies of boosting, by what is done about missing values."""
    narrow = [row for row in rows() if row["data"] != _WIDE]
    rates = distinct(narrow, "rate")
    head = " | ".join(f"{100 * rate:g} % missing" for rate in rates)
    lines = [f"| | {head} |", "|---" * (1 + len(rates)) + "|"]
    for method, name in _SHORT.items():
        model = ALONE if method == AUTO else "boosting"
        case = select(narrow, model=model, method=method) or select(
            narrow, model=ALONE, method=method
        )
        cells = [f"{mean(case, 'accuracy', rate=rate):.3f}" for rate in rates]
        lines.append(f"| {' | '.join([name, *cells])} |")
    return "\n".join([*lines, ""])


def vanishing() -> str:
    """Errors relative to retraining, by share of the columns that are gone."""
    found = relative_errors()
    shares = found["mean fill"]
    head = " | ".join(f"{100 * share:g} % gone" for share in shares)
    lines = [f"| | {head} |", "|---" * (1 + len(shares)) + "|"]
    for method, (label, *_) in LINES.items():
        cells = [f"{found[method][share]:.2f}" for share in shares]
        lines.append(f"| {' | '.join([label, *cells])} |")
    return "\n".join([*lines, ""])


def harms() -> str:
    """Test errors on spambase, by what happens to the features."""
    with HARMS.open(encoding="utf-8", newline="") as file:
        found: list[Any] = list(csv.DictReader(file))
    found = [row | {"error": float(row["error"])} for row in found]
    lines = [f"| | {' | '.join(_HARMS.values())} |", "|---" * (1 + len(_HARMS)) + "|"]
    for model, name in _HARMED.items():
        case = select(found, data="spambase", model=model)
        cells = [f"{mean(case, 'error', harm=harm):.3f}" for harm in _HARMS]
        lines.append(f"| {' | '.join([name, *cells])} |")
    return "\n".join([*lines, ""])


def races() -> tuple[str, str]:
    """What `recommend` found against the best of three standard models, and counts."""
    with RACES.open(encoding="utf-8", newline="") as file:
        found = list(csv.DictReader(file))
    lines = [
        "| table | rows, columns | pick | clean rows | best of three | 30 % missing | "
        "best of three, averaged | seconds |",
        "|---" * 8 + "|",
    ]
    for row in found:
        cells = [row["table"], f"{int(row['rows']):,}, {row['columns']}", row["pick"]]
        for what in ("clean", "missing"):
            kind = row[f"{what}_rival"].removeprefix("averaged ")
            best = f"{row[f'{what}_best']} ± {row[f'{what}_error']} ({kind})"
            cells += [row[f"{what}_pick"], best]
        lines.append(f"| {' | '.join([*cells, row['seconds']])} |")
    counts = []
    for what, rows_are in (
        ("clean", "On clean rows"),
        ("missing", "With values missing"),
    ):
        within = [row for row in found if row[f"{what}_within"] == "yes"]
        ahead = [
            row
            for row in found
            if float(row[f"{what}_pick"]) >= float(row[f"{what}_best"])
        ]
        counts.append(
            f"- {rows_are}: at least as good as the best of the three in "
            f"{len(ahead)} of {len(found)} tables, and within one standard error "
            f"of it in {len(within)}"
        )
    return "\n".join([*lines, ""]), "\n".join([*counts, ""])


def replaced(text: str, start: str, end: str, new: str) -> str:
    """The text with something new between two marks."""
    before, rest = text.split(start)
    return before + start + new + end + rest.split(end)[1]


if __name__ == "__main__":
    page = replaced(PAGE.read_text(encoding="utf-8"), START, END, shown())
    page = replaced(page, SHORT_START, SHORT_END, short())
    page = replaced(page, VANISHING_START, VANISHING_END, vanishing())
    page = replaced(page, HARMS_START, HARMS_END, harms())
    table_of_races, counts_of_races = races()
    page = replaced(page, RACES_START, RACES_END, table_of_races)
    page = replaced(page, COUNTS_START, COUNTS_END, counts_of_races)
    PAGE.write_text(page, encoding="utf-8")
