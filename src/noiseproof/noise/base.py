"""The base classes of all noise."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from numbers import Real
from typing import Any, ClassVar, NamedTuple, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import BaseEstimator, clone

from noiseproof._rows import (
    Array,
    canonical,
    contain,
    density,
    shared_draws,
    stored_features,
    values,
    with_values,
)
from noiseproof.groups import Groups


class VarianceLaw(NamedTuple):
    """The variance of noise: Var(x~_d) = constant_d + scale_d * x_d ** power.

    The constant part is the same for all entries, stored or not. The other part
    vanishes at x = 0, so only stored entries are needed to compute it. With this split,
    sparse data stay sparse in training with additive noise.

    Parameters
    ----------
    constant : float or array of shape (n_features,)
        Variance of an entry of zero.
    scale : float or array of shape (n_features,)
        Factor of the power of the entry.
    power : int
        The power.

    See Also
    --------
    Noise.variance_law : Returns the variance law of a noise.
    """

    constant: float | Array
    scale: float | Array
    power: int


@dataclass(frozen=True, eq=False)
class Cumulants:
    """The cumulant function log E exp(t x~) and two derivatives in t, for each entry.

    Parameters
    ----------
    value, slope, curvature : array
        The function, its first derivative and its second derivative.

    See Also
    --------
    Noise.cumulants : Computes cumulants.
    """

    value: Array
    slope: Array
    curvature: Array

    def __iter__(self) -> Iterator[Array]:
        return iter((self.value, self.slope, self.curvature))


class Noise(BaseEstimator):
    """Base class of noise, which corrupts features and leaves their means unchanged.

    Subclasses define the strength of the noise (`level_name` is the name of that
    parameter), its `VarianceLaw`, its cumulants and how to draw samples. Noise depends
    on the entries of the data, never on the model.

    See Also
    --------
    Dropout : Sets features to zero at random.
    Gaussian : Adds measurement errors.
    """

    level_name: ClassVar[str]
    is_additive: ClassVar[bool] = False
    is_gaussian: ClassVar[bool] = False
    is_scaling: ClassVar[bool] = False  # whether values that are kept are scaled up
    makes_missing: ClassVar[bool] = False  # whether it only makes values missing
    _levels: ClassVar[tuple[float, ...]] = (0, 0.1, 0.2, 0.5, 1, 2)

    def default_levels(self, n_features: int) -> tuple[float, ...]:
        """Suitable levels for a curve, starting at 0."""
        return self._levels

    @property
    def needs_all_rows(self) -> bool:
        """Whether the noise of a row depends on other rows or on their order."""
        return False

    @property
    def level(self) -> float | Array:
        """The strength of the noise, as a float or an array."""
        level = getattr(self, self.level_name)
        if isinstance(level, Mapping):
            raise ValueError(
                f"{type(self).__name__}.{self.level_name} is given by the names of "
                "features, but X has no feature names; pass a data frame."
            )
        value = np.asarray(level, dtype=np.float64)
        return float(value) if value.ndim == 0 else value

    def variance_law(self) -> VarianceLaw:
        """How the variance of a feature depends on its value."""
        raise NotImplementedError

    def cumulants(self, x: Array, t: Array) -> Cumulants:
        """Cumulant function at `t`, infinite outside its domain, without checks."""
        raise NotImplementedError

    def _sample_entries(self, x: Array, rng: np.random.Generator) -> Array:
        raise NotImplementedError

    def _sample_values(self, X: Any, x: Array, rng: np.random.Generator) -> Array:
        """Noisy values of `x`, the stored values of X."""
        return self.take(stored_features(X))._sample_entries(x, rng)

    def on(self, features: Sequence[Any], n_rows: float | None = None) -> Self:
        """The same noise for features with these names, with one level per feature.

        A level given by name is converted to one level for each feature, which is zero
        for features that are not named. A level that depends on the number of rows is
        computed if `n_rows` is given.
        """
        level = getattr(self, self.level_name)
        if not isinstance(level, Mapping):
            return self
        return self.at(self._by_name(level, list(features)))

    def _by_name(self, level: Mapping[Any, Any], names: list[Any]) -> Array:
        """One level for each name, or an error if a name is unknown."""
        where = f"{type(self).__name__}.{self.level_name}"
        place = {name: j for j, name in enumerate(names)}
        found = np.zeros(len(names))
        for name, one in level.items():
            if name not in place:
                shown = ", ".join(map(repr, names[:4])) + " ..." * (len(names) > 4)
                raise ValueError(
                    f"{where} has a value for {name!r}, which is not among the names "
                    f"{shown or '(there are none)'}."
                )
            found[place[name]] = one
        return found

    def group_labels(self, n_features: int) -> NDArray[np.intp] | None:
        """Group of each feature, or None if the noise of features is independent."""
        return None

    def group_cumulants(
        self, x: Array, t: Array, totals: Callable[[Array], Array]
    ) -> Cumulants:
        """Cumulants with groups, without checks.

        `totals` sums the entries of a row within each group. The value of a group is
        split evenly among its entries. Slopes and curvatures are the derivatives in the
        `t` of each entry.
        """
        raise NotImplementedError

    def max_slope(self) -> float | Array:
        """The limit of abs(t) below which the cumulant function is finite."""
        return np.inf

    def variance(self, x: ArrayLike) -> Array:
        """Variance of the noisy feature whose clean value is `x`."""
        x = self._checked(x)
        constant, scale, power = self.variance_law()
        return np.asarray(constant + scale * x**power + np.zeros_like(x))

    def cgf(self, x: ArrayLike, t: ArrayLike) -> Array:
        """Cumulant function log E exp(t x~) of a feature whose clean value is `x`."""
        x, t = np.broadcast_arrays(self._checked(x), np.asarray(t, dtype=np.float64))
        if np.any(np.abs(t) >= self.max_slope()):
            raise ValueError(
                f"The cumulant function of {self} is finite only if abs(t) is below "
                f"{self.max_slope()}; use a smaller t or a smaller {self.level_name}."
            )
        return self.cumulants(x, t).value

    def sample(self, X: Any, rng: np.random.Generator | int | None = None) -> Any:
        """Return a corrupted copy of `X`, in the same container.

        Missing values (NaN) stay missing. Noise that never changes zeros only changes
        the stored entries of a sparse matrix. Additive noise raises an error for a
        sparse matrix, since no entry would stay zero.
        """
        rng, sparse = np.random.default_rng(rng), density(X) is not None
        if sparse and self.is_additive:
            raise TypeError(
                f"{type(self).__name__} noise would replace every zero of a sparse "
                "matrix; pass X.toarray() if it fits into memory."
            )
        given, names = X, getattr(X, "columns", None)
        X = canonical(X) if sparse else np.asarray(X)
        x, d = values(X), X.shape[-1]
        noise = self.on(names if names is not None and len(names) == d else range(d))
        noise.check(d, minimum=_minimum(x))
        dtype = x.dtype if x.dtype.kind == "f" else np.float64
        noisy = noise._sample_values(X, x.astype(np.float64), rng)
        found = with_values(X, noisy.astype(dtype))
        return found if names is None else contain(given, "zero").like(found)

    def at(self, level: float | ArrayLike) -> Self:
        """The same noise at another level."""
        return clone(self).set_params(**{self.level_name: level})

    def take(self, columns: NDArray[Any]) -> Self:
        """The noise of single entries that belong to the given features."""
        level = self.level
        return self if isinstance(level, float) else self.at(level[columns])

    def check(self, n_features: int | None = None, minimum: float = 0.0) -> None:
        """Raise an error if the noise is invalid, or does not suit the features."""
        name = f"{type(self).__name__}.{self.level_name}"
        given = getattr(self, self.level_name)
        if isinstance(given, Mapping) and n_features is None:
            for one in given.values():
                if not isinstance(one, Real):
                    raise TypeError(
                        f"{name} must be a dictionary of names to numbers; got {one!r}."
                    )
                self.at(float(one)).check()
            return
        level = self.level
        shape = np.shape(level)
        if shape and (len(shape) != 1 or n_features not in (None, shape[0])):
            raise ValueError(
                f"{name} must be a number, or have one value for each feature; got "
                f"shape {shape} for {n_features} features."
            )
        if not np.all(np.isfinite(level)) or np.any(np.asarray(level) < 0):
            raise ValueError(f"{name} must be finite and not negative; got {level}.")

    def _checked(self, x: ArrayLike) -> Array:
        x = np.asarray(x, dtype=np.float64)
        self.check(x.shape[-1] if x.ndim else None, minimum=_minimum(x))
        return x


def _minimum(x: NDArray[Any]) -> float:
    return float(np.nanmin(x)) if x.size and not np.all(np.isnan(x)) else 0.0


class GroupedNoise(Noise):
    """Base class of noise that hits all features of a group at the same time."""

    level_name = "rate"
    rate: Any
    groups: Any = None  # also of noises saved before there were groups

    def _struck(self, x: Array, chances: Array) -> Array:
        """Noisy entries, each hit if its random number `chances` is below the rate."""
        raise NotImplementedError

    def on(self, features: Sequence[Any], n_rows: float | None = None) -> Self:
        """The noise with a group label for each feature, and one or several rates."""
        if self.groups is None:
            return super().on(features, n_rows)
        groups, d = Groups.read(self.groups, features), len(features)
        labels, name = groups.labels(d), type(self).__name__
        if isinstance(self.rate, Mapping):  # by the names of the groups
            each = self._by_name(self.rate, list(groups.names))
            rate: Any = np.append(each, 0.0)[np.minimum(labels, len(each))]
        else:
            rate = self.level
        if isinstance(rate, np.ndarray) and rate.shape == (len(groups),) != (d,):
            if labels.max(initial=0) >= len(groups):
                raise ValueError(
                    f"{name}.rate has one value for each group, but feature "
                    f"{features[int(labels.argmax())]!r} is in no group; pass one rate "
                    "for each feature."
                )
            rate = rate[labels]
        found: Self = clone(self).set_params(rate=rate, groups=labels)
        Noise.check(found, d)
        _, first = np.unique(labels, return_index=True)
        each = np.broadcast_to(rate, d)
        if np.any(each != each[first][labels]):
            raise ValueError(
                f"{name}.rate must be the same for all features of a group."
            )
        return found

    def group_labels(self, n_features: int) -> NDArray[np.intp] | None:
        """A group label for each feature, or None if features are independent."""
        if self.groups is None:
            return None
        labels: NDArray[np.intp] = self.on(range(n_features)).groups
        return labels if labels.max(initial=0) + 1 < n_features else None

    def take(self, columns: NDArray[Any]) -> Self:
        """The noise of single entries of the given features, without groups."""
        level = self.level
        if isinstance(level, float):
            return self
        return type(self)(level[columns])

    def _sample_values(self, X: Any, x: Array, rng: np.random.Generator) -> Array:
        chances = shared_draws(X, self.group_labels(X.shape[-1]), rng)
        return self.take(stored_features(X))._struck(x, chances)

    def check(self, n_features: int | None = None, minimum: float = 0.0) -> None:
        """Raise an error if the rates, groups and features do not fit together."""
        noise = self if n_features is None else self.on(range(n_features))
        # with groups there may be one rate for each group
        width = None if self.groups is not None else n_features
        super(GroupedNoise, noise).check(width, minimum)
