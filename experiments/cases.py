"""Errors of methods by case, and tables of them."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from experiments.experiment import Row
from experiments.ranks import Ranks, ranks
from experiments.tables import QUANTITIES

Case = tuple[Any, ...]  # the data come first
Errors = Mapping[str, Any]  # of each method, one a split: the lower the better
Cases = Mapping[Case, Errors]

_EQUAL = 1e-12


def errors_of(rows: Sequence[Row], keys: Sequence[str], measure: str = "score") -> Any:
    """Errors by the values of some keys, where there are any."""
    found: dict[Case, dict[str, list[float]]] = {}
    for row in rows:
        if row[measure] is not None:
            value = row[measure]
            if measure == "score" and row["measure"] == "accuracy":
                value = 1 - value
            errors = found.setdefault(tuple(row[key] for key in keys), {})
            errors.setdefault(row["method"], []).append(value)
    return {
        case: {method: np.array(values) for method, values in errors.items()}
        for case, errors in found.items()
    }


def judged_ranks(cases: Cases, leave_out: str = "") -> Ranks:
    """Mean ranks over the data sets, without methods whose names end so."""
    by_data: dict[str, list[dict[str, float]]] = {}
    for case, errors in cases.items():
        means = {
            method: float(values.mean())
            for method, values in errors.items()
            if not (leave_out and method.endswith(leave_out))
        }
        by_data.setdefault(case[0], []).append(means)
    return ranks(by_data)


def is_behind(ours: Any, theirs: Any) -> bool:
    """Whether the mean of paired differences is above its standard error."""
    behind = ours - theirs
    error = behind.std(ddof=1) / len(behind) ** 0.5 if len(behind) > 1 else 0.0
    return bool(behind.mean() > error + _EQUAL)


def is_far_behind(ours: Any, theirs: Any) -> bool:
    """Whether the mean is behind by more than the standard error of theirs."""
    error = theirs.std(ddof=1) / len(theirs) ** 0.5 if len(theirs) > 1 else 0.0
    return bool(ours.mean() - theirs.mean() > error + _EQUAL)


def losses(
    cases: Cases,
    ours: str,
    is_rival: Callable[[str], bool],
    behind: Callable[[Any, Any], bool] = is_behind,
) -> Iterator[tuple[Case, str]]:
    """Cases in which a method is behind the best of its rivals, and this rival."""
    for case, errors in cases.items():
        if ours not in errors:
            continue
        others = [method for method in errors if method != ours and is_rival(method)]
        best = min(others, key=lambda method: errors[method].mean())
        if behind(errors[ours], errors[best]):
            yield case, best


def loss_table(cases: Cases, compared: Mapping[str, Callable[[str], bool]]) -> str:
    """All losses of some methods to their rivals, with a count above."""
    found = []
    for ours, is_rival in compared.items():
        for case, best in losses(cases, ours, is_rival):
            own, other = (score(case, cases[case][m]) for m in (ours, best))
            found.append([told(case), ours, f"{own:.3f}", best, f"{other:.3f}"])
    head = ["case", "method", "score", "behind", "score"]
    asked = sum(ours in errors for errors in cases.values() for ours in compared)
    count = f"{len(found)} of {asked}:"
    return f"{count}\n\n{lines([head, *found])}"


def score(case: Case, errors: Any) -> float:
    """Mean accuracy where there are classes, else the root mean squared error."""
    error = float(errors.mean())
    return error if case[0] in QUANTITIES else 1 - error


def lines(table: Sequence[Sequence[str]]) -> str:
    """A Markdown table whose first line is the head."""
    head, *body = table
    return "\n".join(
        f"| {' | '.join(line)} |" for line in [head, ["---"] * len(head), *body]
    )


def by_method(columns: Mapping[str, Mapping[str, float]]) -> str:
    """A line for each method with the number of each column; the lowest on top."""
    found = list(columns.values())
    order = sorted(found[0], key=lambda m: float(np.mean([c[m] for c in found])))
    body = [[method, *(f"{c[method]:.2f}" for c in found)] for method in order]
    return lines([["method", *columns], *body])


def told(case: Case) -> str:
    """A case in words; a number is a share."""
    words = (x if isinstance(x, str) else f"{100 * x:g} %" for x in case if x)
    return ", ".join(words)
