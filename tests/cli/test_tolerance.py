"""`noiseproof certify` of a quantity."""

import json

import numpy as np
import pandas as pd
import pytest
import typer

import noiseproof
from noiseproof import DropoutRidge
from noiseproof.cli.options import parse_tolerance
from noiseproof.evaluation import certify


@pytest.fixture
def table(tmp_path):
    rng = np.random.default_rng(0)
    table = pd.DataFrame(rng.normal(size=(90, 4)), columns=list("abcd"))
    table["load"] = 20 + table.sum(axis=1) + 0.1 * rng.normal(size=90)
    table[:60].to_csv(tmp_path / "train.csv", index=False)
    table[60:].to_csv(tmp_path / "test.csv", index=False)
    return table[60:]


@pytest.mark.whole
def test_per_cent_of_the_target(run, table, tmp_path):
    words = ["train", tmp_path / "train.csv", "-t", "load", "-o", tmp_path / "m.npf"]
    done = run(*words, "--model", "robust-lp-regressor", "--budget", 1, "--folds", "0")
    assert done.code == 0, done.err
    words = ["certify", tmp_path / "m.npf", tmp_path / "test.csv", "-t", "load"]
    X, y = table[list("abcd")], table["load"].to_numpy()
    model = noiseproof.load(tmp_path / "m.npf").model
    for text, tolerance in (("10%", 0.1 * y), ("2.5", 2.5)):
        proven = certify(model, X, y, space="model", tolerance=tolerance)
        found = json.loads(run(*words, "--tolerance", text, "--json").out)["rows"]
        budget = [np.inf if b is None else b for b in found["budget"]]
        np.testing.assert_array_equal(budget, proven.budget)
        assert found["correct"] == proven.correct.tolist()
    done = run(*words, "--tolerance", "10%", "--budget", 1)
    assert "Share within the tolerance on 30 rows, proven for any deletion" in done.out
    assert "to move a prediction out of the tolerance" in " ".join(done.out.split())
    done = run(*words)
    assert done.code == 1
    assert "needs a tolerance" in " ".join(done.err.split())


def test_a_sentence_about_partition_ensembles(run, table, tmp_path):
    model = noiseproof.PartitionEnsemble(DropoutRidge(), n_parts=3, random_state=0)
    noiseproof.save(model.fit(table[list("abcd")], table["load"]), tmp_path / "m.npf")
    words = ["certify", tmp_path / "m.npf", tmp_path / "test.csv", "-t", "load"]
    done = run(*words, "--tolerance", 2)
    assert done.code == 0, done.err
    said = " ".join(done.out.split())
    assert "(median) to move a prediction out of the tolerance if they are set" in said
    assert "change a prediction" not in said


@pytest.mark.parametrize("text", ["", "x", "-1", "inf", "nan", "15%%", "5 %of"])
def test_bad_tolerances(text):
    with pytest.raises(typer.BadParameter, match="use a number that is not neg"):
        parse_tolerance(text, np.ones(3))


def test_numbers_and_per_cent():
    assert parse_tolerance(None, None) is None
    assert parse_tolerance("2.5", None) == 2.5
    np.testing.assert_allclose(parse_tolerance("15 %", [-2.0, 10.0]), [0.3, 1.5])
    with pytest.raises(typer.BadParameter, match="needs the target"):
        parse_tolerance("15%", None)
