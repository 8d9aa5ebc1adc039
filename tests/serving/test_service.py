"""The HTTP service: answers, limits and metrics, without a server around it."""

import asyncio
import json
import time

import numpy as np
import pandas as pd
import pytest
from sklearn.linear_model import LinearRegression, LogisticRegression

from noiseproof import AverageOverMissing
from noiseproof.serving import Served, http_app

httpx = pytest.importorskip("httpx")
pytest.importorskip("starlette")


class Client:
    """Asks an application without a server around it."""

    def __init__(self, app):
        self.transport = httpx.ASGITransport(app, raise_app_exceptions=False)

    def get(self, path):
        return asyncio.run(self._ask("GET", path))

    def post(self, path, **body):
        return asyncio.run(self._ask("POST", path, **body))

    async def _ask(self, method, path, **body):
        options = {"transport": self.transport, "base_url": "http://localhost"}
        async with httpx.AsyncClient(**options) as client:
            return await client.request(method, path, **body)


@pytest.fixture(scope="module")
def served():
    rng = np.random.default_rng(0)
    table = pd.DataFrame(rng.normal(size=(200, 3)), columns=["a", "b", "c"])
    model = AverageOverMissing(LogisticRegression(), "joint-gaussian")
    return Served(model.fit(table, np.where(table.a + table.b > 0, "yes", "no")), table)


@pytest.fixture(scope="module")
def client(served):
    app = http_app(served, max_bytes=2000, max_rows=5, max_seconds=5.0)
    return Client(app)


def test_answers_are_those_of_the_library(client, served):
    rows = [{"c": 0.5, "a": 1.0, "b": None}, {"a": -2.0}]
    answer = client.post("/predict", json=rows).json()
    assert answer["predictions"] == served.predict(rows).tolist()
    assert answer["probabilities"] == served.predict_proba(rows).tolist()
    assert answer["classes"] == ["no", "yes"]


@pytest.mark.parametrize("body", [{"a": 1.0}, [{"a": 1.0}], {"rows": [{"a": 1.0}]}])
def test_a_record_a_list_and_rows_with_options(client, body):
    assert client.post("/predict", json=body).json()["predictions"] == ["yes"]


def test_notes_come_with_the_answer(client, served):
    rows = [{"a": "many", "b": 0.1, "d": 3}]
    notes = client.post("/predict", json=rows).json()["notes"]
    assert {note["kind"] for note in notes} == {n.kind for n in served.check(rows)}
    assert {"absent", "extra", "unreadable"} <= {note["kind"] for note in notes}


def test_intervals(rng):
    table = pd.DataFrame(rng.normal(size=(300, 2)), columns=["a", "b"])
    model = AverageOverMissing(LinearRegression(), "joint-gaussian")
    served = Served(model.fit(table, table.a + rng.normal(size=300)), table)
    question = {"rows": [{"a": 1.0}], "interval": 0.9}
    answer = Client(http_app(served)).post("/predict", json=question).json()
    [[low, high]], [value] = answer["intervals"], answer["predictions"]
    assert low < value < high
    assert "probabilities" not in answer


@pytest.mark.parametrize(
    ("body", "status", "words"),
    [
        (b"{", 400, "not JSON"),
        (b"[" * 1900, 400, "not JSON"),
        (b"\xff\xfe\x00", 400, "not JSON"),
        (b"3", 400, "must be a record"),
        (b"[1, 2]", 400, "must be a record"),
        (b'{"rows": [{"a": 1}], "width": 0.9}', 400, "'width'"),
        (b'[{"a": 1}]' + b" " * 2000, 413, "more than 2,000 bytes"),
        (b"[" + b'{"a": 1},' * 5 + b'{"a": 1}]', 413, "has 6 rows; 5 are allowed"),
        (b'[{"x": 1}]', 422, "column"),
        (b"[]", 422, "Rows must be"),
        (b'{"rows": [{"a": 1}], "strict": true}', 422, "'b'"),
        (b'{"rows": [{"a": 1}], "interval": 0.9}', 422, "interval"),
        (b'{"rows": [{"a": 1}], "interval": "wide"}', 400, "interval"),
        (b'{"rows": [{"a": 1}], "strict": "yes"}', 400, "strict"),
    ],
)
def test_a_bad_request_gets_one_sentence(client, body, status, words):
    answer = client.post("/predict", content=body)
    assert answer.status_code == status
    assert words in answer.json()["error"]
    assert "\n" not in answer.json()["error"]


def test_unknown_paths_and_methods(client):
    assert client.get("/nowhere").status_code == 404
    assert client.get("/predict").status_code == 405
    assert "error" in client.get("/nowhere").json()


def test_health_and_contract(client, served):
    assert client.get("/health").json()["status"] == "ok"
    schema = client.get("/contract").json()
    assert schema == json.loads(json.dumps(served.json_schema()))
    assert set(schema["properties"]) == {"a", "b", "c"}


def test_metrics_count_requests_rows_missing_values_and_notes(served):
    client = Client(http_app(served))
    client.post("/predict", json=[{"a": 1.0, "b": None}, {"a": 1.0, "b": 2.0}])
    client.post("/predict", content=b"{")
    client.get("/made-up-by-a-stranger")
    metrics = client.get("/metrics").text
    for line in (
        'noiseproof_requests_total{path="/predict",status="200"} 1.0',
        'noiseproof_requests_total{path="/predict",status="400"} 1.0',
        'noiseproof_requests_total{path="other",status="404"} 1.0',
        'noiseproof_request_seconds_count{path="/predict"} 2.0',
        "noiseproof_rows_total 2.0",
        'noiseproof_missing_values_total{column="a"} 0.0',
        'noiseproof_missing_values_total{column="b"} 1.0',
        'noiseproof_missing_values_total{column="c"} 2.0',
        'noiseproof_notes_total{kind="absent"} 1.0',
        'noiseproof_training_missing_share{column="a"} 0.0',
        'noiseproof_absence_cost{column="a"}',
    ):
        assert line in metrics


class Slow:
    """A model that takes its time, or fails."""

    classes_ = np.array([0, 1])
    n_features_in_ = 1

    def predict(self, X):
        cell = float(np.asarray(X, dtype=float)[0, 0])
        if cell < 0:
            raise RuntimeError("no model today")
        time.sleep(cell)
        return np.zeros(len(X), dtype=int)


def test_a_model_that_takes_too_long_or_fails():
    served = Served(Slow(), pd.DataFrame({"a": [0.0, 0.001]}))
    app = http_app(served, max_seconds=0.2)
    client = Client(app)
    late = client.post("/predict", json={"a": 1.0})
    assert late.status_code == 503
    assert "longer than 0.2 seconds" in late.json()["error"]
    failed = client.post("/predict", json={"a": -1.0})
    assert failed.status_code == 500
    assert "no model today" in failed.json()["error"]
    assert client.post("/predict", json={"a": 0.0}).status_code == 200
