"""`python -m experiments` and what `noiseproof reproduce` makes of it."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
from experiments import __main__ as command
from experiments.__main__ import main
from experiments.runner import Report

pytestmark = pytest.mark.whole

ROOT = Path(__file__).parents[2]


@pytest.fixture
def tiny(monkeypatch):
    """Any size is the tiny one, which needs no data; remembers what was asked for."""
    asked, real = [], command.run

    def run(name, size, out, progress, n_jobs) -> Report:
        asked.append((name, size, out))
        return real(name, "tiny", out, progress=progress)

    monkeypatch.setattr(command, "run", run)
    return asked


def test_claims_and_files_are_told_and_progress_is_short(tiny, tmp_path, capsys):
    main(["wager-table3", "--full", "--out", str(tmp_path)])
    told = capsys.readouterr()
    assert tiny == [("wager-table3", "full", tmp_path)]
    assert told.out.count("[holds]") + told.out.count("[FAILS]") == 3
    assert f"Written to {tmp_path / 'wager-table3.csv'}" in told.out
    assert 1 <= len(told.err.splitlines()) <= 3


def test_the_result_for_machines(tiny, tmp_path, capsys):
    main(["wager-table3", "--json", "-o", str(tmp_path)])
    found = json.loads(capsys.readouterr().out)
    assert (found["name"], found["size"]) == ("wager-table3", "quick")
    assert {claim["holds"] for claim in found["claims"]} <= {True, False}
    assert [Path(path).suffix for path in found["files"]] == [".csv", ".md", ".png"]


@pytest.mark.parametrize(
    ("words", "code", "sentence"),
    [
        ([], 2, "Name an experiment, or use --list"),
        (["nothing"], 2, "There is no experiment nothing: use one of chen-fig1"),
        (["chen-fig1", "--quick", "--full"], 2, "not allowed with"),
    ],
)
def test_bad_words_get_one_sentence(words, code, sentence, capsys):
    with pytest.raises(SystemExit) as end:
        main(words)
    assert end.value.code == code
    assert sentence in capsys.readouterr().err


def test_missing_data_get_one_sentence(monkeypatch):
    monkeypatch.delenv("NOISEPROOF_DATA", raising=False)
    with pytest.raises(SystemExit, match="Error: Set the environment variable"):
        main(["chen-fig1"])


def test_reproduce_passes_on_words_output_and_code(tmp_path):
    """In a process of its own, in another folder, with the error of the other."""
    environment = {k: v for k, v in os.environ.items() if k != "NOISEPROOF_DATA"}
    environment["PYTHONPATH"] = str(ROOT / "src")
    done = subprocess.run(
        [sys.executable, "-m", "noiseproof", "reproduce", "chen-fig1", "--full"],
        cwd=tmp_path,
        env=environment,
        capture_output=True,
        text=True,
    )
    assert done.returncode == 1
    assert done.stdout == ""
    assert done.stderr.startswith("Error: Set the environment variable")
    assert not list(tmp_path.iterdir())
