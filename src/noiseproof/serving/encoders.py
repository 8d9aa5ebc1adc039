"""What is known about columns from the `TableEncoder` of a model."""

from __future__ import annotations

from typing import Any

from noiseproof.serving.columns import Column
from noiseproof.tables import TableEncoder


def encoder_of(model: Any) -> TableEncoder | None:
    """The `TableEncoder` at the start of a pipeline, even inside a wrapper.

    For a blend it is the encoder of the first member.
    """
    while not hasattr(model, "steps"):
        if hasattr(model, "named_estimators_"):
            model = model.estimators_[0]
        elif hasattr(model, "estimator_"):
            model = model.estimator_
        else:
            return None
    first = model.steps[0][1]
    return first if isinstance(first, TableEncoder) else None


def kinds_of(model: Any) -> dict[str, str]:
    """Kinds of columns that the encoder knows, and their types do not tell.

    Codes and texts are categories, however many values they have, because each value
    becomes a feature. A column of text that the encoder coerces to numbers stays text.
    """
    encoder = encoder_of(model)
    if encoder is None:
        return {}
    known = dict.fromkeys(encoder.text_columns_, "category")
    return known | dict.fromkeys(map(str, encoder.coerce), "text")


def remembered_columns(model: Any) -> list[Column] | None:
    """Columns as the encoder knows them, without ranges; None without an encoder.

    Rates of missing values are known for pipelines only: the encoder of an averaged
    model has seen completed rows.
    """
    encoder = encoder_of(model)
    if encoder is None or not hasattr(encoder, "feature_names_in_"):
        return None
    kinds, words = kinds_of(model), encoder.known_texts()
    rates = dict(encoder.missing_rates_) if hasattr(model, "steps") else {}
    found = []
    for name in encoder.feature_names_in_:
        kind = kinds.get(name, "number")
        dtype = "float64" if kind == "number" else "object"
        rate, known = rates.get(name), words.get(name)
        found.append(Column(name, kind, dtype, rate, words=known))
    return found
