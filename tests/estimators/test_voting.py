"""Votes and medians: no count of what it takes is beaten, and most are exact."""

from itertools import permutations, product

import numpy as np
import pytest
from nearest import by_change, by_deletion, grid

from noiseproof.estimators.voting import (
    ABSTAINS,
    RunOff,
    interval,
    majority,
    median,
    median_budgets,
    pairwise,
    rankings,
)


def brute_force(answers, n_parts):
    """Changes and deletions to another answer, from every point of a grid of votes."""
    side = round(len(answers) ** (1 / n_parts))
    answers = answers.reshape((side,) * n_parts)
    return [f(answers, range(n_parts)).ravel() for f in (by_change, by_deletion)]


# --- majority ----------------------------------------------------------------------


def tables(n_parts, n_classes):
    """All tables of votes; the last value means that a part abstains."""
    votes = grid(np.arange(n_classes + 1), n_parts)
    return majority(np.where(votes == n_classes, ABSTAINS, votes), n_classes)


@pytest.mark.parametrize("n_classes", [1, 2, 3, 4])
@pytest.mark.parametrize("n_parts", [1, 2, 3, 4, 5, 6, 7])
def test_budgets_of_all_tables_of_votes(n_parts, n_classes):
    """130,000 tables, ties and abstentions among them, against brute force."""
    tally = tables(n_parts, n_classes)
    change, deletion = brute_force(tally.winner, n_parts)
    np.testing.assert_array_equal(tally.changes(), change)
    np.testing.assert_array_equal(tally.deletions(), deletion)


@pytest.mark.slow
@pytest.mark.parametrize(("n_parts", "n_classes"), [(11, 2), (9, 3), (8, 5), (7, 6)])
def test_budgets_of_more_tables(n_parts, n_classes):
    test_budgets_of_all_tables_of_votes(n_parts, n_classes)


@pytest.mark.parametrize(("n_parts", "n_classes"), [(4, 2), (3, 3)])
def test_brute_force_by_an_even_simpler_one(n_parts, n_classes):
    winners = tables(n_parts, n_classes).winner.reshape((n_classes + 1,) * n_parts)
    change, deletion = (f(winners, range(n_parts)) for f in (by_change, by_deletion))
    points = list(product(range(n_classes + 1), repeat=n_parts))
    for a in points:
        others = [b for b in points if winners[b] != winners[a]]
        moves = [sum(i != j for i, j in zip(a, b, strict=True)) for b in others]
        assert change[a] == min(moves)
        losses = [
            move
            for move, b in zip(moves, others, strict=True)
            if all(j in (i, n_classes) for i, j in zip(a, b, strict=True))
        ]
        assert deletion[a] == min(losses, default=np.inf)


# --- rankings ----------------------------------------------------------------------


def all_rankings(n_parts, n_classes):
    """All tables of rankings; the last one means that a part abstains."""
    orders = np.array(list(permutations(range(n_classes))))
    places = np.concatenate([orders, np.full((1, n_classes), ABSTAINS)])
    return places.astype(np.int16)[grid(np.arange(len(places)), n_parts)]


def test_equal_chances_keep_the_order_of_classes():
    chances = np.array([[0.2, 0.5, 0.3], [0.4, 0.2, 0.4], [-1.0, 0.0, 0.0]])
    np.testing.assert_array_equal(rankings(chances), [[2, 0, 1], [0, 2, 1], [2, 0, 1]])


@pytest.mark.parametrize(("n_parts", "n_classes"), [(1, 4), (2, 4), (3, 3), (5, 3)])
def test_budgets_of_all_tables_of_comparisons(n_parts, n_classes):
    """Pairwise comparisons: never beaten, and reached by most of the tables."""
    tally = pairwise(all_rankings(n_parts, n_classes))
    change, deletion = brute_force(tally.winner, n_parts)
    assert np.all(tally.changes() <= change)
    assert np.all(tally.deletions() <= deletion)
    assert np.mean(tally.changes() == change) > 0.8


@pytest.mark.parametrize(
    ("n_parts", "n_classes"),
    [
        *((1, 1), (3, 1), (1, 2), (2, 2), (5, 2), (8, 2)),
        *((1, 3), (2, 3), (3, 3), (4, 3), (5, 3), (6, 3)),
        *((1, 4), (2, 4), (3, 4)),
        pytest.param(7, 3, marks=pytest.mark.slow),
        pytest.param(4, 4, marks=pytest.mark.slow),
        pytest.param(3, 5, marks=pytest.mark.slow),
    ],
)
def test_budgets_of_all_run_offs(n_parts, n_classes):
    """160,000 tables of rankings, ties and abstentions among them: both are exact."""
    tally = RunOff.of(all_rankings(n_parts, n_classes))
    change, deletion = brute_force(tally.winner, n_parts)
    np.testing.assert_array_equal(tally.changes(), change)
    np.testing.assert_array_equal(tally.deletions(), deletion)


def test_a_run_off_by_hand():
    """Parts that like the third best class decide between the two others."""
    votes = ["abc"] * 4 + ["bac"] * 3 + ["cba"] * 2
    places = np.array([[vote.index(c) for c in "abc"] for vote in votes], np.int16)
    tally = RunOff.of(places[None])
    np.testing.assert_array_equal(tally.first, [[4, 3, 2]])
    np.testing.assert_array_equal(tally.worth, [[4, 5, 0]])
    assert tally.winner == 1
    # b leads by one vote in the final, and a tie would go to a
    assert tally.changes() == 1
    assert tally.deletions() == 1


@pytest.mark.parametrize(("n_parts", "n_classes"), [(3, 2), (4, 3)])
def test_run_offs_are_decided_as_by_hand(n_parts, n_classes):
    places = all_rankings(n_parts, n_classes)
    for row, winner in zip(places, RunOff.of(places).winner[:, 0], strict=True):
        voting = [list(place) for place in row if place[0] != ABSTAINS]
        first = [sum(place[c] == 0 for place in voting) for c in range(n_classes)]
        one, other = sorted(sorted(range(n_classes), key=lambda c: -first[c])[:2])
        lead = sum(1 if place[one] < place[other] else -1 for place in voting)
        assert winner == (one if lead >= 0 else other)


def test_more_parts_than_a_grid_can_hold(rng):
    """No change of random parts to random rankings, within the budget, beats it."""
    for _ in range(40):
        n_parts, k = rng.integers(5, 12), rng.integers(3, 6)
        places = np.argsort(rng.random((1, n_parts, k)), axis=2).astype(np.int16)
        tally = RunOff.of(places)
        fewer = int(min(tally.changes()[0] - 1, n_parts))
        tried = np.repeat(places, 300, axis=0)
        for row in tried:
            row[rng.choice(n_parts, fewer, replace=False)] = np.argsort(rng.random(k))
        assert np.all(RunOff.of(tried).winner == tally.winner)


# --- medians -----------------------------------------------------------------------


def test_medians():
    nan = np.nan
    answers = [[1, 5, 2], [1, 5, nan], [4, 5, nan], [1, 2, nan], [7, nan, nan]]
    found = median(np.array([*answers, [nan] * 3], dtype=float), 3.0)
    np.testing.assert_array_equal(found, [2, 3, 4, 2, 7, 3])


def test_medians_are_medians(rng):
    for n in range(1, 9):
        answers = rng.normal(size=(50, n))
        found, expected = median(answers, 0.3), np.median(answers, axis=1)
        if n % 2:
            np.testing.assert_array_equal(found, expected)
        half = (n + 1) // 2
        assert np.all((answers <= found[:, None]).sum(axis=1) >= half)
        assert np.all((answers >= found[:, None]).sum(axis=1) >= half)


def test_no_interval_is_left_earlier(rng):
    """1,000 ensembles whose parts may answer anything, ties and silence included.

    Answers, bounds and the fixed number are of the same few numbers, so that they often
    agree; the two outermost ones stand for whatever an adversary may like.
    """
    numbers = np.array([-9.0, 0.0, 1.0, 2.0, 9.0, np.nan])
    for _ in range(1_000):
        n_parts = int(rng.integers(1, 5))
        answers = grid(numbers, n_parts)
        fixed = rng.choice(numbers[:-1])
        y, tolerance = rng.choice([0.0, 0.5, 1.0, 2.0]), rng.choice([0.0, 0.5, 1.0])
        low, high = interval(np.full(len(answers), y), tolerance, len(answers))
        found = median(answers, fixed)
        inside = (low <= found) & (found <= high)
        by_force = [np.where(inside, b, 0) for b in brute_force(inside, n_parts)]
        np.testing.assert_array_equal(
            median_budgets(answers, fixed, low, high), by_force
        )


@pytest.mark.parametrize(
    ("y", "tolerance", "sentence"),
    [
        ([1.0, 2.0], 1.0, "y must have a finite number for each of the 3 rows"),
        ([1.0, np.nan, 2.0], 1.0, "y must have a finite number"),
        ([1.0, 2.0, 3.0], -1.0, "must not be negative"),
        ([1.0, 2.0, 3.0], [1.0, 2.0], "one number for each of the 3 rows"),
        ([1.0, 2.0, 3.0], np.nan, "not be negative"),
    ],
)
def test_bad_tolerances_are_refused_in_a_sentence(y, tolerance, sentence):
    with pytest.raises(ValueError, match=sentence):
        interval(y, tolerance, 3)
