"""Perturbations: what happens to the features at test time, by level.

A perturbation is drawn once for each repeat, and then gives X at each level. The same
random numbers are used for all levels. So a value that is missing at 10 % is missing at
20 %, too, and the score at one level does not depend on the other levels.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import partial
from itertools import pairwise
from typing import Any, Self

import numpy as np
from sklearn.base import BaseEstimator, clone

from noiseproof._docs import shared_docs
from noiseproof._rows import Container, values
from noiseproof.attacks import Attack
from noiseproof.evaluation.linear import linear_view
from noiseproof.evaluation.relevance import relevance
from noiseproof.groups import index_of
from noiseproof.noise import Missing, Missingness, Noise, Outages

Draw = Callable[[float], Any]
Seed = np.random.SeedSequence

_BYTE = 256  # values of a random byte
_BLOCK = 2**18  # entries that are sorted at a time


class Perturbation:
    """Base class of perturbations. Subclasses override `draw` and `check`."""

    label: str = "level"  # what the level means, as an axis says it
    known_label: str | None = None  # the same if lost cells are NaN, so models know
    deleted_as: str | None = None  # what a lost cell becomes; None: as the caller says
    white_box: bool = False  # whether it depends on the model
    takes_groups: bool = False  # whether features die by group
    in_table: bool = True  # whether it acts on a raw table, or behind a scaler

    @property
    def is_random(self) -> bool:
        """Whether one draw differs from another."""
        return True

    @property
    def rows_alone(self) -> bool:
        """Whether each row has a draw of its own, independent of the others."""
        return True

    @property
    def own_level(self) -> float | None:
        """The level that it was given with, if any."""
        return None

    def draw(self, rows: Container, seed: Seed) -> Draw:
        """One draw: a function from a level to the perturbed X."""
        raise NotImplementedError

    def check(self, levels: Sequence[float], rows: Container, deleted_as: str) -> None:
        """Raise one clear sentence if a level or X does not suit."""

    def grouped(self, labels: Any) -> Perturbation:
        """The perturbation that knows the group of each feature."""
        raise ValueError(
            "groups are for perturb='delete_groups', 'missing_groups', 'mar', 'mnar' "
            "and 'outages', and for noise and attacks that take groups and have none "
            "of their own."
        )

    def on(self, features: Sequence[Any]) -> Perturbation:
        """The perturbation that knows the features, by name or number."""
        return self

    def against(self, model: Any, y: Any) -> Perturbation:
        """The perturbation that knows this model and these labels."""
        return self

    def informed(self, rows: Container, y: Any) -> Perturbation:
        """The perturbation that knows these rows and their labels."""
        return self

    def mean_share(self, level: float) -> float:
        """The share of all values that is lost at a level which is a share."""
        return level

    def label_if(self, deleted_as: str) -> str:
        """What the level means if this is what a lost cell becomes."""
        known = deleted_as == "nan" and self.known_label
        return known or self.label


class Delete(Perturbation):
    """Each feature of a row is deleted with probability `level`.

    The others stay as they are (Chen et al. 2014, "nightmare at test time"). A random
    byte decides for each entry. If it ties with the level, another random number
    decides, so that the probability is exact.
    """

    name = "delete"
    label = "share of values replaced by zero (the model is not told)"
    known_label = "share of values missing (NaN)"

    def draw(self, rows: Container, seed: Seed) -> Draw:
        size = int(np.prod(rows.shape))
        byte = np.frombuffer(np.random.default_rng(seed).bytes(size), dtype=np.uint8)
        byte = byte.reshape(rows.shape)

        def at(level: float) -> Any:
            whole = int(level * _BYTE)
            rest = level * _BYTE - whole
            deleted = byte < whole
            if rest:
                ties = np.flatnonzero(byte == whole)
                # seeded by the byte: the ties of nearby levels are decided alike
                rng = np.random.default_rng([*seed.generate_state(4), whole])
                deleted.ravel()[ties] = rng.random(len(ties)) < rest
            return rows.without(deleted)

        return at

    def check(self, levels: Sequence[float], rows: Container, deleted_as: str) -> None:
        _check_shares(levels, f"perturb={self.name!r}")


class MissingCells(Delete):
    """Each value is missing (NaN) with probability `level`."""

    name = "missing"
    label = Delete.known_label
    deleted_as = "nan"


class DeleteCount(Perturbation):
    """Exactly `level` of the non-zero features of each row are deleted at random.

    Dekel and Shamir 2008, section 4. A row that has fewer loses all of them.
    """

    label = "values replaced by zero per row (the model is not told)"
    known_label = "values missing (NaN) per row"

    def draw(self, rows: Container, seed: Seed) -> Draw:
        rng = np.random.default_rng(seed)
        present, starts = rows.present().ravel(), rows.starts()
        rank = np.full(present.size, np.iinfo(np.int32).max, dtype=np.int32)
        for begin, end in _blocks(starts):
            entries = begin + np.flatnonzero(present[begin:end])
            row = np.searchsorted(starts, entries, side="right")
            # row + u sorts by row, and within a row at random
            order = np.argsort(row + rng.random(len(row)))
            rank[entries[order]] = np.arange(len(row)) - np.searchsorted(row, row)
        rank = rank.reshape(rows.shape)
        return lambda level: rows.without(rank < level)

    def check(self, levels: Sequence[float], rows: Container, deleted_as: str) -> None:
        wrong = [level for level in levels if level < 0 or level != int(level)]
        if wrong:
            raise ValueError(
                "With perturb='delete_count', levels are numbers of features: integers "
                f"that are not negative; got {wrong[0]!r}."
            )


class DeleteGroups(Perturbation):
    """Each group of features of a row is deleted as a whole with probability `level`.

    A feature in no group is a group of its own.
    """

    name = "delete_groups"
    label = "share of groups replaced by zero (the model is not told)"
    takes_groups = True
    labels: Any = None  # the group of each feature

    def grouped(self, labels: Any) -> Perturbation:
        found = type(self)()
        found.labels = labels
        return found

    def draw(self, rows: Container, seed: Seed) -> Draw:
        size = len(rows.starts()) - 1, int(self.labels.max(initial=-1)) + 1
        chances = np.random.default_rng(seed).random(size)
        return lambda level: rows.without(rows.of_groups(chances < level, self.labels))

    def check(self, levels: Sequence[float], rows: Container, deleted_as: str) -> None:
        if self.labels is None:
            raise ValueError(
                f"perturb={self.name!r} needs groups, such as "
                "groups={'arm': ['a', 'b'], 'leg': ['c']}."
            )
        _check_shares(levels, "groups")


class MissingGroups(DeleteGroups):
    """Each group of features of a row is missing (NaN) with probability `level`."""

    name = "missing_groups"
    label = "share of groups missing (NaN)"
    deleted_as = "nan"


class MakeMissing(Perturbation):
    """Values are missing (NaN) as drawn by a noise object that `makes_missing`."""

    deleted_as = "nan"

    def __init__(self, noise: Missingness):
        noise.check()
        self.noise = noise
        self.label = noise.label
        self.takes_groups = _takes_groups(noise)

    @property
    def rows_alone(self) -> bool:
        return self.noise.rows_alone

    @property
    def own_level(self) -> float | None:
        return self.noise.own_level

    def grouped(self, labels: Any) -> Perturbation:
        if not self.takes_groups:
            return super().grouped(labels)
        return MakeMissing(clone(self.noise).set_params(groups=labels))

    def on(self, features: Sequence[Any]) -> Perturbation:
        return MakeMissing(self.noise.on(features))

    def draw(self, rows: Container, seed: Seed) -> Draw:
        gone = self.noise.draw(rows, np.random.default_rng(seed))
        return lambda level: rows.without(gone(level))

    def mean_share(self, level: float) -> float:
        return self.noise.mean_share(level)

    def check(self, levels: Sequence[float], rows: Container, deleted_as: str) -> None:
        _check_shares(levels, f"{type(self.noise).__name__} noise")
        self.noise.check_rows(rows)


@shared_docs
class MissingColumns(BaseEstimator, Perturbation):
    """Perturbation for curves and contests: whole columns are missing (NaN).

    A level is the share of the columns that is missing in every row, rounded to a whole
    number of columns. Columns that are missing at one level are missing at all higher
    levels. The name "missing_columns" stands for `MissingColumns()`.

    Parameters
    ----------
    columns : list, default=None
        The columns that may be missing, by name or number. A level is a share of them.
        None means all columns.
    order : {"relevant", "least", "random"}, default="relevant"
        Which columns are missing first: the most relevant, the least relevant, or
        columns at random, drawn anew in each repeat. The relevance of a column is its
        mutual information with y on the evaluated rows, and does not depend on the
        model. (In a contest it is computed from all rows, so that the same columns are
        missing in all folds.) It is estimated from counts, less the value expected by
        chance. A column of numbers with more than 30 distinct values is divided into
        ten bins with equal numbers of rows, and missing values are a bin of their own.

    {See Also: robustness_curve, contest, recommend}

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from sklearn.pipeline import make_pipeline
    >>> from sklearn.preprocessing import StandardScaler
    >>> from noiseproof import DropoutLogisticRegression
    >>> from noiseproof.evaluation import MissingColumns, robustness_curve
    >>> X, y = load_iris(return_X_y=True, as_frame=True)
    >>> model = make_pipeline(StandardScaler(), DropoutLogisticRegression(0.3))
    >>> model = model.fit(X[::2], y[::2])
    >>> curves = [
    ...     robustness_curve(model, X[1::2], y[1::2], MissingColumns(order=order), 0.5)
    ...     for order in ("relevant", "least")
    ... ]
    >>> [round(curve.mean.item(), 2) for curve in curves]
    [0.65, 0.95]
    """

    deleted_as = "nan"
    _places: Any = None  # the columns that may go, by number
    _width = 0  # number of all columns
    _ranked = False  # whether they are in the order in which they go

    def __init__(self, columns: Any = None, order: str = "relevant"):
        self.columns = columns
        self.order = order

    @property
    def is_random(self) -> bool:
        return self.order == "random"

    @property
    def rows_alone(self) -> bool:
        return self.order != "random"

    @property
    def own_level(self) -> float | None:
        return None if self.columns is None else 1.0

    def label_if(self, deleted_as: str) -> str:
        which = "columns" if self.columns is None else "the named columns"
        return f"share of {which} missing (NaN), {_ORDERS.get(self.order)}"

    def on(self, features: Sequence[Any]) -> Self:
        if self._places is not None:  # they are known
            return self
        return self._with(self._indices(features), len(features))

    def _indices(self, features: Sequence[Any]) -> Any:
        """The columns that may be missing, by number."""
        if self.columns is None:
            return np.arange(len(features))
        place = {name: j for j, name in enumerate(features)}
        found = set()
        for column in [self.columns] if np.isscalar(self.columns) else self.columns:
            index = index_of(column, place)
            if index is None:
                raise ValueError(
                    f"The list of missing columns contains {column!r}, which is not a "
                    "column of X."
                )
            found.add(index)
        if not found:
            raise ValueError("The list of missing columns is empty.")
        return np.array(sorted(found))

    def informed(self, rows: Container, y: Any) -> Perturbation:
        if self._places is None:  # behind a scaler columns have numbers only
            return self.on(range(rows.table_shape[1])).informed(rows, y)
        if self._ranked or self.order == "random":
            return self
        told = relevance(rows, y)[self._places]
        order = np.argsort(told if self.order == "least" else -told, kind="stable")
        return self._with(self._places[order], self._width, True)

    def _with(self, places: Any, width: int, ranked: bool = False) -> Self:
        found = clone(self)
        found._places, found._width, found._ranked = places, width, ranked
        return found

    def mean_share(self, level: float) -> float:
        return level * len(self._places) / self._width

    def draw(self, rows: Container, seed: Seed) -> Draw:
        places = self._places
        if self.order == "random":
            places = np.random.default_rng(seed).permutation(places)

        def at(level: float) -> Any:
            gone = places[: int(level * len(places) + 0.5)]
            return rows.without(rows.of_columns(gone))

        return at

    def check(self, levels: Sequence[float], rows: Container, deleted_as: str) -> None:
        _check_shares(levels, "missing columns")
        if self.order not in _ORDERS:
            raise ValueError(
                "MissingColumns.order must be 'relevant', 'least' or 'random'; got "
                f"{self.order!r}."
            )
        rows.column(0)  # refuses images


_ORDERS = {
    "relevant": "the most relevant first",
    "least": "the least relevant first",
    "random": "in random order",
}


class AddNoise(Perturbation):
    """Noise at any level: `noise.at(level).sample(X)`."""

    in_table = False

    def __init__(self, noise: Noise):
        self.noise = noise
        self.label = f"{noise.level_name} of {type(noise).__name__} noise"
        self.takes_groups = _takes_groups(noise)

    def grouped(self, labels: Any) -> Perturbation:
        if not self.takes_groups:
            return super().grouped(labels)
        return AddNoise(clone(self.noise).set_params(groups=labels))

    def on(self, features: Sequence[Any]) -> Perturbation:
        return AddNoise(self.noise.on(features))

    def draw(self, rows: Container, seed: Seed) -> Draw:
        X = rows.numbers()
        return lambda level: rows.like(
            self.noise.at(level).sample(X, np.random.default_rng(seed))
        )

    def check(self, levels: Sequence[float], rows: Container, deleted_as: str) -> None:
        _no_holes(deleted_as, "a noise object")
        X = rows.numbers()
        minimum = float(np.nanmin(values(X), initial=0.0))
        for level in levels:
            noise = self.noise.at(level)
            noise.check(X.shape[1], minimum=minimum)
            noise.sample(X[:1], 0)  # refuses to fill a sparse matrix


class WhiteBoxAttack(Perturbation):
    """An attack by an adversary who knows the model; the level is its strength."""

    is_random = False
    white_box = True
    in_table = False

    def __init__(self, attack: Attack, target: Any = None):
        self.attack, self.target = attack, target
        self.label = attack.level_label
        self.takes_groups = _takes_groups(attack)

    def grouped(self, labels: Any) -> Perturbation:
        if not self.takes_groups:
            return super().grouped(labels)
        attack = clone(self.attack).set_params(groups=labels)
        return WhiteBoxAttack(attack, self.target)

    def on(self, features: Sequence[Any]) -> Perturbation:
        return WhiteBoxAttack(self.attack.on(features), self.target)

    def against(self, model: Any, y: Any) -> Perturbation:
        view = linear_view(model)
        target = view.encode(y), view.coef, view.intercept
        return WhiteBoxAttack(self.attack, target)

    def draw(self, rows: Container, seed: Seed) -> Draw:
        X = rows.numbers()
        return lambda level: rows.like(self.attack.at(level).worst(X, *self.target))

    def check(self, levels: Sequence[float], rows: Container, deleted_as: str) -> None:
        _no_holes(deleted_as, "an attack")
        X = rows.numbers()[:1]
        for level in levels:
            self.attack.at(level).margin_drop(X, [1], np.zeros(X.shape[1]))


PERTURBATIONS: dict[str, Callable[[], Perturbation]] = {
    "delete": Delete,
    "delete_count": DeleteCount,
    "missing": MissingCells,
    "delete_groups": DeleteGroups,
    "missing_groups": MissingGroups,
    "missing_columns": MissingColumns,
    "mar": partial(MakeMissing, Missing(mechanism="mar")),
    "mnar": partial(MakeMissing, Missing(mechanism="mnar")),
    "outages": partial(MakeMissing, Outages()),
}


def as_perturbation(perturb: Any) -> Perturbation:
    """A perturbation, from its name, a noise object or an attack."""
    if isinstance(perturb, str) and perturb in PERTURBATIONS:
        return PERTURBATIONS[perturb]()
    if isinstance(perturb, Noise):
        return MakeMissing(perturb) if perturb.makes_missing else AddNoise(perturb)
    if isinstance(perturb, Attack):
        return WhiteBoxAttack(perturb)
    if isinstance(perturb, Perturbation):
        return perturb
    names = ", ".join(map(repr, PERTURBATIONS))
    raise ValueError(
        f"perturb must be one of {names}, a noise object such as Gaussian(), or an "
        f"attack such as FeatureDeletion(); got {perturb!r}."
    )


def _takes_groups(part: Noise | Attack) -> bool:
    """Whether it has a parameter `groups` that is None."""
    return part.get_params(deep=False).get("groups", part) is None


def _blocks(starts: Any) -> Iterator[tuple[int, int]]:
    """Ranges of entries, whole rows with about `_BLOCK` of them at a time."""
    n = len(starts) - 1
    step = int(max(1, _BLOCK * n // max(1, starts[-1])))
    return pairwise([*starts[:n:step], starts[n]])


def _check_shares(levels: Sequence[float], what: str) -> None:
    wrong = [level for level in levels if not 0 <= level <= 1]
    if wrong:
        raise ValueError(
            f"With {what}, levels are probabilities from 0 to 1; got {wrong[0]!r}."
        )


def _no_holes(deleted_as: str, who: str) -> None:
    if deleted_as != "zero":
        raise ValueError(
            f"deleted_as={deleted_as!r} is for random deletions; {who} sets the values "
            "itself."
        )
