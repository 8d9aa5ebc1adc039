"""What arrives, by every way in: the same answer, or the same sentence."""

import asyncio
import functools

import numpy as np
import pytest
from arriving import (
    CASES,
    Answer,
    as_frame,
    as_records,
    averaged,
    check,
    in_the_library,
    table,
)
from sklearn.base import clone

from noiseproof.io import save_mlflow
from noiseproof.serving import RowsError, Served, http_app, to_onnx


@pytest.mark.parametrize("name", CASES)
def test_library(name, served):
    check(in_the_library, served, CASES[name])


@pytest.mark.parametrize("name", CASES)
def test_command_line(name, served, by_command):
    check(by_command, served, CASES[name])


STRICT = [name for name, case in CASES.items() if case.notes]


@pytest.mark.parametrize("name", STRICT)
def test_strict_says_the_same_in_the_library_and_on_the_command_line(
    name, served, run, model_file, tmp_path
):
    rows = CASES[name].rows
    with pytest.raises(RowsError) as raised:
        served.predict(rows, strict=True)
    as_frame(rows).to_csv(tmp_path / "new.csv", index=False)
    done = run("predict", model_file, tmp_path / "new.csv", "--strict")
    assert (done.code, done.out) == (1, "")
    assert done.err == f"Error: {raised.value}\n"


def over_http(served, rows):
    httpx = pytest.importorskip("httpx")

    async def ask():
        transport = httpx.ASGITransport(http_app(served))
        async with httpx.AsyncClient(transport=transport) as client:
            address = "http://localhost/predict"
            return await client.post(address, json=as_records(rows))

    answer = asyncio.run(ask())
    if answer.status_code == 422:
        raise ValueError(answer.json()["error"])
    found = answer.json()
    notes = {(note["kind"], tuple(note["columns"])) for note in found["notes"]}
    return Answer(found["probabilities"], notes)


@pytest.mark.parametrize("name", CASES)
def test_http(name, served):
    pytest.importorskip("starlette")
    check(over_http, served, CASES[name])


@pytest.fixture(scope="module")
def by_mlflow(tmp_path_factory):
    """MLflow returns a table only, so the notes are those of the library."""
    pyfunc = pytest.importorskip("mlflow.pyfunc")
    folder = tmp_path_factory.mktemp("mlflow") / "model"
    save_mlflow(averaged(), folder)
    model = pyfunc.load_model(str(folder))

    def ask(served, rows):
        found = model.predict(as_frame(rows))
        chances = [found[f"probability_{name}"] for name in served.classes_]
        return Answer(np.transpose(chances), in_the_library(served, rows).notes)

    return ask


@pytest.mark.whole
@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("name", CASES)
def test_mlflow(name, served, by_mlflow):
    refused = CASES[name].refused
    if refused:  # MLflow takes columns away that the model does not know
        with pytest.raises(RowsError, match="not the table of the model"):
            by_mlflow(served, CASES[name].rows)
        return
    check(by_mlflow, served, CASES[name])


@functools.cache
def without_times():
    """The same model without its column of times, which ONNX has no type for."""
    model, X = averaged().model, table()
    y = model.predict(X)
    X = X.drop(columns="shift")
    return Served(clone(model).fit(X, y), X, target="diagnosis")


@pytest.fixture(scope="module")
def session(tmp_path_factory):
    runtime = pytest.importorskip("onnxruntime")
    path = tmp_path_factory.mktemp("onnx") / "model.onnx"
    to_onnx(without_times(), path)
    return runtime.InferenceSession(path)


@pytest.mark.parametrize("name", [n for n in CASES if not CASES[n].refused])
def test_onnx(name, session):
    """A graph has typed inputs: `Served.read` makes them of what arrives."""
    served = without_times()
    arrived = served.read(as_frame(CASES[name].rows).drop(columns="shift"))
    inputs = {}
    for wanted in session.get_inputs():
        column = arrived.X[wanted.name]
        if "string" in wanted.type:
            cells = column.fillna("").to_numpy(dtype=object)
        else:
            cells = column.to_numpy(dtype=np.float64)
        inputs[wanted.name] = cells[:, None]
    [found] = session.run(["probabilities"], inputs)
    wanted = served.predict_proba(arrived)
    np.testing.assert_allclose(found, wanted, rtol=0, atol=1e-5)
