"""Training on all transformed copies: the simplest way to an invariant model."""

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

    The rival VIR-SVM of Teo et al. 2008, section 5.1. Each copy counts as much as its
    row does: c candidates of a row are c rows, so for an estimator whose loss is a sum
    over rows, such as an SVM, divide `C` by c to keep the balance with the penalty.

    Parameters
    ----------
    estimator : estimator, default=None
        What to fit. None means `LinearSVC`, solved to high accuracy.
    {attack}
        It must be finite: one that lists its `candidates`.

    Attributes
    ----------
    {estimator_}
    classes_ : array of shape (n_classes,)
        Labels, if the estimator has them.

    See Also
    --------
    VirtualSupportVectors : Transforms the support vectors only.
    InvariantSVC : Learns from the worst transforms.
    CorruptedCopies : Copies made by noise.

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
        # the primal needs no random order, and a tight stop makes weights repetitions
        return LinearSVC(dual=False, tol=1e-8)

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Transform the data and fit the estimator on all copies at once.

        {(X, y, sample_weight) -> self}
        """
        check_parameters(self)
        if self.attack is not None and not self.attack.is_finite:
            raise ValueError(
                f"{type(self).__name__} needs an attack that lists its candidates, and "
                f"{type(self.attack).__name__} does not: train InvariantSVC with it."
            )
        X, y = read_training(self, X, y)
        X = without_zeros(X)
        weights = passed_weights(self._base(), sample_weight, X)
        self._keep(self._fit(X, y, weights, self.attack))
        return self

    def _fit(self, X: Any, y: Any, sample_weight: Any, attack: Any) -> Any:
        """A clone of the estimator, fitted on what the attack makes of each row."""
        if attack is not None:
            X, origin = attack.copies(X)
            y = y[origin]
            sample_weight = None if sample_weight is None else sample_weight[origin]
        options = {} if sample_weight is None else {"sample_weight": sample_weight}
        return clone(self._base()).fit(X, y, **options)
