"""`noiseproof serve`: a model behind HTTP."""

from __future__ import annotations

import json
import os
import tempfile
from typing import Annotated, Any

import typer

from noiseproof.cli.options import Model

_SETTINGS = "NOISEPROOF_SERVICE"  # how workers, processes of their own, are told
_CONNECTIONS = 1000  # at a time; more are refused, so that files do not run out


def serve(
    model: Model,
    host: Annotated[
        str,
        typer.Option(help="Address to listen at; 0.0.0.0 lets other machines ask."),
    ] = "127.0.0.1",
    port: Annotated[int, typer.Option(min=0, max=65535, help="Port.")] = 8000,
    workers: Annotated[
        int, typer.Option(min=1, help="Processes that answer side by side.")
    ] = 1,
    max_bytes: Annotated[
        int, typer.Option(min=1, help="Largest body of a request, in bytes.")
    ] = 16 * 2**20,
    max_rows: Annotated[
        int, typer.Option(min=1, help="Largest number of rows in a request.")
    ] = 10_000,
    max_seconds: Annotated[
        float,
        typer.Option(min=0.1, help="Longest time to read a body, and to answer."),
    ] = 30.0,
    window: Annotated[
        int,
        typer.Option(
            min=0,
            help="Number of last rows whose score and costs /metrics estimates; 0 for "
            "no estimate.",
        ),
    ] = 1000,
) -> None:
    """Answer for rows over HTTP until the process is told to stop.

    POST /predict takes a JSON list of records and returns predictions, probabilities
    and notes. GET /contract describes a row as JSON Schema, /health says that the
    service works, and /metrics has counts for Prometheus, and what missing values
    cost. A column that a record does not have is a missing value. On SIGTERM or
    Ctrl-C no more connections are accepted, and requests that were accepted are
    answered first.

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
    note(f"Serving {model} at http://{host}:{port} (POST /predict, GET /contract, ...)")
    with tempfile.TemporaryDirectory() as folder:
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


def worker_app() -> Any:
    """The application of a worker, made of what the command has left for it."""
    from noiseproof.io import load
    from noiseproof.serving import Served, http_app

    settings = json.loads(os.environ[_SETTINGS])
    served = load(settings["model"])
    if not isinstance(served, Served):
        raise ValueError(
            f"{settings['model']} holds a {type(served).__name__}, which does not know "
            "the columns of its table; save noiseproof.serving.Served(model, table) "
            "with the training table, or use noiseproof train."
        )
    return http_app(served, **settings["limits"])
