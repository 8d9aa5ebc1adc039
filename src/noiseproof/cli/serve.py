"""`noiseproof serve`: predictions over HTTP."""

from __future__ import annotations

import json
import os
import signal
import socket
import tempfile
from contextlib import suppress
from typing import Annotated, Any

import typer

from noiseproof.cli.options import Model

_SETTINGS = "NOISEPROOF_SERVICE"  # how workers, processes of their own, are told
_CONNECTIONS = 1000  # at a time; more are refused, so that files do not run out


def serve(
    model: Model,
    host: Annotated[
        str,
        typer.Option(help="Address to listen on. Use 0.0.0.0 to serve other machines."),
    ] = "127.0.0.1",
    port: Annotated[
        int, typer.Option(min=0, max=65535, help="Port to listen on.")
    ] = 8000,
    workers: Annotated[int, typer.Option(min=1, help="Number of processes.")] = 1,
    max_bytes: Annotated[
        int, typer.Option(min=1, help="Maximum size of a request body, in bytes.")
    ] = 16 * 2**20,
    max_rows: Annotated[
        int, typer.Option(min=1, help="Maximum number of rows in a request.")
    ] = 10_000,
    max_seconds: Annotated[
        float,
        typer.Option(
            min=0.1,
            help="Maximum time to read a request body, and to answer it, in seconds.",
        ),
    ] = 30.0,
    window: Annotated[
        int,
        typer.Option(
            min=0,
            help="Number of most recent rows for which /metrics estimates the score "
            "and the cost of missing values. 0 turns the estimate off.",
        ),
    ] = 1000,
) -> None:
    """Serve predictions over HTTP until the process is stopped.

    POST /predict takes a JSON list of records, and returns predictions,
    probabilities and notes. A column that a record lacks is a missing value. GET
    /contract describes a row as JSON Schema. GET /health says whether the service
    works. GET /metrics has metrics for Prometheus, with an estimate of what missing
    values cost. On SIGTERM or Ctrl-C the service accepts no more connections,
    answers the requests it has, and stops.

    \b
    Examples:
      noiseproof serve model.npf
      noiseproof serve model.npf --port 9000 --workers 4
      curl -d '[{"age": 41, "dose": null}]' localhost:8000/predict
    """
    from noiseproof.cli.output import note
    from noiseproof.serving import PatientHTTP  # first: it names the extra to install

    import uvicorn  # isort: skip

    limits = {"max_bytes": max_bytes, "max_rows": max_rows, "max_seconds": max_seconds}
    limits["window"] = window
    os.environ[_SETTINGS] = json.dumps({"model": str(model), "limits": limits})
    app = worker_app()  # what is wrong with the file is said before anything listens
    port = _listened(host, port)
    address = f"http://{f'[{host}]' if ':' in host else host}:{port}"
    note(f"Serving {model} at {address} (POST /predict, GET /contract, ...)")
    # after a stop uvicorn raises the signal again, when nothing is left to be done
    signal.signal(signal.SIGTERM, lambda *_: None)
    with tempfile.TemporaryDirectory() as folder, suppress(KeyboardInterrupt):
        if workers > 1:
            os.environ["PROMETHEUS_MULTIPROC_DIR"] = folder
        uvicorn.run(
            app if workers == 1 else "noiseproof.cli.serve:worker_app",
            factory=workers > 1,
            host=host,
            port=port,
            workers=workers,
            http=PatientHTTP,
            access_log=False,
            limit_concurrency=_CONNECTIONS,
            timeout_graceful_shutdown=int(2 * max_seconds) + 1,  # to read, to answer
        )


def _listened(host: str, port: int) -> int:
    """The port, or a free one for 0, after a try to listen on it."""
    try:
        [(family, *_), *_] = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)
        with socket.create_server((host, port), family=family) as server:
            found: int = server.getsockname()[1]
            return found
    except OSError as error:
        words = error.strerror or str(error)
        raise ValueError(f"Cannot listen on {host}, port {port}: {words}.") from error


def worker_app() -> Any:
    """Make the application of a worker from the settings that the command has left."""
    from noiseproof.io import load
    from noiseproof.serving import Served, http_app

    settings = json.loads(os.environ[_SETTINGS])
    served = load(settings["model"])
    if not isinstance(served, Served):
        raise ValueError(
            f"{settings['model']} contains a {type(served).__name__} without a "
            "description of its training table. Save "
            "noiseproof.serving.Served(model, table) with the training table, or use "
            "`noiseproof train`."
        )
    return http_app(served, **settings["limits"])
