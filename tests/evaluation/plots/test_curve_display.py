"""The picture shows the numbers of the curve."""

import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression

from noiseproof import DropoutSVC
from noiseproof.attacks import FeatureDeletion
from noiseproof.evaluation import RobustnessCurveDisplay, robustness_curve

plt = pytest.importorskip("matplotlib.pyplot")
plt.switch_backend("Agg")


@pytest.fixture(autouse=True)
def _close_figures():
    yield
    plt.close("all")


@pytest.fixture
def call(rng):
    X = rng.normal(size=(60, 5))
    y = (X @ rng.normal(size=5) > 0).astype(int)
    models = {"svc": DropoutSVC().fit(X, y), "plain": LogisticRegression().fit(X, y)}
    return {"models": models, "X": X, "y": y}


def test_lines_and_bands_are_means_and_intervals(call):
    levels = [0.6, 0.0, 0.3]  # drawn from left to right all the same
    curve = robustness_curve(**call, perturb="delete", levels=levels, random_state=0)
    display = RobustnessCurveDisplay.from_curve(curve)
    low, high = curve.interval
    order = [1, 2, 0]
    for i, line in enumerate(display.lines_):
        assert np.array_equal(line.get_xdata(), [0.0, 0.3, 0.6])
        assert np.array_equal(line.get_ydata(), curve.mean[i, order])
        corners = display.bands_[i].get_paths()[0].vertices
        assert corners[:, 1].min() == low[i].min()
        assert corners[:, 1].max() == high[i].max()


def test_axes_and_legend_say_what_is_shown(call):
    display = RobustnessCurveDisplay.from_estimators(
        **call, perturb="delete_count", levels=[0, 2], scoring="f1_macro", n_repeats=2
    )
    assert (
        display.ax_.get_xlabel()
        == "values replaced by zero per row (the model is not told)"
    )
    assert display.ax_.get_ylabel() == "f1 macro"
    legend = display.ax_.get_legend()
    assert [text.get_text() for text in legend.get_texts()] == ["svc", "plain"]
    assert legend.get_title().get_text() == "mean, 95% interval"
    assert display.curve.n_repeats == 2
    styles = {(line.get_color(), line.get_linestyle()) for line in display.lines_}
    assert len(styles) == 2


def test_axes_of_ones_own_are_used(call):
    figure, ax = plt.subplots()
    display = RobustnessCurveDisplay.from_estimators(
        **call, perturb=FeatureDeletion(), levels=[0, 1], ax=ax
    )
    assert display.ax_ is ax
    assert display.figure_ is figure
    assert display.bands_ == []  # an attack leaves nothing to chance
    assert ax.get_xlabel() == "budget of FeatureDeletion"
    again = display.plot()
    assert again is display
    assert display.ax_ is not ax
