"""Training on transformed copies of the support vectors."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.svm import SVC

from noiseproof._docs import shared_docs
from noiseproof.estimators.virtual_examples import VirtualExamples


@shared_docs
class VirtualSupportVectors(VirtualExamples):
    """Fit an SVM, transform its support vectors, and fit it again on these alone.

    The second fit uses the support vectors of the first and all their versions under
    the attack, which are far fewer rows than for `VirtualExamples` (DeCoste and
    Schölkopf 2002; see Teo et al. 2008, section 4).

    Parameters
    ----------
    estimator : estimator, default=None
        The estimator to fit. It must have the attribute `support_` after `fit`. None
        means `SVC(gamma="auto")`, solved to high accuracy.
    {attack}
        The attack must be finite, which means that it lists its `candidates`.

    Attributes
    ----------
    estimator_ : estimator
        The estimator of the second fit.
    support_ : array of shape (n_support,)
        Indices of the training rows that are the support vectors of the first fit.
    classes_ : array of shape (n_classes,)
        Class labels, if the estimator has them.

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
        # gamma and the accuracy must not depend on the weights of rows
        return SVC(gamma="auto", tol=1e-8)

    def _fit(self, X: Any, y: Any, sample_weight: Any, attack: Any) -> Any:
        fit, rows = super()._fit, np.arange(len(y))
        if sample_weight is not None:
            # SVC does not count rows of weight zero in the indices of support vectors
            rows = np.flatnonzero(sample_weight)
            X, y, sample_weight = X[rows], y[rows], sample_weight[rows]
        first = fit(X, y, sample_weight, None)
        if not hasattr(first, "support_"):
            raise TypeError(
                "VirtualSupportVectors needs an estimator that has the attribute "
                f"support_ after fit, such as SVC; {type(first).__name__} does not "
                "have it."
            )
        kept, fitted = first.support_, first
        if attack is not None:
            weights = None if sample_weight is None else sample_weight[kept]
            fitted = fit(X[kept], y[kept], weights, attack)
        self.support_ = rows[kept]
        return fitted
