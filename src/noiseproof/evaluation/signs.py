"""Signs that values are missing for other reasons, or that rows have changed."""

from __future__ import annotations

import warnings
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.stats import chi2, norm

from noiseproof._conformal import missing_values, without
from noiseproof._private import _safe_indexing
from noiseproof.evaluation.averaged import N_DRAWS, codes_of, numbers_of
from noiseproof.evaluation.corrections import ENOUGH, like

Array = NDArray[np.float64]
Mask = NDArray[np.bool_]

_TURNS = 2  # in each of which a part of the values still there is hidden and guessed
_FEW = 20  # values, of which no mean is told
_ROWS = 500  # of today that are looked at, and labelled ones
_MOST = 8  # patterns of today that a labelled row gets, if there are few such rows
_CERTAINLY = 0.01  # probability of a false sign
_SHIFT = 0.1  # standard deviations, below which a shift does no harm
_WORSE = 1.5  # times the squared error of guesses on labelled rows
_MORE = 0.02  # share of values that must be missing beyond that of training

_NEW = (
    "Never missing in the labelled rows: {}. The estimate assumes that these values "
    "are missing at random."
)
_TOGETHER = (
    "Never missing together in the labelled rows: {}. The estimate assumes that these "
    "values are missing at random."
)
_BY_VALUE = (
    "The observed values of some columns differ from what the other columns predict: "
    "{}. Their values are probably missing because of what they are, which the "
    "estimate cannot take into account."
)
_UNCHECKED = (
    "There are too few observed values to check why values are missing: {}. If they "
    "are missing because of what they are, the estimate is wrong."
)
_OTHER_ROWS = (
    "The rows are not like the training rows{}. The estimate only holds for rows that "
    "are."
)


def warning_signs(
    law: Any, X: Any, names: list[str], labelled: Any, rng: Any
) -> list[str]:
    """Sentences about reasons to doubt the estimates.

    Observed values are hidden in turns, and predicted from the other values of their
    row. If values are missing at random, and rows are distributed as in training, these
    predictions are unbiased, and as good as for labelled rows with the same missing
    values. `law` has not seen these labelled rows.
    """
    if labelled is None:
        return []
    gone, before = missing_values(X), missing_values(labelled)
    found = _of_patterns(gone, before, names)
    rows = _sampled(X, _ROWS, rng)
    most = min(_ROWS, ENOUGH * max(len(gone), _FEW))
    known = _sampled(labelled, most, rng)
    own, patterns = missing_values(known), missing_values(rows)
    repeats = int(np.clip(most // len(own), 1, _MOST))
    masked = (without(known, own | like(own, patterns, rng)) for _ in range(repeats))
    then = np.stack([_guessed(law, part, rng) for part in masked])
    shift, z, worse, sure = _compared(_guessed(law, rows, rng), then)
    moved = _moved(shift, z)
    rarely = gone.mean(axis=0) > before.mean(axis=0) + _MORE
    unchecked = rarely & ~gone.all(axis=0) & ~np.isfinite(z)
    if unchecked.sum() > gone.any(axis=0).sum() / 2:
        found.append(_UNCHECKED.format(_listed(names, unchecked)))
    if (moved & rarely).any():
        found.append(_BY_VALUE.format(_listed(names, moved & rarely)))
    elsewhere = moved & ~rarely
    if elsewhere.any() or (worse > _WORSE and sure > norm.isf(_CERTAINLY)):
        what = f": {_listed(names, elsewhere)}" if elsewhere.any() else ""
        found.append(_OTHER_ROWS.format(what))
    return found


def _of_patterns(gone: Mask, before: Mask, names: list[str]) -> list[str]:
    """Columns, and pairs of columns, that are missing today, but never before.

    Those are left out that are missing so rarely that the labelled rows might have had
    no such row by chance.
    """
    if not before.any():
        return []  # rows that are complete on purpose
    joint, then = (part.T.astype(np.float64) @ part for part in (gone, before))
    surely = joint / len(gone) * len(before) > -np.log(_CERTAINLY)
    new, found = surely & (then == 0), []
    if new.diagonal().any():
        found.append(_NEW.format(_listed(names, new.diagonal())))
    often = then.diagonal() > 0
    pairs = np.argwhere(np.triu(new & often & often[:, None], 1))
    if len(pairs):
        told = [f"{names[i]} with {names[j]}" for i, j in pairs]
        found.append(_TOGETHER.format(_listed(told, np.ones(len(told), dtype=bool))))
    return found


def _moved(shift: Array, z: Array) -> NDArray[np.bool_]:
    """Columns whose values have shifted; or the clearest, if only all together do."""
    some = np.isfinite(z)
    size = np.where(some, np.abs(z), 0.0)
    limit = norm.isf(_CERTAINLY / 2 / max(some.sum(), 1))
    moved = (size > limit) & (np.abs(shift) > _SHIFT)
    if moved.any() or not some.any():
        return np.asarray(moved)
    together = chi2.sf((size**2).sum(), some.sum()) < _CERTAINLY
    far = np.mean(np.abs(shift[some])) > _SHIFT
    return np.asarray((size == size.max()) & together & far)


def _sampled(X: Any, most: int, rng: Any) -> Any:
    n = X.shape[0]
    return X if n <= most else _safe_indexing(X, rng.permutation(n)[:most])


def _guessed(law: Any, X: Any, rng: Any) -> Array:
    """How far hidden values are from their predictions, in standard deviations."""
    there = ~missing_values(X)
    n, d = there.shape
    turn = rng.permuted(np.tile(np.arange(d) % _TURNS, (n, 1)), axis=1)
    own, number = codes_of(law, X), numbers_of(law, d)
    apart = np.full((n, d), np.nan)
    for i in range(_TURNS):
        hidden = there & (turn == i)
        hidden &= (there & ~hidden).any(axis=1)[:, None]  # something is left
        rows = np.flatnonzero(hidden.any(axis=1))
        if not len(rows):
            continue
        part = without(_safe_indexing(X, rows), hidden[rows])
        draws = law.draws(part, N_DRAWS)
        guess, true = codes_of(law, draws.rows), own[rows][draws.origin]
        # of words how often the guess is wrong
        off = np.where(number, true - guess, true != guess) * draws.weights[:, None]
        off = np.add.reduceat(off, np.searchsorted(draws.origin, np.arange(len(rows))))
        apart[hidden] = _placed(off, rows, apart.shape)[hidden]
    cells = getattr(law, "cells_", None)
    if cells is None:
        return apart / np.nanstd(own, axis=0)
    return np.asarray(apart / np.where(number, cells.scales, 1.0))


def _placed(part: Array, rows: Any, shape: tuple[int, ...]) -> Array:
    whole = np.full(shape, np.nan)
    whole[rows] = part
    return whole


def _compared(now: Array, then: Array) -> tuple[Array, Array, float, float]:
    """Shifts of columns and their z; how much worse predictions are, and its z.

    `then`, of shape (repeats, n, d), has each labelled row several times.
    """
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # columns without a value
        each = np.nanmean(then, axis=0)  # repeats of a row are not independent
        means, variances, counts = (
            np.array([ask(part) for part in (now, each)])
            for ask in (
                partial(np.nanmean, axis=0),
                partial(np.nanvar, axis=0),
                lambda part: (~np.isnan(part)).sum(axis=0),
            )
        )
    enough = (counts > _FEW).all(axis=0)
    shift = np.where(enough, means[0] - means[1], np.nan)
    errors = (variances / np.maximum(counts, 1)).sum(axis=0)
    z = shift / np.sqrt(np.maximum(errors, 1e-300))
    (a, va), (b, vb) = (_squares(part) for part in (now, then))
    worse, vb = float(a / max(b, 1e-12)), vb * len(then)
    return shift, z, worse, float((a - _WORSE * b) / np.sqrt(va + _WORSE**2 * vb))


def _squares(apart: Array) -> tuple[float, float]:
    """Mean of the squares, which are capped, and the variance of this mean."""
    found = np.minimum(apart[~np.isnan(apart)] ** 2, 25.0)
    if not len(found):
        return 0.0, np.inf
    return float(found.mean()), float(found.var() / len(found)) + 1e-12


def _listed(names: list[str], which: Any, most: int = 5) -> str:
    chosen = [name for name, one in zip(names, which, strict=True) if one]
    more = f" and {len(chosen) - most} more" if len(chosen) > most else ""
    return ", ".join(chosen[:most]) + more
