"""What is no fit of blocks can use a cluster, too."""

import pickle

import joblib
import numpy as np
import pytest

distributed = pytest.importorskip("distributed")

from in_blocks import blocks  # noqa: E402
from sklearn.datasets import load_iris  # noqa: E402
from sklearn.linear_model import LogisticRegression  # noqa: E402

from noiseproof import AverageOverMissing  # noqa: E402
from noiseproof.evaluation import feature_fragility, robustness_curve  # noqa: E402

pytestmark = pytest.mark.filterwarnings("ignore::ResourceWarning")


@pytest.fixture
def client():
    """A cluster in this process, which takes little time to start."""
    options = {"dashboard_address": ":0", "n_workers": 1, "threads_per_worker": 2}
    with distributed.Client(processes=False, **options) as client:
        yield client


def test_curves_and_fragility_through_joblib(client):
    X, y = load_iris(return_X_y=True)
    model = LogisticRegression(max_iter=1000).fit(X, y)
    how = {"perturb": "delete", "levels": [0.2, 0.5], "n_repeats": 3, "random_state": 0}
    here = robustness_curve(model, X, y, **how).to_dict()
    fragile = feature_fragility(model, X, y).to_dict()
    with joblib.parallel_config(backend="dask"):
        there = robustness_curve(model, X, y, n_jobs=2, **how).to_dict()
        again = feature_fragility(model, X, y, n_jobs=2).to_dict()
    assert there == here
    assert again == fragile


def test_the_average_over_missing_cells_is_lazy(client, rng):
    X, y = load_iris(return_X_y=True)
    X[rng.random(X.shape) < 0.2] = np.nan
    model = AverageOverMissing(random_state=0).fit(X, y)
    lazy = blocks(X, [70, 80])
    for method in ("predict", "predict_proba"):
        answer = getattr(model, method)(lazy)
        assert answer.chunks[0] == (70, 80)
        np.testing.assert_allclose(answer.compute(), getattr(model, method)(X))


def test_progress_is_silent_in_another_process():
    from noiseproof.evaluation.progress import progress_bar

    seen = []
    with progress_bar(lambda done, total: seen.append(done), 2) as tick:
        pickle.loads(pickle.dumps(tick))()
        assert not seen
        tick()
    assert seen == [1]


@pytest.mark.slow
def test_curves_in_other_processes():
    """What work is sent to processes needs nothing of this one."""
    X, y = load_iris(return_X_y=True)
    model = LogisticRegression(max_iter=1000).fit(X, y)
    how = {"perturb": "delete", "levels": [0.5], "n_repeats": 2, "random_state": 0}
    here = robustness_curve(model, X, y, **how).to_dict()
    with joblib.parallel_config(backend="loky"):
        there = robustness_curve(model, X, y, n_jobs=2, **how).to_dict()
    assert there == here
