"""A served model, and ways to ask it."""

import json
import re
from types import SimpleNamespace

import numpy as np
import pytest
from arriving import Answer, as_frame, averaged

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


KINDS = {
    "absent": "absent: missing in every row",
    "extra": "ignored: training had no such column",
    "unreadable": r"\d+ of \d+ values cannot be read .*",
    "unseen": r"\d+ of \d+ values are words that training did not have .*",
    "out of range": r"\d+ of \d+ values are far out of the range of training.*",
    "missing": r"\d+% of the values are missing; in training \d+% were",
}


@pytest.fixture(scope="session")
def model_file(tmp_path_factory):
    path = tmp_path_factory.mktemp("served") / "model.npf"
    noiseproof.save(averaged(), path)
    return path


@pytest.fixture
def by_command(run, model_file, tmp_path):
    """The command line: the model and the rows go through files."""

    def ask(served, rows):
        data = tmp_path / "new.csv"
        as_frame(rows).to_csv(data, index=False)
        done = run("predict", model_file, data, "--json")
        if done.code:
            raise ValueError(done.err.strip().removeprefix("Error: "))
        found = json.loads(done.out)
        chances = [found[f"probability_{name}"] for name in served.classes_]
        return Answer(np.transpose(chances), set(_notes(done.err)))

    return ask


def _notes(text):
    """Notes as the command prints them: a table of columns and findings."""
    for line in text.splitlines()[3:]:
        names, _, finding = line.strip().partition("   ")
        for kind, words in KINDS.items():
            if re.fullmatch(words, finding.strip()):
                yield kind, tuple(names.split(", "))
