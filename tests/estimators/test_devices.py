"""Fits on arrays of torch: the same answers, where the data is, and clear refusals."""

import os
import subprocess
import sys
import warnings

import numpy as np
import pytest
import scipy.sparse as sp
from devices import on_torch, tensors
from problems import dataset, kind, marginal_models
from sklearn.exceptions import ConvergenceWarning
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer
from sklearn.utils import estimator_checks

import noiseproof
from noiseproof import (
    DropoutLogisticRegression,
    DropoutPoissonRegressor,
    DropoutRidge,
    DropoutSVC,
    RobustPerceptron,
)
from noiseproof._rows import arrays, host
from noiseproof._rows.device import DeviceDesign
from noiseproof.noise import Dropout, Gaussian

torch = pytest.importorskip("torch", reason="torch is not installed")
pytest.importorskip("array_api_compat", reason="array-api-compat is not installed")

every_model = pytest.mark.parametrize("model", marginal_models(tol=1e-9))


@pytest.fixture(autouse=True, scope="module")
def _one_thread():
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(before)


@pytest.fixture
def data(rng):
    return dataset(DropoutSVC(), rng, n=60, d=5, classes=3)


@pytest.mark.parametrize("classes", [2, 10])
@every_model
def test_objectives_are_those_of_numpy(model, classes, rng):
    """Dense for two classes and CSR for ten; the storages have their own contract."""
    if classes == 10 and kind(model) == "regressor":
        pytest.skip("a regression has one target")
    X, y = dataset(model, rng, n=40 + 8 * classes, d=4, classes=classes)
    X = sp.csr_array(X) if classes == 10 else X
    best = np.asarray(model.fit(X, y).objective_)
    there, labels = tensors(X, y)
    found = model.fit(there, labels)
    np.testing.assert_allclose(host(found.objective_), best, rtol=1e-8)


@every_model
def test_what_is_fitted_and_predicted_lives_with_the_data(model, rng):
    X, y = dataset(model, rng, n=30, d=4, classes=3)
    model.fit(X, y)
    expected = {
        name: getattr(model, name)(X)
        for name in ("predict", "decision_function", "predict_proba")
        if hasattr(model, name)
    }
    there, labels = tensors(X, y)
    model.fit(there, labels)
    assert torch.is_tensor(model.coef_)
    assert model.coef_.dtype == torch.float64
    for name, other in expected.items():
        found = getattr(model, name)(there)
        assert torch.is_tensor(found)
        np.testing.assert_allclose(found.numpy(), other, atol=1e-3)
    if kind(model) == "classifier":
        assert torch.is_tensor(model.intercept_)
        np.testing.assert_array_equal(model.classes_.numpy(), np.unique(y))


def test_float32_stays_float32(data):
    X, y = data
    best = DropoutSVC(tol=1e-10).fit(X.astype(np.float32), y)
    there, labels = tensors(X.astype(np.float32), y)
    model = DropoutSVC(tol=1e-8).fit(there, labels)
    np.testing.assert_allclose(host(model.objective_), best.objective_, rtol=1e-7)
    assert model.coef_.dtype == model.intercept_.dtype == torch.float32
    assert model.decision_function(there).dtype == torch.float32
    for rows in (X, sp.csr_array(X)):  # as NumPy does: the more precise of the two
        assert model.decision_function(on_torch(rows)).dtype == torch.float64


@pytest.mark.parametrize("store", [np.asarray, sp.csr_array], ids=["dense", "csr"])
def test_weights_missing_cells_and_names(data, store):
    X, y = data
    X[3, 1] = X[20, 4] = np.nan
    names, weights = np.array(["low", "mid", "top"])[y], np.linspace(0.1, 2, len(y))
    model = DropoutLogisticRegression(class_weight="balanced", tol=1e-10)
    model.fit(store(X), names, weights)
    scores, labels = model.decision_function(store(X)), model.predict(store(X))
    there, rows = on_torch(store(X)), on_torch(weights)
    model.fit(there, names, rows)
    np.testing.assert_allclose(model.decision_function(there), scores, atol=1e-4)
    # a device knows no names: those stay NumPy's, as scikit-learn has it
    np.testing.assert_array_equal(model.predict(there), labels)
    np.testing.assert_array_equal(model.classes_, ["low", "mid", "top"])
    assert model.missing_in_training_.tolist() == [False, True, False, False, True]
    with pytest.raises(ValueError, match="missing entries"):
        model.set_params(missing="error").predict(there)


@pytest.mark.parametrize("on_device", [False, True])
def test_unlabeled_rows_must_be_where_the_labeled_ones_are(on_device, data):
    X, y = data
    there, targets = tensors(X, y)
    rows = (there, targets, X) if on_device else (X, y, there)
    with pytest.raises(ValueError, match="must be on the same device"):
        DropoutLogisticRegression().fit(*rows[:2], X_unlabeled=rows[2])


def test_unlabeled_rows_and_warm_start(data):
    X, y = data
    model = DropoutRidge(tol=1e-12, warm_start=True)
    best = model.fit(X, y, X_unlabeled=X[:20]).objective_
    there, targets, more = tensors(X, y.astype(float), X[:20])
    model.fit(there, targets, X_unlabeled=more)
    assert model.objective_ == pytest.approx(best, rel=1e-10)
    steps = model.n_iter_
    assert model.fit(there, targets, X_unlabeled=more).n_iter_ <= steps


def test_integers_and_columns_of_labels(data):
    X, y = data
    whole = np.round(8 * X).astype(np.int64)
    model = DropoutSVC().fit(whole, y)
    there = on_torch(whole)
    same = DropoutSVC().fit(there, on_torch(y))
    np.testing.assert_array_equal(same.predict(there).numpy(), model.predict(whole))


def test_few_numbers_leave_the_device(data, monkeypatch):
    """One for each class, where solvers decide; θ when a fit starts and ends."""
    X, y = tensors(np.tile(data[0], (1, 40)), data[1])
    left, products = [], []
    count, host_of = DeviceDesign.curvature_product, arrays.host

    def spy(x):
        left.append(x.size) if isinstance(x, arrays.DeviceArray) else None
        return host_of(x)

    def counted(self, *parts):
        products.append(1)
        return count(self, *parts)

    for module in ("moment", "objective", "conjugate_gradient", "solving"):
        monkeypatch.setattr(f"noiseproof._marginal.{module}.host", spy)
    monkeypatch.setattr(DeviceDesign, "curvature_product", counted)
    model = DropoutLogisticRegression().fit(X, y)
    assert sum(size > 3 for size in left) <= 2
    assert len(products) > model.n_iter_
    assert len(left) <= 2 * len(products) + 10 * model.n_iter_


def _fitted(rng):
    X, y = dataset(DropoutSVC(), rng, n=30, d=4)
    return X, DropoutSVC().fit(*tensors(X, y))


def test_rows_elsewhere_are_refused(rng):
    X, model = _fitted(rng)
    with pytest.raises(ValueError, match=r"same namespace.*NumPy's.*torch's, on cpu"):
        model.predict(X)
    with pytest.raises(ValueError, match=r"it is torch's, on meta"):
        model.predict(on_torch(X).to("meta"))
    with pytest.raises(ValueError, match=r"it is torch's, on cpu.*are NumPy's"):
        DropoutSVC().fit(X, X[:, 0] > 0.5).predict(on_torch(X))


def test_new_rows_are_checked_too(rng):
    X, model = _fitted(rng)
    with pytest.raises(ValueError, match="stored as COO"):
        model.predict(_quietly(on_torch(X).to_sparse))
    with pytest.raises(ValueError, match="is expecting 4 features"):
        model.predict(on_torch(X[:, :3]))


def _csr(indptr, indices, values, shape):
    parts = [torch.tensor(part) for part in (indptr, indices, values)]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)
        return torch.sparse_csr_tensor(*parts, shape, check_invariants=False)


BAD_X = {
    "requires gradients": lambda X: X.requires_grad_(),
    "Expected 2D array, got 1D": lambda X: X[0],
    "stored as CSC": lambda X: _quietly(X.to_sparse_csc),
    "stored as COO": lambda X: _quietly(X.to_sparse),
    "must hold real numbers": lambda X: X.to(torch.complex128),
    "contains infinity": lambda X: X / 0 * torch.inf,
    "inconsistent numbers of samples": lambda X: X[:-1],
    r"0 feature\(s\)": lambda X: X[:, :0],
    "column index outside 0 to 1": lambda X: _csr(
        list(range(31)), [0] * 29 + [2], [1.0] * 30, (30, 2)
    ),
    "stores an entry twice": lambda X: _csr(
        [0, 2, *range(3, 32)], [0, 0] + [1] * 29, [1.0] * 31, (30, 2)
    ),
    "do not fit": lambda X: _csr(
        [0, 5, *range(2, 31)], [0] * 30, [1.0] * 30, (30, 2)
    ),
}  # fmt: skip


def _quietly(convert):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)
        return convert()


@pytest.mark.parametrize("words", BAD_X)
def test_bad_rows_are_one_sentence(words, rng):
    X, y = dataset(DropoutSVC(), rng, n=30, d=4)
    X = BAD_X[words](torch.tensor(X + 1))
    with pytest.raises(ValueError, match=words):
        DropoutSVC().fit(X, y)


@pytest.mark.parametrize("solver", ["lbfgs", "irls"])
def test_other_solvers_are_refused(solver, data):
    sentence = f"solver='{solver}' works for NumPy arrays only"
    with pytest.raises(ValueError, match=sentence):
        DropoutSVC(solver=solver).fit(*tensors(*data))


@pytest.mark.parametrize("expectation", ["variational", "jensen"])
def test_groups_are_refused(expectation, data):
    noise = Dropout(0.3, groups=[0, 0, 1, 1, 2])
    model = DropoutLogisticRegression(noise, expectation=expectation)
    sentence = "Noise with groups works for NumPy arrays only"
    with pytest.raises(ValueError, match=sentence):
        model.fit(*tensors(*data))


def test_additive_noise(data):
    best = DropoutSVC(Gaussian(0.3), tol=1e-10).fit(*data).objective_
    found = DropoutSVC(Gaussian(0.3), tol=1e-10).fit(*tensors(*data)).objective_
    np.testing.assert_allclose(found, best, rtol=1e-8)


def test_negative_counts_and_one_class(data):
    X, y = tensors(*data)
    with pytest.raises(ValueError, match="non-negative targets"):
        DropoutPoissonRegressor().fit(X, -y.double())
    with pytest.raises(ValueError, match="at least 2 classes"):
        DropoutSVC().fit(X, torch.zeros_like(y))


def test_others_read_tensors_of_the_cpu_as_ever(data):
    X, y = data[0], data[1] > 0
    there = RobustPerceptron(random_state=0).fit(*tensors(X, y))
    same = RobustPerceptron(random_state=0).fit(X, y)
    np.testing.assert_array_equal(there.predict(on_torch(X)), same.predict(X))


def test_files_and_plain_models_are_numpys(rng, tmp_path):
    X, model = _fitted(rng)
    expected = model.decision_function(on_torch(X)).numpy()
    noiseproof.save(model, tmp_path / "model.npf")
    for found in (
        noiseproof.load(tmp_path / "model.npf"),
        noiseproof.as_sklearn(model),
    ):
        np.testing.assert_allclose(found.decision_function(X), expected, rtol=1e-12)
    assert torch.is_tensor(model.coef_)


def test_files_of_pipelines_and_searches(rng, tmp_path):
    X, y = rng.normal(size=(40, 3)), np.arange(40) % 2
    model = make_pipeline(FunctionTransformer(), DropoutLogisticRegression())
    model.fit(*tensors(X, y))
    noiseproof.save(model, tmp_path / "model.npf")
    found = noiseproof.load(tmp_path / "model.npf").decision_function(X)
    expected = model.decision_function(on_torch(X)).numpy()
    np.testing.assert_allclose(found, expected, rtol=1e-12)
    assert torch.is_tensor(model[-1].coef_)


def test_files_of_weights_that_compress_very_well(rng, tmp_path):
    """Such a file is not compressed, and written from NumPy's arrays, too."""
    X = rng.normal(size=(40, 3))
    model = DropoutRidge().fit(*tensors(X, X[:, 0]))
    model.n_features_in_, model.coef_ = 10**7, torch.zeros(10**7)
    del model.missing_in_training_
    noiseproof.save(model, tmp_path / "model.npf")
    assert type(noiseproof.load(tmp_path / "model.npf").coef_) is np.ndarray


def test_convergence_is_still_warned_of(data):
    with pytest.warns(ConvergenceWarning, match="before it reached the accuracy"):
        DropoutSVC(max_iter=1).fit(*tensors(*data))


@pytest.mark.skipif(
    not hasattr(estimator_checks, "check_array_api_mixed_inputs"),
    reason="older versions of scikit-learn check less",
)
@pytest.mark.parametrize("model", [DropoutSVC(), DropoutLogisticRegression()])
@pytest.mark.parametrize("dtype", ["float64", "float32"])
def test_scikit_learns_check(model, dtype, monkeypatch):
    """Its own check of estimators that take arrays of other libraries."""
    monkeypatch.setenv("SCIPY_ARRAY_API", "1")
    pytest.importorskip("sklearn.utils._array_api")
    estimator_checks.check_array_api_input(
        type(model).__name__, model, "torch", "cpu", dtype, check_sample_weight=True
    )


ARRAY_API = """
import torch
from noiseproof import DropoutLogisticRegression, DropoutPoissonRegressor, DropoutSVC

X = torch.rand(50, 4, dtype=torch.float64, generator=torch.manual_seed(0))
y = (X[:, 0] > 0.5).to(torch.int64)
for model in (
    DropoutSVC(expectation="gaussian"),
    DropoutLogisticRegression(expectation="gaussian"),
    DropoutPoissonRegressor(),
):
    print(f"{model.fit(X, y).objective_:.7g}", *model.predict(X)[:5].tolist())
"""


@pytest.mark.whole
def test_scipys_array_api_changes_nothing():
    """scikit-learn asks users of its array API support to set the variable."""
    command = [sys.executable, "-c", ARRAY_API]
    outputs = [
        subprocess.run(
            command,
            env=os.environ | {"SCIPY_ARRAY_API": switch},
            capture_output=True,
            text=True,
            check=True,
            timeout=300,
        ).stdout
        for switch in ("0", "1")
    ]
    assert outputs[0] == outputs[1]
    assert len(outputs[0].splitlines()) == 3
