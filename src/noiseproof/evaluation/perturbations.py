"""What happens to the features at test time, at any level.

A perturbation is drawn once per repeat and then asked for X at each level: the same
random numbers serve all levels. So a feature that is dead at 10 % is dead at 20 %, too,
and the score at one level does not depend on which others were asked for.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from itertools import pairwise
from typing import Any

import numpy as np
from sklearn.base import clone

from noiseproof._rows import Container, values
from noiseproof.attacks import Attack
from noiseproof.evaluation.linear import linear_view
from noiseproof.noise import Noise

Draw = Callable[[float], Any]
Seed = np.random.SeedSequence

_BYTE = 256  # values of a random byte
_BLOCK = 2**18  # entries that are sorted at a time


class Perturbation:
    """What may happen, up to its level. Subclasses override `draw` and `check`."""

    label: str = "level"  # what the level means, as an axis says it
    known_label: str | None = None  # the same if lost cells are NaN, so models know
    deleted_as: str | None = None  # what a lost cell becomes; None: as the caller says
    is_random: bool = True
    white_box: bool = False  # whether it depends on the model
    takes_groups: bool = False  # whether features die by group

    def draw(self, rows: Container, seed: Seed) -> Draw:
        """One draw: a function from a level to the perturbed X."""
        raise NotImplementedError

    def check(self, levels: Sequence[float], rows: Container, deleted_as: str) -> None:
        """Raise one clear sentence if a level or X does not suit."""

    def grouped(self, labels: Any) -> Perturbation:
        """The perturbation that knows the group of each feature."""
        raise ValueError(
            "groups are for perturb='delete_groups' and 'missing_groups', and for "
            "noise and attacks that take groups and have none of their own."
        )

    def against(self, model: Any, y: Any) -> Perturbation:
        """The perturbation that knows this model and these labels."""
        return self

    def label_if(self, deleted_as: str) -> str:
        """What the level means if this is what a lost cell becomes."""
        known = deleted_as == "nan" and self.known_label
        return known or self.label


class Delete(Perturbation):
    """Each feature of a row dies with probability `level`; the rest stay as they are.

    Chen et al. 2014, "nightmare at test time". A random byte decides for each entry,
    and where it ties with the level another random number does, so that the
    probability is exact.
    """

    name = "delete"
    label = "share of features deleted (read as zero)"
    known_label = "share of cells missing (the model knows)"

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
    """Each cell is NaN with probability `level`: it is missing, and the model knows."""

    name = "missing"
    label = Delete.known_label
    deleted_as = "nan"


class DeleteCount(Perturbation):
    """Exactly `level` of the non-zero features of each row are deleted, uniformly.

    Dekel and Shamir 2008, section 4. A row that has fewer loses them all.
    """

    label = "features deleted per row (read as zero)"
    known_label = "cells missing per row (the model knows)"

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
                "With perturb='delete_count' levels are numbers of features: whole and "
                f"not negative; got {wrong[0]!r}."
            )


class DeleteGroups(Perturbation):
    """Each group of features of a row dies as a whole with probability `level`.

    A feature in no group dies by itself.
    """

    label = "share of groups deleted"
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
                "Outages of groups need groups, such as "
                "groups={'arm': ['a', 'b'], 'leg': ['c']}."
            )
        _check_shares(levels, "outages of groups")


class MissingGroups(DeleteGroups):
    """The same, and the model knows: the entries become NaN."""

    label = "share of groups missing"
    deleted_as = "nan"


class AddNoise(Perturbation):
    """A noise object at another level: `noise.at(level).sample(X)`."""

    def __init__(self, noise: Noise):
        self.noise = noise
        self.label = f"{noise.level_name} of {type(noise).__name__} noise"
        self.takes_groups = _takes_groups(noise)

    def grouped(self, labels: Any) -> Perturbation:
        if not self.takes_groups:
            return super().grouped(labels)
        return AddNoise(clone(self.noise).set_params(groups=labels))

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
    """An attack whose strength is the level, by an adversary that knows the model."""

    is_random = False
    white_box = True

    def __init__(self, attack: Attack, target: Any = None):
        self.attack, self.target = attack, target
        self.label = attack.level_label
        self.takes_groups = _takes_groups(attack)

    def grouped(self, labels: Any) -> Perturbation:
        if not self.takes_groups:
            return super().grouped(labels)
        attack = clone(self.attack).set_params(groups=labels)
        return WhiteBoxAttack(attack, self.target)

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


PERTURBATIONS: dict[str, type[Perturbation]] = {
    "delete": Delete,
    "delete_count": DeleteCount,
    "missing": MissingCells,
    "delete_groups": DeleteGroups,
    "missing_groups": MissingGroups,
}


def as_perturbation(perturb: Any) -> Perturbation:
    """Perturbation from its name, a noise object or an attack."""
    if isinstance(perturb, str) and perturb in PERTURBATIONS:
        return PERTURBATIONS[perturb]()
    if isinstance(perturb, Noise):
        return AddNoise(perturb)
    if isinstance(perturb, Attack):
        return WhiteBoxAttack(perturb)
    if isinstance(perturb, Perturbation):
        return perturb
    names = ", ".join(map(repr, PERTURBATIONS))
    raise ValueError(
        f"perturb must be one of {names}, a noise object such as Gaussian() or an "
        f"attack such as FeatureDeletion(); got {perturb!r}."
    )


def _takes_groups(part: Noise | Attack) -> bool:
    """Whether it has a place for groups, and none in it."""
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
            f"With {what} levels are probabilities from 0 to 1; got {wrong[0]!r}."
        )


def _no_holes(deleted_as: str, who: str) -> None:
    if deleted_as != "zero":
        raise ValueError(
            f"deleted_as={deleted_as!r} is for deletions at random; {who} sets the "
            "values itself."
        )
