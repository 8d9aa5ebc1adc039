"""Served models in MLflow, with the real one where it is installed."""

import json
import os
import signal
import socket
import subprocess
import sys
import time
import urllib.error
import urllib.request
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from sklearn.linear_model import LinearRegression, LogisticRegression

import noiseproof
from noiseproof import AverageOverMissing
from noiseproof.serving import Served

COLUMNS = ["a", "b", "c", "d", "e"]


@pytest.fixture(scope="module")
def table():
    rng = np.random.default_rng(0)
    return pd.DataFrame(rng.normal(size=(300, 5)), columns=COLUMNS)


@pytest.fixture(scope="module")
def served(table):
    model = AverageOverMissing(LogisticRegression(), "joint-gaussian")
    return Served(model.fit(table, np.where(table.a > 0, "yes", "no")), table)


@pytest.fixture(scope="module")
def mlflow():
    os.environ.setdefault("MLFLOW_DISABLE_TELEMETRY", "true")
    return pytest.importorskip("mlflow.pyfunc")


def test_only_a_served_model_is_taken(tmp_path):
    with pytest.raises(TypeError, match="Served"):
        noiseproof.io.save_mlflow(LinearRegression(), tmp_path / "model")


def test_a_model_of_a_sparse_matrix_is_refused(tmp_path):
    X = sp.eye_array(20, format="csr")
    served = Served(LogisticRegression().fit(X, np.arange(20) % 2), X)
    with pytest.raises(ValueError, match="trained on a sparse matrix"):
        noiseproof.io.save_mlflow(served, tmp_path / "model")


@pytest.mark.whole
@pytest.mark.filterwarnings("ignore")
def test_columns_of_a_model_that_was_trained_on_an_array(mlflow, table, tmp_path):
    X = table.to_numpy()
    served = Served(LogisticRegression().fit(X, table.a > 0), X)
    noiseproof.io.save_mlflow(served, tmp_path / "model")
    loaded = mlflow.load_model(str(tmp_path / "model"))
    rows = pd.DataFrame(X, columns=[f"x{j}" for j in range(5)])
    np.testing.assert_array_equal(loaded.predict(rows)["prediction"], table.a > 0)


def test_the_extra_to_install_is_named(served, tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "mlflow", None)
    monkeypatch.setitem(sys.modules, "mlflow.pyfunc", None)
    with pytest.raises(ImportError, match=r"pip install 'noiseproof\[mlflow\]'"):
        noiseproof.io.save_mlflow(served, tmp_path / "model")


@pytest.mark.whole
@pytest.mark.filterwarnings("ignore")
def test_a_saved_model_answers_as_the_library_does(mlflow, served, tmp_path):
    noiseproof.io.save_mlflow(served, tmp_path / "model")
    loaded = mlflow.load_model(str(tmp_path / "model"))
    inputs = loaded.metadata.signature.inputs
    assert inputs.input_names() == COLUMNS
    assert not inputs.required_input_names()
    schema = loaded.metadata.metadata["json_schema"]
    assert schema == json.loads(json.dumps(served.json_schema()))
    rows = pd.DataFrame({"e": [1.0, 2.0], "a": ["0.5", "much"], "new": [1, 2]})
    answer = loaded.predict(rows)
    np.testing.assert_array_equal(answer["prediction"], served.predict(rows))
    shares = answer[["probability_no", "probability_yes"]]
    np.testing.assert_array_equal(shares, served.predict_proba(rows))
    exceptions = pytest.importorskip("mlflow.exceptions")
    refused = exceptions.MlflowException
    with pytest.raises(refused, match="differ from the training table"):
        loaded.predict(rows, params={"strict": True})


@pytest.mark.whole
@pytest.mark.filterwarnings("ignore")
def test_a_logged_model_is_served_by_mlflow_with_columns_absent(
    mlflow, served, tmp_path
):
    import mlflow as tracking

    tracking.set_tracking_uri(f"sqlite:///{tmp_path}/runs.db")
    tracking.create_experiment("served", artifact_location=str(tmp_path / "files"))
    tracking.set_experiment("served")
    with tracking.start_run():
        info = noiseproof.io.log_mlflow(served)
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    command = [sys.executable, "-m", "mlflow", "models", "serve", "-m", info.model_uri]
    process = subprocess.Popen(
        [*command, "-p", str(port), "--env-manager", "local", "-w", "1"],
        env=os.environ | {
            "MLFLOW_TRACKING_URI": tracking.get_tracking_uri(),
            "PATH": f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}",
        },
        stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, start_new_session=True,
    )  # fmt: skip
    try:
        rows = [{"e": 0.3, "a": 1.0}, {"a": -1.0, "e": None}]  # b, c and d are absent
        answer = ask(port, {"dataframe_records": rows})["predictions"]
        assert [row["prediction"] for row in answer] == served.predict(rows).tolist()
        shares = [[row["probability_no"], row["probability_yes"]] for row in answer]
        np.testing.assert_allclose(shares, served.predict_proba(rows), rtol=1e-12)
        with pytest.raises(AssertionError, match="do not belong to this model"):
            ask(port, {"dataframe_records": [{"V1": "y", "V2": "n"}]})
    finally:
        os.killpg(process.pid, signal.SIGTERM)
        process.wait(60)


@pytest.mark.whole
@pytest.mark.filterwarnings("ignore")
def test_the_flavour_of_scikit_learn_is_told_which_types_to_trust(
    mlflow, served, table, tmp_path
):
    flavour = pytest.importorskip("mlflow.sklearn")
    options = {
        "serialization_format": flavour.SERIALIZATION_FORMAT_SKOPS,
        "skops_trusted_types": noiseproof.io.trusted_types(served.model),
    }
    flavour.save_model(served.model, tmp_path / "plain", **options)
    loaded = flavour.load_model(str(tmp_path / "plain"))
    shares = loaded.predict_proba(table)
    np.testing.assert_array_equal(shares, served.model.predict_proba(table))


def test_types_of_strangers_are_not_called_trusted():
    class Theirs(LinearRegression):
        pass

    with pytest.raises(TypeError, match="Theirs"):
        noiseproof.io.trusted_types(Theirs())


def ask(port, question):
    """The answer of a server that may still be starting."""
    request = urllib.request.Request(
        f"http://127.0.0.1:{port}/invocations",
        json.dumps(question).encode(),
        {"Content-Type": "application/json"},
    )
    for _ in range(240):
        try:
            with urllib.request.urlopen(request, timeout=60) as answer:
                return json.loads(answer.read())
        except urllib.error.HTTPError as error:
            raise AssertionError(error.read().decode()) from error
        except OSError:
            time.sleep(0.5)
    raise AssertionError("The server does not answer.")
