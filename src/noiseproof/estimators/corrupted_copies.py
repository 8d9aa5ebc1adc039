"""Explicit corruption: the finite rival of marginalised losses."""

from __future__ import annotations

import hashlib
from numbers import Integral
from typing import Any, ClassVar

import numpy as np
from sklearn.base import clone
from sklearn.utils import check_random_state
from sklearn.utils.validation import has_fit_parameter

from noiseproof._rows import (
    read_training,
    stack,
    stored_features,
    values,
    without_zeros,
)
from noiseproof._sklearn import HasMethods, Interval, _check_sample_weight
from noiseproof.estimators.dropout_logistic import DropoutLogisticRegression
from noiseproof.estimators.meta import Delegator
from noiseproof.noise import Noise, as_noise


class CorruptedCopies(Delegator):
    """Fit any estimator on `n_copies` corrupted copies of the data.

    Chen et al. 2014, eq. (2): each row is corrupted M times, and each copy counts
    1/M. As M grows this approaches what the Dropout estimators do in one fit, at M
    times the cost. The copies of a row depend on its content and on `random_state`
    only: the order of the rows does not matter, and a repeated row is a row of twice
    the weight.

    Parameters
    ----------
    estimator : estimator, default=None
        What to fit; it should take `sample_weight`. None means plain logistic
        regression.
    noise : float, Noise or None, default=0.5
        What corrupts the copies; a number is a dropout rate.
    n_copies : int, default=8
        The paper's M.
    random_state : int, RandomState instance or None, default=None
        Seed of the corruption.

    Attributes
    ----------
    estimator_ : estimator
        The fitted estimator.

    See Also
    --------
    DropoutSVC : The limit of infinitely many copies, in closed form.
    noiseproof.noise.Missing : Copies with missing cells.
    VirtualExamples : Copies made by an attack.

    References
    ----------
    N. Chen, J. Zhu, J. Chen and B. Zhang, "Dropout training for support vector
    machines", AAAI Conference on Artificial Intelligence, 2014.

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> from sklearn.preprocessing import scale
    >>> from noiseproof import CorruptedCopies
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> model = CorruptedCopies(noise=0.3, random_state=0).fit(scale(X), y)
    >>> round(model.score(scale(X), y), 2)
    0.99
    """

    _parameter_constraints: ClassVar[dict[str, Any]] = {
        "estimator": [HasMethods(["fit", "predict"]), None],
        "noise": "no_validation",
        "n_copies": [Interval(Integral, 1, None, closed="left")],
        "random_state": ["random_state"],
    }

    def __init__(
        self,
        estimator: Any = None,
        noise: Any = 0.5,
        n_copies: int = 8,
        random_state: Any = None,
    ):
        self.estimator = estimator
        self.noise = noise
        self.n_copies = n_copies
        self.random_state = random_state

    @staticmethod
    def _default() -> Any:
        return DropoutLogisticRegression(None)

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Any:
        """Corrupt the data and fit the estimator on all copies at once.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features)
            Training data.
        y : array-like of shape (n_samples,)
            Targets.
        sample_weight : array-like of shape (n_samples,), default=None
            Weight of each row, shared by its copies.

        Returns
        -------
        self : object
            The fitted estimator.
        """
        self._validate_params()
        noise, base = as_noise(self.noise), self._base()
        noise.check()
        X, y = read_training(self, X, y)
        if sample_weight is not None:
            sample_weight = _check_sample_weight(sample_weight, X, dtype=np.float64)
        weighted = has_fit_parameter(base, "sample_weight")
        if sample_weight is not None and not weighted:
            raise TypeError(f"{type(base).__name__} does not take sample_weight.")
        seed = int(check_random_state(self.random_state).randint(2**31))
        copies = _copies(X, noise, self.n_copies, seed)
        options = {}
        if weighted:
            weights = np.ones(len(y)) if sample_weight is None else sample_weight
            options = {
                "sample_weight": np.repeat(weights, self.n_copies) / self.n_copies
            }
        self._keep(clone(base).fit(copies, np.repeat(y, self.n_copies), **options))
        return self


def _copies(X: Any, noise: Noise, n_copies: int, seed: int) -> Any:
    """`n_copies` corrupted copies of each row, one after another."""
    X, rows = without_zeros(X), []
    for i in range(X.shape[0]):
        row = X[i : i + 1]
        digest = hashlib.blake2b(digest_size=8)
        for part in (values(row), np.arange(X.shape[1])[stored_features(row)]):
            digest.update(np.ascontiguousarray(part).tobytes())
        rng = np.random.default_rng([seed, int.from_bytes(digest.digest(), "big")])
        rows.append(noise.sample(stack([row] * n_copies), rng))
    return stack(rows)
