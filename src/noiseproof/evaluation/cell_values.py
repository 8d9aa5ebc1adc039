"""What it would be worth to know a missing value, before it is found out."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit

from noiseproof._docs import shared_docs
from noiseproof._private import _safe_indexing
from noiseproof.conditionals import holes
from noiseproof.evaluation.averaged import Averaged, Drawn, risk
from noiseproof.evaluation.value_corrections import ValueCorrection

Array = NDArray[np.float64]

_BANDWIDTH = 1.0  # of agreement, in standard deviations of the draws of a row
_BLOCK = 2**22  # numbers in a temporary array
_NODES, _SHARES = np.polynomial.hermite_e.hermegauss(20)
_SHARES = _SHARES / _SHARES.sum()  # integrals over a standard Gaussian


@shared_docs
def value_of_cells(model: Any, X: Any, *, scoring: str | None = None) -> Array:
    """Estimate how much knowing each missing value would lower the expected loss.

    Use it to decide which measurement to take next: a row with several missing values
    gains most from the one with the highest value.

    The model draws what the missing values of a row may be, and predicts for each draw.
    If one of the values were known, the draws that agree with it would count for more,
    and the average of their predictions would be more certain. The function averages
    this gain over the values that may be found. It fits no model, and the result for a
    row does not depend on the other rows of X.

    A row has few draws: 20, or `n_draws` of the model if that is more. Averages over
    few draws vary by chance, which looks like a gain. The scatter of the predictions
    tells how large this effect is, and the result is reduced accordingly. Then the
    values are corrected by training rows that `AverageOverMissing` has held out: some
    of their values are hidden and revealed again, which shows what each column is worth
    for how uncertain a prediction is. The correction is computed in the first call for
    a model, which takes about as long as predicting some thousand rows, and is kept in
    memory.

    No draws are needed for `JointGaussian` together with a linear regressor or a linear
    classifier of two classes: there the values are exact integrals, and not corrected.

    Parameters
    ----------
    model : estimator
        A fitted `AverageOverMissing`, a pipeline that ends with one, or a vote of such
        models, as `recommend` finds them.
    {incomplete X}
    scoring : {"log_loss", "accuracy", "squared_error"}, default=None
        The loss. None means "log_loss" for a classifier and "squared_error" for a
        regressor. With "accuracy" the loss is the share of errors. A single value
        rarely changes the predicted class, so many values are then zero.

    Returns
    -------
    values : array of shape (n_samples, n_features)
        Expected fall of the loss; NaN where the value is known already.

    {See Also: missing_cost, acquisition_curve}

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn.datasets import load_iris
    >>> from noiseproof import AverageOverMissing
    >>> from noiseproof.evaluation import value_of_cells
    >>> X, y = load_iris(return_X_y=True)
    >>> model = AverageOverMissing(conditional="donors", random_state=0).fit(X, y)
    >>> values = value_of_cells(model, [[5.0, np.nan, np.nan, np.nan]])
    >>> int(np.nanargmax(values)) in (2, 3)  # petals rather than the other width
    True
    """
    averaged = Averaged.of(model)
    scoring = averaged.scoring(scoring or _usual(averaged))
    X = averaged.read(X)
    gaps = np.flatnonzero(holes(X).any(axis=1))
    found = np.full(X.shape, np.nan)
    step = max(1, _BLOCK // (20 * X.shape[1]))
    for start in range(0, len(gaps), step):
        part = gaps[start : start + step]
        found[part] = row_values(averaged, _safe_indexing(X, part), scoring)
    return found


def _usual(averaged: Averaged) -> str | None:
    return None if averaged.classes is None else "log_loss"


def row_values(averaged: Averaged, X: Any, scoring: str) -> Array:
    """The values of missing cells of rows that all have some."""
    linear = linear_gains(averaged, X, scoring)
    if linear is not None:
        return linear
    drawn = Drawn(averaged, X)
    values = certain_gains(drawn, scoring, drawn.missing)
    correction = ValueCorrection.learned(averaged, scoring, certain_gains)
    if correction is None:
        return values
    return np.asarray(correction.of(values, drawn.risks(scoring)[0]))


def certain_gains(drawn: Drawn, scoring: str, asked: NDArray[np.bool_]) -> Array:
    """How far the loss falls for each missing value that is asked for."""
    raw, share = gains(drawn, scoring, asked)
    share = np.clip(share[0] / np.maximum(share[1], 1e-300), 0.0, 1.0)
    return np.maximum(raw * share, 0.0)


def gains(
    drawn: Drawn, scoring: str, asked: NDArray[np.bool_], most: int | None = None
) -> tuple[Array, Array]:
    """How far the loss falls for each missing value that is asked for, chance included.

    What may be found are the values of at most so many draws of a row, all by default.
    They are compared with the values of all draws.

    And the two sums of squares (2, n, d) whose quotient is the share that is not due to
    chance: how much the averages vary with the value of the cell, less what they would
    vary without any relation to it; and the former alone.
    """
    P, w = drawn.answers, drawn.weights
    wide = max(int(w.shape[1]), int(P.shape[-1]))
    some = min(most or w.shape[1], w.shape[1])
    # evenly spaced, since opposite draws of `JointGaussian` are half of all draws apart
    points = np.arange(some) * w.shape[1] // some
    n, d = asked.shape
    raw, spread = np.full((n, d), np.nan), np.full((2, n, d), np.nan)
    step = max(1, _BLOCK // wide**2)
    for j in range(d):
        rows = np.flatnonzero(asked[:, j])
        for start in range(0, len(rows), step):
            part = rows[start : start + step]
            codes = drawn.codes[part, :, j]
            smoother = _agreement(codes, w[part], points, drawn.is_number[j])
            raw[part, j], spread[:, part, j] = _gain(
                P[part], w[part], points, smoother, scoring
            )
    return raw, spread


def _agreement(codes: Array, weights: Array, points: Any, number: bool) -> Array:
    """Weights (n, points, K) of the draws if the value is that of one of the points."""
    apart = codes[:, points, None] - codes[:, None, :]
    if not number:
        return _normed((apart == 0) * weights[:, None, :])
    mean = np.einsum("nk,nk->n", weights, codes)
    squares = np.einsum("nk,nk->n", weights, (codes - mean[:, None]) ** 2)
    scale = np.where(squares > 0, _BANDWIDTH * np.sqrt(squares), 1.0)
    near = np.exp(-0.5 * (apart / scale[:, None, None]) ** 2)
    near = _normed(near * weights[:, None, :])
    # of a local line through the answers, not of a local mean, which would be flatter
    middle = np.einsum("nkl,nkl->nk", near, apart)[..., None]  # from the value itself
    spread = np.einsum("nkl,nkl->nk", near, (apart - middle) ** 2)[..., None]
    tilt = middle * (middle - apart) / np.where(spread > 0, spread, 1.0)
    return np.asarray(near * (1.0 + tilt))


def _normed(near: Array) -> Array:
    total = near.sum(axis=2, keepdims=True)  # zero only for draws of no weight
    return np.asarray(near / np.where(total > 0, total, 1.0))


def _gain(
    P: Array, w: Array, points: Any, S: Array, scoring: str
) -> tuple[Array, Array]:
    """The gain of one cell for each row, and the sums of squares of `gains`.

    If answers are a function of the value and independent noise, the squares of
    S P less the mean hold a share q of the variance of the noise, and those of the
    residuals P - S P a share r.
    """
    mean = np.einsum("nk,nkc->nc", w, P)[:, None]
    smooth = S @ P
    if scoring != "squared_error":  # a line may leave the range of probabilities
        smooth = np.clip(smooth, 0.0, 1.0)
    own = _normed(w[:, None, points])[:, 0]
    explained = np.einsum("nk,nkc->n", own, (smooth - mean) ** 2)
    gain = explained
    if scoring != "squared_error":
        after = np.einsum("nk,nk->n", own, risk(smooth, scoring))
        gain = risk(mean, scoring)[:, 0] - after
    left = np.einsum("nk,nkc->n", own, (P[:, points] - smooth) ** 2)
    q = np.einsum("nk,nkl->n", own, (S - w[:, None]) ** 2)
    r = np.einsum("nk,nkl->n", own, (np.eye(w.shape[1])[points] - S) ** 2)
    chance = q * left / np.where(r > 1e-9, r, np.inf)
    return gain, np.stack([explained - chance, explained])


def linear_gains(averaged: Averaged, X: Any, scoring: str) -> Array | None:
    """The same in closed form, if scores are Gaussian given the observed values.

    With one score s ~ N(m, v), and c its covariance with a missing value of variance u,
    knowing the value leaves the variance v - c²/u, and moves the mean by a Gaussian of
    variance c²/u. None where the model is not of this kind.
    """
    linear = getattr(averaged.model, "linear_", None)
    if not isinstance(linear, dict) or len(linear["coef"]) != 1:
        return None
    if averaged.classes is not None and linear["link"] != "expit":
        return None
    d = X.shape[1]
    coef = np.vstack([linear["coef"], np.eye(d)])
    intercept = np.append(linear["intercept"], np.zeros(d))
    step = max(1, _BLOCK // (d + 1) ** 2)
    found = np.empty(X.shape)
    for start in range(0, X.shape[0], step):
        part = slice(start, start + step)
        rows = _safe_indexing(X, np.arange(X.shape[0])[part])
        mean, covariance = averaged.law.scores(rows, coef, intercept)
        variance = np.maximum(np.einsum("njj->nj", covariance)[:, 1:], 1e-300)
        told = np.minimum(covariance[:, 0, 1:] ** 2 / variance, covariance[:, :1, 0])
        if averaged.classes is None:
            found[part] = told
        else:
            found[part] = _of_logits(mean[:, :1], covariance[:, :1, 0], told, scoring)
    return np.where(holes(X), found, np.nan)


def _of_logits(mean: Array, variance: Array, told: Array, scoring: str) -> Array:
    """The fall of the expected loss if `told` (n, d) of the variance (n, 1) is gone."""
    before = risk(_two(_probability(mean, variance)), scoring)
    after = np.zeros(told.shape)
    for node, share in zip(_NODES, _SHARES, strict=True):
        moved = mean + node * np.sqrt(told)
        after += share * risk(_two(_probability(moved, variance - told)), scoring)
    return before - after


def _probability(mean: Array, variance: Array) -> Array:
    """E expit(s) for s ~ N(mean, variance)."""
    points = mean[..., None] + np.sqrt(np.maximum(variance, 0.0))[..., None] * _NODES
    return np.asarray(expit(points) @ _SHARES)


def _two(p: Array) -> Array:
    return np.stack([1.0 - p, p], axis=-1)
