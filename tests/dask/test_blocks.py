"""A fit of Dask blocks is the fit of their rows, on any scheduler."""

import sys
import tracemalloc

import numpy as np
import pytest
import scipy.sparse as sp

dask = pytest.importorskip("dask")
da = pytest.importorskip("dask.array")

from in_blocks import blocks, even  # noqa: E402
from problems import dataset, marginal_models  # noqa: E402
from sklearn.base import clone  # noqa: E402

from noiseproof import (  # noqa: E402
    DropoutLogisticRegression,
    DropoutPoissonRegressor,
    DropoutRidge,
    DropoutSVC,
)
from noiseproof.noise import Dropout, Gaussian  # noqa: E402

STORAGES = {"dense": np.asarray, "csr": sp.csr_array}
UNEVEN = [30, 0, 57, 1, 62]  # an empty block, and one of a single row
N = sum(UNEVEN)


@pytest.fixture(autouse=True)
def one_thread():
    with dask.config.set(scheduler="synchronous"):
        yield


@pytest.fixture
def data(rng):
    X = rng.normal(size=(N, 4))
    words = np.array(["no", "perhaps", "yes"])
    scores = X @ rng.normal(size=(4, 3)) + rng.normal(size=(N, 3))
    return X, words[scores.argmax(axis=1)]


def _check_same(model, X, y, sizes):
    """Fits of X and of its blocks agree; the second is returned."""
    model = clone(model).set_params(tol=1e-12)
    there = clone(model).fit(blocks(X, sizes), blocks(y, sizes))
    here = clone(model).fit(X, y)
    np.testing.assert_allclose(there.objective_, here.objective_, rtol=1e-8)
    np.testing.assert_allclose(there.coef_, here.coef_, rtol=1e-4, atol=1e-7)
    return there


@pytest.mark.parametrize(
    ("storage", "classes", "parts"), [("dense", 2, 2), ("csr", 3, 7)]
)
@pytest.mark.parametrize("model", marginal_models(noise=0.3))
def test_every_loss_has_the_optimum_of_all_rows(model, storage, classes, parts, rng):
    X, y = dataset(model, rng, n=150, classes=classes)
    _check_same(model, STORAGES[storage](X), y, even(150, parts))


@pytest.mark.slow
@pytest.mark.parametrize("parts", [1, 2, 7, 100])
@pytest.mark.parametrize("classes", [2, 10])
@pytest.mark.parametrize("storage", STORAGES)
@pytest.mark.parametrize("model", marginal_models(noise=0.3))
def test_every_loss_storage_and_partition(model, storage, classes, parts, rng):
    X, y = dataset(model, rng, n=250, classes=classes)
    _check_same(model, STORAGES[storage](X), y, even(250, parts))


@pytest.mark.parametrize(("parts", "classes"), [(1, 10), (7, 10), (100, 2)])
def test_one_block_and_a_hundred_and_ten_classes(parts, classes, rng):
    model = DropoutLogisticRegression(0.3)
    X, y = dataset(model, rng, n=200, classes=classes)
    _check_same(model, X, y, even(200, parts))


@pytest.mark.parametrize("solver", ["newton", "lbfgs", "irls"])
@pytest.mark.parametrize("d", [4, 120])
def test_every_solver_with_few_features_and_with_many(solver, d, rng):
    X, y = dataset(DropoutSVC(), rng, n=N, d=d)
    _check_same(DropoutSVC(0.2, solver=solver), X, y, UNEVEN)


@pytest.mark.parametrize("noise", [None, Gaussian(0.3), Dropout(0.3, ["a", "a", 1, 2])])
def test_no_noise_additive_noise_and_groups(noise, data):
    X, y = data
    _check_same(DropoutSVC(noise, C=0.1), X, y == "yes", UNEVEN)
    _check_same(DropoutLogisticRegression(noise, expectation="jensen"), X, y, UNEVEN)


def test_labels_of_any_dtype(data):
    X, words = data
    codes = np.unique(words, return_inverse=True)[1]
    for y in (words, words.astype(object), codes, codes.astype(np.float32), codes > 0):
        fitted = _check_same(DropoutLogisticRegression(0.3), X, y, UNEVEN)
        assert fitted.classes_.tolist() == np.unique(y).tolist()


@pytest.mark.parametrize("class_weight", [None, "balanced", {"yes": 3.0}])
def test_weights_of_rows_and_of_classes(class_weight, data, rng):
    X, y = data
    s = rng.uniform(0, 2, size=N)
    model = DropoutLogisticRegression(0.3, class_weight=class_weight)
    here = clone(model).fit(X, y, s)
    for weights in (s, blocks(s, UNEVEN)):
        there = clone(model).fit(blocks(X, UNEVEN), blocks(y, UNEVEN), weights)
        np.testing.assert_allclose(there.coef_, here.coef_, rtol=1e-6)


@pytest.mark.parametrize("dtype", [np.float32, np.int64])
def test_dtypes(dtype, data):
    X, y = (4 * data[0]).astype(dtype), data[1]
    fitted = _check_same(DropoutLogisticRegression(0.3), X, y, UNEVEN)
    assert fitted.coef_.dtype == (np.float32 if dtype is np.float32 else np.float64)


@pytest.mark.parametrize("storage", STORAGES)
def test_missing_cells(storage, data, rng):
    (X, y), sizes = data, even(N, 4)
    X[rng.random(X.shape) < 0.2] = np.nan
    X[:, 2] = 1.0
    X = STORAGES[storage](X)
    fitted = _check_same(DropoutLogisticRegression(0.3), X, y, sizes)
    assert fitted.missing_in_training_.tolist() == [True, True, False, True]
    with pytest.raises(ValueError, match="missing='error' forbids"):
        DropoutSVC(missing="error").fit(blocks(X, sizes), blocks(y, sizes))


@pytest.mark.parametrize(
    "model", [DropoutLogisticRegression(0.3), DropoutPoissonRegressor(0.3)]
)
def test_unlabelled_rows(model, rng):
    X, y = dataset(model, rng, n=N)
    Z = rng.gamma(1.0, size=(90, X.shape[1]))
    here = clone(model).fit(X, y, X_unlabeled=Z)
    for other in (blocks(Z, [40, 50]), [Z[:10], blocks(Z[10:], [40, 40])]):
        there = clone(model).fit(blocks(X, UNEVEN), blocks(y, UNEVEN), None, other)
        np.testing.assert_allclose(there.objective_, here.objective_, rtol=1e-8)
    mixed = clone(model).fit(X, y, X_unlabeled=blocks(Z, [40, 50]))
    np.testing.assert_allclose(mixed.objective_, here.objective_, rtol=1e-8)


def test_data_frames(data):
    pd, dd = pytest.importorskip("pandas"), pytest.importorskip("dask.dataframe")
    frame, y = pd.DataFrame(data[0], columns=list("abcd")), pd.Series(data[1])
    X, target = (dd.from_pandas(part, npartitions=3) for part in (frame, y))
    here = DropoutLogisticRegression(0.3).fit(frame, y)
    for targets in (target, target.to_frame(), y, y.tolist()):
        there = DropoutLogisticRegression(0.3).fit(X, targets)
        np.testing.assert_allclose(there.coef_, here.coef_, rtol=1e-6)
    assert there.feature_names_in_.tolist() == list("abcd")
    assert np.array_equal(there.predict(X).compute(), here.predict(frame))
    probabilities = there.predict_proba(X)
    assert probabilities.shape[1] == 3
    np.testing.assert_allclose(probabilities.compute(), here.predict_proba(frame))
    # chunks of unknown size, as frames give them
    arrays = X.to_dask_array(), dd.from_pandas(y == "no", npartitions=3).to_dask_array()
    there = DropoutSVC(0.3, tol=1e-10).fit(*arrays)
    here = DropoutSVC(0.3, tol=1e-10).fit(data[0], y == "no")
    np.testing.assert_allclose(there.objective_, here.objective_, rtol=1e-8)
    with pytest.raises(ValueError, match="Column 'word' of X holds no numbers"):
        DropoutSVC().fit(X.assign(word="x"), target)


@pytest.mark.parametrize("storage", STORAGES)
def test_predictions_are_lazy(storage, data):
    X, y = STORAGES[storage](data[0]), data[1]
    model = DropoutLogisticRegression(0.3).fit(X, y)
    lazy = blocks(X, UNEVEN)
    for method in (
        "predict",
        "predict_proba",
        "decision_function",
        "predict_log_proba",
    ):
        answer, expected = getattr(model, method)(lazy), getattr(model, method)(X)
        assert isinstance(answer, da.Array)
        assert answer.shape == expected.shape
        assert answer.chunks[0] == lazy.chunks[0]
        assert answer.dtype == expected.dtype
        got = answer.compute()
        assert np.array_equal(got, expected) or np.allclose(got, expected)
    regressor = DropoutRidge().fit(lazy, data[0][:, 0])
    assert isinstance(regressor.predict(lazy), da.Array)


def test_every_run_and_every_scheduler_gives_the_same_bits(data):
    X, y = data
    model = DropoutSVC(0.3)
    first = clone(model).fit(blocks(X, UNEVEN), blocks(y, UNEVEN))
    for scheduler in ("synchronous", "threads"):
        with dask.config.set(scheduler=scheduler):
            again = clone(model).fit(blocks(X, UNEVEN), blocks(y, UNEVEN))
        assert np.array_equal(again.coef_, first.coef_)
        assert np.array_equal(again.objective_, first.objective_)


def test_a_block_can_lie_anywhere_in_memory(rng):
    """What comes over the network is not aligned, which NumPy treats otherwise."""
    from noiseproof._rows.blocks import Block
    from noiseproof._rows.reading import READ

    X = rng.normal(size=(50, 7))
    store = np.empty(X.nbytes + 64, dtype=np.uint8)
    shifted = store[1 : 1 + X.nbytes].view(np.float64).reshape(X.shape)
    shifted[:] = X
    wide = rng.normal(size=(50, 9))
    wide[:, 1:8] = X
    expected = Block(X, READ).design.moments(X[:1], X[1:2], 2)
    for other in (shifted, wide[:, 1:8]):
        block = Block(other, READ)
        assert block.X.flags.aligned
        assert block.X.flags.c_contiguous
        assert np.array_equal(block.design.moments(X[:1], X[1:2], 2), expected)


@pytest.mark.parametrize("storage", STORAGES)
@pytest.mark.parametrize(("dtype", "copies"), [(np.float64, 0), (np.int64, 1)])
def test_rows_are_copied_only_to_change_their_type(storage, dtype, copies, rng):
    from noiseproof._rows.blocks import Block
    from noiseproof._rows.reading import READ

    X = STORAGES[storage](rng.integers(1, 9, size=(50_000, 40)).astype(dtype))
    Block(X[:10], READ).design.moments(np.ones((1, 40)), np.ones((1, 40)), 2)
    tracemalloc.start()
    block = Block(X, READ)
    block.design.moments(np.ones((1, 40)), np.ones((1, 40)), 2)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    size = sys.getsizeof(block)
    assert size > 50_000 * 40 * 8
    assert peak < (copies + 0.5) * size


def test_a_block_that_lost_its_memory_answers_the_same(data, monkeypatch):
    """As after a spill to disk, or on another worker."""
    from noiseproof._rows import blocks as module

    X, y = data
    sizes = even(N, 3)
    first = DropoutSVC(0.3).fit(blocks(X, sizes), blocks(y, sizes))
    monkeypatch.setattr(module.Block, "memory", lambda self, owner: module.Memory())
    again = DropoutSVC(0.3).fit(blocks(X, sizes), blocks(y, sizes))
    assert np.array_equal(first.coef_, again.coef_)


def test_large_parameters_travel_by_themselves(data, monkeypatch):
    from noiseproof._rows import blocks as module

    X, y = data
    first = DropoutSVC(0.3).fit(blocks(X, UNEVEN), blocks(y, UNEVEN))
    monkeypatch.setattr(module, "_INLINE", 0)
    again = DropoutSVC(0.3).fit(blocks(X, UNEVEN), blocks(y, UNEVEN))
    assert np.array_equal(first.coef_, again.coef_)


def test_warm_start(data):
    X, y = blocks(data[0], UNEVEN), blocks(data[1], UNEVEN)
    model = DropoutLogisticRegression(0.3, warm_start=True).fit(X, y)
    assert model.fit(X, y).n_iter_ == 1


def test_verbose_reports_every_step(data, capsys):
    X, y = blocks(data[0], UNEVEN), blocks(data[1], UNEVEN)
    model = DropoutLogisticRegression(0.3, verbose=1).fit(X, y)
    assert capsys.readouterr().out.count("step") == model.n_iter_


def test_a_failing_cluster_leaves_the_last_step(data, monkeypatch):
    from noiseproof._rows import ClusterError
    from noiseproof._rows import blocks as module

    X, y = blocks(data[0], UNEVEN), blocks(data[1] == "no", UNEVEN)
    calls, results = [], module._results

    def fail_later(*graph):
        calls.append(graph)
        if len(calls) > 14:
            raise ClusterError("gone")
        return results(*graph)

    monkeypatch.setattr(module, "_results", fail_later)
    model = DropoutLogisticRegression(0.3, warm_start=True, tol=1e-12, solver="lbfgs")
    with pytest.raises(ClusterError):
        model.fit(X, y)
    monkeypatch.undo()
    assert model.coef_.any()
    cold = clone(model).fit(X, y)
    assert model.fit(X, y).n_iter_ < cold.n_iter_


def _bad(case, X, y):
    """Arguments of fit that are wrong, and what is said of them."""
    lazy, labels = blocks(X, UNEVEN), blocks(y, UNEVEN)
    more = blocks(np.append(y, y[:1]), [31, 0, 57, 1, 62])
    one = labels.map_blocks(lambda part: part == "nobody", dtype=bool)
    return {
        "columns": ((lazy.rechunk((50, 2)), labels), "2 chunks of columns.*rechunk"),
        "flat": ((lazy[:, 0], labels), "two dimensions"),
        "chunks": ((lazy, blocks(y, [100, 50])), "y has 2 blocks, but X has 5"),
        "rows": ((lazy, more), "X has 30 rows, but that of y 31"),
        "length": ((lazy, y[:7]), "X has 150 rows, but y has 7"),
        "class": ((lazy, one), "only 1 class"),
        "quantity": ((lazy, lazy[:, 0]), "Unknown label type"),
        "infinite": ((lazy * np.inf, labels), "infinity"),
        "weights": ((lazy, labels, -np.ones(N)), "Negative values"),
        "empty": ((lazy[:0], labels[:0]), "0 sample"),
    }[case]


CASES = [
    *("columns", "flat", "chunks", "rows", "length", "class", "quantity"),
    *("infinite", "weights", "empty"),
]


@pytest.mark.filterwarnings("ignore:invalid value encountered in reduce")
@pytest.mark.parametrize("case", CASES)
def test_bad_input_is_named_in_one_sentence(case, data):
    arguments, sentence = _bad(case, *data)
    with pytest.raises(ValueError, match=sentence) as error:
        DropoutLogisticRegression().fit(*arguments)
    told = str(error.value)
    assert "\n" not in told
    assert ". " not in told or told.startswith("Unknown label type")  # scikit-learn's


def test_other_features_than_in_training(data):
    X, y = data
    model = DropoutSVC().fit(X, y)
    with pytest.raises(ValueError, match="3 features, but DropoutSVC is expecting 4"):
        model.predict(blocks(X[:, :3], UNEVEN))
