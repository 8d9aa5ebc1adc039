"""Brute force over all rows of a grid: how far it is to another prediction."""

import numpy as np


def by_change(answers, axes):
    """Fewest axes (or sets of axes) to move along from each point to another answer.

    `answers` holds the prediction at every point of a grid. Distances are found by
    trying all values on one axis (set of axes) after another, which tries everything.
    """
    return _nearest(answers, axes, lambda far, axis: far.min(axis=axis, keepdims=True))


def by_deletion(answers, axes):
    """The same, where all that a move can do is to lead to the last value: missing."""

    def missing(far, axis):
        for a in axis:
            far = far.take([-1], axis=a)
        return far

    return _nearest(answers, axes, missing)


def _nearest(answers, axes, moved):
    found = np.full(answers.shape, np.inf)
    for answer in np.unique(answers):
        far = np.where(answers == answer, np.inf, 0.0)
        for axis in axes:
            axis = axis if isinstance(axis, tuple) else (axis,)
            far = np.minimum(far, moved(far, axis) + 1)
        found = np.where(answers == answer, far, found)
    return found


def grid(values, d):
    """All rows of d values, in the order of an array with d axes."""
    return np.stack(np.meshgrid(*[values] * d, indexing="ij"), axis=-1).reshape(-1, d)
