"""Intervals through the command line: the same as in Python, and they hold."""

import json

import numpy as np
import pandas as pd
import pytest
from masks import MECHANISMS, masked
from sklearn.linear_model import Ridge

import noiseproof

pytestmark = pytest.mark.whole


def tables(mechanism, rng, n=1200):
    """Training rows, new rows with holes and columns in another order, and targets."""
    X = rng.normal(size=(n, 3)) @ [[1.0, 0.6, 0.0], [0.0, 0.8, 0.5], [0.0, 0.0, 0.9]]
    X, y = X.round(6), X @ [1.0, -2.0, 1.5] + rng.normal(size=n)
    frame = pd.DataFrame(X, columns=["a", "b", "c"])
    frame["site"] = np.where(rng.random(n) < 0.5, "north", "south")
    train = frame[:400].assign(y=y[:400])
    new = frame[400:].copy()
    new[["a", "b", "c"]] = masked(X[400:], mechanism, rng)
    return train, new[["site", "c", "a", "b"]], y[400:]


@pytest.mark.parametrize("mechanism", MECHANISMS)
def test_recommended_models_have_intervals(mechanism, run, tmp_path, rng):
    """Two standard errors: of 800 rows, and of a threshold from 100 rows."""
    train, new, y = tables(mechanism, rng)
    data, path, rows = (tmp_path / name for name in ("d.csv", "m.npf", "new.csv"))
    train.to_csv(data, index=False)
    new.to_csv(rows, index=False)
    words = ["-t", "y", "--folds", 2, "-o", path]
    assert run("recommend", data, *words).code == 0
    done = run("predict", path, rows, "--interval", 0.9, "-o", tmp_path / "out.csv")
    assert done.code == 0, done.err
    found = pd.read_csv(tmp_path / "out.csv")
    assert list(found) == ["prediction", "lower", "upper"]
    inside = (found["lower"] <= y) & (y <= found["upper"])
    reach = 2 * np.sqrt(0.09 / 800 + 0.09 / 102)
    assert abs(inside.mean() - 0.9) < reach
    shown = json.loads(run("predict", path, rows, "--interval", 0.9, "--json").out)
    np.testing.assert_allclose(shown["lower"], found["lower"])


def test_a_pipeline_whose_last_step_has_intervals(run, tmp_path, rng):
    train, new, _ = tables("mcar", rng)
    data, path, rows = (tmp_path / name for name in ("d.csv", "m.npf", "new.csv"))
    train.to_csv(data, index=False)
    new.to_csv(rows, index=False)
    words = ["-t", "y", "--folds", 0, "-o", path]
    assert run("train", data, *words, "--model", "conformal-regressor").code == 0
    shown = json.loads(run("predict", path, rows, "--interval", 0.8, "--json").out)
    assert np.all(np.array(shown["lower"]) <= shown["prediction"])
    assert np.all(np.array(shown["prediction"]) <= shown["upper"])
    refused = run("predict", path, rows, "--interval", 1.5)
    assert refused.code == 1
    assert "interval must be a number between 0 and 1; got 1.5." in refused.err
    assert run("train", data, *words).code == 0
    refused = run("predict", path, rows, "--interval", 0.9)
    assert refused.code == 1
    said = " ".join(refused.err.split())
    assert "has no intervals: wrap the regressor in ConformalRegressor or" in said
    assert "use train --model conformal-regressor, or recommend." in said


@pytest.mark.parametrize(
    "model",
    [
        "average-over-missing",
        "reduced-models",
        "partition-ensemble",
        "corrupted-copies",
    ],
)
def test_wrappers_are_trained_on_a_quantity(model, run, tmp_path, rng):
    train, new, y = tables("mcar", rng)
    data, path, rows = (tmp_path / name for name in ("d.csv", "m.npf", "new.csv"))
    train.to_csv(data, index=False)
    new.to_csv(rows, index=False)
    done = run("train", data, "-t", "y", "--folds", 0, "-o", path, "--model", model)
    assert done.code == 0, done.err
    shown = json.loads(run("predict", path, rows, "--json").out)
    assert np.corrcoef(shown["prediction"], y)[0, 1] > 0.25
    done = run("predict", path, rows, "--interval", 0.9, "--json")
    assert (done.code == 0) == (model == "average-over-missing")
    if done.code == 0:
        found = json.loads(done.out)
        inside = (found["lower"] <= y) & (y <= found["upper"])
        assert abs(inside.mean() - 0.9) < 2 * np.sqrt(0.09 / 800 + 0.09 / 102)


def test_a_saved_model_without_a_description_of_its_table(run, tmp_path, rng):
    """Its columns may come in any order, and it has intervals if the model has."""
    train, new, _ = tables("mcar", rng)
    X, y, shuffled = train[["a", "b", "c"]], train["y"], new[["c", "a", "b"]]
    shuffled.to_csv(tmp_path / "new.csv", index=False)

    def asked(model):
        noiseproof.save(model.fit(X, y), tmp_path / "m.npf")
        words = tmp_path / "m.npf", tmp_path / "new.csv", "--interval", 0.9, "--json"
        return run("predict", *words)

    model = noiseproof.AverageOverMissing(Ridge(), "donors", random_state=0)
    done = asked(model)
    assert done.code == 0, done.err
    shown, rows = json.loads(done.out), shuffled[["a", "b", "c"]]
    np.testing.assert_allclose(shown["prediction"], model.predict(rows))
    ends = np.column_stack([shown["lower"], shown["upper"]])
    np.testing.assert_allclose(ends, model.predict_interval(rows, 0.9))
    refused = asked(noiseproof.DropoutRidge())
    assert refused.code == 1
    assert "DropoutRidge has no intervals: wrap the regressor" in refused.err


def test_the_report_shows_coverage_and_width(run, tmp_path, rng):
    train, new, y = tables("mcar", rng)
    model = noiseproof.ConformalRegressor(
        noiseproof.train(
            train[["a", "b", "c", "site"]], train["y"], cross_validate=False
        ).model
    ).fit(train[["a", "b", "c", "site"]], train["y"])
    noiseproof.save(model, tmp_path / "m.npf", notes={"target": "y"})
    new.assign(y=y).to_csv(tmp_path / "test.csv", index=False)
    words = ["--levels", "0,0.5", "--repeats", 1, "-o", tmp_path / "page.html"]
    done = run("report", tmp_path / "m.npf", tmp_path / "test.csv", *words)
    assert done.code == 0, done.err
    page = (tmp_path / "page.html").read_text(encoding="utf-8")
    assert "How far off a prediction may be" in page
    assert "Prediction intervals are made to contain 90% of the targets" in page
