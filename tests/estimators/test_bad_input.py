"""What is wrong is said in one clear sentence, before any work is done."""

import numpy as np
import pytest
import scipy.sparse as sp
from problems import dataset, marginal_models
from sklearn.base import clone
from sklearn.exceptions import NotFittedError

import noiseproof.estimators.marginal as base_module
from noiseproof import (
    DropoutExponentialClassifier,
    DropoutLogisticRegression,
    DropoutPoissonRegressor,
    DropoutSVC,
)
from noiseproof._marginal.losses import LOSSES
from noiseproof.noise import Dropout, Gaussian, Laplace, Poisson

D = 5
every_model = pytest.mark.parametrize("model", marginal_models())
every_classifier = pytest.mark.parametrize("model", marginal_models("classifier"))

BAD_PARAMETERS = {
    "rate-one": ({"noise": 1.0}, r"Dropout.rate must be in \[0, 1\); got 1.0"),
    "rate-two": ({"noise": 2}, r"Dropout.rate must be in \[0, 1\); got 2"),
    "rate-negative": ({"noise": -0.1}, "Dropout.rate must be finite and not negative"),
    "rate-nan": ({"noise": Dropout(np.nan)}, "Dropout.rate must be finite"),
    "scale-gaussian": ({"noise": Gaussian(-1.0)}, "Gaussian.scale must be finite and"),
    "scale-laplace": ({"noise": Laplace(-1.0)}, "Laplace.scale must be finite and not"),
    "scale-poisson": ({"noise": Poisson(-1.0)}, "Poisson.scale must be finite and not"),
    "rates-length": (
        {"noise": Dropout([0.1, 0.2])},
        r"Dropout.rate must be a number, or have one value for each feature; got shape "
        r"\(2,\) for 5 features",
    ),
    "noise-word": ({"noise": "dropout"}, "'noise' parameter of .* must be"),
    "C-zero": ({"C": 0.0}, "'C' parameter of .* must be a float in the range"),
    "C-negative": ({"C": -1}, "'C' parameter of .* must be a float in the range"),
    "tol-zero": ({"tol": 0.0}, "'tol' parameter of .* must be a float in the range"),
    "tol-negative": ({"tol": -1e-3}, "'tol' parameter of .* must be a float in"),
    "max_iter-zero": ({"max_iter": 0}, "'max_iter' parameter of .* must be an int in"),
    "missing": ({"missing": "drop"}, "'missing' parameter of .* must be a str among"),
    "solver": ({"solver": "sgd"}, "solver='sgd' is not known; use one of 'newton',"),
}


@pytest.fixture
def no_work(monkeypatch):
    """Whatever is wrong must be found before a solver runs."""

    def solve(*arguments):
        raise AssertionError("the solver ran")

    monkeypatch.setattr(base_module, "solve", solve)


@pytest.mark.parametrize(
    ("parameters", "message"), BAD_PARAMETERS.values(), ids=list(BAD_PARAMETERS)
)
@every_model
def test_bad_parameters(model, parameters, message, rng, no_work):
    X, y = dataset(model, rng)
    with pytest.raises(ValueError, match=message) as caught:
        clone(model).set_params(**parameters).fit(X, y)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize("container", [np.asarray, sp.csr_array])
@every_model
def test_poisson_noise_needs_non_negative_features(model, container, rng, no_work):
    X, y = dataset(model, rng)
    X[2, 1] = -3.0
    with pytest.raises(
        ValueError,
        match="needs non-negative features, but X has a minimum of -3; shift X or use",
    ):
        clone(model).set_params(noise=Poisson()).fit(container(X), y)


@pytest.mark.parametrize("value", [np.inf, -np.inf])
@pytest.mark.parametrize("container", [np.asarray, sp.csr_array])
@every_model
def test_infinite_features(model, container, value, rng, no_work):
    X, y = dataset(model, rng)
    good = X.copy()
    X[2, 1] = value
    with pytest.raises(ValueError, match="infinity"):
        clone(model).fit(container(X), y)
    model = _pretend_fitted(model, good, y)
    with pytest.raises(ValueError, match="infinity"):
        model.predict(container(X))


def _pretend_fitted(model, X, y):
    model = clone(model)
    model.coef_, model.intercept_ = np.zeros(X.shape[1]), 0.0
    model.n_features_in_, model.classes_ = X.shape[1], np.unique(y)
    return model


@pytest.mark.parametrize("value", [np.nan, np.inf])
@every_model
def test_infinite_or_missing_targets(model, value, rng, no_work):
    X, y = dataset(model, rng)
    y = y.astype(float)
    y[3] = value
    missing = "y is missing in 1 of 40 rows, first in row 3"
    words = missing if np.isnan(value) else "Input y contains|label type"
    with pytest.raises(ValueError, match=words):
        clone(model).fit(X, y)


def test_negative_counts(rng, no_work):
    model = DropoutPoissonRegressor()
    X, y = dataset(model, rng)
    y[4] = -2
    with pytest.raises(
        ValueError, match="needs non-negative targets, but y has a minimum of -2"
    ):
        model.fit(X, y)


@every_classifier
def test_one_class_only(model, rng, no_work):
    X, _ = dataset(model, rng)
    with pytest.raises(
        ValueError, match="needs at least 2 classes, but y has only 1 class: 7"
    ):
        clone(model).fit(X, np.full(len(X), 7))


@every_classifier
def test_continuous_labels(model, rng, no_work):
    X, _ = dataset(model, rng)
    with pytest.raises(ValueError, match=r"unknown|Unknown label type: continuous"):
        clone(model).fit(X, rng.normal(size=len(X)))


@every_model
def test_wrong_number_of_features(model, rng):
    X, y = dataset(model, rng)
    model = _pretend_fitted(model, X, y)
    with pytest.raises(ValueError, match=r"X has 3 features, but .* is expecting 5"):
        model.predict(X[:, :3])


@every_model
def test_wrong_number_of_rows(model, rng, no_work):
    X, y = dataset(model, rng)
    with pytest.raises(ValueError, match="inconsistent numbers of samples"):
        clone(model).fit(X, y[:-1])
    with pytest.raises(ValueError, match=r"sample_weight.shape == \(39,\), expected"):
        clone(model).fit(X, y, sample_weight=np.ones(39))


@every_model
def test_bad_weights(model, rng, no_work):
    X, y = dataset(model, rng)
    weights = np.ones(len(y))
    weights[3] = -1.0
    with pytest.raises(ValueError, match="Negative values in data passed to"):
        clone(model).fit(X, y, sample_weight=weights)
    weights[3] = np.nan
    with pytest.raises(ValueError, match="Input sample_weight contains NaN"):
        clone(model).fit(X, y, sample_weight=weights)


@every_classifier
def test_class_weight_of_an_unknown_class(model, rng, no_work):
    X, y = dataset(model, rng)
    with pytest.raises(
        ValueError, match=r"The classes, \[1\], are not in class_weight"
    ):
        clone(model).set_params(class_weight={0: 1.0, 9: 1.0}).fit(X, y)
    with pytest.raises(ValueError, match="'class_weight' parameter of"):
        clone(model).set_params(class_weight="fair").fit(X, y)


@pytest.mark.parametrize("cls", [DropoutSVC, DropoutLogisticRegression])
def test_unknown_expectation(cls, rng, no_work):
    legal = ", ".join(f"'{word}'" for name, word in LOSSES if name == cls._loss)
    with pytest.raises(
        ValueError, match=f"expectation='exact' is not known .*; use one of {legal}."
    ):
        cls(expectation="exact").fit(*dataset(cls(), rng))


@pytest.mark.parametrize(
    ("model", "loss"),
    [
        (DropoutSVC(expectation="gaussian"), "HingeGaussian"),
        (DropoutLogisticRegression(expectation="jensen"), "LogisticJensen"),
        (DropoutExponentialClassifier(), "Exponential"),
        (DropoutPoissonRegressor(), "PoissonExact"),
    ],
)
def test_irls_where_it_cannot_serve(model, loss, rng, no_work):
    model = clone(model).set_params(solver="irls")
    with pytest.raises(
        ValueError,
        match=f"needs a loss with a quadratic majoriser, which {loss} does not have; "
        "use one of 'newton', 'lbfgs'",
    ):
        model.fit(*dataset(model, rng))


@every_model
def test_not_fitted(model, rng):
    X, _ = dataset(model, rng)
    for method in ("predict", "decision_function", "predict_proba"):
        if hasattr(model, method):
            with pytest.raises(NotFittedError, match="is not fitted yet"):
                getattr(clone(model), method)(X)


@pytest.mark.parametrize("margin", [0.0, -1.0])
def test_margin_must_be_positive(margin, rng, no_work):
    with pytest.raises(ValueError, match="'margin' parameter of DropoutSVC must be"):
        DropoutSVC(margin=margin).fit(*dataset(DropoutSVC(), rng))
