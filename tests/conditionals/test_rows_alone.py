"""What is said about a row depends on that row, and on the set of training rows.

Tables of small whole numbers, half of them missing, have ties wherever one looks: many
training rows are equally far, and answers lie on the thresholds of trees.
"""

import os
import subprocess
import sys

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.ensemble import RandomForestClassifier
from sklearn.linear_model import LogisticRegression, Ridge
from sklearn.naive_bayes import GaussianNB
from sklearn.svm import SVC

from noiseproof import AverageOverMissing
from noiseproof.conditionals import Donors, JointGaussian

LAWS = [
    Donors(),
    Donors(corrected=False),
    Donors(n_donors=3, bandwidth=0.5),
    JointGaussian(),
    JointGaussian(rank=2),
]
MODELS = [
    LogisticRegression(),
    GaussianNB(),
    SVC(),
    RandomForestClassifier(10, random_state=0),
    Ridge(),
]
every_law = pytest.mark.parametrize("law", LAWS, ids=repr)
seeds = given(seed=st.integers(0, 10_000))
few = settings(max_examples=8, deadline=None)


def tables(seed, n=120, m=40, d=5):
    """Training rows of 0, 1 and 2, their classes, and rows of which half is missing."""
    rng = np.random.default_rng(seed)
    factor = rng.integers(0, 3, size=(n + m, 1))
    own = rng.integers(0, 3, size=(n + m, d))
    X = np.where(rng.random((n + m, d)) < 0.5, factor, own).astype(float)
    y = (X[:, 0] + X[:, 1] + rng.random(n + m) > 2.5).astype(int)
    Q = np.where(rng.random((m, d)) < 0.5, np.nan, X[n:])
    return X[:n], y[:n], Q


def one_by_one(ask, Q):
    return np.concatenate([ask(row[None]) for row in Q])


def drawn(law, Q):
    """Sorted draws that weigh something, for each row."""
    rows, weights, origin = law.draws(Q)
    kept = weights > 1e-12
    table = np.column_stack([origin, weights, rows])[kept]
    return table[np.lexsort(np.round(table, 9).T[::-1])]


@every_law
@seeds
@few
def test_a_row_alone_and_among_others(law, seed):
    X, _, Q = tables(seed)
    law.fit(X)
    np.testing.assert_allclose(one_by_one(law.mean, Q), law.mean(Q), rtol=0, atol=1e-12)
    rows, weights, _ = law.draws(Q)
    alone = [law.draws(row[None]) for row in Q]
    np.testing.assert_array_equal(rows, np.concatenate([one.rows for one in alone]))
    np.testing.assert_array_equal(
        weights, np.concatenate([one.weights for one in alone])
    )
    order = np.random.default_rng(seed).permutation(len(Q))
    np.testing.assert_allclose(law.mean(Q[order]), law.mean(Q)[order], atol=1e-12)


def test_many_rows_alone_and_among_others():
    """As many as make BLAS and partial sorts take other ways."""
    X, _, Q = tables(0, n=3000, m=300, d=10)
    for law in (Donors(), Donors(corrected=False), JointGaussian()):
        law.fit(X)
        np.testing.assert_allclose(one_by_one(law.mean, Q), law.mean(Q), atol=1e-12)


@every_law
@seeds
@few
def test_the_order_of_training_rows(law, seed):
    X, _, Q = tables(seed)
    other = np.random.default_rng(seed).permutation(X)
    one, two = law.fit(X).mean(Q), law.fit(other).mean(Q)
    np.testing.assert_allclose(one, two, rtol=0, atol=1e-9)


@every_law
@seeds
@few
def test_the_order_of_columns(law, seed):
    X, _, Q = tables(seed)
    order = np.random.default_rng(seed).permutation(X.shape[1])
    one = law.fit(X).mean(Q)
    if getattr(law, "bandwidth", None) == "auto":  # masks would fall on other cells
        law = Donors(corrected=law.corrected, bandwidth=law.bandwidth_)
        one = law.fit(X).mean(Q)
    two = law.fit(X[:, order]).mean(Q[:, order])
    np.testing.assert_allclose(one[:, order], two, rtol=0, atol=1e-9)


@pytest.mark.parametrize("corrected", [True, False])
@seeds
@few
def test_the_order_of_training_rows_and_columns_leaves_the_draws(corrected, seed):
    X, _, Q = tables(seed)
    law, rng = Donors(bandwidth=0.7, corrected=corrected), np.random.default_rng(seed)
    one = drawn(law.fit(X), Q)
    np.testing.assert_allclose(drawn(law.fit(rng.permutation(X)), Q), one, atol=1e-9)
    order = rng.permutation(X.shape[1])
    back = np.concatenate([[0, 1], 2 + np.argsort(order)])
    law.fit(X[:, order])
    rows, weights, origin = law.draws(Q[:, order])
    table = np.column_stack([origin, weights, rows])[:, back][weights > 1e-12]
    table = table[np.lexsort(np.round(table, 9).T[::-1])]
    np.testing.assert_allclose(table, one, atol=1e-9)


@pytest.mark.parametrize("model", MODELS, ids=repr)
@pytest.mark.parametrize("law", [LAWS[0], LAWS[1], LAWS[3]], ids=repr)
@given(seed=st.integers(0, 10_000))
@settings(max_examples=3, deadline=None)
def test_averages_of_a_row_alone_and_among_others(model, law, seed):
    X, y, Q = tables(seed)
    fitted = AverageOverMissing(model, law, random_state=0).fit(X, y)
    order = np.random.default_rng(seed).permutation(len(Q))
    for method in ("predict", "predict_proba", "decision_function"):
        if hasattr(fitted, method):
            ask = getattr(fitted, method)
            together = ask(Q)
            np.testing.assert_allclose(one_by_one(ask, Q), together, rtol=0, atol=1e-9)
            np.testing.assert_allclose(ask(Q[order]), together[order], atol=1e-9)
    if isinstance(model, Ridge):
        _, std = fitted.predict(Q, return_std=True)
        alone = [fitted.predict(row[None], return_std=True)[1] for row in Q]
        np.testing.assert_allclose(np.concatenate(alone), std, atol=1e-7)


@pytest.mark.parametrize("law", [LAWS[0], LAWS[1], LAWS[3]], ids=repr)
@seeds
@few
def test_averages_do_not_depend_on_the_order_of_training_rows(law, seed):
    X, y, Q = tables(seed)
    model = LogisticRegression(tol=1e-10, max_iter=1000)
    order = np.random.default_rng(seed).permutation(len(X))
    one, two = (
        AverageOverMissing(model, law).fit(X[some], y[some]).predict_proba(Q)
        for some in (slice(None), order)
    )
    np.testing.assert_allclose(one, two, rtol=0, atol=1e-6)


def test_exact_distances_whatever_the_range(rng):
    """Squares of rounded features, summed in whole numbers by Python."""
    for X in (
        rng.normal(size=(50, 3)),
        rng.integers(0, 3, size=(80, 9)) * 1.0,
        rng.standard_cauchy(size=(60, 7)) * 10.0 ** np.arange(7),
    ):
        law = Donors().fit(X)
        Q = np.where(rng.random(X[:20].shape) < 0.5, np.nan, X[:20] * 1.3)
        grid, limit = law._grid(), 2 ** law._bits()
        cells = law.cells_

        def whole(z, cells=cells, grid=grid):
            return [round(v) for v in (z - cells.means) * (1 / (cells.scales * grid))]

        theirs = [whole(row) for row in law.rows_]
        found = law._squares(Q, grid)
        for i, row in enumerate(Q):
            seen = np.flatnonzero(~np.isnan(row))
            own = whole(np.where(np.isnan(row), 0.0, row))
            own = [min(max(v, -limit), limit) for v in own]
            size = sum(own[j] ** 2 for j in seen)  # the same for all training rows
            exact = [sum((own[j] - x[j]) ** 2 for j in seen) for x in theirs]
            assert [int(v) + size for v in found[i]] == exact
        assert max(abs(v) for x in theirs for v in x) <= limit


def test_nothing_observed_is_answered_by_all_training_rows(rng):
    X = rng.integers(0, 3, size=(300, 4)) + rng.normal(size=4)
    Q = np.full((3, 4), np.nan)
    Q[1, 0] = X[0, 0]
    for law in (Donors(), Donors(corrected=False)):
        law.fit(X)
        np.testing.assert_allclose(law.mean(Q)[[0, 2]], [X.mean(axis=0)] * 2)
        rows, weights, origin = law.draws(Q)
        for i in (0, 2):
            assert sorted(map(tuple, rows[origin == i])) == sorted(map(tuple, X))
            np.testing.assert_allclose(weights[origin == i], 1 / 300)
        assert np.bincount(law.draws(Q, 7).origin).tolist() == [7, 7, 7]
    y = X[:, 0] - X[:, 2] ** 2
    model = AverageOverMissing(GaussianNB(), law).fit(X, y > np.median(y))
    expected = model.estimator_.predict_proba(X).mean(axis=0)
    np.testing.assert_allclose(model.predict_proba(Q)[[0, 2]], [expected] * 2)
    model = AverageOverMissing(Ridge(), law).fit(X, y)
    mean, std = model.predict(Q, return_std=True)
    answers = model.estimator_.predict(X)
    np.testing.assert_allclose(mean[[0, 2]], answers.mean())
    np.testing.assert_allclose(std[[0, 2]], answers.std(ddof=1))


def test_nothing_observed_in_a_table_of_words():
    frame = pd.DataFrame({"is": ["cat"] * 30 + ["dog"] * 31, "kg": np.arange(61.0)})
    nothing = pd.DataFrame({"is": [None], "kg": [np.nan]})
    filled = Donors().fit(frame).mean(nothing)
    assert filled["is"][0] == "dog"
    assert filled["kg"][0] == pytest.approx(30.0)


_ANSWERS = """
import sys
import numpy as np
from sklearn.ensemble import RandomForestClassifier
from sklearn.linear_model import LogisticRegression
from noiseproof import AverageOverMissing
from noiseproof.conditionals import Donors, JointGaussian

rng = np.random.default_rng(0)
X = rng.integers(0, 3, size=(300, 6)) * 1.0
y = (X[:, 0] + X[:, 1] > 2).astype(int)
Q = np.where(rng.random(X.shape) < 0.5, np.nan, X)
found = []
for law in (Donors(), Donors(corrected=False), JointGaussian(), JointGaussian(rank=2)):
    found.append(law.fit(X).draws(Q, 5).rows)
    for model in (LogisticRegression(), RandomForestClassifier(10, random_state=0)):
        fitted = AverageOverMissing(model, law, random_state=0).fit(X, y)
        found.append(fitted.predict_proba(Q))
np.savez(sys.argv[1], *found)
"""


def test_other_processors_say_the_same(tmp_path):
    """What BLAS and NumPy do on processors without wide vectors."""
    settings = [
        {},
        {
            "OPENBLAS_CORETYPE": "Prescott",
            "NPY_DISABLE_CPU_FEATURES": "AVX2 FMA3 X86_V3 X86_V4",
        },
    ]
    found = []
    for i, setting in enumerate(settings):
        path = tmp_path / f"{i}.npz"
        result = subprocess.run(
            [sys.executable, "-W", "ignore", "-c", _ANSWERS, str(path)],
            env={**os.environ, **setting},
            capture_output=True,
            text=True,
        )
        assert result.returncode == 0, result.stderr
        found.append(np.load(path))
    for name in found[0].files:
        np.testing.assert_allclose(found[0][name], found[1][name], rtol=0, atol=1e-9)
