"""Which class wins a vote, and how many votes must change before another class wins.

For each row a part of an ensemble ranks the classes, predicts a number, or abstains. An
adversary who changes a feature of a part can make it do any of these. One who deletes a
feature (NaN) can only make the part abstain.
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
    """Scores of the classes: the highest wins, and among equals the first class.

    A rival class r wins in place of the winner w once it has gained

        lead(r) = worth(w) - worth(r) + [w comes before r].

    Changing a part changes each score by at most 1, so r gains at most 2. Making a part
    abstain increases no score and decreases worth(w) by at most 1, so r gains at most
    1, and at most worth(w) in total. If scores are numbers of votes, the resulting
    budgets are exact. If they come from pairwise comparisons, they are lower bounds.

    Parameters
    ----------
    worth : array of int of shape (n_samples, n_classes)
        Scores: numbers of votes, or what the pairwise comparisons give.
    """

    worth: Counts

    @property
    def winner(self) -> Counts:
        """Index of the class that wins, of shape (n_samples, 1)."""
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
    """A second round between the two classes with the most votes.

    Every part votes in this *final*, for the class that it ranks higher.

    Write n(c) for the number of parts that rank class c first, N(a, b) for the number
    that prefer a to b, [c < r] for 1 if c comes before r and else 0, and w for the
    winner. There are two ways in which w can lose. Both counts are exact.

    *In the final* a rival r beats w once it has gained

        gap(r) = N(w, r) - N(r, w) + [w < r].

    To reach the final, r may stay behind one class e. If k parts are changed to rank r
    first, every class c other than r and e must lose

        need(c) = max(0, n(c) + [c < r] - n(r) - k)

    of its first votes. Of the parts that rank c first, L(c) prefer w to r. Changing one
    of these gains 2 for r in the final, and changing another part gains nothing. Parts
    that need not be taken from a certain class can all be chosen among those that
    prefer w. Hence k is the smallest number with

        Σ need(c) <= k   and   2 (k - Σ max(0, need(c) - L(c))) >= gap(r)

    for some e. A part that is made to abstain gives r no vote, so that k is 0 in
    need(c), which must not exceed n(c). For each such part that preferred w, r gains 1,
    and for each other one it loses 1. With

        short = gap(r) + Σ max(0, need(c) - L(c)) - Σ min(need(c), L(c))

    it takes Σ need(c) + max(0, short) of them, for the best e, provided that so many
    prefer w: gap(r) + Σ max(0, need(c) - L(c)) <= N(w, r).

    *Before the final* two rivals r and s keep w out of it once they have gained lead(r)
    and lead(s), where lead(c) = n(w) - n(c) + [w < c]. A vote that moves from w to one
    of them gains 2 for it and 1 for the other, so it takes

        max(⌈(lead(r) + lead(s)) / 3⌉, ⌈lead(r) / 2⌉, ⌈lead(s) / 2⌉)

    changes, or max(lead(r), lead(s)) parts that abstain, if w has so many votes.

    Parameters
    ----------
    worth : array of int of shape (n_samples, n_classes)
        Numbers of votes in the final, 0 for classes that are not in it.
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
        """The run-off of parts that rank the classes."""
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
    """The score of a class is how many parts prefer it to its strongest rival."""
    return Tally(comparisons(places).min(axis=2))


def rankings(chances: Array) -> Places:
    """The rank of each class, 0 for the most probable; ties keep their order."""
    order = np.argsort(-chances, axis=1, kind="stable")
    return np.argsort(order, axis=1).astype(np.int16)


def comparisons(places: Places) -> Counts:
    """How many parts prefer a to b, for all pairs; if a is b, how many parts vote."""
    n, _, k = places.shape
    found = np.zeros((n, k, k), dtype=np.intp)
    for place in np.moveaxis(places, 1, 0):
        votes = place[:, :1, None] != ABSTAINS
        found += (place[:, :, None] <= place[:, None, :]) & votes
    return found


def leads(worth: Counts, winner: Counts, own: Counts | None = None) -> Array:
    """What each rival must gain to win in place of the winner; `inf` for the winner.

    Rival r beats the winner w if its score is higher, or equal and r comes first. `own`
    are the scores of w against each rival, if they differ between rivals.
    """
    own = _at(worth, winner) if own is None else own
    first = winner < np.arange(worth.shape[1])
    lead = (own - worth + first).astype(np.float64)
    np.put_along_axis(lead, winner, np.inf, axis=1)
    return lead


def median(answers: Array, fixed: float) -> Array:
    """The median of the predictions for each row, which have (n_samples, n_parts).

    A prediction of NaN means that the part abstains. Every number between the two
    middle ones is a median of an even number of predictions. Of these the nearest to a
    fixed number is taken, as if that were one more prediction.
    """
    n = (~np.isnan(answers)).sum(axis=1)
    extra = np.where(n % 2 == 0, fixed, np.nan)
    ordered = np.sort(np.column_stack([answers, extra]), axis=1)
    return _at(ordered, (n // 2)[:, None])[:, 0]


def interval(y: ArrayLike, tolerance: ArrayLike, n: int) -> tuple[Array, Array]:
    """The smallest and the largest prediction that is right, for each of n rows."""
    y, tolerance = (np.asarray(part, dtype=np.float64) for part in (y, tolerance))
    if y.shape != (n,) or not np.isfinite(y).all():
        raise ValueError(f"y must have a finite number for each of the {n} rows.")
    if tolerance.shape not in ((), (n,)) or not np.all(tolerance >= 0):
        raise ValueError(
            f"tolerance must be a number, or one number for each of the {n} rows, and "
            "must not be negative."
        )
    return y - tolerance, y + tolerance


def median_budgets(
    answers: Array, fixed: float, low: Array, high: Array
) -> tuple[Array, Array]:
    """How many predictions must change, or be lost, before `median` leaves [low, high].

    The median is above `high` if more than half of the n predictions are, or exactly
    half of them and the fixed number. This is a vote between two classes, which the
    predictions that are not above win by

        lead = n - 2 above + [fixed is not above].

    So ⌈lead / 2⌉ predictions must change, or `lead` must be lost, which is possible if
    n - above are so many. The same holds below `low`. If the median is outside already,
    both numbers are 0.
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
    """Sums over all classes but one, for each class that is left out."""
    return each.sum(axis=1, keepdims=True) - each


def _at(rows: Any, columns: Counts) -> Any:
    return np.take_along_axis(rows, columns, axis=1)
