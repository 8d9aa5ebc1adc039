"""CSR matrices that no loop may trust: entries stored twice, indices out of range."""

import numpy as np
import pytest
import scipy.sparse as sp

from noiseproof import RobustLPClassifier, RobustPerceptron, mutual_info_values
from noiseproof.attacks import ATTACKS
from noiseproof.bounds import online_to_batch_risk, pac_bayes_risk

N, D = 40, 9


@pytest.fixture
def rows(rng):
    X = rng.uniform(-0.1, 0.1, size=(N, D)) * (rng.random((N, D)) < 0.6)
    return X, np.where(X.sum(axis=1) > 0, 1, -1)


def doubled(X):
    """The same rows, every entry stored as two, out of order."""
    X = sp.csr_array(X)
    parts = [0.25 * X.data, 0.75 * X.data]
    where = np.repeat(np.arange(X.shape[0]), np.diff(X.indptr))
    ends = np.concatenate([[0], np.cumsum(2 * np.diff(X.indptr))])
    data, columns = np.empty(2 * X.nnz), np.empty(2 * X.nnz, dtype=np.int32)
    for row in range(X.shape[0]):
        own = where == row
        data[ends[row] : ends[row + 1]] = np.concatenate([part[own] for part in parts])
        columns[ends[row] : ends[row + 1]] = np.tile(X.indices[own], 2)
    return sp.csr_array((data, columns, ends.astype(np.int32)), shape=X.shape)


def out_of_range(X, column):
    """A matrix with a column index that is none."""
    bad = sp.csr_array(X)
    bad.indices = bad.indices.copy()
    bad.indices[-1] = column
    return bad


def partial_fit(X, y):
    model = RobustPerceptron(1, C=0.5).partial_fit(X, y, classes=[-1, 1])
    return model.partial_fit(X, y).coef_


OPTIONS = {"budget": 1, "margin": 0.05, "C": 1.0}
USES = {
    "lp": lambda X, y: RobustLPClassifier(1).fit(X, y).coef_,
    "lp, values": lambda X, y: (
        RobustLPClassifier(1, feature_values="mutual_info").fit(X, y).coef_
    ),
    "lp, predict": lambda X, y: (
        RobustLPClassifier(1).fit(np.eye(D)[[*range(D)] * 2], [-1, 1] * D).predict(X)
    ),
    "perceptron": lambda X, y: RobustPerceptron(1, random_state=0).fit(X, y).coef_,
    "perceptron, partial_fit": partial_fit,
    "values": mutual_info_values,
    "pac-bayes": lambda X, y: (
        pac_bayes_risk(np.linspace(0, 1, D), X, y, **OPTIONS).empirical
    ),
    "online-to-batch": lambda X, y: online_to_batch_risk(0.1, X, **OPTIONS),
    **{
        f"{name}, {what}": lambda X, y, cls=cls, what=what: getattr(cls(), what)(
            X, y, np.linspace(-1, 1, D)
        )
        for name, cls in ATTACKS.items()
        for what in ("worst", "margin_drop")
    },
    **{
        f"{name}, copies": lambda X, y, cls=cls: cls().copies(X)[0]
        for name, cls in ATTACKS.items()
        if cls().is_finite and name != "union"
    },
}
every_use = pytest.mark.parametrize("use", USES.values(), ids=USES)


@every_use
def test_entries_stored_twice_are_added_up(use, rows):
    X, y = rows
    twice = doubled(X)
    assert not twice.has_canonical_format
    before = twice.data.copy()
    one, two = use(sp.csr_array(X), y), use(twice, y)
    if sp.issparse(one):
        one, two = one.toarray(), two.toarray()
    np.testing.assert_allclose(two, one, atol=1e-9)
    np.testing.assert_array_equal(twice.data, before)


@every_use
@pytest.mark.parametrize("column", [D, 2**31 - 1, -1])
def test_indices_out_of_range_are_refused(use, column, rows):
    X, y = rows
    with pytest.raises(ValueError, match="column index outside 0 to 8"):
        use(out_of_range(X, column), y)


def test_an_assumption_is_checked_on_the_sum_of_its_parts():
    X = sp.csr_array(([0.8, 0.8, 0.5], [0, 0, 1], [0, 2, 3]), shape=(2, 2))
    with pytest.raises(ValueError, match=r"one is 1\.6 in absolute value"):
        pac_bayes_risk([0.1, 0.1], X, [1, -1], budget=1)
    X.data[:2] = 0.4
    pac_bayes_risk([0.1, 0.1], X, [1, -1], budget=1)


def test_many_rows_with_entries_stored_twice_leave_memory_alone(rng):
    """A row with more entries than there are features once overran its buffer."""
    X = doubled(doubled(doubled(rng.normal(size=(60, 50)))))
    y = rng.choice([-1, 1], 60)
    model = RobustPerceptron(2)
    for _ in range(5):
        model.partial_fit(X, y, classes=[-1, 1])
    assert np.abs(model.coef_).max() <= 1


@pytest.mark.parametrize("weight", [-1.0, np.nan, np.inf])
def test_weights_of_rows_must_make_sense(weight, rows):
    X, y = rows
    weights = np.ones(N)
    weights[3] = weight
    with pytest.raises(ValueError, match=r"[Nn]egative|NaN|infinity"):
        mutual_info_values(X, y, sample_weight=weights)
    with pytest.raises(ValueError, match=r"[Nn]egative|NaN|infinity"):
        RobustLPClassifier().fit(X, y, sample_weight=weights)


def test_rows_that_all_weigh_nothing_are_refused(rows):
    X, y = rows
    with pytest.raises(ValueError, match="weight"):
        RobustLPClassifier().fit(X, y, sample_weight=np.zeros(N))
