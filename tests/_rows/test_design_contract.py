"""Every verb of every design against a naive dense formula."""

import numpy as np
import pytest
import scipy.sparse as sp
from devices import on_torch
from problems import IN_MEMORY

from noiseproof._rows import DESIGNS, RowCurvature, as_design, host
from noiseproof._rows import base as base_module
from noiseproof._rows import csr as csr_module
from noiseproof._rows import dense as dense_module
from noiseproof._rows import device as device_module
from noiseproof._rows import threads as threads_module

N, D, K = 45, 6, 9
FEW = 3  # classes, where their number does not matter


def _csr(container, dtype, index=np.int32, read_only=False):
    def store(X):
        S = container(X, dtype=dtype)
        S.indices, S.indptr = S.indices.astype(index), S.indptr.astype(index)
        for part in (S.data, S.indices, S.indptr):
            part.flags.writeable = not read_only
        return S

    return store


def _dense(order, dtype):
    def store(X):
        X = np.array(X, dtype=dtype, order=order)
        X.flags.writeable = False
        return X

    return store


def _every_second_row(X):
    return np.repeat(X, 2, axis=0)[::2]


STORAGES = {
    "dense": {
        "C-float64": _dense("C", np.float64),
        "F-float64": _dense("F", np.float64),
        "C-float32": _dense("C", np.float32),
        "F-float32": _dense("F", np.float32),
        "strided": _every_second_row,
    },
    "csr": {
        "array-float64": _csr(sp.csr_array, np.float64),
        "array-float32": _csr(sp.csr_array, np.float32),
        "matrix-float64": _csr(sp.csr_matrix, np.float64),
        "int64-indices": _csr(sp.csr_array, np.float64, np.int64),
        "read-only": _csr(sp.csr_array, np.float64, read_only=True),
    },
    "device": {
        "torch": on_torch,
        "torch-strided": lambda X: on_torch(np.repeat(X, 2, axis=0))[::2],
        "torch-csr": lambda X: on_torch(sp.csr_array(X)),
    },
}
every_storage = pytest.mark.parametrize(
    ("design", "store"),
    [
        pytest.param(name, store, id=f"{name}-{label}")
        for name in DESIGNS
        for label, store in STORAGES[name].items()
    ],
)
every_power = pytest.mark.parametrize("power", [1, 2])


@pytest.fixture
def X(rng):
    """Entries that float32 holds exactly, with empty rows and an all-zero column."""
    X = np.round(rng.normal(size=(N, D)) * 8) / 8 * (rng.random((N, D)) < 0.5)
    X[[0, 7, N - 1]] = 0.0
    X[:, 2] = 0.0
    return X


@pytest.fixture
def many_parts(rng):
    """Weights, row slopes and row curvatures for K classes."""
    return {
        "W": rng.normal(size=(K, D)),
        "P": rng.normal(size=(K, D)),
        "S": rng.uniform(0.1, 1, size=(K, D)),
        "T": rng.uniform(0.1, 1, size=(K, D)),
        "A": rng.normal(size=(K, N)),
        "B": rng.normal(size=(K, N)),
        "h": RowCurvature(*rng.normal(size=(4, K, N))),
        "a0": rng.normal(size=K),
        "e0": rng.normal(size=K),
    }


@pytest.fixture
def parts(many_parts):
    return _first(many_parts, FEW)


def _first(parts, k, n=N):
    """The parts of k classes and n rows."""
    few = {name: part[:k] for name, part in parts.items() if name != "h"}
    few["h"] = RowCurvature(*(h[:k, :n] for h in parts["h"]))
    return few | {"A": parts["A"][:k, :n], "B": parts["B"][:k, :n]}


def _verbs(X, power, W, P, S, T, A, B, h, a0, e0):
    """Name, arguments and naive answer of each verb that takes a power."""
    Q = X**power
    a = P @ X.T + a0[:, None]
    e = 2 * (S * P) @ Q.T + e0[:, None]
    pull_m, pull_v = h.mm * a + h.mv * e, h.mv * a + h.vv * e
    diagonal = (
        h.mm @ X**2 + 4 * (h.mv @ (X * Q)) * S + 4 * (h.vv @ Q**2) * S**2,
        2 * h.v @ Q,
    )
    product = (
        pull_m @ X + 2 * S * (pull_v @ Q),
        pull_m.sum(axis=1),
        pull_v.sum(axis=1),
    )
    return {
        "moments": ((W, S), (W @ X.T, (S * W) @ Q.T)),
        "directions": (
            (P, S, T),
            (P @ X.T, 2 * (S * P) @ Q.T, (T * P) @ Q.T),
        ),
        "pullback": ((A, B, S), (A @ X + 2 * S * (B @ Q),)),
        "curvature_diagonal": ((h, S), diagonal),
        "curvature_product": ((P, S, h, a0, e0), product),
    }


def _check_verbs(design, X, power, parts):
    for name, (arguments, expected) in _verbs(X, power, **parts).items():
        got = getattr(design, name)(*arguments, power)
        got = got if isinstance(got, tuple) else (got,)
        for one, other in zip(got, expected, strict=True):
            one = host(one)
            assert one.dtype == np.float64
            np.testing.assert_allclose(one, other, rtol=1e-12, atol=1e-12, err_msg=name)


def _check_rest(design, X, parts):
    weights, rows = np.abs(parts["A"][0]), np.array([5, 0, 30])
    count, gram = design.total(
        lambda block: [
            np.array([block.x.shape[0]]),
            host(block.x.T @ (weights[block.rows, None] * block.x)),
        ]
    )
    assert count == [len(X)]
    np.testing.assert_allclose(gram, X.T @ np.diag(weights) @ X, rtol=1e-12, atol=1e-12)
    assert design.extremes() == (min(0.0, X.min()), max(0.0, X.max()))
    assert design.shape == X.shape
    for with_one in (False, True):
        expected = np.column_stack([X, np.ones(N)]) if with_one else X
        block = design.scaled_rows(rows, np.array([2.0, 3.0, 0.5]), with_one)
        block = block.toarray() if sp.issparse(block) else host(block)
        np.testing.assert_allclose(
            block, expected[rows] * np.array([[2.0], [3.0], [0.5]]), rtol=1e-15
        )


def _check_blocks(design, X, parts):
    """Entry blocks cover all rows once; sums over them are sums over X."""
    w, c = parts["W"][0], parts["A"][0]
    naive = X * w * c[:, None]
    w, c, column_sums = (design.hold(part) for part in (w, c, np.zeros(D)))
    row_sums, seen = np.zeros(N), []
    for block in design.entry_blocks():
        entries = block.x * block.spread(w) * block.repeat(c[block.rows])
        row_sums[block.rows] = host(block.row_sums(entries))
        block.column_sums(entries, column_sums)
        seen += range(N)[block.rows]
    assert seen == list(range(N))
    column_sums = host(column_sums)
    np.testing.assert_allclose(row_sums, naive.sum(axis=1), atol=1e-12)
    np.testing.assert_allclose(column_sums, naive.sum(axis=0), atol=1e-12)


@every_power
@every_storage
def test_verbs(design, store, power, X, parts):
    _check_verbs(DESIGNS[design](store(X)), X, power, parts)


@every_storage
def test_total_rows_minimum_and_entries(design, store, X, parts):
    _check_rest(DESIGNS[design](store(X)), X, parts)
    _check_blocks(DESIGNS[design](store(X)), X, parts)


@every_power
@every_storage
def test_small_blocks_give_the_same(design, store, power, X, parts, monkeypatch):
    monkeypatch.setattr(dense_module, "_BLOCK_ENTRIES", 17 * D)
    monkeypatch.setattr(csr_module, "_BLOCK_ENTRIES", 11)
    monkeypatch.setattr(base_module, "_BLOCK_ENTRIES", 17 * D)
    monkeypatch.setattr(device_module, "_BLOCK_ENTRIES", 17 * D)
    design = DESIGNS[design](store(X))
    # sparse rows on a device are few enough for their memory, or would not be there
    whole = design.where == "device" and store is STORAGES["device"]["torch-csr"]
    assert len(list(design.entry_blocks())) > 2 or whole
    _check_verbs(design, X, power, parts)
    _check_rest(design, X, parts)
    _check_blocks(design, X, parts)


@every_power
@every_storage
def test_missing_counts_as_zero(design, store, power, X, parts):
    holes = X.copy()
    holes[3, 1] = holes[20, 4] = np.nan
    design = DESIGNS[design](store(holes), has_missing=True)
    zeroed = np.nan_to_num(holes)
    _check_verbs(design, zeroed, power, parts)
    _check_rest(design, zeroed, parts)
    _check_blocks(design, zeroed, parts)


@every_power
@pytest.mark.parametrize("name", DESIGNS)
def test_all_zero_matrix(name, power, parts):
    X = np.zeros((N, D))
    store = next(iter(STORAGES[name].values()))
    _check_verbs(DESIGNS[name](store(X)), X, power, parts)
    _check_blocks(DESIGNS[name](store(X)), X, parts)


@pytest.fixture
def many_threads(monkeypatch):
    """Let however little work be shared; tells the sizes of the shares."""
    shares = []
    share = threads_module.Workers.map

    def spy(self, work, parts, **options):
        shares.append(len(parts))
        return share(self, work, parts, **options)

    def use(threads):
        monkeypatch.setattr(csr_module, "ENTRIES_PER_THREAD", 1)
        monkeypatch.setattr(dense_module, "_PRODUCTS_PER_THREAD", 1)
        monkeypatch.setattr(threads_module, "available_threads", lambda: threads)
        monkeypatch.setattr(threads_module.Workers, "map", spy)
        return shares

    return use


@every_power
@pytest.mark.parametrize("k", range(1, K + 1))
@pytest.mark.parametrize("name", DESIGNS)
def test_any_number_of_classes(name, k, power, X, many_parts):
    design = DESIGNS[name](next(iter(STORAGES[name].values()))(X))
    _check_verbs(design, X, power, _first(many_parts, k))


@every_power
@pytest.mark.parametrize("threads", [2, 7])
@pytest.mark.parametrize("k", [1, 2, 9])
@pytest.mark.parametrize("name", IN_MEMORY)
def test_threads_give_the_same(name, k, threads, power, X, many_parts, many_threads):
    shares = many_threads(threads)
    design = DESIGNS[name](next(iter(STORAGES[name].values()))(X))
    _check_verbs(design, X, power, _first(many_parts, k))
    assert set(shares) == {threads}


@every_power
def test_threads_that_share_classes(power, X, many_parts, many_threads, monkeypatch):
    shares = many_threads(2)
    monkeypatch.setattr(csr_module, "_CLASSES_PER_THREAD", 1)
    design = DESIGNS["csr"](sp.csr_array(X))
    _check_verbs(design, X, power, many_parts)
    assert set(shares) == {2}


@pytest.mark.parametrize("name", IN_MEMORY)
def test_more_threads_than_rows(name, X, parts, many_threads):
    many_threads(7)
    few = X[4:7]
    design = DESIGNS[name](next(iter(STORAGES[name].values()))(few))
    _check_verbs(design, few, 2, _first(parts, 1, n=3))


@pytest.mark.parametrize("name", IN_MEMORY)
def test_threads_repeat_their_answer(name, X, parts, many_threads):
    """Sums over shares are taken in order, not as threads happen to finish."""
    many_threads(4)
    design = DESIGNS[name](next(iter(STORAGES[name].values()))(X))
    arguments = (parts["A"][:1], parts["B"][:1], parts["S"][:1], 2)
    first = design.pullback(*arguments)
    for _ in range(20):
        np.testing.assert_array_equal(design.pullback(*arguments), first)


def test_openmp_limit_is_obeyed(monkeypatch):
    monkeypatch.setenv("OMP_NUM_THREADS", "1")
    assert threads_module.available_threads() == 1


def test_storage_decides_the_design(X):
    assert type(as_design(X)) is DESIGNS["dense"]
    assert type(as_design(sp.csr_matrix(X))) is DESIGNS["csr"]
    assert type(as_design(on_torch(X))) is DESIGNS["device"]


@pytest.mark.parametrize("store", STORAGES["device"].values())
def test_some_rows_of_a_device(store, X, parts):
    rows = np.array([0, 3, 4, 20, 44])
    taken = DESIGNS["device"](store(X)).take(rows)
    assert taken.shape == (5, D)
    _check_verbs(taken, X[rows], 2, _first(parts, 2, n=5))


def test_float32_on_a_device(X, parts):
    """Values and gradients are float64; products of the curvature need not be."""
    design = DESIGNS["device"](on_torch(X.astype(np.float32)))
    for name, (arguments, expected) in _verbs(X, 2, **parts).items():
        got = getattr(design, name)(*arguments, 2)
        rtol = 1e-5 if name.startswith("curvature") else 1e-12
        for one, other in zip(
            got if isinstance(got, tuple) else (got,), expected, strict=True
        ):
            atol = rtol * np.abs(other).max()
            np.testing.assert_allclose(host(one), other, rtol=rtol, atol=atol)
