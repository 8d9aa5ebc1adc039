"""The HTTP service: answers, limits and metrics, without a server around it."""

import asyncio
import json
import time

import numpy as np
import pandas as pd
import polars as pl
import pytest
import scipy.sparse as sp
from sklearn.linear_model import LinearRegression, LogisticRegression
from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor

from noiseproof import AverageOverMissing
from noiseproof.evaluation import missing_cost
from noiseproof.serving import RowsError, Served, http_app

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


COLUMNS = [
    b'{"a": [1.0, -2.0], "c": [0, null]}',
    b'{"a": {"0": 1.0, "1": -2.0}, "c": {"0": 0, "1": null}}',
    b'{"rows": {"a": [1.0, -2.0]}, "strict": false}',
]


@pytest.mark.parametrize("body", COLUMNS)
def test_columns_have_an_answer_for_each_row(client, body):
    answer = client.post("/predict", content=body).json()
    assert answer["predictions"] == ["yes", "no"]
    assert {note["kind"] for note in answer["notes"]} <= {"absent"}


def test_notes_come_with_the_answer(client, served):
    rows = [{"a": "many", "b": 0.1, "d": 3}]
    notes = client.post("/predict", json=rows).json()["notes"]
    assert {note["kind"] for note in notes} == {n.kind for n in served.check(rows)}
    assert {"absent", "extra", "unreadable"} <= {note["kind"] for note in notes}


def test_a_name_that_utf_8_cannot_hold_comes_back(client):
    answer = client.post("/predict", content=rb'[{"a": 1.0, "b": 0, "\ud800": 3}]')
    assert answer.status_code == 200
    notes = json.loads(answer.content)["notes"]
    assert ["\ud800"] in [note["columns"] for note in notes]


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
    ("n_calibration", "words"),
    [
        (30, "coverage=0.999 needs at least 999 calibration rows; got 30."),
        (0, "There are no intervals: n_calibration is 0."),
    ],
)
def test_intervals_that_the_model_cannot_give(n_calibration, words, rng):
    table = pd.DataFrame(rng.normal(size=(120, 2)), columns=["a", "b"])
    options = {"n_calibration": n_calibration}
    model = AverageOverMissing(LinearRegression(), "joint-gaussian", **options)
    client = Client(http_app(Served(model.fit(table, table.a), table)))
    question = {"rows": [{"a": 1.0}], "interval": 0.999}
    answer = client.post("/predict", json=question)
    assert (answer.status_code, answer.json()["error"]) == (422, words)


@pytest.mark.filterwarnings("ignore::RuntimeWarning")  # overflow
@pytest.mark.parametrize(
    ("model", "words"),
    [
        (LinearRegression(), "The predictions are not all finite numbers: some values"),
        (DecisionTreeRegressor(), "The model refuses the rows: Input X contains"),
    ],
)
def test_numbers_that_are_too_large_for_the_model(model, words, rng):
    table = pd.DataFrame(rng.normal(size=(50, 2)), columns=["a", "b"])
    served = Served(model.fit(table, 2 * table.a - 2 * table.b), table)
    client = Client(http_app(served))
    answer = client.post("/predict", json={"a": 1e308, "b": -1e308})
    assert answer.status_code == 422
    assert answer.json()["error"].startswith(words)
    assert "noiseproof_rows_total 0.0" in client.get("/metrics").text


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
        (b"[" + b'{"a": 1},' * 5 + b'{"a": 1}]', 413, "6 rows, but only 5 are allowed"),
        (b'{"a": [1, 2, 3, 4, 5, 6]}', 413, "6 rows, but only 5 are allowed"),
        (b'{"a": [1, 2], "b": [1]}', 422, "2 values of 'a' and 1 values of 'b'"),
        (b'{"a": [1, 2], "b": 1}', 422, "2 values of 'a' and one value of 'b'"),
        (b'[{"x": 1}]', 422, "column"),
        (b"[]", 422, "There are no rows to predict"),
        (b'{"rows": [{"a": 1}], "strict": true}', 422, "'b'"),
        (b'{"rows": [{"a": 1}], "interval": 0.9}', 422, "interval"),
        (b'{"rows": [{"a": 1}], "interval": "wide"}', 400, "interval"),
        (b'{"rows": [{"a": 1}], "strict": "yes"}', 400, 'false; got "yes".'),
        (b'{"rows": [{"a": 1}], "interval": 1.5}', 400, "0 and 1; got 1.5."),
        (b'{"rows": [{"a": 1}], "' + b"w" * 500 + b'": 1}', 400, "www...'"),
    ],
)
def test_a_bad_request_gets_one_sentence(client, body, status, words):
    answer = client.post("/predict", content=body)
    assert answer.status_code == status
    assert words in answer.json()["error"]
    assert "\n" not in answer.json()["error"]


def test_a_number_with_too_many_digits(served):
    client = Client(http_app(served))
    answer = client.post("/predict", content=b'{"a": ' + b"7" * 5000 + b"}")
    assert answer.status_code == 400
    assert answer.json() == {
        "error": "The body contains an integer with more than 4,300 digits."
    }


def test_options_that_are_null_are_as_if_absent(client):
    body = {"rows": {"a": 1.0}, "interval": None, "strict": None}
    assert client.post("/predict", json=body).json()["predictions"] == ["yes"]


def test_a_body_that_is_too_long_is_refused_before_it_is_read(served):
    app, sent = http_app(served, max_bytes=10), []
    scope = {"type": "http", "method": "POST", "path": "/predict", "query_string": b""}
    scope["headers"] = [(b"content-length", b"11")]

    async def receive():
        raise AssertionError("The body is read.")

    async def send(message):
        sent.append(message)

    asyncio.run(app(scope, receive, send))
    assert sent[0]["status"] == 413
    assert b"more than 10 bytes" in sent[1]["body"]


def test_long_values_are_not_sent_back_whole(client, served):
    rows = [{"a": "x" * 1000, "b": 0.0, "c": 0.0}]
    [note] = client.post("/predict", json=rows).json()["notes"]
    assert len(note["finding"]) < 200
    with pytest.raises(RowsError) as raised:
        served.predict([{**rows[0], "y" * 1000: 1}], strict=True)
    assert len(str(raised.value)) < 500


@pytest.mark.parametrize("unit", ["datetime64[ns]", "datetime64[D]", object])
def test_labels_that_are_times(unit):
    table = pd.DataFrame({"a": np.arange(20.0)})
    model = LogisticRegression().fit(table, np.arange(20) // 10)
    days = np.array(["2024-01-01", "2024-01-02"], dtype="datetime64[D]").astype(unit)
    model.classes_ = days
    answer = Client(http_app(Served(model, table))).post("/predict", json={"a": 19.0})
    assert answer.json()["classes"][0].startswith("2024-01-01")
    assert answer.json()["predictions"][0].startswith("2024-01-02")


BAD = {
    "a model": (LogisticRegression(), {}, TypeError, "served must be a .*Served"),
    "no rows": (None, {"max_rows": 0}, ValueError, "max_rows == 0, must be >= 1"),
    "half a byte": (None, {"max_bytes": 0.5}, TypeError, "max_bytes must be"),
    "a text": (None, {"max_seconds": "x"}, TypeError, "max_seconds must be"),
    "no time": (None, {"max_seconds": 0}, ValueError, "must be > 0"),
    "window": (None, {"window": -1}, ValueError, "window == -1, must be >= 0"),
}


@pytest.mark.parametrize("name", BAD)
def test_bad_arguments(name, served):
    model, options, kind, words = BAD[name]
    with pytest.raises(kind, match=words):
        http_app(served if model is None else model, **options)


def test_a_model_of_a_sparse_matrix_is_refused_at_the_start(rng):
    X = sp.csr_array(rng.normal(size=(20, 3)))
    served = Served(LogisticRegression().fit(X, np.arange(20) % 2), X)
    with pytest.raises(ValueError, match="trained on a sparse matrix"):
        http_app(served)


def test_a_classifier_of_several_targets_is_refused_at_the_start():
    X = pd.DataFrame({"a": np.arange(20.0)})
    y = np.c_[np.arange(20) % 2, np.arange(20) % 3]
    served = Served(DecisionTreeClassifier().fit(X, y), X)
    with pytest.raises(ValueError, match="several targets at once"):
        http_app(served)


def test_unknown_paths_and_methods(client):
    answers = {path: client.get(path) for path in ("/nowhere", "/health/", "/predict")}
    answers["/health"] = client.post("/health")
    assert [answer.status_code for answer in answers.values()] == [404, 404, 405, 405]
    assert [answer.json()["error"] for answer in answers.values()] == [
        "This path does not exist; use /predict, /contract, /health or /metrics.",
        "This path does not exist; use /predict, /contract, /health or /metrics.",
        "/predict does not answer GET; use POST.",
        "/health does not answer POST; use GET or HEAD.",
    ]
    assert answers["/predict"].headers["allow"] == "POST"


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


def _gauges(client):
    found = {}
    for line in client.get("/metrics").text.splitlines():
        if line and not line.startswith("#"):
            name, value = line.rsplit(" ", 1)
            found[name] = float(value)
    return found


def test_metrics_tell_what_missing_values_cost(served, monkeypatch):
    monkeypatch.setattr("noiseproof.serving.service._SECONDS", -1.0)
    rng = np.random.default_rng(1)
    client = Client(http_app(served, window=100))
    rows = pd.DataFrame(rng.normal(size=(300, 3)), columns=["a", "b", "c"])
    gone = rows.mask(rng.random(rows.shape) < [0.6, 0.1, 0.1])
    before = _gauges(client)
    assert not any(name.startswith("noiseproof_missing_cost{") for name in before)
    for start in range(0, 300, 30):
        part = gone[start : start + 30].astype(object)
        part = part.where(part.notna(), None).to_dict("records")
        assert client.post("/predict", json=part).status_code == 200
    found = _gauges(client)
    assert found["noiseproof_window_rows"] == 100
    last = served.read(gone[-100:]).X.reset_index(drop=True)
    expected = missing_cost(served.model, last)
    assert found['noiseproof_estimated_score{scoring="accuracy"}'] == pytest.approx(
        expected.score.value
    )
    assert found['noiseproof_missing_cost{scoring="accuracy"}'] == pytest.approx(
        expected.cost.value
    )
    by_column = {
        name: found[f'noiseproof_column_missing_cost{{column="{name}"}}']
        for name in "abc"
    }
    assert max(by_column, key=by_column.get) == "a"
    assert by_column["a"] == pytest.approx(expected.by_column["a"].value)
    complete = rows.to_dict("records")
    assert client.post("/predict", json=complete).status_code == 200
    found = _gauges(client)
    for name in "abc":
        assert found[f'noiseproof_column_missing_cost{{column="{name}"}}'] == 0


def test_costs_of_polars_frames(monkeypatch):
    """Whole numbers are integers in complete requests, and floats in others."""
    monkeypatch.setattr("noiseproof.serving.service._LEAST", 1)
    rng = np.random.default_rng(0)
    table = {"dose": rng.integers(0, 50, 200), "flag": rng.random(200) < 0.5}
    table = pl.DataFrame({"age": rng.normal(size=200), **table})
    model = AverageOverMissing(LogisticRegression(), "donors", random_state=0)
    served = Served(model.fit(table, rng.integers(0, 2, 200)), table)
    client = Client(http_app(served))
    row = {"age": 0.1, "dose": 5, "flag": True}
    for absent in ({}, {"dose": None}, {"flag": None}):
        assert client.post("/predict", json=[row | absent] * 2).status_code == 200
    assert _gauges(client)["noiseproof_window_rows"] == 6


def test_the_last_estimate_is_kept_if_the_next_one_fails(served, monkeypatch, caplog):
    monkeypatch.setattr("noiseproof.serving.service._LEAST", 1)
    monkeypatch.setattr("noiseproof.serving.service._SECONDS", -1.0)
    client = Client(http_app(served))

    def broken(model, rows):
        raise ValueError("no estimate today")

    client.post("/predict", json=[{"a": 1.0, "b": None, "c": 0.0}])
    before = _gauges(client)
    monkeypatch.setattr("noiseproof.serving.service.missing_cost", broken)
    client.post("/predict", json=[{"a": 1.0, "b": None, "c": None}])
    found = _gauges(client)
    cost = 'noiseproof_missing_cost{scoring="accuracy"}'
    for name in ("noiseproof_window_rows", cost):
        assert found[name] == before[name]
    assert "no estimate today" in caplog.text


def test_metrics_of_models_that_do_not_average_tell_no_cost(monkeypatch):
    monkeypatch.setattr("noiseproof.serving.service._LEAST", 1)
    rng = np.random.default_rng(0)
    table = pd.DataFrame(rng.normal(size=(50, 2)), columns=["a", "b"])
    model = LinearRegression().fit(table, table["a"])
    client = Client(http_app(Served(model, table)))
    assert client.post("/predict", json=[{"a": 1.0, "b": 2.0}]).status_code == 200
    response = client.get("/metrics")
    assert response.status_code == 200
    assert "noiseproof_estimated_score{" not in response.text
    assert client.get("/metrics").status_code == 200
