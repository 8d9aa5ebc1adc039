"""Columns that vanish: nobody sees them, and claims say what the rows say."""

from dataclasses import replace

import numpy as np
import pytest
from experiments.data import load
from experiments.filling import Means
from experiments.holes import Behind, reason, with_holes
from experiments.learners import boosting, linear
from experiments.tables import Table, divided
from experiments.vanishing import (
    AUTO,
    EXPERIMENT,
    LEAST,
    MOST,
    RANDOM,
    SINGLE,
    Contenders,
    relative,
    vanished,
)
from sklearn.base import clone
from sklearn.pipeline import make_pipeline

pytestmark = pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")

SIZES = replace(EXPERIMENT.sizes["tiny"], shares=(0.2, 0.6))


@pytest.fixture(scope="module")
def parts():
    return divided(load("heart-table", made=True), 100, 30, 0)


@pytest.fixture(scope="module")
def contenders(parts):
    return Contenders(parts.train, SIZES, 0)


def test_patterns_are_prefixes_of_an_order(parts):
    train = parts.train
    noise = np.random.default_rng(0).random(len(train.y))
    X = train.X.assign(noise=noise, leak=train.y * 1.0)
    found = vanished(Table(X, train.y), replace(SIZES, singles=3), 0)
    assert {order for order, _ in found} == {MOST, LEAST, RANDOM, SINGLE}
    assert found[MOST, 0.2] == [("leak",)]  # one column of seven
    assert found[LEAST, 0.2] == [("noise",)]
    for order in (MOST, LEAST, RANDOM):
        (few,), (many,) = found[order, 0.2], found[order, 0.6]
        assert len(many) == 4
        assert many[:1] == few
    alone = found[SINGLE, 0.0]
    assert len({name for (name,) in alone}) == 3
    assert found[RANDOM, 0.6] != vanished(Table(X, train.y), SIZES, 1)[RANDOM, 0.6]


def test_no_method_sees_the_columns_that_vanished(parts, contenders):
    gone = ("a", "word")
    X = parts.test.X
    other = X.assign(**{name: X[name].iloc[::-1].set_axis(X.index) for name in gone})
    first, second = (dict(contenders.asked(rows, gone)) for rows in (X, other))
    assert len(first) == 21
    assert AUTO in first
    for method, found in first.items():
        np.testing.assert_array_equal(found, second[method])
        np.testing.assert_allclose(found.sum(axis=1), 1.0)


def test_retrained_models_never_had_the_columns(parts, contenders):
    gone = ["b"]
    model = clone(linear(parts.train))
    model.fit(parts.train.X.drop(columns=gone), parts.train.y)
    wanted = model.predict_proba(parts.test.X.drop(columns=gone))
    found = dict(contenders.asked(parts.test.X, tuple(gone)))
    np.testing.assert_allclose(found["linear, retrained"], wanted)
    assert len(contenders.retrained) == len(
        {(name, columns) for name, columns in contenders.retrained}
    )


def _rows(errors):
    """Two splits of `heart` and of `abalone`, given the errors of the first."""
    names = (
        "boosting, mean fill", "boosting, KNNImputer", "boosting, own NaN",
        "boosting, averaged", "boosting, retrained", "linear, averaged",
        "linear, retrained", "linear, mean fill", "forest, averaged",
        "forest, retrained", "forest, mean fill", "kernel machine, averaged",
        "kernel machine, retrained", "kernel machine, mean fill", "auto",
    )  # fmt: skip
    return [
        {
            "data": data,
            "split": split,
            "order": MOST,
            "share": 0.2,
            "method": name,
            "score": 1 - error if measure == "accuracy" else error,
            "log_loss": None,
            "measure": measure,
            "table": f"{data}, {measure}",
            "case": "case",
        }
        for data, measure in (("electricity", "accuracy"), ("abalone", "RMSE"))
        for split in range(2)
        for name in names
        for error in [errors.get(name, 0.2) + 0.01 * split]
    ]


@pytest.mark.parametrize(
    ("errors", "verdicts"),
    [
        ({"auto": 0.1}, [True, True, True, True]),
        ({"boosting, averaged": 0.23}, [False, False, True, True]),  # of RMSE
        ({"linear, averaged": 0.1}, [True, False, True, True]),
        ({"auto": 0.24}, [True, False, False, False]),
        ({"auto": 0.22}, [True, False, False, True]),
        ({"auto": 0.1, "boosting, averaged": 0.3}, [False, True, True, True]),
    ],
)
def test_claims_are_computed(errors, verdicts):
    rows = _rows(errors)
    assert [claim.holds for claim in EXPERIMENT.claims(rows)] == verdicts


def test_the_picture_shows_ratios_of_errors():
    rows = _rows({"boosting, averaged": 0.4, "boosting, mean fill": 0.8})
    drawn, layout = EXPERIMENT.drawn(rows)
    found = {row["method"]: row[layout.value] for row in drawn}
    assert found["averaged"] == pytest.approx(0.405 / 0.205)
    assert found["mean fill"] == pytest.approx(0.805 / 0.205)
    assert found["auto"] == pytest.approx(1.0)


def test_tables_without_any_error_have_no_ratio():
    cases = {
        ("iris", MOST, 0.2): {"boosting, retrained": np.zeros(2), AUTO: np.ones(2)},
        ("heart", MOST, 0.2): {"boosting, retrained": np.ones(2), AUTO: np.ones(2)},
    }
    assert relative(cases) == [{"boosting, retrained": 1.0, AUTO: 1.0}]


def test_every_loss_is_listed():
    rows = _rows({"boosting, averaged": 0.3, "linear, mean fill": 0.1, "auto": 0.05})
    notes = EXPERIMENT.notes(rows)
    assert "standard error, 4 of 10:" in notes
    for line in (
        "electricity, most relevant first, 20 % | linear, averaged | 0.795 | "
        "linear, mean fill | 0.895 |",
        "abalone, most relevant first, 20 % | boosting, averaged | 0.305 | "
        "boosting, mean fill | 0.205 |",
    ):
        assert line in notes


@pytest.mark.parametrize("mechanism", ["mcar", "mar", "mnar", "blocks"])
def test_holes_are_alike_in_training_and_test_rows(parts, mechanism):
    noise = reason(mechanism, 0.4, parts.train.X.shape[1])
    found = with_holes(parts, noise, np.random.default_rng(0))
    gone = [part.X.isna() for part in found]
    assert [len(part) for part in gone] == [100, 30]
    shares = [part.mean() for part in gone]
    assert all(share.mean() == pytest.approx(0.4, abs=0.15) for share in shares)
    if mechanism == "mar":  # what drives the others is one column in both
        assert (shares[0] == 0).sum() == 1
        np.testing.assert_array_equal(shares[0] == 0, shares[1] == 0)
    if mechanism == "blocks":
        for part in gone:
            np.testing.assert_array_equal(part["a"], part["b"])
            assert (part["a"] != part["c"]).any()
    for part, whole in zip(found, parts, strict=True):
        assert part.X.equals(whole.X.mask(part.X.isna()))
        np.testing.assert_array_equal(part.y, whole.y)


def test_indicators_tell_where_training_rows_had_holes(parts):
    X, y = parts.train
    X = X.assign(a=X["a"].mask(y == 1), b=X["b"].mask(y == 0))
    told = Behind(boosting(parts.train, 20), Means().fit(X), indicators=True)
    np.testing.assert_array_equal(told.fit(X, y).answers(X, 2).argmax(axis=1), y)
    assert told.marked == ["a", "b"]
    plain = Behind(make_pipeline(boosting(parts.train, 20)), Means().fit(X)).fit(X, y)
    model = boosting(parts.train, 20).fit(Means().fit(X).filled(X)[0], y)
    np.testing.assert_allclose(
        plain.answers(X, 2), model.predict_proba(Means().fit(X).filled(X)[0])
    )


class Twice(Means):
    """Two imputations of rows with holes, and complete rows as they are."""

    def filled(self, X):
        return [X] if not X.isna().any(axis=None) else [X.fillna(0.0), X.fillna(1.0)]


def test_answers_are_means_over_imputations_in_training_or_later(parts):
    X, y = (parts.train.X[["a", "b"]], parts.train.y)
    holed, model = X.mask(X > 0), linear(parts.train)
    zero, one = (model_of(model, holed.fillna(x), y) for x in (0.0, 1.0))
    whole = model_of(model, X, y)
    for rows, later, pairs in [
        (X, X, [(whole, X)]),
        (X, holed, [(whole, holed.fillna(x)) for x in (0.0, 1.0)]),
        (holed, X, [(zero, X), (one, X)]),
        (holed, holed, [(zero, holed.fillna(0.0)), (one, holed.fillna(1.0))]),
    ]:
        found = Behind(model, Twice()).fit(rows, y).answers(later, 2)
        wanted = np.mean([m.predict_proba(table) for m, table in pairs], axis=0)
        np.testing.assert_allclose(found, wanted)


def model_of(model, X, y):
    return clone(model).fit(X, y)
