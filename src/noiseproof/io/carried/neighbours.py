"""Nearest neighbours of scikit-learn: rows are saved, search trees built again."""

from __future__ import annotations

from typing import Any

from sklearn import neighbors

from noiseproof._private import grow_search_tree, without_search_tree

NAMES = (
    *("KNeighborsClassifier", "KNeighborsRegressor", "LocalOutlierFactor"),
    *("NearestNeighbors", "RadiusNeighborsClassifier", "RadiusNeighborsRegressor"),
)


def write(model: Any) -> dict[str, Any]:
    """All attributes but the tree."""
    return without_search_tree(model)


def read(name: str, state: dict[str, Any]) -> Any:
    """A model of that class, with a tree if it had one."""
    cls = getattr(neighbors, name)
    model = cls.__new__(cls)
    vars(model).update(state)
    grow_search_tree(model)
    return model
