"""From a table to a model and its numbers, by the real command line."""

import json
import os
import re
import subprocess
import sys
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from commands import shell
from reading import Reader
from sklearn.base import clone, is_regressor
from sklearn.calibration import CalibratedClassifierCV
from sklearn.ensemble import VotingClassifier
from sklearn.impute import KNNImputer, SimpleImputer
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.svm import SVC

import noiseproof
from noiseproof import Recommendation
from noiseproof.estimators import ESTIMATORS
from noiseproof.evaluation import certify, robustness_curve
from noiseproof.tables import read_table

pytestmark = pytest.mark.whole

FORMATS = [
    "data.csv",
    "data.tsv",
    "data.parquet",
    "data.svm",
    "data.npz",
    "data-csr.npz",
]


@pytest.mark.slow  # `test_every_format` goes the same way
def test_the_chain_in_processes_of_their_own(folder, model):
    """train (by the fixture), evaluate, certify, report, predict."""
    test = folder / "test.csv"
    evaluated = shell("evaluate", model, test, "--target", "kind", "--json")
    assert (evaluated.code, evaluated.err) == (0, "")
    scores = json.loads(evaluated.out)["models"]["model"]["mean"]
    certified = shell("certify", model, test, "--target", "kind", "--json")
    assert (certified.code, certified.err) == (0, "")
    assert json.loads(certified.out)["certified_accuracy"][0] == scores[0]
    reported = shell(
        "report", model, test, "--target", "kind", "-o", folder / "page.html"
    )
    assert reported.code == 0
    assert "<html" in (folder / "page.html").read_text(encoding="utf-8")
    predicted = shell("predict", model, test, "-o", folder / "out.csv")
    assert (predicted.code, predicted.out) == (0, "")
    prediction = pd.read_csv(folder / "out.csv")["prediction"]
    assert np.mean(prediction == pd.read_csv(test)["kind"]) == pytest.approx(scores[0])
    assert scores[0] > 0.85


# readers of the others are tested one by one; five processes each take 20 seconds
SLOW = pytest.mark.slow
QUICK = {"data.csv"}


@pytest.mark.parametrize(
    "name",
    [name if name in QUICK else pytest.param(name, marks=SLOW) for name in FORMATS],
)
def test_every_format(name, run, folder, tmp_path):
    path, test = tmp_path / "model.npf", folder / name.replace("data", "test")
    named = [] if "svm" in name or "npz" in name else ["--target", "kind"]
    words = [*named, "-o", path, "--folds", 0, "--json"]
    trained = run("train", folder / name, *words)
    assert (trained.code, trained.err) == (0, "")
    summary = json.loads(trained.out)
    assert summary["rows"] == 300
    page = tmp_path / "page.html"
    few = ["--repeats", 2]
    for words in (["evaluate", *few], ["certify"], ["report", "-o", page, *few]):
        done = run(words[0], path, test, *words[1:])  # training told the target
        assert done.code == 0, done.err
    assert "<html" in page.read_text(encoding="utf-8")
    predicted = run("predict", path, test)
    assert predicted.code == 0
    table = read_table(test, *named[1:])
    lines = predicted.out.splitlines()
    assert len(lines) == 1 + 300
    labels = [line.split(",")[0] for line in lines[1:]]
    assert np.mean(np.array(labels) == table.y.astype(str)) > 0.75


def test_numbers_are_those_of_the_library(run, folder, model):
    """The witness: the same pipeline in Python."""
    fitted = noiseproof.load(model).model
    table = read_table(folder / "test.csv", "kind")
    words = [model, folder / "test.csv", "--levels", "0,0.5", "--repeats", 3, "--json"]
    shown = json.loads(run("evaluate", *words, "--seed", 7).out)
    curve = robustness_curve(
        fitted, table.X, table.y, "missing", [0, 0.5], n_repeats=3, random_state=7
    )
    np.testing.assert_allclose(shown["models"]["model"]["mean"], curve.mean[0])
    rows = json.loads(run("certify", *words[:2], "--json").out)["rows"]
    features = fitted[:-1].transform(table.X)
    certificates = certify(fitted[-1], features, table.y)
    found = [np.inf if budget is None else budget for budget in rows["budget"]]
    np.testing.assert_array_equal(found, certificates.budget)
    shown = json.loads(run("predict", *words[:2], "--json").out)
    np.testing.assert_array_equal(shown["prediction"], fitted.predict(table.X))
    np.testing.assert_array_equal(
        shown["probability_good"], fitted.predict_proba(table.X)[:, 1]
    )


def test_predictions_in_a_file_and_on_the_screen_are_the_same(run, folder, model):
    shown = run("predict", model, folder / "test.csv")
    run("predict", model, folder / "test.csv", "-o", folder / "same.csv")
    assert (folder / "same.csv").read_text(encoding="utf-8") == shown.out


@pytest.mark.parametrize("name", ESTIMATORS)
def test_every_estimator_by_its_short_name(name, run, folder, tmp_path):
    estimator = ESTIMATORS[name]()
    data, target = ("data.csv", "kind")
    if is_regressor(estimator):
        data, target = ("counts.csv", "count")
        table = pd.read_csv(folder / "amounts.csv")
        table["count"] = np.exp(table.pop("amount").clip(-3, 2)).round()
        table.to_csv(folder / data, index=False)
    path = tmp_path / "model.npf"
    words = ["-t", target, "--model", name, "-o", path, "--folds", 0]
    done = run("train", folder / data, *words)
    assert done.code == 0, done.err
    assert run("predict", path, folder / data).code == 0
    few = ["--levels", "0,0.5", "--repeats", 2]
    assert run("evaluate", path, folder / data, *few).code == 0


def test_quantities(run, folder, tmp_path):
    path, data = tmp_path / "model.npf", folder / "amounts.csv"
    logistic = ["--model", "dropout-logistic"]
    refused = run("train", data, "-t", "amount", "-o", path, *logistic)
    assert refused.code == 1
    assert (
        "is a quantity rather than a class: use a regressor, such as DropoutRidge"
        in refused.err
    )
    assert not path.exists()
    words = ["-t", "amount", "-o", path, "--model", "dropout-ridge", "--noise", "0.1"]
    assert run("train", data, *words).code == 0
    shown = json.loads(run("evaluate", path, data, "--json").out)
    assert shown["scoring"] == "r2"
    assert shown["models"]["model"]["mean"][0] > 0.8
    assert run("predict", path, data).out.startswith("prediction\n")
    text = run("train", folder / "data.csv", "-t", "kind", "-o", path, *words[4:])
    assert text.code == 1
    assert "holds classes, such as" in text.err


@pytest.mark.parametrize("name", ["dropout-svc", "robust-lp"])
def test_tuning_for_what_will_happen(name, run, folder, tmp_path):
    words = [folder / "data.csv", "-t", "kind", "--model", name, "--json"]
    words += ["--folds", 2]
    plain, tuned = tmp_path / "plain.npf", tmp_path / "tuned.npf"
    run("train", *words, "-o", plain, *(["--noise", "none"] if "svc" in name else []))
    done = run("train", *words, "-o", tuned, "--tune", "delete:0.5", "--C", "1")
    assert (done.code, done.err) == (0, "")
    summary = json.loads(done.out)
    assert summary["tuned_for"] == "delete:0.5"
    assert "C=" not in summary["parameters"]  # stays as it was given
    shown = run(
        *("evaluate", plain, tuned, folder / "test.csv", "--noise", "delete"),
        *("--levels", "0.5", "--json"),
    )
    means = {k: v["mean"][0] for k, v in json.loads(shown.out)["models"].items()}
    assert means["tuned"] > means["plain"] - 0.02
    assert abs(means["tuned"] - summary["tuned_score"]) < 0.1


def test_a_law_without_a_level_is_tuned(run, folder, tmp_path):
    words = [folder / "data.csv", "-t", "kind", "-o", tmp_path / "m.npf", "--json"]
    words += ["--folds", 2]
    tuned = run(
        "train", *words, "--noise", "gaussian", "--tune", "gaussian:1", "--C", 1
    )
    assert "Gaussian(" in json.loads(tuned.out)["parameters"]
    fixed = run("train", *words, "--noise", "gaussian:0.25", "--tune", "gaussian:1")
    assert "Gaussian(scale=0.25)" in json.loads(fixed.out)["parameters"]
    nothing = run("train", *words, "--noise", 0.1, "--C", 1, "--tune", "delete:0.5")
    assert nothing.code == 2
    assert "nothing left to choose" in nothing.err


@pytest.mark.parametrize("suffix", ["json", "csv"])
def test_groups(suffix, run, folder, model, tmp_path):
    path = tmp_path / f"sensors.{suffix}"
    groups = {"front": ["s0", "s1"], "camera": ["colour", "s4"]}
    lines = [f"{group},{name}" for group, part in groups.items() for name in part]
    path.write_text(
        json.dumps(groups) if suffix == "json" else "\n".join(lines), encoding="utf-8"
    )
    done = run("evaluate", model, folder / "test.csv", "--groups", path, "--json")
    cost = json.loads(done.out)["models"]["model"]["cost"]
    assert cost.keys() == groups.keys()
    fitted, table = (
        noiseproof.load(model).model,
        read_table(folder / "test.csv", "kind"),
    )
    empty = table.X.assign(s0=np.nan, s1=np.nan)
    lost = fitted.score(table.X, table.y) - fitted.score(empty, table.y)
    assert cost["front"] == pytest.approx(lost)
    empty = table.X.assign(colour=None, s4=np.nan)
    lost = fitted.score(table.X, table.y) - fitted.score(empty, table.y)
    assert cost["camera"] == pytest.approx(lost)


def test_attacks_and_certificates_agree(run, folder, model):
    words = [model, folder / "test.csv", "--levels", "0,1,2", "--json"]
    attacked = json.loads(run("evaluate", *words, "--attack", "deletion").out)
    certified = json.loads(run("certify", *words).out)
    np.testing.assert_allclose(
        attacked["models"]["model"]["mean"], certified["certified_accuracy"]
    )
    ball = run("certify", *words, "--attack", "norm-ball")
    assert json.loads(ball.out)["unit"] == "radius"


def test_certificates_in_a_file_and_the_risk(run, folder, model, tmp_path):
    words = [model, folder / "test.csv", "--budget", 1, "-o", tmp_path / "rows.csv"]
    done = run("certify", *words)
    assert done.code == 0
    assert "within a budget of 1, is at most" in done.out
    rows = pd.read_csv(tmp_path / "rows.csv")
    assert len(rows) == 300
    assert rows["budget"].min() >= 1


@pytest.mark.parametrize("noise", ["delete-count", "dropout", "gaussian", "laplace"])
def test_other_noises(noise, run, folder, model):
    done = run("evaluate", model, folder / "test.csv", "--noise", noise, "--repeats", 2)
    assert done.code == 0, done.err
    table = done.out.split("\n\n")[0].splitlines()[4:]
    scores = [float(line.split()[1]) for line in table]
    assert scores[0] > 0.85
    assert scores[-1] < scores[0]


def _demo_table(text):
    """Accuracies by model, as the demo prints them."""
    row = r"^ (\S.*?) {2,}" + r"(\d\.\d{3}) +" * 4 + r"[\d.]+ s +[\d.]+ ms *$"
    return {name: cells for name, *cells in re.findall(row, text, re.MULTILINE)}


def _vanished_table(text):
    """Accuracies without some columns by model, as the demo prints them."""
    found = re.findall(r"^ (\S.*?) {2,}(0\.\d{3}) +(0\.\d{3}) *$", text, re.MULTILINE)
    return {name: [float(one), float(other)] for name, one, other in found}


def _check_vanished(printed, readme):
    """Both show the same; averages are near to retrained trees."""
    vanished, shown = _vanished_table(printed), _vanished_table(readme)
    assert len(vanished) == 3
    assert vanished.keys() == shown.keys()
    for name, scores in shown.items():
        assert scores == pytest.approx(vanished[name], abs=0.005)
    for own, ours, again in zip(*vanished.values(), strict=True):
        assert ours > own + 0.3
        assert ours > again - 0.03


@pytest.mark.slow
def test_the_demo(run, tmp_path):
    """Terminal, page and README show the same numbers."""
    done = run("demo", "-o", tmp_path / "demo.html")
    assert done.code == 0
    assert max(map(len, done.out.splitlines())) <= 80
    table = _demo_table(done.out)
    assert len(table) == 6
    page = Reader((tmp_path / "demo.html").read_text(encoding="utf-8"))
    head, *curve = page.table("Accuracy by share of values missing (NaN)")
    assert head[1:] == list(table)
    for k, (level, *cells) in enumerate(curve):
        assert level == ("0", "0.2", "0.5", "0.8")[k]
        shown = [cell.split(" ± ")[0] for cell in cells]
        assert shown == [own[k] for own in table.values()]
    (key,) = (rows for name, rows in page.tables.items() if name.startswith("Scores"))
    assert {row[0].strip(): row[1:3] for row in key[0][1:]} == {
        name: [cells[0], cells[2]] for name, cells in table.items()
    }
    for column, words in ((0, "On clean rows"), (2, "With 50% of values missing")):
        verdict = page.text[page.text.index(words) :].split(". ")[0]
        best = max(table, key=lambda name: table[name][column])
        assert f"{best} ({table[best][column]})" in verdict
    assert "Measured on 100 of the 899 rows, drawn at random." in page.text  # the costs
    root = Path(__file__).parents[2]
    readme = (root / "README.md").read_text(encoding="utf-8")
    _check_vanished(done.out, readme)
    said = done.out.split("\n\n")[0]
    assert said in readme
    rows = {name: list(map(float, cells)) for name, cells in table.items()}
    known = _demo_table(readme)
    assert known.keys() == rows.keys()
    for name, cells in known.items():  # another processor may turn a row or two
        assert list(map(float, cells)) == pytest.approx(rows[name], abs=0.005)
    start = (root / "docs" / "index.md").read_text(encoding="utf-8")
    assert "boosted trees fall to about 30 %" in start
    assert rows["boosting"][3] == pytest.approx(0.3, abs=0.02)
    assert "keep more than 70 %" in start
    assert rows["averaged boosting"][3] > 0.7
    plain, copies, knn = (
        rows[name]
        for name in ("boosting", "boosting, NaN copies", "KNNImputer + boosting")
    )
    averaged = rows["averaged boosting"]
    assert averaged[0] == plain[0]  # bit for bit
    assert averaged[2] > max(plain[2], copies[2], knn[2])
    assert averaged[3] > max(plain[3], copies[3], knn[3])


@pytest.mark.slow
def test_auto(run, folder, tmp_path, monkeypatch):
    """The winner answers for raw tables."""
    monkeypatch.undo()  # the contest is as long as users have it
    path, test = tmp_path / "model.npf", folder / "test.csv"
    data = [folder / "data.csv", "-t", "kind"]
    few = ["--folds", 2]
    trained = run("train", *data, "--tune", "missing:0.5", "-o", path, "--json", *few)
    assert trained.code == 0, trained.err
    found = json.loads(trained.out)
    assert found["tuned_for"] == "missing:0.5"
    assert found["model"] in found["contenders"]["contender"]
    assert {"linear without noise", "averaged linear", "averaged boosting"} <= set(
        found["contenders"]["contender"]
    )
    scores = dict(
        zip(*map(found["contenders"].get, ("contender", "perturbed")), strict=True)
    )
    best = max(scores.values())
    assert found["tuned_score"] == scores[found["model"]] > best - 0.05
    judged = json.loads(run("evaluate", path, test, "--levels", "0,0.5", "--json").out)
    assert judged["level"] == "share of values missing (NaN)"
    assert abs(judged["models"]["model"]["mean"][1] - found["tuned_score"]) < 0.1
    assert run("predict", path, test).code == 0
    page = tmp_path / "page.html"
    assert run("report", path, test, "-o", page, "--repeats", 2).code == 0
    assert "values missing (NaN)" in page.read_text(encoding="utf-8")


def test_recommend_holds_the_same_contest(run, folder, tmp_path):
    data = [folder / "data.csv", "-t", "kind", "--folds", 2]
    words = ["--tune", "missing:0.5", "-o", tmp_path / "model.npf", "--json"]
    trained = json.loads(run("train", *data, *words).out)
    shown = run("recommend", *data, "--expect", "missing:0.5")
    assert shown.code == 0
    assert trained["verdict"] in shown.out
    assert "averaged kernel machine" in shown.out
    assert "Saved as" not in shown.out
    assert max(map(len, shown.out.splitlines()[:14])) <= 80


ROW_KEEPERS = {
    "neighbours": (make_pipeline(KNNImputer(), LogisticRegression()), True),
    "donors": (noiseproof.AverageOverMissing(LogisticRegression(), "donors"), True),
    "kernels": (CalibratedClassifierCV(SVC(), cv=2, ensemble=False), True),
    "a vote": (VotingClassifier([("a", SVC()), ("b", LogisticRegression())]), True),
    "patterns": (noiseproof.ReducedModels(LogisticRegression()), True),
    "a Gaussian": (
        noiseproof.AverageOverMissing(LogisticRegression(), "joint-gaussian"),
        False,
    ),
    "means": (make_pipeline(SimpleImputer(), LogisticRegression()), False),
}


@pytest.mark.parametrize("name", ROW_KEEPERS)
def test_models_that_contain_training_rows_are_known(name, rng):
    model, keeps = ROW_KEEPERS[name]
    X = rng.normal(size=(30, 2))
    assert not Recommendation(clone(model), None).keeps_rows
    fitted = clone(model).fit(X, X[:, 0] > 0)
    assert Recommendation(fitted, None).keeps_rows == keeps


@pytest.fixture
def averaged(folder, tmp_path):
    """A model with its encoder inside, as a race may choose."""
    table = read_table(folder / "data.csv", "kind")
    fitted = noiseproof.portfolio(table.X, table.y, "missing", 0.5)["averaged boosting"]
    notes = {"target": "kind", "training": {"tuned_for": "missing:0.5"}}
    noiseproof.save(
        fitted.fit(table.X, table.y), tmp_path / "averaged.npf", notes=notes
    )
    return tmp_path / "averaged.npf"


def test_averaged_models_take_raw_tables(averaged, run, folder, tmp_path):
    """Columns in another order, absent or in addition, text and holes."""
    test = folder / "test.csv"
    whole = run("predict", averaged, test)
    assert (whole.code, whole.err) == (0, "")
    table = pd.read_csv(test, dtype=str)  # digits stay as they are
    table[table.columns[::-1]].assign(more=1).to_csv(tmp_path / "t.csv", index=False)
    mixed = run("predict", averaged, tmp_path / "t.csv")
    assert mixed.out == whole.out
    assert "more ignored" in " ".join(mixed.err.split())
    table.drop(columns=["colour"]).to_csv(tmp_path / "t.csv", index=False)
    narrow = run("predict", averaged, tmp_path / "t.csv")
    assert narrow.code == 0, narrow.err
    assert "colour absent: missing in every row" in " ".join(narrow.err.split())
    table.iloc[0] = [None if name != "colour" else "mauve" for name in table.columns]
    table.to_csv(tmp_path / "t.csv", index=False)
    new = run("predict", averaged, tmp_path / "t.csv")
    assert new.code == 0, new.err
    assert new.err.count("mauve") == 1
    shown = run("evaluate", averaged, test, "--levels", "0,0.5", "--repeats", 2)
    assert shown.code == 0, shown.err
    assert "by share of values missing (NaN)" in shown.out
    assert "with a column missing (NaN)" in shown.out


def test_missing_is_a_curve_of_any_model(run, folder, model):
    words = [model, folder / "test.csv", "--levels", "0,0.5", "--json"]
    known = json.loads(run("evaluate", *words).out)
    assert known["level"] == "share of values missing (NaN)"
    zero = json.loads(run("evaluate", *words, "--noise", "delete").out)
    assert zero["level"] == "share of values replaced by zero (the model is not told)"
    assert known["models"]["model"]["mean"][0] == zero["models"]["model"]["mean"][0]


def test_an_explicit_model_is_tuned_and_may_go_without_noise(run, folder, tmp_path):
    words = [folder / "data.csv", "-t", "kind", "-o", tmp_path / "m.npf", "--json"]
    done = run(
        *("train", *words, "--model", "dropout-svc", "--tune", "missing:0.05"),
        *("--C", 1, "--folds", 2),
    )
    assert done.code == 0, done.err
    assert "DropoutSVC" in json.loads(done.out)["parameters"]


def test_what_auto_does_not_take(run, folder, tmp_path):
    words = ["train", folder / "data.csv", "-t", "kind", "-o", tmp_path / "m.npf"]
    for more, sentence in [
        (["--model", "auto"], "--model auto needs --tune"),
        (["--model", "auto", "--tune", "missing:0.1", "--C", 1], "has no --C"),
        (["--tune", "missing"], "needs a level"),
    ]:
        done = run(*words, *more)
        assert done.code == 2
        assert sentence in " ".join(done.err.split())
    done = run(*words, "--tune", "missing:7")
    assert done.code == 1
    assert "levels are probabilities from 0 to 1" in done.err


def test_a_column_may_be_named_like_a_value_of_another(run, tmp_path):
    """The number column col_a beside the text column col with the value a."""
    rng = np.random.default_rng(0)
    table = pd.DataFrame({"col_a": rng.normal(size=80)})
    table["col"] = rng.choice(["a", "b"], 80)
    table["y"] = np.where(table["col_a"] > 0, "up", "down")
    table.to_csv(tmp_path / "data.csv", index=False)
    path = tmp_path / "m.npf"
    done = run("train", tmp_path / "data.csv", "-t", "y", "-o", path, "--C", 1)
    assert done.code == 0
    done = run("evaluate", path, tmp_path / "data.csv", "--json")
    cost = json.loads(done.out)["models"]["m"]["cost"]
    assert cost.keys() == {"col_a", "col"}
    assert cost["col_a"] > 0.2 > abs(cost["col"])


def test_reproduce(tmp_path):
    listed = shell("reproduce", "--list", cwd=tmp_path)
    assert listed.code == 0
    assert "wager-table3" in listed.out
    found = json.loads(shell("reproduce", "--list", "--json").out)
    assert found["wager-table3"]
    assert shell("reproduce").code == 2
    unknown = shell("reproduce", "nothing")
    assert unknown.code == 2
    assert "use one of" in unknown.err


def test_reproduce_passes_on_the_number_of_processes(run, monkeypatch):
    asked = []

    def note(words, **options):
        asked.append(words[words.index("--jobs") + 1])
        return subprocess.CompletedProcess(words, 0)

    monkeypatch.setattr(subprocess, "run", note)
    for words in ([], ["--jobs", 3], ["-j", 1]):
        assert run("reproduce", "wager-table3", *words).code == 0
    assert asked == [str(os.cpu_count()), "3", "1"]


def test_reproduce_needs_a_checkout(run, monkeypatch, tmp_path):
    installed = tmp_path / "lib" / "site-packages" / "noiseproof" / "__init__.py"
    monkeypatch.setattr(noiseproof, "__file__", str(installed))
    monkeypatch.chdir(tmp_path)
    (tmp_path / "experiments").mkdir()  # of somebody else, who must not be run
    (tmp_path / "experiments" / "__init__.py").write_text(
        "raise SystemExit(7)", encoding="utf-8"
    )
    done = run("reproduce", "wager-table3")
    assert done.code == 1
    assert "Get the source of noiseproof" in done.err


def test_help_is_quick_and_complete():
    """No command needs scikit-learn or pandas to say what it does."""
    code = (
        "import sys\nfrom noiseproof.cli import main\n"
        "try: main(['--help'])\nexcept SystemExit: pass\n"
        "print(sorted({'sklearn', 'pandas', 'numba', 'scipy'} & set(sys.modules)))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert done.stdout.endswith("[]\n")
    for command in ("demo", "train", "predict", "evaluate", "certify", "report"):
        assert f" {command} " in done.stdout


def test_without_the_extra_there_is_one_sentence():
    code = (
        "import sys\nsys.modules['typer'] = None\n"
        "from noiseproof.cli import main\nmain(['demo'])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert done.returncode == 1
    assert done.stdout == ""
    assert done.stderr.splitlines() == [
        "The command line of noiseproof needs more packages: "
        "pip install 'noiseproof[cli]'."
    ]
