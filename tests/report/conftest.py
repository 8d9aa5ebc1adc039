"""Five models judged on a few digits, once for all tests of the report."""

import pytest
from sklearn.datasets import load_digits
from sklearn.ensemble import RandomForestClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from noiseproof import DropoutLogisticRegression, DropoutSVC
from noiseproof.report import Plan, gather, render


@pytest.fixture(scope="session")
def digits():
    """Rows to train on, labels, rows to test on, labels."""
    X, y = load_digits(return_X_y=True)
    X = X / 16
    return X[:600], y[:600], X[600:800], y[600:800]


@pytest.fixture(scope="session")
def models(digits):
    X, y, *_ = digits
    found = {
        "plain": LogisticRegression(max_iter=1000),
        "scaled": make_pipeline(StandardScaler(), LogisticRegression(max_iter=1000)),
        "svc": DropoutSVC(0.3),
        "logistic": DropoutLogisticRegression(0.3),
        "forest": RandomForestClassifier(5, random_state=0),
    }
    return {name: model.fit(X, y) for name, model in found.items()}


@pytest.fixture(scope="session")
def plan():
    return Plan(
        levels=(0.0, 0.25, 0.5, 0.75),
        n_repeats=3,
        groups={"upper half": range(32), "lower half": range(32, 64)},
        settings={"command": "noiseproof report a.npf b.npf test.csv -o page.html"},
        training_rows=600,
        deleted_as="zero",
        space="model",
    )


@pytest.fixture(scope="session")
def summary(models, digits, plan):
    _, _, X, y = digits
    return gather(models, X, y, plan)


@pytest.fixture(scope="session")
def page(summary):
    return render(summary)
