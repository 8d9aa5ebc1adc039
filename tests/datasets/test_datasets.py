"""Generators and loaders."""

import gzip
import lzma

import numpy as np
import pytest

from noiseproof.datasets import load_mnist, load_spambase, make_leaky_labels


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
    with pytest.raises(FileNotFoundError, match=r"There is no file .*; get it from"):
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
    with lzma.open(tmp_path / "spambase.csv.xz", "wt") as file:
        np.savetxt(file, table, delimiter=",")
    X, y = load_spambase(folder=tmp_path)
    np.testing.assert_allclose(X, table[:, :57])
    assert y.dtype.kind == "i"
