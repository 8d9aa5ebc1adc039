"""Averages over what missing cells may have been, for any model."""

import pickle
from typing import ClassVar

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from same import assert_same
from scipy.special import expit
from sklearn.base import clone
from sklearn.compose import make_column_transformer
from sklearn.datasets import load_breast_cancer, load_digits, load_iris
from sklearn.ensemble import HistGradientBoostingClassifier, RandomForestRegressor
from sklearn.frozen import FrozenEstimator
from sklearn.impute import KNNImputer
from sklearn.linear_model import (
    LinearRegression,
    LogisticRegression,
    Perceptron,
    Ridge,
    RidgeClassifier,
)
from sklearn.metrics import log_loss, mean_squared_error
from sklearn.model_selection import GridSearchCV, cross_val_score
from sklearn.naive_bayes import GaussianNB
from sklearn.neighbors import KNeighborsClassifier, KNeighborsRegressor
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler
from sklearn.svm import SVC
from sklearn.tree import DecisionTreeClassifier

import noiseproof
from noiseproof import AverageOverMissing, DropoutLogisticRegression
from noiseproof._contents import kept_rows
from noiseproof.conditionals import Donors, JointGaussian
from noiseproof.estimators.averaging import Averager

LAWS = ["donors", "joint-gaussian"]
CLASSIFIERS = [
    make_pipeline(StandardScaler(), LogisticRegression()),
    make_pipeline(StandardScaler(), SVC()),
    RidgeClassifier(),
    KNeighborsClassifier(),
    GaussianNB(),
    DropoutLogisticRegression(0.3),
    DecisionTreeClassifier(min_samples_leaf=5, random_state=0),
]
name = pytest.mark.parametrize
every_law = name("law", LAWS)


def cancer(rng, rate=0.5):
    """Training rows, and other rows with holes."""
    X, y = load_breast_cancer(return_X_y=True)
    order = rng.permutation(len(y))
    train, test = order[:300], order[300:]
    Q = np.where(rng.random(X[test].shape) < rate, np.nan, X[test])
    return X[train], y[train], X[test], Q, y[test]


@every_law
@name("model", CLASSIFIERS, ids=lambda m: type(m).__name__)
def test_rows_without_holes_are_answered_by_the_estimator_bit_for_bit(model, law, rng):
    X, y, T, Q, _ = cancer(rng)
    fitted = AverageOverMissing(model, law).fit(X, y)
    own = fitted.estimator_
    Q[::2] = T[::2]
    for method in ("predict", "predict_proba", "decision_function"):
        assert hasattr(fitted, method) == hasattr(own, method)
        if hasattr(own, method):
            answer = getattr(fitted, method)
            expected = getattr(own, method)
            np.testing.assert_array_equal(answer(T), expected(T))
            np.testing.assert_array_equal(answer(Q)[::2], expected(T[::2]))


@every_law
@name("model", CLASSIFIERS, ids=lambda m: type(m).__name__)
def test_classifiers_lose_little_with_half_of_the_cells(model, law, rng):
    X, y, T, Q, target = cancer(rng)
    fitted = AverageOverMissing(model, law).fit(X, y)
    assert fitted.score(Q, target) > fitted.score(T, target) - 0.04
    if hasattr(fitted, "predict_proba"):
        p = fitted.predict_proba(Q)
        np.testing.assert_allclose(p.sum(axis=1), 1.0)
        chosen = fitted.classes_[p.argmax(axis=1)]
        np.testing.assert_array_equal(fitted.predict(Q), chosen)


def test_the_average_is_that_of_the_draws(rng):
    X, y, _, Q, _ = cancer(rng)
    model = AverageOverMissing(GaussianNB(), Donors(n_donors=7)).fit(X, y)
    rows, weights, origin = model.conditional_.draws(Q)
    p = model.estimator_.predict_proba(rows) * weights[:, None]
    by_hand = np.zeros((len(Q), 2))
    np.add.at(by_hand, origin, p)
    np.testing.assert_allclose(model.predict_proba(Q), by_hand, atol=1e-3)


class Counting(KNeighborsRegressor):
    """Counts calls and rows."""

    calls = rows = 0

    def predict(self, X):
        Counting.calls += 1
        Counting.rows += len(X)
        return super().predict(X)


@every_law
def test_sure_probabilities_are_not_above_one(law, rng):
    X, y = load_iris(return_X_y=True)
    model = AverageOverMissing(DecisionTreeClassifier(random_state=0), law).fit(X, y)
    X[rng.random(X.shape) < 0.5] = np.nan
    given = model.predict_proba(X)
    assert np.isclose(given.max(), 1.0, atol=1e-12)
    assert log_loss(y, given) >= 0.0  # which refuses 1 + 2e-16


def test_one_call_for_all_draws_and_none_for_negligible_ones(rng):
    X = rng.normal(size=(400, 3))
    model = AverageOverMissing(Counting(), Donors(bandwidth=0.02)).fit(X, X[:, 0])
    Q = X[:50].copy()
    Q[:, 2] = np.nan
    Counting.calls = Counting.rows = 0
    model.predict(Q)
    assert Counting.calls == 1
    assert 50 <= Counting.rows < 150  # of 1,000 draws
    Counting.calls = Counting.rows = 0
    Q[1:] = X[1:50]
    model.predict(Q)
    assert Counting.calls == 2
    assert Counting.rows < 49 + 20


@pytest.mark.parametrize(
    "model", [LinearRegression(), Ridge(), RandomForestRegressor(20)]
)
@every_law
def test_regressors_say_how_sure_they_are(model, law, rng):
    X = rng.normal(size=(600, 4)) @ rng.normal(size=(4, 4))
    y = X @ [1.0, -2.0, 0.5, 1.0] + 0.1 * rng.normal(size=600)
    fitted = AverageOverMissing(model, law, random_state=0).fit(X[:400], y[:400])
    Q = np.where(rng.random((200, 4)) < 0.5, np.nan, X[400:])
    mean, std = fitted.predict(Q, return_std=True)
    np.testing.assert_allclose(fitted.predict(Q), mean)
    whole = ~np.isnan(Q).any(axis=1)
    assert not std[whole].any()
    np.testing.assert_array_equal(mean[whole], fitted.estimator_.predict(Q[whole]))
    assert fitted.score(Q, y[400:]) > 0.3
    if fitted.linear_ is not None:  # else the model has errors of its own
        z = (y[400:] - mean)[~whole] / np.hypot(std[~whole], 0.1)
        assert 0.6 < np.mean(z**2) < 1.3  # shrunk covariances leave more over


def test_two_outputs(rng):
    X = rng.normal(size=(200, 3)) @ rng.normal(size=(3, 3))
    Y = X @ rng.normal(size=(3, 2))
    model = AverageOverMissing(LinearRegression(), "joint-gaussian")
    model.fit(X, Y[:, 0])
    frozen = FrozenEstimator(LinearRegression().fit(X, Y))
    both = AverageOverMissing(frozen, "joint-gaussian").fit(X)
    Q = np.where(rng.random(X.shape) < 0.4, np.nan, X)
    np.testing.assert_allclose(both.predict(Q)[:, 0], model.predict(Q), atol=1e-9)
    fitted = AverageOverMissing(LinearRegression(), "joint-gaussian").fit(X, Y)
    np.testing.assert_allclose(fitted.predict(Q), both.predict(Q), atol=1e-9)


@name("model", [LinearRegression(), make_pipeline(StandardScaler(), Ridge(1e-9))])
def test_linear_models_need_no_draws(model, rng):
    """E[y | observed cells] in closed form, to rounding."""
    X = rng.normal(size=(500, 6)) @ rng.normal(size=(6, 6)) + 3
    y = X @ rng.normal(size=6)
    fitted = AverageOverMissing(model, JointGaussian(shrinkage=0.0)).fit(X, y)
    Q = np.where(rng.random(X.shape) < 0.5, np.nan, X)
    S, mean = np.cov(X.T, bias=True), X.mean(axis=0)
    coef = np.linalg.lstsq(X - mean, y - y.mean())[0]
    prediction, std = fitted.predict(Q, return_std=True)
    for i, row in enumerate(Q):
        gone = np.isnan(row)
        gain = np.linalg.solve(S[~gone][:, ~gone], S[~gone][:, gone]).T
        filled = row.copy()
        filled[gone] = mean[gone] + gain @ (row - mean)[~gone]
        left = S[gone][:, gone] - gain @ S[~gone][:, gone]
        by_hand = y.mean() + coef @ (filled - mean)
        assert prediction[i] == pytest.approx(by_hand, abs=1e-7)
        variance = coef[gone] @ left @ coef[gone]
        assert std[i] == pytest.approx(np.sqrt(max(variance, 0)), abs=1e-4)


def test_trees_are_not_taken_for_linear(rng):
    X = rng.normal(size=(100, 3))
    model = AverageOverMissing(RandomForestRegressor(3), "joint-gaussian")
    assert model.fit(X, X[:, 0]).linear_ is None
    assert model.set_params(estimator=Ridge()).fit(X, X[:, 0]).linear_ is not None


@name(
    ("model", "link"),
    [
        (LogisticRegression(max_iter=1000), "softmax"),
        (DropoutLogisticRegression(), "one-vs-rest"),
        (SVC(kernel="linear"), None),
    ],
)
def test_links_of_several_classes(model, link, rng):
    X, y = load_iris(return_X_y=True)
    fitted = AverageOverMissing(model, "joint-gaussian").fit(X, y)
    if link is None:
        return
    assert fitted.linear_["link"] == link
    Q = np.where(rng.random(X.shape) < 0.4, np.nan, X)
    exact = fitted.predict_proba(Q)
    fitted.linear_ = None
    drawn = fitted.set_params(n_draws=400).predict_proba(Q)
    assert np.abs(exact - drawn).max() < 0.08
    assert np.abs(exact - drawn).mean() < 0.01


@name("model", [LogisticRegression(max_iter=10_000), DropoutLogisticRegression()])
@name("n_classes", [2, 3])
def test_single_precision_keeps_the_closed_form(model, n_classes, rng):
    X = (rng.normal(size=(400, 30)) @ rng.normal(size=(30, 30)) * 3 + 7).astype("f")
    y = np.digitize(X[:, 0] + rng.normal(size=400), [7, 12][: n_classes - 1])
    Q = np.where(rng.random(X.shape) < 0.5, np.float32("nan"), X)
    frozen = FrozenEstimator(clone(model).fit(X, y))
    single, double = (
        AverageOverMissing(frozen, "joint-gaussian").fit(rows)
        for rows in (X, X.astype(float))
    )
    assert single.linear_["link"] is not None
    np.testing.assert_allclose(
        single.predict_proba(Q), double.predict_proba(Q.astype(float)), atol=1e-6
    )


class SinglePrecision(LogisticRegression):
    """Answers in single precision whatever it is given."""

    def decision_function(self, X):
        return super().decision_function(np.asarray(X, dtype="f")).astype("f")

    def predict_proba(self, X):
        return super().predict_proba(np.asarray(X, dtype="f")).astype("f")


@name("model", [SinglePrecision(), SVC(gamma=1e-3)])
def test_answers_in_single_precision_may_be_linear(model, rng):
    X = rng.normal(size=(300, 5)).astype("f")
    fitted = AverageOverMissing(model, "joint-gaussian").fit(X, X[:, 0] > 0)
    assert (fitted.linear_ is not None) == isinstance(model, SinglePrecision)


def test_probabilities_integrate_the_variance_of_the_score(rng):
    """Against a fine sum over the Gaussian of the logit."""
    X = rng.normal(size=(2000, 3)) @ rng.normal(size=(3, 3)) * 3
    y = rng.random(2000) < expit(X @ [1.0, -1.0, 0.5])
    model = AverageOverMissing(LogisticRegression(), "joint-gaussian").fit(X, y)
    assert model.linear_["link"] == "expit"
    Q = np.where(rng.random(X.shape) < 0.5, np.nan, X)[:50]
    Q[0] = np.nan
    law = model.conditional_.scores(
        Q, model.estimator_.coef_, model.estimator_.intercept_
    )
    t = np.linspace(-10, 10, 20_001)
    density = np.exp(-(t**2) / 2)
    for p, m, v in zip(
        model.predict_proba(Q), law[0][:, 0], law[1][:, 0, 0], strict=True
    ):
        exact = (expit(m + np.sqrt(max(v, 0)) * t) * density).sum() / density.sum()
        assert p[1] == pytest.approx(exact, abs=1e-7)


@name("law", ["donors", "joint-gaussian", "auto"])
def test_log_loss_is_below_that_of_any_single_fill_in(law, rng):
    d, n = 5, 4000
    mixing = rng.normal(size=(d, d))
    X = rng.normal(size=(n, d)) @ mixing
    y = rng.random(n) < expit(X @ [2.0, -1.0, 1.0, 0.5, -2.0])
    train, test = slice(0, 2000), slice(2000, None)
    Q = np.where(rng.random((2000, d)) < 0.5, np.nan, X[test])
    model = AverageOverMissing(LogisticRegression(), law, random_state=0)
    model.fit(X[train], y[train])
    averaged = log_loss(y[test], model.predict_proba(Q))
    own = model.estimator_
    fills = {
        "mean": np.where(np.isnan(Q), X[train].mean(axis=0), Q),
        "expected": JointGaussian().fit(X[train]).mean(Q),
        "donors": Donors().fit(X[train]).mean(Q),
        "nearest": Donors(n_donors=1).fit(X[train]).mean(Q),
    }
    rows, _, origin = JointGaussian().fit(X[train]).draws(Q, 2)
    fills["drawn"] = rows[np.unique(origin, return_index=True)[1]]  # one for each row
    for name, filled in fills.items():
        assert len(filled) == len(Q)
        assert averaged < log_loss(y[test], own.predict_proba(filled)), name


@pytest.mark.parametrize("d", [20, 50])
def test_bayes_r2_of_a_linear_problem(d):
    """The linear setting of NeuMiss (Le Morvan et al. 2020): half of the cells missing.

    The covariance is B B' with a diagonal added, B of d/2 columns, and y is linear in x
    plus noise with a signal-to-noise ratio of 10.
    """
    rng = np.random.default_rng(d)
    B = rng.normal(size=(d, d // 2))
    S = B @ B.T + np.diag(rng.uniform(0.01, 0.1, size=d))
    mean, coef = rng.normal(size=d), rng.normal(size=d)
    noise = np.sqrt(coef @ S @ coef / 10)

    def rows(n):
        X = rng.multivariate_normal(mean, S, size=n)
        return X, X @ coef + noise * rng.normal(size=n)

    X, y = rows(50_000)
    T, target = rows(3_000)
    Q = np.where(rng.random(T.shape) < 0.5, np.nan, T)
    model = AverageOverMissing(LinearRegression(), "joint-gaussian").fit(X, y)
    best = np.empty(len(Q))
    for i, row in enumerate(Q):
        gone = np.isnan(row)
        gain = np.linalg.solve(S[~gone][:, ~gone], S[~gone][:, gone]).T
        filled = row.copy()
        filled[gone] = mean[gone] + gain @ (row - mean)[~gone]
        best[i] = coef @ filled
    bayes = 1 - np.var(target - best) / np.var(target)
    assert model.score(Q, target) > bayes - 0.005


def test_auto_takes_the_law_that_fits(rng):
    X = rng.normal(size=(800, 5)) @ rng.normal(size=(5, 5))
    y = X @ rng.normal(size=5)
    model = AverageOverMissing(LinearRegression(), random_state=0).fit(X, y)
    assert isinstance(model.conditional_, JointGaussian)
    X, y = load_digits(return_X_y=True)
    model = AverageOverMissing(KNeighborsClassifier(), random_state=0).fit(X, y)
    assert isinstance(model.conditional_, Donors)


def test_auto_leaves_the_numbers_of_donors_to_trees():
    """Pixels that are moved off zero pass thresholds; smooth models gain by it."""
    X, y = load_digits(return_X_y=True)
    X, y, rest, target = X[::3], y[::3], X[1::3], y[1::3]
    half = np.random.default_rng(0).random(rest.shape) < 0.5
    Q = np.where(half, np.nan, rest)
    trees = HistGradientBoostingClassifier(max_iter=10, random_state=0).fit(X, y)
    laws = (Donors(), "auto")
    moved, auto = (
        AverageOverMissing(FrozenEstimator(trees), law, random_state=0).fit(X)
        for law in laws
    )
    assert auto.conditional_.corrected is False
    losses = [log_loss(target, model.predict_proba(Q)) for model in (moved, auto)]
    assert losses[1] < losses[0]
    smooth = AverageOverMissing(SVC(), random_state=0).fit(X, y)
    assert smooth.conditional_.corrected is True


def test_a_model_in_production(rng):
    X, y, _, Q, target = cancer(rng)
    served = make_pipeline(StandardScaler(), LogisticRegression()).fit(X, y)
    wrapped = AverageOverMissing(FrozenEstimator(served)).fit(X)
    assert wrapped.score(Q, target) > 0.92
    np.testing.assert_array_equal(wrapped.classes_, served.classes_)
    np.testing.assert_array_equal(wrapped.predict_proba(X), served.predict_proba(X))


@name("model", [DropoutLogisticRegression(), KNeighborsClassifier()])
def test_training_rows_with_holes_are_filled_by_draws(model, rng):
    X, y, _, Q, target = cancer(rng, 0.3)
    holed = np.where(rng.random(X.shape) < 0.3, np.nan, X)
    scaled = make_pipeline(StandardScaler(), model)
    fitted = AverageOverMissing(scaled, random_state=0).fit(holed, y)
    assert fitted.score(Q, target) > 0.9
    fitted = AverageOverMissing(model, "donors", random_state=0).fit(holed, y)
    assert fitted.score(Q, target) > 0.88
    again = AverageOverMissing(model, "donors", random_state=0).fit(holed, y)
    np.testing.assert_array_equal(fitted.predict(Q), again.predict(Q))


def test_an_estimator_that_takes_holes_gets_them(rng):
    X, y, _, _, _ = cancer(rng)
    holed = np.where(rng.random(X.shape) < 0.3, np.nan, X)
    trees = DecisionTreeClassifier(random_state=0)
    model = AverageOverMissing(trees, "donors").fit(holed, y)
    np.testing.assert_array_equal(
        model.estimator_.predict_proba(X), trees.fit(holed, y).predict_proba(X)
    )


@pytest.fixture
def people(rng):
    n = 300
    tall = rng.random(n) < 0.5
    frame = pd.DataFrame(
        {
            "cm": np.where(tall, 190.0, 160.0) + 3 * rng.normal(size=n),
            "size": np.where(tall, "L", "S"),
        }
    )
    columns = make_column_transformer(
        (StandardScaler(), ["cm"]), (OneHotEncoder(), ["size"])
    )
    return frame, tall.astype(int), make_pipeline(columns, LogisticRegression())


def test_frames_with_words(people, tmp_path):
    frame, y, pipeline = people
    model = AverageOverMissing(pipeline).fit(frame, y)
    np.testing.assert_array_equal(model.feature_names_in_, ["cm", "size"])
    holed = frame.copy()
    holed.loc[::2, "size"] = None
    holed.loc[1::2, "cm"] = np.nan
    assert model.score(holed, y) > 0.98
    noiseproof.save(model, tmp_path / "model.npf")
    again = noiseproof.load(tmp_path / "model.npf")
    np.testing.assert_array_equal(
        again.predict_proba(holed), model.predict_proba(holed)
    )
    holed.loc[0, "cm"] = np.nan
    expected = model.predict_proba(holed)  # of the first row nothing is known
    holed.loc[0, "size"] = "XXL"
    with pytest.warns(UserWarning, match="Column size of X holds 'XXL', which did"):
        found = model.predict_proba(holed)
    np.testing.assert_array_equal(found, expected)


@every_law
def test_pickles_and_safe_files(law, rng, tmp_path):
    X, y, _, Q, _ = cancer(rng)
    for base in (None, make_pipeline(StandardScaler(), LogisticRegression())):
        model = AverageOverMissing(base, law).fit(X, y)
        noiseproof.save(model, tmp_path / "model.npf")
        for again in (
            pickle.loads(pickle.dumps(model)),
            noiseproof.load(tmp_path / "model.npf"),
        ):
            assert_same(again, model)
            np.testing.assert_array_equal(again.predict(Q), model.predict(Q))


def test_searches_reach_the_inside(rng):
    X, y, _, _, _ = cancer(rng)
    grid = {"estimator__C": [0.1, 1.0], "conditional__n_donors": [5, 10]}
    model = AverageOverMissing(DropoutLogisticRegression(), Donors())
    search = GridSearchCV(model, grid, cv=2).fit(X[:60], y[:60])
    assert set(search.best_params_) == set(grid)
    assert cross_val_score(AverageOverMissing(), X[:60], y[:60], cv=2).shape == (2,)


def test_sample_weight_reaches_the_estimator(rng):
    X, y, _, _, _ = cancer(rng)
    weights = rng.integers(0, 3, size=len(y))
    weighted = AverageOverMissing(Ridge(), "donors").fit(X, y, sample_weight=weights)
    by_hand = Ridge().fit(X, y, sample_weight=weights)
    np.testing.assert_array_equal(weighted.estimator_.coef_, by_hand.coef_)
    with pytest.raises(
        TypeError, match="KNeighborsClassifier does not accept sample_w"
    ):
        AverageOverMissing(KNeighborsClassifier()).fit(X, y, sample_weight=weights)


class Mute(KNeighborsClassifier):
    """A classifier that says classes only."""

    @property
    def predict_proba(self):
        raise AttributeError


def test_bad_input(rng):
    X, y, _, Q, _ = cancer(rng)
    with pytest.raises(ValueError, match="Mute has neither predict_proba nor decision"):
        AverageOverMissing(Mute()).fit(X, y)
    with pytest.raises(ValueError, match="The 'n_draws' parameter"):
        AverageOverMissing(n_draws=0).fit(X, y)
    with pytest.raises(ValueError, match="The 'conditional' parameter"):
        AverageOverMissing(conditional="mean").fit(X, y)
    with pytest.raises(ValueError, match="All values of X are missing"):
        AverageOverMissing().fit(np.full_like(X, np.nan), y)
    with pytest.raises(ValueError, match=r"pass a regressor, such as .*DropoutRidge"):
        AverageOverMissing().fit(X, X[:, 0])
    never = X.copy()
    never[:, 3] = np.nan
    with pytest.raises(ValueError, match="Column 3 of X is missing in all rows"):
        AverageOverMissing().fit(never, y)
    with pytest.raises(TypeError, match="Sparse data was passed"):
        AverageOverMissing().fit(sp.csr_array(X), y)
    model = AverageOverMissing(Perceptron(), "donors").fit(X, y)
    with pytest.raises(ValueError, match="X has 2 features, but AverageOverMissing"):
        model.predict(Q[:, :2])
    with pytest.raises(TypeError, match="return_std is for regressors"):
        model.predict(Q, return_std=True)
    X, y = load_digits(return_X_y=True)
    pairs = AverageOverMissing(SVC(decision_function_shape="ovo"), "donors")
    pairs.fit(X[:200], y[:200])
    with pytest.raises(ValueError, match="SVC does not have one score for each class"):
        pairs.predict(np.full((1, 64), np.nan))


class Fits(LogisticRegression):
    """Counts its fits, and refuses fewer rows than told."""

    fits: ClassVar[list[int]] = []
    at_least = 0

    def fit(self, X, y, sample_weight=None):
        if len(X) < self.at_least:
            raise ValueError("too few rows")
        self.fits.append(len(X))
        return super().fit(X, y, sample_weight)


@name("n, fits", [(60, [60, 40, 40, 40]), (900, [900, 600]), (1800, [1800, 1500])])
def test_held_out_rows_choose_the_law(n, fits, rng):
    """About 300 rows are judged; the estimator is fitted on the others."""
    X = rng.normal(size=(n, 3))
    y = (X[:, 0] > 0).astype(int)
    Fits.fits.clear()
    AverageOverMissing(Fits(), random_state=0, n_calibration=0).fit(X, y)
    assert Fits.fits == fits
    Fits.fits.clear()
    AverageOverMissing(Fits(), "donors", n_calibration=0).fit(X, y)
    assert Fits.fits == [n]


def test_an_estimator_that_needs_all_rows_judges_by_its_own_answers(rng, monkeypatch):
    X = rng.normal(size=(60, 2)) @ [[1.0, 1.0], [0.0, 0.1]]
    y = (X[:, 0] > 0).astype(int)
    monkeypatch.setattr(Fits, "at_least", 60)
    asked = []
    own = Averager.distance
    monkeypatch.setattr(Averager, "distance", lambda *a: asked.append(1) or own(*a))
    Fits.fits.clear()
    model = AverageOverMissing(Fits(), random_state=0).fit(X, y)
    assert Fits.fits == [60]
    assert len(asked) == 3 * 3 * 3  # folds, laws and rates
    assert model.predict([[np.nan, 1.0]]) == 1


@name("frozen", [False, True])
def test_targets_tell_the_law_of_gaussian_rows(frozen, rng):
    X = rng.normal(size=(300, 4))
    X[:, 1] = X[:, 0] + 0.3 * rng.normal(size=300)
    y = X[:, 0] + X[:, 1] + 0.1 * rng.normal(size=300)
    for model, wanted in ((LinearRegression(), y), (LogisticRegression(), y > 0)):
        if frozen:
            model = FrozenEstimator(model.fit(X, wanted))
        fitted = AverageOverMissing(model, random_state=0).fit(X, wanted)
        assert isinstance(fitted.conditional_, JointGaussian)


def test_targets_of_a_frozen_model_are_read(rng, monkeypatch):
    X = rng.normal(size=(90, 2))
    frozen = FrozenEstimator(LogisticRegression().fit(X, X[:, 0] > 0))
    asked = []
    own = Averager.loss
    monkeypatch.setattr(Averager, "loss", lambda *a: asked.append(1) or own(*a))
    AverageOverMissing(frozen, random_state=0).fit(X)
    assert not asked
    AverageOverMissing(frozen, random_state=0).fit(X, X[:, 0] > 0)
    assert len(asked) == 3 * 3 * 3
    with pytest.raises(ValueError, match="inconsistent numbers of samples"):
        AverageOverMissing(frozen).fit(X, [0, 1])


@every_law
def test_losses_are_the_usual_ones(law, rng):
    """Log-loss, but bounded for each row; squared errors."""
    X, y, _, Q, truth = cancer(rng)
    model = AverageOverMissing(GaussianNB(), law).fit(X, y)
    p = model.predict_proba(Q)[np.arange(len(truth)), truth]
    expected = -np.log(np.maximum(p, 1e-6)).mean()
    assert model._averager().loss(Q, truth) == pytest.approx(expected)
    model = AverageOverMissing(Ridge(), law).fit(X, y)
    expected = mean_squared_error(truth, model.predict(Q))
    assert model._averager().loss(Q, truth) == pytest.approx(expected)
    model = AverageOverMissing(SVC(), law).fit(X, y)
    expected = log_loss(truth, expit(model.decision_function(Q)))
    assert model._averager().loss(Q, truth) == pytest.approx(expected)


@name("law", [Donors(), Donors(corrected=False), JointGaussian()], ids=repr)
@name("d", [3, 8])
def test_standard_deviations_are_those_of_gaussian_rows(law, d):
    """Against the known law: the right size, and the right share of rows within."""
    rng = np.random.default_rng(d)
    root = rng.normal(size=(d, d)) / d**0.5 + 0.3 * np.eye(d)
    X, T = rng.normal(size=(1500, d)) @ root, rng.normal(size=(800, d)) @ root
    S, w = root.T @ root, rng.normal(size=d)
    gone = rng.random(T.shape) < 0.5
    gone[np.arange(800), rng.integers(d, size=800)] = True
    fitted = AverageOverMissing(LinearRegression(), law).fit(X, X @ w)
    mean, std = fitted.predict(np.where(gone, np.nan, T), return_std=True)
    true = np.empty(len(T))
    for i, m in enumerate(gone):
        left = S[m][:, m]
        if not m.all():
            left = left - S[m][:, ~m] @ np.linalg.solve(S[~m][:, ~m], S[~m][:, m])
        true[i] = w[m] @ left @ w[m]
    assert np.sqrt(np.mean(std**2) / np.mean(true)) == pytest.approx(1, abs=0.06)
    z = (T @ w - mean) / std
    assert 0.60 < np.mean(np.abs(z) < 1) < 0.75  # 0.68
    assert 0.88 < np.mean(np.abs(z) < 1.96) < 0.98  # 0.95


@name("law", ["auto", *LAWS])
def test_probabilities_are_calibrated_where_cells_are_missing(law):
    """Of rows given a probability that share is of the class; no fill can say so."""
    rng = np.random.default_rng(1)
    root = rng.normal(size=(6, 6)) / 6**0.5
    X, T = rng.normal(size=(1500, 6)) @ root, rng.normal(size=(3000, 6)) @ root
    w = 4 * rng.normal(size=6)
    y, truth = (rng.random(len(Z)) < expit(Z @ w) for Z in (X, T))
    Q = np.where(rng.random(T.shape) < 0.5, np.nan, T)
    plain = make_pipeline(StandardScaler(), LogisticRegression(C=100.0)).fit(X, y)
    averaged = AverageOverMissing(plain, law, random_state=0).fit(X, y)
    filled = KNNImputer().fit(X).transform(Q)
    ours, theirs = averaged.predict_proba(Q), plain.predict_proba(filled)
    assert calibration_error(ours[:, 1], truth) < 0.04
    assert calibration_error(ours[:, 1], truth) < calibration_error(theirs[:, 1], truth)
    assert log_loss(truth, ours) < log_loss(truth, theirs) - 0.02


def calibration_error(p, truth):
    """Mean distance between probabilities and shares in ten bins."""
    bins = np.minimum((10 * p).astype(int), 9)
    return sum(
        abs(p[bins == b].mean() - truth[bins == b].mean()) * np.mean(bins == b)
        for b in np.unique(bins)
    )


@name("law", [Donors(), Donors(corrected=False), JointGaussian()], ids=repr)
def test_standard_deviations_do_not_shrink_far_from_the_data(law):
    """Of Gaussian rows it is the same everywhere, also twelve deviations away."""
    rng = np.random.default_rng(2)
    root = rng.normal(size=(4, 4)) / 2 + 0.3 * np.eye(4)
    X, S, w = rng.normal(size=(1500, 4)) @ root, root.T @ root, [3.0, -2.0, 4.0, 1.0]
    fitted = AverageOverMissing(LinearRegression(), law, n_calibration=0).fit(X, X @ w)
    left = S[1:, 1:] - np.outer(S[1:, 0], S[0, 1:]) / S[0, 0]
    true = np.sqrt(w[1:] @ left @ w[1:])
    far = np.full((9, 4), np.nan)
    far[:, 0] = np.sqrt(S[0, 0]) * np.array([-12, -8, -6, -4, 0, 4, 6, 8, 12])
    fitted.linear_ = None  # or there would be no draws
    std = fitted.predict(far, return_std=True)[1]
    assert np.all((0.6 * true < std) & (std < 1.5 * true))


@name("law", [Donors(), Donors(n_donors=1), JointGaussian()], ids=repr)
def test_standard_deviations_of_one_draw(law, rng):
    X = rng.normal(size=(500, 3))
    y = X @ [1.0, 2.0, 3.0]
    model = RandomForestRegressor(10, random_state=0)
    fitted = AverageOverMissing(model, law, n_draws=1, n_calibration=0).fit(X, y)
    row = np.array([[0.0, np.nan, np.nan]])
    mean, std = fitted.predict(row, return_std=True)
    np.testing.assert_array_equal(mean, fitted.predict(row))
    assert 0.6 * 13**0.5 < std < 1.4 * 13**0.5


@name("d", [4, 40])
def test_wide_draws_of_a_gaussian_have_its_covariance(d, rng):
    """All of it, up to 25 columns; of more the sizes are about right."""
    X = rng.normal(size=(2000, d)) @ rng.normal(size=(d, d))
    law = JointGaussian(shrinkage=0.0).fit(X)
    row = X[:1].copy()
    row[0, : d - 1] = np.nan
    drawn, weights, _ = law.draws(row, 2, wide=True)
    w = np.r_[rng.normal(size=d - 1), 0.0]
    found = weights @ (drawn @ w - weights @ drawn @ w) ** 2
    true = law.scores(row, w[None], np.zeros(1))[1][0, 0, 0]
    assert found == pytest.approx(true, rel=1e-6 if d == 4 else 0.5)


def test_classifiers_keep_rows_aside_where_donors_keep_them_anyway(rng):
    X = rng.normal(size=(400, 3))
    y = np.where(X[:, 0] > 0, "yes", "no")
    Z = np.where(rng.random(X.shape) < 0.4, np.nan, X)
    with_rows = AverageOverMissing(LogisticRegression(), "donors").fit(X, y)
    without = clone(with_rows).set_params(n_calibration=0).fit(X, y)
    np.testing.assert_array_equal(with_rows.predict_proba(Z), without.predict_proba(Z))
    model, rows, labels = with_rows._kept_aside()
    assert rows.shape == (100, 3)
    assert set(labels) == {"yes", "no"}
    places = [int(np.flatnonzero((row == X).all(axis=1))[0]) for row in rows]
    np.testing.assert_array_equal(labels, y[places])
    others = np.delete(np.arange(400), places)
    fitted = LogisticRegression().fit(X[others], y[others])
    np.testing.assert_allclose(model.estimator_.coef_, fitted.coef_, rtol=1e-4)
    assert without._kept_aside() is None
    assert AverageOverMissing(LogisticRegression()).fit(X, y)._kept_aside() is not None
    gaussian = AverageOverMissing(LogisticRegression(), "joint-gaussian").fit(X, y)
    assert gaussian._kept_aside() is None
    assert kept_rows(gaussian) is None
    frozen = AverageOverMissing(FrozenEstimator(with_rows.estimator_), "donors")
    assert frozen.fit(X)._kept_aside() is None
    assert frozen.fit(X, y)._kept_aside() is not None
    assert frozen.fit(X, y == "yes")._kept_aside() is None
