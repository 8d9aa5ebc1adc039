"""Training on all transformed copies of the rows."""

from __future__ import annotations

from typing import Any, ClassVar, Self

from sklearn.base import clone
from sklearn.svm import LinearSVC

from noiseproof._docs import shared_docs
from noiseproof._private import HasMethods, check_parameters
from noiseproof._rows import read_training, without_zeros
from noiseproof.attacks import Attack
from noiseproof.estimators.meta import Delegator, passed_weights


@shared_docs
class VirtualExamples(Delegator):
    """Fit any estimator on every row and on all its versions under an attack.

    This is the method VIR-SVM in Teo et al. 2008, section 5.1. Each version of a row
    has the weight of the row itself. So if a row has c versions (candidates), it counts
    c times. For an estimator whose loss is a sum over rows, such as an SVM, divide `C`
    by c to keep the strength of the regularisation.

    Parameters
    ----------
    estimator : estimator, default=None
        The estimator to fit. None means `LinearSVC`, solved to high accuracy.
    {attack}
        The attack must be finite, which means that it lists its `candidates`.

    Attributes
    ----------
    {estimator_}
    classes_ : array of shape (n_classes,)
        Class labels, if the estimator has them.

    See Also
    --------
    VirtualSupportVectors : Trains an SVM on transforms of its support vectors.
    InvariantSVC : Learns from the worst transforms.
    CorruptedCopies : Trains on copies made by noise.

    {References: DeCoste 2002, Teo 2008}

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

    _parameter_constraints: ClassVar[dict[str, Any]] = {
        "estimator": [HasMethods(["fit", "predict"]), None],
        "attack": [Attack, None],
    }

    def __init__(self, estimator: Any = None, attack: Attack | None = None):
        self.estimator = estimator
        self.attack = attack

    @staticmethod
    def _default() -> Any:
        # the primal problem needs no random order; a small tol makes a row of weight 2
        # the same as two rows
        return LinearSVC(dual=False, tol=1e-8)

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Transform the rows and fit the estimator on all versions at once.

        {(X, y, sample_weight) -> self}
        """
        check_parameters(self)
        if self.attack is not None and not self.attack.is_finite:
            raise ValueError(
                f"{type(self).__name__} needs an attack that lists its candidates, and "
                f"{type(self.attack).__name__} does not; use InvariantSVC with it."
            )
        X, y = read_training(self, X, y)
        X = without_zeros(X)
        weights = passed_weights(self._base(), sample_weight, X)
        self._keep(self._fit(X, y, weights, self.attack))
        return self

    def _fit(self, X: Any, y: Any, sample_weight: Any, attack: Any) -> Any:
        """A clone of the estimator, fitted on all candidates of all rows."""
        if attack is not None:
            X, origin = attack.copies(X)
            y = y[origin]
            sample_weight = None if sample_weight is None else sample_weight[origin]
        options = {} if sample_weight is None else {"sample_weight": sample_weight}
        return clone(self._base()).fit(X, y, **options)
