"""A summary holds what the evaluation finds, for any model and any rows."""

import json
from dataclasses import replace
from importlib import import_module

import numpy as np
import pandas as pd
import polars as pl
import pytest
import scipy.sparse as sp
from reading import Reader
from sklearn.compose import ColumnTransformer
from sklearn.ensemble import RandomForestRegressor, VotingClassifier
from sklearn.exceptions import NotFittedError
from sklearn.linear_model import LogisticRegression, Ridge
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.tree import DecisionTreeClassifier

from noiseproof import ConformalRegressor, DropoutRidge, DropoutSVC, PartitionEnsemble
from noiseproof.attacks import FeatureDeletion
from noiseproof.evaluation import (
    certify,
    feature_fragility,
    last_step,
    robustness_curve,
)
from noiseproof.noise import Outages
from noiseproof.report import Plan, gather, render, write_report
from noiseproof.tables import TableEncoder

gathering = import_module("noiseproof.report.gather")  # the door shows the function

QUICK = Plan(levels=[0, 0.5], n_repeats=2)


@pytest.fixture
def table(rng):
    """A frame with numbers, text and holes, and its labels."""
    X = pd.DataFrame(rng.normal(size=(90, 3)), columns=["a", "b", "b_c"])
    y = np.where(X["a"] + X["b"] > 0, "yes", "no")
    X["colour"] = np.where(rng.random(90) < 0.8, y, "other")
    X.loc[::9, "a"] = np.nan
    X.loc[4, "colour"] = None
    return X, y


def test_curves_are_those_of_the_evaluation(summary, models, digits, plan):
    _, _, X, y = digits
    curve = robustness_curve(
        *(models, X, y, "delete", plan.levels),
        n_repeats=3,
        random_state=0,
        space="model",
    )
    for i, model in enumerate(summary.models):
        assert model.deletion.y == tuple(curve.mean[i])


class Linear:
    """The sign, or the value, of the sum of two features."""

    def __init__(self, classify):
        self.classify = classify

    def predict(self, X):
        return X.sum(axis=1) > 0 if self.classify else X.sum(axis=1)


@pytest.mark.parametrize(
    ("classify", "perturb", "most"),
    [(True, None, 0.98), (False, None, 0.98), (True, Outages(length=30), 1.0)],
)
def test_intervals_hold_for_other_rows_and_other_losses(classify, perturb, most):
    """The score on very many rows lies within 95 % of them, or more with outages.

    Rows in the same outage are alike, so their spread alone would promise too much.
    """

    def judged(n, seed):
        rng = np.random.default_rng(seed)
        X = rng.normal(size=(n, 2))
        y = X.sum(axis=1) + rng.normal(size=n)
        plan = Plan(levels=[0.3], n_repeats=3, random_state=seed, perturb=perturb)
        y = y > 0 if classify else y
        scoring = "accuracy" if classify else "r2"
        case = gathering._Case(X, y, ["a", "b"], scoring, plan)
        what = case.perturbation()
        return gathering._curve(Linear(classify), case, what, lambda: None)

    truth = judged(200_000, 0)[0].y[0]
    found = [judged(150, seed)[0] for seed in range(1, 301)]
    held = np.mean([one.low[0] <= truth <= one.high[0] for one in found])
    assert 0.92 <= held <= most
    _, parts, _ = judged(150, 7)
    assert parts.mean() == pytest.approx(judged(150, 7)[0].y[0])


def test_only_a_clear_difference_makes_a_leader(rng):
    right = rng.random(1000) < 0.8
    worse = right & (rng.random(1000) < 0.9)
    near = right.copy()
    near[:2] = ~near[:2]
    parts = np.array([[worse], [right], [near]], dtype=float)
    draws = np.zeros((3, 1, 2))  # rows alone count
    ((best, *others),) = gathering._leaders(parts, draws)
    assert {best, *others} == {1, 2}
    (alone,) = gathering._leaders(parts[:, :, :1], draws)
    assert len(alone) == 3  # one row tells nobody apart
    draws[0] = [[-0.5, 0.5]]  # one draw says the opposite of the other
    assert len(gathering._leaders(parts, draws)[0]) == 3


def test_missing_cells_are_certified_behind_the_scaler(rng):
    """There zero means average; in the data it would be far away from all rows."""
    X = rng.normal(50.0, 1.0, size=(80, 4))
    y = X.sum(axis=1) > 200
    model = make_pipeline(StandardScaler(), DropoutSVC(0.2)).fit(X, y)
    plan = Plan(levels=[0, 0.5], n_repeats=1, deleted_as="nan", space="input")
    (found,) = gather(model, X, y, plan).models
    truth = certify(model, X, y, space="model")
    assert found.certified.y == tuple(truth.accuracy_at(found.certified.x))
    assert found.median_budget == np.quantile(truth.budget, 0.5, method="lower")
    zeros = Plan(levels=[0, 0.5], n_repeats=1, space="input", deleted_as="zero")
    raw = gather(model, X, y, zeros)
    assert raw.models[0].certified.y[1] < found.certified.y[1]
    assert "reads as zero in the data" in Reader(render(raw)).text


def test_votes_are_proven_and_told(rng):
    X = rng.normal(size=(120, 6))
    y = X.sum(axis=1) > 0
    tree = DecisionTreeClassifier(max_depth=2, random_state=0)
    model = PartitionEnsemble(tree, 3, random_state=0).fit(X, y)
    found = gather({"votes": model}, X, y, QUICK).models[0]
    truth = certify(model, X, y)
    assert found.lowest == truth.deletion_budget.min()
    holds = [np.mean(truth.correct & (truth.deletion_budget > b)) for b in range(2)]
    assert found.certified.y[:2] == pytest.approx(holds)
    assert found.median_changed == np.quantile(truth.budget, 0.5, method="lower")
    text = Reader(render(gather({"votes": model}, X, y, QUICK))).text
    assert "so there is a proof for wrong values, too" in text
    assert "not known" in text


def test_pairs_of_groups_are_those_of_the_evaluation(summary, models, digits, plan):
    _, _, X, y = digits
    assert summary.costly["pair of groups"] == ("upper half + lower half",)
    for model in summary.models:
        truth = feature_fragility(
            *(models[model.name], X, y),
            groups=plan.groups,
            pairs=True,
            space="model",
            deleted_as="zero",
        )
        assert model.costs["pair of groups"] == dict(
            zip(truth.names, truth.cost, strict=True)
        )
        assert model.costs["alone"][
            summary.costly["pair of groups"][0]
        ] == pytest.approx(sum(model.costs["group"].values()))


def _confidence(model, X):
    if hasattr(model, "predict_proba"):
        return model.predict_proba(X).max(axis=1)
    scores = np.sort(model.decision_function(X), axis=1)
    return scores[:, -1] - scores[:, -2]


@pytest.mark.parametrize("name", ["plain", "scaled", "svc", "logistic"])
def test_certificates_are_those_of_the_evaluation(summary, models, digits, name):
    _, _, X, y = digits
    (found,) = (model for model in summary.models if model.name == name)
    truth = certify(models[name], X, y, space="model")
    assert found.certified.y == tuple(truth.accuracy_at(found.certified.x))
    assert found.risk.y == tuple(truth.risk_bound(b, 0.05) for b in found.risk.x)
    assert found.lowest == truth.budget.min()
    assert found.n_worst == np.sum(truth.budget == found.lowest)
    sure = _confidence(models[name], X)
    order = [i for i in range(len(y)) if sure[i] >= np.median(sure)]
    order = sorted(order, key=lambda i: (truth.budget[i], -sure[i]))
    assert [row.row for row in found.worst_rows] == order[: len(found.worst_rows)]
    assert [row.confidence for row in found.worst_rows] == pytest.approx(
        sure[order[: len(found.worst_rows)]]
    )
    for row in found.worst_rows:
        assert row.budget == truth.budget[row.row] == len(row.features)
        assert row.features == tuple(f"x{j}" for j in truth.deletion(row.row))
        assert (row.label, row.prediction) == (
            str(y[row.row]),
            str(truth.prediction[row.row]),
        )


def test_the_worst_deletion_itself_leaves_what_is_certified(summary, models, digits):
    """Two ways to the same number: a proof and an attack."""
    _, _, X, y = digits
    for model in summary.models:
        if model.certified is not None:
            last, rows = last_step(models[model.name], X)
            budgets = [int(b) for b in model.certified.x if b <= X.shape[1]]
            left = robustness_curve(last, rows, y, FeatureDeletion(), budgets).mean[0]
            assert model.certified.y[: len(budgets)] == tuple(left)


def test_costs_are_those_of_the_evaluation(summary, models, digits, plan):
    _, _, X, y = digits
    for model in summary.models:
        for groups, costs in (
            (None, model.costs["feature"]),
            (plan.groups, model.costs["group"]),
        ):
            truth = feature_fragility(
                models[model.name], X, y, groups=groups, space="model",
                deleted_as="zero",
            )  # fmt: skip
            expected = dict(zip(truth.names, truth.cost, strict=True))
            assert costs == {name: expected[name] for name in costs}
    worst = [
        max(m.costs["feature"][f] for m in summary.models)
        for f in summary.costly["feature"]
    ]
    assert worst == sorted(worst, reverse=True)


def test_clean_scores_and_data(summary, models, digits):
    _, _, X, y = digits
    for model in summary.models:
        assert model.scores["accuracy"] == models[model.name].score(X, y)
        assert model.scores["accuracy"] == model.deletion.y[0]
        recalls = [
            np.mean(models[model.name].predict(X[y == int(c)]) == int(c))
            for c in model.recalls
        ]
        np.testing.assert_allclose(list(model.recalls.values()), recalls)
        np.testing.assert_allclose(model.scores["balanced accuracy"], np.mean(recalls))
    assert (summary.data.rows, summary.data.features) == X.shape
    assert sum(summary.data.classes.values()) == len(y)


def test_columns_of_a_table_are_lost_as_a_whole(table):
    X, y = table
    model = make_pipeline(TableEncoder(), DropoutSVC(0.2)).fit(X, y)
    plan = Plan(levels=[0, 0.5], n_repeats=2, groups={"g": ["b", "colour"], "h": [2]})
    found = gather(model, X, y, plan)
    assert set(found.costly["feature"]) == {"a", "b", "b_c", "colour"}
    without = X.assign(colour=None)
    cost = model.score(X, y) - model.score(without, y)
    assert found.models[0].costs["feature"]["colour"] == pytest.approx(cost)
    cost = model.score(X, y) - model.score(without.assign(b=np.nan), y)
    assert found.models[0].costs["group"]["g"] == pytest.approx(cost)
    assert (
        found.models[0].costs["group"]["h"] == found.models[0].costs["feature"]["b_c"]
    )
    assert found.data.missing == pytest.approx(11 / 360)
    Reader(render(found))


def test_frames_of_polars_give_the_same(table):
    X, y = table
    model = make_pipeline(TableEncoder(), DropoutSVC(0.2)).fit(X, y)
    one, other = gather(model, X, y, QUICK), gather(model, pl.from_pandas(X), y, QUICK)
    assert one == other


def test_sparse_rows_stay_sparse(monkeypatch, rng):
    X = sp.coo_array(sp.random(120, 400, density=0.05, random_state=rng))
    y = np.asarray(X.sum(axis=1)) > np.median(X.sum(axis=1))
    model = DropoutSVC(0.3).fit(X, y)
    dense = gather(model, X.toarray(), y, QUICK)

    def refuse(self, *args, **kwargs):
        raise AssertionError("dense")

    for kind in (sp.coo_array, sp.csr_array, sp.csc_array):
        monkeypatch.setattr(kind, "toarray", refuse)
    found = gather(model, X, y, QUICK)
    assert found.data.stored == pytest.approx(0.05)
    assert found.models[0].certified == dense.models[0].certified
    assert found.models[0].scores == dense.models[0].scores


def test_missing_entries_count_and_are_gone(rng):
    X = rng.normal(size=(80, 4))
    y = X.sum(axis=1) > 0
    X[rng.random(X.shape) < 0.2] = np.nan
    model = DropoutSVC(0.2).fit(X, y)
    found = gather(model, X, y, QUICK)
    assert found.data.missing == np.mean(np.isnan(X))
    budgets = [int(b) for b in found.models[0].certified.x if b <= 4]
    attacked = robustness_curve(model, X, y, FeatureDeletion(), budgets)
    assert found.models[0].certified.y[: len(budgets)] == tuple(attacked.mean[0])


def test_coverage_and_width_of_intervals(rng):
    X = rng.normal(size=(500, 4))
    y = X @ [1.0, 2.0, 0.0, -1.0] + rng.normal(size=500)
    model = ConformalRegressor(DropoutRidge(0.2), random_state=0).fit(X[:200], y[:200])
    models = {"with": model, "without": Ridge().fit(X[:200], y[:200])}
    found = gather(models, X[200:], y[200:], QUICK)
    own = found.models[0]
    inside = model.predict_interval(X[200:]).T
    share = np.mean((inside[0] <= y[200:]) & (y[200:] <= inside[1]))
    assert (own.promised, own.covered.x[0], own.covered.y[0]) == (0.9, 0.0, share)
    assert own.width.y[0] == pytest.approx(np.mean(inside[1] - inside[0]))
    assert found.models[1].covered is None
    page = render(found)
    assert f"{share:.3f} ± " in page
    assert "Beforehand" not in page
    deleted = gather(models, X[200:], y[200:], replace(QUICK, deleted_as="zero"))
    assert deleted.models[0].covered is None
    assert "How far off a prediction" not in render(deleted)
    few = ConformalRegressor(DropoutRidge(0.2), n_calibration=5).fit(X[:200], y[:200])
    found = gather({"few": few}, X[200:], y[200:], QUICK)
    why = "coverage=0.9 needs at least 9 calibration rows; got 5."
    assert found.models[0].why_no_intervals == why
    assert f"Intervals of few are not shown. {why}" in render(found)


def test_intervals_of_a_table_with_missing_values(rng):
    """Its first row is not of complete rows, and says so."""
    X = rng.normal(size=(400, 4))
    y = X @ [1.0, 2.0, 0.0, -1.0] + rng.normal(size=400)
    model = ConformalRegressor(DropoutRidge(0.2), random_state=0).fit(X[:200], y[:200])
    X[200::2, 0] = np.nan
    page = render(gather(model, X[200:], y[200:], QUICK))
    said = "Beforehand 12.5% of the values are missing in these rows, also in the row"
    assert said in page


def test_regressors_have_r2_and_no_certificates(rng):
    X = rng.normal(size=(80, 4))
    y = X @ [1.0, 2.0, 0.0, -1.0] + 0.1 * rng.normal(size=80)
    models = {
        "ridge": Ridge().fit(X, y),
        "dropout": DropoutRidge(0.2).fit(X, y),
        "forest": RandomForestRegressor(5, random_state=0).fit(X, y),
    }
    found = gather(models, X, y, QUICK)
    assert found.scoring == "r2"
    for model in found.models:
        assert model.scores["r2"] == models[model.name].score(X, y)
        assert model.certified is None
    assert found.costly["feature"][0] == "x1"
    read = Reader(render(found))
    assert "R² by share of values missing (NaN)" in read.tables
    sentence = (
        "No certificates for ridge, dropout and forest. Certificates of regressors "
        "need a tolerance, which a report does not have; use noiseproof certify"
    )
    assert read.text.count(sentence) == 1


def test_the_page_says_whether_cells_are_missing_or_read_as_zero(rng):
    X = rng.normal(size=(80, 4))
    model = DropoutSVC(0.2).fit(X, X.sum(axis=1) > 0)
    for deleted_as, words in {
        "zero": "values replaced by zero (the model is not told)",
        "nan": "values missing (NaN)",
    }.items():
        plan = Plan(levels=[0, 0.5], n_repeats=2, deleted_as=deleted_as)
        read = Reader(render(gather(model, X, X.sum(axis=1) > 0, plan)))
        assert f"Accuracy by share of {words}" in read.tables
        assert read.text.count(f"50% of {words}") == 2  # verdict and table
    assert "A missing value becomes NaN (its column's mean if" in read.text


def test_a_label_that_the_model_never_saw_is_an_error_of_the_model(rng):
    X = rng.normal(size=(60, 3))
    y = np.where(X[:, 0] > 0, "yes", "no").astype(object)
    model = LogisticRegression().fit(X, y)
    y[:6] = "new"
    found = gather(model, X, y, QUICK).models[0]
    assert found.recalls["new"] == 0
    assert found.certified.y[0] == found.scores["accuracy"] <= 0.9


def test_of_many_rows_a_sample_is_scored_and_all_are_certified(models, digits, summary):
    _, _, X, y = digits
    plan = Plan(levels=[0, 0.5], n_repeats=2, max_rows=50)
    found = gather(models["svc"], X, y, plan)
    assert found.data.curve_rows == 50
    whole = summary.models[2]
    assert found.models[0].worst_rows == whole.worst_rows
    assert found.models[0].risk == whole.risk
    assert found.models[0].scores["accuracy"] == found.models[0].deletion.y[0]
    text = Reader(render(found)).text
    assert "Scores and curves: measured on 50 of the 200 rows, drawn at random." in text
    assert text.count("Measured on 50 of the 200 rows, drawn at random.") == 2
    assert "This section uses all 200 rows." in text


def test_costs_may_come_from_fewer_rows_and_say_so(models, digits):
    _, _, X, y = digits
    chosen = {name: models[name] for name in ("svc", "forest")}
    few = gather(chosen, X, y, replace(QUICK, cost_rows=40))
    whole = gather(chosen, X, y, QUICK)
    for one, other in zip(few.models, whole.models, strict=True):
        assert (one.scores, one.deletion) == (other.scores, other.deletion)
        assert one.cost_rows == {"feature": 40}
    assert "Measured on 40 of the 200 rows, drawn at random." in render(few)
    assert "Measured on" not in render(whole)


@pytest.mark.parametrize("weights", [None, [3, 1]])
def test_a_blend_is_described_part_by_part(models, digits, weights):
    _, _, X, y = digits
    parts = [("linear", models["plain"]), ("trees", models["forest"])]
    blend = VotingClassifier(parts, voting="soft", weights=weights).fit(X, y)
    told = gather(blend, X, y, QUICK).models[0].description.splitlines()
    assert told == [
        "Blend of",
        f"{'75%' if weights else '50%'} linear: LogisticRegression(max_iter=1000)",
        f"{'25%' if weights else '50%'} trees: "
        "RandomForestClassifier(n_estimators=5, random_state=0)",
    ]


def test_too_many_features_for_a_model_that_is_not_linear(monkeypatch, models, digits):
    _, _, X, y = digits
    monkeypatch.setattr(gathering, "_PREDICTIONS", 64 * 150)
    chosen = {name: models[name] for name in ("svc", "forest")}
    found = gather(chosen, X, y, QUICK)
    assert found.models[0].costs["feature"]
    assert not found.models[1].costs["feature"]
    sentence = "too many features to try the loss of each with forest"
    assert sentence in Reader(render(found)).text
    alone = gather(models["forest"], X, y, QUICK)
    assert "too many features to try each" in Reader(render(alone)).text


@pytest.mark.parametrize("levels", [[0.5], [0.6, 0.0, 0.3]])
def test_any_levels_make_a_chart(models, digits, levels):
    _, _, X, y = digits
    found = gather(models["svc"], X, y, Plan(levels=levels, n_repeats=1))
    assert list(found.models[0].deletion.x) == sorted(levels)
    Reader(render(found))


def test_progress_reaches_its_end(models, digits):
    _, _, X, y = digits
    seen = []
    plan = Plan(
        levels=[0, 0.5],
        n_repeats=2,
        progress=lambda done, total: seen.append((done, total)),
    )
    gather(models["svc"], X, y, plan)
    assert [done for done, _ in seen] == list(range(1, seen[-1][1] + 1))


def test_write_report_replaces_the_file_and_returns_the_numbers(
    tmp_path, models, digits, summary, page, plan
):
    _, _, X, y = digits
    path = tmp_path / "page.html"
    path.write_text("old", encoding="utf-8")
    found = write_report(
        *(models, X, y, path),
        levels=plan.levels,
        n_repeats=plan.n_repeats,
        groups=plan.groups,
        settings=plan.settings,
        training_rows=plan.training_rows,
        deleted_as="zero",
        space="model",
    )
    assert found == summary
    assert path.read_text(encoding="utf-8") == page
    assert [file.name for file in tmp_path.iterdir()] == ["page.html"]
    assert json.loads(json.dumps(found.to_dict(), allow_nan=False))["title"]


class TwoColumns:
    def predict(self, X):
        return np.zeros((len(X), 2))


BAD = [
    ({"delta": 0}, ValueError, "'delta' parameter of Plan must be a float in"),
    ({"space": "both"}, ValueError, "'space' parameter of Plan must be a str"),
    ({"deleted_as": "gone"}, ValueError, "'deleted_as' parameter of Plan"),
    ({"n_repeats": 0}, ValueError, "'n_repeats' parameter of Plan must be an int"),
    ({"max_rows": 0.5}, ValueError, "'max_rows' parameter of Plan must be an int"),
    ({"random_state": None}, TypeError, "'random_state' parameter of Plan"),
    ({"feature_names": ["a"]}, ValueError, "feature_names must hold 2 names; got 1"),
    ({"groups": {"g": ["z"]}}, ValueError, "'g' contains 'z', which is not a"),
    ({"groups": {"g": []}}, ValueError, "'g' has no features"),
    ({"groups": 7}, TypeError, "groups must be a dictionary"),
    ({"groups": ["a"]}, ValueError, "one label for each of the 2 features; got 1"),
    ({"levels": [2.0]}, ValueError, "levels are probabilities"),
]


@pytest.mark.parametrize(("options", "kind", "words"), BAD, ids=lambda x: str(x)[:30])
def test_bad_options_get_one_sentence(tmp_path, options, kind, words):
    X, y = np.array([[0.0, 1.0], [1.0, 0.0]]), [0, 1]
    model = LogisticRegression().fit(X, y)
    with pytest.raises(kind, match=words):
        write_report(model, X, y, tmp_path / "page.html", **options)
    assert not list(tmp_path.iterdir())


def test_bad_models_and_rows_get_one_sentence():
    X, y = np.array([[0.0, 1.0], [1.0, 0.0]]), [0, 1]
    model = LogisticRegression().fit(X, y)
    with pytest.raises(ValueError, match="as many rows"):
        gather(model, X, [0, 1, 1])
    with pytest.raises(NotFittedError, match="'m' is not fitted"):
        gather({"m": DropoutSVC()}, X, y)
    with pytest.raises(TypeError, match="must predict one value per row"):
        gather({"m": TwoColumns()}, X, y)
    with pytest.raises(ValueError, match="Classifiers and regressors"):
        gather({"a": model, "b": Ridge().fit(X, y)}, X, y)
    with pytest.raises(ValueError, match="at least 2 rows"):
        gather(Ridge().fit(X, y), X[:1], [0.5])


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"groups": {"g": [64]}}, "'g' contains 64, which is not a feature"),
        ({"levels": [0, 1.5]}, "levels are probabilities"),
        ({"levels": []}, "levels are probabilities"),
    ],
    ids=str,
)
def test_bad_options_cost_no_work(models, digits, monkeypatch, options, words):
    _, _, X, y = digits
    monkeypatch.setattr(gathering, "certify", None)
    monkeypatch.setattr(gathering, "robustness_curve", None)
    with pytest.raises(ValueError, match=words):
        gather(models["svc"], X, y, Plan(**options))


def test_models_with_different_numbers_of_features_share_a_page(table):
    """Behind its encoder one model sees more features, so it has more risk bounds."""
    X, y = table
    wide = make_pipeline(TableEncoder(), DropoutSVC(0.2)).fit(X, y)
    numbers = ColumnTransformer([("numbers", TableEncoder(), ["a", "b"])])
    narrow = make_pipeline(numbers, DropoutSVC(0.2)).fit(X, y)
    models = {"wide": wide, "narrow": narrow}
    for order in (["wide", "narrow"], ["narrow", "wide"]):
        found = gather({name: models[name] for name in order}, X, y, QUICK)
        assert len(found.models[0].risk.x) != len(found.models[1].risk.x)
        cells = Reader(render(found)).table("Bound on the risk")
        assert [row[0] for row in cells[1:]] == ["0", "1", "2", "5"]
        assert cells[-1][1 + order.index("narrow")] == "–"


def test_an_array_has_the_names_that_the_model_knows(table):
    X, y = table
    numbers = X[["a", "b", "b_c"]].fillna(0.0)
    model = DropoutSVC(0.2).fit(numbers, y)
    with pytest.warns(UserWarning, match="valid feature names"):
        found = gather(model, numbers.to_numpy(), y, QUICK)
    assert set(found.costly["feature"]) == {"a", "b", "b_c"}
