"""The chain's searches find the best there is, and its features add up."""

import itertools

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from noiseproof._invariant.kernels import viterbi
from noiseproof.attacks import FeatureDeletion
from noiseproof.structured import LinearChain, TokenDeletion


def chain(rng, length, d=2, k=3):
    """A prepared problem, an input, its output and some weights."""
    problem = LinearChain()
    X = [rng.normal(size=(length, d)), rng.normal(size=(k, d))]
    Y = [rng.integers(k, size=length), np.arange(k)]
    inputs, outputs = problem.prepare(X, Y)
    return problem, inputs[0], outputs[0], rng.normal(size=problem.n_weights_)


def all_losses(problem, x, y, w, budget):
    """Loss of every labelling under every deletion."""
    tokens = range(len(y))
    for size in range(min(budget, len(y)) + 1):
        for gone in itertools.combinations(tokens, size):
            s = TokenDeletion().delete(x, list(gone))
            for other in itertools.product(range(3), repeat=len(y)):
                yield loss(problem, s, y, np.array(other), w)


def loss(problem, s, y, other, w):
    margin = problem.features(s, other) - problem.features(s, y)
    return margin @ w + problem.loss(y, other)


@settings(max_examples=40, deadline=None, derandomize=True, database=None)
@given(seed=st.integers(0, 10**6), length=st.integers(1, 5), budget=st.integers(0, 6))
def test_search_over_deletions_and_labels_equals_brute_force(seed, length, budget):
    problem, x, y, w = chain(np.random.default_rng(seed), length)
    attack = TokenDeletion(budget)
    s, other = problem.loss_augmented_argmax(x, y, w, attack)
    assert (s != x).any(axis=1).sum() <= budget
    found = loss(problem, s, y, other, w)
    assert found == pytest.approx(max(all_losses(problem, x, y, w, budget)))


@settings(max_examples=20, deadline=None, derandomize=True, database=None)
@given(seed=st.integers(0, 10**6), length=st.integers(1, 6))
def test_viterbi_equals_brute_force(seed, length):
    problem, x, _, w = chain(np.random.default_rng(seed), length)
    scores = {
        labels: problem.features(x, np.array(labels)) @ w
        for labels in itertools.product(range(3), repeat=length)
    }
    assert tuple(problem.argmax(x, w)) == max(scores, key=scores.get)


def test_no_token_is_blanked_out_without_gain():
    kept, blank = np.array([[1.0, 0.0]] * 3), np.zeros((3, 2))
    labels, gone = viterbi(kept, blank, np.zeros((2, 2)), 2)
    assert labels.tolist() == [0, 0, 0]
    assert not gone.any()


def test_sampled_deletions_keep_to_the_budget(rng):
    X = [np.ones((5, 2)), np.ones((1, 2))]
    attacked = TokenDeletion(2).sample(X, rng)
    assert [int((x == 0).all(axis=1).sum()) for x in attacked] == [2, 1]
    assert X[0].all()


@pytest.mark.parametrize(
    ("X", "Y", "sentence"),
    [
        ([], [], "no sequence"),
        ([np.ones((2, 3)), np.ones((2, 4))], [[0, 1], [0, 1]], "sequence 1 has shape"),
        ([np.ones((2, 3)), np.ones((0, 3))], [[0, 1], []], "at least one token"),
        ([np.ones(3)], [[0, 1, 0]], r"sequence 0 has shape \(3,\)"),
        ([np.full((2, 1), np.nan)], [[0, 1]], "Sequence 0 .* not finite"),
        ([np.ones((2, 3))], [[0]], "one label for each token"),
    ],
)
def test_bad_sequences_give_one_sentence(X, Y, sentence):
    with pytest.raises(ValueError, match=sentence):
        LinearChain().prepare(X, Y)


def test_bad_attacks_give_one_sentence(rng):
    problem, x, y, w = chain(rng, 3)
    with pytest.raises(TypeError, match="FeatureDeletion has no token_budget"):
        problem.loss_augmented_argmax(x, y, w, FeatureDeletion())
    for budget in (-1, 1.5):
        with pytest.raises(ValueError, match="whole number, not negative"):
            problem.loss_augmented_argmax(x, y, w, TokenDeletion(budget))
