"""The HTTP service of a served model: predictions, contract, health and metrics."""

from __future__ import annotations

import asyncio
import json
import logging
import os
import time
import warnings
from collections import deque
from collections.abc import Awaitable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import partial
from numbers import Integral, Real
from threading import Lock
from typing import Any

import numpy as np
from sklearn.utils import check_scalar

from noiseproof._docs import shared_docs
from noiseproof._private import _safe_indexing
from noiseproof._version import __version__
from noiseproof.evaluation import missing_cost
from noiseproof.serving.arrivals import RowsError
from noiseproof.serving.cells import shortened
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
_LEGAL = {"interval": "a number between 0 and 1", "strict": "true or false"}
_LEAST = 50  # rows in the window, or nothing is estimated
_GRACE = 0.5  # seconds for a request on its way to a service that is told to stop
_SECONDS = 30.0  # for which an estimate is good enough
_LOG = logging.getLogger("noiseproof.serving")


@shared_docs
def http_app(
    served: Served,
    *,
    max_bytes: int = 16 * 2**20,
    max_rows: int = 10_000,
    max_seconds: float = 30.0,
    window: int = 1000,
) -> Starlette:
    """Make an ASGI application that serves the predictions of a model over HTTP.

    - `POST /predict`: predictions, probabilities or intervals, and notes on the rows.
    - `GET /contract`: JSON Schema of a row, with a description of each column.
    - `GET /health`: whether the service works, and its version.
    - `GET /metrics`: counts and times for Prometheus. For models that average over
      missing values, also the estimated score of the most recent rows and what their
      missing values cost (see `noiseproof.evaluation.missing_cost`).

    The body of `/predict` is a record (a JSON object with a value for each column), a
    list of records, columns (an object with a list for each column), or an object with
    one of these as `rows`, such as `{"rows": records, "interval": 0.9, "strict":
    false}`. `null` and omitted columns are missing values. An error is `{"error":
    sentence}`, with status 400 (not JSON, or not records), 404 (no such path), 405
    (another method), 408 (the body came too slowly), 413 (the body is too long), 422
    (the model refuses the rows), 503 (no answer in time), or 500.

    Parameters
    ----------
    served : Served
        The model, with a summary of its training table.
    max_bytes : int, default=16 MiB
        Maximum size of a request body.
    max_rows : int, default=10_000
        Maximum number of rows in a request.
    max_seconds : float, default=30.0
        Maximum time to read a body, and also to wait for an answer.
    window : int, default=1000
        Number of most recent rows that are kept in memory, to estimate their score and
        the cost of their missing values. This is done when `/metrics` is read, at most
        every 30 seconds. 0 turns the estimate off.

    Returns
    -------
    app : starlette.applications.Starlette
        An application for any ASGI server, such as uvicorn. `noiseproof serve` runs it.

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
    _check_served(served)
    for name, limit in (("max_bytes", max_bytes), ("max_rows", max_rows)):
        check_scalar(limit, name, Integral, min_val=1)
    check_scalar(
        max_seconds, "max_seconds", Real, min_val=0, include_boundaries="neither"
    )
    check_scalar(window, "window", Integral, min_val=0)
    limits = _Limits(max_bytes, max_rows, max_seconds, window)
    service = _Service(served, limits)
    app = Starlette(
        routes=[
            Route("/predict", service.predict, methods=["POST"]),
            Route("/contract", service.contract),
            Route("/health", service.health),
            Route("/metrics", service.metrics),
        ],
        exception_handlers={HTTPException: _refusal, Exception: _failure},
        middleware=[Middleware(_Counting, counters=service.counters)],
    )
    app.router.redirect_slashes = False  # a redirection has no sentence
    return app


def _check_served(served: Any) -> None:
    """Refuse a model that could not answer any request."""
    if not isinstance(served, Served):
        raise TypeError(
            f"served must be a noiseproof.serving.Served, which knows the training "
            f"table; got {type(served).__name__}."
        )
    if served.form == "sparse":
        raise ValueError(
            "The model was trained on a sparse matrix, whose columns have no names for "
            "JSON to use; serve a model that was trained on a table with names."
        )
    if isinstance(getattr(served, "classes_", None), list):
        raise ValueError(
            "The model predicts several targets at once; serve one model for each."
        )


@dataclass(frozen=True)
class _Limits:
    """Limits of a service."""

    max_bytes: int
    max_rows: int
    max_seconds: float
    window: int


class _Service:
    """Answers the requests to each path."""

    def __init__(self, served: Served, limits: _Limits):
        self.served, self.limits = served, limits
        self.counters = _Metrics(served)
        self.last = _LastRows(served, limits.window)
        self.pool = ThreadPoolExecutor(_THREADS, thread_name_prefix="predict")

    async def predict(self, request: Request) -> Response:
        """Predict the rows in the body of a request."""
        body = await self._within_time(self._body(request), 408, "The body took longer")
        rows, options = _question(body)
        n = _n_rows(rows)
        if n > self.limits.max_rows:
            raise HTTPException(
                413, f"The request has {n} rows, but only "
                f"{self.limits.max_rows} are allowed; send several requests.",
            )  # fmt: skip
        work = partial(self._answer, rows, **options)
        # what no thread has begun when time is up is cancelled, and takes no more time
        future = asyncio.get_running_loop().run_in_executor(self.pool, work)
        found = await self._within_time(future, 503, "The answer takes longer")
        return _JSON(found)

    def _answer(self, rows: Any, **options: Any) -> dict[str, Any]:
        """Predictions and notes, as types of JSON."""
        served = self.served
        try:
            arrived = served.read(rows)
            found = self._predicted(arrived, **options)
        except RowsError as error:
            raise HTTPException(422, str(error)) from error
        except ValueError as error:  # what scikit-learn raises for rows that it refuses
            _LOG.warning("The model refused the rows of a request", exc_info=error)
            words = " ".join(str(error).split())
            raise HTTPException(422, f"The model refuses the rows: {words}") from error
        self.counters.count_rows(served.names, arrived)
        self.last.add(arrived)
        answer = {name: part.tolist() for name, part in found.items()}
        return answer | {"notes": [_described(note) for note in arrived.notes]}

    def _predicted(self, arrived: Arrived, **options: Any) -> dict[str, Any]:
        """Predictions, and probabilities or intervals, if all of them are finite."""
        served = self.served
        found: dict[str, Any] = {"predictions": served.predict(arrived, **options)}
        if "interval" in options:
            found["predictions"], found["intervals"] = found["predictions"]
        elif hasattr(served, "predict_proba"):
            found["classes"] = served.classes_
            found["probabilities"] = served.predict_proba(arrived)
        found = {name: np.asarray(part) for name, part in found.items()}
        for name, part in found.items():
            if part.dtype.kind in "mM":  # class labels that are times
                found[name] = part.astype(str)
        for name, part in found.items():
            if part.dtype.kind == "f" and not np.isfinite(part).all():
                raise RowsError(
                    f"The {name} are not all finite numbers: some values of the rows "
                    "are too large for the model."
                )
        return found

    async def _body(self, request: Request) -> bytes:
        """Read the body of a request, unless it is too long."""
        most = self.limits.max_bytes
        too_long = HTTPException(
            413, f"The body has more than {most:,} bytes; send fewer rows in a request."
        )
        told = request.headers.get("content-length", "")
        if told.isdecimal() and int(told[:19]) > most:
            raise too_long
        parts, size = [], 0
        try:
            async for part in request.stream():
                size += len(part)
                if size > most:
                    raise too_long
                parts.append(part)
        except ClientDisconnect as error:
            raise HTTPException(
                400, "The body ended before it was complete."
            ) from error
        return b"".join(parts)

    async def _within_time(self, work: Awaitable[Any], status: int, what: str) -> Any:
        """Wait for the result of some work, but not too long."""
        seconds = self.limits.max_seconds
        try:
            async with asyncio.timeout(seconds):
                return await work
        except TimeoutError as error:
            raise HTTPException(status, f"{what} than {seconds:g} seconds.") from error

    async def contract(self, request: Request) -> Response:
        """The JSON Schema of a row."""
        return _JSON(self.served.json_schema())

    async def health(self, request: Request) -> Response:
        """Say that the service works, which it does if it answers."""
        return _JSON({"status": "ok", "noiseproof": __version__})

    async def metrics(self, request: Request) -> Response:
        """Counts and times in the text format of Prometheus."""
        loop = asyncio.get_running_loop()
        found = await loop.run_in_executor(self.pool, self.last.cost)
        self.counters.show_costs(found)
        return Response(self.counters.exposition(), media_type=CONTENT_TYPE_LATEST)


class _JSON(JSONResponse):
    """JSON in ASCII, because a name can contain half of a surrogate pair."""

    def render(self, content: Any) -> bytes:
        shape: Any = {"allow_nan": False, "separators": (",", ":")}
        return json.dumps(content, default=str, **shape).encode()


_CROWDED = _JSON(
    {"error": "There are too many connections at once; try again later."},
    status_code=503,
    headers={"connection": "close"},
)


class _LastRows:
    """The most recent rows, and the cost of their missing values."""

    def __init__(self, served: Served, size: int):
        self.model, self.size = served.model, size
        self._parts: deque[Any] = deque()
        self._n, self._added, self._shown = 0, 0, 0
        self._lock, self._time = Lock(), -np.inf
        self._found: Any = None

    def add(self, arrived: Arrived) -> None:
        """Keep the rows of a request, and drop the oldest rows outside the window."""
        if not self.size or not hasattr(arrived.X, "shape"):
            return
        n = arrived.X.shape[0]
        part = _safe_indexing(arrived.X, np.arange(max(0, n - self.size), n))
        with self._lock:
            self._parts.append(part)
            self._n += part.shape[0]
            self._added += n
            while self._n - self._parts[0].shape[0] >= self.size:
                self._n -= self._parts.popleft().shape[0]

    def cost(self) -> Any:
        """The latest estimate of costs; None if there is none."""
        with self._lock:
            late = time.monotonic() - self._time > _SECONDS
            if self._n < _LEAST or not late or self._added == self._shown:
                return self._found
            self._time, self._shown = time.monotonic(), self._added
            parts = list(self._parts)
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                self._found = missing_cost(self.model, _stacked(parts, self.size))
        except TypeError as error:  # the model cannot tell, and never will
            _LOG.info("The cost of missing values is not estimated: %s", error)
            self.size, self._found = 0, None
        except Exception as error:  # the other metrics are shown in any case
            _LOG.error("The estimate of costs failed; the last is kept", exc_info=error)
        return self._found


def _stacked(parts: list[Any], size: int) -> Any:
    """Stack tables of one kind, and keep as many of the last rows."""
    if hasattr(parts[0], "iloc"):
        import pandas as pd

        whole = pd.concat(parts, ignore_index=True)
    elif hasattr(parts[0], "iter_columns"):
        import polars as pl

        # integers arrive as floats if one of them is missing
        whole = pl.concat(parts, how="vertical_relaxed")
    else:
        whole = np.concatenate(parts)
    n = whole.shape[0]
    return _safe_indexing(whole, np.arange(max(0, n - size), n))


class _Counting:
    """ASGI middleware that counts requests by path and status, and times them."""

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


class PatientHTTP(H11Protocol):
    """HTTP protocol for uvicorn that loses no request, and waits for none forever.

    uvicorn itself drops a connection if the client closes its side before it has the
    answer. It waits without limit for the head of a request. When it stops, it closes
    idle connections although a request may be on its way, and its last answer does not
    say that the connection ends. And some of its errors are plain text.
    """

    def connection_made(self, transport: Any) -> None:
        """Limit the time to wait for the first request, as for later ones."""
        super().connection_made(transport)
        self._limit = self._limited(None, self.timeout_keep_alive)
        self._stopping = False
        self._most, self.limit_concurrency = self.limit_concurrency, None

    def data_received(self, data: bytes) -> None:
        """Read a part of a request; if it begins one while stopping, it is the last."""
        crowded = self._most is not None and self._most <= len(self.connections)
        self.app = _CROWDED if crowded else self.config.loaded_app
        super().data_received(data)
        if self._stopping and not self._is_idle():
            self.shutdown()

    def on_response_complete(self) -> None:
        """Limit the time to wait for the next request."""
        answered = self.cycle
        super().on_response_complete()
        self._limit.cancel()
        self._limit = self._limited(answered, self.timeout_keep_alive)

    def _is_idle(self) -> bool:
        return self.cycle is None or self.cycle.response_complete

    def _limited(self, last: Any, seconds: float) -> asyncio.TimerHandle:
        """Close the connection unless another request comes in time."""

        def close() -> None:
            if self.cycle is last:
                self.transport.close()

        return self.loop.call_later(seconds, close)

    def connection_lost(self, exc: Exception | None) -> None:
        """Forget the connection."""
        self._limit.cancel()
        super().connection_lost(exc)

    def eof_received(self) -> bool:  # type: ignore[override]
        """Keep the connection open until the current request is answered."""
        if self._is_idle():
            return False
        if self.cycle.more_body:
            self.send_400_response("The body ended before it was complete.")
        return True

    def send_400_response(self, msg: str) -> None:
        """Answer what is not HTTP, and close the connection."""
        if self._is_idle() or not self.cycle.response_started:
            body = _JSON({"error": msg}).body
            head = (
                "HTTP/1.1 400 Bad Request\r\ncontent-type: application/json\r\n"
                f"content-length: {len(body)}\r\nconnection: close\r\n\r\n"
            )
            self.transport.write(head.encode() + body)
        self.transport.close()

    def shutdown(self) -> None:
        """Close the connection after the current request, or one that is on its way."""
        if self._is_idle():
            self._stopping = True
            self._limit.cancel()
            self._limit = self._limited(self.cycle, _GRACE)
            return
        if not self.cycle.response_started:
            last = (b"connection", b"close")
            self.cycle.default_headers = [*self.cycle.default_headers, last]
        super().shutdown()


class _Metrics:
    """Metrics for Prometheus, added up over all workers."""

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
            "missing_rate": gauge(
                "training_missing_share", "Share of values missing in training."
            ),
            "absence_cost": gauge("absence_cost", "Cost if the column is missing."),
        }
        for name, clause in served.contract().items():
            self._missing.labels(name)  # shown from the start, as zero
            for fact, shown in known.items():
                if clause[fact] is not None:
                    shown.labels(name).set(clause[fact])

        self._add_estimates()

    def _add_estimates(self) -> None:
        """Add metrics for the estimated cost of missing values."""
        now = partial(
            Gauge, registry=self._registry, namespace="noiseproof",
            multiprocess_mode="mostrecent",
        )  # fmt: skip
        what = "of the most recent rows, estimated without labels"
        self._estimates = {
            "score": now("estimated_score", f"Score {what}.", ["scoring"]),
            "complete_score": now(
                "estimated_complete_score", f"Score with nothing missing {what}.",
                ["scoring"],
            ),
            "cost": now("missing_cost", f"Cost of missing values {what}.", ["scoring"]),
        }  # fmt: skip
        self._by_column = now(
            "column_missing_cost", f"Cost of a column's missing values {what}.",
            ["column"],
        )  # fmt: skip
        self._costly: set[str] = set()
        self._window = now("window_rows", "Rows used to estimate costs.")
        self._doubts = now(
            "missing_cost_warnings", "Number of reasons to doubt the estimated costs."
        )

    def show_costs(self, found: Any) -> None:
        """Set the metrics to an estimate, if there is one."""
        if found is None:
            return
        for name, gauge in self._estimates.items():
            gauge.labels(found.scoring).set(getattr(found, name).value)
        costs = {name: one.value for name, one in found.by_column.items()}
        self._costly.update(found.missing_before, costs)
        for column in self._costly:  # several workers cannot remove a column
            self._by_column.labels(column).set(costs.get(column, 0.0))
        self._window.set(found.n_rows)
        self._doubts.set(len(found.warnings))

    def count_request(self, path: str, status: int, seconds: float) -> None:
        path = path if path in _PATHS else "other"  # strangers may invent paths
        self._requests.labels(path, status).inc()
        self._seconds.labels(path).observe(seconds)

    def count_rows(self, names: list[str], arrived: Arrived) -> None:
        """Count the rows, missing values and notes of a request."""
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


def _n_rows(rows: Any) -> int:
    """Number of rows of records, of columns, or of one record."""
    if isinstance(rows, list):
        return len(rows)
    columns = [len(value) for value in rows.values() if isinstance(value, list | dict)]
    return max(columns, default=1)


def _question(body: bytes) -> tuple[Any, dict[str, Any]]:
    """Parse the records or columns of a request, and its options."""
    try:
        question = json.loads(body)
    except (json.JSONDecodeError, UnicodeDecodeError, RecursionError) as error:
        raise HTTPException(400, f"The body is not JSON: {error}.") from error
    except ValueError as error:  # Python's limit
        raise HTTPException(
            400, "The body contains an integer with more than 4,300 digits."
        ) from error
    options: dict[str, Any] = {}
    if isinstance(question, dict) and isinstance(question.get("rows"), list | dict):
        question, options = question.pop("rows"), question
        options = {name: x for name, x in options.items() if x is not None}
        _check_options(options)
    rows = question if isinstance(question, list) else [question]
    if not all(isinstance(row, dict) for row in rows):
        raise HTTPException(
            400, "The body must be a record (an object with a value for each column), "
            "a list of records, columns (an object with a list for each column), or "
            "an object whose 'rows' are one of these.",
        )  # fmt: skip
    return question, options


def _check_options(options: dict[str, Any]) -> None:
    """Raise an error if the options beside the rows are not legal."""
    for name, value in options.items():
        if name not in _OPTIONS:
            raise HTTPException(
                400, f"Unknown option {shortened(name)!r}: beside 'rows' there may be "
                "'interval' and 'strict'.",
            )  # fmt: skip
        if not _OPTIONS[name](value):
            got = shortened(json.dumps(value))
            raise HTTPException(400, f"{name} must be {_LEGAL[name]}; got {got}.")


def _described(note: Note) -> dict[str, Any]:
    """A note as types of JSON, without the option of the command line."""
    return {"kind": note.kind, "columns": note.columns, "finding": note.finding}


async def _refusal(request: Request, error: Any) -> Response:
    """Answer a bad request with one sentence."""
    sentence = error.detail
    if error.status_code == 404:
        *paths, last = _PATHS
        sentence = f"This path does not exist; use {', '.join(paths)} or {last}."
    elif error.status_code == 405:
        methods = " or ".join(sorted(error.headers["Allow"].split(", ")))
        sentence = (
            f"{request.url.path} does not answer {request.method}; use {methods}."
        )
    return _JSON({"error": sentence}, error.status_code, error.headers)


async def _failure(request: Request, error: Exception) -> Response:
    """Answer after an error of the model or of the service; the log has details."""
    _LOG.error("%s %s failed", request.method, request.url.path, exc_info=error)
    sentence = f"The service failed: {type(error).__name__}: {error}"
    return _JSON({"error": sentence}, 500)
