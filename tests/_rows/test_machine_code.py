"""Loops that are kept as machine code: in files, for all kinds of arguments."""

import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
import scipy.sparse as sp
from numba.core.errors import NumbaNotImplementedError

from noiseproof._rows import Loops, machine_code


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """An empty folder for the files."""
    monkeypatch.setattr(machine_code, "_folders", lambda: [tmp_path])
    return tmp_path


def _totals(X, labels, *, loops=None, entries=None):
    """Sums of entries by row and group, and what they should be."""
    loops = loops or Loops("noiseproof._rows.grouped_kernels")
    entries = X.data if entries is None else entries
    out, sums = np.empty(len(entries)), np.zeros(labels.max() + 1)
    loops.run("totals", X.indptr, X.indices, labels, sums, False, entries, out)
    rows = np.repeat(np.arange(X.shape[0]), np.diff(X.indptr))
    expected = np.zeros((X.shape[0], len(sums)))
    np.add.at(expected, (rows, labels[X.indices]), entries)
    return out, expected[rows, labels[X.indices]]


@pytest.fixture
def X(rng):
    return sp.random(20, 7, density=0.5, format="csr", random_state=rng)


@pytest.mark.parametrize("dtype", [np.uint32, np.int64])
@pytest.mark.parametrize("order", ["contiguous", "strided"])
def test_a_loop_is_compiled_for_the_arrays_it_gets(rng, X, dtype, order):
    labels = rng.integers(0, 3, 7).astype(dtype)
    entries = X.data if order == "contiguous" else np.repeat(X.data, 2)[::2]
    np.testing.assert_allclose(*_totals(X, labels, entries=entries), rtol=1e-14)


def test_a_file_is_written_once_and_read_by_the_next(rng, X, folder, monkeypatch):
    labels = rng.integers(0, 3, 7)
    np.testing.assert_allclose(*_totals(X, labels), rtol=1e-14)
    (file,) = folder.iterdir()
    monkeypatch.setattr(Loops, "_compile", None)  # not to be called again
    np.testing.assert_allclose(*_totals(X, labels), rtol=1e-14)
    assert list(folder.iterdir()) == [file]


@pytest.mark.parametrize("damage", [b"", b"nothing", None])
def test_a_damaged_file_is_written_anew(rng, X, folder, damage):
    labels = rng.integers(0, 3, 7)
    _totals(X, labels)
    (file,) = folder.iterdir()
    good = file.read_bytes()
    file.write_bytes(good[:-1] if damage is None else damage)
    np.testing.assert_allclose(*_totals(X, labels), rtol=1e-14)
    assert machine_code._read(file)


def test_without_sources_to_compare_nothing_is_kept(rng, X, folder):
    loops = Loops("noiseproof._rows.grouped_kernels")
    loops._sources = ""
    out, expected = _totals(X, rng.integers(0, 3, 7), loops=loops)
    np.testing.assert_allclose(out, expected, rtol=1e-14)
    assert not list(folder.iterdir())


def test_without_a_home_nothing_is_kept_below_the_working_directory(monkeypatch):
    for name in ("NUMBA_CACHE_DIR", "XDG_CACHE_HOME", "LOCALAPPDATA"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setattr("os.path.expanduser", lambda path: path)
    (folder,) = machine_code._folders()
    assert folder.is_absolute()


def test_arrays_of_the_other_byte_order_are_refused(rng, X):
    entries = X.data.astype(X.data.dtype.newbyteorder())
    with pytest.raises(NumbaNotImplementedError):
        _totals(X, rng.integers(0, 3, 7), entries=entries)


def test_threads_may_ask_for_the_same_loop_at_once(rng, X, folder):
    loops, labels = Loops("noiseproof._rows.grouped_kernels"), rng.integers(0, 3, 7)
    with ThreadPoolExecutor(4) as pool:
        found = pool.map(lambda _: _totals(X, labels, loops=loops), range(8))
        for out, expected in found:
            np.testing.assert_allclose(out, expected, rtol=1e-14)
    assert len(list(folder.iterdir())) == 1


def test_sparse_fits_need_no_compiler_once_loops_are_in_files():
    """Not in processes that come later; among them are all loops of three modules."""
    code = (
        "import sys, numpy as np, scipy.sparse as sp\n"
        "from noiseproof import DropoutExponentialClassifier\n"
        "from noiseproof import DropoutLogisticRegression, DropoutSVC\n"
        "from noiseproof.noise import Dropout\n"
        "X = sp.random(40, 900, 0.1, format='csr', random_state=0)\n"
        "rows = np.arange(40)\n"
        "groups = np.arange(900) // 3\n"
        "for y in (rows % 2, rows % 5):\n"
        "    for noise in (Dropout(0.5), Dropout(0.5, groups=groups), None):\n"
        "        DropoutSVC(noise).fit(X, y)\n"
        "        DropoutLogisticRegression(noise).fit(X, y)\n"
        "    DropoutExponentialClassifier(Dropout(0.1, groups=groups)).fit(X, y)\n"
        "print('numba' in sys.modules)"
    )
    for _ in range(2):
        found = subprocess.check_output([sys.executable, "-c", code], text=True)
    assert found.strip() == "False"
