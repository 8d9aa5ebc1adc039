"""Generators and loaders."""

import gzip
import lzma

import numpy as np
import pytest

from noiseproof.datasets import (
    load_imdb,
    load_mnist,
    load_spambase,
    load_texts,
    make_leaky_labels,
)


def test_leaky_labels():
    X, y = make_leaky_labels(5000, 12, n_leaks=3, flip=0.1, random_state=1)
    assert X.shape == (5000, 15)
    assert set(y) == {-1, 1}
    assert (X[:, 12:] == y[:, None]).all()
    honest = X[:, :12] - X[:, :12].mean(axis=0)
    normal, *_ = np.linalg.lstsq(honest, y, rcond=None)
    assert np.mean(np.sign(honest @ normal) != y) == pytest.approx(0.1, abs=0.02)
    again, _ = make_leaky_labels(5000, 12, n_leaks=3, flip=0.1, random_state=1)
    np.testing.assert_array_equal(X, again)
    with pytest.raises(ValueError, match="probability"):
        make_leaky_labels(flip=2)


@pytest.mark.parametrize("load", [load_mnist, load_spambase])
def test_absent_data_gives_one_sentence(load, monkeypatch, tmp_path):
    monkeypatch.delenv("NOISEPROOF_DATA", raising=False)
    with pytest.raises(FileNotFoundError, match="NOISEPROOF_DATA to a folder"):
        load()
    monkeypatch.setenv("NOISEPROOF_DATA", str(tmp_path))
    with pytest.raises(FileNotFoundError, match=r"There is no file .*\. Get it from"):
        load()


def test_mnist_reads_idx_files(tmp_path):
    (tmp_path / "mnist").mkdir()
    pixels = np.arange(3 * 784, dtype=np.uint64).astype(np.uint8)
    with gzip.open(tmp_path / "mnist" / "train-images-idx3-ubyte.gz", "wb") as file:
        file.write(bytes(16) + pixels.tobytes())
    with gzip.open(tmp_path / "mnist" / "train-labels-idx1-ubyte.gz", "wb") as file:
        file.write(bytes(8) + bytes([4, 1, 7]))
    X, y = load_mnist(folder=tmp_path, digits=(4, 7))
    np.testing.assert_array_equal(y, [4, 7])
    np.testing.assert_allclose(X[1], pixels[2 * 784 :] / 255)
    with pytest.raises(ValueError, match="'train' or 'test'"):
        load_mnist("all")


def test_spambase_reads_a_table(tmp_path):
    table = np.arange(116).reshape(2, 58) / 4
    with lzma.open(tmp_path / "spambase.csv.xz", "wt", encoding="utf-8") as file:
        np.savetxt(file, table, delimiter=",")
    X, y = load_spambase(folder=tmp_path)
    np.testing.assert_allclose(X, table[:, :57])
    assert y.dtype.kind == "i"


def test_an_empty_folder_name_is_none(monkeypatch):
    monkeypatch.setenv("NOISEPROOF_DATA", "")
    with pytest.raises(FileNotFoundError, match="NOISEPROOF_DATA to a folder"):
        load_mnist()


@pytest.mark.parametrize(("name", "y"), [("RT", [1, 0]), ("AthR", [0, 1])])
def test_texts_read_lines(name, y, tmp_path):
    lines = {
        "rt_polarity.tsv.xz": "1\tgood\tfine film\n0\tbad\tdull\n",
        "newsgroups_pairs_text.tsv.xz": "train\talt.atheism\t1\tfine film\n"
        "test\tsci.crypt\t2\tkey\ntest\tsoc.religion.christian\t3\tdull\n",
    }
    for file, text in lines.items():
        with lzma.open(tmp_path / file, "wt", encoding="utf-8") as stream:
            stream.write(text)
    data = load_texts(name, folder=tmp_path)
    assert data.texts == ["fine film", "dull"]
    assert data.y.tolist() == y
    with pytest.raises(ValueError, match=r"name must be one of RT, .*; got 'Ath'"):
        load_texts("Ath", folder=tmp_path)


@pytest.mark.parametrize("min_count", [1, 2, 9])
def test_imdb_counts_pairs_of_training_reviews(min_count, tmp_path):
    reviews = {
        "train": [[1, 2, 1, 2], [3]],
        "test": [[2, 1, 5]],
        "unlabelled": [[1, 2]],
    }
    for name, rows in reviews.items():
        with lzma.open(tmp_path / f"imdb_{name}.npz.xz", "wb") as file:
            np.savez(
                file, tokens=np.concatenate(rows), length=[len(row) for row in rows],
                rating=np.array([9, 2])[: len(rows)],
            )  # fmt: skip
    data = load_imdb(bigrams=True, min_count=min_count, folder=tmp_path)
    assert data.y_train.tolist() == [1, 0]
    n_pairs = {1: 2, 2: 1, 9: 0}[min_count]  # (1, 2) in two reviews, (2, 1) in one
    assert data.X_test.shape == (1, 37_751 + n_pairs)
    assert data.X_train[:, :4].toarray().tolist() == [[0, 1, 1, 0], [0, 0, 0, 1]]
    assert data.X_train[:, 37_751:].sum() == n_pairs
    assert data.X_unlabeled[:, 37_751:].sum() == min(n_pairs, 1)
    assert data.X_test[:, 37_751:].sum() == (min_count == 1)
