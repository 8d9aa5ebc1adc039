from itertools import product
from typing import NamedTuple

import numpy as np
import pandas as pd
import pytest
from scipy.stats import spearmanr
from sklearn.linear_model import LinearRegression, LogisticRegression
from sklearn.tree import DecisionTreeClassifier

from noiseproof import AverageOverMissing
from noiseproof.conditionals import Donors, JointGaussian
from noiseproof.evaluation import value_of_cells
from noiseproof.evaluation.averaged import Averaged, Drawn
from noiseproof.evaluation.cell_values import gains
from noiseproof.noise import Missing

WORDS = ("a", "b", "c")


def entropy(p):
    return -np.sum(p * np.log(p), axis=-1)


def errors(p):
    return 1 - np.max(p, axis=-1)


class Draws(NamedTuple):
    rows: object
    weights: np.ndarray
    origin: np.ndarray


class Cells:
    """Words as their places in a list."""

    is_number = np.zeros(3, dtype=bool)

    def codes(self, X):
        return np.asarray([[WORDS.index(word) for word in row] for row in X], float)


class Enumerated:
    """Every row of three words, with its probability: the exact conditional."""

    def __init__(self, joint):
        self.joint = joint
        self.cells_ = Cells()

    def draws(self, X, n_draws=None):
        rows, weights, origin = [], [], []
        for i, row in enumerate(np.asarray(X, dtype=object)):
            for code in product(range(3), repeat=3):
                words = [WORDS[c] for c in code]
                if all(x is None or x == w for x, w in zip(row, words, strict=True)):
                    rows.append(words)
                    weights.append(self.joint[code])
                    origin.append(i)
        origin, weights = np.array(origin), np.array(weights)
        weights = weights / np.bincount(origin, weights)[origin]
        return Draws(np.array(rows, dtype=object), weights, origin)


class Exact:
    """The true probabilities of two classes, for words that may be missing."""

    classes_ = np.array([0, 1])

    def __init__(self, seed=0):
        rng = np.random.default_rng(seed)
        joint = rng.dirichlet(np.full(27, 0.7)).reshape(3, 3, 3)
        self.share = rng.random((3, 3, 3))
        self.conditional_ = Enumerated(joint)

    def predict(self, X):
        return self.predict_proba(X).argmax(axis=1)

    def predict_proba(self, X):
        rows, weights, origin = self.conditional_.draws(X)
        codes = self.conditional_.cells_.codes(rows).astype(int)
        p = np.bincount(origin, weights * self.share[tuple(codes.T)])
        return np.column_stack([1 - p, p])


def test_gains_are_those_of_enumeration():
    """Brute force: E[loss | one more value] over all values it may have."""
    for seed in range(3):
        model = Exact(seed)
        X = pd.DataFrame(
            [(None, None, None), ("a", None, None), (None, "b", None), (None, "c", "a")]
        ).astype(object)
        X = X.where(X.notna(), None)
        drawn = Drawn(Averaged.of(model), X)
        joint = model.conditional_.joint
        for scoring, loss in (("log_loss", entropy), ("accuracy", errors)):
            found, _ = gains(drawn, scoring, drawn.missing)
            for i, row in enumerate(X.to_numpy()):
                before = loss(model.predict_proba([row]))[0]
                for j in range(3):
                    if row[j] is not None:
                        assert np.isnan(found[i, j])
                        continue
                    rows = [[*row[:j], word, *row[j + 1 :]] for word in WORDS]
                    after = loss(model.predict_proba(rows))
                    known = [[w if w is not None else None for w in r] for r in rows]
                    chance = np.array(
                        [_probability(joint, one) for one in known], dtype=float
                    )
                    gain = before - (chance / chance.sum()) @ after
                    assert found[i, j] == pytest.approx(gain, abs=1e-12)


def _probability(joint, row):
    places = tuple(slice(None) if w is None else WORDS.index(w) for w in row)
    return joint[places].sum()


def test_donors_of_words_come_near_to_enumeration():
    rng = np.random.default_rng(0)
    model = Exact(1)
    joint = model.conditional_.joint
    codes = rng.choice(27, size=20_000, p=joint.ravel())
    table = np.stack(np.unravel_index(codes, (3, 3, 3)), axis=1)
    y = (rng.random(len(table)) < model.share[tuple(table.T)]).astype(int)
    frame = pd.DataFrame({name: table[:, j] for j, name in enumerate("uvw")})
    words = frame.map(lambda code: WORDS[code])
    averaged = AverageOverMissing(
        _OnWords(), Donors(n_donors=500), n_draws=500, n_calibration=0
    ).fit(words, y)
    rows = words[:40].copy()
    rows[["u", "v"]] = None
    found = value_of_cells(averaged, rows)
    for third, word in enumerate(WORDS):
        own = (rows["w"] == word).to_numpy()
        plain = [[None, None, word]]
        before = entropy(model.predict_proba(plain))[0]
        for j in range(2):
            filled = [[None, None, word] for _ in WORDS]
            for k, other in enumerate(WORDS):
                filled[k][j] = other
            chance = joint.sum(axis=1 - j)[:, third]
            gain = before - chance / chance.sum() @ entropy(model.predict_proba(filled))
            assert found[own, j].mean() == pytest.approx(gain, abs=0.02)


class _OnWords(DecisionTreeClassifier):
    """A tree that reads words as their places in the list."""

    def _codes(self, X):
        return X.map(WORDS.index).to_numpy(dtype=np.float32)

    def fit(self, X, y):
        codes = self._codes(X)
        one_hot = np.hstack([codes == k for k in range(3)]).astype(np.float32)
        self.tree_of_words_ = DecisionTreeClassifier().fit(one_hot, y)
        self.classes_ = self.tree_of_words_.classes_
        self.n_features_in_ = 3
        return self

    def predict_proba(self, X):
        codes = self._codes(X)
        one_hot = np.hstack([codes == k for k in range(3)]).astype(np.float32)
        return self.tree_of_words_.predict_proba(one_hot)

    def predict(self, X):
        return self.classes_[self.predict_proba(X).argmax(axis=1)]


def gaussian(n=2000, d=6, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, d)) @ rng.normal(size=(d, d))
    return X, X @ rng.normal(size=d) + rng.normal(size=n)


def test_linear_regressors_know_exactly_how_much_variance_goes():
    X, y = gaussian()
    model = AverageOverMissing(LinearRegression(), JointGaussian()).fit(X, y)
    Z = Missing(0.5).sample(X[:30], rng=0)
    found = value_of_cells(model, Z)
    variance = model.predict(Z, return_std=True)[1] ** 2
    for j in range(Z.shape[1]):
        rows = np.where(np.arange(Z.shape[1]) == j, X[:30], Z)
        left = model.predict(rows, return_std=True)[1] ** 2
        gone = np.isnan(Z[:, j])
        np.testing.assert_allclose(
            found[gone, j], (variance - left)[gone], atol=1e-6 * variance.max()
        )
        assert np.isnan(found[~gone, j]).all()


@pytest.mark.parametrize(
    ("scoring", "loss"), [("log_loss", entropy), ("accuracy", errors)]
)
def test_linear_classifiers_by_simulation(scoring, loss):
    X, y = gaussian()
    law = JointGaussian()
    model = AverageOverMissing(LogisticRegression(C=0.1), law).fit(X, y > 0)
    Z = Missing(0.6).sample(X[:12], rng=0)
    found = value_of_cells(model, Z, scoring=scoring)
    rng = np.random.default_rng(0)
    before = loss(model.predict_proba(Z))
    for i, j in np.argwhere(np.isnan(Z)):
        mean, covariance = model.conditional_.scores(
            Z[[i]], np.eye(6)[[j]], np.zeros(1)
        )
        rows = np.repeat(Z[[i]], 2000, axis=0)
        drawn = rng.standard_normal(1000)
        rows[:, j] = mean[0, 0] + np.sqrt(covariance[0, 0, 0]) * np.append(
            drawn, -drawn
        )
        after = loss(model.predict_proba(rows))
        assert found[i, j] == pytest.approx(
            before[i] - after.mean(), abs=5 * after.std() / 2000**0.5 + 1e-4
        )


def test_draws_come_near_to_the_closed_form():
    X, y = gaussian()
    exact = AverageOverMissing(LinearRegression(), JointGaussian()).fit(X, y)
    donors = AverageOverMissing(LinearRegression(), Donors()).fit(X, y)
    Z = Missing(0.4).sample(X[:500], rng=0)
    one, other = value_of_cells(exact, Z), value_of_cells(donors, Z)
    known = ~np.isnan(one)
    assert spearmanr(one[known], other[known])[0] > 0.75
    assert other[known].mean() == pytest.approx(one[known].mean(), rel=0.35)


def test_columns_without_relation_are_worth_next_to_nothing():
    """Chance is taken out: of 20 draws, it would look like information."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(2000, 4))
    y = (X[:, 0] + 0.5 * rng.normal(size=2000) > 0).astype(int)
    model = AverageOverMissing(LogisticRegression(), "donors").fit(X, y)
    Z = X[:500].copy()
    Z[:, :3] = np.nan
    drawn = Drawn(Averaged.of(model), Z)
    raw, (told, explained) = gains(drawn, "log_loss", drawn.missing)
    share = told.sum(axis=0)[:3] / explained.sum(axis=0)[:3]
    assert share[0] > 0.8
    assert np.all(np.abs(share[1:]) < 0.2)
    assert raw[:, 1:3].mean() > 0.02  # without that


def test_a_row_gets_the_same_alone_and_in_any_batch():
    X, y = gaussian(500)
    model = AverageOverMissing(LogisticRegression(), "donors").fit(X, y > 0)
    Z = Missing(0.5).sample(X[:40], rng=0)
    found = value_of_cells(model, Z)
    np.testing.assert_allclose(value_of_cells(model, Z[7:8]), found[7:8], rtol=1e-9)
    np.testing.assert_allclose(value_of_cells(model, Z[::-1]), found[::-1], rtol=1e-9)
    assert np.nanmin(found) >= 0
    assert np.isnan(value_of_cells(model, X[:3])).all()
