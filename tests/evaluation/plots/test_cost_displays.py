"""Displays of costs show what the results say."""

import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression

from noiseproof import AverageOverMissing
from noiseproof.evaluation import (
    AcquisitionDisplay,
    MissingCostDisplay,
    acquisition_curve,
    missing_cost,
)
from noiseproof.noise import Missing

matplotlib = pytest.importorskip("matplotlib")


@pytest.fixture(autouse=True)
def _no_windows():
    import matplotlib.pyplot as plt

    plt.switch_backend("agg")
    yield
    plt.close("all")


@pytest.fixture(scope="module")
def case():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(400, 4))
    y = (X @ [2.0, 1.0, 0.5, 0.0] > 0).astype(int)
    model = AverageOverMissing(LogisticRegression(), "donors", random_state=0)
    return (
        model.fit(X[:300], y[:300]),
        Missing(0.5).sample(X[300:], 0),
        X[300:],
        y[300:],
    )


def test_bars_are_the_costs_of_columns(case):
    model, Z, *_ = case
    display = MissingCostDisplay.from_estimator(model, Z, top=3, random_state=0)
    found = missing_cost(model, Z, random_state=0)
    widths = [bar.get_width() for bar in display.bars_]
    np.testing.assert_allclose(widths, [e.value for e in found.by_column.values()][:3])
    labels = [text.get_text() for text in display.ax_.get_yticklabels()]
    first = next(iter(found.by_column))
    assert labels[0] == f"{first} ({found.missing[first]:.0%} missing)"
    assert display.ax_.get_title(loc="right") == found.verdict


def test_batches_are_lines(case):
    model, Z, X, _ = case
    series = missing_cost(model, {"Mon": X, "Tue": Z})
    display = MissingCostDisplay(series).plot()
    today, complete = (line.get_ydata() for line in display.lines_)
    np.testing.assert_allclose(today, series.to_dict()["score"])
    np.testing.assert_allclose(complete, series.to_dict()["complete_score"])
    labels = [text.get_text() for text in display.ax_.get_xticklabels()]
    assert labels == ["Mon", "Tue"]
    assert "Mon" in series._repr_html_()


def test_curves_are_lines(case):
    display = AcquisitionDisplay.from_estimator(*case, n_steps=4)
    curve = acquisition_curve(*case, n_steps=4)
    for line, scores in zip(display.lines_, curve.scores, strict=True):
        np.testing.assert_allclose(line.get_ydata(), scores)
    assert display.ax_.get_xlabel() == "amount spent per row"
