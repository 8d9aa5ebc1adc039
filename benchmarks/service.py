"""`noiseproof serve` under load, beside the same model in a bare endpoint.

    python benchmarks/service.py load            requests per second, p50 and p99
    python benchmarks/service.py soak            ten minutes of requests: does it grow?

Both endpoints run in a process of their own at 127.0.0.1, under uvicorn, one after the
other. The bare one reads the JSON into a data frame and answers, and cannot do anything
else: no absent columns, no notes, no metrics, no limits. Clients are connections that
send a row, wait for the answer and send the next; all runs are bounded in count and in
time.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import signal
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np

_BARE = """
import json, sys
import pandas as pd, uvicorn
from starlette.applications import Starlette
from starlette.responses import JSONResponse
from starlette.routing import Route
import noiseproof
model = noiseproof.load(sys.argv[1]).model
columns = list(model.feature_names_in_)
async def predict(request):
    rows = pd.DataFrame(await request.json()).reindex(columns=columns).astype(float)
    shares = model.predict_proba(rows)
    best = model.classes_[shares.argmax(axis=1)]
    answer = {"predictions": best.tolist(), "probabilities": shares.tolist()}
    return JSONResponse(answer)
app = Starlette(routes=[Route("/predict", predict, methods=["POST"])])
uvicorn.run(app, port=int(sys.argv[2]), access_log=False, log_level="warning")
"""


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("what", choices=["load", "soak"])
    parser.add_argument("--rows", type=int, default=20_000, help="reference rows")
    parser.add_argument("--clients", type=int, default=4)
    parser.add_argument("--requests", type=int, default=2_000, help="at the most, each")
    parser.add_argument("--seconds", type=float, default=None, help="at the most, each")
    options = parser.parse_args()
    seconds = options.seconds or {"load": 20.0, "soak": 600.0}[options.what]
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "model.npf"
        rows = _saved(path, options.rows)
        if options.what == "load":
            _load(path, rows, options.clients, options.requests, seconds)
        else:
            _soak(path, rows, options.clients, seconds)


def _saved(path: Path, n: int) -> list[bytes]:
    """Save averaged boosting on n rows of 30 columns; requests of one row each."""
    import pandas as pd
    from sklearn.datasets import make_classification
    from sklearn.ensemble import HistGradientBoostingClassifier

    import noiseproof
    from noiseproof.serving import Served

    X, y = make_classification(n + 500, 30, n_informative=10, random_state=0)
    table = pd.DataFrame(X, columns=[f"sensor_{j}" for j in range(30)])
    model = noiseproof.AverageOverMissing(HistGradientBoostingClassifier(), "donors")
    model.fit(table[:n], y[:n])
    noiseproof.save(Served(model, table[:n]), path)
    new = table[n:].mask(np.random.default_rng(0).random((500, 30)) < 0.1)
    records = json.loads(new.to_json(orient="records"))
    return [json.dumps([record]).encode() for record in records]


def _load(
    path: Path, rows: list[bytes], clients: int, requests: int, seconds: float
) -> None:
    print(f"{len(rows)} rows in turn, a tenth of their values missing; one a request")
    print(f"{'endpoint':18}{'clients':>8}{'requests/s':>12}{'p50 ms':>9}{'p99 ms':>9}")
    for count in (1, clients):
        for name in ("bare", "noiseproof serve"):
            with _running(name, path) as (port, _):
                asyncio.run(_ask(port, rows, 1, 50, 10.0))  # warm
                times, wall = asyncio.run(_ask(port, rows, count, requests, seconds))
            p50, p99 = np.percentile(times, [50, 99]) * 1e3
            rate = len(times) / wall
            print(f"{name:18}{count:8}{rate:12.0f}{p50:9.1f}{p99:9.1f}", flush=True)


def _soak(path: Path, rows: list[bytes], clients: int, seconds: float) -> None:
    """Memory of the service, every tenth of the time."""
    with _running("noiseproof serve", path) as (port, process):
        asyncio.run(_ask(port, rows, clients, 500, 30.0))  # warm
        print(f"{'seconds':>8}{'requests':>10}{'memory MiB':>12}{'files':>7}")
        start, asked, sizes = time.perf_counter(), 0, []
        for _ in range(10):
            times, _ = asyncio.run(_ask(port, rows, clients, 10**6, seconds / 10))
            asked += len(times)
            sizes.append(_memory(process.pid))
            files = len(os.listdir(f"/proc/{process.pid}/fd"))
            passed = time.perf_counter() - start
            print(f"{passed:8.0f}{asked:10}{sizes[-1]:12.1f}{files:7}", flush=True)
        print(
            f"growth from the first to the last line: {sizes[-1] - sizes[0]:+.1f} MiB"
        )


async def _ask(
    port: int, rows: list[bytes], clients: int, requests: int, seconds: float
) -> tuple[list[float], float]:
    """Seconds of each request, and of all; an answer other than 200 ends the run."""
    times: list[float] = []
    end = time.perf_counter() + seconds

    async def client(first: int) -> None:
        reader, writer = await asyncio.open_connection("127.0.0.1", port)
        for i in range(first, requests, clients):
            start = time.perf_counter()
            if start > end:
                break
            body = rows[i % len(rows)]
            head = f"POST /predict HTTP/1.1\r\nHost: x\r\nContent-Length: {len(body)}"
            writer.write(head.encode() + b"\r\n\r\n" + body)
            head_of_answer = await reader.readuntil(b"\r\n\r\n")
            size = int(head_of_answer.lower().split(b"content-length: ")[1].split()[0])
            answer = await reader.readexactly(size)
            if b" 200 " not in head_of_answer.partition(b"\r\n")[0]:
                raise RuntimeError(f"The service answered {answer.decode()}")
            times.append(time.perf_counter() - start)
        writer.close()

    start = time.perf_counter()
    await asyncio.gather(*(client(i) for i in range(clients)))
    return times, time.perf_counter() - start


@contextmanager
def _running(name: str, path: Path) -> Iterator[tuple[int, Any]]:
    """An endpoint in a process of its own, and its port."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    command = [sys.executable, "-m", "noiseproof", "serve", path, "--port", str(port)]
    if name == "bare":
        command = [sys.executable, "-c", _BARE, path, str(port)]
    process = subprocess.Popen(command, stderr=subprocess.DEVNULL)
    try:
        for _ in range(600):
            with socket.socket() as probe:
                if probe.connect_ex(("127.0.0.1", port)) == 0:
                    break
            time.sleep(0.1)
        yield port, process
    finally:
        process.send_signal(signal.SIGTERM)
        process.wait(60)


def _memory(pid: int) -> float:
    """Resident memory of a process, in MiB."""
    text = Path(f"/proc/{pid}/status").read_text(encoding="utf-8")
    return int(text.split("VmRSS:")[1].split()[0]) / 1024


if __name__ == "__main__":
    main()
