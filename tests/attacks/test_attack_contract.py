"""What every registered attack, and every user's own, must keep."""

import numpy as np
import pytest
import scipy.sparse as sp
from allowed_sets import ALLOWED, D, every_attack
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.base import clone

from noiseproof.attacks import ATTACKS, Attack, LinearMargins


class Shift(Attack):
    """A user's own attack: the row may move by one place."""

    def candidates(self, x):
        return np.stack([x, np.roll(x, 1), np.roll(x, -1)])


class Shorten(Attack):
    """A user's own attack whose rows differ in the number of their candidates."""

    def candidates(self, x):
        ends = np.flatnonzero(x)
        return np.stack([x, *(np.where(np.arange(len(x)) < j, x, 0) for j in ends)])


class Shrink(Attack):
    """A user's own attack that answers `worst` itself."""

    def worst(self, X, y, coef, intercept=None):
        return X * 0.5


EVERY = [
    *(pytest.param(cls(), id=f"{name}-default") for name, cls in ATTACKS.items()),
    *(pytest.param(allowed.attack, id=name) for name, allowed in ALLOWED.items()),
    *(pytest.param(cls(), id=cls.__name__) for cls in (Shift, Shorten)),
]
every = pytest.mark.parametrize("attack", EVERY)
several_classes = pytest.mark.parametrize("k", [1, 4])


def problem(rng, k, n=9):
    """Rows with some zeros, labels, weights and intercepts for k rows of weights."""
    X = rng.normal(size=(n, D)) * (rng.random((n, D)) < 0.7)
    y = rng.choice([-1, 1], n) if k == 1 else rng.integers(k, size=n)
    return X, y, rng.normal(size=(k, D)), rng.normal(size=k)


def margins(X, y, coef, intercept):
    """Margins of rows, written apart from the library."""
    X = np.nan_to_num(X)
    if len(coef) == 1:
        return y * (X @ coef[0] + intercept)
    scores = X @ coef.T + intercept
    return np.array(
        [s[c] - np.max(np.delete(s, c)) for s, c in zip(scores, y, strict=True)]
    )


def test_allowed_sets_are_those_of_the_attacks():
    for name, allowed in ALLOWED.items():
        assert type(allowed.attack) is ATTACKS[name]


@several_classes
@every
def test_drop_is_what_worst_costs(attack, k, rng):
    X, y, coef, b = problem(rng, k)
    lost = margins(X, y, coef, b) - margins(attack.worst(X, y, coef, b), y, coef, b)
    drop = attack.margin_drop(X, y, coef, b)
    assert drop.shape == (9,)
    assert (drop >= 0).all()
    np.testing.assert_allclose(drop, lost, atol=1e-12)


@several_classes
@every_attack
def test_worst_is_allowed(name, k, rng):
    X, y, coef, b = problem(rng, k)
    allowed = ALLOWED[name]
    worst = allowed.attack.worst(X, y, coef, b)
    assert (worst != X).any()
    for x, changed in zip(X, worst, strict=True):
        assert allowed.contains(x, changed)


@given(seed=st.integers(0, 100_000), k=st.sampled_from([1, 3]))
@settings(max_examples=20, deadline=None)
@every_attack
def test_nothing_allowed_is_worse_than_worst(name, seed, k):
    rng = np.random.default_rng(seed)
    X, y, coef, b = problem(rng, k, n=3)
    allowed = ALLOWED[name]
    lowest = margins(X, y, coef, b) - allowed.attack.margin_drop(X, y, coef, b)
    for _ in range(30):
        Z = np.array([allowed.sample(x, rng) for x in X])
        assert allowed.contains(X[0], Z[0])
        assert (margins(Z, y, coef, b) >= lowest - 1e-9).all()


@every
def test_worst_of_rivals_one_by_one(attack, rng):
    """The lowest margin over all rivals is that against the worst of them."""
    k = 4
    X, y, coef, b = problem(rng, k)
    drop = attack.margin_drop(X, y, coef, b)
    lowest = np.full(len(X), np.inf)
    for i, own in enumerate(y):
        for rival in set(range(k)) - {own}:
            pair = coef[own] - coef[rival]
            one = attack.margin_drop(X[[i]], [1], pair)[0]
            lowest[i] = min(lowest[i], X[i] @ pair + b[own] - b[rival] - one)
    np.testing.assert_allclose(margins(X, y, coef, b) - drop, lowest, atol=1e-10)


@several_classes
@every
def test_sparse_gives_the_same_in_the_same_container(attack, k, rng):
    rows, y, coef, b = problem(rng, k)
    for dtype, tolerance in ((np.float32, 1e-5), (np.float64, 1e-12)):
        X = rows.astype(dtype)
        before, dense = X.copy(), attack.worst(X, y, coef, b)
        drops = attack.margin_drop(X, y, coef, b)
        assert type(dense) is np.ndarray
        for kind in (sp.csr_matrix, sp.csr_array, sp.csc_array):
            sparse = attack.worst(kind(X), y, coef, b)
            assert type(sparse) is kind
            assert sparse.dtype == dense.dtype == dtype
            np.testing.assert_allclose(sparse.toarray(), dense, atol=tolerance)
            found = attack.margin_drop(kind(X), y, coef, b)
            np.testing.assert_allclose(found, drops, atol=tolerance)
        np.testing.assert_array_equal(X, before)


@every
def test_numbers_of_other_kinds_become_floats(attack, rng):
    X = rng.integers(-2, 3, size=(5, D))
    y, coef = rng.choice([-1, 1], 5), rng.normal(size=D)
    wanted = attack.worst(X.astype(float), y, coef)
    for given_ in (X, X.tolist(), np.asfortranarray(X)):
        np.testing.assert_array_equal(attack.worst(given_, y, coef), wanted)
    sparse = attack.worst(sp.csr_array(X), y, coef)
    np.testing.assert_allclose(sparse.toarray(), wanted, atol=1e-12)


@several_classes
@every
def test_rows_are_attacked_one_by_one(attack, k, rng):
    X, y, coef, b = problem(rng, k)
    order = rng.permutation(len(X))
    worst, drop = attack.worst(X, y, coef, b), attack.margin_drop(X, y, coef, b)
    again = attack.worst(X[order], y[order], coef, b)
    np.testing.assert_allclose(again, worst[order], atol=1e-12)
    again = attack.margin_drop(X[order], y[order], coef, b)
    np.testing.assert_allclose(again, drop[order], atol=1e-12)
    first = attack.worst(X[:1], y[:1], coef, b)
    np.testing.assert_allclose(first, worst[:1], atol=1e-12)


@every
def test_intercept_is_not_touched(attack, rng):
    """With two classes it moves all margins alike, so it decides nothing."""
    X, y, coef, b = problem(rng, 1)
    np.testing.assert_array_equal(
        attack.worst(X, y, coef, b + 100), attack.worst(X, y, coef)
    )


@several_classes
@every
def test_missing_entries_add_nothing(attack, k, rng):
    X, y, coef, b = problem(rng, k)
    X[rng.random(X.shape) < 0.2] = np.nan
    X[0] = np.nan
    drop = attack.margin_drop(X, y, coef, b)
    worst = attack.worst(X, y, coef, b)
    lost = margins(X, y, coef, b) - margins(worst, y, coef, b)
    np.testing.assert_allclose(drop, lost, atol=1e-12)
    sparse = sp.csr_array(X)
    np.testing.assert_allclose(attack.margin_drop(sparse, y, coef, b), drop, atol=1e-12)
    np.testing.assert_allclose(
        attack.worst(sparse, y, coef, b).toarray(), worst, atol=1e-12
    )


@pytest.mark.parametrize(
    "name", ["feature-deletion", "feature-scaling", "norm-ball", "ellipsoid"]
)
def test_missing_stays_missing_where_entries_stay_in_place(name, rng):
    X, y, coef, b = problem(rng, 3)
    X[rng.random(X.shape) < 0.3] = np.nan
    worst = ALLOWED[name].attack.worst(X, y, coef, b)
    np.testing.assert_array_equal(np.isnan(worst), np.isnan(X))


@every_attack
def test_without_strength_nothing_happens(name, rng):
    X, y, coef, b = problem(rng, 3)
    allowed = ALLOWED[name]
    if allowed.harmless is None:
        pytest.skip("this attack has no parameter that says how strong it is")
    attack = clone(allowed.attack).set_params(**allowed.harmless)
    np.testing.assert_array_equal(attack.worst(X, y, coef, b), X)
    np.testing.assert_array_equal(attack.margin_drop(X, y, coef, b), 0)


@every
def test_no_rows(attack):
    empty = np.empty((0, D))
    assert attack.worst(empty, [], np.ones(D)).shape == (0, D)
    assert attack.margin_drop(empty, [], np.ones(D)).shape == (0,)
    assert attack.worst(sp.csr_array(empty), [], np.ones(D)).shape == (0, D)


@every
def test_candidates_one_by_one_and_all_at_once(attack, rng):
    if not attack.is_finite:
        with pytest.raises(NotImplementedError, match="lists no candidates"):
            Attack.candidates(attack, np.ones(D))
        return
    X = rng.normal(size=(4, D))
    X[1, 3] = np.nan
    X[2, 5:] = 0
    ways = [attack.candidates(x) for x in X]
    copies, origin = attack.copies(X)
    np.testing.assert_array_equal(origin, np.repeat(np.arange(4), [*map(len, ways)]))
    np.testing.assert_allclose(copies, np.vstack(ways), atol=1e-12)
    for x, one, together in zip(X, ways, attack.all_candidates(X), strict=True):
        np.testing.assert_array_equal(one[0], x)
        np.testing.assert_allclose(one, together, atol=1e-12)
    sparse, _ = attack.copies(sp.csc_matrix(X))
    assert isinstance(sparse, sp.csc_matrix)
    np.testing.assert_allclose(sparse.toarray(), copies, atol=1e-12)
    assert attack.copies(X[:0])[0].shape == (0, D)


@every
def test_parameters_are_stored_as_given(attack):
    again = clone(attack)
    assert repr(again) == repr(attack)
    assert vars(again).keys() == attack.get_params(deep=False).keys()


@every
def test_bad_models_give_one_sentence(attack):
    for y, coef, b, sentence in (
        ([0], np.ones(D), None, "-1 or 1"),
        ([2], np.ones((2, D)), None, "from 0 to 1"),
        ([1, 1], np.ones(D), None, "one label for each of the 1 rows of X"),
        ([1], np.ones(D + 1), None, "coef must have shape"),
        ([1], np.ones((3, D)), [0, 0], "one number for each of the 3 rows of coef"),
    ):
        for ask in (attack.worst, attack.margin_drop):
            with pytest.raises(ValueError, match=sentence):
                ask(np.ones((1, D)), y, coef, b)


def test_candidates_of_many_rows_are_made_block_by_block(monkeypatch, rng):
    X, y, coef, b = problem(rng, 3, n=20)
    whole = Shift().worst(X, y, coef, b)
    copies = Shift().copies(X)
    monkeypatch.setattr("noiseproof.attacks.base._BLOCK", 3 * D)
    np.testing.assert_array_equal(Shift().worst(X, y, coef, b), whole)
    for block, all_ in zip(Shift().copies(X), copies, strict=True):
        np.testing.assert_array_equal(block, all_)


def test_own_worst_is_enough():
    drop = Shrink().margin_drop(np.array([[2.0, 0.0]]), [1], [1.0, 1.0])
    np.testing.assert_allclose(drop, 1.0)


def test_an_attack_without_ways_says_what_to_write():
    with pytest.raises(NotImplementedError, match="must override worst"):
        Attack().worst(np.ones((1, 2)), [1], [1.0, 1.0])


def test_margins_of_a_linear_model(rng):
    X, y, coef, b = problem(rng, 4)
    model = LinearMargins(X, y, coef, b)
    np.testing.assert_allclose(model.margins(X, model.label), margins(X, y, coef, b))
