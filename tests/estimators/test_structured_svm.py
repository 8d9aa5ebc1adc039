"""StructuredSVM with both problems that come with it."""

import runpy
from pathlib import Path

import cvxpy as cp
import numpy as np
import pytest
from invariant_problems import table
from odd_rows import out_of_range, stored_twice, with_stored_zeros
from sklearn.exceptions import NotFittedError

from noiseproof import InvariantSVC, StructuredSVM
from noiseproof.attacks import Attack, FeatureDeletion
from noiseproof.structured import LinearChain, Multiclass, TokenDeletion

EXAMPLE = Path(__file__).parents[2] / "examples" / "plot_sequence_labelling.py"


class Mirror(Attack):
    def candidates(self, x):
        return np.stack([x, x[::-1]])


def sequences(rng, n=8, length=4):
    Y = [np.repeat(rng.permutation(2), length // 2) for _ in range(n)]
    X = [np.eye(2)[y] + 0.5 * rng.normal(size=(length, 2)) for y in Y]
    return X, Y


@pytest.mark.parametrize("attack", [None, FeatureDeletion(1), Mirror()], ids=str)
@pytest.mark.parametrize("k", [2, 3])
def test_multiclass_is_invariant_svc(k, attack, rng):
    X, y = table(rng, k=k)
    one = StructuredSVM(Multiclass(), attack, alpha=0.05, tol=1e-6).fit(X, y)
    other = InvariantSVC(attack, alpha=0.05, tol=1e-6).fit(X, y)
    assert one.objective_ == pytest.approx(other.objective_, rel=2e-6)
    np.testing.assert_array_equal(one.predict(X), other.predict(X))
    W = one.weights_.reshape(k, -1)
    coef = W if k > 2 else W[1:] - W[:1]
    np.testing.assert_allclose(coef, other.coef_, atol=0.01)


@pytest.mark.parametrize("solver", ["column_generation", "bundle", "pegasos"])
def test_chain_agrees_with_cvxpy_over_all_deletions_and_labels(solver, rng):
    X, Y = sequences(rng, n=5)
    model = StructuredSVM(
        LinearChain(), TokenDeletion(1), alpha=0.2, solver=solver,
        tol=0.05 if solver == "pegasos" else 1e-6, random_state=0,
    ).fit(X, Y)  # fmt: skip
    optimum = _minimum(model.problem_, X, Y, alpha=0.2)
    assert model.objective_ >= optimum * (1 - 1e-6)
    assert model.objective_ - model.gap_ <= optimum * (1 + 1e-6)
    assert model.gap_ <= model.tol * model.objective_


def _minimum(problem, X, Y, alpha):
    w = cp.Variable(problem.n_weights_)
    total = 0
    for x, y in zip(X, Y, strict=True):
        terms = []
        for gone in [[], *([t] for t in range(len(y)))]:
            s = TokenDeletion().delete(x, gone)
            for other in np.ndindex(*[2] * len(y)):
                psi = problem.features(s, np.array(other)) - problem.features(s, y)
                terms.append(psi @ w + problem.loss(y, np.array(other)))
        total += cp.max(cp.hstack(terms)) / len(X)
    problem = cp.Problem(cp.Minimize(total + alpha / 2 * cp.sum_squares(w)))
    return problem.solve(solver=cp.CLARABEL)


def test_labels_come_back_as_they_were_given(rng):
    X, Y = sequences(rng)
    words = [np.array(["noun", "verb"])[y] for y in Y]
    model = StructuredSVM(LinearChain()).fit(X, words)
    predicted = model.predict(X)
    assert set(np.concatenate(predicted)) == {"noun", "verb"}
    right = np.concatenate(words) == np.concatenate(predicted)
    assert model.score(X, words) == right.mean()


def test_weights_are_copies(rng):
    X, Y = sequences(rng)
    counts = np.array([2, 0, 1, 1, 3, 1, 1, 1])
    twice = [i for i, c in enumerate(counts) for _ in range(c)]
    model = StructuredSVM(LinearChain(), tol=1e-7)
    weighted = model.fit(X, Y, sample_weight=counts).objective_
    repeated = model.fit([X[i] for i in twice], [Y[i] for i in twice]).objective_
    assert weighted == pytest.approx(repeated, rel=1e-6)


def test_bad_input_gives_one_sentence(rng):
    X, Y = sequences(rng)
    with pytest.raises(ValueError, match="X has 8 examples, but y has 7"):
        StructuredSVM(LinearChain()).fit(X, Y[:7])
    with pytest.raises(ValueError, match="only 1 class"):
        StructuredSVM().fit(np.eye(2), [1, 1])
    with pytest.raises(ValueError, match="'problem' parameter"):
        StructuredSVM("chain").fit(X, Y)
    with pytest.raises(ValueError, match="zero"):
        StructuredSVM(LinearChain()).fit(X, Y, sample_weight=np.zeros(8))
    with pytest.raises(NotFittedError):
        StructuredSVM(LinearChain()).predict(X)
    with pytest.raises(NotFittedError):
        StructuredSVM(LinearChain()).score(X, Y)
    for wrong in ([0] * 8, [*Y[:7], Y[7][:-1]]):
        with pytest.raises(ValueError, match="one label for each token"):
            StructuredSVM(LinearChain()).fit(X, wrong)
    with pytest.raises(ValueError, match="one label for each token"):
        StructuredSVM(LinearChain()).fit(X, Y).score(X, Y[:7])


def test_rows_stored_badly_are_mended_or_refused(rng):
    X, y = table(rng)
    X[::3, 1] = 0.0
    model = StructuredSVM().fit(X, y)
    for store in (stored_twice, with_stored_zeros):
        again = StructuredSVM().fit(store(X), y)
        np.testing.assert_allclose(again.weights_, model.weights_, atol=1e-9)
        np.testing.assert_array_equal(again.predict(store(X)), model.predict(X))
    for method in (model.predict, lambda X: StructuredSVM().fit(X, y)):
        with pytest.raises(ValueError, match="column index outside 0 to 3"):
            method(out_of_range(X))


class Blackout(Attack):
    """Not derived from TokenDeletion, but with all that a chain asks for."""

    token_budget = 1

    def delete(self, x, tokens):
        return np.where(np.asarray(tokens)[:, None], 0.0, x)


def test_a_chain_asks_the_attack_for_its_budget_not_for_its_class(rng):
    X, Y = sequences(rng)
    one, other = (
        StructuredSVM(LinearChain(), attack).fit(X, Y)
        for attack in (TokenDeletion(1), Blackout())
    )
    np.testing.assert_array_equal(one.weights_, other.weights_)
    with pytest.raises(TypeError, match="FeatureDeletion has no token_budget"):
        StructuredSVM(LinearChain(), FeatureDeletion()).fit(X, Y)
    with pytest.raises(TypeError, match="the rows of a table have none"):
        StructuredSVM(attack=TokenDeletion()).fit(np.eye(2), [0, 1])


def test_a_fit_that_ends_badly_leaves_the_old_model_or_none(rng):
    X, Y = sequences(rng)
    model = StructuredSVM(LinearChain()).fit(X, Y)
    before = model.predict(X)
    for broken in (model, StructuredSVM(LinearChain())):
        broken.set_params(attack=FeatureDeletion())
        with pytest.raises(TypeError, match="token_budget"):
            broken.fit([x[:, :1] for x in X], Y)
    np.testing.assert_array_equal(model.predict(X), before)
    with pytest.raises(NotFittedError):
        broken.predict(X)


class Overlong(Multiclass):
    """Says it has fewer weights than its features need."""

    def prepare(self, X, Y):
        prepared = super().prepare(X, Y)
        self.n_weights_ -= 1
        return prepared

    def loss_augmented_argmax(self, x, y, w, attack=None):
        return x, 1 - y


def test_features_of_the_wrong_length_are_refused(rng):
    """They would be written beyond the end of an array."""
    X, y = table(rng, k=2)
    with pytest.raises(ValueError, match=r"features must return .* \(7,\); got \(8,\)"):
        StructuredSVM(Overlong()).fit(X, y)


@pytest.mark.skipif(not EXAMPLE.is_file(), reason="an installed copy has no examples")
def test_deletion_in_training_pays_under_deletion():
    """The example, made small."""
    scores = runpy.run_path(str(EXAMPLE))["compare"](n_train=60, n_test=100)
    assert scores["robust, attacked"] > scores["plain, attacked"] + 0.02
