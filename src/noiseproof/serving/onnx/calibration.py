"""Calibrated classifiers in a graph."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from noiseproof.serving.onnx.answers import Answer, Ask
from noiseproof.serving.onnx.graph import Tensor, concat, sigmoid
from noiseproof.serving.onnx.rows import Rows

Curve = Callable[[Tensor], Tensor]


def calibrated(model: Any, rows: Rows, method: str, ask: Ask) -> Answer | None:
    """`CalibratedClassifierCV`: the mean of classifiers with calibrated scores."""
    total = None
    for part in model.calibrated_classifiers_:
        curves = [_curve(calibrator) for calibrator in part.calibrators]
        if None in curves:
            return None
        chances = _chances(part, curves, rows, ask)
        total = chances if total is None else total + chances
    assert total is not None
    values = total / float(len(model.calibrated_classifiers_))
    return Answer(values, values.first_largest())


def _chances(part: Any, curves: list[Any], rows: Rows, ask: Ask) -> Tensor:
    """Probabilities of one classifier; for several classes normalised to sum to one."""
    inner, two = part.estimator, len(part.classes) == 2
    scored = hasattr(inner, "decision_function")
    method = "decision_function" if scored else "predict_proba"
    scores = ask(inner, rows, method).values.double()
    if two and not scored:
        scores = scores.take([1], axis=1)
    columns = [curve(scores.take([j], axis=1)) for j, curve in enumerate(curves)]
    if two:
        return concat([1.0 - columns[0], *columns], axis=1)
    chances = concat(columns, axis=1)
    total = chances.sum(1)
    return (total > 0.0).where(chances / total, 1.0 / len(part.classes))


def _curve(calibrator: Any) -> Curve | None:
    """The map from scores (n, 1) to probabilities: a sigmoid, or piecewise linear."""
    if hasattr(calibrator, "a_"):
        return lambda scores: sigmoid(-(scores * calibrator.a_ + calibrator.b_))
    if not hasattr(calibrator, "X_thresholds_"):
        return None
    x, y = calibrator.X_thresholds_[None], calibrator.y_thresholds_[None]
    widths = np.diff(x)
    slopes = np.diff(y) / np.where(widths > 0, widths, 1.0)

    def line(scores: Tensor) -> Tensor:
        passed = (scores - x[:, :-1]).at_least(0.0).at_most(widths)
        return (passed * slopes).sum(1) + y[0, 0]

    return line
