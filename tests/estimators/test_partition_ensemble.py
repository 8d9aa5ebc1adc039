"""`PartitionEnsemble`: its parts, its votes, and that no certificate is beaten."""

import pickle

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from nearest import by_change, by_deletion, grid
from sklearn.base import is_classifier, is_regressor
from sklearn.cluster import KMeans
from sklearn.datasets import load_breast_cancer
from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.linear_model import LogisticRegression, Ridge
from sklearn.metrics import r2_score
from sklearn.model_selection import cross_val_score
from sklearn.naive_bayes import GaussianNB
from sklearn.neighbors import KNeighborsClassifier, KNeighborsRegressor
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import LinearSVC
from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor

import noiseproof
from noiseproof import DropoutLogisticRegression, PartitionEnsemble
from noiseproof.estimators.dealing import deal, likeness, middle, separation, tenths

TREE = DecisionTreeClassifier(max_depth=3, random_state=0)


def made(rng, n=120, d=12, classes=3):
    y = rng.integers(classes, size=n)
    X = rng.normal(size=(n, d)) + 1.5 * rng.normal(size=(classes, d))[y]
    return X, y


# --- ways of voting ----------------------------------------------------------------


def test_two_classes_are_compared_as_they_are_counted(rng):
    X, y = made(rng, classes=2)
    one = PartitionEnsemble(TREE, 4).fit(X, y)
    for vote in ("pairwise", "run-off"):
        other = PartitionEnsemble(TREE, 4, vote=vote).fit(X, y)
        np.testing.assert_array_equal(one.predict_proba(X), other.predict_proba(X))
        for name in ("budget", "deletion_budget"):
            budgets = [getattr(m.certify_votes(X), name) for m in (one, other)]
            np.testing.assert_array_equal(*budgets)


@pytest.mark.parametrize("vote", ["pairwise", "run-off"])
def test_parts_that_have_not_met_a_class_rank_it_last(vote, rng):
    X, y = made(rng)
    X[y == 2, 0] = np.nan
    model = PartitionEnsemble(GaussianNB(), 3, vote=vote).fit(X, y)
    assert sorted(len(m.classes_) for m in model.estimators_) == [2, 3, 3]
    assert model.score(X, y) > 0.9


# --- whole models ------------------------------------------------------------------

VALUES = [0.0, 1.0, 2.0, np.nan]
CASES = [
    ("pairwise", TREE, "abstain", None, "pairwise"),
    ("pairwise-that-reads-nan", TREE, "estimator", None, "pairwise"),
    ("run-off", TREE, "abstain", None, "run-off"),
    ("run-off-that-reads-nan", TREE, "estimator", None, "run-off"),
    ("run-off-of-groups", GaussianNB(), "abstain", [[0, 1], [3, 5]], "run-off"),
    ("trees", TREE, "abstain", None, "majority"),
    ("trees-that-read-nan", TREE, "estimator", None, "majority"),
    ("neighbours", KNeighborsClassifier(3), "abstain", None, "majority"),
    ("neighbours-refuse-nan", KNeighborsClassifier(3), "estimator", None, "majority"),
    ("groups", GaussianNB(), "abstain", [[0, 1], [2], [3, 5], [4]], "pairwise"),
    ("groups-counted", TREE, "abstain", [[0, 1], [2, 5]], "majority"),
    ("groups-that-read-nan", TREE, "estimator", {"a": [0, 4], "b": [1, 2]}, "majority"),
]


def beaten(model, groups, d=6):
    """Brute force on the grid, all values and NaN, against the model's certificates."""
    rows = grid(VALUES, d)
    winners = np.searchsorted(model.classes_, model.predict(rows)).reshape((4,) * d)
    given = groups.values() if isinstance(groups, dict) else groups or []
    axes = [tuple(group) for group in given]
    axes += [j for j in range(d) if not any(j in group for group in axes)]
    found = model.certify_votes(rows)
    change, deletion = (f(winners, axes).ravel() for f in (by_change, by_deletion))
    return found, change, deletion


def check_no_certificate_is_beaten(estimator, on_missing, groups, vote, rng, n_parts):
    n_classes = int(rng.integers(2, 5))
    X = rng.choice(VALUES[:3], size=(60, 6))
    y = rng.integers(n_classes, size=60)
    X[np.arange(60), y] += 1.0  # something to learn, beyond the grid too
    model = PartitionEnsemble(
        estimator, n_parts, groups, random_state=0, on_missing=on_missing, vote=vote
    )
    model.fit(X, y)
    found, change, deletion = beaten(model, groups)
    assert np.all(found.budget <= change)
    assert np.all(found.deletion_budget <= deletion)
    assert np.all(found.budget <= found.deletion_budget)
    if on_missing == "abstain" and vote != "pairwise":
        # one cell of each part that must fall silent is enough
        np.testing.assert_array_equal(found.deletion_budget, deletion)


@pytest.mark.parametrize(
    ("estimator", "on_missing", "groups", "vote"),
    [pytest.param(*case[1:], id=case[0]) for case in CASES],
)
def test_no_certificate_is_beaten(estimator, on_missing, groups, vote, rng):
    """4,096 rows for each of five models a case: 245,760 in all."""
    for n_parts in (2, 3, 4, 5, 6):
        check_no_certificate_is_beaten(
            estimator, on_missing, groups, vote, rng, n_parts
        )


@pytest.mark.slow
@pytest.mark.parametrize(
    ("estimator", "on_missing", "groups", "vote"),
    [pytest.param(*case[1:], id=case[0]) for case in CASES],
)
def test_no_certificate_is_beaten_at_length(estimator, on_missing, groups, vote, rng):
    """A million rows and more."""
    for _ in range(50):
        n_parts = int(rng.integers(1, 7))
        check_no_certificate_is_beaten(
            estimator, on_missing, groups, vote, rng, n_parts
        )


def test_ties_go_to_the_first_class_and_silence_too():
    X = np.array([[0.0, 0.0], [1.0, 1.0]] * 5)
    y = np.array(["b", "a"] * 5)
    model = PartitionEnsemble(TREE, 2).fit(X, y)
    rows = [[0, 0], [1, 1], [0, 1], [np.nan, 0], [np.nan, 1], [np.nan, np.nan]]
    assert model.predict(rows).tolist() == ["b", "a", "a", "b", "a", "a"]
    expected = [[0, 1], [1, 0], [0.5, 0.5], [0, 1], [1, 0], [0.5, 0.5]]
    np.testing.assert_array_equal(model.predict_proba(rows), expected)
    found = model.certify_votes(rows)
    np.testing.assert_array_equal(found.budget, [1, 2, 1, 1, 1, 1])
    np.testing.assert_array_equal(
        found.deletion_budget, [2, np.inf, 1, 1] + [np.inf] * 2
    )
    assert found.unit == "features"


# --- medians -----------------------------------------------------------------------

STUMPS = DecisionTreeRegressor(max_depth=2, random_state=0)
TWOS = KNeighborsRegressor(2)  # answers in halves: ties


@pytest.mark.parametrize("on_missing", ["abstain", "estimator"])
@pytest.mark.parametrize("groups", [None, [[0, 1], [2, 5]]])
@pytest.mark.parametrize("estimator", [STUMPS, KNeighborsRegressor(3)])
def test_no_certificate_of_a_median_is_beaten(estimator, groups, on_missing, rng):
    """All values and NaN on a grid, even and odd numbers of parts: brute force."""
    for n_parts in (1, 2, 3, 4, 5):
        X = rng.choice(VALUES[:3], size=(60, 6))
        y = np.round(X @ rng.integers(-2, 3, size=6) + rng.normal(size=60))
        model = PartitionEnsemble(
            estimator, n_parts, groups, random_state=0, on_missing=on_missing
        ).fit(X, y)
        rows = grid(VALUES, 6)
        wanted, tolerance = rng.choice(y), rng.choice([0.5, 1.0, 2.0])
        prediction = model.predict(rows)
        inside = np.abs(prediction - wanted) <= tolerance
        axes = [tuple(group) for group in groups or []]
        axes += [j for j in range(6) if not any(j in group for group in axes)]
        change, deletion = (
            np.where(inside, f(inside.reshape((4,) * 6), axes).ravel(), 0)
            for f in (by_change, by_deletion)
        )
        found = model.certify_votes(rows, np.full(len(rows), wanted), tolerance)
        np.testing.assert_array_equal(found.prediction, prediction)
        np.testing.assert_array_equal(found.budget > 0, inside)
        assert np.all(found.budget <= change)
        assert np.all(found.deletion_budget <= deletion)
        if on_missing == "abstain":
            np.testing.assert_array_equal(found.deletion_budget, deletion)


@pytest.mark.parametrize("seed", range(4))
def test_no_certificate_of_1_000_models_is_beaten(seed):
    """Models of four features; targets, answers and bounds often agree."""
    rng, ties = np.random.default_rng(seed), 0
    rows = grid(VALUES, 4)
    for _ in range(250):
        n_parts, on_missing = (
            int(rng.integers(1, 5)),
            rng.choice(["abstain", "estimator"]),
        )
        groups = [None, [[0, 3]], [[0, 1], [2, 3]]][rng.integers(3)]
        X, y = (
            rng.choice(VALUES[:3], size=(20, 4)),
            rng.integers(3, size=20).astype(float),
        )
        model = PartitionEnsemble(
            TWOS, n_parts, groups, random_state=0, on_missing=on_missing
        ).fit(X, y)
        wanted, tolerance = (
            rng.choice([0.0, 0.5, 1.0, 2.0]),
            rng.choice([0.0, 0.5, 1.0]),
        )
        prediction = model.predict(rows)
        ties += np.any(np.abs(prediction - wanted) == tolerance)
        inside = np.abs(prediction - wanted) <= tolerance
        axes = [tuple(group) for group in groups or []]
        axes += [j for j in range(4) if not any(j in group for group in axes)]
        change, deletion = (
            np.where(inside, f(inside.reshape((4,) * 4), axes).ravel(), 0)
            for f in (by_change, by_deletion)
        )
        found = model.certify_votes(rows, np.full(len(rows), wanted), tolerance)
        assert np.all(found.budget <= change)
        assert np.all(found.deletion_budget <= deletion)
        np.testing.assert_array_equal(found.budget > 0, inside)
    assert ties > 50


def test_medians_by_hand():
    X = np.array([[0.0, 0.0, 1.0], [1.0, 0.0, 1.0], [2.0, 5.0, 1.0]] * 4)
    y = np.array([0.0, 1.0, 7.0] * 4)
    model = PartitionEnsemble(DecisionTreeRegressor(), 3).fit(X, y)
    assert model.middle_ == 1.0
    by_part = dict(zip([part[0] for part in model.parts_], range(3), strict=True))
    answers = model.votes([[2.0, 0.0, 1.0], [np.nan, 5.0, 1.0]])
    order = [by_part[j] for j in range(3)]
    np.testing.assert_allclose(answers[:, order], [[7, 0.5, 8 / 3], [np.nan, 7, 8 / 3]])
    nan = np.nan
    rows = [[2, 0, 1], [nan, 5, 1], [nan, nan, 1], [nan] * 3, [nan, 0, 1]]
    found = model.certify_votes(rows, [2.5] * 5, 1.5)
    expected = [8 / 3, 8 / 3, 8 / 3, 1.0, 1.0]  # of two, the nearest to the middle
    np.testing.assert_allclose(found.prediction, expected)
    np.testing.assert_array_equal(model.predict(rows), found.prediction)
    np.testing.assert_array_equal(found.budget, [1, 1, 1, 1, 1])
    np.testing.assert_array_equal(found.deletion_budget, [2, 1, np.inf, np.inf, 1])


def test_regressors_have_the_manners_of_regressors(rng):
    X = rng.normal(size=(200, 8))
    y = X.sum(axis=1) + 0.1 * rng.normal(size=200)
    model = PartitionEnsemble(Ridge(), 3, random_state=0).fit(X, y)
    assert is_regressor(model)
    assert not is_classifier(model)
    assert not hasattr(model, "predict_proba")
    assert model.score(X, y) == r2_score(y, model.predict(X))
    np.testing.assert_array_equal(model.predict(X), np.median(model.votes(X), axis=1))
    around = model.certify_votes(X, tolerance=0.5)
    same = model.certify_votes(X, model.predict(X), 0.5)
    np.testing.assert_array_equal(around.budget, same.budget)
    by_row = model.certify_votes(X, y, np.abs(y))
    assert not np.array_equal(by_row.budget, around.budget)
    with pytest.raises(ValueError, match="of a regressor need a tolerance"):
        model.certify_votes(X, y)
    voters = PartitionEnsemble(TREE, 3).fit(X, y > 0)
    with pytest.raises(ValueError, match="tolerance is for regressors"):
        voters.certify_votes(X, tolerance=1.0)
    weights = rng.integers(0, 3, size=200)
    weighted = PartitionEnsemble(Ridge(), 4).fit(X, y, sample_weight=weights)
    again = np.repeat(np.arange(200), weights)
    repeated = PartitionEnsemble(Ridge(), 4).fit(X[again], y[again])
    assert weighted.middle_ == repeated.middle_
    np.testing.assert_allclose(weighted.predict(X), repeated.predict(X))
    X[:, 0] = np.nan
    with pytest.raises(ValueError, match="has only 0 training rows without missing"):
        model.fit(X, y)


def test_tenths_and_the_middle_of_targets(rng):
    y = rng.permutation(np.arange(100.0))
    np.testing.assert_array_equal(tenths(y, None), y // 10)
    assert middle(y, None) == 49
    y = rng.choice([0.0, 1.0, 5.0], size=60)
    weights = rng.integers(0, 4, size=60)
    again = np.repeat(np.arange(60), weights)
    expected = tenths(y[again], None)
    np.testing.assert_array_equal(tenths(y, weights.astype(float))[again], expected)
    assert middle(y, weights.astype(float)) == middle(y[again], None)
    assert tenths(np.ones(5), None).tolist() == [0] * 5


# --- parts -------------------------------------------------------------------------


@pytest.mark.parametrize("n_parts", [1, 2, 5, 8])
def test_parts_are_of_one_size_and_of_one_worth(n_parts, rng):
    for _ in range(50):
        scores = rng.gamma(0.5, size=rng.integers(n_parts, 40))
        for alike in (None, rng.random((len(scores), len(scores)))):
            part = deal(scores, n_parts, alike)
            sizes = np.bincount(part, minlength=n_parts)
            assert np.ptp(sizes) <= 1
            assert np.ptp(np.bincount(part, scores)) <= scores.max() + 1e-9


def test_dealing_by_hand():
    part = deal(np.array([9.0, 1.0, 5.0, 4.0, 4.0]), 2)
    # 9 and 5 first; then the poorer part takes the first 4, the other the second 4
    np.testing.assert_array_equal(part, [0, 1, 1, 1, 0])
    copies = np.kron(np.ones((2, 2)), np.eye(2))  # of 0 and 1 are 2 and 3
    part = deal(np.array([4.0, 3.0, 2.0, 1.0]), 2, copies)
    np.testing.assert_array_equal(part, [0, 1, 1, 0])


def test_strides_and_parts_of_ones_own(rng):
    X, y = made(rng)
    parts = PartitionEnsemble(TREE, 5, partition="strides").fit(X, y).parts_
    assert [part.tolist() for part in parts] == [
        [0, 5, 10], [1, 6, 11], [2, 7], [3, 8], [4, 9]
    ]  # fmt: skip
    labels = list("aabbccddeeff")
    pairs = PartitionEnsemble(TREE, 4, labels, partition="strides").fit(X, y).parts_
    assert [part.tolist() for part in pairs] == [
        [0, 1, 8, 9], [2, 3, 10, 11], [4, 5], [6, 7]
    ]  # fmt: skip
    own = PartitionEnsemble(TREE, partition=[7, 7, 7, 3] * 3).fit(X, y)
    assert [part.tolist() for part in own.parts_] == [
        [3, 7, 11], [0, 1, 2, 4, 5, 6, 8, 9, 10]
    ]  # fmt: skip
    assert own.certify_votes(X).unit == "features"


@pytest.mark.parametrize("storage", [np.asarray, sp.csr_array])
def test_likeness_is_the_sum_of_squared_correlations(storage, rng):
    X = rng.normal(size=(80, 5)) @ rng.normal(size=(5, 5))
    X[:, 4] = 3.0
    expected = np.zeros((5, 5))
    expected[:4, :4] = np.corrcoef(X[:, :4].T) ** 2
    found = likeness(storage(X), np.arange(5), None)
    np.testing.assert_allclose(found, expected, atol=1e-9)
    group = np.array([0, 1, 0, 2, 1])
    found = likeness(storage(X), group, None)
    assert found[0, 1] == pytest.approx(expected[np.ix_([0, 2], [1, 4])].sum())
    weights = rng.integers(1, 4, size=80)
    repeated = likeness(storage(np.repeat(X, weights, axis=0)), group, None)
    found = likeness(storage(X), group, weights.astype(float))
    np.testing.assert_allclose(found, repeated, atol=1e-9)


def test_parts_do_not_hold_the_same_thing_twice(rng):
    """Four things, each seen by three features: a part gets three different ones."""
    y = rng.integers(2, size=500)
    things = rng.normal(size=(500, 4)) + 0.7 * y[:, None]
    X = np.repeat(things, 3, axis=1) + 0.1 * rng.normal(size=(500, 12))
    parts = PartitionEnsemble(TREE, 4).fit(X, y).parts_
    assert all(len(set(part // 3)) == 3 for part in parts)


@pytest.mark.parametrize("storage", [np.asarray, sp.csr_array])
def test_scores_are_those_of_the_analysis_of_variance(storage, rng):
    from sklearn.feature_selection import f_classif

    X, y = made(rng)
    X[:, 3] = 7.0
    F = f_classif(np.delete(X, 3, axis=1), y)[0]
    found = separation(storage(X), y, None)
    assert found[3] == 0
    expected = 2 * F / (2 * F + len(y) - 3)  # classes - 1, rows - classes
    np.testing.assert_allclose(np.delete(found, 3), expected)
    weights = rng.integers(1, 4, size=len(y)).astype(float)
    again = np.repeat(np.arange(len(y)), weights.astype(int))
    repeated = separation(storage(X[again]), y[again], None)
    np.testing.assert_allclose(separation(storage(X), y, weights), repeated)
    X[:40, 0] = np.nan
    np.testing.assert_allclose(
        separation(storage(X), y, None)[0], separation(X[40:, :1], y[40:], None)[0]
    )


def test_dealt_parts_predict_better_than_slices(rng):
    """Where the good features lie side by side, the weakest part is a good one."""
    y = rng.integers(2, size=400)
    X = rng.normal(size=(400, 20))
    X[:, :5] += 1.2 * y[:, None]
    dealt = PartitionEnsemble(TREE, 5).fit(X, y).parts_
    slices = np.arange(20).reshape(5, 4)
    worst = [
        min(cross_val_score(TREE, X[:, part], y).mean() for part in parts)
        for parts in (dealt, slices)
    ]
    assert worst[0] > 0.65
    assert worst[1] < 0.55


def test_groups_stay_together_and_are_counted(rng):
    X, y = made(rng)
    labels = np.array(list("aabbbcddeefg"))
    model = PartitionEnsemble(TREE, 3, labels).fit(X, y)
    assert sorted(np.concatenate(model.parts_)) == list(range(12))
    for label in labels:
        members = np.flatnonzero(labels == label)
        assert any(set(members) <= set(part) for part in model.parts_)
    assert model.certify_votes(X).unit == "groups"
    assert len(PartitionEnsemble(TREE, 50, labels).fit(X, y).parts_) == 7
    frame = pd.DataFrame(X, columns=[f"f{j}" for j in range(12)])
    named = PartitionEnsemble(TREE, 12, {"first": ["f0", "f11"]}).fit(frame, y)
    assert len(named.parts_) == 11
    assert any(set(part) == {0, 11} for part in named.parts_)


# --- good manners ------------------------------------------------------------------


@pytest.mark.parametrize(
    "estimator", [None, GaussianNB(), HistGradientBoostingClassifier(max_iter=3)]
)
def test_containers_agree(estimator, rng):
    """CSR too where the estimator takes dense rows only."""
    X, y = made(rng)
    model = PartitionEnsemble(estimator, random_state=0).fit(X, y)
    frame = pd.DataFrame(X, columns=[f"f{j}" for j in range(12)])
    same = [
        PartitionEnsemble(estimator, random_state=0).fit(container, y).votes(container)
        for container in (frame, sp.csr_matrix(X), sp.csr_array(X))
    ]
    for votes in same:
        np.testing.assert_array_equal(votes, model.votes(X))
    X[3, 2] = np.nan
    silent = [model.votes(X)[3], model.votes(sp.csr_array(X))[3]]
    for votes in silent:
        assert (votes == -1).sum() == 1


def test_sample_weight_and_seeds(rng):
    X, y = made(rng)
    weights = rng.integers(0, 3, size=len(y)).astype(float)
    model = PartitionEnsemble(GaussianNB()).fit(X, y, sample_weight=weights)
    again = np.repeat(np.arange(len(y)), weights.astype(int))
    repeated = PartitionEnsemble(GaussianNB()).fit(X[again], y[again])
    np.testing.assert_array_equal(model.votes(X), repeated.votes(X))
    with pytest.raises(
        TypeError, match="KNeighborsClassifier does not accept sample_w"
    ):
        PartitionEnsemble(KNeighborsClassifier()).fit(X, y, sample_weight=weights)
    pipeline = make_pipeline(StandardScaler(), DecisionTreeClassifier(random_state=7))
    kept = PartitionEnsemble(pipeline).fit(X, y)
    assert {m[-1].random_state for m in kept.estimators_} == {7}
    seeded = PartitionEnsemble(pipeline, random_state=0).fit(X, y)
    assert len({m[-1].random_state for m in seeded.estimators_}) == 5


def test_missing_cells_in_training(rng):
    X, y = made(rng)
    holes = X.copy()
    holes[rng.random(X.shape) < 0.1] = np.nan
    model = PartitionEnsemble(GaussianNB()).fit(holes, y)
    for part, fitted in zip(model.parts_, model.estimators_, strict=True):
        rows = ~np.isnan(holes[:, part]).any(axis=1)
        alone = GaussianNB().fit(holes[rows][:, part], y[rows])
        np.testing.assert_array_equal(fitted.theta_, alone.theta_)
    assert model.score(X, y) > 0.8
    X[y > 0, 0] = np.nan
    with pytest.raises(ValueError, match=r"Part \d, of \d features, has only \d+ tr"):
        PartitionEnsemble(GaussianNB()).fit(X, y)


@pytest.mark.parametrize(
    "estimator",
    [
        None,
        DropoutLogisticRegression(0.3),
        make_pipeline(StandardScaler(), LogisticRegression()),
    ],
)
def test_pickled_and_saved(estimator, rng, tmp_path):
    X, y = made(rng)
    model = PartitionEnsemble(estimator, groups={"a": [0, 1]}, random_state=0).fit(X, y)
    noiseproof.save(model, tmp_path / "model.npf")
    for back in (
        pickle.loads(pickle.dumps(model)),
        noiseproof.load(tmp_path / "model.npf"),
    ):
        np.testing.assert_array_equal(back.votes(X), model.votes(X))
        np.testing.assert_array_equal(
            back.certify_votes(X).budget, model.certify_votes(X).budget
        )


def test_parts_can_be_fitted_side_by_side(rng):
    X, y = made(rng)
    one, two = (PartitionEnsemble(TREE, n_jobs=n).fit(X, y).votes(X) for n in (1, 2))
    np.testing.assert_array_equal(one, two)


@pytest.mark.parametrize(
    ("options", "kind", "sentence"),
    [
        (
            {"estimator": KMeans()},
            TypeError,
            "needs a classifier or a regressor; KMeans is neither",
        ),
        (
            {"estimator": Ridge(), "vote": "run-off"},
            TypeError,
            "vote='run-off' is for classifiers, but Ridge is a regressor",
        ),
        ({"partition": "columns"}, ValueError, "partition"),
        (
            {"partition": [0, 1, 1]},
            ValueError,
            "an array of integers, the part of each of the 12 features",
        ),
        ({"partition": np.zeros(12)}, ValueError, "got an array of float64"),
        (
            {"partition": [0, 1] * 6, "groups": [[2, 4], [6, 7]]},
            ValueError,
            r"\[6, 7\] are a group, but the partition puts them into several parts",
        ),
        (
            {"estimator": LinearSVC(), "vote": "pairwise"},
            TypeError,
            "needs predict_proba, which LinearSVC does not have",
        ),
        ({"n_parts": 0}, ValueError, "n_parts"),
        ({"on_missing": "guess"}, ValueError, "on_missing"),
        (
            {"groups": {"a": [0, 99]}},
            ValueError,
            "'a' contains 99, which is not a feature of X",
        ),
        (
            {"groups": {"a": ["nobody"]}},
            ValueError,
            "'a' contains 'nobody', which is not a feature",
        ),
        ({"groups": {"a": []}}, ValueError, "The group 'a' has no features"),
        ({"groups": [[0, 1], [1, 2]]}, ValueError, "Feature 1 is in"),
        ({"groups": [0, 1, 1]}, ValueError, "one label for each of the 12 features"),
        ({"groups": 3}, TypeError, "groups must be a dictionary"),
    ],
)
def test_bad_input_is_refused_in_a_sentence(options, kind, sentence, rng):
    X, y = made(rng)
    with pytest.raises(kind, match=sentence):
        PartitionEnsemble(**options).fit(X, y)


def test_it_holds_on_real_data():
    """Half of the rows to learn from: accuracy, and what is proven beside it."""
    X, y = load_breast_cancer(return_X_y=True)
    boosted = HistGradientBoostingClassifier(max_iter=30)
    model = PartitionEnsemble(boosted, 9, random_state=0).fit(X[::2], y[::2])
    assert model.score(X[1::2], y[1::2]) > 0.93
    found = model.certify_votes(X[1::2])
    assert np.median(found.budget) == 5  # all nine agree on most of the rows
    assert np.median(found.deletion_budget) == 9


def test_classifiers_of_a_quantity_are_told_of_regressors(rng):
    X, y = made(rng)
    said = r"Unknown label type.*pass a regressor, such as PartitionEnsemble\(Dropout"
    with pytest.raises(ValueError, match=said):
        PartitionEnsemble().fit(X, y + 0.5)
