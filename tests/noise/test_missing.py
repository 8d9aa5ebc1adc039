"""A noise that writes holes."""

import numpy as np
import pytest
import scipy.sparse as sp
from same import assert_same
from sklearn.datasets import load_digits
from sklearn.tree import DecisionTreeClassifier

import noiseproof
from noiseproof import CorruptedCopies, DropoutSVC
from noiseproof.noise import Missing


def test_what_stays_is_not_rescaled(rng):
    X = rng.normal(size=(20_000, 3))
    holed = Missing([0.1, 0.5, 0.9]).sample(X, rng=0)
    gone = np.isnan(holed)
    np.testing.assert_array_equal(holed[~gone], X[~gone])
    np.testing.assert_allclose(gone.mean(axis=0), [0.1, 0.5, 0.9], atol=0.02)
    assert not np.isnan(X).any()


@pytest.mark.parametrize(
    "groups", [["a", "b", "a", "c"], [0, 1, 0, 2], [[0, 2]], [[2, 0], [1], [3]]]
)
def test_groups_go_together(groups, rng):
    gone = np.isnan(Missing(0.5, groups).sample(np.ones((4000, 4)), rng=0))
    np.testing.assert_array_equal(gone[:, 0], gone[:, 2])
    for other in (1, 3):
        assert np.mean(gone[:, 0] == gone[:, other]) == pytest.approx(0.5, abs=0.05)
    np.testing.assert_allclose(gone.mean(axis=0), 0.5, atol=0.03)


@pytest.mark.parametrize("mechanism", ["mcar", "mar", "mnar"])
@pytest.mark.parametrize("groups", [None, np.arange(40) // 2])
def test_a_rate_for_each_row(mechanism, groups, rng):
    """Shares of rows are even between 0 and the rate, and higher rates miss more."""
    X = rng.normal(size=(4000, 40))
    noise = Missing(0.8, groups, mechanism, by_row=True)
    gone = np.isnan(noise.sample(X, rng=0))
    share = np.sort(gone.mean(axis=1))
    if mechanism != "mar":  # where the value that drives a row moves its share, too
        assert np.abs(share - np.linspace(0, 0.8, len(X))).mean() < 0.06
    assert share.std() > 0.15  # a rate for all would give 0.1 with groups
    assert gone.mean() == pytest.approx(noise.mean_share(0.8), abs=0.03)
    less = np.isnan(noise.at(0.4).sample(X, rng=0))
    assert np.all(gone[less])
    assert noise.at(0.4).by_row
    assert "at a rate of each row" in noise.label


def test_levels_and_ends(rng):
    X = rng.normal(size=(5, 2)).astype(np.float32)
    np.testing.assert_array_equal(Missing(0.0).sample(X, 0), X)
    assert np.isnan(Missing().at(1.0).sample(X, 0)).all()
    assert Missing(0.3, groups=["a", "a"]).at(0.6).groups == ["a", "a"]
    assert Missing(0.5).sample(X, 0).dtype == np.float32
    X[0] = np.nan
    assert np.isnan(Missing(0.5).sample(X, 0)[0]).all()


def test_trees_learn_where_holes_go(rng):
    X, y = load_digits(return_X_y=True)
    trees = DecisionTreeClassifier(random_state=0, min_samples_leaf=5)
    holed = Missing(0.3).sample(X[900:], rng=1)
    plain = trees.fit(X[:900], y[:900]).score(holed, y[900:])
    copies = CorruptedCopies(trees, Missing(0.3), n_copies=16, random_state=0)
    copies.fit(X[:900], y[:900])
    assert copies.score(holed, y[900:]) > plain + 0.1


def test_safe_files(tmp_path):
    noise = Missing(np.array([0.1, 0.2]), groups=[[0], [1]])
    noiseproof.save(noise, tmp_path / "noise.npf")
    assert_same(noiseproof.load(tmp_path / "noise.npf"), noise)


def test_noises_of_files_without_a_mechanism():
    noise = Missing(0.3)
    del vars(noise)["mechanism"]
    assert np.isnan(noise.sample(np.ones((50, 4)), rng=0)).any()


def test_bad_input():
    X = np.ones((3, 4))
    with pytest.raises(ValueError, match=r"Missing.rate must be in \[0, 1\]; got 1.5"):
        Missing(1.5).sample(X)
    with pytest.raises(ValueError, match="must be finite and not negative"):
        Missing(-0.1).sample(X)
    with pytest.raises(ValueError, match="one label for each of the 4 features; got 2"):
        Missing(0.5, ["a", "b"]).sample(X)
    with pytest.raises(ValueError, match="Feature 1 is in the groups 'group 0' and"):
        Missing(0.5, [[0, 1], [1, 2]]).sample(X)
    for groups, feature in ([[0, 4]], 4), ([[-1]], -1):
        message = f"contains {feature}, which is not a feature of X"
        with pytest.raises(ValueError, match=message):
            Missing(0.5, groups).sample(X)
    with pytest.raises(
        ValueError, match="must be the same for all features of a group"
    ):
        Missing([0.1, 0.2, 0.1, 0.1], [[0, 1]]).sample(X)
    with pytest.raises(TypeError, match="would replace every zero of a sparse"):
        Missing().sample(sp.csr_array(X))
    with pytest.raises(
        TypeError, match="Missing makes values missing, so there is no mean"
    ):
        DropoutSVC(Missing()).fit(np.eye(4), [0, 1, 0, 1])
    with pytest.raises(TypeError, match="Missing makes values missing"):
        Missing().variance([1.0])
