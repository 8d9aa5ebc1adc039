"""Predictions as columns of a table."""

from __future__ import annotations

from typing import Any

import numpy as np

from noiseproof._pipelines import intervals_of
from noiseproof.serving.arrivals import RowsError
from noiseproof.serving.served import Served


def answer_columns(
    model: Any, rows: Any, *, interval: float | None = None, **options: Any
) -> dict[str, Any]:
    """Predict columns `prediction`, and `probability_...` or `lower` and `upper`.

    Only a `Served` takes options; the model may be any other, too.
    """
    if interval is not None:
        if isinstance(model, Served):
            predictions, ends = model.predict(rows, interval=interval, **options)
        else:
            predictions = model.predict(rows)
            ends = intervals_of(model, rows, interval)
        return {"prediction": predictions, "lower": ends[:, 0], "upper": ends[:, 1]}
    columns = {"prediction": model.predict(rows, **options)}
    if np.ndim(columns["prediction"]) > 1:
        raise RowsError(
            "The model predicts several targets at once, for which there is no table "
            "of predictions; train one model for each target."
        )
    if hasattr(model, "predict_proba"):
        shares = model.predict_proba(rows)
        for name, column in zip(model.classes_, shares.T, strict=True):
            columns[f"probability_{name}"] = column
    return columns
