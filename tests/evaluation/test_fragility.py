"""What losing a feature costs, against deleting it and predicting again."""

import json
from functools import partial

import numpy as np
import pandas as pd
import polars as pl
import pytest
import scipy.sparse as sp
from sklearn.compose import ColumnTransformer
from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.linear_model import LogisticRegression, Ridge, RidgeClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler
from sklearn.svm import SVC
from sklearn.tree import DecisionTreeClassifier

from noiseproof import DropoutSVC
from noiseproof.evaluation import feature_fragility, fragility

zeroed = partial(feature_fragility, deleted_as="zero")

D = 6
NAMES = ["age", "pulse", "x2", "iron", "zinc", "x5"]
GROUPS = {"blood": ["iron", "zinc"], "all": NAMES, "one": [0], "shared": ["age", 4]}


def problem(rng, classes=3, n=150, density=0.7):
    X = rng.normal(1.0, size=(n, D)) * (rng.random((n, D)) < density)
    y = ((X - 0.7) @ rng.normal(size=(D, classes))).argmax(axis=1)
    return X, np.array(["lo", "mid", "hi", "top"])[y]


def deleted(X, columns, fill=0.0):
    X = X.copy()
    X[:, columns] = fill
    return X


def by_hand(score, X, groups, fill=0.0):
    """Costs by name, from explicit deletion."""
    return {
        name: score(X) - score(deleted(X, columns, fill))
        for name, columns in groups.items()
    }


def costs(found):
    return dict(zip(found.names, found.cost, strict=True))


ALONE = {f"x{j}": [j] for j in range(D)}
TOGETHER = {"left": [0, 1], "right": [3, 4, 5], "all": list(range(D)), "both": [1, 3]}


@pytest.mark.parametrize("groups", [None, TOGETHER], ids=["alone", "together"])
@pytest.mark.parametrize("classes", [2, 4])
@pytest.mark.parametrize("intercept", [True, False])
def test_linear_models_lose_what_deletion_costs(groups, classes, intercept, rng):
    X, y = problem(rng, classes)
    for model in (
        LogisticRegression(fit_intercept=intercept),
        RidgeClassifier(fit_intercept=intercept),
        DropoutSVC(0.2, fit_intercept=intercept),
    ):
        model.fit(X, y)
        expected = by_hand(lambda Z, m=model: m.score(Z, y), X, groups or ALONE)
        for rows in (X, sp.csr_array(X), sp.csc_matrix(X)):
            found = zeroed(model, rows, y, groups=groups)
            assert costs(found) == pytest.approx(expected, abs=1e-12)
            assert found.score == pytest.approx(model.score(X, y))
            assert (np.diff(found.cost) <= 0).all()


def test_linear_models_do_not_predict_again(rng, monkeypatch):
    X, y = problem(rng)
    model = LogisticRegression().fit(X, y)
    monkeypatch.setattr(fragility, "_by_predicting", None)
    zeroed(model, X, y)
    monkeypatch.setattr(fragility, "_CHUNK", 100)  # a feature at a time
    expected = by_hand(lambda Z: model.score(Z, y), X, ALONE)
    assert costs(zeroed(model, X, y)) == pytest.approx(expected)


@pytest.mark.parametrize("last", [LogisticRegression(), DropoutSVC(0.2)])
def test_pipelines_in_both_spaces(last, rng):
    X, y = problem(rng)
    model = make_pipeline(StandardScaler(), last).fit(X, y)
    before = zeroed(model, X, y)
    after = zeroed(model, X, y, space="model")
    expected = by_hand(lambda Z: model.score(Z, y), X, ALONE)
    assert costs(before) == pytest.approx(expected)
    Z = model[0].transform(X)
    inner = by_hand(lambda Z: model[-1].score(Z, y), Z, ALONE)
    assert costs(after) == pytest.approx(inner)
    assert costs(before) != pytest.approx(costs(after))
    if isinstance(last, DropoutSVC):  # to which NaN means missing
        holes = feature_fragility(model, X, y, deleted_as="nan")
        assert costs(holes) == pytest.approx(costs(after))


def test_missing_features_are_gone_already(rng):
    X, y = problem(rng)
    model = make_pipeline(StandardScaler(), DropoutSVC(0.2)).fit(X, y)
    X[rng.random(X.shape) < 0.3] = np.nan

    def without(j):
        Z = X.copy()
        Z[~np.isnan(Z[:, j]), j] = 0.0
        return model.score(Z, y)

    expected = {f"x{j}": model.score(X, y) - without(j) for j in range(D)}
    assert costs(zeroed(model, X, y)) == pytest.approx(expected)


@pytest.mark.parametrize("missing", ["zero", "nan"])
@pytest.mark.parametrize("n_jobs", [None, 2])
def test_other_models_predict_without_the_feature(missing, n_jobs, rng):
    X, y = problem(rng)
    model = DecisionTreeClassifier(max_depth=4, random_state=0).fit(X, y)
    fill = {"zero": 0.0, "nan": np.nan}[missing]
    expected = by_hand(lambda Z: model.score(Z, y), X, TOGETHER, fill)
    seen = []
    found = feature_fragility(
        model,
        X,
        y,
        groups=TOGETHER,
        deleted_as=missing,
        n_jobs=n_jobs,
        progress=lambda done, total: seen.append((done, total)),
    )
    assert costs(found) == pytest.approx(expected)
    assert seen == [(i, 4) for i in range(1, 5)]


def test_boosting_reads_missing_values_itself(rng):
    X, y = problem(rng)
    model = HistGradientBoostingClassifier(max_iter=2).fit(X, y)
    expected = by_hand(lambda Z: model.score(Z, y), X, ALONE, np.nan)
    found = feature_fragility(model, X, y, deleted_as="nan")
    assert costs(found) == pytest.approx(expected)


@pytest.mark.parametrize("kind", [np.asarray, sp.csr_array])
def test_pairwise_classes_fall_back_to_predicting(kind, rng):
    X, y = problem(rng)
    model = SVC(kernel="linear").fit(kind(X), y)
    expected = by_hand(lambda Z: model.score(kind(Z), y), X, ALONE)
    assert costs(zeroed(model, kind(X), y)) == pytest.approx(expected)


def test_any_metric_of_any_model(rng):
    X, y = problem(rng)
    model = LogisticRegression().fit(X, y)
    found = zeroed(model, X, y, scoring="neg_log_loss")
    assert found.scoring == "neg_log_loss"
    assert found.score < 0 < found.cost[0]
    target = X @ np.arange(D)
    ridge = Ridge().fit(X, target)
    found = zeroed(ridge, X, target)
    assert found.scoring == "r2"
    assert found.names[0] == "x5"
    expected = by_hand(lambda Z: ridge.score(Z, target), X, ALONE)
    assert costs(found) == pytest.approx(expected)


@pytest.mark.parametrize("frame", [pd.DataFrame, pl.DataFrame])
def test_frames_bring_names(frame, rng):
    X, y = problem(rng)
    table = frame(dict(zip(NAMES, X.T, strict=True)))
    columns = {"blood": [3, 4], "all": list(range(D)), "one": [0], "shared": [0, 4]}
    for model in (LogisticRegression(), DecisionTreeClassifier(max_depth=3)):
        model.fit(table, y)
        assert set(zeroed(model, table, y).names) == set(NAMES)
        found = zeroed(model, table, y, groups=GROUPS)

        def score(Z, model=model):
            return model.score(frame(dict(zip(NAMES, Z.T, strict=True))), y)

        assert costs(found) == pytest.approx(by_hand(score, X, columns))


def test_results_are_tidy_and_frozen(rng):
    X, y = problem(rng)
    found = zeroed(LogisticRegression().fit(X, y), X, y)
    assert list(found.to_frame().columns) == ["feature", "cost"]
    assert len(json.loads(json.dumps(found.to_dict()))["cost"]) == D
    assert "each feature replaced by zero (the model is not told)" in repr(found)
    with pytest.raises(ValueError, match="read-only"):
        found.cost[0] = 1


@pytest.mark.parametrize(
    ("options", "error", "sentence"),
    [
        ({"groups": {"lab": ["iron"]}}, ValueError, "'lab' contains 'iron'"),
        ({"groups": {"lab": [D]}}, ValueError, "which is not a feature of X"),
        ({"groups": {"lab": []}}, ValueError, "'lab' has no features"),
        ({"groups": 3}, TypeError, "groups must be a dictionary"),
        ({"space": "raw"}, ValueError, "'input' or 'model'"),
        ({"deleted_as": "mean"}, ValueError, "'zero' or 'nan'"),
    ],
)
def test_bad_input_gets_one_sentence(options, error, sentence, rng):
    X, y = problem(rng)
    with pytest.raises(error, match=sentence):
        zeroed(LogisticRegression().fit(X, y), X, y, **options)


@pytest.mark.parametrize("model", [LogisticRegression(), DecisionTreeClassifier()])
def test_stored_entries_are_checked_and_summed(model, rng):
    X, y = problem(rng)
    rows = sp.csr_array(X)
    model.fit(rows, y)
    parts = np.repeat(rows.data / 2, 2), np.repeat(rows.indices, 2), 2 * rows.indptr
    doubled = sp.csr_array(parts, shape=X.shape)
    expected = costs(zeroed(model, rows, y))
    assert costs(zeroed(model, doubled, y)) == expected
    rows.indices[3] = 10**6
    with pytest.raises(ValueError, match="column index outside"):
        zeroed(model, rows, y)


def test_ties_are_decided_as_the_model_decides_them():
    """Without its only feature a support vector machine prefers the second class."""
    X, y = np.array([[-1.0], [1.0]]), np.array([0, 1])
    model = SVC(kernel="linear").fit(X, y)
    expected = by_hand(lambda Z: model.score(Z, y), X, {"x0": [0]})
    assert costs(zeroed(model, X, y)) == expected
    found = zeroed(model, np.vstack([X, X[1:]]), np.array([0, 1, 1]))
    assert found.cost[0] == pytest.approx(1 / 3)


def test_it_says_whether_features_are_missing_or_read_as_zero(rng):
    X, y = problem(rng)
    model = HistGradientBoostingClassifier(max_iter=3).fit(X, y)
    known = feature_fragility(model, X, y, deleted_as="nan")
    assert "lost with each feature missing (NaN), from" in repr(known)
    zero = zeroed(model, X, y)
    assert (
        "lost with each feature replaced by zero (the model is not told), from"
        in repr(zero)
    )


@pytest.mark.parametrize(
    ("last", "deleted_as"),
    [
        (LogisticRegression(), "zero"),
        (LogisticRegression(), "nan"),
        (DecisionTreeClassifier(), "zero"),
    ],
)
def test_groups_of_columns_behind_an_encoder(last, deleted_as, rng):
    """The encoder puts the columns in another order, and makes two of one of them."""
    X = pd.DataFrame(
        {
            "size": rng.normal(size=200),
            "colour": rng.choice(["red", "blue"], 200),
            "weight": rng.normal(size=200),
        }
    )
    y = (X["size"] + 2.0 * (X["colour"] == "red") + 0.3 * X["weight"] > 1).to_numpy()
    encoder = OneHotEncoder(sparse_output=False)
    steps = [
        ("weight", "passthrough", ["weight"]),
        ("colour", encoder, ["colour"]),
        ("size", "passthrough", ["size"]),
    ]
    model = make_pipeline(ColumnTransformer(steps), last).fit(X, y)
    Z = model[0].transform(X)
    fill = np.zeros(4) if deleted_as == "zero" else Z.mean(axis=0)
    options = {"space": "model", "deleted_as": deleted_as}

    def cost(columns):
        lost = deleted(Z, columns, fill[columns])
        return model[-1].score(Z, y) - model[-1].score(lost, y)

    parts = {"paint": ["colour"], "body": ["size", "weight"]}
    found = feature_fragility(model, X, y, groups=parts, **options)
    costs = dict(zip(found.names, found.cost, strict=True))
    assert costs == pytest.approx({"paint": cost([1, 2]), "body": cost([0, 3])})
    each = feature_fragility(model, X, y, **options)
    names = ["weight", "colour_blue", "colour_red", "size"]
    assert dict(zip(each.names, each.cost, strict=True)) == pytest.approx(
        {name: cost([j]) for j, name in enumerate(names)}
    )
