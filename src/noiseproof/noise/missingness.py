"""What every noise that makes values missing answers."""

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
    """Base class of noise that makes values missing (NaN) and leaves the rest alone.

    Subclasses override `draw`. Missing values have no mean, so there are no moments to
    train with: `CorruptedCopies` and the evaluation take such noise, and the Dropout
    estimators refuse it.
    """

    makes_missing: ClassVar[bool] = True
    is_additive = True  # as additive noise, it would fill the zeros of a sparse matrix
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
        """What the level means, in the words of an axis."""
        raise NotImplementedError

    @property
    def own_level(self) -> float:
        """The level of a curve at which the noise is as it was given."""
        level = getattr(self, self.level_name)
        return float(np.max([*level.values()] if isinstance(level, Mapping) else level))

    @property
    def rows_alone(self) -> bool:
        """Whether each row has a draw of its own, independent of the others."""
        return True

    def mean_share(self, level: float) -> float:
        """The share of all values that is missing at a level of a curve."""
        raise NotImplementedError

    def draw(self, rows: Container, rng: np.random.Generator) -> Draw:
        """One draw: a function from a level to the entries that are missing there.

        What is missing at a level is missing at all higher levels.
        """
        raise NotImplementedError

    def check_rows(self, rows: Container) -> None:
        """Raise one clear sentence if the noise cannot act on these rows."""
        self.check(rows.table_shape[1])

    def sample(self, X: Any, rng: np.random.Generator | int | None = None) -> Any:
        """One copy of `X` with missing values, in the same container.

        A data frame may hold words. A sparse matrix is refused: its zeros would have to
        be stored to be missing.
        """
        if density(X) is not None:
            raise TypeError(
                f"{type(self).__name__} noise would fill every zero of a sparse "
                "matrix; pass X.toarray() if it fits in memory."
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
    """Each column, or group of columns, is missing at a rate.

    With several rates the level of a curve is the largest of them, and the others are
    in proportion.
    """

    @property
    def _how(self) -> str:
        """The end of the label."""
        return ""

    @property
    def label(self) -> str:
        what = "values" if self.groups is None else "groups"
        most = "" if np.isscalar(self.rate) else " in the worst columns"
        return f"share of {what} missing (NaN){most}{self._how}"

    def mean_share(self, level: float) -> float:
        return float(np.mean(self._rates(level)))

    def _rates(self, level: float) -> Any:
        """The rate, or that of each feature, at a level of a curve."""
        own = self.level
        return level if isinstance(own, float) else own * (level / (own.max() or 1.0))

    def check(self, n_features: int | None = None, minimum: float = 0.0) -> None:
        """Raise one clear sentence if rates, groups and features do not fit."""
        super().check(n_features, minimum)
        if isinstance(self.rate, Mapping):  # each of them was checked
            return
        if np.any(np.asarray(self.level) > 1):
            name = type(self).__name__
            raise ValueError(f"{name}.rate must be in [0, 1]; got {self.rate!r}.")


def below_one(chances: ArrayLike) -> Array:
    """The same, but never 1 by rounding, so that all are below a level of 1."""
    return np.minimum(chances, _BELOW_ONE)


_NO_MOMENTS = (
    "{} writes NaN, which has no mean to train with; use it with CorruptedCopies, "
    "or Dropout here: to this estimator a missing feature adds nothing."
)
