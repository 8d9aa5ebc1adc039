"""Estimators refuse what is not their table, in one sentence that says what to use."""

import numpy as np
import pandas as pd
import polars as pl
import pytest
from problems import dataset
from sklearn.compose import make_column_transformer
from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.linear_model import LinearRegression, LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer, OneHotEncoder, StandardScaler

from noiseproof import (
    AverageOverMissing,
    ConformalRegressor,
    DropoutLogisticRegression,
    DropoutRidge,
    PartitionEnsemble,
    ReducedModels,
)
from noiseproof.estimators import ESTIMATORS
from noiseproof.serving import Served
from noiseproof.tables import TableEncoder

N = 60


def table():
    rng = np.random.default_rng(0)
    return pd.DataFrame(
        {"a": rng.normal(size=N), "b": rng.normal(size=N), "c": ["red", "blue"] * 30}
    )


X, Y = table(), np.where(table()["a"] > 0, "u", "v")


def pipeline():
    columns = make_column_transformer((StandardScaler(), ["a", "b"]),
                                      (OneHotEncoder(), ["c"]))  # fmt: skip
    return make_pipeline(columns, LogisticRegression())


@pytest.fixture(scope="module")
def averaged():
    return AverageOverMissing(pipeline(), "donors").fit(X, Y)


OTHER = {
    "absent": lambda X: X.iloc[:, 1:],
    "reordered": lambda X: X[X.columns[::-1]],
    "extra": lambda X: X.assign(d=1.0),
}


@pytest.mark.parametrize("other", OTHER)
@pytest.mark.parametrize("name", ESTIMATORS)
def test_other_columns(name, other, rng):
    """Whatever the estimator; scikit-learn's sentence comes first."""
    model = ESTIMATORS[name]()
    rows, y = dataset(model, rng)
    if not isinstance(rows, np.ndarray):
        pytest.skip("rows are sequences")
    rows = pd.DataFrame(rows, columns=[f"c{j}" for j in range(rows.shape[1])])
    fitted = model.fit(rows, y)
    sentence = r"(?s)^The feature names .*noiseproof.serving.Served accepts tables"
    with pytest.raises(ValueError, match=sentence):
        fitted.predict(OTHER[other](rows))


@pytest.mark.parametrize("other", OTHER)
@pytest.mark.parametrize("model", [AverageOverMissing, ReducedModels])
def test_other_columns_of_a_table_with_text(model, other):
    fitted = model(pipeline()).fit(X, Y)
    with pytest.raises(ValueError, match=r"noiseproof.serving.Served accepts tables"):
        fitted.predict(OTHER[other](X))


@pytest.mark.parametrize(
    "model", [AverageOverMissing(LogisticRegression()), DropoutLogisticRegression()]
)
def test_another_width(model):
    fitted = model.fit(X[["a"]].to_numpy(), Y)
    with pytest.raises(ValueError, match=r"(?s)X has 3 features, but .*Served accepts"):
        fitted.predict(np.zeros((2, 3)))


@pytest.mark.filterwarnings("ignore:Column c of X holds 2, which did not occur")
@pytest.mark.parametrize("hole", [False, True])
def test_numbers_in_a_column_of_text(averaged, hole):
    """It was a raw error about a ufunc."""
    rows = X[:4].assign(c=[1, 2, 3, 4])
    rows.loc[1, "a"] = np.nan if hole else 0.0
    words = "Column c of X held text in training, but now it holds numbers; pass text"
    with pytest.raises(ValueError, match=words):
        averaged.predict(rows)
    with pytest.raises(ValueError, match=words):
        averaged.predict(pl.from_pandas(rows))
    served = Served(averaged, X)
    missing = averaged.predict_proba(rows.assign(c=None))
    np.testing.assert_allclose(served.predict_proba(rows), missing)


def test_times_in_a_column_of_text_or_numbers(averaged):
    days = pd.date_range("2024", periods=4)
    for name, held in (("c", "text"), ("a", "numbers")):
        words = f"Column {name} of X held {held} in training, but now it holds times"
        with pytest.raises(ValueError, match=words):
            averaged.predict(X[:4].assign(**{name: days}))
    rows = X[:4].assign(a=days)
    plain = averaged.predict(rows.assign(a=np.nan))
    assert (Served(averaged, X).predict(rows) == plain).all()


def test_a_bad_number_is_named_and_no_good_one(averaged):
    """Text that is a number can be read; the other cannot."""
    rows = X[:4].astype({"a": object})
    rows.loc[0, "a"], rows.loc[1, "a"] = "158.0", "lost"
    rows.loc[0:1, "b"] = np.nan
    with pytest.raises(ValueError, match="now it holds 'lost'"):
        averaged.predict(rows)


@pytest.mark.parametrize(
    "model",
    [
        AverageOverMissing(HistGradientBoostingClassifier()),
        AverageOverMissing(),
        DropoutLogisticRegression(),
    ],
    ids=str,
)
def test_times_among_the_features(model):
    """It was an error about the promotion of types."""
    rows = X[["a"]].assign(day=np.arange(N).astype("datetime64[us]"))
    with pytest.raises(TypeError, match="Column 'day' of X holds times, which are no"):
        model.fit(rows, Y)


DAYS = np.datetime64("2024-01-01", "us") + np.arange(N).astype("timedelta64[D]")
ONLY_TIMES = {
    "times": pd.DataFrame({"a": DAYS}),
    "with a time zone": pd.DataFrame({"a": pd.Series(DAYS).dt.tz_localize("UTC")}),
    "durations": pd.DataFrame({"a": DAYS - DAYS[0]}),
    "polars": pl.DataFrame({"a": DAYS}),
    "array": DAYS[:, None],
}


@pytest.mark.parametrize("times", ONLY_TIMES)
@pytest.mark.parametrize(
    "model",
    [
        AverageOverMissing(HistGradientBoostingClassifier()),
        ConformalRegressor(LinearRegression()),
        DropoutLogisticRegression(),
        PartitionEnsemble(LogisticRegression()),
        ReducedModels(LogisticRegression()),
    ],
    ids=str,
)
def test_nothing_but_times(model, times):
    """They were read as nanoseconds."""
    rows, y = ONLY_TIMES[times], np.arange(N) % 2
    name = 0 if times == "array" else "a"
    words = f"Column {name!r} of X holds times, which are no numbers"
    with pytest.raises(TypeError, match=words):
        model.fit(rows, y)
    numbers = X[["a"]]
    fitted = model.fit(numbers.to_numpy() if times == "array" else numbers, y)
    with pytest.raises(TypeError, match=words):
        fitted.predict(rows)


def test_a_step_may_turn_times_into_numbers():
    def days(rows):
        return (rows - DAYS[0]) / np.timedelta64(1, "D")

    rows = ONLY_TIMES["times"]
    base = make_pipeline(FunctionTransformer(days), LogisticRegression())
    model = AverageOverMissing(base, "donors").fit(rows, np.arange(N) >= N // 2)
    assert model.predict(rows[::59]).tolist() == [False, True]


@pytest.mark.parametrize("nothing", [None, np.nan, pd.NA])
@pytest.mark.parametrize(
    "model",
    [AverageOverMissing(pipeline()), ReducedModels(pipeline()),
     make_pipeline(TableEncoder(), DropoutLogisticRegression())],
    ids=["averaged", "reduced", "dropout"],
)  # fmt: skip
def test_a_missing_class_is_named(model, nothing):
    y = Y.astype(object)
    y[3] = nothing
    with pytest.raises(
        ValueError, match="y is missing in 1 of 60 rows, first in row 3"
    ):
        model.fit(X, y)


def test_a_missing_quantity_is_named():
    y = np.arange(60.0)
    y[[3, 5]] = np.nan
    model = AverageOverMissing(LinearRegression())
    for rows in (X[["a", "b"]], X[["a", "b"]].to_numpy()):
        for one in (model, DropoutRidge(), DropoutLogisticRegression()):
            for targets in (y, y.tolist(), pd.Series(y)):
                with pytest.raises(ValueError, match="y is missing in 2 of 60 rows, f"):
                    one.fit(rows, targets)
        with pytest.raises(ValueError, match="y is missing in 2 of 60 rows"):
            model.fit(rows, np.column_stack([y, y]))


def test_a_fitted_model_without_targets():
    fitted = pipeline().fit(X, Y)
    for rows in (X, X[["a"]].to_numpy()):
        with pytest.raises(ValueError, match=r"requires y .*FrozenEstimator\(model\)"):
            AverageOverMissing(fitted).fit(rows)
