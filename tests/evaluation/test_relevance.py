"""How much a column tells about the target."""

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from sklearn.metrics import mutual_info_score

from noiseproof._rows import contain
from noiseproof.evaluation.relevance import relevance


def expected(a, b):
    """The same from scikit-learn, less what chance adds on average."""
    parts = len(np.unique(a)), len(np.unique(b))
    return mutual_info_score(a, b) - (parts[0] - 1) * (parts[1] - 1) / (2 * len(a))


def test_it_is_the_mutual_information_of_the_parts(rng):
    y = rng.choice(["u", "v", "w"], 400)
    number = rng.normal(size=400) + (y == "u")
    few = rng.integers(0, 5, 400)
    holes = np.where(rng.random(400) < 0.3 + 0.4 * (y == "v"), np.nan, few)
    word = np.where(rng.random(400) < 0.5, y, "x")
    frame = pd.DataFrame({"number": number, "few": few, "holes": holes, "word": word})
    tenth = np.searchsorted(np.quantile(number, np.arange(1, 10) / 10), number, "right")
    coded = [tenth, few, np.where(np.isnan(holes), -1, holes), word]
    found = relevance(contain(frame, "nan"), y)
    np.testing.assert_allclose(found, [expected(x, y) for x in coded], atol=1e-8)
    assert found.argmax() == 3


def test_quantities_and_sparse_rows(rng):
    X = rng.poisson(0.3, size=(500, 4)).astype(float)
    y = 3 * X[:, 1] + X[:, 2] + rng.normal(size=500)
    found = relevance(contain(X, "nan"), y)
    assert found.argsort().tolist()[2:] == [2, 1]
    stored = relevance(contain(sp.csr_array(X), "nan"), y)
    np.testing.assert_array_equal(stored, found)
    many = np.argsort(np.argsort(y)).astype(int)  # whole numbers may be a quantity, too
    np.testing.assert_allclose(relevance(contain(X, "nan"), many), found)


def test_names_that_never_repeat_tell_nothing(rng):
    """Their raw mutual information would be all there is to know."""
    y = rng.integers(0, 2, 300)
    frame = pd.DataFrame(
        {"name": [f"n{i}" for i in range(300)], "x": y + rng.random(300)}
    )
    name, x = relevance(contain(frame, "nan"), y)
    assert name < 0.25 < x


def test_chance_alone_is_zero_on_average(rng):
    X, y = rng.normal(size=(300, 200)), rng.integers(0, 3, 300)
    found = relevance(contain(X, "nan"), y)
    assert abs(found.mean()) < 4 * found.std() / np.sqrt(200)
    assert found.mean() == pytest.approx(0, abs=0.005)
