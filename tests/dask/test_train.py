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

pytestmark = pytest.mark.filterwarnings("ignore::ResourceWarning")


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


def test_several_files_are_one_table(files, tmp_path, in_this_process, capsys):
    output = tmp_path / "model.npf"
    command = ["train", *files, "-t", "y", "-o", output]
    assert _run(*command, "--cluster", "local", "--json") == 0
    said = json.loads(capsys.readouterr().out)
    assert (said["rows"], said["columns"], said["target"]) == (200, 4, "y")
    table = pd.concat([pd.read_parquet(path) for path in files], ignore_index=True)
    X, y = table.drop(columns="y"), table["y"]
    model = noiseproof.load(output)
    assert said["training_score"] == pytest.approx(model.score(X, y))
    # all rows were drawn to fit the encoder, so it is the model of all rows
    here = noiseproof.DropoutLogisticRegression("auto").fit(model[0].transform(X), y)
    np.testing.assert_allclose(model[-1].coef_, here.coef_, rtol=1e-6)


def test_what_a_cluster_cannot_do(files, tmp_path, in_this_process, capsys):
    command = ["train", *files, "-t", "y", "-o", tmp_path / "model.npf"]
    assert _run(*command) == 2
    assert "3 files are one table only with --cluster" in capsys.readouterr().err
    assert _run(*command, "--cluster", "local", "--model", "robust-lp") == 2
    assert "--cluster cannot train RobustLPClassifier" in capsys.readouterr().err
    assert _run(*command, "--cluster", "local", "--tune", "delete:0.5", "--C", "1") == 2
    assert "--cluster has no --groups and no --tune" in capsys.readouterr().err
