"""Cuts of the invariant risk are the worst there are."""

import numpy as np
import pytest
import scipy.sparse as sp
from invariant_problems import deletions, listed, some_costs, table

from noiseproof._invariant import AttackedRisk, ListedRisk, class_weights, make_costs
from noiseproof._invariant.loss import Runs
from noiseproof._invariant.risk import joint_features
from noiseproof.attacks import FeatureDeletion


@pytest.mark.parametrize("container", [np.asarray, sp.csr_array])
@pytest.mark.parametrize("given_costs", [False, True])
@pytest.mark.parametrize("k", [2, 3])
def test_the_worst_of_an_attack_is_the_worst_of_all_it_may_do(
    k, given_costs, container, rng
):
    """`worst` under changed weights and intercepts, against enumeration."""
    X, y = table(rng, k=k)
    scale, cost = some_costs(rng, k, 1) if given_costs else (None, None)
    costs = make_costs(scale, cost, np.arange(k), None)
    mass = np.full(len(X), 1 / len(X))
    attacked = AttackedRisk(container(X), FeatureDeletion(2), y, costs, mass, 0.1)
    every = ListedRisk(deletions(X, 2), y, costs, mass, 0.1)
    w = rng.normal(size=attacked.n_weights)
    rows = rng.permutation(len(X))[:7]
    for chosen in (None, rows):
        one, other = attacked.worst(w, chosen), every.worst(w, chosen)
        np.testing.assert_allclose(one.value, other.value)
        np.testing.assert_allclose(one.delta + one.psi @ w, one.value)
    assert attacked.value(w, attacked.worst(w)) == pytest.approx(
        every.value(w, every.worst(w))
    )


@pytest.mark.parametrize("k", [2, 4])
def test_joint_features_are_margins(k, rng):
    X, y = table(rng, k=k)
    rival, scale = (y + 1) % k, rng.random(len(y))
    psi = joint_features(X, y, rival, scale, k)
    w = rng.normal(size=psi.shape[1])
    W = class_weights(w, k)
    assert (W**2).sum() == pytest.approx(w @ w)
    margins = ((W[rival] - W[y]) * X).sum(axis=1)
    np.testing.assert_allclose(psi @ w, scale * margins)


def test_the_loss_bounds_the_cost_of_the_worst_transform(rng):
    """Lemma 2: l(x, y, f) >= max over s of Δ(y, argmax f(s(x), ·), s)."""
    for _ in range(5):
        risk = listed(rng, costs=some_costs(rng, 3, 3))
        w = rng.normal(size=risk.n_weights)
        losses = np.maximum(risk.worst(w).value, risk.floor)
        guess = (risk.candidates.X @ class_weights(w, 3).T).argmax(axis=1)
        owner, rank = risk.candidates.owner, risk.candidates.rank
        costs = risk.costs.cost[risk.own[owner], guess, rank]
        worst = np.maximum.reduceat(costs, risk.candidates.start[:-1])
        assert (losses >= worst).all()


def test_runs_of_uneven_length():
    line = Runs(np.array([2, 1, 3]))
    values = np.array([1.0, 5, 2, 7, 7, 3])
    assert line.rank.tolist() == [0, 1, 0, 0, 1, 2]
    items, runs = line.part(np.array([2, 0]))
    assert items.tolist() == [3, 4, 5, 0, 1]
    assert runs.counts.tolist() == [3, 2]
    assert line.argmax(values).tolist() == [1, 2, 3]
    among = np.array([True, True, False, True, True, True])
    assert line.largest(values, among, 2).tolist() == [1, 0, 3, 4]


@pytest.mark.parametrize(
    ("scale", "cost", "sentence"),
    [
        (np.ones((2, 2)), None, r"margin_scale must have shape \(3, 3\)"),
        (-np.ones((3, 3)), None, "margin_scale must not be negative"),
        (None, np.ones((3, 3, 2)), r"label_cost must have shape .*\(3, 3, 4\); got"),
        (None, np.full((3, 3), np.nan), "label_cost must be finite"),
        (None, lambda y, r, s: np.inf, "label_cost must be finite"),
    ],
)
def test_bad_costs_give_one_sentence(scale, cost, sentence):
    with pytest.raises(ValueError, match=sentence):
        make_costs(scale, cost, np.arange(3), 4)


def test_costs_may_be_functions():
    classes = np.array(["a", "b"])
    costs = make_costs(
        lambda y, r: 1.0 + (y == "a"), lambda y, r, s: (y != r) / (1 + s), classes, 3
    )
    np.testing.assert_allclose(costs.scale, [[2, 2], [1, 1]])
    np.testing.assert_allclose(costs.cost[0, 1], [1, 1 / 2, 1 / 3])
    unlisted = make_costs(None, lambda y, r, s: float(s is None), classes, None)
    assert unlisted.cost.tolist() == [[[1.0], [1.0]], [[1.0], [1.0]]]
