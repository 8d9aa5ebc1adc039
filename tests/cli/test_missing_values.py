"""What may be missing, and how, on the command line."""

import json

import numpy as np
import pandas as pd
import pytest

import noiseproof
from noiseproof.cli.options import parse_happening, parse_perturbation
from noiseproof.evaluation import MissingColumns, robustness_curve
from noiseproof.noise import Missing, MissingLike, Outages
from noiseproof.tables import TableEncoder

REPEATS, SEED = 2, 5


def test_what_the_words_mean(tmp_path):
    for words, (perturb, level) in {
        "mar:0.3": ("mar", 0.3),
        "MNAR:0.2": ("mnar", 0.2),
        "outages:0.1": ("outages", 0.1),
        "columns:0.2": ("missing_columns", 0.2),
        "missing-columns:1": ("missing_columns", 1.0),
    }.items():
        assert parse_happening(words) == (perturb, level)
    rates = tmp_path / "rates.json"
    rates.write_text('{"Iron": 0.5}', encoding="utf-8")
    for words, expected in {
        "missing:Iron=0.5,b=1": Missing({"Iron": 0.5, "b": 1.0}),
        "mar:Iron=0.5": Missing({"Iron": 0.5}, mechanism="mar"),
        f"mnar:{rates}": Missing({"Iron": 0.5}, mechanism="mnar"),
        "outages:a=0.25": Outages({"a": 0.25}),
        "columns:Iron, age": MissingColumns(["Iron", "age"]),
    }.items():
        perturb, level = parse_happening(words)
        assert repr(perturb) == repr(expected)
        assert level == expected.own_level
    today = pd.DataFrame({"a": [1.0, None], "b": ["x", "y"]})
    today.to_csv(tmp_path / "Today.csv", index=False)
    perturb, level = parse_perturbation(f"like:{tmp_path / 'Today.csv'}")
    assert (type(perturb), level) == (MissingLike, 1.0)
    assert perturb.rows[["a", "b"]].to_numpy().tolist() == [
        [False, False],
        [True, False],
    ]


@pytest.fixture(scope="module")
def files(tmp_path_factory):
    """A table, a model of it, and a table of today with empty cells."""
    folder, rng = tmp_path_factory.mktemp("missing"), np.random.default_rng(0)
    X = pd.DataFrame(rng.normal(size=(240, 3)), columns=[*"abc"])
    y = np.where(X["a"] + X["b"] > 0, "yes", "no")
    X["word"] = np.where(rng.random(240) < 0.7, y, "other")
    X.assign(y=y).to_csv(folder / "test.csv", index=False)
    encoder = TableEncoder()
    model = noiseproof.train(X, y, encoder=encoder, cross_validate=False).model
    noiseproof.save(model, folder / "model.npf", notes={"target": "y"})
    X[:40].mask(rng.random((40, 4)) < [0.5, 0.2, 0, 0.3]).to_csv(
        folder / "today.csv", index=False
    )
    return folder, X, y, model


@pytest.mark.parametrize("words", ["mar", "columns", "like", "missing:a=0.5,word=0.1"])
def test_evaluate_asks_the_library(words, files, run):
    folder, X, y, model = files
    today = folder / "today.csv"
    objects = {
        "columns": "missing_columns",
        "like": MissingLike(pd.read_csv(today)),
        "missing:a=0.5,word=0.1": Missing({"a": 0.5, "word": 0.1}),
    }
    options = {"n_repeats": REPEATS, "random_state": SEED}
    curve = robustness_curve(
        model, X, y, objects.get(words, words), [0, 0.5], **options
    )
    words = f"like:{today}" if words == "like" else words
    done = run(
        *("evaluate", folder / "model.npf", folder / "test.csv", "--json"),
        *("--noise", words, "--levels", "0,0.5", "--repeats", REPEATS, "--seed", SEED),
    )
    assert done.code == 0, done.err
    shown = json.loads(done.out)
    assert shown["level"] == curve.label
    assert shown["models"]["model"]["mean"] == pytest.approx(curve.mean[0])
    assert shown["models"]["model"]["mean"][1] < shown["models"]["model"]["mean"][0]


def test_a_report_of_it(files, run, tmp_path):
    folder, *_ = files
    words = ["report", folder / "model.npf", folder / "test.csv"]
    words += ["-o", tmp_path / "page.html", "--repeats", 2, "--levels", "0,0.4"]
    done = run(*words, "--noise", f"like:{folder / 'today.csv'}")
    assert done.code == 0, done.err
    page = (tmp_path / "page.html").read_text(encoding="utf-8")
    assert "The horizontal axis is the share of rows with missing values as in" in page
    assert "40% of rows with missing values as in the rows given" in page
    refused = run(*words, "--noise", "gaussian")
    assert (refused.code, "must lose a share of the values" in refused.err) == (1, True)
    refused = run(*words, "--noise", "mar", "--deleted")
    assert (refused.code, "so deleted_as must be 'nan'" in refused.err) == (1, True)


@pytest.mark.parametrize(
    ("words", "code", "sentence"),
    [
        ("like", 2, "like needs a table: write like:today.csv"),
        ("like:no.csv", 1, "there is no such file"),
        ("like:FOLDER/test.csv", 2, "the table has no missing values"),
        ("like:FOLDER/other.csv", 1, "has none of the columns of X, such as 'a'"),
        ("like:FOLDER/rows.npz", 2, "the columns of the table need names"),
        ("mar", 2, "mar needs a level, such as mar:0.5"),
        ("mar:2", 1, "levels are probabilities from 0 to 1; got 2"),
        ("mar:a", 2, "mar:a: 'a' is not a number"),
        ("missing:a=x", 2, "give rates by column as age=0.5"),
        ("missing:a=2", 2, "the rate of a must be in [0, 1]"),
        (
            "missing:z=0.2",
            1,
            "Missing.rate has a value for 'z', which is not among the names 'a', 'b', "
            "'c', 'word'.",
        ),
        ("columns:z", 1, "missing columns contains 'z', which is not a column of X."),
        ("rain:1", 2, "missing_columns, mar, mnar, outages, like, dropout"),
    ],
)
def test_what_people_get_wrong(words, code, sentence, files, run):
    folder, *_ = files
    pd.DataFrame({"z": [1.0, None]}).to_csv(folder / "other.csv", index=False)
    np.savez(folder / "rows.npz", X=[[1.0, np.nan]])
    words = words.replace("FOLDER", str(folder))
    done = run("recommend", folder / "test.csv", "-t", "y", "--expect", words)
    assert done.code == code
    said = " ".join(done.err.replace("│", " ").split())
    assert sentence in said
    assert "Traceback" not in said


@pytest.mark.whole
@pytest.mark.parametrize("words", ["like", "columns:0.25"])
def test_recommend_and_tune_for_it(words, files, run, tmp_path):
    folder, *_ = files
    words = f"like:{folder / 'today.csv'}" if words == "like" else words
    data = [folder / "test.csv", "-t", "y", "--folds", 2, "--json"]
    done = run("recommend", *data, "--expect", words, "-o", tmp_path / "one.npf")
    assert done.code == 0, done.err
    found = json.loads(done.out)
    assert "averaged boosting" in found["contenders"]["contender"]
    assert found["failed"] == {}
    assert run("predict", tmp_path / "one.npf", folder / "today.csv").code == 0
    tuned = ["--tune", words, "--model", "dropout-svc", "-o", tmp_path / "two.npf"]
    done = run("train", *data, *tuned)
    assert done.code == 0, done.err
    assert json.loads(done.out)["judged"]["expected"] == found["expected"]
