"""What arrives, by every way in: the same answer, or the same sentence."""

import asyncio
import functools
import json
import re

import numpy as np
import pandas as pd
import pytest
from arriving import CASES, Answer, Way, as_frame, as_records, averaged, table
from sklearn.base import clone

from noiseproof.io import save_mlflow
from noiseproof.serving import RowsError, Served, http_app, to_onnx


class CommandLine(Way):
    """The model and the rows go through files."""

    def __init__(self, served, run, model_file, data):
        super().__init__(served)
        self.run, self.model_file, self.data = run, model_file, data

    def ask(self, rows):
        write = {".csv": pd.DataFrame.to_csv, ".parquet": pd.DataFrame.to_parquet}
        write[self.data.suffix](as_frame(rows), self.data, index=False)
        done = self.run("predict", self.model_file, self.data, "--json")
        if done.code:
            raise ValueError(done.err.strip().removeprefix("Error: "))
        found = json.loads(done.out)
        chances = [found[f"probability_{name}"] for name in self.served.classes_]
        return Answer(np.transpose(chances), set(_printed_notes(done.err)))


KINDS = {
    "absent": "absent: missing in every row",
    "extra": "ignored: training had no such column",
    "unreadable": r"\d+ of \d+ values cannot be read .*",
    "unseen": r"\d+ of \d+ values are words that training did not have .*",
    "out of range": r"\d+ of \d+ values are far out of the range of training.*",
    "missing": r"\d+% of the values are missing; in training \d+% were",
}


def _printed_notes(text):
    """Notes as the command prints them: a table of columns and findings."""
    for line in text.splitlines()[3:]:
        names, _, finding = line.strip().partition("   ")
        for kind, words in KINDS.items():
            if re.fullmatch(words, finding.strip()):
                yield kind, tuple(names.split(", "))


class HTTP(Way):
    """Rows and answers are JSON."""

    def ask(self, rows):
        answer = asyncio.run(self._post(self.body(as_records(rows))))
        if answer.status_code == 422:
            raise ValueError(answer.json()["error"])
        found = answer.json()
        notes = {(note["kind"], tuple(note["columns"])) for note in found["notes"]}
        return Answer(found["probabilities"], notes)

    def body(self, records):
        return records

    async def _post(self, body):
        httpx = pytest.importorskip("httpx")
        transport = httpx.ASGITransport(http_app(self.served))
        async with httpx.AsyncClient(transport=transport) as client:
            return await client.post("http://localhost/predict", json=body)


class HTTPColumns(HTTP):
    """A list for each column instead of records."""

    def body(self, records):
        return {name: [row[name] for row in records] for name in records[0]}


class MLflow(Way):
    """It answers with a table only, so the notes are those of the library."""

    def __init__(self, served, model):
        super().__init__(served)
        self.model = model

    def ask(self, rows):
        from mlflow.exceptions import MlflowException

        try:
            found = self.model.predict(as_frame(rows))
        except MlflowException as error:
            raise ValueError(error.message) from error
        chances = [found[f"probability_{name}"] for name in self.served.classes_]
        return Answer(np.transpose(chances), self.notes(rows))

    def sentence(self, sentence):
        """MLflow removes the columns that the model does not know."""
        return re.sub("; got .*", ".", sentence)


class ONNX(Way):
    """A graph has typed inputs: `Served.read` makes them of what arrives.

    ONNX has no type for times and durations, so the model goes without them.
    """

    close = 1e-5

    def __init__(self, served, session):
        super().__init__(served)
        self.session = session

    def ask(self, rows):
        rows = as_frame(rows).drop(columns=["shift", "wait"], errors="ignore")
        X, inputs = self.served.read(rows).X, {}
        for wanted in self.session.get_inputs():
            column = X[wanted.name]
            if "string" in wanted.type:
                cells = column.fillna("").to_numpy(dtype=object)
            else:
                cells = column.to_numpy(dtype=np.float64)
            inputs[wanted.name] = cells[:, None]
        [found] = self.session.run(["probabilities"], inputs)
        return Answer(found, self.notes(rows))


@pytest.fixture(scope="session")
def mlflow_model(tmp_path_factory):
    pyfunc = pytest.importorskip("mlflow.pyfunc")
    folder = tmp_path_factory.mktemp("mlflow") / "model"
    save_mlflow(averaged(), folder)
    return pyfunc.load_model(str(folder))


@functools.cache
def without_times():
    """The same model without its columns of times and durations."""
    model, X = averaged().model, table()
    y = model.predict(X)
    X = X.drop(columns=["shift", "wait"])
    return Served(clone(model).fit(X, y), X, target="diagnosis")


@pytest.fixture(scope="session")
def onnx_session(tmp_path_factory):
    runtime = pytest.importorskip("onnxruntime")
    path = tmp_path_factory.mktemp("onnx") / "model.onnx"
    to_onnx(without_times(), path)
    return runtime.InferenceSession(path)


@pytest.fixture
def library(served):
    return Way(served)


@pytest.fixture
def command_line(served, run, model_file, tmp_path):
    return CommandLine(served, run, model_file, tmp_path / "new.csv")


@pytest.fixture
def parquet(served, run, model_file, tmp_path):
    return CommandLine(served, run, model_file, tmp_path / "new.parquet")


@pytest.fixture
def http(served):
    pytest.importorskip("starlette")
    return HTTP(served)


@pytest.fixture
def http_columns(served):
    pytest.importorskip("starlette")
    return HTTPColumns(served)


@pytest.fixture
def mlflow(served, mlflow_model):
    return MLflow(served, mlflow_model)


@pytest.fixture
def onnx(onnx_session):
    return ONNX(without_times(), onnx_session)


OFTEN = ["library", "command_line", "http", "http_columns", "onnx"]
MARKS = [pytest.mark.whole, pytest.mark.filterwarnings("ignore")]


@pytest.mark.parametrize("way", [*OFTEN, pytest.param("mlflow", marks=MARKS)])
@pytest.mark.parametrize("name", CASES)
def test_same_answer_or_same_sentence(name, way, request):
    request.getfixturevalue(way).check(CASES[name])


TYPED = [name for name, case in CASES.items() if isinstance(case.rows, pd.DataFrame)]
MIXED = ["unreadable", "unseen"]  # values of several types, which Parquet cannot hold


@pytest.mark.parametrize("name", sorted(set(TYPED) - set(MIXED)))
def test_tables_in_parquet(name, parquet):
    parquet.check(CASES[name])


STRICT = [name for name, case in CASES.items() if case.notes]


@pytest.fixture
def strict(served):
    """The sentence of the library for rows of a case."""

    def sentence(name):
        with pytest.raises(RowsError) as raised:
            served.predict(CASES[name].rows, strict=True)
        return str(raised.value)

    return sentence


@pytest.mark.parametrize("name", STRICT)
def test_strict_says_the_same_on_the_command_line(
    name, strict, run, model_file, tmp_path
):
    as_frame(CASES[name].rows).to_csv(tmp_path / "new.csv", index=False)
    done = run("predict", model_file, tmp_path / "new.csv", "--strict")
    assert (done.code, done.out) == (1, "")
    assert done.err == f"Error: {strict(name)}\n"


@pytest.mark.parametrize("name", STRICT)
def test_strict_says_the_same_over_http(name, strict, http):
    body = {"rows": as_records(CASES[name].rows), "strict": True}
    answer = asyncio.run(http._post(body))
    assert (answer.status_code, answer.json()) == (422, {"error": strict(name)})


@pytest.mark.whole
@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("name", sorted(set(STRICT) - {"extra"}))  # which it removes
def test_strict_says_the_same_in_mlflow(name, strict, mlflow_model):
    from mlflow.exceptions import MlflowException

    with pytest.raises(MlflowException) as raised:
        mlflow_model.predict(as_frame(CASES[name].rows), params={"strict": True})
    assert raised.value.message == strict(name)


INTERVAL = "interval must be a number between 0 and 1; got 1.5."


def test_intervals_are_refused_in_the_same_sentence(
    served, run, model_file, http, tmp_path
):
    with pytest.raises(RowsError) as raised:
        served.predict(CASES["as trained"].rows, interval=1.5)
    assert str(raised.value) == INTERVAL
    as_frame(CASES["as trained"].rows).to_csv(tmp_path / "new.csv", index=False)
    done = run("predict", model_file, tmp_path / "new.csv", "--interval", "1.5")
    assert done.err.splitlines()[-1] == f"Error: {INTERVAL}"
    answer = asyncio.run(http._post({"rows": [{"age": 1}], "interval": 1.5}))
    assert answer.json() == {"error": INTERVAL}
