"""What a new user meets: notes on columns, other models, the standard input, words."""

import ast
import bz2
import gzip
import io
import json
import lzma
import sys
from importlib import import_module
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import noiseproof
from noiseproof.estimators import ESTIMATORS

pytestmark = pytest.mark.whole

FAST = ("--folds", "0")
COMMANDS = sorted(Path(import_module("noiseproof.cli").__file__).parent.glob("*.py"))


def messy(n=80, seed=0):
    rng = np.random.default_rng(seed)
    table = pd.DataFrame({"id": np.arange(n), "a": rng.normal(size=n)})
    table["y"] = np.where(table["a"] > 0, "up", "down")
    table["dose"] = [f"{x:.2f}" for x in rng.random(n)]
    table.loc[:4, "dose"] = "<0.5"
    table["price"] = [f"${x:,}" for x in rng.integers(1000, 9999, n)]
    table["weight"] = [f"{x},5" for x in rng.integers(40, 99, n)]
    table["age"] = np.where(rng.random(n) < 0.1, -999, rng.integers(20, 80, n))
    table["site"] = rng.integers(1, 5, n)
    table["same"], table["twin"] = 7, table["a"]
    table["day"] = pd.date_range("2024-01-01", periods=n).astype(str)
    return table


@pytest.fixture
def data(tmp_path):
    messy().to_csv(tmp_path / "data.csv", index=False)
    return tmp_path / "data.csv"


def test_a_look_at_the_columns(data, run, tmp_path, monkeypatch):
    words = ["train", data, "-t", "y", "-o", tmp_path / "m.npf", *FAST]
    monkeypatch.setenv("COLUMNS", "80")
    assert max(map(len, run(*words).err.splitlines())) <= 80
    monkeypatch.setenv("COLUMNS", "160")
    done = run(*words)
    assert done.code == 0, done.err
    said = " ".join(done.err.split())
    for finding in (
        "a different number in every row", "'<0.5'", "the same in every row",
        "the same as 'a'", "-999 stands far", "few different whole numbers",
        "dates, read as text",
    ):  # fmt: skip
        assert finding in said
    answers = ["--drop", "id", "--drop", "day", "--drop", "same", "--drop", "twin"]
    for name in ("dose", "price", "weight", "age"):
        answers += ["--coerce", name]
    done = run(*words, *answers, "--categorical", "site")
    assert (done.code, done.err) == (0, "")
    encoder = noiseproof.load(tmp_path / "m.npf").model[0]
    assert encoder.text_columns_ == ["site"]
    numbers = encoder.encoder_.named_transformers_["numbers"]
    means = dict(
        zip(["a", "dose", "price", "weight", "age"], numbers.mean_, strict=True)
    )
    assert 1000 < means["price"] < 9999
    assert 40 < means["weight"] < 99
    assert 20 < means["age"] < 80
    assert 0 < dict(encoder.missing_rates_)["age"] < 0.3
    new = messy(30, 1).drop(columns=["id", "day", "same", "twin"])
    new.to_csv(tmp_path / "new.csv", index=False)
    assert run("predict", tmp_path / "m.npf", tmp_path / "new.csv").code == 0


def test_what_predict_notes(data, run, tmp_path, monkeypatch):
    monkeypatch.setenv("COLUMNS", "160")
    model = tmp_path / "m.npf"
    run("train", data, "-t", "y", "-o", model, *FAST)
    new = messy(40, 1).astype({"a": object})
    new.loc[:20, "age"] = None
    new.loc[2, "a"] = "broken"
    new["day"] = "never"
    new.to_csv(tmp_path / "new.csv", index=False)
    done = run("predict", model, tmp_path / "new.csv", "--json")
    assert len(json.loads(done.out)["prediction"]) == 40
    said = " ".join(done.err.split())
    assert "40 of 40 values are words that training did not have" in said
    assert "such as 'never'" in said
    assert "% of the values are missing; in training 0%" in said
    assert (
        "1 of 40 values cannot be read and count as missing, such as 'broken'" in said
    )


def test_rows_without_a_target_and_infinite_cells(data, run, tmp_path):
    table = messy()
    table.loc[3, "y"] = None
    table.loc[4, "a"] = np.inf
    table.to_csv(data, index=False)
    done = run("train", data, "-t", "y", "-o", tmp_path / "m.npf", *FAST)
    assert done.code == 0
    said = " ".join(done.err.split())
    assert "1 of 80 rows are left out, as their 'y' is empty" in said
    assert "1 infinite values of 'a' count as missing, the first in row 4" in said


@pytest.mark.parametrize("task", [None, "classification", "regression"])
def test_a_numeric_target_of_few_values(task, run, tmp_path, monkeypatch):
    """33 values became 33 classes without a word."""
    rng = np.random.default_rng(0)
    y = np.arange(360) % 33
    table = pd.DataFrame({"x": y + rng.normal(size=360), "y": y})
    table.to_csv(tmp_path / "data.csv", index=False)
    words = ["train", tmp_path / "data.csv", "-t", "y", "-o", tmp_path / "m.npf"]
    monkeypatch.setenv("COLUMNS", "160")
    done = run(*words, *FAST, *(["--task", task] if task else []))
    assert done.code == 0, done.err
    said = " ".join(done.err.split())
    assert ("33 different numbers, taken as classes" in said) == (task is None)
    model = noiseproof.load(tmp_path / "m.npf").model[-1]
    regression = task == "regression"
    assert type(model).__name__ == (
        "DropoutRidge" if regression else "DropoutLogisticRegression"
    )


def test_tasks_and_targets_that_do_not_fit(data, run, tmp_path):
    words = ["train", data, "-t", "y", "-o", tmp_path / "m.npf"]
    assert "use classification or regression" in run(*words, "--task", "guess").err
    done = run(*words, "--task", "regression")
    assert (done.code, "holds classes, such as" in done.err) == (1, True)
    done = run(*words, "--task", "classification", "--model", "dropout-ridge")
    assert done.code == 1


def test_the_standard_input(data, run, tmp_path, monkeypatch):
    model = tmp_path / "m.npf"

    def give(*words):
        text = SimpleNamespace(buffer=io.BytesIO(data.read_bytes()))
        monkeypatch.setattr(sys, "stdin", text)
        done = run(*words)
        assert done.code == 0, done.err
        return done.out

    give("train", "-", "-t", "y", "-o", model, *FAST)
    assert give("predict", model, "-") == run("predict", model, data).out


def test_compressed_standard_input(data, run, tmp_path, monkeypatch):
    model, text = tmp_path / "m.npf", data.read_bytes()
    run("train", data, "-t", "y", "-o", model, *FAST)
    shown = run("predict", model, data).out

    def given(content):
        stdin = SimpleNamespace(buffer=io.BytesIO(content))
        monkeypatch.setattr(sys, "stdin", stdin)
        return run("predict", model, "-")

    assert shown
    for packed in (gzip.compress(text), bz2.compress(text), lzma.compress(text)):
        assert given(packed).out == shown
    done = given(gzip.compress(text)[:-9])
    assert done.err.startswith("Error: standard input: it cannot be unpacked")
    done = given(gzip.compress(text.replace(b"\n0,", b"\ninf,", 1)))
    assert "Note: standard input: 1 infinite values" in done.err


def test_rates_by_name(data, run, tmp_path):
    model, rates = tmp_path / "m.npf", tmp_path / "rates.json"
    words = ["train", data, "-t", "y", "-o", model, *FAST]
    rates.write_text('{"a": 0.4, "day": 0.1}', encoding="utf-8")
    for noise in ("a=0.4,day=0.1", rates):
        assert run(*words, "--noise", noise).code == 0
        fitted = noiseproof.load(model).model
        names = list(fitted[0].get_feature_names_out())
        rate = dict(zip(names, fitted[-1].noise_.rate, strict=True))
        assert rate["a"] == 0.4
        assert rate["day_2024-01-01"] == 0.1
        assert rate["age"] == 0
    assert "no column 'b'" in run(*words, "--noise", "b=0.5").err
    assert run(*words, "--noise", "a=2").code == 2
    assert run(*words, "--noise", "a=much").code == 2


def test_info(data, run, tmp_path):
    model = tmp_path / "m.npf"
    run("train", data, "-t", "y", "-o", model, "--noise", 0.5, "--folds", 2)
    shown = run("info", model)
    assert shown.code == 0, shown.err
    for words in (
        "dropout rate 0.5, C 1", "down, up", "80 rows", "dose", "in cross-validation"
    ):  # fmt: skip
        assert words in shown.out
    found = json.loads(run("info", model, "--json").out)
    assert found["notes"]["training"]["rows"] == 80


def test_train_shows_scores_on_rows_held_out(data, run, tmp_path):
    """Beside a plain model and none at all; and the rate, though it is a default."""
    shown = run("train", data, "-t", "y", "-o", tmp_path / "m.npf", "--noise", 0.5)
    assert "dropout rate 0.5" in shown.out
    assert "training" not in shown.out
    for words in ("this model", "plain logistic", "most frequent class", "clean"):
        assert words in shown.out


def test_recommend_for_groups(run, tmp_path):
    rng = np.random.default_rng(0)
    table = pd.DataFrame(rng.normal(size=(60, 4)), columns=list("abcd"))
    table["y"] = table["a"] + table["c"] > 0
    table.to_csv(tmp_path / "data.csv", index=False)
    groups = tmp_path / "g.json"
    groups.write_text('{"left": ["a", "b"], "right": ["c", "d"]}', encoding="utf-8")
    words = ["recommend", tmp_path / "data.csv", "-t", "y", "--groups", groups]
    done = run(*words, "--expect", "missing:0.3", "--folds", 2, "--json")
    assert done.code == 0, done.err
    found = json.loads(done.out)
    assert found["tuned_for"] == "missing_groups:0.3"
    assert "reduced linear" in found["contenders"]["contender"]
    assert not found["failed"]


@pytest.fixture
def plain(folder):
    """Numbers only, a scaled logistic regression, and where to judge it."""
    table = pd.read_csv(folder / "test.csv")[["s0", "s1", "s2", "kind"]].dropna()
    X, y = table[["s0", "s1", "s2"]].to_numpy(np.float32), table["kind"].to_numpy()
    return make_pipeline(StandardScaler(), LogisticRegression()).fit(X, y), table


@pytest.mark.parametrize("kind", ["skops", "onnx", "module"])
def test_judging_what_one_has(kind, plain, run, tmp_path, monkeypatch):
    model, table = plain
    table.to_csv(tmp_path / "test.csv", index=False)
    name = tmp_path / f"mine.{kind}"
    if kind == "skops":
        pytest.importorskip("skops.io").dump(model, name)
    elif kind == "onnx":
        to_onnx = pytest.importorskip("skl2onnx").to_onnx
        pytest.importorskip("onnxruntime")
        row = np.zeros((1, 3), np.float32)
        name.write_bytes(to_onnx(model, row).SerializeToString())
    else:
        monkeypatch.chdir(tmp_path)
        monkeypatch.setitem(sys.modules, "kept", SimpleNamespace(model=model))
        (tmp_path / "mine.py").write_text(
            "import kept\ndef make(): return kept.model", encoding="utf-8"
        )
        name = "mine:make"
    words = [name, tmp_path / "test.csv", "-t", "kind"]
    done = run("evaluate", *words, "--levels", "0,0.3", "--repeats", 2, "--json")
    assert done.code == 0, done.err
    (found,) = json.loads(done.out)["models"].values()
    score = model.score(table[["s0", "s1", "s2"]].to_numpy(np.float32), table["kind"])
    assert found["mean"][0] == pytest.approx(score, abs=0.01)
    page = tmp_path / "page.html"
    done = run("report", *words, "-o", page, "--levels", "0,0.5", "--repeats", 2)
    assert done.code == 0, done.err
    if kind != "onnx":
        assert run("certify", *words).code == 0


def test_models_from_elsewhere_that_are_none(run, data, tmp_path):
    (tmp_path / "bad.onnx").write_bytes(b"no")
    for name, words in {
        tmp_path / "bad.onnx": "is not an ONNX model",
        "nowhere:model": "cannot be imported",
        "os:getcwd": "is not a model: it has no method predict",
    }.items():
        done = run("evaluate", name, data, "-t", "y")
        assert done.code == 1
        assert words in " ".join(done.err.split())


def test_a_level_of_evaluate_is_the_level_shown(folder, model, run):
    words = ("evaluate", model, folder / "test.csv", "--json", "--repeats", 1)
    for options, levels in {
        ("--noise", "missing:0.3"): {0, 0.3},
        ("--noise", "columns:0.2"): {0, 0.2},
        ("--noise", "missing:0.3", "--levels", "0,0.5"): {0, 0.5},
    }.items():
        shown = json.loads(run(*words, *options).out)
        assert set(shown["levels"]) == levels


def test_attacks_at_their_own_levels(folder, model, run, tmp_path):
    for attack in ("scaling", "deletion", "norm-ball"):
        done = run("evaluate", model, folder / "test.csv", "--attack", attack)
        assert done.code == 0, done.err
    svm = ["train", folder / "data.svm", "-o", tmp_path / "m.npf", *FAST]
    done = run(*svm, "--model", "invariant-svc", "--attack", "scaling:5")
    assert done.code == 0, done.err


def test_certificates_of_a_file_and_of_votes(folder, model, run, tmp_path):
    """The encoder is no obstacle; votes are lower bounds, with a budget for holes."""
    table = noiseproof.tables.read_table(folder / "test.csv", "kind")
    found = noiseproof.evaluation.certify(
        noiseproof.load(model).model, table.X, table.y, space="model"
    )
    assert found.exact.all()
    votes = noiseproof.PartitionEnsemble(LogisticRegression(), 3)
    X, y = table.X[["s0", "s1", "s2"]].fillna(0.0), table.y
    noiseproof.save(votes.fit(X, y), tmp_path / "votes.npf")
    X.assign(kind=y).to_csv(tmp_path / "t.csv", index=False)
    done = run("certify", tmp_path / "votes.npf", tmp_path / "t.csv", "-t", "kind")
    assert done.code == 0, done.err
    assert "if they go missing" in done.out
    assert "0 of them exact" not in done.out


def test_tables_say_what_they_leave_out(run, tmp_path):
    rng = np.random.default_rng(0)
    table = pd.DataFrame(rng.normal(size=(60, 12))).add_prefix("c")
    table.assign(y=table["c0"] > 0).to_csv(tmp_path / "t.csv", index=False)
    run("train", tmp_path / "t.csv", "-t", "y", "-o", tmp_path / "m.npf", *FAST)
    done = run("evaluate", tmp_path / "m.npf", tmp_path / "t.csv", "--levels", "0")
    assert "4 more columns cost less" in done.out


def test_help_groups_options(run):
    shown = run("train", "--help")
    assert shown.code == 0
    assert "Columns" in shown.out
    assert "noiseproof train data.csv --target y -o model.npf\n" in "\n".join(
        line.strip(" │") + "\n" for line in shown.out.splitlines()
    )


@pytest.mark.parametrize("path", COMMANDS, ids=lambda path: path.name)
def test_commands_use_public_names_only(path):
    """No module, function or attribute of the library with an underscore."""
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        words = []
        if isinstance(node, ast.ImportFrom) and node.module != "__future__":
            words = [*str(node.module).split("."), *(name.name for name in node.names)]
        elif isinstance(node, ast.Attribute) and ast.unparse(node.value) != "self":
            words = [node.attr]
        private = [w for w in words if w.startswith("_") and not w.endswith("__")]
        assert not private, f"line {node.lineno}"


def test_names_are_found():
    assert {"recommend", "DropoutSVC", "evaluation"} <= set(dir(noiseproof))


@pytest.mark.parametrize("name", ESTIMATORS)
def test_fit_returns_the_kind_that_it_is(name):
    """So that a type checker knows model.fit(X, y).coef_."""
    assert str(ESTIMATORS[name].fit.__annotations__["return"]) == "Self"
