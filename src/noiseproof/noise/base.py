"""What every noise answers."""

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
    """Var(x~_d) = constant_d + scale_d * x_d ** power, for one noise.

    The constant part acts on every entry, stored or not; the other part vanishes at
    x = 0 and so needs the stored entries only. That split is what keeps sparse data
    sparse under additive noise.

    Parameters
    ----------
    constant : float or array of shape (n_features,)
        What every entry has.
    scale : float or array of shape (n_features,)
        Factor of the power of the entry.
    power : int
        The power.

    See Also
    --------
    Noise.variance_law : Gives it.
    """

    constant: float | Array
    scale: float | Array
    power: int


@dataclass(frozen=True, eq=False)
class Cumulants:
    """Cumulant function log E exp(t x~) with two derivatives in t, entry by entry.

    Parameters
    ----------
    value, slope, curvature : array
        The function, its first and its second derivative.

    See Also
    --------
    Noise.cumulants : Computes them.
    """

    value: Array
    slope: Array
    curvature: Array

    def __iter__(self) -> Iterator[Array]:
        return iter((self.value, self.slope, self.curvature))


class Noise(BaseEstimator):
    """Base class of noise, which corrupts features and leaves their means unchanged.

    Subclasses say how much (`level_name` names the parameter), publish a
    `VarianceLaw`, their cumulants and a sampler. They see entries, never the model.

    See Also
    --------
    Dropout : Features that are lost.
    Gaussian : Measurement errors.
    """

    level_name: ClassVar[str]
    is_additive: ClassVar[bool] = False
    is_gaussian: ClassVar[bool] = False
    is_scaling: ClassVar[bool] = False  # whether what survives it is scaled up
    makes_missing: ClassVar[bool] = False  # whether it writes NaN and nothing else
    _levels: ClassVar[tuple[float, ...]] = (0, 0.1, 0.2, 0.5, 1, 2)

    def default_levels(self, n_features: int) -> tuple[float, ...]:
        """Suitable levels for a curve, starting at 0."""
        return self._levels

    @property
    def needs_all_rows(self) -> bool:
        """Whether what happens to a row depends on the others, or on their order."""
        return False

    @property
    def level(self) -> float | Array:
        """The parameter that says how strong the noise is, as float or array."""
        level = getattr(self, self.level_name)
        if isinstance(level, Mapping):
            raise ValueError(
                f"{type(self).__name__}.{self.level_name} is given by name, so it "
                "needs a table whose columns have names; got rows without."
            )
        value = np.asarray(level, dtype=np.float64)
        return float(value) if value.ndim == 0 else value

    def variance_law(self) -> VarianceLaw:
        """How the variance of a feature depends on its value."""
        raise NotImplementedError

    def cumulants(self, x: Array, t: Array) -> Cumulants:
        """Cumulant function at `t`, unchecked; infinite outside its domain."""
        raise NotImplementedError

    def _sample_entries(self, x: Array, rng: np.random.Generator) -> Array:
        raise NotImplementedError

    def _sample_values(self, X: Any, x: Array, rng: np.random.Generator) -> Array:
        """Noisy values in place of `x`, which are those that X stores."""
        return self.take(stored_features(X))._sample_entries(x, rng)

    def on(self, features: Sequence[Any], n_rows: float | None = None) -> Self:
        """The same noise, knowing which features there are, by name or number.

        A level that is given by name becomes one per feature; features that are not
        named have none. A level that depends on the number of rows can be told it.
        """
        level = getattr(self, self.level_name)
        if not isinstance(level, Mapping):
            return self
        return self.at(self._by_name(level, list(features)))

    def _by_name(self, level: Mapping[Any, Any], names: list[Any]) -> Array:
        """A level per name, or one clear sentence."""
        where = f"{type(self).__name__}.{self.level_name}"
        place = {name: j for j, name in enumerate(names)}
        found = np.zeros(len(names))
        for name, one in level.items():
            if name not in place:
                shown = ", ".join(map(repr, names[:4])) + " ..." * (len(names) > 4)
                raise ValueError(
                    f"{where} names {name!r}, but there are {shown or 'no names'}."
                )
            found[place[name]] = one
        return found

    def group_labels(self, n_features: int) -> NDArray[np.intp] | None:
        """Group of each feature, or None where each has noise of its own."""
        return None

    def group_cumulants(
        self, x: Array, t: Array, totals: Callable[[Array], Array]
    ) -> Cumulants:
        """Cumulants with groups, unchecked, where `totals` sums within row and group.

        The value of a group is shared out evenly among its entries; slopes and
        curvatures are the derivatives in the `t` of each entry.
        """
        raise NotImplementedError

    def max_slope(self) -> float | Array:
        """The cumulant function is finite for abs(t) below this, per feature."""
        return np.inf

    def variance(self, x: ArrayLike) -> Array:
        """Variance of the noisy feature whose clean value is `x`."""
        x = self._checked(x)
        constant, scale, power = self.variance_law()
        return np.asarray(constant + scale * x**power + np.zeros_like(x))

    def cgf(self, x: ArrayLike, t: ArrayLike) -> Array:
        """Log of E exp(t x~) for a feature whose clean value is `x`."""
        x, t = np.broadcast_arrays(self._checked(x), np.asarray(t, dtype=np.float64))
        if np.any(np.abs(t) >= self.max_slope()):
            raise ValueError(
                f"The cgf of {self} is finite only where abs(t) is below "
                f"{self.max_slope()}; use a smaller t or a smaller {self.level_name}."
            )
        return self.cumulants(x, t).value

    def sample(self, X: Any, rng: np.random.Generator | int | None = None) -> Any:
        """One corrupted copy of `X`, in the same container.

        Missing entries (NaN) stay missing. Noise that vanishes at zero touches only
        the stored entries of a sparse matrix; additive noise would fill it, so it
        refuses a sparse matrix.
        """
        rng, sparse = np.random.default_rng(rng), density(X) is not None
        if sparse and self.is_additive:
            raise TypeError(
                f"{type(self).__name__} noise would fill every zero of a sparse "
                "matrix; pass X.toarray() if it fits in memory."
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
        """The same law at another level."""
        return clone(self).set_params(**{self.level_name: level})

    def take(self, columns: NDArray[Any]) -> Self:
        """The noise of the given features, one per entry."""
        level = self.level
        return self if isinstance(level, float) else self.at(level[columns])

    def check(self, n_features: int | None = None, minimum: float = 0.0) -> None:
        """Raise one clear sentence if the noise cannot act on such data."""
        name = f"{type(self).__name__}.{self.level_name}"
        given = getattr(self, self.level_name)
        if isinstance(given, Mapping) and n_features is None:
            for one in given.values():
                if not isinstance(one, Real):
                    raise TypeError(f"{name} must hold numbers by name; got {one!r}.")
                self.at(float(one)).check()
            return
        level = self.level
        shape = np.shape(level)
        if shape and (len(shape) != 1 or n_features not in (None, shape[0])):
            raise ValueError(
                f"{name} must be a number or one value per feature; got shape {shape} "
                f"for {n_features} features."
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
    """A feature is struck with some probability, and with it the rest of its group."""

    level_name = "rate"
    rate: Any
    groups: Any = None  # also of noises saved before there were groups

    def _struck(self, x: Array, chances: Array) -> Array:
        """Noisy entries, each struck if its chance is below the rate."""
        raise NotImplementedError

    def on(self, features: Sequence[Any], n_rows: float | None = None) -> Self:
        """The noise with a label per feature, and one rate, or a rate per feature."""
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
                    f"{name}.rate has one value per group, but feature "
                    f"{features[int(labels.argmax())]!r} is in none; give one rate per "
                    "feature."
                )
            rate = rate[labels]
        found: Self = clone(self).set_params(rate=rate, groups=labels)
        Noise.check(found, d)
        _, first = np.unique(labels, return_index=True)
        each = np.broadcast_to(rate, d)
        if np.any(each != each[first][labels]):
            raise ValueError(f"{name}.rate must be the same for all of a group.")
        return found

    def group_labels(self, n_features: int) -> NDArray[np.intp] | None:
        """A label per feature, or None if each is struck by itself."""
        if self.groups is None:
            return None
        labels: NDArray[np.intp] = self.on(range(n_features)).groups
        return labels if labels.max(initial=0) + 1 < n_features else None

    def take(self, columns: NDArray[Any]) -> Self:
        """The noise of the given features, one per entry, without groups."""
        level = self.level
        if isinstance(level, float):
            return self
        return type(self)(level[columns])

    def _sample_values(self, X: Any, x: Array, rng: np.random.Generator) -> Array:
        chances = shared_draws(X, self.group_labels(X.shape[-1]), rng)
        return self.take(stored_features(X))._struck(x, chances)

    def check(self, n_features: int | None = None, minimum: float = 0.0) -> None:
        """Raise one clear sentence if rates, groups and features do not fit."""
        noise = self if n_features is None else self.on(range(n_features))
        # how many rates there must be depends on the features
        width = None if self.groups is not None else n_features
        super(GroupedNoise, noise).check(width, minimum)
