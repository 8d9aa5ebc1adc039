"""Graphs answer as models do: any pattern, one row or many, numbers or words."""

import warnings
from contextlib import nullcontext
from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import onnx
import onnxruntime
import pandas as pd
import pytest
from sklearn.base import BaseEstimator, ClassifierMixin, clone, is_classifier
from sklearn.calibration import CalibratedClassifierCV
from sklearn.compose import ColumnTransformer, TransformedTargetRegressor
from sklearn.ensemble import (
    GradientBoostingRegressor,
    HistGradientBoostingClassifier,
    HistGradientBoostingRegressor,
    RandomForestClassifier,
    RandomForestRegressor,
    VotingClassifier,
    VotingRegressor,
)
from sklearn.exceptions import NotFittedError
from sklearn.frozen import FrozenEstimator
from sklearn.impute import SimpleImputer
from sklearn.linear_model import (
    LogisticRegression,
    PoissonRegressor,
    Ridge,
    SGDClassifier,
)
from sklearn.model_selection import GridSearchCV
from sklearn.naive_bayes import GaussianNB
from sklearn.neighbors import KNeighborsClassifier
from sklearn.neural_network import MLPClassifier, MLPRegressor
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import (
    MinMaxScaler,
    OneHotEncoder,
    RobustScaler,
    StandardScaler,
)
from sklearn.svm import SVC, SVR
from sklearn.utils.fixes import parse_version

from noiseproof import (
    AverageOverMissing,
    ConformalRegressor,
    CorruptedCopies,
    DropoutLogisticRegression,
    DropoutPoissonRegressor,
    DropoutRidge,
    DropoutSVC,
    PartitionEnsemble,
    ReducedModels,
    RobustLPRegressor,
    to_onnx,
)
from noiseproof.conditionals import CONDITIONALS, Conditional, Donors, JointGaussian
from noiseproof.io import kept_rows, open_foreign
from noiseproof.serving.onnx import exporting
from noiseproof.serving.onnx.conditionals import FILLS
from noiseproof.tables import TableEncoder
from noiseproof.training import portfolio

CLOSE = 1e-5


def scaled(model):
    return make_pipeline(StandardScaler(), model)


def boosting(kind=HistGradientBoostingClassifier):
    return kind(max_iter=10, min_samples_leaf=5)


CLASSIFIERS = {
    "logistic": LogisticRegression(),
    "dropout": DropoutLogisticRegression(0.1),
    "svc-of-ours": DropoutSVC(0.1),
    "boosting": boosting(),
    "boosting-scaled": scaled(boosting()),
    "forest": RandomForestClassifier(10, random_state=0),
    "svc": scaled(SVC()),
    "svc-polynomial": scaled(SVC(kernel="poly")),
    "svc-sigmoid": scaled(SVC(kernel="sigmoid", gamma=0.1)),
    "svc-linear": scaled(SVC(kernel="linear")),
    "svc-probability": scaled(SVC(probability=True, random_state=0)),
    "svc-calibrated": CalibratedClassifierCV(SVC(), cv=2, ensemble=False),
    "bayes-isotonic": CalibratedClassifierCV(GaussianNB(), cv=2, method="isotonic"),
    "network": scaled(MLPClassifier((4,), max_iter=20, random_state=0)),
}
REGRESSORS = {
    "ridge": Ridge(),
    "dropout": DropoutRidge(0.1),
    "poisson": PoissonRegressor(),
    "poisson-of-ours": DropoutPoissonRegressor(0.1),
    "boosting": boosting(HistGradientBoostingRegressor),
    "boosting-poisson": boosting(HistGradientBoostingRegressor).set_params(
        loss="poisson"
    ),
    "forest": RandomForestRegressor(10, random_state=0),
    "svr": scaled(TransformedTargetRegressor(SVR(), transformer=StandardScaler())),
    "network": scaled(
        MLPRegressor(hidden_layer_sizes=(4,), max_iter=20, random_state=0)
    ),
}
LAWS = {name: law() for name, law in CONDITIONALS.items()} | {
    "donors-as-they-are": Donors(corrected=False),
    "few-donors": Donors(n_donors=3, bandwidth=0.5),
    "factors": JointGaussian(rank=2),
}


def problem(rng, n=90, d=5, classes=3):
    """Rows of correlated features, classes and a positive target."""
    X = rng.normal(size=(n, 3)) @ rng.normal(size=(3, d)) + rng.normal(size=(n, d)) + 2
    score = X[:, 0] - X[:, 1] + 0.5 * X[:, 2] * (X[:, 3] > 2)
    y = np.searchsorted(np.quantile(score, np.arange(1, classes) / classes), score)
    return X, y, np.exp(0.3 * score)


def incomplete(X, rng, n=60, dtype=np.float32):
    """Rows near those of training, of which any share is missing: all, none, some."""
    rows = X[rng.integers(0, len(X), n)] + 0.2 * rng.normal(size=(n, X.shape[1]))
    rows[rng.random(rows.shape) < rng.random((n, 1))] = np.nan
    rows[0], rows[1], rows[2] = np.nan, X[0], np.nan
    rows[3] = X[1]
    rows[3, 1:] = np.nan
    return rows.astype(dtype)


def fitted(model, X, y):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # small problems need not converge
        return clone(model).fit(X, y)


def session_of(model, folder, **options):
    path = folder / "model.onnx"
    to_onnx(model, path, **options)
    settings = onnxruntime.SessionOptions()
    settings.log_severity_level = 3
    settings.intra_op_num_threads = 1
    return onnxruntime.InferenceSession(path, settings)


def wanted(model, rows):
    """What the graph should give last."""
    if not is_classifier(model):
        return model.predict(rows)
    if hasattr(model, "predict_proba"):
        return model.predict_proba(rows)
    return model.decision_function(rows)


def assert_alike(model, session, rows, feed=None, close=CLOSE):
    feed = {"X": rows} if feed is None else feed
    found = session.run(None, feed)
    expected = wanted(model, rows)
    unit = max(1.0, np.abs(expected).max())
    np.testing.assert_allclose(found[-1], expected, rtol=0, atol=close * unit)
    if is_classifier(model):
        np.testing.assert_array_equal(found[0], model.predict(rows))
    for i in range(0, len(rows), 7):  # alone as in company
        alone = session.run(
            None, {name: value[i : i + 1] for name, value in feed.items()}
        )
        np.testing.assert_allclose(
            alone[-1], found[-1][i : i + 1], rtol=0, atol=1e-6 * unit
        )


SEVERAL = [
    (law, name)
    for law in LAWS
    for name in CLASSIFIERS
    if law == "donors"
    or name in ("logistic", "boosting")
    or (law == "joint-gaussian" and name in ("dropout", "svc-of-ours", "forest", "svc"))
]


@pytest.mark.parametrize("classes", [2, 3])
@pytest.mark.parametrize(("law", "name"), SEVERAL)
def test_averaged_classifiers(law, name, classes, rng, tmp_path):
    X, y, _ = problem(rng, classes=classes)
    model = fitted(AverageOverMissing(CLASSIFIERS[name], LAWS[law]), X, y)
    assert_alike(model, session_of(model, tmp_path), incomplete(X, rng))


@pytest.mark.parametrize("name", REGRESSORS)
@pytest.mark.parametrize("law", ["donors", "joint-gaussian"])
def test_averaged_regressors(law, name, rng, tmp_path):
    X, _, y = problem(rng)
    model = fitted(AverageOverMissing(REGRESSORS[name], LAWS[law]), X, y)
    rows = incomplete(X, rng, dtype=np.float64)
    session = session_of(model, tmp_path, dtype="float64")
    assert session.run(None, {"X": rows})[0].shape == (len(rows),)
    assert_alike(model, session, rows)


@pytest.mark.parametrize("name", CONDITIONALS)
def test_every_conditional_is_written_or_refused_in_a_sentence(name, rng, tmp_path):
    X, y, _ = problem(rng)
    model = AverageOverMissing(boosting(), CONDITIONALS[name]()).fit(X, y)
    if CONDITIONALS[name] not in FILLS:
        with pytest.raises(TypeError, match="cannot be written to ONNX; use"):
            to_onnx(model, tmp_path / "model.onnx")
    else:
        assert_alike(model, session_of(model, tmp_path), incomplete(X, rng))


def test_a_thousand_patterns_one_by_one(rng, tmp_path):
    X, y, _ = problem(rng, n=300, d=8, classes=2)
    model = AverageOverMissing(HistGradientBoostingClassifier(), "donors").fit(X, y)
    rows, session = incomplete(X, rng, n=1000), session_of(model, tmp_path)
    alone = [session.run(None, {"X": rows[i : i + 1]})[1] for i in range(len(rows))]
    expected = model.predict_proba(rows)
    np.testing.assert_allclose(np.concatenate(alone), expected, rtol=0, atol=CLOSE)
    together = session.run(None, {"X": rows})[1]
    np.testing.assert_allclose(together, expected, rtol=0, atol=CLOSE)


@pytest.mark.parametrize("law", ["donors", "joint-gaussian"])
def test_many_features_are_factors(law, rng, tmp_path):
    X = rng.normal(size=(80, 4)) @ rng.normal(size=(4, 260)) + rng.normal(
        size=(80, 260)
    )
    y = (X[:, 0] > 0).astype(int)
    model = AverageOverMissing(boosting(), law).fit(X, y)
    assert hasattr(model.conditional_.regression_, "factors")
    assert_alike(model, session_of(model, tmp_path), incomplete(X, rng, n=20))


@pytest.mark.parametrize("corrected", [False, True])
def test_equal_distances_have_an_order(corrected, rng, tmp_path):
    X = rng.integers(0, 2, size=(200, 5)).astype(float)
    y = rng.integers(0, 2, 200)
    law = Donors(n_donors=6, corrected=corrected, bandwidth=1.0)
    model = AverageOverMissing(RandomForestClassifier(5, random_state=0), law).fit(X, y)
    rows = incomplete(np.round(X), rng)
    rows = np.where(np.isnan(rows), np.nan, np.round(rows)).astype(np.float32)
    session = session_of(model, tmp_path)
    found = session.run(None, {"X": rows})[1]
    np.testing.assert_allclose(found, model.predict_proba(rows), rtol=0, atol=CLOSE)


def test_fewer_training_rows_than_donors(rng, tmp_path):
    X, y, _ = problem(rng, n=12, classes=2)
    model = AverageOverMissing(LogisticRegression(), "donors").fit(X, y)
    assert_alike(model, session_of(model, tmp_path), incomplete(X, rng))


@pytest.mark.parametrize("scaler", [StandardScaler, MinMaxScaler, RobustScaler])
@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_a_single_feature_and_every_scaler(scaler, dtype, rng, tmp_path):
    X = rng.normal(size=(50, 1)) + 10
    model = make_pipeline(scaler(), boosting()).fit(X, X[:, 0] > 10)
    session = session_of(model, tmp_path, dtype=dtype)
    assert_alike(model, session, rng.normal(10, 1, size=(200, 1)).astype(dtype))
    model = AverageOverMissing(make_pipeline(scaler(), SVC()), "donors")
    model.fit(X, X[:, 0] > 10)
    assert_alike(model, session_of(model, tmp_path), X.astype(np.float32))


@pytest.mark.parametrize("rate", [0.0, 0.5, 1.0])
def test_batches_of_one_kind_of_rows(rate, rng, tmp_path):
    X, y, _ = problem(rng)
    for inner in (boosting(), LogisticRegression()):
        model = AverageOverMissing(inner, "joint-gaussian").fit(X, y)
        rows = X.astype(np.float32)
        rows[rng.random(rows.shape) < rate] = np.nan
        assert_alike(model, session_of(model, tmp_path), rows)


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_thresholds_of_trees_are_met_exactly(dtype, rng, tmp_path):
    """Rows at a threshold, and as little as possible above and below."""
    X, y, _ = problem(rng, n=300, classes=2)
    model = HistGradientBoostingClassifier(max_iter=20).fit(X, y)
    session, rows = session_of(model, tmp_path, dtype=dtype), []
    for (tree,) in model._predictors:
        for node in tree.nodes[tree.nodes["is_leaf"] == 0]:
            at = node["num_threshold"].astype(dtype)
            for value in (at, *np.nextafter(at, at.dtype.type([-np.inf, np.inf]))):
                rows.append(X[len(rows) % len(X)].astype(dtype))
                rows[-1][node["feature_idx"]] = value
    assert_alike(model, session, np.array(rows))


def test_means_in_single_precision_are_those_of_single_precision_rows(rng, tmp_path):
    """Scaled rows of another precision would fall on other sides of thresholds."""
    X, y, _ = problem(rng, n=400, classes=2)
    X = 1000 + X
    model = AverageOverMissing(scaled(HistGradientBoostingClassifier()), "donors")
    model.fit(X, y)
    for dtype in ("float32", "float64"):
        rows = incomplete(X, rng, n=800, dtype=dtype)
        assert_alike(model, session_of(model, tmp_path, dtype=dtype), rows)


# Witnesses of the steps


@pytest.mark.parametrize("size", [1, 5, 16, 31, 32, 33, 50])
def test_elimination_solves_equations(size, rng):
    from noiseproof.serving.onnx.graph import Graph
    from noiseproof.serving.onnx.regression import solve

    graph = Graph()
    A = graph.input("A", np.float64, size**2).reshape(-1, size, size)
    B = graph.input("B", np.float64, size * 3).reshape(-1, size, 3)
    model = graph.model({"Y": (solve(A, B, size), [None, size, 3])})
    session = onnxruntime.InferenceSession(model.SerializeToString())
    roots = rng.normal(size=(4, size, size + 2))
    matrices, right = roots @ np.swapaxes(roots, 1, 2), rng.normal(size=(4, size, 3))
    feed = {"A": matrices.reshape(4, -1), "B": right.reshape(4, -1)}
    expected = np.linalg.solve(matrices, right)
    np.testing.assert_allclose(
        session.run(None, feed)[0], expected, rtol=1e-6, atol=1e-9
    )


def test_roots_are_symmetric_roots(rng):
    from noiseproof.serving.onnx.averages import _root
    from noiseproof.serving.onnx.graph import Graph

    graph = Graph()
    A = graph.input("A", np.float64, 9).reshape(-1, 3, 3)
    model = graph.model({"Y": (_root(A, 3), [None, 3, 3])})
    session = onnxruntime.InferenceSession(model.SerializeToString())
    factors = rng.normal(size=(6, 3, 3)) * 10.0 ** np.arange(-3, 3)[:, None, None]
    factors[3, :, 1:] = 0.0  # a single direction, as if one value were missing
    factors[4] = 0.0
    matrices = factors @ np.swapaxes(factors, 1, 2)
    found = session.run(None, {"A": matrices.reshape(6, 9)})[0]
    values, vectors = np.linalg.eigh(matrices)
    roots = (vectors * np.sqrt(np.maximum(values, 0))[:, None]) @ np.swapaxes(
        vectors, 1, 2
    )
    size = np.sqrt(np.trace(matrices, axis1=1, axis2=2))[:, None, None]
    assert np.all(np.abs(found - roots) <= 2e-6 * size + 1e-100)
    np.testing.assert_allclose(found @ found, matrices, atol=1e-9 * (size**2).max())


@pytest.mark.skipif(
    parse_version(onnx.__version__) < parse_version("1.23"),
    reason="ONNX's reference did not look outside of inner graphs before",
)
@pytest.mark.parametrize("law", ["donors", "joint-gaussian"])
def test_another_runtime_agrees(law, rng, tmp_path):
    """ONNX's own reference, which is written in Python."""
    reference = pytest.importorskip("onnx.reference")
    X, y, _ = problem(rng)
    model = AverageOverMissing(LogisticRegression(), law).fit(X, y)
    to_onnx(model, tmp_path / "model.onnx", dtype="float64")
    rows = incomplete(X, rng, n=10, dtype=np.float64)
    found = reference.ReferenceEvaluator(str(tmp_path / "model.onnx")).run(
        None, {"X": rows}
    )
    np.testing.assert_allclose(found[1], model.predict_proba(rows), rtol=0, atol=1e-8)
    np.testing.assert_array_equal(found[0], model.predict(rows))


# Tables with words


def pets(rng, n=120):
    table = pd.DataFrame(
        {
            "kg": rng.gamma(3.0, 4.0, n),
            "age": rng.integers(0, 15, n).astype(float),
            "kind": rng.choice(["cat", "dog", "fish"], n),
            "home": rng.choice(["flat", "house"], n),
            "wild": rng.random(n) < 0.3,
        }
    )
    score = table["kg"] / 10 + (table["kind"] == "dog") + table["wild"]
    return table, np.where(score > 2, "big", "small"), np.asarray(score)


def with_holes(table, rng, rate=0.4):
    """Some cells missing, words never seen among them; rows of all and of nothing."""
    holes = table.astype({name: object for name in ("kind", "home", "wild")})
    holes = holes.mask(rng.random(holes.shape) < rate)
    holes.loc[::9, "kind"] = "ghost"
    holes.loc[3], holes.loc[4] = table.loc[3], table.loc[4]
    holes.loc[4, "kind"] = "ghost"
    holes.loc[5:6] = np.nan
    holes.loc[6, "kind"] = "ghost"
    return holes.astype({"kg": float, "age": float})


def fed(table, session):
    """Columns as the inputs of a session want them."""
    feed = {}
    for entry in session.get_inputs():
        column = table[entry.name]
        if entry.type == "tensor(string)":
            feed[entry.name] = column.fillna("").to_numpy(dtype=object)[:, None]
        else:
            feed[entry.name] = column.to_numpy(dtype=np.float64)[:, None]
    return feed


TABLES = {
    "linear": make_pipeline(TableEncoder(), DropoutLogisticRegression(0.1)),
    "boosting": make_pipeline(TableEncoder(), boosting()),
    "kernel machine": make_pipeline(TableEncoder(), SimpleImputer(), SVC()),
    "columns": make_pipeline(
        ColumnTransformer(
            [
                ("numbers", StandardScaler(), ["kg", "age"]),
                ("words", OneHotEncoder(handle_unknown="ignore"), ["kind", "home"]),
            ]
        ),
        LogisticRegression(),
    ),
}


@pytest.mark.filterwarnings("ignore:Column kind of X holds 'ghost'")
@pytest.mark.parametrize("corrected", [False, True])
@pytest.mark.parametrize("name", TABLES)
def test_averaged_tables_with_words(name, corrected, rng, tmp_path):
    table, y, _ = pets(rng)
    model = fitted(
        AverageOverMissing(TABLES[name], Donors(corrected=corrected)), table, y
    )
    session = session_of(model, tmp_path)
    types = {entry.name: entry.type for entry in session.get_inputs()}
    assert types["kind"] == "tensor(string)"
    assert types["kg"] == types["wild"] == "tensor(double)"
    holes = with_holes(table, rng)
    assert_alike(model, session, holes, fed(holes, session))


@pytest.mark.parametrize("classes", [2, 3])
@pytest.mark.parametrize("name", ["logistic", "boosting", "forest", "svc"])
@pytest.mark.parametrize("law", ["donors", "joint-gaussian"])
def test_training_rows_with_holes(law, name, classes, rng, tmp_path):
    X, y, _ = problem(rng, n=240, classes=classes)
    X[rng.random(len(X)) < 0.2 + 0.6 * (y == 0), 3:] = np.nan  # means something
    X[:5, 0] = np.nan
    model = AverageOverMissing(CLASSIFIERS[name], LAWS[law], n_calibration=0)
    model = fitted(model, X.astype(np.float32), y)
    assert len(model.treatments_.members) > 1
    rows = incomplete(np.nan_to_num(X), rng)
    rows[::3] = X[: len(rows[::3])]
    assert_alike(model, session_of(model, tmp_path), rows)


@pytest.mark.filterwarnings("ignore:Column kind of X holds 'ghost'")
@pytest.mark.parametrize("name", ["linear", "boosting", "columns"])
def test_training_tables_with_holes(name, rng, tmp_path):
    table, y, _ = pets(rng, n=240)
    known = np.where(y == "big", table["kind"], None)
    table["kind"] = known
    table.loc[rng.random(len(table)) < 0.2, "kg"] = np.nan
    model = AverageOverMissing(TABLES[name], Donors(), n_calibration=0)
    if name == "columns":  # which refuses NaN in the others
        model.set_params(estimator=make_pipeline(SimpleImputer(), LogisticRegression()))
        table = table[["kg", "age", "wild"]].astype(float)
    model = fitted(model, table, y)
    assert model.treatments_ is not None
    session = session_of(model, tmp_path)
    holes = table.mask(rng.random(table.shape) < 0.4).astype(table.dtypes)
    assert_alike(model, session, holes, fed(holes, session))


@pytest.mark.parametrize("name", ["linear", "boosting"])
def test_plain_tables_with_words(name, rng, tmp_path):
    table, y, _ = pets(rng)
    model = fitted(TABLES[name], table, y)
    session = session_of(model, tmp_path)
    holes = with_holes(table, rng)
    assert_alike(model, session, holes, fed(holes, session))


def test_codes_sentinels_and_columns_of_nothing(rng, tmp_path):
    table, _, y = pets(rng)
    table["code"] = rng.integers(1, 4, len(table))
    table.loc[:4, "kg"] = -999.0
    table["nothing"] = np.nan
    encoder = TableEncoder(coerce=["kg"], categorical=["code", "kind"])
    with pytest.warns(UserWarning, match="Empty and left out"):
        model = make_pipeline(encoder, DropoutRidge(0.1)).fit(table, y)
    session = session_of(model, tmp_path)
    types = {entry.name: entry.type for entry in session.get_inputs()}
    assert "nothing" not in types
    assert (types["code"], types["kind"]) == ("tensor(double)", "tensor(string)")
    assert_alike(model, session, table, fed(table, session))


def test_columns_of_numbers_and_of_words_alone(rng, tmp_path):
    table, y, _ = pets(rng)
    for names in (["kg", "age"], ["kind", "home"]):
        model = AverageOverMissing(TABLES["linear"], "donors").fit(table[names], y)
        session = session_of(model, tmp_path)
        holes = table[names].mask(rng.random((len(table), 2)) < 0.5)
        assert_alike(model, session, holes, fed(holes, session))


def test_columns_may_have_the_names_of_outputs(rng, tmp_path):
    table, y, _ = pets(rng)
    table = table.rename(columns={"kg": "label", "kind": "probabilities"})
    model = AverageOverMissing(TABLES["linear"], "donors").fit(table, y)
    session = session_of(model, tmp_path)
    names = [output.name for output in session.get_outputs()]
    assert names == ["output_label", "output_probabilities"]
    holes = table.mask(rng.random(table.shape) < 0.4).astype({"wild": object})
    assert_alike(model, session, holes, fed(holes, session))


def test_categories_of_numbers(rng, tmp_path):
    table, y, _ = pets(rng)
    table["age"] = pd.Categorical(table["age"].astype(int))
    model = AverageOverMissing(TABLES["linear"], "donors").fit(table, y)
    session = session_of(model, tmp_path)
    holes = table.mask(rng.random(table.shape) < 0.4)
    feed = fed(holes.assign(age=holes["age"].astype(object)), session)
    feed["age"] = np.array([[str(cell)] for cell in feed["age"][:, 0]], dtype=object)
    assert_alike(model, session, holes.astype({"wild": object}), feed)


# What holds other models


def test_blends_share_their_work(rng, tmp_path):
    X, y, target = problem(rng)
    inner = [("linear", LogisticRegression()), ("trees", boosting()), ("out", "drop")]
    members = [
        (n, m if n == "out" else AverageOverMissing(m, "donors")) for n, m in inner
    ]
    blend = VotingClassifier(members, voting="soft", weights=[0.7, 0.3, 1.0]).fit(X, y)
    assert_alike(blend, session_of(blend, tmp_path), incomplete(X, rng))
    blend = onnx.load(tmp_path / "model.onnx").graph
    to_onnx(fitted(members[0][1], X, y), tmp_path / "one.onnx")
    one = onnx.load(tmp_path / "one.onnx").graph
    for kind in ("If", "CumSum"):
        counts = [sum(node.op_type == kind for node in g.node) for g in (one, blend)]
        assert counts[0] == counts[1] > 0
    members = [
        ("linear", AverageOverMissing(Ridge(), "donors")),
        (
            "trees",
            AverageOverMissing(boosting(HistGradientBoostingRegressor), "donors"),
        ),
    ]
    blend = VotingRegressor(members, weights=[0.4, 0.6]).fit(X, target)
    assert_alike(blend, session_of(blend, tmp_path), incomplete(X, rng))


def test_the_same_model_gives_the_same_file(rng, tmp_path):
    X, y, _ = problem(rng)
    model = AverageOverMissing(scaled(boosting()), "donors").fit(X, y)
    for name in ("a", "b"):
        to_onnx(model, tmp_path / name)
    assert (tmp_path / "a").read_bytes() == (tmp_path / "b").read_bytes()


def test_plain_models_of_ours_take_missing_values(rng, tmp_path):
    X, y, target = problem(rng)
    for model in (DropoutSVC(0.1), DropoutLogisticRegression(0.1)):
        for labels in (y, y > 0):
            plain = fitted(model, X, labels)
            assert_alike(plain, session_of(plain, tmp_path), incomplete(X, rng))
    model = scaled(DropoutRidge(0.1)).fit(X, target)
    assert_alike(model, session_of(model, tmp_path), incomplete(X, rng))


def test_frozen_searched_copied_and_served_models(rng, tmp_path):
    X, y, _ = problem(rng)
    frozen = AverageOverMissing(FrozenEstimator(boosting().fit(X, y)), "donors").fit(X)
    search = GridSearchCV(
        AverageOverMissing(LogisticRegression()), {"conditional": ["donors"]}, cv=2
    ).fit(X, y)
    copies = scaled(CorruptedCopies(boosting(), random_state=0)).fit(X, y)
    behind = scaled(AverageOverMissing(boosting(), "donors")).fit(X, y)
    for model in (frozen, search, copies, behind):
        assert_alike(model, session_of(model, tmp_path), incomplete(X, rng))
    served = SimpleNamespace(model=frozen, contract=dict)
    assert_alike(frozen, session_of(served, tmp_path), incomplete(X, rng))


@pytest.mark.whole
@pytest.mark.parametrize("task", ["classification", "regression"])
def test_whatever_recommend_may_find(task, rng, tmp_path):
    table, label, amount = pets(rng)
    y = label if task == "classification" else amount
    models = portfolio(table, y, "missing", 0.3, task=task)
    averaged = [(n, m) for n, m in models.items() if isinstance(m, AverageOverMissing)]
    if task == "classification":
        models["blend"] = VotingClassifier(averaged, voting="soft")
    else:
        models["blend"] = ConformalRegressor(VotingRegressor(averaged))
        intervals = ConformalRegressor(boosting(HistGradientBoostingRegressor))
        models["intervals"] = make_pipeline(TableEncoder(), intervals)
    refusals = []
    for name, model in models.items():
        model = fitted(model, table, y)
        try:
            session = session_of(model, tmp_path)
        except TypeError:
            refusals.append(name)
            continue
        holes = with_holes(table, rng)
        holes["kind"] = holes["kind"].replace("ghost", None)
        assert_alike(model, session, holes, fed(holes, session))
    assert refusals == ["KNNImputer + linear", "reduced linear"]


@pytest.mark.parametrize("labels", [["a", "b", "c"], [-1, 0, 5], [False, True]])
def test_labels_of_any_kind(labels, rng, tmp_path):
    X, y, _ = problem(rng, classes=len(labels))
    y = np.array(labels)[y]
    for inner in (LogisticRegression(), RandomForestClassifier(5, random_state=0)):
        model = AverageOverMissing(inner, "donors").fit(X, y)
        assert_alike(model, session_of(model, tmp_path), incomplete(X, rng))


def test_a_file_says_whether_it_contains_training_rows(rng, tmp_path):
    X, y, target = problem(rng)
    for model, answer in (
        (AverageOverMissing(LogisticRegression(), "donors"), "yes"),
        (AverageOverMissing(LogisticRegression(), "joint-gaussian"), "no"),
        (AverageOverMissing(scaled(SVC()), "joint-gaussian"), "yes"),
        (scaled(SVC()), "yes"),
        (KNeighborsClassifier(), "yes"),
        (boosting(), "no"),
        # rows that calibrate intervals are not in the graph, which has no intervals
        (AverageOverMissing(Ridge(), "joint-gaussian"), "no"),
    ):
        model = fitted(model, X, y if is_classifier(model) else target)
        about = session_of(model, tmp_path).get_modelmeta()
        assert about.custom_metadata_map["contains_training_rows"] == answer
        assert about.producer_name == "noiseproof"
    assert kept_rows(model).endswith("of its Calibration")


def test_our_own_reader_of_onnx_files_lets_missing_values_pass(rng, tmp_path):
    X, y, _ = problem(rng)
    model = AverageOverMissing(boosting(), "donors").fit(X, y)
    session_of(model, tmp_path)
    rows = incomplete(X, rng)
    found = open_foreign(tmp_path / "model.onnx").predict(rows)
    np.testing.assert_array_equal(found, model.predict(rows))
    table, y, _ = pets(rng)
    model = AverageOverMissing(TABLES["boosting"], "donors").fit(table, y)
    session_of(model, tmp_path)
    holes = table.astype({"wild": object}).mask(rng.random(table.shape) < 0.4)
    found = open_foreign(tmp_path / "model.onnx").predict(holes)
    np.testing.assert_array_equal(found, model.predict(holes))


# Refusals, each a sentence, before anything is written


class Guess(ClassifierMixin, BaseEstimator):
    """A classifier that no exporter knows."""

    def fit(self, X, y):
        self.classes_, self.n_features_in_ = np.unique(y), X.shape[1]
        return self

    def predict_proba(self, X):
        return np.full((len(X), len(self.classes_)), 1 / len(self.classes_))

    def predict(self, X):
        return np.full(len(X), self.classes_[0])


class Zeros(Conditional):
    """A conditional that the graph does not know."""

    keeps_rows = False
    _parameter_constraints = {}  # noqa: RUF012

    def _fit(self, codes):
        pass

    def _fill(self, codes, n_draws):
        return np.nan_to_num(codes)[:, None], np.ones((len(codes), 1))

    def _mean(self, codes):
        return np.nan_to_num(codes)


def refused(model):
    X, y, _ = problem(np.random.default_rng(0))
    return fitted(model, X, y)


def of_table(model, **columns):
    table, y, _ = pets(np.random.default_rng(0))
    return fitted(model, table.assign(**columns), y)


def days():
    return pd.date_range("2024-01-01", periods=120)


REFUSED = {
    "patterns": (lambda: refused(ReducedModels()), "fits models while it predicts"),
    "votes": (lambda: refused(PartitionEnsemble()), "not a linear model"),
    "unknown": (lambda: refused(Guess()), "Guess cannot be written to ONNX"),
    "unknown inside": (
        lambda: refused(AverageOverMissing(Guess(), "donors")),
        "Guess cannot be written to ONNX, since skl2onnx does not convert it",
    ),
    "conditional": (
        lambda: refused(AverageOverMissing(boosting(), Zeros())),
        "conditional Zeros cannot be written",
    ),
    "pairs": (
        lambda: refused(
            AverageOverMissing(SVC(decision_function_shape="ovo"), "donors")
        ),
        "set 'ovr'",
    ),
    "times": (
        lambda: of_table(AverageOverMissing(TABLES["linear"], "donors"), kg=days()),
        "Column kg contains times, for which ONNX has no type",
    ),
    "empty text": (
        lambda: of_table(TABLES["linear"], home=["", "flat"] * 60),
        "Column home held empty text",
    ),
    "two types": (
        lambda: of_table(
            AverageOverMissing(TABLES["linear"], "donors"), home=["1", 1] * 60
        ),
        "different values that are all written '1'",
    ),
    "quantiles": (
        lambda: refused(
            AverageOverMissing(GradientBoostingRegressor(loss="quantile"), "donors")
        ),
        "predicts a quantile of all draws",
    ),
    "quantiles of ours": (
        lambda: refused(AverageOverMissing(RobustLPRegressor(), "donors")),
        "predicts a quantile of all draws",
    ),
    "modified Huber loss": (
        lambda: refused(scaled(SGDClassifier(loss="modified_huber"))),
        "modified_huber.* skl2onnx computes other probabilities",
    ),
    "categories": (
        lambda: refused(boosting().set_params(categorical_features=[0])),
        "categorical features",
    ),
    "targets": (
        lambda: RandomForestClassifier(2).fit(np.eye(4), np.eye(4)[:, :2]),
        "several targets",
    ),
    "no model": (lambda: "model", "not an estimator"),
}


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("name", REFUSED)
def test_refusals(name, tmp_path):
    make, sentence = REFUSED[name]
    model, path = make(), tmp_path / "model.onnx"
    path.write_bytes(b"older")
    with pytest.raises((TypeError, ValueError), match=sentence):
        to_onnx(model, path)
    assert path.read_bytes() == b"older"
    assert list(tmp_path.iterdir()) == [path]


def test_bad_arguments(rng, tmp_path, monkeypatch):
    X, y, _ = problem(rng)
    model = LogisticRegression().fit(X, y)
    with pytest.raises(NotFittedError):
        to_onnx(AverageOverMissing(), tmp_path / "model.onnx")
    with pytest.raises(ValueError, match="dtype must be 'float32' or 'float64'; got"):
        to_onnx(model, tmp_path / "model.onnx", dtype="int8")
    with pytest.raises(FileNotFoundError, match="does not exist"):
        to_onnx(model, tmp_path / "nowhere" / "model.onnx")
    monkeypatch.setattr(exporting, "find_spec", lambda name: name != "skl2onnx" or None)
    with pytest.raises(ImportError, match=r"needs skl2onnx: .*noiseproof\[onnx\]"):
        to_onnx(model, tmp_path / "model.onnx")


def test_a_graph_that_answers_otherwise_is_not_written(rng, tmp_path, monkeypatch):
    X, y, _ = problem(rng)
    model = AverageOverMissing(boosting(), "donors").fit(X, y)
    own = exporting._outputs

    def halved(model, answer, *rest):
        return own(model, replace(answer, values=answer.values * 0.5), *rest)

    monkeypatch.setattr(exporting, "_outputs", halved)
    with pytest.raises(ValueError, match="apart from the model, so it was not written"):
        to_onnx(model, tmp_path / "model.onnx")
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize(
    ("inner", "n_off", "off", "written"),
    [
        (boosting(), 2, 0.05, True),  # two of 100 rows at a threshold
        (boosting(), 3, 0.05, False),
        (boosting(), 1, 0.3, False),
        (LogisticRegression(), 1, 0.01, False),
    ],
)
def test_few_rows_at_thresholds_of_trees_may_differ_a_little(
    inner, n_off, off, written, rng, tmp_path, monkeypatch
):
    X, y, _ = problem(rng, classes=2)
    model = AverageOverMissing(inner, "donors").fit(X, y)
    own = exporting._check_answers

    def elsewhere(found, *rest):
        own(found + off * (np.arange(len(found)) < n_off)[:, None], *rest)

    monkeypatch.setattr(exporting, "_check_answers", elsewhere)
    with nullcontext() if written else pytest.raises(ValueError, match="apart from"):
        to_onnx(model, tmp_path / "model.onnx")
    assert (tmp_path / "model.onnx").exists() == written
