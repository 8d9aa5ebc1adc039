"""What the `TableEncoder` of a model says about its columns."""

from __future__ import annotations

from typing import Any

from noiseproof.serving.columns import Column
from noiseproof.tables import TableEncoder


def encoder_of(model: Any) -> TableEncoder | None:
    """The `TableEncoder` at the start of a pipeline, also of a wrapped one.

    Of a blend it is that of the first member.
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
    """Kinds of columns that the encoder knows better than their types tell.

    Codes and texts are categories, however many there are, as each word is a feature; a
    column of text that it coerces is read by the encoder itself.
    """
    encoder = encoder_of(model)
    if encoder is None:
        return {}
    known = dict.fromkeys(encoder.text_columns_, "category")
    return known | dict.fromkeys(map(str, encoder.coerce), "text")


def remembered_columns(model: Any) -> list[Column] | None:
    """Columns as the encoder remembers them, without ranges; None if it does not.

    How much was missing in training is known of a pipeline only: the encoder of an
    averaged model has seen rows whose missing values were filled.
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
