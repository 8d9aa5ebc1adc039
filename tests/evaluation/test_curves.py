"""Curves are what one would compute by hand, for anybody's model."""

import itertools
import pickle

import numpy as np
import pandas as pd
import polars as pl
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import t as student
from sklearn.dummy import DummyClassifier
from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.exceptions import NotFittedError
from sklearn.impute import SimpleImputer
from sklearn.linear_model import LinearRegression, LogisticRegression
from sklearn.metrics import accuracy_score, make_scorer
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from noiseproof import DropoutSVC
from noiseproof.attacks import ATTACKS, FeatureDeletion
from noiseproof.evaluation import certify, linear_view, robustness_curve
from noiseproof.noise import Gaussian

LEVELS = [0.0, 0.4, 0.8]


def problem(rng, n=120, d=6, classes=3):
    X = rng.normal(size=(n, d))
    y = (X @ rng.normal(size=(d, classes))).argmax(axis=1)
    return X, y


def binary(rng, n=30, d=5):
    X, y = problem(rng, n, d, classes=2)
    return X, y, LogisticRegression().fit(X, y)


def curve_of(model, X, y, perturb="delete", levels=LEVELS, **options):
    options = {"random_state": 0, **options}
    return robustness_curve(model, X, y, perturb, levels, **options)


def test_mean_over_draws_meets_the_exact_expectation(rng):
    """All 2^d masks with their probabilities, by enumeration."""
    X, y, model = binary(rng)
    level, repeats = 0.3, 400
    expected = 0.0
    right = []
    for mask in itertools.product([0, 1], repeat=X.shape[1]):
        dead = len(mask) - sum(mask)
        weight = level**dead * (1 - level) ** sum(mask)
        right.append((weight, model.predict(X * mask) == y))
        expected += weight * right[-1][1].mean()
    # rows are deleted independently: variance of the mean over n rows and repeats
    p = sum(weight * hit for weight, hit in right)
    error = np.sqrt((p * (1 - p)).mean() / len(y) / repeats)
    curve = curve_of(model, X, y, levels=[level], n_repeats=repeats)
    assert abs(curve.mean[0, 0] - expected) < 5 * error


def test_counts_meet_the_exact_expectation(rng):
    """All sets of two features, each as likely as the others."""
    X, y, model = binary(rng)
    repeats = 400
    sets = list(itertools.combinations(range(X.shape[1]), 2))
    hits = []
    for gone in sets:
        Z = X.copy()
        Z[:, gone] = 0
        hits.append(model.predict(Z) == y)
    p = np.mean(hits, axis=0)
    error = np.sqrt((p * (1 - p)).mean() / len(y) / repeats)
    curve = curve_of(model, X, y, "delete_count", [2], n_repeats=repeats)
    assert abs(curve.mean[0, 0] - p.mean()) < 5 * error


def test_all_models_see_the_same_rows(rng):
    X, y = problem(rng)
    seen = {"a": [], "b": []}

    class Spy:
        def __init__(self, name):
            self.name = name

        def predict(self, Z):
            if len(Z) > 1:  # not the trial
                seen[self.name].append(Z.copy())
            return np.zeros(len(Z), dtype=int)

    curve = curve_of([("a", Spy("a")), ("b", Spy("b"))], X, y, n_repeats=4)
    assert np.array_equal(seen["a"], seen["b"])
    assert len({Z.tobytes() for Z in seen["a"]}) == 2 * 4 + 1  # nothing dies at 0
    assert np.array_equal(curve.scores[0], curve.scores[1])


@pytest.mark.parametrize("perturb", ["delete", "delete_count", Gaussian()])
@pytest.mark.parametrize("n_jobs", [2, 3, 50])
def test_numbers_do_not_depend_on_the_number_of_workers(perturb, n_jobs, rng):
    X, y = problem(rng)
    models = {"a": DropoutSVC().fit(X, y), "b": LogisticRegression().fit(X, y)}
    levels = [0, 1, 4] if perturb == "delete_count" else LEVELS
    one, many = (
        curve_of(models, X, y, perturb, levels, n_repeats=5, n_jobs=n)
        for n in (None, n_jobs)
    )
    assert np.array_equal(one.scores, many.scores)
    assert not np.array_equal(one.scores[:, 1, 0], one.scores[:, 1, 1])


def test_numbers_depend_on_the_seed_and_not_on_the_other_levels(rng):
    X, y = problem(rng)
    model = DropoutSVC().fit(X, y)
    curve = curve_of(model, X, y)
    alone = curve_of(model, X, y, levels=[0.4])
    assert np.array_equal(curve.scores[:, 1], alone.scores[:, 0])
    other = curve_of(model, X, y, random_state=1)
    assert not np.array_equal(curve.scores, other.scores)
    for make in (np.random.RandomState, np.random.default_rng):
        twice = [curve_of(model, X, y, random_state=make(3)).scores for _ in range(2)]
        assert np.array_equal(*twice)
    fresh = [curve_of(model, X, y, random_state=None).scores for _ in range(2)]
    assert not np.array_equal(*fresh)


def test_sparse_and_dense_agree(rng):
    X, y = problem(rng)
    X *= rng.random(X.shape) < 0.5
    model = DropoutSVC().fit(X, y)
    for perturb, levels in [("delete_count", [0, 1, 2]), (FeatureDeletion(), [0, 1])]:
        both = [curve_of(model, Z, y, perturb, levels) for Z in (X, sp.csr_array(X))]
        assert np.array_equal(both[0].scores, both[1].scores)
    both = [curve_of(model, Z, y, n_repeats=100) for Z in (X, sp.csc_matrix(X))]
    assert np.array_equal(both[0].scores[:, 0], both[1].scores[:, 0])
    error = np.hypot(*(c.scores.std(axis=2) / np.sqrt(100) for c in both))
    assert np.all(np.abs(both[0].mean - both[1].mean) <= 5 * error)


def test_sparse_x_reaches_the_model_sparse(rng):
    X, y = problem(rng)

    def score(model, Z, y):
        return float(sp.issparse(Z) and Z.format == "csr")

    curve = curve_of(DropoutSVC().fit(X, y), sp.csc_array(X), y, scoring=score)
    assert np.all(curve.scores == 1)


def test_one_buffer_serves_all_draws_of_a_worker(rng):
    X, y = problem(rng)
    places = set()

    def score(model, Z, y):
        places.add(Z.ctypes.data)
        return 0.0

    model = DropoutSVC().fit(X, y)
    before = X.copy()
    curve_of(model, X, y, scoring=score)
    assert len(places) == 1
    assert X.ctypes.data not in places
    assert np.array_equal(X, before)


@pytest.mark.parametrize(
    "model",
    [
        HistGradientBoostingClassifier(max_iter=5),
        make_pipeline(SimpleImputer(), StandardScaler(), KNeighborsClassifier(3)),
        make_pipeline(StandardScaler(), DropoutSVC()),
    ],
    ids=["boosting", "imputer", "dropout"],
)
@pytest.mark.parametrize("labels", [["b", "a", "c"], [7, 3, 5]], ids=["words", "ints"])
def test_missing_values_reach_models_that_know_them(model, labels, rng):
    X, y = problem(rng)
    X, y = pd.DataFrame(X + 1, columns=list("abcdef")), np.array(labels)[y]
    model.fit(X, y)
    curve = curve_of(model, X, y, deleted_as="nan", n_repeats=2)
    assert curve.mean[0, 0] == model.score(X, y)
    assert curve.mean[0, 0] > curve.mean[0, 2]


# scikit-learn before 1.7 does not read the names of polars frames
@pytest.mark.filterwarnings("ignore:X does not have valid feature names")
def test_frames_stay_frames(rng):
    X, y = problem(rng)
    names = list("abcdef")
    seen = []

    def score(model, Z, y):
        seen.append(Z)
        return model.score(Z, y)

    model = LogisticRegression().fit(pd.DataFrame(X, columns=names), y)
    frame = pd.DataFrame(X, columns=names, index=range(5, 125)).astype({"a": "float32"})
    curve_of(model, frame, y, scoring=score)
    assert all(list(Z.columns) == names and Z.index[0] == 5 for Z in seen)
    assert all(Z.dtypes.equals(frame.dtypes) for Z in seen)
    of_array = curve_of(model, pl.DataFrame(X, schema=names), y)
    assert of_array.mean.shape == (1, 3)


class Network:
    """Nothing but `predict`, which gives a number per class."""

    def __init__(self, weights):
        self.weights = weights

    def predict(self, X):
        return X @ self.weights


def test_models_need_nothing_but_predict(rng):
    X, y = problem(rng)
    model = LogisticRegression().fit(X, y)

    class Plain:
        def predict(self, X):
            return model.predict(X)

    network = Network(model.coef_.T)
    model.intercept_[:] = 0.0
    models = {"sklearn": model, "plain": Plain(), "network": network}
    for scoring in ("accuracy", "f1_macro", make_scorer(accuracy_score)):
        own, plain, net = curve_of(models, X, y, scoring=scoring).scores
        assert np.array_equal(own, plain)
        assert np.array_equal(own, net)


def test_regressors_can_be_judged_too(rng):
    X = rng.normal(size=(80, 3))
    y = X @ [1.0, 2.0, 3.0]
    network = Network(np.array([[1.0], [2.0], [3.0]]))
    models = {"own": LinearRegression().fit(X, y), "network": network}
    curve = curve_of(models, X, y)
    assert curve.scoring == "r2"
    assert np.allclose(curve.scores[0], curve.scores[1])
    assert curve.mean[0, 0] == pytest.approx(1.0)


@pytest.mark.parametrize("classes", [2, 4])
def test_attacks_are_those_made_by_hand(classes, rng):
    X, y = problem(rng, classes=classes)
    y = np.array(list("dcba"))[y]
    models = {"svc": DropoutSVC().fit(X, y), "logistic": LogisticRegression().fit(X, y)}
    curve = curve_of(models, X, y, FeatureDeletion(), [0, 1, 3])
    assert curve.n_repeats == 1
    for scores, model in zip(curve.scores, models.values(), strict=True):
        signs = np.where(y == model.classes_[1], 1, -1)
        labels = signs if classes == 2 else np.searchsorted(model.classes_, y)
        for score, budget in zip(scores[:, 0], [0, 1, 3], strict=True):
            attack = FeatureDeletion(budget)
            Z = attack.worst(X, labels, model.coef_, model.intercept_)
            assert score == model.score(Z, y)


@pytest.mark.parametrize("name", ATTACKS)
def test_no_attack_of_any_strength_helps_the_model(name, rng):
    X, y = problem(rng, d=9)  # images of 3 x 3, for those that need some
    model = LogisticRegression().fit(X, y)
    attack = ATTACKS[name]()
    if name in ("ellipsoid", "union"):  # have a shape and members, but no strength
        with pytest.raises(ValueError, match="no parameter for its strength"):
            curve_of(model, X, y, attack, [1])
        return
    strong = {"feature-deletion": 2.0, "feature-scaling": 2.0, "image-rotation": 45.0}
    curve = curve_of(model, X, y, attack, [0.0, strong.get(name, 0.9)])
    assert curve.mean[0, 0] == model.score(X, y) > curve.mean[0, 1]


@given(seed=st.integers(0, 10**6), classes=st.integers(2, 4))
@settings(max_examples=25, deadline=None)
def test_a_larger_budget_never_helps_the_model(seed, classes):
    rng = np.random.default_rng(seed)
    X, y = problem(rng, n=25, d=5, classes=classes)
    y[:classes] = range(classes)
    model = LogisticRegression().fit(X, y)
    curve = curve_of(model, X, y, FeatureDeletion(), range(6))
    assert np.all(np.diff(curve.mean[0]) <= 0)


@given(seed=st.integers(0, 10**6), budget=st.integers(0, 4))
@settings(max_examples=25, deadline=None)
def test_chance_never_does_more_harm_than_malice(seed, budget):
    """Random deletions stay above the worst case, found by trying all of them."""
    rng = np.random.default_rng(seed)
    X, y = problem(rng, n=25, d=5, classes=3)
    y[:3] = range(3)
    model = LogisticRegression().fit(X, y)
    safe = np.ones(len(y), dtype=bool)
    for size in range(budget + 1):
        for gone in itertools.combinations(range(5), size):
            Z = X.copy()
            Z[:, gone] = 0
            safe &= model.predict(Z) == y
    curve = curve_of(model, X, y, "delete_count", [budget])
    assert curve.scores.min() >= safe.mean()
    assert certify(model, X, y).accuracy_at(budget) == pytest.approx(safe.mean())


def test_pipelines_lose_features_before_or_behind_the_scaler(rng):
    X, y = problem(rng)
    X += 5.0
    pipeline = make_pipeline(StandardScaler(), DropoutSVC()).fit(X, y)
    before = curve_of(pipeline, X, y)
    behind = curve_of(pipeline, X, y, space="model")
    missing = curve_of(pipeline, X, y, deleted_as="nan")
    assert behind.mean[0, 1] > before.mean[0, 1]
    assert np.array_equal(behind.scores, missing.scores)  # NaN adds nothing, too
    scaled = pipeline[0].transform(X)
    assert np.array_equal(behind.scores, curve_of(pipeline[-1], scaled, y).scores)


@pytest.mark.parametrize("space", ["input", "model"])
def test_attacks_see_through_scalers(space, rng):
    X, y = problem(rng)
    pipeline = make_pipeline(StandardScaler(), LogisticRegression()).fit(X + 5.0, y)
    curve = curve_of(pipeline, X + 5.0, y, FeatureDeletion(), [2], space=space)
    view = linear_view(pipeline, space=space)
    rows = view.rows(X + 5.0)
    Z = FeatureDeletion(2).worst(rows, y, view.coef, view.intercept)
    last = pipeline if space == "input" else pipeline[-1]
    assert curve.mean[0, 0] == last.score(Z, y)


def test_the_result_tells_all(rng):
    X, y = problem(rng)
    models = {"svc": DropoutSVC().fit(X, y), "dull": DummyClassifier().fit(X, y)}
    curve = curve_of(models, X, y, n_repeats=5)
    frame = curve.to_frame()
    assert list(frame.columns) == ["model", "level", "repeat", "score"]
    assert len(frame) == len(curve.rows) == 2 * 3 * 5
    assert tuple(frame.iloc[17]) == curve.rows[17]
    picked = frame.query("model == 'dull' and level == 0.4")["score"]
    assert np.array_equal(picked, curve.scores[1, 1])
    mean = frame.groupby(["model", "level"], sort=False)["score"].mean()
    assert np.allclose(mean, curve.summary().to_frame()["mean"])
    assert pickle.loads(pickle.dumps(curve)).to_dict() == curve.to_dict()
    assert repr(curve).splitlines()[2].split() == ["level", "svc", "dull"]
    assert "<td>0.4</td>" in curve._repr_html_()


def test_intervals_are_students(rng):
    X, y = problem(rng)
    curve = curve_of(DropoutSVC().fit(X, y), X, y, n_repeats=6, confidence=0.9)
    scores = curve.scores[0, 1]
    low, high = student.interval(0.9, 5, scores.mean(), scores.std(ddof=1) / 6**0.5)
    assert curve.interval[0][0, 1] == pytest.approx(low)
    assert curve.interval[1][0, 1] == pytest.approx(high)
    single = curve_of(DropoutSVC().fit(X, y), X, y, n_repeats=1)
    assert np.all(np.isnan(single.interval))


def test_the_area_is_a_mean_over_levels(rng):
    X, y = problem(rng)
    model = DropoutSVC().fit(X, y)
    curve = curve_of(model, X, y, levels=[0.9, 0.0, 0.1])
    m = curve.mean[0]
    by_hand = ((m[1] + m[2]) / 2 * 0.1 + (m[2] + m[0]) / 2 * 0.8) / 0.9
    assert curve.area() == {"DropoutSVC": pytest.approx(by_hand)}
    alone = curve_of(model, X, y, levels=[0.3])
    assert alone.area()["DropoutSVC"] == pytest.approx(alone.mean[0, 0])


def test_progress_is_told_and_otherwise_silent(rng, capfd):
    X, y = problem(rng)
    model, calls = DropoutSVC().fit(X, y), []
    curve_of(model, X, y, n_repeats=2, progress=lambda *c: calls.append(c), n_jobs=2)
    assert calls == [(i, 6) for i in range(1, 7)]
    assert capfd.readouterr() == ("", "")
    curve_of(model, X, y, n_repeats=2)
    assert capfd.readouterr() == ("", "")
    curve_of(model, X, y, n_repeats=2, progress=True)
    bar = capfd.readouterr().err
    assert "6 of 6" in bar
    assert bar.split("\r")[-1] == ""  # the line is left empty


@pytest.mark.parametrize(
    ("change", "error", "sentence"),
    [
        (
            {"models": LogisticRegression()},
            NotFittedError,
            "'LogisticRegression' is not",
        ),
        ({"models": {}}, ValueError, "at least one model"),
        ({"models": "svc"}, TypeError, "a list of \\(name, model\\) pairs; got str"),
        ({"models": {"a": 1}}, TypeError, "'a' has no method predict"),
        (
            {"y": [0, 1]},
            ValueError,
            "the same number of rows, and at least one; got 20 and 2",
        ),
        ({"levels": []}, ValueError, "levels must be a list of numbers"),
        ({"levels": ["a"]}, ValueError, "levels must be a list of numbers"),
        ({"levels": [np.nan]}, ValueError, "levels must be finite"),
        ({"levels": [2]}, ValueError, "from 0 to 1; got 2"),
        ({"perturb": "erase"}, ValueError, "one of 'delete', 'delete_count'"),
        ({"n_repeats": 0}, ValueError, "n_repeats must be an integer, at least 1"),
        ({"confidence": 95}, ValueError, "between 0 and 1 \\(exclusive\\); got 95"),
        ({"space": "raw"}, ValueError, "'input' or 'model'; got 'raw'"),
        ({"deleted_as": "none"}, ValueError, "'zero' or 'nan'"),
        ({"scoring": 3}, TypeError, "scoring must be the name of a metric"),
        ({"scoring": lambda m, X, y: [1, 2]}, TypeError, "must return one number"),
        ({"progress": "yes"}, TypeError, "progress must be None, True, False"),
    ],
)
def test_bad_input_gets_a_sentence(change, error, sentence, rng):
    X, y = problem(rng, n=20)
    call = {"models": DropoutSVC().fit(X, y), "X": X, "y": y, "perturb": "delete"}
    call = {**call, "levels": [0.5], **change}
    with pytest.raises(error, match=sentence):
        robustness_curve(**call)


def test_attacks_refuse_models_that_are_not_linear(rng):
    X, y = problem(rng)
    forest = HistGradientBoostingClassifier(max_iter=2).fit(X, y)
    with pytest.raises(TypeError, match="not a linear classifier"):
        curve_of(forest, X, y, FeatureDeletion(), [1])
    model = LogisticRegression().fit(X, y)
    with pytest.raises(ValueError, match="not one of the model's classes"):
        curve_of(model, X, y + 1, FeatureDeletion(), [1])


def test_the_model_that_refuses_its_rows_is_named(rng):
    X, y = problem(rng)
    models = {
        "knows": DropoutSVC().fit(X, y),
        "refuses": LogisticRegression().fit(X, y),
    }
    holes = X.copy()
    holes[0, 0] = np.nan
    with pytest.raises(ValueError, match=r"(?s)The model 'refuses' .*contains NaN"):
        curve_of(models, holes, y, "missing", [0.5])
    assert curve_of(models, X, y, "missing", [0.5]).imputed == ("refuses",)
    models["refuses"] = LogisticRegression().fit(X[:, :3], y)
    with pytest.raises(
        ValueError, match=r"(?s)The model 'refuses' .*expecting 3 features"
    ):
        curve_of(models, X, y)


def test_stored_entries_are_checked_and_summed(rng):
    X, y = problem(rng)
    model = DropoutSVC().fit(X, y)
    twice = sp.csr_array(X)
    parts = np.repeat(twice.data / 2, 2), np.repeat(twice.indices, 2), 2 * twice.indptr
    doubled = sp.csr_array(parts, shape=X.shape)
    for perturb, level in (
        ("delete", 0.4),
        ("delete_count", 2),
        (FeatureDeletion(), 2),
    ):
        once, again = (
            curve_of(model, Z, y, perturb, [level]) for Z in (twice, doubled)
        )
        np.testing.assert_array_equal(once.scores, again.scores)
    twice.indices[3] = 10**6
    with pytest.raises(ValueError, match="column index outside"):
        curve_of(model, twice, y)
