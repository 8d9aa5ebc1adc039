"""A served model, and the command line in this process."""

from types import SimpleNamespace

import pytest
from arriving import averaged

import noiseproof
from noiseproof.cli import main


@pytest.fixture
def served():
    return averaged()


@pytest.fixture
def run(capsys, monkeypatch):
    """Give a command in this process, with lines wide enough for its tables."""
    monkeypatch.setenv("COLUMNS", "250")

    def give(*words):
        with pytest.raises(SystemExit) as end:
            main([str(word) for word in words])
        return SimpleNamespace(
            code=end.value.code or 0, **capsys.readouterr()._asdict()
        )

    return give


@pytest.fixture(scope="session")
def model_file(tmp_path_factory):
    path = tmp_path_factory.mktemp("served") / "model.npf"
    noiseproof.save(averaged(), path)
    return path
