"""Who wins a vote, and how many votes must change before another does.

A part of an ensemble ranks the classes of a row, or answers with a number, or abstains.
Whoever changes a feature of a part can make it do any of these; whoever deletes one
(NaN) can make it abstain.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

Array = NDArray[np.float64]
Counts = NDArray[np.intp]
Places = NDArray[np.int16]

ABSTAINS = -1  # in place of the number of a class, or of its place in a ranking


@dataclass(frozen=True)
class Tally:
    """What each class is worth: the largest number wins; of several, the first.

    A rival r takes the place of the winner w once it has gained

        lead(r) = worth(w) - worth(r) + [w comes before r].

    A part that is changed moves each number by 1 at most, so r gains 2 at most. A part
    that falls silent raises no number and lowers worth(w) by 1 at most, so r gains 1,
    and worth(w) in all. For votes both are exact; for comparisons, lower bounds.

    Parameters
    ----------
    worth : array of int of shape (n_samples, n_classes)
        Votes, or what stands for them.
    """

    worth: Counts

    @property
    def winner(self) -> Counts:
        """Number of the class that wins, of shape (n_samples, 1)."""
        return self.worth.argmax(axis=1)[:, None]

    def changes(self) -> Array:
        """The smallest number of parts that must change; `inf` for a single class."""
        return np.ceil(leads(self.worth, self.winner).min(axis=1) / 2)

    def deletions(self) -> Array:
        """The smallest number of parts that must fall silent, `inf` if none will do."""
        lead = leads(self.worth, self.winner)
        within = lead <= self.worth.max(axis=1, keepdims=True)
        return np.where(within, lead, np.inf).min(axis=1)


@dataclass(frozen=True)
class RunOff(Tally):
    """The two classes with the most votes meet in a final, in which every part votes.

    Write n(c) for the number of parts that rank class c first, N(a, b) for the number
    that prefer a to b, [c < r] for 1 if c comes before r and else 0, and w for the
    winner. There are two ways to take the victory from w; both counts are exact.

    *In the final* a rival r beats w once it has gained

        gap(r) = N(w, r) - N(r, w) + [w < r].

    To get there, r may stay behind one class e. If k parts are made to rank r first,
    every class c other than r and e must lose

        need(c) = max(0, n(c) + [c < r] - n(r) - k)

    of its first votes. Of the parts that rank c first, L(c) prefer w to r: they gain 2
    each in the final, and the others nothing. Parts that need not be taken from a
    certain class can all be such that prefer w. Hence k is the smallest with

        Σ need(c) <= k   and   2 (k - Σ max(0, need(c) - L(c))) >= gap(r)

    for some e. Parts that fall silent give r no vote, so that k is 0 in need(c), which
    must not exceed n(c); those that prefer w gain 1 each, and the others lose 1. With

        short = gap(r) + Σ max(0, need(c) - L(c)) - Σ min(need(c), L(c))

    it takes Σ need(c) + max(0, short) of them, for the best e, provided that so many
    prefer w: gap(r) + Σ max(0, need(c) - L(c)) <= N(w, r).

    *Before the final* two rivals r and s push w out once they have gained lead(r) and
    lead(s), where lead(c) = n(w) - n(c) + [w < c]. A vote of w's that goes to one of
    them gains 2 for it and 1 for the other, so it takes

        max(⌈(lead(r) + lead(s)) / 3⌉, ⌈lead(r) / 2⌉, ⌈lead(s) / 2⌉)

    changes; or max(lead(r), lead(s)) parts that fall silent, if w has so many votes.

    Parameters
    ----------
    worth : array of int of shape (n_samples, n_classes)
        Votes in the final; 0 for classes that are not in it.
    first : array of int of shape (n_samples, n_classes)
        n(c).
    prefer : array of int of shape (n_samples, n_classes, n_classes)
        N(a, b).
    loyal : array of int of shape (n_samples, n_classes, n_classes)
        L(c), in a column for each r.
    """

    first: Counts
    prefer: Counts
    loyal: Counts

    @classmethod
    def of(cls, places: Places) -> RunOff:
        """The vote of parts that give each class its place in a ranking."""
        first, prefer = (places == 0).sum(axis=1), comparisons(places)
        finalists = np.argsort(-first, axis=1, kind="stable")[:, :2]
        rows, worth = np.arange(len(first)), np.zeros_like(first)
        one, other = finalists[:, 0], finalists[:, -1]
        worth[rows, one], worth[rows, other] = (
            prefer[rows, one, other],
            prefer[rows, other, one],
        )
        own = worth.argmax(axis=1)[:, None]
        loyal = np.zeros_like(prefer)
        for place in np.moveaxis(places, 1, 0):
            voting = np.flatnonzero(place[:, 0] != ABSTAINS)
            prefers = np.take_along_axis(place, own, axis=1) < place
            loyal[voting, place[voting].argmin(axis=1)] += prefers[voting]
        return cls(worth, first, prefer, loyal)

    def changes(self) -> Array:
        """The smallest number of parts that must change; `inf` for a single class."""
        one, other = self._leads()
        found = np.maximum(np.ceil((one + other) / 3), np.ceil(other / 2))
        gap = self._final()[1]
        for k in range(1, int(self.first.sum(axis=1).max(initial=0)) + 2):
            rows = np.flatnonzero(found > k)
            need = self._need(rows, k)
            idle = (need - self.loyal[rows]).clip(0)
            wins = _but_one(need) <= k
            wins &= 2 * (k - _but_one(idle)) >= gap[rows, None]
            found[rows[wins.any(axis=(1, 2))]] = k
        return found

    def deletions(self) -> Array:
        """The smallest number of parts that must fall silent, `inf` if none will do."""
        need = self._need(slice(None), 0)
        never = int(self.first.sum(axis=1).max(initial=0)) + 1
        need = np.where(need > self.first[:, :, None], never, need)
        supporters, gap = (each[:, None] for each in self._final())
        asked = gap + _but_one((need - self.loyal).clip(0))
        short = asked - _but_one(np.minimum(need, self.loyal))
        final = _but_one(need) + np.maximum(0, short)
        possible = (asked <= supporters) & (final < never)
        final = np.where(possible, final, np.inf).min(axis=(1, 2))
        out, votes = self._leads()[1], _at(self.first, self.winner)[:, 0]
        return np.minimum(final, np.where(out <= votes, out, np.inf))

    def _leads(self) -> tuple[Array, Array]:
        """The two smallest leads of the winner before the final."""
        lead = np.sort(leads(self.first, self.winner), axis=1)
        return lead[:, 0], lead[:, min(1, lead.shape[1] - 1)]

    def _final(self) -> tuple[Counts, Array]:
        """N(w, r) and gap(r), `inf` for the winner."""
        own = self.winner[:, :, None]
        supporters = np.take_along_axis(self.prefer, own, axis=1)[:, 0]
        against = np.take_along_axis(self.prefer, own, axis=2)[:, :, 0]
        return supporters, leads(against, self.winner, supporters)

    def _need(self, rows: Any, k: int) -> Counts:
        """need(c), in a column for each r."""
        first = self.first[rows]
        before = np.tri(first.shape[1], k=-1, dtype=np.intp).T
        need = (first[:, :, None] + before - first[:, None, :] - k).clip(0)
        return need * ~np.eye(len(before), dtype=bool)


def majority(votes: NDArray[np.intp], n_classes: int) -> Tally:
    """One vote for each part; votes (n_samples, n_parts)."""
    return Tally(np.stack([(votes == c).sum(axis=1) for c in range(n_classes)]).T)


def pairwise(places: Places) -> Tally:
    """A class is worth the number of parts that prefer it to its strongest rival."""
    return Tally(comparisons(places).min(axis=2))


def rankings(chances: Array) -> Places:
    """The place of each class, 0 for the likeliest; equal ones keep their order."""
    order = np.argsort(-chances, axis=1, kind="stable")
    return np.argsort(order, axis=1).astype(np.int16)


def comparisons(places: Places) -> Counts:
    """How many parts prefer a to b, for all pairs; for a itself, how many vote."""
    n, _, k = places.shape
    found = np.zeros((n, k, k), dtype=np.intp)
    for place in np.moveaxis(places, 1, 0):
        votes = place[:, :1, None] != ABSTAINS
        found += (place[:, :, None] <= place[:, None, :]) & votes
    return found


def leads(worth: Counts, winner: Counts, own: Counts | None = None) -> Array:
    """What each rival must gain on the winner to take its place; `inf` for itself.

    Rival r beats the winner w if it has more votes, or as many and comes first.
    `own` are the votes of w against each rival, if they differ.
    """
    own = _at(worth, winner) if own is None else own
    first = winner < np.arange(worth.shape[1])
    lead = (own - worth + first).astype(np.float64)
    np.put_along_axis(lead, winner, np.inf, axis=1)
    return lead


def median(answers: Array, fixed: float) -> Array:
    """The median of the answers of each row, (n_samples, n_parts); NaN abstains.

    Every number between the two middle ones is a median of an even number of answers.
    Of these it is the nearest to a fixed number, as if that were one more answer.
    """
    n = (~np.isnan(answers)).sum(axis=1)
    extra = np.where(n % 2 == 0, fixed, np.nan)
    ordered = np.sort(np.column_stack([answers, extra]), axis=1)
    return _at(ordered, (n // 2)[:, None])[:, 0]


def interval(y: ArrayLike, tolerance: ArrayLike, n: int) -> tuple[Array, Array]:
    """Least and greatest answer that is right, for each of n rows."""
    y, tolerance = (np.asarray(part, dtype=np.float64) for part in (y, tolerance))
    if y.shape != (n,) or not np.isfinite(y).all():
        raise ValueError(f"y must hold a finite number for each of the {n} rows.")
    if tolerance.shape not in ((), (n,)) or not np.all(tolerance >= 0):
        raise ValueError(
            f"tolerance must be a number, or one for each of the {n} rows, and must "
            "not be negative."
        )
    return y - tolerance, y + tolerance


def median_budgets(
    answers: Array, fixed: float, low: Array, high: Array
) -> tuple[Array, Array]:
    """How many answers must change, or be lost, before `median` leaves [low, high].

    It is above if more than half of the n answers are, or just half of them and the
    fixed number: a vote between two, which those that are not above win by

        lead = n - 2 above + [fixed is not above],

    so that a change takes ⌈lead / 2⌉ answers, and a loss takes lead, if n - above are
    so many. The same holds below. Where the median is outside already, both are 0.
    """
    n = (~np.isnan(answers)).sum(axis=1)
    changes, deletions = np.full((2, len(n)), np.inf)
    low, high = low[:, None], high[:, None]
    for outside, inside in (
        (answers > high, fixed <= high),
        (answers < low, fixed >= low),
    ):
        out = outside.sum(axis=1)
        lead = np.maximum(n - 2 * out + inside[:, 0], 0)
        changes = np.minimum(changes, np.ceil(lead / 2))
        deletions = np.minimum(deletions, np.where(lead <= n - out, lead, np.inf))
    return changes, deletions


def _but_one(each: Counts) -> Counts:
    """Sums over classes, for each class that may be left out."""
    return each.sum(axis=1, keepdims=True) - each


def _at(rows: Any, columns: Counts) -> Any:
    return np.take_along_axis(rows, columns, axis=1)
