"""Model files of the command line hold a served model, also those of `recommend`."""

import json

import numpy as np
import pandas as pd
import pytest
from sklearn.ensemble import HistGradientBoostingClassifier, VotingClassifier
from sklearn.impute import SimpleImputer
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline

import noiseproof
from noiseproof import AverageOverMissing
from noiseproof.cli.files import save_trained
from noiseproof.serving import Served
from noiseproof.tables import TableEncoder, read_table

pytestmark = pytest.mark.whole
COLUMNS = ["glucose", "insulin", "mass", "site"]


def patients(n=150, seed=0):
    """A table in which 54 % of the values of a column are missing."""
    rng = np.random.default_rng(seed)
    frame = pd.DataFrame(rng.normal(100, 20, size=(n, 3)).round(1), columns=COLUMNS[:3])
    frame["site"] = rng.choice(["north", "south"], n)
    frame["ill"] = np.where(frame["glucose"] + frame["mass"] > 200, "pos", "neg")
    frame.loc[rng.permutation(n)[: int(0.54 * n)], "insulin"] = np.nan
    return frame


def blend():
    """What `recommend` fits if a blend wins."""
    filled = make_pipeline(TableEncoder(), SimpleImputer(), LogisticRegression())
    trees = make_pipeline(TableEncoder(), HistGradientBoostingClassifier(max_iter=5))
    members = [("averaged linear", filled), ("averaged boosting", trees)]
    averaged = [
        (n, AverageOverMissing(m, "donors", random_state=0)) for n, m in members
    ]
    return VotingClassifier(averaged, voting="soft", weights=[0.5, 0.5])


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """A recommended model, as the command saves it."""
    folder = tmp_path_factory.mktemp("recommended")
    patients().to_csv(folder / "data.csv", index=False)
    patients(40, 1).to_csv(folder / "test.csv", index=False)
    rows = read_table(folder / "data.csv", "ill")
    model = blend().fit(rows.X, rows.y)
    save_trained(model, folder / "model.npf", rows, {"rows": 150})
    old = {"target": "ill", "first_index": None, "training": {"rows": 150}}
    noiseproof.save(model, folder / "old.npf", notes=old)
    return folder


def predicted(done):
    assert done.code == 0, done.err
    return json.loads(done.out)["probability_pos"]


@pytest.mark.parametrize("file", ["model.npf", "old.npf"])
def test_one_bad_cell_does_not_stop_the_others(file, folder, run, tmp_path):
    """The column becomes text in the file; its numbers are read all the same."""
    table = patients(40, 1).astype({"glucose": object})
    table.loc[5, "glucose"] = None
    table.to_csv(tmp_path / "empty.csv", index=False)
    table.loc[5, "glucose"] = "lost"
    table.to_csv(tmp_path / "bad.csv", index=False)
    done = run("predict", folder / file, tmp_path / "bad.csv", "--json")
    empty = run("predict", folder / file, tmp_path / "empty.csv", "--json")
    np.testing.assert_allclose(predicted(done), predicted(empty))
    assert "1 of 40 values cannot be read and count as missing, such as 'lost'" in (
        done.err
    )


def test_the_rate_of_training_is_that_of_its_table(folder, run, tmp_path):
    """The encoder of an averaged model has seen filled rows only: 0 % missing."""
    patients(40, 1).assign(insulin=None).to_csv(tmp_path / "t.csv", index=False)
    done = run("predict", folder / "model.npf", tmp_path / "t.csv")
    assert "100% of the values are missing; in training 54% were" in done.err
    old = run("predict", folder / "old.npf", tmp_path / "t.csv")
    assert old.out == done.out
    assert "in training" not in old.err  # nobody knows


@pytest.mark.parametrize("file", ["model.npf", "old.npf"])
@pytest.mark.parametrize("command", ["predict", "evaluate", "certify", "report"])
def test_another_table_is_refused(file, command, folder, run, tmp_path):
    votes = pd.DataFrame({f"V{j}": ["y", "n"] * 10 for j in range(16)})
    votes.assign(ill="pos").to_csv(tmp_path / "votes.csv", index=False)
    page = ["-o", tmp_path / "page.html"] if command == "report" else []
    done = run(command, folder / file, tmp_path / "votes.csv", *page)
    assert done.code == 1
    assert done.out == ""
    words = "do not belong to this model: of its 4 columns none is there"
    assert words in done.err
    assert "Traceback" not in done.err


def test_info_of_a_recommended_file(folder, run):
    shown = run("info", folder / "model.npf").out
    assert "insulin 54%" in shown
    assert "glucose, insulin, mass" in shown
    assert "cost if missing" in shown
    found = json.loads(run("info", folder / "model.npf", "--json").out)
    assert found["contract"]["insulin"]["missing_rate"] == pytest.approx(0.54)
    assert found["contract"]["site"]["words"] == ["north", "south"]
    assert found["notes"]["target"] == "ill"


def test_info_of_an_older_file(folder, run):
    done = run("info", folder / "old.npf")
    assert done.code == 0
    assert "glucose, insulin, mass" in done.out


def test_the_file_holds_a_served_model(folder):
    served = noiseproof.load(folder / "model.npf")
    assert isinstance(served, Served)
    assert served.target == "ill"
    assert served.predict({"glucose": 180, "mass": "150"}).tolist() == ["pos"]


@pytest.mark.whole
def test_models_of_other_columns_are_judged_together(folder, run, tmp_path):
    """Each of them finds its own; one sees the table itself."""
    rows = read_table(folder / "data.csv", "ill")
    few = rows.X[["mass", "glucose"]]
    linear = make_pipeline(TableEncoder(), SimpleImputer(), LogisticRegression())
    model = AverageOverMissing(linear, "donors").fit(few, rows.y)
    noiseproof.save(Served(model, few, target="ill"), tmp_path / "few.npf")
    words = [folder / "test.csv", "-t", "ill", "--levels", "0", "--repeats", 1]
    paths = [folder / "model.npf", tmp_path / "few.npf"]
    found = {}
    for models in (paths, paths[::-1], paths[:1], paths[1:]):
        done = run("evaluate", *models, *words, "--json")
        assert done.code == 0, done.err
        for name, part in json.loads(done.out)["models"].items():
            assert found.setdefault(name, part["mean"]) == part["mean"]
    assert found.keys() == {"model", "few"}


@pytest.mark.whole
@pytest.mark.parametrize("command", ["train", "recommend"])
def test_from_the_real_commands(command, run, tmp_path, monkeypatch):
    """Both kinds of files take what arrives: columns absent, extra and reordered."""
    monkeypatch.setattr("noiseproof.training.recommendation._PREDICTIONS", 0)
    monkeypatch.setattr("noiseproof.training.portfolios._ITERATIONS", 5)
    patients().to_csv(tmp_path / "data.csv", index=False)
    model = tmp_path / "model.npf"
    words = ["-t", "ill", "-o", model, "--folds", 2]
    assert run(command, tmp_path / "data.csv", *words).code == 0
    new = patients(30, 1).drop(columns=["ill", "insulin"])
    served = noiseproof.load(model)
    wanted = served.predict_proba(new)[:, 1]
    new[["site", "mass", "glucose"]].assign(more=1).to_csv(
        tmp_path / "new.csv", index=False
    )
    done = run("predict", model, tmp_path / "new.csv", "--json")
    np.testing.assert_allclose(predicted(done), wanted)
    said = " ".join(done.err.split())
    assert "insulin absent: missing in every row" in said
    assert "more ignored" in said
    assert "insulin 54%" in run("info", model).out
    few = ["--levels", "0", "--repeats", 1]
    shown = run("evaluate", model, tmp_path / "data.csv", "-t", "ill", *few, "--json")
    rows = read_table(tmp_path / "data.csv", "ill")
    score = np.mean(served.predict(rows.X) == rows.y)
    assert json.loads(shown.out)["models"]["model"]["mean"] == [pytest.approx(score)]
    assert run("report", model, tmp_path / "data.csv", *few, "-o",
               tmp_path / "page.html").code == 0  # fmt: skip
    if command == "train":
        assert run("certify", model, tmp_path / "data.csv").code == 0


def test_arrays_and_sparse_files(run, tmp_path):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(60, 3)) * (rng.random((60, 3)) < 0.7)
    y = (X[:, 0] > 0).astype(int)
    np.savez(tmp_path / "dense.npz", X=X, y=y)
    lines = [
        f"{label} " + " ".join(f"{j + 1}:{x}" for j, x in enumerate(row) if x)
        for label, row in zip(y, X, strict=True)
    ]
    (tmp_path / "sparse.svm").write_text("\n".join(lines), encoding="utf-8")
    for name in ("dense.npz", "sparse.svm"):
        model = tmp_path / f"{name}.npf"
        assert run("train", tmp_path / name, "-o", model, "--folds", 0).code == 0
        done = run("predict", model, tmp_path / name, "--json")
        served = noiseproof.load(model)
        assert served.form == ("array" if "dense" in name else "sparse")
        assert json.loads(done.out)["prediction"] == served.predict(X).tolist()


def test_strict_needs_a_description_of_the_training_table(run, tmp_path):
    model = LogisticRegression().fit([[0.0], [1.0]], [0, 1])
    noiseproof.save(model, tmp_path / "m.npf")
    (tmp_path / "new.csv").write_text("x0\n0.5\n", encoding="utf-8")
    words = ["predict", tmp_path / "m.npf", tmp_path / "new.csv"]
    assert run(*words).code == 0
    done = run(*words, "--strict")
    assert done.code == 2
    said = " ".join(done.err.replace("│", " ").split())
    assert "or save noiseproof.serving.Served(model, table)." in said
