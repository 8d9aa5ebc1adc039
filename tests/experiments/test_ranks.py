"""Mean ranks and critical differences."""

import numpy as np
import pytest
from experiments.cases import (
    errors_of,
    is_behind,
    is_far_behind,
    judged_ranks,
    losses,
    score,
)
from experiments.ranks import Ranks, diagram, ranks
from scipy.stats import chi2


def test_critical_differences_are_those_of_demsar_2006():
    """His table 5 (a), and his example of 4 classifiers on 14 data sets."""
    q = {2: 1.960, 3: 2.343, 4: 2.569, 6: 2.850, 10: 3.164}
    for k, value in q.items():
        table = np.tile(np.arange(1.0, k + 1), (30, 1))
        wanted = value * np.sqrt(k * (k + 1) / (6 * 30))
        found = Ranks([str(j) for j in range(k)], table).critical_difference
        assert found == pytest.approx(wanted, abs=1e-3)
    assert Ranks([*"abcd"], np.ones((14, 4))).critical_difference == pytest.approx(
        1.25, abs=5e-3
    )


def test_ranks_are_means_over_the_cases_of_a_data_set():
    errors = {
        "one": [{"a": 1.0, "b": 2.0, "c": 2.0}, {"a": 1.0, "b": 3.0, "c": 2.0}],
        "two": [{"a": 2.0, "b": 1.0, "c": 3.0}],
    }
    found = ranks(errors)
    np.testing.assert_allclose(found.table, [[1, 2.75, 2.25], [2, 1, 3]])
    assert found.first == "a"
    assert found.by_name == {"a": 1.5, "b": 1.875, "c": 2.625}


def test_friedmans_test_is_his_formula(rng):
    table = np.array([rng.permutation(4) + 1.0 for _ in range(20)])
    n, k = table.shape
    squares = 12 * n / (k * (k + 1)) * (np.sum(table.mean(axis=0) ** 2))
    wanted = chi2.sf(squares - 3 * n * (k + 1), k - 1)
    assert Ranks([*"abcd"], table).p_value == pytest.approx(wanted)


def test_cliques_are_the_longest_runs_within_the_critical_difference():
    means = np.array([4.0, 1.0, 1.5, 2.4, 5.0])
    found = Ranks([*"abcde"], np.tile(means, (40, 1)))
    assert 0.9 < found.critical_difference < 1.0
    assert found.cliques == [(0, 1), (1, 2)]
    assert Ranks([*"abcde"], np.tile(means, (2, 1))).cliques == [(0, 4)]


def test_a_diagram_is_a_png():
    pytest.importorskip("matplotlib")
    table = np.tile(np.arange(1.0, 8.0), (3, 1))
    assert diagram(Ranks([*"abcdefg"], table))[:8] == b"\x89PNG\r\n\x1a\n"


ROWS = [
    {"data": data, "method": method, "score": value, "measure": measure, "loss": loss}
    for data, measure, method, values, loss in [
        ("heart", "accuracy", "a", (0.9, 0.8), 0.3),
        ("heart", "accuracy", "b", (0.92, 0.84), 0.2),
        ("abalone", "RMSE", "a", (2.0, 2.5), None),
        ("abalone", "RMSE", "b", (2.5, 2.0), None),
    ]
    for value in values
]


def test_errors_are_shares_of_wrong_classes_or_as_they_are():
    found = errors_of(ROWS, ("data",))
    np.testing.assert_allclose(found["heart",]["a"], [0.1, 0.2])
    np.testing.assert_allclose(found["abalone",]["b"], [2.5, 2.0])
    assert list(errors_of(ROWS, ("data",), "loss")) == [("heart",)]
    assert score(("heart",), found["heart",]["a"]) == pytest.approx(0.85)
    assert score(("abalone",), found["abalone",]["a"]) == pytest.approx(2.25)
    ours = judged_ranks(found)
    assert ours.by_name == {"a": 1.75, "b": 1.25}
    assert list(judged_ranks(found, leave_out="b").names) == ["a"]


def test_a_loss_is_more_than_one_standard_error():
    cases = errors_of(ROWS, ("data",))
    assert list(losses(cases, "a", lambda method: True)) == [(("heart",), "b")]
    assert list(losses(cases, "b", lambda method: True)) == []
    base = np.zeros(4)
    assert is_behind(np.array([1, 2, 3, 4]), base)  # 2.5 with an error of 0.65
    assert not is_behind(np.array([-3, 4, -3, 4]), base)  # 0.5 with an error of 2.0
    assert not is_behind(base, base)


def test_far_behind_is_beyond_the_standard_error_of_the_other():
    theirs = np.array([1.0, 2.0, 3.0])  # 2 with a standard error of 0.58
    assert is_far_behind(theirs + 0.6, theirs)
    assert not is_far_behind(theirs + 0.5, theirs)
    assert is_behind(theirs + 0.5, theirs)
    assert not is_far_behind(theirs[:1], theirs[:1])
