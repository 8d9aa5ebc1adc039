"""What once went wrong silently in the average-case estimators, or crashed."""

import gc
import os
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
import scipy.sparse as sp
from threadpoolctl import ThreadpoolController, threadpool_limits

import noiseproof
from noiseproof import (
    CorruptedCopies,
    DropoutLogisticRegression,
    DropoutSGDClassifier,
    DropoutSVC,
)
from noiseproof._marginal.losses import make_loss
from noiseproof._rows import one_blas_thread
from noiseproof.noise import Dropout, Poisson

CLASSIFIERS = [
    cls
    for name, cls in vars(noiseproof.estimators).items()
    if name.startswith("Dropout") and hasattr(cls(), "class_weight")
]


def _twice(X):
    """The same matrix with every entry stored in two halves, out of order."""
    X = sp.csr_array(X)
    order = np.concatenate([np.r_[e:s:-1, e:s:-1] - 1 for s, e in _rows(X)])
    ends = 2 * X.indptr
    return sp.csr_array((X.data[order] / 2, X.indices[order], ends), shape=X.shape)


def _rows(X):
    return zip(X.indptr[:-1], X.indptr[1:], strict=True)


def _out_of_range():
    X = sp.csr_array(np.eye(4))
    X.indices[2] = 1_000_000
    return X


@pytest.fixture
def data(rng):
    X = rng.gamma(1.0, size=(50, 6)) * (rng.random((50, 6)) < 0.6)
    return X, (X @ rng.normal(size=6) > 0.3).astype(int)


def test_entries_stored_twice_are_summed(data):
    X, y = data
    S, T = sp.csr_array(X), _twice(X)
    np.testing.assert_allclose(T.toarray(), X)
    for noise in (Dropout(0.4), Poisson()):
        np.testing.assert_allclose(
            noise.sample(T, 1).toarray(), noise.sample(S, 1).toarray()
        )
    assert not T.has_canonical_format  # and the user's matrix is left alone
    coef = np.linspace(-1, 1, 6)
    for loss in ("linear", "logistic", "poisson"):
        once = noiseproof.penalty(
            loss, "taylor" if loss != "linear" else "exact", 0.5, S, coef
        )
        twice = noiseproof.penalty(
            loss, "taylor" if loss != "linear" else "exact", 0.5, T, coef
        )
        assert twice.value == pytest.approx(once.value)
        assert twice.monte_carlo(20, 0).mean == pytest.approx(
            once.monte_carlo(20, 0).mean
        )
    for model in (DropoutSVC(), DropoutLogisticRegression()):
        once, twice = (model.fit(Z, y, X_unlabeled=None).coef_.copy() for Z in (S, T))
        np.testing.assert_allclose(twice, once)
        np.testing.assert_allclose(
            model.decision_function(T), model.decision_function(S)
        )
    once, twice = (
        DropoutSGDClassifier().partial_fit(Z, y, classes=[0, 1]).coef_ for Z in (S, T)
    )
    np.testing.assert_allclose(twice, once)
    model = DropoutLogisticRegression()
    once, twice = (model.fit(S, y, X_unlabeled=Z).coef_.copy() for Z in (S, T))
    np.testing.assert_allclose(twice, once)


@pytest.mark.parametrize(
    "use",
    [
        lambda X, y: DropoutSVC().fit(X, y),
        lambda X, y: DropoutSGDClassifier().partial_fit(X, y, classes=[0, 1]),
        lambda X, y: DropoutLogisticRegression().fit(np.eye(4), y).predict(X),
        lambda X, y: DropoutLogisticRegression().fit(np.eye(4), y, X_unlabeled=X),
        lambda X, y: CorruptedCopies().fit(X, y),
        lambda X, y: noiseproof.penalty("logistic", "taylor", 0.5, X, np.ones(4)),
        lambda X, y: Dropout(0.5).sample(X, 0),
    ],
    ids=["fit", "partial_fit", "predict", "unlabeled", "copies", "penalty", "sample"],
)
def test_columns_out_of_range_are_refused(use):
    with pytest.raises(ValueError, match=r"column index|index"):
        use(_out_of_range(), np.array([0, 1, 0, 1]))


@pytest.mark.parametrize("cls", CLASSIFIERS)
@pytest.mark.parametrize("weight", [-1.0, np.nan, np.inf, "1"])
def test_class_weights_must_be_weights(cls, weight, data):
    model = cls(class_weight={0: 1.0, 1: weight})
    with pytest.raises(ValueError, match="class_weight must be finite and not neg"):
        model.fit(*data)
    if hasattr(model, "partial_fit"):
        with pytest.raises(ValueError, match="class_weight must be finite and not neg"):
            model.partial_fit(*data, classes=[0, 1])
    cls(class_weight={0: 1.0, 1: 0.0}).fit(*data)  # legal


def test_stored_zeros_do_not_change_the_copies(data):
    X, y = data
    S = sp.csr_array(X)
    Z = sp.csr_array(X + (X == 0))
    Z.data[(X == 0)[np.nonzero(Z.toarray())]] = 0.0
    assert Z.nnz > S.nnz
    fits = [CorruptedCopies(random_state=0).fit(M, y) for M in (S, Z)]
    np.testing.assert_array_equal(fits[0].estimator_.coef_, fits[1].estimator_.coef_)


@pytest.mark.parametrize("expectation", ["taylor", "gaussian"])
def test_confident_scores_keep_their_digits(expectation):
    """p (1 - p) = e^-s there, which 1 - p rounds to 0 from s = 37 on."""
    loss = make_loss("logistic", expectation)
    for score in (35.0, 60.0, 300.0):
        m, v = np.array([score, -score]), np.full(2, 1e-3)
        np.testing.assert_allclose(
            loss.slopes(np.ones(2), m, v).v, 0.5 * np.exp(-score), rtol=1e-3
        )
        h = loss.curvatures(np.ones(2), m, v)
        np.testing.assert_allclose(h.mm, np.exp(-score), rtol=1e-3)
        np.testing.assert_allclose(
            h.mv, [-0.5 * np.exp(-score), 0.5 * np.exp(-score)], rtol=1e-3
        )
    first, second = make_loss("logistic", "jensen").derivatives(np.array([60.0]))
    np.testing.assert_allclose(second, np.exp(-60.0), rtol=1e-12)
    np.testing.assert_allclose(first, 1.0)


def _blas():
    libraries = ThreadpoolController().info()
    return [lib["num_threads"] for lib in libraries if lib["user_api"] == "blas"]


def test_concurrent_fits_leave_blas_as_it_was(rng):
    X = rng.normal(size=(4000, 60))
    y = X[:, 0] > 0
    with threadpool_limits(2, user_api="blas"):
        before = _blas()
        with ThreadPoolExecutor(8) as pool:
            for _ in range(3):
                fits = [
                    pool.submit(DropoutLogisticRegression(C=c).fit, X, y)
                    for c in np.geomspace(1e-4, 1e-1, 8)
                ]
                [fit.result() for fit in fits]
        assert _blas() == before


def test_blas_limits_may_overlap_in_any_order():
    with threadpool_limits(2, user_api="blas"):
        before = _blas()
        one, other, lost = one_blas_thread(), one_blas_thread(), one_blas_thread()
        for context in (one, other, lost):
            context.__enter__()
        assert set(_blas()) == {1}
        one.__exit__()
        assert set(_blas()) == {1}
        other.__exit__()
        assert set(_blas()) == {1}
        del lost, context  # as an interrupt would leave it
        assert _blas() == before
        with pytest.raises(KeyboardInterrupt), one_blas_thread():
            raise KeyboardInterrupt
        assert _blas() == before


def test_blas_has_its_threads_back_after_fits_side_by_side(rng):
    """Contexts are opened and closed by different threads, and a user's still works."""
    X, y = rng.normal(size=(3000, 60)), rng.integers(0, 4, 3000)
    with threadpool_limits(2, user_api="blas"):
        pass  # in which the number of threads is known to be settable
    before = _blas()
    with ThreadPoolExecutor(8) as pool:
        list(pool.map(lambda C: DropoutSVC(C=C).fit(X, y), np.linspace(0.01, 0.1, 8)))
    assert _blas() == before
    with threadpool_limits(1, user_api="blas"):
        assert set(_blas()) == {1}
    assert _blas() == before


@pytest.mark.parametrize("scale", [1e71, 1e155, 1e300])
@pytest.mark.parametrize("container", [np.asarray, sp.csr_array])
def test_values_whose_powers_overflow_are_refused(scale, container, data):
    X = scale * data[0]
    for noise in (0.5, None):
        with pytest.raises(
            ValueError, match="whose powers overflow floating-point numbers"
        ):
            DropoutSVC(noise).fit(container(X), data[1])


@pytest.mark.parametrize("scale", [1e69, 1e-310])
def test_huge_and_tiny_values_have_a_finite_objective(scale, data):
    for noise in (0.5, None):
        model = DropoutSVC(noise).fit(scale * (data[0] / data[0].max()), data[1])
        assert np.all(np.isfinite(model.objective_))
        assert np.all(np.isfinite(model.coef_))


def test_the_collector_is_not_touched(data, monkeypatch):
    calls = []
    monkeypatch.setattr(gc, "disable", lambda: calls.append("disable"))
    monkeypatch.setattr(gc, "enable", lambda: calls.append("enable"))
    DropoutSVC().fit(sp.csr_array(data[0]), data[1])
    assert not calls


@pytest.mark.parametrize("container", [np.asarray, sp.csr_array])
def test_many_classes_are_solved_in_groups(rng, monkeypatch, container):
    from noiseproof._marginal import plan

    monkeypatch.setattr(plan, "available_threads", lambda: 2)
    X = rng.normal(size=(200, 10))
    y = (X @ rng.normal(size=(10, 7))).argmax(axis=1)
    X = container(X)
    together = DropoutSVC(tol=1e-10).fit(X, y)
    monkeypatch.setattr(plan, "SMALL", 3 * 200)
    monkeypatch.setattr(plan, "LANES", 1)
    groups = DropoutSVC(tol=1e-10).fit(X, y)
    np.testing.assert_allclose(groups.coef_, together.coef_, rtol=1e-4, atol=1e-6)
    np.testing.assert_allclose(groups.objective_, together.objective_, rtol=1e-9)
    again = groups.set_params(warm_start=True).fit(X, y)
    np.testing.assert_allclose(again.objective_, together.objective_, rtol=1e-9)


@pytest.mark.parametrize("estimator", ["DropoutSVC", "DropoutSGDClassifier"])
def test_compiled_loops_need_no_cache(estimator):
    """As in a read-only installation without a home, where there is no folder."""
    code = (
        "import numba.core.caching as caching\n"
        "caching.CacheImpl._locator_classes = []\n"
        "for name in ('CompileResultCacheImpl', 'CodeLibraryCacheImpl'):\n"
        "    getattr(caching, name)._locator_classes = []\n"
        "import numpy as np, scipy.sparse as sp, numba\n"
        "try: numba.njit(cache=True)(lambda x: x)\n"
        "except RuntimeError as error: print('cannot cache' in str(error))\n"
        f"from noiseproof import {estimator}\n"
        "X = sp.random(9, 900, 0.1, format='csr')\n"
        f"print({estimator}().fit(X, np.arange(9) % 2).coef_.shape)"
    )
    ran = subprocess.run(
        [sys.executable, "-c", code],
        env=os.environ | {"NUMBA_CACHE_DIR": os.devnull},
        capture_output=True,
        text=True,
        check=True,
    )
    assert ran.stdout.split("\n")[:2] == ["True", "(1, 900)"]
