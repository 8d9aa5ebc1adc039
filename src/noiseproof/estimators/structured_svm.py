"""Support vector machines with structured outputs, trained against an attack."""

from __future__ import annotations

from typing import Any, ClassVar, Self

import numpy as np
from sklearn.base import BaseEstimator, clone
from sklearn.utils import ClassifierTags
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import check_is_fitted

from noiseproof._docs import shared_docs
from noiseproof._invariant import (
    Multiclass,
    StructuredProblem,
    StructuredRisk,
    merge_equal_rows,
)
from noiseproof._private import check_parameters, with_callbacks
from noiseproof._rows import read, read_training, read_weights
from noiseproof.attacks import Attack
from noiseproof.estimators.invariant_svc import InvariantEstimator

_COMPLETE = {"ensure_all_finite": True}


@shared_docs
class StructuredSVM(InvariantEstimator, BaseEstimator):
    """Structured support vector machine trained against an attack.

    Learns to predict outputs such as sequences of labels. With f(x, y) = w·Φ(x, y) and
    Γ = 1 in eq. (2) and (5) of Teo et al. 2008, it minimises

        Σ_i p_i max over s, y' of { w·Φ(s(x_i), y') - w·Φ(s(x_i), y_i) + Δ(y_i, y') }
            + α/2 ‖w‖².

    Here p_i is the weight of example i. The problem defines the joint features Φ and
    the cost Δ, and it finds the maximum over the outputs y' and over the transforms s
    that the attack allows. With `Multiclass` this is `InvariantSVC`.

    Parameters
    ----------
    problem : StructuredProblem, default=None
        Describes inputs and outputs: a problem of `noiseproof.structured` or of a class
        of your own. None means `Multiclass()`.
    {attack}
        The problem must support this kind of attack.
    {alpha}
    solver : {"column_generation", "bundle", "pegasos"}, default="column_generation"
        Algorithm that minimises the objective, as in `InvariantSVC`.
    {certified tol}
    max_iter : int, default=1000
        Maximum number of rounds or, for "pegasos", of passes over the data.
    random_state : int, RandomState instance or None, default=None
        Seed of the order of the examples. Only used by "pegasos".
    {verbose}

    Attributes
    ----------
    problem_ : StructuredProblem
        The problem, prepared for the training data.
    weights_ : array of shape (n_weights,)
        The weights w.
    classes_ : array
        Class labels, if outputs are classes.
    objective_ : float
        Value of the objective at the solution.
    gap_ : float
        The objective is proven to be at most this far above its minimum, provided that
        the problem's search for the maximum is exact.
    {n_cuts_, n_iter_}

    See Also
    --------
    InvariantSVC : The same for classes, faster.
    noiseproof.structured.LinearChain : Predicts sequences of labels.
    noiseproof.structured.TokenDeletion : Deletes tokens of sequences.

    {References: Teo 2008}

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from noiseproof import StructuredSVM
    >>> X, y = load_iris(return_X_y=True)
    >>> round(StructuredSVM().fit(X, y).score(X, y), 2)
    0.95
    """

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        **InvariantEstimator._parameter_constraints,
        "problem": [StructuredProblem, None],
    }

    def __init__(
        self,
        problem: StructuredProblem | None = None,
        attack: Attack | None = None,
        *,
        alpha: float = 0.01,
        solver: str = "column_generation",
        tol: float = 1e-3,
        max_iter: int = 1000,
        random_state: Any = None,
        verbose: int = 0,
    ):
        self.problem = problem
        self.attack = attack
        self.alpha = alpha
        self.solver = solver
        self.tol = tol
        self.max_iter = max_iter
        self.random_state = random_state
        self.verbose = verbose

    @property
    def _tabular(self) -> bool:
        return self.problem is None or self.problem.tabular

    @with_callbacks
    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Fit the model.

        Parameters
        ----------
        X : array-like, sparse matrix or list
            Inputs, in the form that the problem accepts.
        y : array-like or list
            Outputs.
        {sample_weight}

        Returns
        -------
        {self}
        """
        check_parameters(self)
        problem = Multiclass() if self.problem is None else clone(self.problem)
        read = self._read_table if self._tabular else self._read_list
        inputs, outputs, weights = read(X, y, sample_weight)
        inputs, outputs = problem.prepare(inputs, outputs)
        mass, alpha = weights / weights.sum(), float(self.alpha)
        risk = StructuredRisk(problem, inputs, outputs, self.attack, mass, alpha)
        self.weights_ = self._solve(risk, X, y).function
        self.problem_ = problem
        if self._tabular:
            self.classes_ = problem.classes_
        return self

    def _read_table(self, X: Any, y: Any, sample_weight: Any) -> tuple[Any, Any, Any]:
        X, y = read_training(self, X, y, **_COMPLETE)
        weights = read_weights(sample_weight, X)
        check_classification_targets(y)
        counted = np.flatnonzero(weights)
        X, y = X[counted], y[counted]
        labels = np.unique(y, return_inverse=True)[1]
        first, weights = merge_equal_rows(X, labels, weights[counted])
        return X[first], y[first], weights

    def _read_list(self, X: Any, y: Any, sample_weight: Any) -> tuple[Any, Any, Any]:
        if len(X) != len(y):
            raise ValueError(f"X has {len(X)} examples, but y has {len(y)}.")
        weights = read_weights(sample_weight, np.empty((len(X), 1)))
        counted = np.flatnonzero(weights)
        return [X[i] for i in counted], [y[i] for i in counted], weights[counted]

    def predict(self, X: Any) -> Any:
        """Predict the best output for each input, in the form of the training outputs.

        Parameters
        ----------
        X : array-like, sparse matrix or list
            Inputs, in the form that the problem accepts.

        Returns
        -------
        y : array or list
            Predicted outputs.
        """
        check_is_fitted(self, "weights_")
        if self._tabular:
            X = read(self, X, reset=False, **_COMPLETE)
        inputs = self.problem_.read(X)
        best = [self.problem_.argmax(x, self.weights_) for x in inputs]
        return self.problem_.answer(best)

    def score(self, X: Any, y: Any) -> float:
        """Accuracy as the problem defines it: of classes, tokens or whole outputs.

        Parameters
        ----------
        X : array-like, sparse matrix or list
            Inputs, in the form that the problem accepts.
        y : array-like or list
            True outputs.

        Returns
        -------
        score : float
            The accuracy.
        """
        predicted = self.predict(X)
        return self.problem_.accuracy(y, predicted)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.target_tags.required = True
        tags.input_tags.sparse = self._tabular
        tags.input_tags.two_d_array = self._tabular
        if self._tabular:
            tags.estimator_type = "classifier"
            tags.classifier_tags = ClassifierTags()
        return tags
