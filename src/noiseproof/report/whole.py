"""What a report finds out from all rows: clean scores and certificates."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.metrics import accuracy_score, mean_absolute_error, r2_score, recall_score

from noiseproof.evaluation import Certificates, certify
from noiseproof.report.case import Case
from noiseproof.report.summary import WorstRow

__all__ = ["Worst", "certificates_of", "scores_of"]

Numbers = dict[str, float]

_FEW = 12  # classes that are shown one by one
_SHOWN = 8  # worst rows


@dataclass(frozen=True)
class Worst:
    """Certificates and the rows that need them most, or one sentence why not."""

    certificates: Certificates | None = None
    rows: tuple[WorstRow, ...] = ()
    why_not: str = ""


def scores_of(name: str, model: Any, case: Case) -> tuple[Numbers, Numbers]:
    """Clean scores by metric, and the recall of each class if there are few."""
    y = case.y
    prediction = np.concatenate(
        [np.asarray(model.predict(block.X)) for _, block in case.blocks()]
    )
    if prediction.shape != y.shape:
        raise TypeError(
            f"The model {name!r} must predict one value per row; its predict gives "
            f"shape {prediction.shape} for {len(y)} rows."
        )
    if case.scoring == "r2":
        error = float(mean_absolute_error(y, prediction))
        return {"r2": float(r2_score(y, prediction)), "mean absolute error": error}, {}
    labels = np.unique(y)
    recalls = recall_score(y, prediction, labels=labels, average=None, zero_division=0)
    scores = {
        "accuracy": float(accuracy_score(y, prediction)),
        "balanced accuracy": float(np.mean(recalls)),
    }
    by_class = dict(zip(map(str, labels.tolist()), recalls.tolist(), strict=True))
    return scores, by_class if len(labels) <= _FEW else {}


def certificates_of(model: Any, case: Case) -> Worst:
    """Certificates of all rows, a block at a time."""
    if case.scoring != "accuracy":
        return Worst(why_not="Certificates are for classifiers.")
    parts: list[Certificates] = []
    rows: list[WorstRow] = []
    for start, block in case.blocks():
        last, seen = block.seen_by(model)
        try:
            found = certify(last, seen.X, seen.y)
        except TypeError as error:  # not linear, and it says why
            return Worst(why_not=str(error))
        rows += _worst(found, seen, start)
        parts.append(found)
    rows.sort(key=lambda row: (row.budget, row.row))
    return Worst(_joined(parts), tuple(rows[:_SHOWN]))


def _worst(found: Certificates, seen: Case, start: int) -> list[WorstRow]:
    """The rows of a block with the lowest certificates."""
    order = np.argsort(found.budget, kind="stable")[:_SHOWN]
    return [
        WorstRow(
            row=int(start + i),
            label=str(seen.y[i]),
            prediction=str(found.prediction[i]),
            budget=float(found.budget[i]),
            features=tuple(seen.names[j] for j in found.deletion(i)),
        )
        for i in order
        if np.isfinite(found.budget[i])
    ]


def _joined(parts: list[Certificates]) -> Certificates:
    """Certificates of consecutive blocks as one; which features go is left out."""

    def column(name: str) -> NDArray[Any]:
        return np.concatenate([getattr(part, name) for part in parts])

    return Certificates(
        budget=column("budget"),
        exact=column("exact"),
        prediction=column("prediction"),
        correct=column("correct"),
        unit=parts[0].unit,
    )
