"""`noiseproof train --cluster`: a table in several files."""

import contextlib
import json

import numpy as np
import pytest

distributed = pytest.importorskip("distributed")
pd = pytest.importorskip("pandas")
typer = pytest.importorskip("typer")

import noiseproof  # noqa: E402
from noiseproof.cli import cluster, main  # noqa: E402

pytestmark = [
    pytest.mark.whole,
    pytest.mark.filterwarnings("ignore::ResourceWarning"),
]


@pytest.fixture
def in_this_process(monkeypatch):
    """A cluster that takes little time to start, whatever its address."""

    @contextlib.contextmanager
    def connected(address):
        options = {"n_workers": 1, "threads_per_worker": 1, "dashboard_address": ":0"}
        with distributed.Client(processes=False, **options) as client:
            yield client

    monkeypatch.setattr(cluster, "_connected", connected)


@pytest.fixture
def files(tmp_path, rng):
    paths = []
    for i, n in enumerate((80, 50, 70)):
        table = pd.DataFrame(rng.normal(size=(n, 3)), columns=["a", "b", "c"])
        table["kind"] = rng.choice(["red", "blue"], size=n)
        score = table["a"] - table["b"] + (table["kind"] == "red")
        table["y"] = np.where(score + rng.normal(size=n) > 0.5, "yes", "no")
        table.loc[:3, "c"] = np.nan
        paths.append(tmp_path / f"part{i}.parquet")
        table.to_parquet(paths[-1])
    return paths


def _run(*words):
    with pytest.raises(SystemExit) as end:
        main([str(word) for word in words])
    return end.value.code


def _said(capsys):
    """The message without the box around it and its line breaks."""
    return " ".join(capsys.readouterr().err.replace("│", " ").split())


def test_several_files_are_one_table(files, tmp_path, in_this_process, capsys):
    output = tmp_path / "model.npf"
    command = ["train", *files, "-t", "y", "-o", output]
    assert _run(*command, "--cluster", "local", "--json") == 0
    said = json.loads(capsys.readouterr().out)
    assert (said["rows"], said["columns"], said["target"]) == (200, 4, "y")
    table = pd.concat([pd.read_parquet(path) for path in files], ignore_index=True)
    X, y = table.drop(columns="y"), table["y"]
    model = noiseproof.load(output).model
    assert said["training_score"] == pytest.approx(model.score(X, y))
    # all rows were drawn to fit the encoder, so it is the model of all rows
    here = noiseproof.DropoutLogisticRegression("auto").fit(model[0].transform(X), y)
    np.testing.assert_allclose(model[-1].coef_, here.coef_, rtol=1e-6)


def test_groups_and_rates_by_column(files, tmp_path, in_this_process, capsys):
    output, sensors = tmp_path / "model.npf", tmp_path / "sensors.json"
    sensors.write_text(json.dumps({"arm": ["a", "kind"]}), encoding="utf-8")
    command = ["train", *files, "-t", "y", "-o", output, "--cluster", "local"]
    assert _run(*command, "--noise", "0.2", "--groups", sensors, "--json") == 0
    table = pd.concat([pd.read_parquet(path) for path in files], ignore_index=True)
    model = noiseproof.load(output).model
    X, noise = model[0].transform(table.drop(columns="y")), model[-1].noise
    assert noise.groups["arm"] == [0, *range(3, X.shape[1])]
    here = noiseproof.DropoutLogisticRegression(noise).fit(X, table["y"])
    np.testing.assert_allclose(model[-1].coef_, here.coef_, rtol=1e-6)
    assert _run(*command, "--noise", "a=0.5,c=0.1") == 0
    rates = noiseproof.load(output).model[-1].noise.rate
    assert rates[0] == 0.5
    assert rates[1] == 0.0


def test_a_quantity_is_predicted_by_a_regression(tmp_path, rng, in_this_process):
    paths = [tmp_path / "one.csv", tmp_path / "two.csv"]
    for path in paths:
        table = pd.DataFrame(rng.normal(size=(60, 2)), columns=["a", "b"])
        table.assign(y=table["a"] - table["b"]).to_csv(path, index=False)
    output = tmp_path / "model.npf"
    assert _run("train", *paths, "-t", "y", "-o", output, "--cluster", "local") == 0
    assert isinstance(noiseproof.load(output).model[-1], noiseproof.DropoutRidge)


def test_what_a_cluster_cannot_do(files, tmp_path, in_this_process, capsys):
    command = ["train", *files, "-t", "y", "-o", tmp_path / "model.npf"]
    assert _run(*command) == 2
    assert "3 files are one table only with --cluster" in _said(capsys)
    command += ["--cluster", "local"]
    assert _run(*command, "--model", "robust-lp") == 2
    assert "--cluster cannot train RobustLPClassifier" in _said(capsys)
    assert _run(*command, "--model", "auto", "--tune", "delete:0.5") == 2
    assert "--cluster does not work with --model auto" in _said(capsys)
    assert _run(*command, "--drop", "z") == 1
    assert "has no column 'z'" in _said(capsys)


def test_a_cluster_that_is_not_there(files, tmp_path, capsys):
    command = ["train", *files, "-t", "y", "-o", tmp_path / "model.npf"]
    assert _run(*command, "--cluster", "tpc://127.0.0.1:1") == 2
    assert "no Dask scheduler answers at this address" in _said(capsys)
