"""Columns and sensors of a table as groups of the features behind the encoder."""

from __future__ import annotations

from typing import Any


def feature_groups(
    saved: Any, X: Any, sensors: dict[str, list[str]] | None
) -> dict[str, list[int]]:
    """Numbers of the features that belong to each sensor, or to each column.

    A text column has a feature for each of its values; they are lost together.
    """
    columns = _features_by_column(saved, X)
    if sensors is None:
        return columns
    unknown = [
        name for part in sensors.values() for name in part if str(name) not in columns
    ]
    if unknown:
        raise ValueError(
            f"The groups name a column that the model does not have: {unknown[0]!r}."
        )
    return {
        sensor: [feature for name in part for feature in columns[str(name)]]
        for sensor, part in sensors.items()
    }


def _features_by_column(saved: Any, X: Any) -> dict[str, list[int]]:
    """Numbers of the features of each column."""
    encoder = saved.encoder
    names = saved.feature_names(X)
    if encoder is None or not encoder.text_columns_:
        return {name: [j] for j, name in enumerate(names)}
    one_hot = encoder.encoder_.named_transformers_["text"]
    counts = [len(values) for values in one_hot.categories_]
    n_numbers = len(names) - sum(counts)
    columns = {name: [j] for j, name in enumerate(names[:n_numbers])}
    start = n_numbers
    for name, count in zip(encoder.text_columns_, counts, strict=True):
        columns[name] = list(range(start, start + count))
        start += count
    return columns
