"""Real clusters: schedulers and workers as processes of their own, over TCP."""

import contextlib
import threading
import time

import numpy as np
import pytest

dask = pytest.importorskip("dask")
distributed = pytest.importorskip("distributed")

from clusters import Cluster  # noqa: E402
from in_blocks import blocks, even  # noqa: E402
from sklearn.base import clone  # noqa: E402

from noiseproof import DropoutLogisticRegression, DropoutSVC  # noqa: E402
from noiseproof._rows import ClusterError  # noqa: E402

SIZES = even(1200, 6)
MODEL = DropoutSVC(0.2, tol=1e-9)
LONG = DropoutLogisticRegression(0.2, tol=1e-12, solver="lbfgs", warm_start=True)
pytestmark = [
    pytest.mark.whole,
    pytest.mark.filterwarnings("ignore::ResourceWarning"),
]


@pytest.fixture
def cluster(tmp_path):
    made = Cluster(tmp_path)
    yield made
    made.close()


@pytest.fixture
def data():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(1200, 40))
    y = X @ rng.normal(size=40) + 5 * rng.normal(size=1200) > 0
    return blocks(X, SIZES), blocks(y, SIZES)


@pytest.fixture
def reference(data):
    """The model fitted without a cluster: to be named before one is there."""
    with dask.config.set(scheduler="synchronous"):
        return clone(MODEL).fit(*data)


def _kill_at_random(cluster, kills, until):
    """Kill a worker every now and then, and start another in its place."""
    rng = np.random.default_rng(kills)
    for _ in range(kills):
        time.sleep(rng.uniform(0.05, 0.6))
        cluster.kill(cluster.workers[0])
        cluster.add()
    until.set()


def _check_kills(cluster, data, reference, kills):
    done, fits = threading.Event(), 0
    killer = threading.Thread(target=_kill_at_random, args=(cluster, kills, done))
    killer.start()
    while not done.is_set() or not fits:
        fitted = clone(MODEL).fit(*data)
        assert np.array_equal(fitted.coef_, reference.coef_)
        assert np.array_equal(fitted.objective_, reference.objective_)
        fits += 1
    killer.join()


def test_the_life_of_a_cluster(data, reference, cluster, monkeypatch):
    """All in one test, since to start workers is what takes the time."""
    _check_no_workers(data, monkeypatch)
    cluster.add()
    assert np.array_equal(clone(MODEL).fit(*data).coef_, reference.coef_)
    cluster.add(2)
    assert np.array_equal(clone(MODEL).fit(*data).coef_, reference.coef_)
    _check_kills(cluster, data, reference, kills=2)
    predicted = reference.predict(data[0]).compute()
    assert np.array_equal(predicted, reference.predict(data[0].compute()))
    _wait_until_empty(cluster.client)
    _check_interrupt(cluster, data, monkeypatch)
    _check_lost_scheduler(cluster, data, monkeypatch)


@pytest.mark.slow
def test_twenty_kills(data, reference, cluster):
    cluster.add(3)
    _check_kills(cluster, data, reference, kills=20)


def _wait_until_empty(client):
    """Wait until nothing of a fit is left on the cluster."""
    for _ in range(100):
        if not client.who_has():
            return
        time.sleep(0.05)
    raise AssertionError(client.who_has())


def _check_no_workers(data, monkeypatch):
    from noiseproof._rows import blocks as module

    with monkeypatch.context() as patch:
        patch.setattr(module, "_PATIENCE", 0.2)
        patch.setattr(module, "_GLANCE", 0.1)
        with pytest.raises(ClusterError, match="has had no worker"):
            clone(MODEL).fit(*data)


def _check_interrupt(cluster, data, monkeypatch):
    def interrupt(step):
        if step == 3:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt), _at_each_step(monkeypatch, interrupt):
        clone(LONG).fit(*data)
    _wait_until_empty(cluster.client)


def _check_lost_scheduler(cluster, data, monkeypatch):
    def kill(step):
        if step == 3:
            cluster.kill(cluster.scheduler)

    # seconds in which the client tries to find the scheduler again
    monkeypatch.setattr(cluster.client, "_timeout", 1.0)
    kept, model = dask.persist(*data), clone(LONG)
    with (
        pytest.raises(ClusterError, match=r"scheduler is lost.*warm_start"),
        _at_each_step(monkeypatch, kill),
    ):
        model.fit(*data)
    assert model.coef_.any()
    with pytest.raises(ClusterError, match="kept by a Dask cluster that is gone"):
        clone(MODEL).fit(*kept)


@contextlib.contextmanager
def _at_each_step(monkeypatch, act):
    """Call `act` with the number of each step of a solver."""
    from noiseproof._stop import Stop

    tell = Stop.tell

    def told(self, step, *rest):
        answer = tell(self, step, *rest)
        act(step)
        return answer

    with monkeypatch.context() as patch:
        patch.setattr(Stop, "tell", told)
        yield
