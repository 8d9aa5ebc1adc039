"""A served model behind HTTP: answers, its contract, its health and its metrics."""

from __future__ import annotations

import asyncio
import json
import logging
import os
import time
from collections.abc import Awaitable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np

from noiseproof._docs import shared_docs
from noiseproof._version import __version__
from noiseproof.serving.arrivals import RowsError
from noiseproof.serving.served import Arrived, Served
from noiseproof.tables import Note

try:
    from prometheus_client import (
        CONTENT_TYPE_LATEST,
        CollectorRegistry,
        Counter,
        Gauge,
        Histogram,
        generate_latest,
    )
    from prometheus_client.multiprocess import MultiProcessCollector
    from starlette.applications import Starlette
    from starlette.exceptions import HTTPException
    from starlette.middleware import Middleware
    from starlette.requests import ClientDisconnect, Request
    from starlette.responses import JSONResponse, Response
    from starlette.routing import Route
    from uvicorn.protocols.http.h11_impl import H11Protocol
except ImportError as error:
    raise ImportError(
        "Serving a model over HTTP needs starlette, uvicorn and prometheus-client: "
        "pip install 'noiseproof[serve]'."
    ) from error

_THREADS = 4  # predictions at a time: a long batch should not keep single rows waiting
_PATHS = ("/predict", "/contract", "/health", "/metrics")
_OPTIONS: dict[str, Any] = {  # beside the rows of a request, and what they may be
    "interval": lambda value: isinstance(value, float) and 0 < value < 1,
    "strict": lambda value: isinstance(value, bool),
}
_LOG = logging.getLogger("noiseproof.serving")


@shared_docs
def http_app(
    served: Served,
    *,
    max_bytes: int = 16 * 2**20,
    max_rows: int = 10_000,
    max_seconds: float = 30.0,
) -> Starlette:
    """Return an ASGI application that answers for a served model over HTTP.

    - `POST /predict`: predictions, probabilities or intervals, and notes on the rows.
    - `GET /contract`: JSON Schema of a row, with what is known about each column.
    - `GET /health`: whether the service works, and its version.
    - `GET /metrics`: counts and times for Prometheus.

    The body of `/predict` is a record (a JSON object with a value for each column), a
    list of records, or `{"rows": records, "interval": 0.9, "strict": false}`. `null`
    and columns that are left out are missing values. An error is `{"error": sentence}`
    with status 400 (not JSON, or not records), 408 (the body came too slowly), 413 (too
    long), 422 (the model refuses the rows), 503 (no answer in time) or 500.

    Parameters
    ----------
    served : Served
        The model and what it knows about its table.
    max_bytes : int, default=16 MiB
        The largest body that is read.
    max_rows : int, default=10_000
        The largest number of rows in a request.
    max_seconds : float, default=30.0
        The longest time to read a body, and the longest time to wait for an answer.

    Returns
    -------
    app : starlette.applications.Starlette
        For any ASGI server, such as uvicorn; `noiseproof serve` runs it in one.

    {See Also: Served}

    Examples
    --------
    >>> import pandas as pd
    >>> from noiseproof import AverageOverMissing
    >>> from noiseproof.serving import Served, http_app
    >>> X = pd.DataFrame({"dose": [1.0, 2.0, 8.0, 9.0], "age": [40, 30, 35, 45]})
    >>> model = AverageOverMissing().fit(X, ["low", "low", "high", "high"])
    >>> app = http_app(Served(model, X), max_rows=100)
    >>> [route.path for route in app.routes]
    ['/predict', '/contract', '/health', '/metrics']

    It runs in any ASGI server, such as `uvicorn.run(app)`.
    """
    service = _Service(served, _Limits(max_bytes, max_rows, max_seconds))
    return Starlette(
        routes=[
            Route("/predict", service.predict, methods=["POST"]),
            Route("/contract", service.contract),
            Route("/health", service.health),
            Route("/metrics", service.metrics),
        ],
        exception_handlers={HTTPException: _refusal, Exception: _failure},
        middleware=[Middleware(_Counting, service.counters)],
    )


@dataclass(frozen=True)
class _Limits:
    """What a service accepts."""

    max_bytes: int
    max_rows: int
    max_seconds: float


class _Service:
    """The answers to each kind of request."""

    def __init__(self, served: Served, limits: _Limits):
        self.served, self.limits = served, limits
        self.counters = _Metrics(served)
        self.pool = ThreadPoolExecutor(_THREADS, thread_name_prefix="predict")

    async def predict(self, request: Request) -> Response:
        """Answers for the rows in the body."""
        body = await self._within_time(self._body(request), 408, "The body took longer")
        rows, options = _question(body)
        if len(rows) > self.limits.max_rows:
            raise HTTPException(
                413, f"The request has {len(rows)} rows; {self.limits.max_rows} are "
                "allowed: send several requests.",
            )  # fmt: skip
        work = partial(self._answer, rows, **options)
        # what no thread has begun when time is up is cancelled, and takes no more time
        future = asyncio.get_running_loop().run_in_executor(self.pool, work)
        found = await self._within_time(future, 503, "The answer takes longer")
        return JSONResponse(found)

    def _answer(self, rows: list[Any], **options: Any) -> dict[str, Any]:
        """Predictions and notes as JSON has them."""
        served = self.served
        try:
            arrived = served.read(rows)
            found = served.predict(arrived, **options)
        except RowsError as error:
            raise HTTPException(422, str(error)) from error
        self.counters.count_rows(served.names, arrived)
        answer: dict[str, Any] = {"predictions": found}
        if "interval" in options:
            answer["predictions"], answer["intervals"] = found
        elif hasattr(served, "predict_proba"):
            answer["classes"] = served.classes_
            answer["probabilities"] = served.predict_proba(arrived)
        answer = {name: np.asarray(part).tolist() for name, part in answer.items()}
        return answer | {"notes": [_described(note) for note in arrived.notes]}

    async def _body(self, request: Request) -> bytes:
        """The body, unless it is too long."""
        parts, size = [], 0
        try:
            async for part in request.stream():
                size += len(part)
                if size > self.limits.max_bytes:
                    raise HTTPException(
                        413,
                        f"The body has more than {self.limits.max_bytes:,} bytes; send "
                        "fewer rows in a request.",
                    )
                parts.append(part)
        except ClientDisconnect as error:
            raise HTTPException(
                400, "The body ended before it was complete."
            ) from error
        return b"".join(parts)

    async def _within_time(self, work: Awaitable[Any], status: int, what: str) -> Any:
        """What the work gives, if it does so in time."""
        seconds = self.limits.max_seconds
        try:
            async with asyncio.timeout(seconds):
                return await work
        except TimeoutError as error:
            raise HTTPException(status, f"{what} than {seconds:g} seconds.") from error

    async def contract(self, request: Request) -> Response:
        """The JSON Schema of a row."""
        return JSONResponse(self.served.json_schema())

    async def health(self, request: Request) -> Response:
        """That the service works; it does as soon as it answers."""
        return JSONResponse({"status": "ok", "noiseproof": __version__})

    async def metrics(self, request: Request) -> Response:
        """Counts and times in the text format of Prometheus."""
        return Response(self.counters.exposition(), media_type=CONTENT_TYPE_LATEST)


class _Counting:
    """ASGI middleware: counts requests by path and status, and times them."""

    def __init__(self, app: Any, counters: _Metrics):
        self.app, self.counters = app, counters

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return
        status, start = 500, time.perf_counter()

        async def watched(message: Any) -> None:
            nonlocal status
            status = message.get("status", status)
            await send(message)

        try:
            await self.app(scope, receive, watched)
        finally:
            seconds = time.perf_counter() - start
            self.counters.count_request(scope["path"], status, seconds)


class HalfOpenHTTP(H11Protocol):
    """HTTP for uvicorn in which a client that has said all still gets its answer.

    uvicorn hangs up when the client closes its side of the connection.
    """

    def eof_received(self) -> bool:  # type: ignore[override]
        """Keep the connection open for the answer; a timeout closes it."""
        return True


class _Metrics:
    """What Prometheus reads; of all workers together, if there are several."""

    def __init__(self, served: Served):
        self._registry = CollectorRegistry()
        counter = partial(Counter, registry=self._registry, namespace="noiseproof")
        self._requests = counter("requests", "Requests answered.", ["path", "status"])
        self._seconds = Histogram(
            "request_seconds", "Seconds from request to answer.", ["path"],
            registry=self._registry, namespace="noiseproof",
        )  # fmt: skip
        self._rows = counter("rows", "Rows predicted.")
        self._missing = counter("missing_values", "Missing values.", ["column"])
        self._notes = counter("notes", "Notes on requests.", ["kind"])
        gauge = partial(
            Gauge, registry=self._registry, namespace="noiseproof",
            labelnames=["column"], multiprocess_mode="max",
        )  # fmt: skip
        known = {
            "missing_rate": gauge("training_missing_share", "Missing in training."),
            "absence_cost": gauge("absence_cost", "What the column's absence costs."),
        }
        for name, clause in served.contract().items():
            self._missing.labels(name)  # shown from the start, as zero
            for fact, shown in known.items():
                if clause[fact] is not None:
                    shown.labels(name).set(clause[fact])

    def count_request(self, path: str, status: int, seconds: float) -> None:
        path = path if path in _PATHS else "other"  # strangers may invent paths
        self._requests.labels(path, status).inc()
        self._seconds.labels(path).observe(seconds)

    def count_rows(self, names: list[str], arrived: Arrived) -> None:
        """Count what a request brought: rows, missing values and notes."""
        self._rows.inc(len(arrived.missing))
        for name, count in zip(names, arrived.missing.sum(axis=0), strict=False):
            self._missing.labels(name).inc(int(count))
        for note in arrived.notes:
            self._notes.labels(note.kind).inc()

    def exposition(self) -> bytes:
        registry = self._registry
        if "PROMETHEUS_MULTIPROC_DIR" in os.environ:
            registry = CollectorRegistry()
            MultiProcessCollector(registry)
        return generate_latest(registry)


def _question(body: bytes) -> tuple[list[Any], dict[str, Any]]:
    """The records of a request, and its options."""
    try:
        question = json.loads(body)
    except (ValueError, RecursionError) as error:
        raise HTTPException(400, f"The body is not JSON: {error}.") from error
    options: dict[str, Any] = {}
    if isinstance(question, dict) and isinstance(question.get("rows"), list):
        options = question
        question = options.pop("rows")
        _check_options(options)
    rows = [question] if isinstance(question, dict) else question
    if not (isinstance(rows, list) and all(isinstance(row, dict) for row in rows)):
        raise HTTPException(
            400, "The body must be a record, a list of records (objects with a value "
            "for each column), or an object whose 'rows' are such a list.",
        )  # fmt: skip
    return rows, options


def _check_options(options: dict[str, Any]) -> None:
    """One sentence about what stands beside the rows of a request."""
    for name, value in options.items():
        if name not in _OPTIONS:
            raise HTTPException(
                400, f"Beside 'rows' there is {name!r}; the options are 'interval' and "
                "'strict'.",
            )  # fmt: skip
        if not _OPTIONS[name](value):
            raise HTTPException(400, f"{name} must not be {value!r}.")


def _described(note: Note) -> dict[str, Any]:
    """A note as JSON has it; the answer is an option of the command line."""
    return {"kind": note.kind, "columns": note.columns, "finding": note.finding}


async def _refusal(request: Request, error: Any) -> Response:
    """One sentence, whatever was wrong with a request."""
    return JSONResponse({"error": error.detail}, error.status_code, error.headers)


async def _failure(request: Request, error: Exception) -> Response:
    """An error of the model or of the service; the log has the rest."""
    _LOG.error("%s %s failed", request.method, request.url.path, exc_info=error)
    sentence = f"The service failed: {type(error).__name__}: {error}"
    return JSONResponse({"error": sentence}, 500)
