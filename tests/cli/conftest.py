"""Tables to work on, and a way to give a command and see all that comes of it."""

import subprocess
import sys
from typing import NamedTuple

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from sklearn.datasets import dump_svmlight_file

from noiseproof.cli import main


class Outcome(NamedTuple):
    code: int
    out: str
    err: str


@pytest.fixture
def run(capsys):
    """Give a command in this process."""

    def give(*words):
        with pytest.raises(SystemExit) as end:
            main([str(word) for word in words])
        return Outcome(end.value.code or 0, *capsys.readouterr())

    return give


def shell(*words, cwd=None):
    """Give a command in a process of its own."""
    command = [sys.executable, "-m", "noiseproof", *map(str, words)]
    done = subprocess.run(command, capture_output=True, text=True, cwd=cwd)
    return Outcome(done.returncode, done.stdout, done.stderr)


def frame(n, seed):
    """Sensors, a colour and a target that depends on both; some cells are empty."""
    rng = np.random.default_rng(seed)
    table = pd.DataFrame(
        rng.normal(size=(n, 5)), columns=["s0", "s1", "s2", "s3", "s4"]
    )
    table["colour"] = rng.choice(["red", "blue", "green"], n)
    score = (
        table["s0"] + table["s1"] - table["s2"] + 2 * (table["colour"] == "red") - 0.6
    )
    table = table.mask(rng.random(table.shape) < 0.05)
    table["amount"] = score + 0.3 * rng.normal(size=n)
    table["kind"] = np.where(score + 0.3 * rng.normal(size=n) > 0, "good", "bad")
    return table


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
