"""Tables to work on, and a way to give a command and see all that comes of it."""

import numpy as np
import pytest
import scipy.sparse as sp
from commands import Outcome, frame, shell
from sklearn.datasets import dump_svmlight_file

from noiseproof.cli import main


@pytest.fixture(autouse=True)
def _short_contests(monkeypatch):
    """Two draws of what is expected, as with many rows, and little boosting."""
    monkeypatch.setattr("noiseproof.training.recommendation._PREDICTIONS", 0)
    monkeypatch.setattr("noiseproof.training.portfolios._ITERATIONS", 10)


@pytest.fixture
def run(capsys):
    """Give a command in this process."""

    def give(*words):
        with pytest.raises(SystemExit) as end:
            main([str(word) for word in words])
        return Outcome(end.value.code or 0, *capsys.readouterr())

    return give


@pytest.fixture(scope="session")
def folder(tmp_path_factory):
    """A training and a test table in every format."""
    folder = tmp_path_factory.mktemp("cli")
    for name, seed in (("data", 0), ("test", 1)):
        table = frame(300, seed).drop(columns="amount")
        table.to_csv(folder / f"{name}.csv", index=False)
        table.to_csv(folder / f"{name}.tsv", index=False, sep="\t")
        table.to_parquet(folder / f"{name}.parquet")
        X = table[["s0", "s1", "s2", "s3", "s4"]].fillna(0.0).to_numpy()
        X = X * (np.abs(X) > 0.5)
        y = (table["kind"] == "good").to_numpy().astype(int)
        dump_svmlight_file(X, y, str(folder / f"{name}.svm"))
        np.savez(folder / f"{name}.npz", X=X, y=y)
        csr = sp.csr_array(X)
        parts = {part: getattr(csr, part) for part in ("data", "indices", "indptr")}
        np.savez(folder / f"{name}-csr.npz", **parts, shape=X.shape, y=y)
    frame(300, 2).drop(columns="kind").to_csv(folder / "amounts.csv", index=False)
    return folder


@pytest.fixture(scope="session")
def model(folder):
    """A model that a real command has trained and saved."""
    path = folder / "model.npf"
    done = shell("train", folder / "data.csv", "--target", "kind", "-o", path)
    assert done.code == 0, done.err
    assert done.err == ""
    return path
