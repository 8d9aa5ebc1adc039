"""What is no fit of blocks can use a cluster, too."""

import json
import pickle

import joblib
import numpy as np
import pytest

distributed = pytest.importorskip("distributed")

from clusters import Cluster  # noqa: E402
from in_blocks import blocks  # noqa: E402
from sklearn.datasets import load_iris  # noqa: E402
from sklearn.linear_model import LogisticRegression  # noqa: E402

from noiseproof import AverageOverMissing, DropoutLogisticRegression  # noqa: E402
from noiseproof.evaluation import (  # noqa: E402
    certify,
    contest,
    feature_fragility,
    robustness_curve,
)

pytestmark = [
    pytest.mark.whole,
    pytest.mark.filterwarnings("ignore::ResourceWarning"),
]


@pytest.fixture(scope="module")
def cluster(tmp_path_factory):
    made = Cluster(tmp_path_factory.mktemp("cluster"))
    made.add(2)
    yield made
    made.close()


@pytest.fixture
def iris():
    return load_iris(return_X_y=True)


@pytest.fixture
def seen(cluster):
    """Tells whether the workers have run tasks since."""

    def tasks():
        counts = cluster.client.run(
            lambda dask_worker: dask_worker.state.executed_count
        )
        return sum(counts.values())

    start = tasks()
    return lambda: tasks() > start


def test_curves_and_fragility_through_joblib(cluster, iris, seen):
    X, y = iris
    model = LogisticRegression(max_iter=1000).fit(X, y)
    how = {"perturb": "delete", "levels": [0.2, 0.5], "n_repeats": 3, "random_state": 0}
    here = robustness_curve(model, X, y, **how).to_dict()
    fragile = feature_fragility(model, X, y).to_dict()
    with joblib.parallel_config(backend="dask"):
        there = robustness_curve(model, X, y, n_jobs=2, **how).to_dict()
        again = feature_fragility(model, X, y, n_jobs=2).to_dict()
    assert there == here
    assert again == fragile
    assert seen()


def test_certificates_through_joblib_and_by_blocks(cluster, iris, seen, monkeypatch):
    from noiseproof.evaluation import certificates

    monkeypatch.setattr(certificates, "_BLOCK", 100)  # 25 rows
    X, y = iris
    model = LogisticRegression(max_iter=1000).fit(X, y)
    here = certify(model, X, y)
    with joblib.parallel_config(backend="dask"):
        there = certify(model, X, y)
    assert seen()
    for name in ("budget", "exact", "prediction", "correct"):
        assert np.array_equal(getattr(there, name), getattr(here, name))
    assert np.array_equal(there.changes.toarray(), here.changes.toarray())
    lazy = blocks(X, [70, 80]).map_blocks(
        lambda rows: certify(model, rows, None).budget, drop_axis=1, dtype=float
    )
    assert np.array_equal(lazy.compute(), here.budget)


def test_a_contest_through_joblib(cluster, iris, seen):
    contenders = {
        "little": DropoutLogisticRegression(0.3),
        "never": LogisticRegression(C=-1.0),
        "much": DropoutLogisticRegression(0.6),
    }
    how = {"perturb": "missing", "level": 0.3, "cv": 3, "blend": contenders}
    here = contest(contenders, *iris, **how)
    with joblib.parallel_config(backend="dask"):
        there = contest(contenders, *iris, **how)
    assert seen()
    assert there.contenders == here.contenders
    assert here.contenders[:2] == ("little", "much")  # and a blend if it takes both
    assert np.array_equal(there.perturbed, here.perturbed)
    assert np.array_equal(there.clean, here.clean)
    assert there.weights == here.weights
    assert list(there.failed) == list(here.failed) == ["never"]


def test_tuning_on_a_cluster(cluster, iris, seen, tmp_path, capsys):
    pd = pytest.importorskip("pandas")
    pytest.importorskip("typer")
    from noiseproof.cli import main

    table = pd.DataFrame(iris[0], columns=list("abcd")).assign(y=iris[1])
    table = table.sample(frac=1, random_state=0)
    whole, parts = tmp_path / "all.csv", [tmp_path / "1.csv", tmp_path / "2.csv"]
    for path, rows in zip(
        [whole, *parts], [table, table[:70], table[70:]], strict=True
    ):
        rows.to_csv(path, index=False)
    said = []
    address = cluster.client.scheduler.address
    for words in ([whole], [*parts, "--cluster", address]):
        command = ["train", *words, "-t", "y", "-o", tmp_path / "model.npf", "--json"]
        command += ["--model", "dropout-logistic", "--C", 1, "--folds", 2]
        with pytest.raises(SystemExit) as end:
            main([str(word) for word in [*command, "--tune", "delete:0.3"]])
        assert end.value.code == 0
        said.append(json.loads(capsys.readouterr().out))
    assert seen()
    assert said[0]["tuned_score"] == said[1]["tuned_score"]
    assert said[0]["described"] == said[1]["described"]


def test_the_average_over_missing_cells_is_lazy(cluster, iris, seen, rng):
    X, y = iris
    X[rng.random(X.shape) < 0.2] = np.nan
    model = AverageOverMissing(random_state=0).fit(X, y)
    lazy = blocks(X, [70, 80])
    for method in ("predict", "predict_proba"):
        answer = getattr(model, method)(lazy)
        assert answer.chunks[0] == (70, 80)
        np.testing.assert_allclose(answer.compute(), getattr(model, method)(X))
    assert seen()


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
