import numpy as np
import pandas as pd
import pytest
from sklearn.ensemble import RandomForestClassifier
from sklearn.linear_model import LinearRegression

from noiseproof import AverageOverMissing
from noiseproof.evaluation import acquisition_curve
from noiseproof.noise import Missing


def table(n=1500, seed=0):
    """Which of two columns decides depends on the third."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 5))
    X[:, 2] = rng.integers(0, 2, n)
    decides = np.where(X[:, 2] > 0.5, X[:, 0], X[:, 1])
    return X, (decides > 0).astype(int)


@pytest.fixture(scope="module")
def case():
    X, y = table()
    forest = RandomForestClassifier(50, random_state=0)
    model = AverageOverMissing(forest, "donors", random_state=0).fit(X, y)
    X, y = table(400, seed=1)
    Z = X.copy()
    Z[:, [0, 1, 3, 4]] = np.nan
    return model, Z, X, y


def test_the_right_value_of_each_row_is_bought_first(case):
    model, Z, X, y = case
    curve = acquisition_curve(model, Z, X, y)
    assert curve.scores.shape == (3, 21)
    assert np.all(curve.scores[:, 0] == model.score(Z, y))
    assert np.all(curve.scores[:, -1] == model.score(X, y))
    assert curve.spent[-1] == pytest.approx(4.0)
    quarter = np.searchsorted(curve.spent, 1.0)
    by_value, by_importance, at_random = curve.scores[:, quarter]
    # one value of each row is enough if it is the right one
    assert by_value > curve.scores[0, -1] - 0.05
    assert by_importance < by_value - 0.1
    assert at_random < by_value - 0.1
    areas = curve.areas
    assert areas["value"] > areas["importance"] > areas["random"] - 0.05
    needed = curve.needed(0.05)
    assert needed["value"] <= 1.0 < needed["importance"]


def test_prices_count(case):
    model, Z, X, y = case
    curve = acquisition_curve(model, Z, X, y, costs={"x0": 10.0})
    assert curve.spent[-1] == pytest.approx(13.0)
    same = acquisition_curve(model, Z, X, y, costs=[10.0, 1, 1, 1, 1])
    np.testing.assert_array_equal(same.scores, curve.scores)
    assert curve.areas["value"] > curve.areas["random"]


def test_importance_does_not_see_the_labels_of_the_rows(case):
    model, Z, X, y = case
    own, other = (acquisition_curve(model, Z, X, one) for one in (y, 1 - y))
    # all predictions that were right are wrong now, and nothing else has changed
    np.testing.assert_allclose(other.scores, 1 - own.scores)


def test_regressors_and_frames():
    X, _ = table(800)
    y = X @ [3.0, 1.0, 0.0, 0.0, 0.0]
    frame = pd.DataFrame(X, columns=list("abcde"))
    model = AverageOverMissing(LinearRegression(), "joint-gaussian").fit(frame, y)
    Z = Missing(0.6).sample(frame[:200], rng=0)
    curve = acquisition_curve(model, Z, frame[:200], y[:200], n_steps=10)
    assert curve.scoring == "-squared_error"
    assert curve.scores[0, -1] == pytest.approx(0.0, abs=1e-9)
    assert curve.areas["value"] > curve.areas["random"]
    assert set(curve.to_dict()) == {"order", "spent", "score"}


def test_what_cannot_work_is_said_in_a_sentence(case):
    model, Z, X, y = case
    for arguments, words in (
        ((Z, Z, y), "X_complete has missing values"),
        ((X, X, y), "nothing to find out"),
        ((Z, X[1:], y), "as many rows"),
    ):
        with pytest.raises(ValueError, match=words):
            acquisition_curve(model, *arguments)
    with pytest.raises(ValueError, match="'age', which is not a column"):
        acquisition_curve(model, Z, X, y, costs={"age": 1.0})
    with pytest.raises(ValueError, match="costs must be positive"):
        acquisition_curve(model, Z, X, y, costs=[0, 1, 1, 1, 1])
    for price in (np.inf, np.nan):
        with pytest.raises(ValueError, match="costs must be positive and finite"):
            acquisition_curve(model, Z, X, y, costs={"x0": price})
    with pytest.raises(ValueError, match="y has none of the classes of the model"):
        acquisition_curve(model, Z, X, np.where(y == 1, "yes", "no"))
