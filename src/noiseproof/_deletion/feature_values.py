"""Feature values, estimated from data."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.utils import check_X_y

from noiseproof._docs import shared_docs
from noiseproof._rows import canonical, column_blocks, read_weights

_BLOCK = 1 << 22  # entries of a dense block of columns


@shared_docs
def mutual_info_values(
    X: Any, y: ArrayLike, *, sample_weight: ArrayLike | None = None
) -> NDArray[np.float64]:
    """Compute feature values by mutual information with the label.

        v_j = (1/Z) max over c of I([x_j > c]; y)

    (Dekel and Shamir 2008, section 4): the information about the label in the best
    threshold on the feature alone. Z scales the values to the sum n_features. Each
    feature costs one sort of its stored entries.

    Parameters
    ----------
    X : array-like or sparse matrix of shape (n_samples, n_features)
        Data; a missing entry (NaN) counts as zero, as it does in a linear score.
    y : array-like of shape (n_samples,)
        Class labels, two or more.
    sample_weight : array-like of shape (n_samples,), default=None
        Weight of each row: how often it counts.

    Returns
    -------
    values : array of shape (n_features,)
        Not negative, with the sum n_features; all ones if no feature is informative.

    See Also
    --------
    RobustLPClassifier : Takes such values.
    noiseproof.attacks.FeatureDeletion : Takes such values.

    {References: Dekel 2008}

    Examples
    --------
    >>> from noiseproof import mutual_info_values
    >>> mutual_info_values([[0, 1], [0, 3], [1, 2], [1, 4]], [0, 0, 1, 1]).round(2)
    array([1.53, 0.47])
    """
    # Numba is imported here, at the first call, to keep the import light
    from noiseproof._deletion.kernels import best_thresholds

    X, y = check_X_y(
        X, y, accept_sparse="csr", dtype=None, ensure_all_finite="allow-nan"
    )
    X = canonical(X)
    weights = read_weights(sample_weight, X)
    classes, labels = np.unique(y, return_inverse=True)
    totals = np.bincount(labels, weights, minlength=len(classes))
    labels = labels.astype(np.uint64)
    information = np.zeros(X.shape[1])
    for columns, part in column_blocks(X, _BLOCK):
        # indices are cast to 32 bits, so that one compiled loop serves all
        where = (ids.astype(np.uint32) for ids in (part.indices, part.indptr))
        best_thresholds(
            part.data, *where, labels, weights, totals, information[columns]
        )
    scale = information.sum()
    if not scale > 0:
        return np.ones(X.shape[1])
    return information * (X.shape[1] / scale)
