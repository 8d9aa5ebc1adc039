"""An output is never an input, is checked before any work, and may be a pipe."""

import csv
import io
import json
import os
import subprocess
import sys
import time

import numpy as np
import pandas as pd
import pytest

import noiseproof
from noiseproof.cli.output import note, say, write_csv

pytestmark = pytest.mark.whole


@pytest.fixture
def files(folder, model, tmp_path):
    """Copies that a command might destroy: a table and a model."""
    table, saved = tmp_path / "data.csv", tmp_path / "m.npf"
    table.write_bytes((folder / "test.csv").read_bytes())
    saved.write_bytes(model.read_bytes())
    return table, saved


def commands(table, saved, output):
    """Each command that reads something and writes to the output."""
    return [
        ["train", table, "-t", "kind", "-o", output],
        ["predict", saved, table, "-o", output],
        ["certify", saved, table, "-o", output],
        ["report", saved, table, "-o", output],
    ]


@pytest.mark.parametrize("victim", [0, 1], ids=["table", "model"])
@pytest.mark.parametrize("link", ["same", "symbolic", "hard", "relative"])
def test_an_output_is_never_an_input(victim, link, files, run, monkeypatch, tmp_path):
    target = files[victim]
    output = tmp_path / "link"
    if link == "symbolic":
        output.symlink_to(target)
    elif link == "hard":
        os.link(target, output)
    elif link == "relative":
        monkeypatch.chdir(tmp_path.parent)
        output = os.path.join(tmp_path.name, "..", tmp_path.name, target.name)
    else:
        output = target
    before = [path.read_bytes() for path in files]
    for words in commands(*files, output):
        if words[0] == "train" and victim == 1:
            continue  # it reads no model
        done = run(*words)
        assert done.code == 1, words
        assert "which would be lost; choose another name" in done.err
        assert [path.read_bytes() for path in files] == before


def test_groups_are_an_input_as_well(files, run, tmp_path):
    groups = tmp_path / "groups.json"
    groups.write_text('{"front": ["s0"]}', encoding="utf-8")
    done = run("report", files[1], files[0], "--groups", groups, "-o", groups)
    assert done.code == 1
    assert groups.read_text(encoding="utf-8") == '{"front": ["s0"]}'


def test_places_are_checked_before_any_work(files, run, tmp_path):
    """The table is not even read: it is not there."""
    for words in commands(tmp_path / "no.csv", files[1], tmp_path / "no" / "file"):
        done = run(*words)
        assert done.code == 1
        assert "the folder" in done.err, words
        assert "does not exist" in done.err
    done = run("train", tmp_path / "no.csv", "-t", "kind", "-o", tmp_path)
    assert "it is a folder" in done.err


def test_long_names(files, run, tmp_path):
    output = tmp_path / ("m" * 251 + ".npf")
    done = run("train", files[0], "-t", "kind", "-o", output)
    assert done.code == 0, done.err
    assert noiseproof.load(output)


def bash(text, cwd):
    words = f'noiseproof() {{ {sys.executable} -m noiseproof "$@"; }}; set -o pipefail'
    return subprocess.run(
        ["bash", "-c", f"{words}; {text}"], capture_output=True, cwd=cwd, timeout=120
    )


@pytest.mark.skipif(not os.path.exists("/dev/fd"), reason="needs /dev/fd")
def test_pipes_in_both_directions(files, run, tmp_path):
    shown = run("predict", files[1], files[0]).out.encode()
    through = bash(
        "cat m.npf | noiseproof predict /dev/stdin data.csv -o /dev/stdout | cat",
        tmp_path,
    )
    assert through.returncode == 0, through.stderr
    assert through.stdout == shown
    substituted = bash(
        "noiseproof predict <(cat m.npf) data.csv -o >(cat > out.csv); wait", tmp_path
    )
    assert substituted.returncode == 0, substituted.stderr
    for _ in range(50):
        if (tmp_path / "out.csv").stat().st_size == len(shown):
            break
        time.sleep(0.1)
    assert (tmp_path / "out.csv").read_bytes() == shown


@pytest.mark.skipif(not os.path.exists("/dev/stdout"), reason="needs /dev/stdout")
@pytest.mark.parametrize(
    "how",
    ["| cat > piped.npf", pytest.param("> piped.npf", marks=pytest.mark.slow)],
)
def test_a_model_to_the_output_is_all_there_is(how, files, tmp_path):
    """What train has to say goes to the error stream then."""
    words = "-t kind -o /dev/stdout --folds 0"
    done = bash(f"noiseproof train data.csv {words} {how}", tmp_path)
    assert done.returncode == 0, done.stderr
    assert b"Trained on" in done.stderr
    assert noiseproof.load(tmp_path / "piped.npf").classes_.tolist() == ["bad", "good"]


def test_labels_that_spreadsheets_would_run(run, tmp_path):
    labels = ["=cmd()", "@sum", "-1", "+x", "plain"] * 20
    table = pd.DataFrame({"kind": [f"k{i % 5}" for i in range(100)], "y": labels})
    table.to_csv(tmp_path / "data.csv", index=False)
    model, out = tmp_path / "m.npf", tmp_path / "out.csv"
    words = ["-t", "y", "-o", model, "--noise", "none", "--C", 100]
    assert run("train", tmp_path / "data.csv", *words).code == 0
    words = ["predict", model, tmp_path / "data.csv", "-o", out]
    assert run(*words).code == 0
    with out.open(newline="") as file:
        raw = {line[0] for line in csv.reader(file)}
    assert "=cmd()" in raw
    assert run(*words, "--spreadsheet-safe").code == 0
    with out.open(newline="") as file:
        safe = {line[0] for line in csv.reader(file)}
    assert safe == {f"'{cell}" if cell[0] in "=@+" else cell for cell in raw}
    assert "-1" in safe
    shown = run(*words[:3], "--spreadsheet-safe").out
    assert "'=cmd()" in shown
    plain = json.loads(run(*words[:3], "--spreadsheet-safe", "--json").out)
    assert "=cmd()" in plain["prediction"]  # for machines nothing is quoted


@pytest.mark.parametrize("start", ["\n", "\r\n", "\t", " ", "\u00a0", "\n\n", "\v"])
@pytest.mark.parametrize("sign", list("=+-@"))
def test_white_space_hides_no_formula(start, sign, capsys):
    """Spreadsheets leave it out, and run what follows."""
    write_csv({"prediction": [f"{start}{sign}x", "x"]}, None, safe=True)
    lines = list(csv.reader(io.StringIO(capsys.readouterr().out, newline="")))
    assert lines == [["prediction"], [f"'{start}{sign}x"], ["x"]]


def test_a_number_column_named_like_a_value_of_a_text_column(run, tmp_path):
    rng = np.random.default_rng(0)
    table = pd.DataFrame({"col_a": rng.normal(size=60), "col": ["a", "b", "c"] * 20})
    table["y"] = np.where(table["col_a"] > 0, "u", "v")
    table.to_csv(tmp_path / "data.csv", index=False)
    data, model = tmp_path / "data.csv", tmp_path / "m.npf"
    assert run("train", data, "-t", "y", "-o", model, "--folds", 0).code == 0
    done = run("evaluate", model, data, "--json")
    assert done.code == 0, done.err
    assert set(json.loads(done.out)["models"]["m"]["cost"]) == {"col_a", "col"}
    assert run("report", model, data, "-o", tmp_path / "page.html").code == 0


@pytest.mark.parametrize("attack", ["deletion", "scaling", "norm-ball", "trajectory"])
def test_every_attack_at_its_own_levels(attack, run, folder, model):
    done = run("evaluate", model, folder / "test.csv", "--attack", attack, "--json")
    assert done.code == 0, done.err
    shown = json.loads(done.out)
    means = shown["models"]["model"]["mean"]
    assert shown["levels"][0] == 0
    assert means[0] > 0.85
    assert means == sorted(means, reverse=True)


@pytest.mark.parametrize("level", ["5", "5.0"])
def test_counts_may_be_written_as_whole_floats(level, run, folder, tmp_path):
    words = ["-t", "kind", "-o", tmp_path / "m.npf", "--model", "invariant-svc"]
    attack = f"scaling:{level}"
    done = run("train", folder / "data.csv", *words, "--attack", attack, "--json")
    assert done.code == 0, done.err
    assert "FeatureScaling(k=5)" in json.loads(done.out)["parameters"]
    done = run("train", folder / "data.csv", *words, "--attack", "scaling:1.5")
    assert done.code == 1
    assert "must be a whole number" in done.err


def test_an_index_out_of_all_proportion(run, tmp_path):
    (tmp_path / "t.svm").write_text("1 1:1 2000000000:1\n0 1:2\n", encoding="utf-8")
    words = ["train", tmp_path / "t.svm", "-o", tmp_path / "m.npf"]
    done = run(*words)
    assert done.code == 1
    assert "--n-features" in done.err
    assert run(*words, "--n-features", 3).code == 0
    assert noiseproof.load(tmp_path / "m.npf").model.n_features_in_ == 3


class Terminal(io.StringIO):
    """A stream that says it is a terminal."""

    def isatty(self):
        return True


@pytest.mark.parametrize(("print_line", "stream"), [(say, "stdout"), (note, "stderr")])
def test_long_lines_fit_the_terminal(print_line, stream, monkeypatch):
    text = "  one averaged-model of several words, and a/long/path-to/some/file.npf"
    for kind, wrapped in ((Terminal, True), (io.StringIO, False)):
        monkeypatch.setenv("COLUMNS", "24")
        monkeypatch.setattr(sys, stream, kind())
        print_line(text)
        lines = getattr(sys, stream).getvalue().splitlines()
        assert (len(lines) > 1) == wrapped
        assert " ".join(lines) == text
    monkeypatch.setattr(sys, stream, Terminal())
    print_line("short\n\nlines")
    assert getattr(sys, stream).getvalue() == "short\n\nlines\n"
