"""The base classes of noise that makes values missing."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, ClassVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

from noiseproof._rows import Array, Container, contain, density
from noiseproof.groups import feature_names
from noiseproof.noise.base import Cumulants, GroupedNoise, Noise, VarianceLaw

Mask = NDArray[np.bool_]
Draw = Callable[[float], Mask]

_BELOW_ONE = np.nextafter(1.0, 0.0)


class Missingness(Noise):
    """Base class of noise that makes values missing (NaN) and leaves the others alone.

    Subclasses override `draw`. The Dropout estimators refuse such noise, since missing
    values have no mean or variance to train with. `CorruptedCopies` and the functions
    of `noiseproof.evaluation` accept it.
    """

    makes_missing: ClassVar[bool] = True
    is_additive = True  # like additive noise, it would change zeros of a sparse matrix
    _levels: ClassVar[tuple[float, ...]] = (
        0,
        0.1,
        0.2,
        0.3,
        0.4,
        0.5,
        0.6,
        0.7,
        0.8,
        0.9,
    )

    @property
    def label(self) -> str:
        """Description of the level, for the axis of a plot."""
        raise NotImplementedError

    @property
    def own_level(self) -> float:
        """The level in a curve that corresponds to the noise itself."""
        level = getattr(self, self.level_name)
        return float(np.max([*level.values()] if isinstance(level, Mapping) else level))

    @property
    def rows_alone(self) -> bool:
        """Whether rows are drawn independently of each other."""
        return True

    def mean_share(self, level: float) -> float:
        """The share of all values that is missing at a level in a curve."""
        raise NotImplementedError

    def draw(self, rows: Container, rng: np.random.Generator) -> Draw:
        """Draw at random: a function from a level to the mask of missing entries.

        Entries that are missing at a level are missing at all higher levels.
        """
        raise NotImplementedError

    def check_rows(self, rows: Container) -> None:
        """Raise an error if the noise does not suit these rows."""
        self.check(rows.table_shape[1])

    def sample(self, X: Any, rng: np.random.Generator | int | None = None) -> Any:
        """Return a copy of `X` with missing values, in the same container.

        A data frame may have text columns. Sparse matrices are refused, since missing
        zeros would have to be stored.
        """
        if density(X) is not None:
            raise TypeError(
                f"{type(self).__name__} noise would replace every zero of a sparse "
                "matrix; pass X.toarray() if it fits into memory."
            )
        named = hasattr(X, "columns")
        table = X if named else np.atleast_2d(X)
        rows = contain(table, "nan")
        noise = self.on(feature_names(None, table) if named else range(table.shape[-1]))
        noise.check_rows(rows)
        gone = noise.draw(rows, np.random.default_rng(rng))(noise.own_level)
        found = rows.without(gone)
        if not named:
            return found.reshape(np.shape(X))
        return found if isinstance(found, type(X)) else type(X)(found)

    def variance_law(self) -> VarianceLaw:
        raise TypeError(_NO_MOMENTS.format(type(self).__name__))

    def cumulants(self, x: Array, t: Array) -> Cumulants:
        raise TypeError(_NO_MOMENTS.format(type(self).__name__))


class RatedMissingness(Missingness, GroupedNoise):
    """Base class of noise that makes columns, or groups of columns, missing at a rate.

    With several rates the level in a curve is the largest rate, and the other rates are
    proportional.
    """

    @property
    def _how(self) -> str:
        """The last part of the label."""
        return ""

    @property
    def label(self) -> str:
        what = "values" if self.groups is None else "groups"
        most = "" if np.isscalar(self.rate) else " in the worst columns"
        return f"share of {what} missing (NaN){most}{self._how}"

    def mean_share(self, level: float) -> float:
        return float(np.mean(self._rates(level)))

    def _rates(self, level: float) -> Any:
        """The rate, or the rate of each feature, at a level in a curve."""
        own = self.level
        return level if isinstance(own, float) else own * (level / (own.max() or 1.0))

    def check(self, n_features: int | None = None, minimum: float = 0.0) -> None:
        """Raise an error if the rates, groups and features do not fit together."""
        super().check(n_features, minimum)
        if isinstance(self.rate, Mapping):  # each rate has been checked
            return
        if np.any(np.asarray(self.level) > 1):
            name = type(self).__name__
            raise ValueError(f"{name}.rate must be in [0, 1]; got {self.rate!r}.")


def below_one(chances: ArrayLike) -> Array:
    """Probabilities that rounding cannot make 1, so that all are below a level of 1."""
    return np.minimum(chances, _BELOW_ONE)


_NO_MOMENTS = (
    "{} makes values missing, so there is no mean or variance to train with; use "
    "Dropout instead (to this estimator a missing feature adds nothing), or use this "
    "noise with CorruptedCopies."
)
