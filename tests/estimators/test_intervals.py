"""Intervals hold the target as often as promised, whatever is missing."""

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from masks import MECHANISMS, masked
from sklearn.base import BaseEstimator, RegressorMixin
from sklearn.ensemble import VotingRegressor
from sklearn.frozen import FrozenEstimator
from sklearn.impute import SimpleImputer
from sklearn.linear_model import LinearRegression, LogisticRegression, Ridge
from sklearn.pipeline import make_pipeline
from sklearn.tree import DecisionTreeRegressor

import noiseproof
from noiseproof import AverageOverMissing, ConformalRegressor, ReducedModels
from noiseproof._conformal import Calibration
from noiseproof.conditionals import Donors, JointGaussian
from noiseproof.tables import TableEncoder

COVERAGE = 0.8
PATTERNS = np.array([[0, 0, 0], [0, 0, 1], [1, 0, 1], [1, 1, 1]], dtype=bool)
ROOT = np.array([[1.0, 0.6, 0.0], [0.0, 0.8, 0.5], [0.0, 0.0, 0.9]])
name = pytest.mark.parametrize


def quantities(rng, n):
    """Rows and targets whose noise is not of one size."""
    X = rng.normal(size=(n, 3)) @ ROOT
    noise = (0.5 + 0.3 * np.abs(X[:, 1])) * rng.normal(size=n)
    return X, X @ [1.0, -2.0, 1.5] + noise


def filled(model):
    return make_pipeline(SimpleImputer(), model)


TREE = DecisionTreeRegressor(max_depth=4, random_state=0)
MODELS = {
    "averaged": AverageOverMissing(LinearRegression(), JointGaussian(0.0)),
    "averaged donors": AverageOverMissing(TREE, Donors(bandwidth=0.5)),
    "conformal": ConformalRegressor(filled(LinearRegression())),
}


def covers(model, X, y, coverage=COVERAGE):
    low, high = model.predict_interval(X, coverage).T
    return (low <= y) & (y <= high)


@name("model", MODELS)
def test_coverage_of_each_pattern(model, rng):
    """Training tables anew each time: the mean coverage over these is known.

    Of 20 scores without ties the 17th is the threshold for 0.8, and a new one is below
    it with probability 17/21, which lies between 0.8 and 0.8 + 1/21.
    """
    shares = []
    for seed in range(120):
        X, y = quantities(rng, 80 + 100 * len(PATTERNS))
        X[80:][np.tile(PATTERNS, (100, 1))] = np.nan
        fitted = MODELS[model].set_params(random_state=seed).fit(X[:80], y[:80])
        assert len(fitted.intervals_.calibration) == 20
        hits = covers(fitted, X[80:], y[80:])
        shares.append(hits.reshape(100, len(PATTERNS)).mean(axis=0))
    error = np.std(shares, axis=0) / np.sqrt(len(shares))
    mean = np.mean(shares, axis=0)
    assert np.all(error < 0.01)
    assert np.all(np.abs(mean - 17 / 21) < 3 * error)
    assert np.all(
        (COVERAGE - 2 * error < mean) & (mean < COVERAGE + 1 / 21 + 2 * error)
    )


def averaged(seed):
    return AverageOverMissing(
        LinearRegression(), JointGaussian(0.0), random_state=seed, n_calibration=400
    )


@name("mechanism", MECHANISMS)
def test_coverage_under_each_mechanism(mechanism, rng):
    """On average over patterns, of models that have seen complete rows only.

    The promise is for values that are missing at random; of the others this is an
    observation. Thresholds of complete rows are far too low for rows with holes.
    """
    shares, plain = [], []
    for seed in range(40):
        X, y = quantities(rng, 800)
        new = masked(X[400:], mechanism, rng)
        model = averaged(seed).fit(X[:400], y[:400])
        shares.append(covers(model, new, y[400:]).mean())
        complete = model.predict_interval(np.zeros((1, 3)), COVERAGE)[0]
        off = np.abs(y[400:] - model.predict(new))
        plain.append((off <= np.diff(complete) / 2)[np.isnan(new).sum(axis=1) > 1])
    error = np.std(shares) / np.sqrt(len(shares))
    assert COVERAGE - 2 * error < np.mean(shares) < COVERAGE + 1 / 101 + 2 * error
    assert np.mean(np.concatenate(plain)) < 0.6


@pytest.mark.whole
@name("mechanism", MECHANISMS)
def test_coverage_of_patterns_under_each_mechanism(mechanism, rng):
    """Two columns may be missing, in training, too: then each pattern is covered."""
    shares = []
    for seed in range(30):
        X, y = quantities(rng, 3200)
        rows = masked(X, mechanism, rng, rate=0.4)
        rows[:, 2] = X[:, 2]
        model = averaged(seed).fit(rows[:1600], y[:1600])
        hits = covers(model, rows[1600:], y[1600:])
        pattern = np.isnan(rows[1600:]) @ [1, 2, 0]
        shares.append([hits[pattern == k].mean() for k in range(4)])
    error = np.std(shares, axis=0) / np.sqrt(len(shares))
    mean = np.mean(shares, axis=0)
    assert np.all((COVERAGE - 2 * error < mean) & (mean < COVERAGE + 0.02 + 2 * error))


def test_patterns_with_few_rows_are_covered_if_the_values_tell_what_is_missing(rng):
    """Of 160 rows kept aside, 20 to 60 have each pattern, and calibrate it alone.

    Values far from zero are missing. If all rows calibrate all patterns, intervals of
    rows with missing values contain about 80 % of the targets instead of 90 %.
    """
    gaps, sizes, width = [], [], [1, 2]
    for seed in range(20):
        X, y = quantities(rng, 3040)
        X[:, :2] = np.where(np.abs(X[:, :2]) > 0.7, np.nan, X[:, :2])
        model = ConformalRegressor(filled(LinearRegression()), random_state=seed)
        model.fit(X[:640], y[:640])
        hits = covers(model, X[640:], y[640:], 0.9)
        kept, new = (
            np.isnan(rows[:, :2]) @ width
            for rows in (model.intervals_.calibration.rows.take(), X[640:])
        )
        n = np.bincount(kept, minlength=4)
        shares = np.array([hits[new == k].mean() for k in range(4)])
        gaps.append(shares - np.ceil(0.9 * (n + 1)) / (n + 1))
        sizes.append(n)
    assert np.min(sizes) >= 20
    assert np.median(sizes, axis=0)[1:].max() < 50
    error = np.std(gaps, axis=0) / np.sqrt(len(gaps))
    assert np.all(np.abs(np.mean(gaps, axis=0)) < 3 * error)
    assert error.max() < 0.025


def test_rows_of_a_pattern_calibrate_it_alone_if_there_are_enough(rng):
    """Where a value is missing because it is large, others must not stand in."""
    X = rng.normal(size=(400, 2))
    y = np.where(X[:, 1] > 0.5, 5.0, 1.0) * rng.normal(size=400)
    X[X[:, 1] > 0.5, 1] = np.nan
    model = ConformalRegressor(Constant(), random_state=0).fit(X, y)
    kept = model.intervals_.calibration
    rare, common = np.sum(kept.missing[:, 1]), np.sum(~kept.missing[:, 1])
    assert 20 <= rare < 49 < common
    row, alone = [[0.0, np.nan]], np.sort(np.abs(kept.targets[kept.missing[:, 1]]))
    for coverage in (0.9, 0.95):
        limit = alone[int(np.ceil(coverage * (rare + 1))) - 1]
        assert model.predict_interval(row, coverage)[0, 1] == limit
    # 0.98 needs 49 rows, so there all rows calibrate
    with_all = np.sort(np.abs(kept.targets))[int(np.ceil(0.98 * 101)) - 1]
    assert model.predict_interval(row, 0.98)[0, 1] == with_all
    fewer = Calibration(kept.rows.take(), kept.targets, alone=rare + 1)
    _, limit = fewer.limits(np.array([[False, True]]), 0.9, lambda X, y: np.abs(y))
    with_all = np.sort(np.abs(kept.targets))[int(np.ceil(0.9 * 101)) - 1]
    assert limit[0] == with_all


@name("model", MODELS)
def test_rows_alone_and_after_saving(model, rng, tmp_path):
    X, y = quantities(rng, 300)
    fitted = MODELS[model].set_params(random_state=0).fit(X[:200], y[:200])
    new = masked(X[200:], "mcar", rng)
    together = fitted.predict_interval(new)
    alone = np.vstack([fitted.predict_interval(row[None]) for row in new])
    np.testing.assert_allclose(alone, together, rtol=1e-12)
    noiseproof.save(fitted, tmp_path / "model.npf")
    back = noiseproof.load(tmp_path / "model.npf")
    np.testing.assert_array_equal(back.predict_interval(new), together)


@name("model", MODELS)
def test_any_coverage_and_the_prediction_inside(model, rng):
    X, y = quantities(rng, 400)
    fitted = MODELS[model].set_params(random_state=0).fit(X[:300], y[:300])
    new = masked(X[300:], "mcar", rng)
    widths, predicted = [], fitted.predict(new)
    for coverage in (0.05, 0.5, 0.8, 0.95):
        low, high = fitted.predict_interval(new, coverage=coverage).T
        assert np.all((low <= predicted) & (predicted <= high))
        widths.append(high - low)
    assert np.all(np.diff(widths, axis=0) >= -1e-9)
    with pytest.raises(ValueError, match="needs at least 99 calibration rows; got 75"):
        fitted.predict_interval(new, coverage=0.99)
    for bad in (0, 1.0, "0.9", np.nan):
        with pytest.raises(ValueError, match=r"coverage must lie within \(0, 1\)"):
            fitted.predict_interval(new, coverage=bad)


class Spy(LinearRegression):
    """Remembers the targets of all fits."""

    seen: list = []  # noqa: RUF012

    def fit(self, X, y):
        Spy.seen.append(set(y))
        return super().fit(X, y)


@name(
    "model",
    [
        AverageOverMissing(Spy()),
        AverageOverMissing(Spy(), "donors"),
        ConformalRegressor(filled(Spy())),
    ],
    ids=["auto", "donors", "conformal"],
)
def test_calibration_rows_have_no_part_in_the_model_they_calibrate(model, rng):
    X, y = quantities(rng, 200)
    Spy.seen.clear()
    model.fit(X, y)
    held = set(model.intervals_.calibration.targets)
    assert len(held) == 50
    with_them = [seen for seen in Spy.seen if seen & held]
    assert with_them == [set(y)]  # the one that predicts
    donors = getattr(model.intervals_.model, "conditional_", None)
    if hasattr(donors, "rows_"):
        kept = model.intervals_.calibration.rows.take()
        assert not (donors.rows_[:, None] == kept[None]).all(axis=2).any()


def test_the_fit_is_about_once_more(rng):
    """Four fits to choose the conditional and to predict, and one without some rows."""
    X, y = quantities(rng, 300)
    counts = []
    for n_calibration in (0, 500):
        Spy.seen.clear()
        AverageOverMissing(Spy(), n_calibration=n_calibration).fit(X, y)
        counts.append(sum(map(len, Spy.seen)))
    assert counts[1] < 1.1 * counts[0]


def test_frozen_models_are_calibrated_by_the_rows_they_are_given(rng):
    X, y = quantities(rng, 600)
    frozen = FrozenEstimator(LinearRegression().fit(X[:100], y[:100]))
    model = AverageOverMissing(frozen, random_state=0).fit(X[100:300], y[100:300])
    assert model.intervals_.model.estimator_ is model.estimator_
    assert abs(covers(model, masked(X[300:], "mcar", rng), y[300:]).mean() - 0.8) < 0.08
    with pytest.raises(ValueError, match="no intervals: a frozen estimator was giv"):
        AverageOverMissing(frozen).fit(X[100:300]).predict_interval(X[:1])
    frozen = FrozenEstimator(filled(LinearRegression()).fit(X[:100], y[:100]))
    model = ConformalRegressor(frozen).fit(X[100:300], y[100:300])
    assert len(model.intervals_.calibration) == 200


def test_why_there_are_no_intervals(rng):
    X, y = quantities(rng, 60)
    wrong = [
        (AverageOverMissing(Ridge(), n_calibration=0).fit(X, y), "n_calibration is 0"),
        (AverageOverMissing(Ridge()).fit(X[:15], y[:15]), "15 training rows are too f"),
        (AverageOverMissing(Ridge()).fit(X, np.c_[y, y]), "there are several targets"),
        (ConformalRegressor(Ridge()).fit(X[:15], y[:15]), "15 training rows are too f"),
    ]
    for model, why in wrong:
        with pytest.raises(ValueError, match=f"There are no intervals: {why}"):
            model.predict_interval(X)
    assert not hasattr(AverageOverMissing(), "predict_interval")
    with pytest.raises(TypeError, match="LogisticRegression is not a regressor"):
        ConformalRegressor(LogisticRegression()).fit(X, y > 0)


class Picky(LinearRegression):
    """Cannot do without any of 60 rows."""

    def fit(self, X, y):
        if len(y) < 60:
            raise ValueError("too few rows for me")
        return super().fit(X, y)


def test_an_estimator_that_needs_all_rows_has_no_intervals(rng):
    X, y = quantities(rng, 60)
    for model in (ConformalRegressor(Picky()), AverageOverMissing(Picky(), "donors")):
        model.fit(X, y).predict(X)
        with pytest.raises(ValueError, match="without 15 of the rows: too few rows f"):
            model.predict_interval(X)


def table(rng, n):
    X, y = quantities(rng, n)
    frame = pd.DataFrame(X, columns=["a", "b", "c"])
    frame["word"] = pd.Categorical(np.where(X[:, 0] > 0.3, "high", "low"))
    return frame, y


LINES = make_pipeline(TableEncoder(), filled(Ridge()))
BLEND = VotingRegressor([("one", LINES), ("two", AverageOverMissing(LINES))])
BLEND.estimators[1][1].set_params(n_calibration=0)


@name(
    "model",
    [
        AverageOverMissing(LINES),
        ConformalRegressor(LINES),
        ConformalRegressor(ReducedModels(LINES)),
        ConformalRegressor(BLEND),
    ],
    ids=["averaged", "pipeline", "reduced", "blend"],
)
def test_tables_with_words_are_calibrated_and_saved(model, rng, tmp_path):
    X, y = table(rng, 400)
    X.loc[::7, "b"] = np.nan
    model.set_params(random_state=0).fit(X[:300], y[:300])
    new = X[300:].copy()
    new.loc[::2, "a"] = np.nan
    new.loc[::3, "word"] = None
    found = model.predict_interval(new)
    assert abs(covers(model, new, y[300:], 0.9).mean() - 0.9) < 0.09
    noiseproof.save(model, tmp_path / "model.npf")
    back = noiseproof.load(tmp_path / "model.npf")
    np.testing.assert_array_equal(back.predict_interval(new), found)
    with pytest.raises(ValueError, match="feature names should match"):
        model.predict_interval(new[["word", "a", "b", "c"]])


def test_sparse_rows_have_one_pattern(rng, tmp_path):
    X = sp.csr_array(rng.poisson(0.5, size=(300, 6)).astype(float))
    y = X.toarray() @ np.arange(6.0) + rng.normal(size=300)
    model = ConformalRegressor(random_state=0).fit(X[:200], y[:200])
    found = model.predict_interval(X[200:])
    assert len(set((found[:, 1] - found[:, 0]).round(9))) == 1
    dense = ConformalRegressor(random_state=0).fit(X[:200].toarray(), y[:200])
    np.testing.assert_allclose(found, dense.predict_interval(X[200:].toarray()))
    noiseproof.save(model, tmp_path / "model.npf")
    back = noiseproof.load(tmp_path / "model.npf")
    np.testing.assert_array_equal(back.predict_interval(X[200:]), found)


def test_predictions_are_those_of_the_estimator(rng):
    X, y = quantities(rng, 100)
    model = ConformalRegressor(Ridge()).fit(X, y)
    np.testing.assert_array_equal(model.predict(X), Ridge().fit(X, y).predict(X))
    assert model.score(X, y) == model.estimator_.score(X, y)
    with pytest.raises(ValueError, match="contains NaN"):
        model.predict_interval(np.full((1, 3), np.nan))


class Constant(RegressorMixin, BaseEstimator):
    """A model of nothing: its intervals are quantiles of the targets kept aside."""

    def fit(self, X, y):
        self.mean_, self.n_features_in_ = 0.0, X.shape[1]
        return self

    def predict(self, X):
        return np.zeros(len(X))


def test_thresholds_are_quantiles_of_the_rows_kept_aside(rng):
    X, y = quantities(rng, 80)
    model = ConformalRegressor(Constant(), random_state=0).fit(X, y)
    sizes = np.sort(np.abs(model.intervals_.calibration.targets))
    for coverage, rank in ((0.5, 11), (0.8, 17), (0.9, 19), (0.95, 20)):
        found = model.predict_interval(X[:1], coverage)
        np.testing.assert_array_equal(found, [[-sizes[rank - 1], sizes[rank - 1]]])
