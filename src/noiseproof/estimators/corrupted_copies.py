"""Training on explicitly corrupted copies of the data, with any estimator."""

from __future__ import annotations

import hashlib
import warnings
from numbers import Integral
from typing import Any, ClassVar, Self

import numpy as np
import scipy.sparse as sp
from sklearn.base import clone
from sklearn.utils import check_random_state
from sklearn.utils.validation import has_fit_parameter

from noiseproof._docs import shared_docs
from noiseproof._pipelines import takes_nan, unwrap
from noiseproof._private import HasMethods, Interval, check_parameters
from noiseproof._rows import (
    as_container,
    as_dense,
    density,
    read_training,
    stack,
    stored_features,
    values,
    without_zeros,
)
from noiseproof.estimators.dropout_logistic import DropoutLogisticRegression
from noiseproof.estimators.meta import Delegator, passed_weights
from noiseproof.estimators.treatments import TREE_MODULES
from noiseproof.noise import Missing, Noise, as_noise

_SCALE_FREE = ("sklearn.ensemble", "sklearn.tree")  # equal weights change nothing


@shared_docs
class CorruptedCopies(Delegator):
    """Fit any estimator on `n_copies` corrupted copies of the data.

    Each row is corrupted M times, and each copy has the weight 1/M (Chen et al. 2014,
    eq. 2). As M grows, the result approaches that of the Dropout estimators, which
    average over infinitely many copies in a single fit. Here a fit takes M times as
    many rows, but any estimator and any noise will do.

    The copies depend only on `random_state` and on which rows there are. So the order
    of the rows does not matter, and a repeated row counts as a row of twice the weight.
    Noise that depends on all rows, such as `Missing(mechanism="mar")` or `Outages`, is
    an exception: its copies are drawn for the whole table at once.

    Parameters
    ----------
    estimator : estimator, default=None
        The estimator to fit. It should accept `sample_weight`. None means logistic
        regression without noise.
    noise : float, "auto", dict, Noise or None, default=0.5
        The noise that corrupts the copies. A number is a dropout rate, except for
        trees. Dropout scales up the values that it keeps, which misleads trees if
        columns are not centred. For trees that accept NaN, a number is therefore the
        rate of `noiseproof.noise.Missing`. For other trees it is the rate at which
        values are set to zero while the others keep their scale. Passing a `Dropout`
        object to trees gives a warning.
    n_copies : int, default=8
        Number of copies of each row, M.
    random_state : int, RandomState instance or None, default=None
        Seed of the corruption.

    Attributes
    ----------
    {estimator_}

    See Also
    --------
    DropoutSVC : Averages over infinitely many copies, in closed form.
    noiseproof.noise.Missing : Makes values missing.
    VirtualExamples : Trains on copies made by an attack.

    {References: Chen 2014}

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> from sklearn.preprocessing import scale
    >>> from noiseproof import CorruptedCopies
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> model = CorruptedCopies(noise=0.3, random_state=0).fit(scale(X), y)
    >>> round(model.score(scale(X), y), 2)
    0.98
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
        *,
        random_state: Any = None,
    ):
        self.estimator = estimator
        self.noise = noise
        self.n_copies = n_copies
        self.random_state = random_state

    @staticmethod
    def _default() -> Any:
        return DropoutLogisticRegression(None)

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Corrupt the data and fit the estimator on all copies at once.

        {(X, y, sample_weight) -> self}
        """
        check_parameters(self)
        noise, base = as_noise(self.noise), self._base()
        noise.check()
        X, y = read_training(self, X, y)
        names = getattr(self, "feature_names_in_", range(X.shape[1]))
        noise, unscaled = self._suited(noise.on(names, X.shape[0]), base, X)
        weights = passed_weights(base, sample_weight, X)
        if weights is not None:  # a row without weight must not change the copies
            some = np.flatnonzero(weights)
            X, y, weights = X[some], y[some], weights[some]
        seed = int(check_random_state(self.random_state).randint(2**31))
        copies = _copies(X, noise, self.n_copies, seed)
        if unscaled:
            copies = copies * (1 - noise.level)
        options = {}
        # boosted trees take much longer to find bins if there are weights
        scale_free = type(unwrap(base)[1]).__module__.startswith(_SCALE_FREE)
        weighted = weights is not None or not scale_free
        if weighted and has_fit_parameter(base, "sample_weight"):
            each = (np.ones(len(y)) if weights is None else weights) / self.n_copies
            options["sample_weight"] = np.repeat(each, self.n_copies)
        self._keep(clone(base).fit(copies, np.repeat(y, self.n_copies), **options))
        return self

    def _suited(self, noise: Noise, base: Any, X: Any) -> tuple[Noise, bool]:
        """The noise to use, and whether the values that it keeps are to be scaled back.

        See the parameter `noise`: trees need other noise than linear models.
        """
        last = unwrap(base)[1]
        if not type(last).__module__.startswith(TREE_MODULES):
            return noise, False
        if isinstance(self.noise, Noise):
            if noise.is_scaling:
                warnings.warn(
                    "Dropout scales up the values that it keeps, so "
                    f"{type(last).__name__} learns from values that no real row has; "
                    "use noise=Missing(rate), or pass the rate as a number.",
                    stacklevel=3,
                )
            return noise, False
        if takes_nan(base) and density(X) is None:
            return Missing(noise.level), False
        return noise, True


def _copies(X: Any, noise: Noise, n_copies: int, seed: int) -> Any:
    """`n_copies` corrupted copies of each row, one after another, in X's container.

    Noise that never changes zeros only receives the non-zero entries, in float64. So
    the copies do not depend on the container or the precision of X. Equal rows have
    equal copies, and rows are corrupted in an order that depends on their values only.
    """
    rows = X.astype(np.float64, copy=False)
    first = place = np.arange(X.shape[0])
    if not noise.needs_all_rows:
        if not noise.is_additive:
            rows = without_zeros(sp.csr_array(rows))
        digests = [_digest(rows[[i]]) for i in range(X.shape[0])]
        _, first, place = np.unique(digests, return_index=True, return_inverse=True)
    rngs = np.random.default_rng(seed).spawn(n_copies)
    found = stack([noise.sample(rows[first], rng) for rng in rngs])
    found = found[np.add.outer(place, len(first) * np.arange(n_copies)).ravel()]
    found = found.astype(X.dtype, copy=False)
    return as_dense(found) if density(X) is None else as_container(found, X)


def _digest(row: Any) -> str:
    """A hash of the values of a row, and of the features that they belong to."""
    digest = hashlib.blake2b(values(row).tobytes(), digest_size=8)
    digest.update(np.arange(row.shape[1])[stored_features(row)].tobytes())
    return digest.hexdigest()
