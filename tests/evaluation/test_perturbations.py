"""What happens to an entry happens as often as it should, in every container."""

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import binom, chi2

from noiseproof import DropoutLogisticRegression
from noiseproof._rows import contain
from noiseproof.attacks import Attack, FeatureDeletion
from noiseproof.evaluation import (
    PERTURBATIONS,
    MissingColumns,
    as_perturbation,
    perturbed_scorer,
    robustness_curve,
)
from noiseproof.noise import NOISES, Dropout, Gaussian, Missing, Outages

SEED = np.random.SeedSequence(5)
CONTAINERS = {
    "dense": np.asarray,
    "fortran": np.asfortranarray,
    "float32": lambda X: X.astype(np.float32),
    "csr": sp.csr_array,
    "csc": sp.csc_matrix,
    "coo": sp.coo_array,
    "pandas": lambda X: pd.DataFrame(X, columns=[f"x{j}" for j in range(X.shape[1])]),
    "mixed": lambda X: pd.DataFrame(X).astype({0: np.float32}),
}


def perturbed(perturb, X, level, missing="zero", seed=SEED):
    rows = contain(X, missing)
    perturbation = as_perturbation(perturb)
    perturbation.check([level], rows, missing)
    return perturbation.draw(rows, seed)(level)


def dense(X):
    return X.toarray() if sp.issparse(X) else np.asarray(X)


def sparse_rows(rng, n=50, d=20):
    return rng.uniform(1, 2, size=(n, d)) * (rng.random((n, d)) < 0.6)


@pytest.mark.parametrize("level", [0.0, 0.1, 1 / 3, 0.5, 0.999, 1.0])
def test_features_die_with_the_given_probability(level):
    n = 400_000
    deleted = int((perturbed("delete", np.ones((n // 40, 40)), level) == 0).sum())
    low, high = (
        binom.ppf([1e-6, 1 - 1e-6], n, level) if 0 < level < 1 else [n * level] * 2
    )
    assert low <= deleted <= high


@pytest.mark.parametrize("level", [1e-3, 0.5 + 1e-3])
def test_probabilities_between_two_bytes_are_exact(level):
    """Without the draw that breaks ties the first would be 0, the second 1/2."""
    n = 4_000_000
    deleted = int((perturbed("delete", np.ones((n // 100, 100)), level) == 0).sum())
    low, high = binom.ppf([1e-6, 1 - 1e-6], n, level)
    assert low <= deleted <= high


def test_features_die_independently():
    """All 8 outcomes of three features have the product of their probabilities."""
    n, level = 80_000, 0.3
    deleted = perturbed("delete", np.ones((n, 3)), level) == 0
    counts = np.bincount(deleted @ [1, 2, 4], minlength=8)
    dead = np.array([bin(i).count("1") for i in range(8)])
    expected = n * level**dead * (1 - level) ** (3 - dead)
    statistic = float(((counts - expected) ** 2 / expected).sum())
    assert statistic < chi2.ppf(1 - 1e-6, 7)


@pytest.mark.parametrize("perturb", [*PERTURBATIONS, MissingColumns(order="random")])
@given(
    levels=st.lists(st.floats(0, 1), min_size=2, max_size=2), seed=st.integers(0, 99)
)
@settings(max_examples=20, deadline=None)
def test_what_is_gone_stays_gone_at_higher_levels(perturb, levels, seed):
    low, high = sorted(levels)
    if perturb == "delete_count":
        low, high = int(40 * low), int(40 * high)
    X = np.random.default_rng(seed).uniform(1, 2, size=(30, 40))
    rows = contain(X, "nan")
    found = as_perturbation(perturb).on([f"x{j}" for j in range(40)])
    if found.takes_groups:
        found = found.grouped(np.arange(40) // 3)
    found.check([low, high], rows, "nan")
    found = found.informed(rows, X[:, 3] > 1.5)
    draw = found.draw(rows, np.random.SeedSequence(seed))
    before = np.isnan(draw(low))
    assert np.all(np.isnan(draw(high)) >= before)
    assert np.isnan(draw(40 if perturb == "delete_count" else 1)).mean() > 0.9
    assert not np.isnan(draw(0)).any()


@pytest.mark.parametrize("container", CONTAINERS)
@pytest.mark.parametrize("level", [0, 1, 5, 12, 100])
def test_exactly_the_count_dies_in_each_row(container, level, rng):
    X = sparse_rows(rng)
    after = dense(perturbed("delete_count", CONTAINERS[container](X), level))
    had, has = (X != 0).sum(axis=1), (after != 0).sum(axis=1)
    assert np.array_equal(had - has, np.minimum(level, had))
    assert np.allclose(after[after != 0], X[after != 0])


def test_every_set_of_that_size_dies_equally_often():
    n = 60_000
    X = np.tile([1.0, 0.0, 2.0, 3.0, 4.0], (n, 1))
    gone = (perturbed("delete_count", X, 2) == 0)[:, [0, 2, 3, 4]]
    counts = np.bincount(gone @ [1, 2, 4, 8], minlength=16)
    assert sorted(np.flatnonzero(counts)) == [3, 5, 6, 9, 10, 12]
    statistic = float(((counts[counts > 0] - n / 6) ** 2 / (n / 6)).sum())
    assert statistic < chi2.ppf(1 - 1e-6, 5)


def test_counts_are_drawn_alike_from_dense_and_sparse(rng):
    X = sparse_rows(rng)
    of_dense = perturbed("delete_count", X, 4)
    of_sparse = perturbed("delete_count", sp.csr_array(X), 4)
    assert np.array_equal(of_dense, of_sparse.toarray())


@pytest.mark.parametrize("container", CONTAINERS)
@pytest.mark.parametrize(
    ("perturb", "level"),
    [("delete", 0.4), ("delete_count", 1), (Dropout(), 0.4), (FeatureDeletion(), 1)],
)
def test_containers_and_dtypes_stay(container, perturb, level, rng):
    given = CONTAINERS[container](sparse_rows(rng))
    before = given.copy()
    perturbation = as_perturbation(perturb)
    if perturbation.white_box:
        perturbation.target = np.ones(50), rng.normal(size=20), 0.0
    after = perturbation.draw(contain(given, "zero"), SEED)(level)
    assert sp.issparse(after) == sp.issparse(given)
    assert after.shape == given.shape
    if isinstance(given, pd.DataFrame):
        assert list(after.columns) == list(given.columns)
        assert after.index.equals(given.index)
        if isinstance(perturb, str):
            assert after.dtypes.equals(given.dtypes)
    else:
        assert after.dtype == given.dtype
    assert np.array_equal(dense(given), dense(before))
    assert (dense(after) != 0).sum() < (dense(before) != 0).sum()


def test_sparse_deletions_drop_what_is_stored(rng):
    X = sp.csr_array(sparse_rows(rng))
    after = perturbed("delete", X, 0.5)
    assert after.has_canonical_format
    assert 0 < after.nnz < X.nnz
    kept = after != 0
    assert (abs(after - X.multiply(kept)) > 0).nnz == 0


def test_stored_zeros_and_duplicates_do_not_count():
    X = sp.csr_array(([1.0, 2.0, 0.0, 4.0], ([0, 0, 0, 0], [0, 0, 1, 2])), shape=(1, 3))
    assert perturbed("delete_count", X, 1).nnz == 1


@pytest.mark.parametrize("missing", ["zero", "nan"])
def test_deleted_entries_become_zero_or_missing(missing, rng):
    X = rng.uniform(1, 2, size=(200, 10))
    after = perturbed("delete", X, 0.3, missing)
    gone = np.isnan(after) if missing == "nan" else after == 0
    assert 0.25 < gone.mean() < 0.35
    assert np.array_equal(after[~gone], X[~gone])


def test_whole_numbers_can_go_missing():
    after = perturbed("delete", np.ones((100, 10), dtype=int), 0.5, "nan")
    assert after.dtype == np.float64
    assert 0.3 < np.isnan(after).mean() < 0.7


def test_missing_entries_stay_missing_and_do_not_count():
    X = np.array([[np.nan, 1.0, 2.0, 0.0]])
    assert np.isnan(perturbed("delete", X, 0.5)[0, 0])
    after = perturbed("delete_count", X, 1)
    assert np.isnan(after[0, 0])
    assert (after[0, 1:3] == 0).sum() == 1


@pytest.mark.parametrize("dtype", ["int8", "bool", "Int64", "Float32"])
def test_dtypes_of_frames_stay(dtype):
    X = pd.DataFrame({"a": np.ones(100, dtype=int), "b": np.ones(100)})
    X = X.astype({"a": dtype})
    after = perturbed("delete", X, 0.5)
    assert after.dtypes.equals(X.dtypes)
    assert 0.3 < (after == 0).to_numpy(bool).mean() < 0.7
    counted = perturbed("delete_count", X, 1, "nan")
    assert (counted.isna().sum(axis=1) == 1).all()


def test_words_can_go_missing_from_a_frame():
    X = pd.DataFrame({"town": ["Ulm", "Bonn"] * 50, "age": range(1, 101)})
    after = perturbed("delete", X, 0.5, "nan")
    assert after["town"].isna().any()
    assert set(after["town"].dropna()) == {"Ulm", "Bonn"}
    counted = perturbed("delete_count", X, 1, "nan")
    assert (counted.isna().sum(axis=1) == 1).all()
    zero = perturbed("delete", X, 0.5)  # a word that reads as zero is empty
    assert set(zero["town"].dropna()) == {"Ulm", "Bonn"}
    assert (zero["age"] == 0).any()
    assert zero["age"].notna().all()
    mean = contain(X, "mean").without(np.ones(X.shape, dtype=bool))
    assert set(mean["town"]) == {"Bonn"}
    assert set(mean["age"]) == {50.5}


def test_images_need_not_be_flat():
    images = np.ones((40, 5, 5, 1))
    after = perturbed("delete_count", images, 7)
    assert after.shape == images.shape
    assert np.all((after == 0).sum(axis=(1, 2, 3)) == 7)


@pytest.mark.parametrize("noise", [law() for law in NOISES.values()])
def test_noise_is_its_own_sample(noise, rng):
    X = rng.uniform(1, 2, size=(30, 4))
    expected = noise.at(0.2).sample(X, np.random.default_rng(SEED))
    assert np.array_equal(perturbed(noise, X, 0.2), expected)


def test_an_attack_of_ones_own_names_its_strength(rng):
    class Fog(Attack):
        level_name = "thickness"

        def __init__(self, thickness=1.0):
            self.thickness = thickness

        def candidates(self, x):
            return np.stack([x, x * (1 - self.thickness)])

    perturbation = as_perturbation(Fog())
    assert perturbation.label == "thickness of Fog"
    perturbation.target = [1], [1.0, 1.0], 0.0
    draw = perturbation.draw(contain(np.array([[4.0, 2.0]]), "zero"), SEED)
    assert draw(0.25).tolist() == [[3.0, 1.5]]


class Nameless(Attack):
    def worst(self, X, y, coef, intercept=None):
        return X


@pytest.mark.parametrize(
    ("perturb", "level", "sentence"),
    [
        ("delete", 1.1, "probabilities from 0 to 1; got 1.1"),
        ("delete", -0.1, "probabilities from 0 to 1; got -0.1"),
        ("delete_count", -1, "integers that are not negative; got -1"),
        ("delete_count", 1.5, "integers that are not negative; got 1.5"),
        ("drop", 0.1, "one of 'delete', 'delete_count', 'missing', 'delete_groups'"),
        (0.3, 0.1, "a noise object such as Gaussian"),
        (Dropout(), 1.0, r"rate must be in \[0, 1\)"),
        (Gaussian(), -1.0, "scale must be finite and not negative"),
        (FeatureDeletion(), -1.0, "budget"),
        (Missing(mechanism="mare"), 0.1, "must be 'mcar', 'mar' or 'mnar'"),
        (Missing({"z": 0.5}), 0.1, "'z', which is not among the names 0, 1"),
        (Outages(length="day"), 0.1, "at least 1; got 'day'"),
        (Nameless(), 1.0, "no parameter for its strength"),
    ],
)
def test_bad_levels_get_a_sentence(perturb, level, sentence):
    with pytest.raises(ValueError, match=sentence):
        perturbed(perturb, np.ones((3, 2)), level)


@pytest.mark.parametrize(
    ("X", "perturb", "missing", "error", "sentence"),
    [
        (np.ones((3, 2)), "delete", "none", ValueError, "'zero' or 'nan'; got 'none'"),
        (np.ones(3), "delete", "zero", ValueError, "got 1 dimension of dtype float64"),
        (np.array([["a"]]), "delete", "zero", ValueError, "must be a numeric array"),
        (sp.eye_array(3), Gaussian(), "zero", TypeError, "replace every zero"),
        (np.ones((3, 2)), Gaussian(), "nan", ValueError, "is for random deletions"),
        (np.ones((3, 2)), FeatureDeletion(), "nan", ValueError, "an attack sets"),
        (-np.ones((3, 2)), NOISES["poisson"](), "zero", ValueError, "non-negative"),
    ],
)
def test_unfit_data_get_a_sentence(X, perturb, missing, error, sentence):
    with pytest.raises(error, match=sentence):
        perturbed(perturb, X, 1, missing)


def test_missing_is_nan_and_deleted_is_zero(rng):
    """The same draw, told apart in the numbers and in the words."""
    X = rng.normal(size=(200, 6))
    seen = []

    def score(model, Z, y):
        seen.append(np.array(Z))
        return 0.0

    options = {"scoring": score, "n_repeats": 1, "random_state": 3}
    model, y = NanSum().fit(X), np.ones(len(X))
    missing = robustness_curve(model, X, y, "missing", [0.4], **options)
    as_nan = robustness_curve(model, X, y, "delete", [0.4], deleted_as="nan", **options)
    deleted = robustness_curve(model, X, y, "delete", [0.4], **options)
    np.testing.assert_array_equal(seen[0], seen[1])
    np.testing.assert_array_equal(np.isnan(seen[0]), seen[2] == 0)
    assert 0.35 < np.isnan(seen[0]).mean() < 0.45
    assert missing.label == as_nan.label == "share of values missing (NaN)"
    assert deleted.label == "share of values replaced by zero (the model is not told)"
    counted = {"deleted_as": "nan", **options}
    curve = robustness_curve(model, X, y, "delete_count", [2], **counted)
    assert curve.label == "values missing (NaN) per row"
    with pytest.raises(ValueError, match="perturb='missing', levels are probabilities"):
        robustness_curve(model, X, y, "missing", [2], **options)


class NanSum:
    """A model that takes NaN."""

    def fit(self, X, y=None):
        return self

    def predict(self, X):
        return np.nansum(X, axis=1)


def test_words_can_be_missing():
    frame = pd.DataFrame({"a": [1.0, 2.0] * 50, "b": ["x", "y"] * 50})
    seen = []

    def score(model, Z, y):
        seen.append(Z.isna().mean())
        return 0.0

    class Anything:
        def predict(self, X):
            return np.zeros(len(X))

    robustness_curve(
        Anything(), frame, np.zeros(100), "missing", [1.0], scoring=score, n_repeats=1
    )
    assert seen[-1].tolist() == [1.0, 1.0]


def test_a_scorer_of_missing_cells(rng):
    X = rng.normal(size=(300, 4))
    y = (X.sum(axis=1) > 0).astype(int)
    model = DropoutLogisticRegression(0.1).fit(X, y)
    known = perturbed_scorer("missing", 0.5, random_state=1)(model, X, y)
    zero = perturbed_scorer("delete", 0.5, random_state=1)(model, X, y)
    assert known == zero < model.score(X, y)  # to our models NaN adds nothing
