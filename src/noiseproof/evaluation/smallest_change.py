"""The smallest change of a row that changes its class, by kind of attack."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from noiseproof.attacks import FeatureDeletion, FeatureScaling, NormBall
from noiseproof.attacks.budget import check_budget
from noiseproof.attacks.rows import readable, stored_rows, unsigned, zero_missing
from noiseproof.evaluation.linear import LinearView

__all__ = ["SMALLEST", "Found"]

Array = NDArray[np.float64]
Labels = NDArray[np.int64]

# A depth-first search meets at most 2^(n+1) branches, so a row whose prediction hangs
# on up to 13 features is always searched to the end; most rows need a few dozen.
MAX_BRANCHES = 2**14
_DUAL = {1: np.inf, 2: 2, np.inf: 1}
_GRID = 2.0**8  # products of numbers with 8 binary digits after the point are exact


class Found(NamedTuple):
    """A part of `Certificates`, which says what the names mean."""

    budget: Array
    exact: NDArray[np.bool_]
    unit: str
    changes: Any = None


def _deletion(
    attack: FeatureDeletion, view: LinearView, rows: Any, own: Labels
) -> Found:
    values = check_budget(0.0, attack.values, rows.shape[1])
    return _cheapest(view, rows, own, values, (0.0, 1.0))


def _scaling(attack: FeatureScaling, view: LinearView, rows: Any, own: Labels) -> Found:
    factors = float(attack.low), float(attack.high)
    if not (np.isfinite(factors).all() and factors[0] <= factors[1]):
        raise ValueError(
            "FeatureScaling.low and high must be finite, low not above high; got "
            f"{attack.low!r} and {attack.high!r}."
        )
    return _cheapest(view, rows, own, np.ones(rows.shape[1]), factors)


def _cheapest(
    view: LinearView,
    rows: Any,
    own: Labels,
    values: Array,
    factors: tuple[float, float],
) -> Found:
    # Numba is imported here, at the first certificate, to keep the import light
    from noiseproof.evaluation.kernels import cheapest_changes

    d = rows.shape[1]
    eps = max(view.eps, float(np.finfo(rows.dtype).eps))
    stored = stored_rows(readable(rows))
    if factors == (0.0, 1.0) and _adds_up_exactly(view, stored, eps):
        eps = 0.0
    doubts = eps * (d + 8) * np.abs(view.shifted).sum(axis=1)
    scale = values.max(initial=0.0)
    plain = bool(np.isin(values, (0.0, scale)).all()) and scale > 0
    whole = bool(np.all(values == np.round(values)))
    changed = np.zeros(len(stored.data), dtype=bool)
    budget, exact = cheapest_changes(
        *unsigned(stored),
        *(own.astype(np.uint64), (view.coef, view.intercepts(rows), doubts)),
        *(values / scale if plain else values, factors, (eps, d * view.centred)),
        *((plain, whole, MAX_BRANCHES), changed),
    )
    unit = "features" if np.all(values == 1) else "value"
    budget = budget * scale if plain else budget
    return Found(budget, exact, unit, _marked(stored, changed))


def _marked(stored: Any, changed: NDArray[np.bool_]) -> Any:
    """The marked entries as a CSR matrix of their own."""
    ends = np.concatenate([[0], np.cumsum(changed)])[stored.indptr]
    ones = np.ones(ends[-1], dtype=bool)
    return sp.csr_array((ones, stored.indices[changed], ends), shape=stored.shape)


def _adds_up_exactly(view: LinearView, stored: Any, eps: float) -> bool:
    """Whether no sum is ever rounded: few binary digits and no scaler at work.

    Then a tie is a tie, as it often is with whole numbers, and is decided as the model
    decides it.
    """
    if view.space == "input" and view.scaler is not None:
        return False
    parts = (2 * view.coef, 2 * view.intercept, stored.data)  # 2: of one vector, w/2
    if any(np.any(part * _GRID != np.round(part * _GRID)) for part in parts):
        return False
    w, b, x = (float(np.abs(part).max(initial=0.0)) for part in parts)
    return (stored.shape[1] * w * x + b) * _GRID**2 * eps < 1


def _norm_ball(attack: NormBall, view: LinearView, rows: Any, own: Labels) -> Found:
    """Smallest radius: min over rivals of the lead by the dual norm of w_own - w_r.

    The lead is taken at the least that rounding can make of it, before and after.
    """
    if attack.ord not in _DUAL:
        raise ValueError(f"NormBall.ord must be 1, 2 or inf; got {attack.ord!r}.")
    n, d = rows.shape
    unit = max(view.eps, float(np.finfo(rows.dtype).eps)) * (d + 8)
    size = np.abs(zero_missing(rows)) @ np.abs(view.coef).T + np.abs(view.intercept)
    doubt = unit * (size + np.abs(view.shifted).sum(axis=1))
    scores = view.scores(rows)
    each = np.arange(n)
    lead = (scores - doubt)[each, own][:, None] - (scores + doubt)
    norms = _dual_norms(view.coef, _DUAL[attack.ord], unit)[own]
    for i, seen in _incomplete(rows):  # what is missing cannot move
        norms[i] = _dual_norms(view.coef * seen, _DUAL[attack.ord], unit)[own[i]]
    with np.errstate(divide="ignore", invalid="ignore"):
        radius = np.where(norms > 0, np.maximum(lead, 0) / norms, np.inf)
    radius[each, own] = np.inf
    return Found(radius.min(axis=1), np.ones(n, dtype=bool), "radius")


def _dual_norms(coef: Array, order: float, unit: float) -> Array:
    """Norms of all differences of two classes' weights, at the most by rounding."""
    norms = np.linalg.norm(coef, order, axis=1)
    apart = np.stack([np.linalg.norm(w - coef, order, axis=1) for w in coef])
    return np.where(apart > 0, apart + unit * (norms[:, None] + norms), 0.0)


def _incomplete(rows: Any) -> Iterator[tuple[int, NDArray[np.bool_]]]:
    """Rows with missing features, and which of their features are there."""
    values = rows.data if sp.issparse(rows) else rows
    if not np.isnan(values).any():
        return
    for i in range(rows.shape[0]):
        row = rows[[i]].toarray()[0] if sp.issparse(rows) else rows[i]
        if np.isnan(row).any():
            yield i, ~np.isnan(row)


SMALLEST: dict[type, Callable[..., Found]] = {
    FeatureDeletion: _deletion,
    FeatureScaling: _scaling,
    NormBall: _norm_ball,
}
