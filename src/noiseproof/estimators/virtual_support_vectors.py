"""Training on transformed copies of those rows only that carry the solution."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.svm import SVC

from noiseproof._docs import shared_docs
from noiseproof.estimators.virtual_examples import VirtualExamples


@shared_docs
class VirtualSupportVectors(VirtualExamples):
    """Fit an SVM, transform its support vectors, and fit again on these alone.

    DeCoste and Schölkopf 2002; see Teo et al. 2008, section 4. The second fit sees the
    support vectors of the first and all that the attack may make of them, which are
    far fewer rows than `VirtualExamples` makes.

    Parameters
    ----------
    estimator : estimator, default=None
        What to fit; it must have the attribute `support_` after `fit`. None means
        `SVC(gamma="auto")`, solved to high accuracy.
    {attack}
        It must be finite: one that lists its `candidates`.

    Attributes
    ----------
    estimator_ : estimator
        The estimator of the second fit.
    support_ : array of shape (n_support,)
        Rows of the training data that were the support vectors of the first fit.
    classes_ : array of shape (n_classes,)
        Labels, if the estimator has them.

    See Also
    --------
    VirtualExamples : Transforms every row.
    InvariantSVC : Learns from the worst transforms.

    {References: DeCoste 2002, Teo 2008}

    Examples
    --------
    >>> from sklearn.datasets import load_digits
    >>> from sklearn.svm import SVC
    >>> from noiseproof import VirtualSupportVectors
    >>> from noiseproof.attacks import ImageShift
    >>> X, y = load_digits(return_X_y=True)
    >>> plain = SVC().fit(X[:100], y[:100])
    >>> model = VirtualSupportVectors(SVC(), ImageShift()).fit(X[:100], y[:100])
    >>> bool(model.score(X[100:], y[100:]) > plain.score(X[100:], y[100:]))
    True
    """

    @staticmethod
    def _default() -> Any:
        # neither the bandwidth nor the stop may depend on how rows are weighted
        return SVC(gamma="auto", tol=1e-8)

    def _fit(self, X: Any, y: Any, sample_weight: Any, attack: Any) -> Any:
        fit, rows = super()._fit, np.arange(len(y))
        if sample_weight is not None:
            # SVC numbers its support vectors as if rows of weight zero were not there
            rows = np.flatnonzero(sample_weight)
            X, y, sample_weight = X[rows], y[rows], sample_weight[rows]
        first = fit(X, y, sample_weight, None)
        if not hasattr(first, "support_"):
            raise TypeError(
                "VirtualSupportVectors needs an estimator with support_ after fit, "
                f"such as SVC; {type(first).__name__} has none."
            )
        kept, fitted = first.support_, first
        if attack is not None:
            weights = None if sample_weight is None else sample_weight[kept]
            fitted = fit(X[kept], y[kept], weights, attack)
        self.support_ = rows[kept]
        return fitted
