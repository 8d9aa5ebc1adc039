"""Assign features to the parts of an ensemble, so that each part predicts well."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import linear_sum_assignment

from noiseproof._rows import (
    DenseBlock,
    as_design,
    has_missing,
    missing_entries,
    values,
    with_values,
    zero_missing,
)

Array = NDArray[np.float64]
Columns = NDArray[np.intp]


def separation(X: Any, labels: NDArray[np.intp], weights: Array | None) -> Array:
    """η² of each feature: the share of its variance that lies between the classes."""
    weights = np.ones(len(labels)) if weights is None else weights
    member = np.eye(labels.max() + 1)[labels] * weights[:, None]
    there = np.tile(member.sum(axis=0), (X.shape[1], 1))
    if has_missing(X):
        there -= np.asarray(missing_entries(X).T @ member)
    X = zero_missing(X).astype(np.float64)
    sums = np.asarray(X.T @ member)
    squares = np.asarray(with_values(X, values(X) ** 2).T @ weights)
    n = np.maximum(there.sum(axis=1), np.finfo(float).tiny)
    shift = sums.sum(axis=1) ** 2 / n
    between = (sums**2 / np.maximum(there, np.finfo(float).tiny)).sum(axis=1) - shift
    total = squares - shift
    varied = total > 1e-12 * squares  # what is left of a constant is rounding
    return np.where(varied, between / np.where(varied, total, 1.0), 0.0).clip(0, 1)


def likeness(X: Any, group: Columns, weights: Array | None) -> Array:
    """Squared correlations of the features of two groups, summed, for all pairs."""
    weights = np.ones(X.shape[0]) if weights is None else weights
    weights = weights / weights.sum()
    X = zero_missing(X).astype(np.float64)

    def products(block: DenseBlock) -> list[Array]:
        return [(block.x * weights[block.rows, None]).T @ block.x]

    mean, (gram,) = np.asarray(X.T @ weights), as_design(X).total(products)
    covariance = gram - np.outer(mean, mean)
    variance = covariance.diagonal()
    varied = variance > 1e-12 * gram.diagonal()  # else what is left is rounding
    scale = np.sqrt(np.where(varied, 1 / np.where(varied, variance, 1.0), 0.0))
    squared = (covariance * np.outer(scale, scale)) ** 2
    member = np.eye(group.max() + 1)[group]
    found = member.T @ np.nan_to_num(squared, posinf=0.0) @ member  # of huge numbers
    return np.round(found, 9)  # the order of adding must not decide


def deal(scores: Array, n_parts: int, alike: Array | None = None) -> Columns:
    """Assign groups of features to parts, so that no part holds much that is redundant.

    Groups are taken in rounds, those of the highest scores first, and in each round
    every part gets one. `alike` holds the similarities of all pairs of groups, which a
    round minimises. None stands for the products of their scores: then the part with
    the lowest total gets the group with the highest score of a round. Groups of equal
    scores are taken in their order. Returns the part of each group.
    """
    scores = np.round(scores, 12)  # the order of adding must not decide
    order = np.argsort(-scores, kind="stable")
    part, total = np.empty(len(scores), dtype=np.intp), np.zeros(n_parts)
    shared = np.zeros((n_parts, 0 if alike is None else len(scores)))
    for first in range(0, len(order), n_parts):
        hand = order[first : first + n_parts]
        if alike is None:
            parts = np.argsort(total, kind="stable")[: len(hand)]
        else:
            parts = linear_sum_assignment(shared[:, hand].T)[1]
            shared[parts] += alike[hand]
        part[hand] = parts
        total[parts] += scores[hand]
    return part


def strides(n: int, n_parts: int) -> Columns:
    """Put every n_parts-th feature into the same part: for images, a coarse image."""
    return np.arange(n) % n_parts


def given(partition: Any, group: Columns) -> Columns:
    """The part of each feature as the user passed it, renumbered from 0."""
    part = np.asarray(partition)
    if part.shape != group.shape or part.dtype.kind not in "iu":
        raise ValueError(
            "partition must be 'balanced', 'strides' or an array of integers, the part "
            f"of each of the {len(group)} features; got an array of {part.dtype}, of "
            f"shape {part.shape}."
        )
    part = np.unique(part, return_inverse=True)[1]
    parts_of = np.unique(np.stack([group, part]), axis=1)[0]
    split = np.flatnonzero(np.bincount(parts_of) > 1)
    if len(split):
        member = np.flatnonzero(group == split[0])
        raise ValueError(
            f"The features {member.tolist()} are a group, but the partition puts them "
            "into several parts; put all features of a group into the same part."
        )
    return part


def tenths(y: Array, weights: Array | None) -> Columns:
    """The decile that each target belongs to; equal targets stay together."""
    inverse, below = _shares(y, weights)[1:]
    place = np.diff(below, prepend=0.0) / -2 + below
    tenth = np.minimum((10 * place).astype(np.intp), 9)
    return np.unique(tenth, return_inverse=True)[1][inverse]


def middle(y: Array, weights: Array | None) -> float:
    """The median of the targets; between two, the lower one."""
    values, _, below = _shares(y, weights)
    return float(values[np.searchsorted(below, 0.5)])


def _shares(y: Array, weights: Array | None) -> tuple[Array, Columns, Array]:
    """Distinct targets, the index of each target among them, and cumulative shares."""
    distinct, inverse = np.unique(y, return_inverse=True)
    below = np.cumsum(np.bincount(inverse, weights, len(distinct)))
    return distinct, inverse, below / below[-1]
