"""Training on all transformed copies: the simplest way to an invariant model."""

from __future__ import annotations

from typing import Any

from sklearn.svm import LinearSVC

from noiseproof.estimators.meta import VirtualBase


class VirtualExamples(VirtualBase):
    """Fit any estimator on every row and all that an attack may make of it.

    The rival VIR-SVM of Teo et al. 2008, section 5.1. Each copy counts as much as its
    row does: c candidates of a row are c rows, so for an estimator whose loss is a sum
    over rows, such as an SVM, divide `C` by c to keep the balance with the penalty.

    Parameters
    ----------
    estimator : estimator, default=None
        What to fit. None means `LinearSVC`, solved to high accuracy.
    attack : Attack, default=None
        A finite attack: one that lists its `candidates`. None leaves the data alone.

    Attributes
    ----------
    estimator_ : estimator
        The fitted estimator.
    classes_ : array of shape (n_classes,)
        Labels, if the estimator has them.

    Examples
    --------
    >>> from sklearn.datasets import load_digits
    >>> from sklearn.svm import SVC
    >>> from noiseproof import VirtualExamples
    >>> from noiseproof.attacks import ImageShift
    >>> X, y = load_digits(return_X_y=True)
    >>> plain = SVC().fit(X[:100], y[:100])
    >>> model = VirtualExamples(SVC(), ImageShift()).fit(X[:100], y[:100])
    >>> bool(model.score(X[100:], y[100:]) > plain.score(X[100:], y[100:]))
    True
    """

    @staticmethod
    def _default() -> Any:
        # the primal needs no random order, and a tight stop makes weights repetitions
        return LinearSVC(dual=False, tol=1e-8)

    def _fit(self, X: Any, y: Any, sample_weight: Any) -> Any:
        return self._fit_copies(X, y, sample_weight, self.attack)
