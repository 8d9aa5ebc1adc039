"""Displays show what the results say, and say what they show."""

import subprocess
import sys

import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression, RidgeClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from noiseproof._charts import COLOURS
from noiseproof.attacks import NormBall
from noiseproof.evaluation import (
    CertificateDisplay,
    FragilityDisplay,
    certify,
    feature_fragility,
)

matplotlib = pytest.importorskip("matplotlib")


@pytest.fixture(autouse=True)
def _no_windows():
    import matplotlib.pyplot as plt

    plt.switch_backend("agg")
    yield
    plt.close("all")


@pytest.fixture
def fitted(rng):
    X = rng.normal(size=(60, 5))
    y = (X @ rng.normal(size=(5, 3))).argmax(axis=1)
    models = {"ridge": RidgeClassifier(), "logistic": LogisticRegression()}
    return {name: model.fit(X, y) for name, model in models.items()}, X, y


def test_certificates_are_drawn_as_steps(fitted):
    models, X, y = fitted
    display = CertificateDisplay.from_estimators(models, X, y)
    legend = [text.get_text() for text in display.ax_.get_legend().get_texts()]
    assert legend == list(models)
    for line, model in zip(display.lines_, models.values(), strict=True):
        at, share = line.get_data()
        np.testing.assert_allclose(share, certify(model, X, y).accuracy_at(at))
        assert line.get_drawstyle() == "steps-post"
    assert display.ax_.get_xlabel() == "budget of the adversary (features)"
    assert display.ax_.get_ylabel() == "certified accuracy"
    assert [line.get_color() for line in display.lines_] == list(COLOURS[:2])
    assert len({line.get_linestyle() for line in display.lines_}) == 2


def test_certificates_draw_on_the_axes_given(fitted):
    import matplotlib.pyplot as plt

    models, X, _ = fitted
    figure, ax = plt.subplots()
    found = certify(models["ridge"], X, None)
    display = CertificateDisplay(found).plot(ax, max_budget=2)
    assert display.figure_ is figure
    assert ax.get_xlim() == (0, 2)
    assert ax.get_ylabel() == "predictions unchanged"
    assert ax.get_legend() is None


def test_certificates_of_different_kinds_do_not_mix(fitted):
    models, X, y = fitted
    model = models["ridge"]
    both = {"a": certify(model, X, y), "b": certify(model, X, y, attack=NormBall())}
    with pytest.raises(ValueError, match="must count the same"):
        CertificateDisplay(both).plot()


def test_bars_show_the_most_costly_features(fitted):
    models, X, y = fitted
    found = feature_fragility(models["ridge"], X, y)
    display = FragilityDisplay(found).plot(top=3)
    widths = [bar.get_width() for bar in display.bars_]
    np.testing.assert_allclose(widths, found.cost[:3])
    shown = [text.get_text() for text in display.ax_.get_yticklabels()]
    assert shown == list(found.names[:3])
    assert display.ax_.get_title() == "Cost of losing each feature, the 3 most costly"
    assert display.ax_.yaxis_inverted()


def test_groups_and_options_reach_the_measurement(fitted):
    models, X, y = fitted
    groups = {"left": [0, 1], "right": [2, 3, 4]}
    display = FragilityDisplay.from_estimator(
        models["logistic"], X, y, groups=groups, scoring="balanced_accuracy"
    )
    assert set(display.fragility.names) == set(groups)
    assert "balanced_accuracy lost" in display.ax_.get_xlabel()


def test_without_matplotlib_one_sentence_names_the_extra():
    code = (
        "import sys; sys.modules['matplotlib'] = None\n"
        "sys.modules['matplotlib.pyplot'] = None\n"
        "import numpy as np\n"
        "from noiseproof.evaluation import CertificateDisplay, Certificates\n"
        "one = np.ones(2, dtype=bool)\n"
        "found = Certificates(np.ones(2), one, one, one, 'features')\n"
        "try: CertificateDisplay(found).plot()\n"
        "except ImportError as error: print(error)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert "pip install 'noiseproof[plot]'" in done.stdout


def test_features_are_counted_in_whole_numbers_and_the_last_step_is_seen(rng):
    """A scaled pipeline often falls with the first feature that reads as zero."""
    X = rng.normal(10.0, 1.0, size=(60, 3))
    y = X[:, 0] > 10
    model = make_pipeline(StandardScaler(), LogisticRegression()).fit(X, y)
    display = CertificateDisplay.from_estimators(model, X, y)
    ticks = display.ax_.get_xticks()
    assert np.array_equal(ticks, np.round(ticks))
    heights = display.lines_[0].get_ydata()
    assert heights[0] > heights[-1]
    assert display.ax_.get_xlim()[1] >= 2
