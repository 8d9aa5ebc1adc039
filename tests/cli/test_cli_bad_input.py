"""What people get wrong: one sentence, the right exit code, and no traceback."""

import json

import numpy as np
import pandas as pd
import pytest
from commands import frame

import noiseproof


@pytest.fixture
def test_table():
    return frame(40, 3).drop(columns="amount")


def said(done, code, words):
    """A failure with these words, in few lines and without a traceback."""
    assert done.code == code
    assert words in done.err.replace("\n", " ")
    assert "Traceback" not in done.err
    assert done.out == ""


@pytest.mark.parametrize(
    ("name", "content", "words"),
    [
        ("none.csv", None, "there is no such file"),
        ("empty.csv", b"", "is empty"),
        ("names.csv", b"a,kind\n", "has no rows"),
        ("latin.csv", b"a,kind\n\xe9,1\n", "is not UTF-8 text"),
        (
            "ragged.csv",
            b"a,kind\n1,2\n1\n",
            "row 2 has 1 fields",
        ),
        ("hole.csv", b"a,kind\n1,\n1,\n", "is empty in 2 of 2 rows"),
        ("inf.csv", b"a,kind\n1,2\n2,inf\n", "holds an infinite value"),
        ("table.xls", b"a", "the suffix '.xls' is unknown"),
        ("other.csv", b"a,kin\n1,2\n", "has no column 'kind'; did you mean 'kin'"),
        ("one.csv", b"a,kind\n1,u\n2,u\n", "nothing to learn: every y is u"),
    ],
)
def test_bad_tables(name, content, words, run, tmp_path):
    path, output = tmp_path / name, tmp_path / "model.npf"
    if content is not None:
        path.write_bytes(content)
    said(run("train", path, "--target", "kind", "-o", output), 1, words)
    assert not output.exists()


def test_bad_commands(run, folder, tmp_path):
    data, output = folder / "data.csv", tmp_path / "model.npf"
    train = ["train", data, "-t", "kind", "-o", output]
    said(run("train", data, "-t", "kind"), 2, "--output")
    said(
        run(*train, "--model", "svm"),
        2,
        "--model svm is unknown: use one of dropout-svc",
    )
    said(
        run(*train, "--model", "robust-lp", "--noise", 0.1),
        2,
        "robust-lp has no --noise",
    )
    said(run(*train, "--noise", "much"), 2, "--noise much: use a dropout rate, auto,")
    said(run(*train, "--noise", "gaussian:x"), 2, "gaussian:x: 'x' is not a number")
    said(run(*train, "--noise", 1.5), 1, "Dropout.rate must be in [0, 1)")
    said(run(*train, "--tune", "delete"), 2, "delete needs a level, such as delete:0.5")
    said(run(*train, "--tune", "rain:1"), 2, "Unknown perturbation rain:1: use one")
    said(run(*train, "--C", -1), 1, "'C' parameter")
    said(run(*train, "--drop", "x"), 1, "has no column 'x'")
    said(run(*train, "--scale", "x"), 1, "'scale' parameter of TableEncoder")
    said(
        run("train", data, "-o", output),
        1,
        "choose one with --target. It has 's0', 's1'",
    )
    said(run("paint"), 2, "No such command 'paint'")
    said(run(*train[:-1], tmp_path / "no" / "m.npf"), 1, "does not exist")
    assert not output.exists()


@pytest.mark.whole
def test_bad_requests_of_a_model(run, folder, model, tmp_path):
    words = [model, folder / "test.csv"]
    said(run("evaluate", *words, "--levels", "a,b"), 2, "--levels a,b: use numbers")
    said(run("evaluate", *words, "--levels", "7"), 1, "probabilities from 0 to 1")
    said(run("evaluate", *words, "--attack", "flood"), 2, "Unknown attack flood: use")
    other = run("evaluate", model, folder / "amounts.csv", "-t", "amount")
    said(other, 1, "no label in 'amount' is a class of the model")
    said(
        run("predict", tmp_path / "no.npf", words[1]),
        1,
        "no.npf: there is no such file.",
    )
    said(run("predict", words[1], words[1]), 1, "is not a model saved by noiseproof")
    groups = tmp_path / "groups.json"
    groups.write_text('{"front": ["s9"]}', encoding="utf-8")
    said(run("evaluate", *words, "--groups", groups), 1, "'front' contains 's9', which")
    groups.write_text("[1]", encoding="utf-8")
    said(run("evaluate", *words, "--groups", groups), 1, "must contain JSON such as")


def test_debug_shows_where_it_failed(tmp_path):
    from noiseproof.cli import main

    with pytest.raises(noiseproof.tables.TableError, match="no such file"):
        main(["predict", str(_saved(tmp_path)), str(tmp_path / "no.csv"), "--debug"])


def _saved(tmp_path):
    path = tmp_path / "tiny.npf"
    model = noiseproof.DropoutSVC().fit(np.eye(4), [0, 1, 0, 1])
    noiseproof.save(model, path)
    return path


def test_models_saved_from_python(run, tmp_path):
    path = _saved(tmp_path)
    np.savez(tmp_path / "new.npz", X=np.eye(4), y=[0, 1, 0, 1])
    assert run("predict", path, tmp_path / "new.npz").code == 0
    assert run("evaluate", path, tmp_path / "new.npz", "--levels", 0).code == 0
    assert run("certify", path, tmp_path / "new.npz").code == 0
    pd.DataFrame(np.eye(3)).to_csv(tmp_path / "new.csv", index=False)
    said(run("predict", path, tmp_path / "new.csv"), 1, "features")


def predictions(run, model, table, path):
    table.to_csv(path, index=False)
    done = run("predict", model, path, "--json")
    assert done.code == 0, done.err
    return json.loads(done.out)["prediction"], done.err


def test_columns_in_another_order(run, model, test_table, tmp_path):
    expected, err = predictions(run, model, test_table, tmp_path / "a.csv")
    assert err == ""
    other = test_table[test_table.columns[::-1]]
    found, err = predictions(run, model, other, tmp_path / "b.csv")
    assert found == expected
    assert err == ""
    found, err = predictions(run, model, other.drop(columns="kind"), tmp_path / "c.csv")
    assert found == expected
    assert err == ""


def test_other_columns_are_ignored_with_a_note(run, model, test_table, tmp_path):
    expected, _ = predictions(run, model, test_table, tmp_path / "a.csv")
    more = test_table.assign(extra=1.0, other="x")
    found, err = predictions(run, model, more, tmp_path / "b.csv")
    assert found == expected
    assert "extra, other ignored: training had no such column" in " ".join(err.split())


def test_a_missing_column_is_treated_as_deleted(
    run, model, test_table, tmp_path, monkeypatch
):
    monkeypatch.setenv("COLUMNS", "160")
    empty = test_table.assign(s0=np.nan)
    expected, err = predictions(run, model, empty, tmp_path / "a.csv")
    assert "100% of the values are missing; in training" in " ".join(err.split())
    without = test_table.drop(columns="s0")
    found, err = predictions(run, model, without, tmp_path / "b.csv")
    assert found == expected
    assert " ".join(err.split()).count("s0 absent: missing in every row") == 1


def test_categories_never_seen(run, model, test_table, tmp_path, monkeypatch):
    monkeypatch.setenv("COLUMNS", "160")
    unseen = test_table.assign(colour="mauve")
    empty = test_table.assign(colour=None)
    found, err = predictions(run, model, unseen, tmp_path / "a.csv")
    assert found == predictions(run, model, empty, tmp_path / "b.csv")[0]
    n, said = len(unseen), " ".join(err.split())
    assert f"{n} of {n} values are words that training did not have" in said
    assert "count as missing, such as 'mauve'" in said
    numbers = test_table.assign(colour=range(len(test_table)))
    assert predictions(run, model, numbers, tmp_path / "c.csv")[0] == found


def test_text_where_numbers_were(run, model, test_table, tmp_path):
    """A cell that cannot be read is missing; the batch goes on, with a note."""
    empty = test_table.astype({"s1": object})
    empty.loc[3, "s1"] = None
    expected, _ = predictions(run, model, empty, tmp_path / "b.csv")
    for bad in ("high", "inf"):
        table = empty.copy()
        table.loc[3, "s1"] = bad
        found, err = predictions(run, model, table, tmp_path / "a.csv")
        assert found == expected
        assert "missing" in err
        assert err.count("s1") == 1


def test_labels_that_look_like_numbers_stay_text(run, tmp_path):
    """Classes 1, 2 and x in training; the test file has only 1 and 2."""
    a = np.random.default_rng(0).normal(size=60)
    table = pd.DataFrame(
        {"a": a, "y": np.where(a > 0.5, "x", np.where(a > -0.5, 1, 2))}
    )
    table.to_csv(tmp_path / "data.csv", index=False)
    model = tmp_path / "m.npf"
    run("train", tmp_path / "data.csv", "-t", "y", "-o", model, "--C", 100)
    table[table["y"] != "x"].to_csv(tmp_path / "test.csv", index=False)
    done = run("evaluate", model, tmp_path / "test.csv", "--levels", 0, "--json")
    assert json.loads(done.out)["models"]["m"]["mean"][0] > 0.5


def test_a_file_that_counts_features_from_one(run, tmp_path):
    """The new file lacks feature 1: its own counting would be misread."""
    lines = [f"{i % 2} 1:{i % 2} 2:{1 - i % 2} 3:1" for i in range(20)]
    (tmp_path / "data.svm").write_text("\n".join(lines), encoding="utf-8")
    lines = [f"{i % 2} 0:{i % 2} 1:{1 - i % 2} 2:1" for i in range(20)]
    (tmp_path / "zero.svm").write_text("\n".join(lines), encoding="utf-8")
    (tmp_path / "new.svm").write_text("0 2:1\n", encoding="utf-8")
    for name in ("data", "zero"):
        run("train", tmp_path / f"{name}.svm", "-o", tmp_path / f"{name}.npf")
    of_one = run("predict", tmp_path / "data.npf", tmp_path / "new.svm", "--json")
    of_zero = run("predict", tmp_path / "zero.npf", tmp_path / "new.svm", "--json")
    chances = [json.loads(done.out)["probability_0"][0] for done in (of_one, of_zero)]
    assert chances[0] > chances[1]
