"""Library, command line and report answer the same question with the same numbers."""

import json

import numpy as np
import pandas as pd
import pytest
from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import noiseproof
from noiseproof import DropoutLogisticRegression, DropoutRidge
from noiseproof.cli.train import _show, _summary
from noiseproof.evaluation import (
    Contest,
    certify,
    feature_fragility,
    robustness_curve,
)
from noiseproof.report import Plan, gather
from noiseproof.tables import Table, TableEncoder
from noiseproof.training import Training

LEVELS, REPEATS, SEED = [0, 0.3, 0.6], 2, 5


@pytest.fixture(scope="module")
def table():
    """Columns far from zero, with words, so that a raw zero differs from the mean."""
    rng = np.random.default_rng(0)
    X = pd.DataFrame(rng.normal(50, 1, size=(240, 3)), columns=["a", "b", "c"])
    y = np.where((X["a"] + X["b"] > 100), "yes", "no")
    X["word"] = np.where(rng.random(240) < 0.7, y, "other")
    X.loc[::17, "c"] = np.nan
    return X, y


@pytest.fixture(scope="module")
def models(table):
    X, y = table
    last = {
        "ours": DropoutLogisticRegression("auto"),
        "trees": HistGradientBoostingClassifier(max_iter=8),
    }
    return {
        name: make_pipeline(TableEncoder(), model).fit(X[:120], y[:120])
        for name, model in last.items()
    }


@pytest.mark.parametrize("fate", ["missing", "delete"])
def test_all_three(fate, table, models, run, tmp_path):
    X, y = table[0][120:], table[1][120:]
    X.assign(y=y).to_csv(tmp_path / "test.csv", index=False)
    for name, model in models.items():
        noiseproof.save(model, tmp_path / f"{name}.npf", notes={"target": "y"})
    files = [tmp_path / f"{name}.npf" for name in models]
    options = {"n_repeats": REPEATS, "random_state": SEED}
    curve = robustness_curve(models, X, y, fate, LEVELS, **options)
    words = [*files, tmp_path / "test.csv", "--levels", "0,0.3,0.6", "--json"]
    words += [] if fate == "missing" else ["--noise", fate]
    done = run("evaluate", *words, "--repeats", REPEATS, "--seed", SEED)
    assert done.code == 0, done.err
    shown = json.loads(done.out)
    fill = "nan" if fate == "missing" else "zero"
    asked = {} if fate == "missing" else {"deleted_as": "zero"}  # by request only
    page = gather(models, X, y, Plan(levels=LEVELS, **options, **asked))
    for i, (name, model) in enumerate(models.items()):
        np.testing.assert_allclose(shown["models"][name]["mean"], curve.mean[i])
        np.testing.assert_allclose(page.models[i].deletion.y, curve.mean[i])
        lost = feature_fragility(model, X, y, deleted_as=fill)
        costs = dict(zip(lost.names, lost.cost, strict=True))
        assert shown["models"][name]["cost"] == pytest.approx(costs)
        assert dict(page.models[i].costs["feature"]) == pytest.approx(costs)
    assert shown["level"] == curve.label
    proven = certify(models["ours"], X, y, space="model")
    done = run("certify", files[0], tmp_path / "test.csv", "--json")
    found = json.loads(done.out)["rows"]["budget"]
    np.testing.assert_array_equal([b or np.inf for b in found], proven.budget)
    if fate == "missing":
        assert page.models[0].certified.y[0] == proven.accuracy_at(0)


def test_a_missing_column_is_not_a_raw_zero(table, models):
    """What was 0.48 by zeros in front of the scaler, and 0.04 behind it."""
    X, y = table[0][120:], table[1][120:]
    lost = feature_fragility(models["ours"], X, y)
    zero = feature_fragility(models["ours"], X, y, deleted_as="zero")
    assert dict(zip(lost.names, lost.cost, strict=True))["c"] < 0.1
    assert zero.cost.max() > lost.cost.max()


def test_a_model_that_refuses_holes_gets_means_and_is_named(table, models):
    X, y = table[0][["a", "b"]], table[1]
    plain = make_pipeline(StandardScaler(), LogisticRegression()).fit(X[:120], y[:120])
    trees = HistGradientBoostingClassifier(max_iter=8).fit(X[:120], y[:120])
    both = {"trees": trees, "plain": plain, "again": trees}
    curve = robustness_curve(
        both, X[120:], y[120:], "missing", LEVELS, n_repeats=2, random_state=0
    )
    assert curve.imputed == ("plain",)
    assert "refuse NaN, and got column means in its place: plain." in repr(curve)
    np.testing.assert_array_equal(curve.scores[0], curve.scores[2])
    alone = robustness_curve(
        {"plain": plain}, X[120:], y[120:], "missing", LEVELS, n_repeats=2,
        random_state=0,
    )  # fmt: skip
    np.testing.assert_array_equal(curve.scores[1], alone.scores[0])
    lost = feature_fragility(plain, X[120:], y[120:])
    assert "missing (mean imputation)" in repr(lost)
    for name, cost in zip(lost.names, lost.cost, strict=True):
        filled = X[120:].assign(**{name: X[name][120:].mean()})
        assert cost == pytest.approx(lost.score - plain.score(filled, y[120:]))


def test_scores_of_train_are_rounded_as_in_the_verdict(capsys, tmp_path):
    """0.7875 is 0.787 or 0.788, depending on how it is rounded."""
    zero = np.zeros(2)
    names, scores = ("this model", "plain ridge regression"), [[0.7875] * 2, [0.5] * 2]
    found = Contest(names, *[np.array(scores)] * 2, zero, zero, {}, "30%", "r2", 100)
    model = make_pipeline(TableEncoder(), DropoutRidge()).fit([[0.0], [1.0]], [0, 1])
    table = Table(np.zeros((2, 1)), np.zeros(2), "y", None)
    trained = Training(model, found)
    _show(_summary(table, trained, "", "") | {"seconds": 0.0}, tmp_path, False)
    text = capsys.readouterr().out
    (row,) = (line for line in text.splitlines() if line.startswith(" this model"))
    assert text.count(row.split()[2]) == 4  # twice in the table and in the verdict
