import numpy as np
import pytest
from sklearn.ensemble import RandomForestClassifier
from sklearn.linear_model import LogisticRegression

from noiseproof import AverageOverMissing
from noiseproof.evaluation import value_of_cells
from noiseproof.evaluation.averaged import Averaged, Drawn
from noiseproof.evaluation.cell_values import certain_gains
from noiseproof.evaluation.value_corrections import ValueCorrection, _scale
from noiseproof.noise import Missing


def test_what_columns_are_worth_is_found():
    rng = np.random.default_rng(0)
    column, risks = rng.integers(4, size=20_000), rng.uniform(0.2, 1.0, 20_000)
    estimated = risks * np.array([0.1, 0.2, 0.3, 0.4])[column]
    estimated += 0.05 * rng.normal(size=20_000)
    worth = [0.2, 0.1, 0.3, 0.4]
    found = risks * np.array(worth)[column] + 0.1 * rng.normal(size=20_000)
    correction = ValueCorrection._fitted(estimated, found, risks, column, 4)
    np.testing.assert_allclose(correction.found, worth, atol=0.01)
    values = np.array([[0.1, 0.2, np.nan, 0.9]])
    expected = [0.2, 0.1, np.nan, 0.4 + 0.5 * 0.5]
    np.testing.assert_allclose(
        correction.of(values, np.ones(1))[0], expected, atol=0.02
    )


@pytest.mark.parametrize("factor", [0.5, 1.0, 2.0])
def test_the_scale_needs_rows_that_agree(factor):
    rng = np.random.default_rng(0)
    given = rng.uniform(0.1, 0.2, 2000)
    row = np.arange(2000) // 4
    noise = rng.normal(size=2000)
    exact = _scale(given, factor * given + 0.01 * noise, row)
    assert exact == pytest.approx(factor, rel=0.02)
    unsure = _scale(given[:8], (factor * given + 5.0 * noise)[:8], row[:8])
    assert abs(unsure - 1.0) < 0.8
    assert _scale(given, -given, row) == 0.1
    assert _scale(np.zeros(9), np.ones(9), np.arange(9)) == 1.0


def test_few_rows_correct_columns_little():
    rng = np.random.default_rng(0)
    estimated, column = np.full(12, 0.1), np.arange(12) % 3
    found = 0.1 + 0.5 * rng.normal(size=12)
    found += 0.1 - found.mean()
    correction = ValueCorrection._fitted(estimated, found, np.ones(12), column, 3)
    np.testing.assert_allclose(correction.found, 0.1, atol=0.01)


def test_columns_without_relation_are_worth_less():
    """A forest that has learned labels by heart expects to learn from any column."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(1500, 5))
    y = rng.random(1500) < 1 / (1 + np.exp(-X[:, 0]))
    forest = RandomForestClassifier(30, random_state=0)
    model = AverageOverMissing(forest, "donors", random_state=0)
    model.fit(X[:1000], y[:1000])
    Z = X[1000:].copy()
    Z[:, :3] = np.nan
    drawn = Drawn(Averaged.of(model), Z)
    plain = certain_gains(drawn, "log_loss", drawn.missing).mean(axis=0)[:3]
    values = value_of_cells(model, Z).mean(axis=0)[:3]
    assert values[1:].sum() / values[0] < plain[1:].sum() / plain[0]


def test_it_is_learned_once_for_each_fit_and_loss():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(400, 3))
    model = AverageOverMissing(LogisticRegression(), "donors", random_state=0)
    found = []
    for sign in (1, -1):
        model.fit(X, sign * X[:, 0] > 0)
        Z = Missing(0.5).sample(X[:20], rng=0)
        value_of_cells(model, Z)
        value_of_cells(model, Z, scoring="accuracy")
        for scoring in ("log_loss", "accuracy"):
            own = [
                ValueCorrection.learned(Averaged.of(model), scoring, None)
                for _ in range(2)
            ]
            assert own[0] is own[1]
            found.append(own[0])
    assert len(set(map(id, found))) == 4
