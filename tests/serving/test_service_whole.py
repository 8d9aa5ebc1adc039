"""`noiseproof serve` as a process: faulty clients, workers, and a stop under load."""

import asyncio
import itertools
import json
import os
import re
import signal
import socket
import subprocess
import sys
import time
import urllib.request
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing, contextmanager, suppress

import numpy as np
import pandas as pd
import pytest
from sklearn.linear_model import LogisticRegression

import noiseproof
from noiseproof.serving import Served

uvicorn = pytest.importorskip("uvicorn")
pytestmark = pytest.mark.whole

ROW = b'[{"a": 1.0, "b": null}]'
SECONDS = 60  # at the most, for anything here


@pytest.fixture(scope="module")
def path(tmp_path_factory):
    rng = np.random.default_rng(0)
    table = pd.DataFrame(rng.normal(size=(200, 3)), columns=["a", "b", "c"])
    model = noiseproof.AverageOverMissing(LogisticRegression(), "joint-gaussian")
    model.fit(table, (table.a + table.b > 0).astype(int))
    file = tmp_path_factory.mktemp("served") / "model.npf"
    noiseproof.save(Served(model, table), file)
    return file


@contextmanager
def running(path, *options):
    """A service in a process of its own, and its port."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    command = [sys.executable, "-m", "noiseproof", "serve", path, "--port", str(port)]
    process = subprocess.Popen(
        [*command, *options], stderr=subprocess.PIPE, env=os.environ | {"CI": "true"}
    )
    try:
        wait_for(port)
        yield port, process
    finally:
        process.send_signal(signal.SIGTERM)
        process.communicate(timeout=SECONDS)
        assert process.returncode == 0


def wait_for(port):
    end = time.monotonic() + SECONDS
    while time.monotonic() < end:
        if accepts(port):
            return
        time.sleep(0.05)
    raise AssertionError("The service does not listen.")


def accepts(port):
    with socket.socket() as probe:
        return probe.connect_ex(("127.0.0.1", port)) == 0


def get(port, page):
    with urllib.request.urlopen(
        f"http://127.0.0.1:{port}/{page}", timeout=30
    ) as answer:
        return answer.read().decode()


def request(body=ROW, length=None):
    length = len(body) if length is None else length
    head = f"POST /predict HTTP/1.1\r\nHost: localhost\r\nContent-Length: {length}"
    return head.encode() + b"\r\n\r\n" + body


def connect(port):
    return socket.create_connection(("127.0.0.1", port), timeout=30)


def answer_of(connection):
    """Status and body of one answer; None if the other side hung up."""
    data = b""
    while b"\r\n\r\n" not in data:
        more = connection.recv(65536)
        if not more:
            return None
        data += more
    head, _, body = data.partition(b"\r\n\r\n")
    size = int(head.lower().split(b"content-length: ")[1].split()[0])
    while len(body) < size:
        body += connection.recv(65536)
    return int(head.split()[1]), json.loads(body)


def test_faults_of_clients_do_not_disturb_others(path):
    with running(path, "--max-seconds", "2", "--max-bytes", "10000") as (port, _):
        with (
            connect(port) as slow,
            connect(port) as half,
            connect(port) as gone,
            connect(port) as cut,
        ):
            slow.sendall(request(b"[{", length=100))  # the rest never comes
            half.sendall(request())
            half.shutdown(socket.SHUT_WR)  # says no more, but listens
            gone.sendall(request(b'[{"a"', length=50))
            gone.close()  # in the middle of a body
            cut.sendall(request(b'[{"a"', length=50))
            cut.shutdown(socket.SHUT_WR)  # as well, but listens
            status, answer = answer_of(cut)  # at once
            assert (status, answer["error"]) == (400, ENDED)
            with connect(port) as good:
                good.sendall(request())
                status, answer = answer_of(good)
                assert (status, answer["predictions"]) == (200, [1])
                good.sendall(request())  # the connection stays open
                assert answer_of(good)[0] == 200
            assert answer_of(half)[0] == 200
            status, answer = answer_of(slow)
            assert (status, answer["error"].split()[:2]) == (408, ["The", "body"])
        for size in (20_000, 50_000_000):  # all of it is sent before the answer is read
            with connect(port) as large:
                large.sendall(request(b" " * size))
                assert answer_of(large)[0] == 413
        with connect(port) as wrong:
            wrong.sendall(b"NOT HTTP AT ALL\r\n\r\n")
            assert answer_of(wrong) == (
                400,
                {"error": "Invalid HTTP request received."},
            )
        assert json.loads(get(port, "health"))["status"] == "ok"


ENDED = "The body ended before it was complete."
FORGOTTEN = {"nothing": b"", "half a head": b"POST /predict HTT", "all": request()}


@pytest.mark.parametrize("then", ["hangs up", "says no more", "waits"])
@pytest.mark.parametrize("sent", FORGOTTEN.values(), ids=FORGOTTEN)
def test_no_connection_is_kept_forever(sent, then, path):
    """Or load balancers, which connect and hang up to see who listens, use up all."""
    app = noiseproof.serving.http_app(noiseproof.load(path))
    server = in_process(app, timeout_keep_alive=1)

    async def visit():
        reader, writer = await asyncio.open_connection(*address(server))
        writer.write(sent)
        await until(lambda: server.server_state.connections)
        if then == "hangs up":
            writer.transport.abort()
        elif then == "says no more":
            writer.write_eof()
        answer = b"" if then == "hangs up" else await reader.read()
        await until(lambda: not server.server_state.connections)
        writer.close()
        return answer

    async def served():
        running = asyncio.create_task(server.serve())
        async with asyncio.timeout(SECONDS):
            await until(lambda: server.started)
            answer = await visit()
            server.should_exit = True
            await running
        return answer

    answered = b" 200 " in asyncio.run(served())
    assert answered == (sent == request() and then != "hangs up")


def in_process(app, **options):
    """A server in this process, which begins with `serve`."""
    options |= {"port": 0, "log_level": "error", "log_config": None}
    options["http"] = noiseproof.serving.PatientHTTP
    return uvicorn.Server(uvicorn.Config(app, **options))


def address(server):
    return server.servers[0].sockets[0].getsockname()


async def until(condition):
    while not condition():
        await asyncio.sleep(0.01)


class Watched:
    """An application that counts the requests that it began and those it answered."""

    def __init__(self, app):
        self.app, self.begun, self.answered = app, 0, 0

    async def __call__(self, scope, receive, send):
        if scope["type"] != "http":
            return await self.app(scope, receive, send)
        self.begun += 1
        await self.app(scope, receive, send)
        self.answered += 1


async def ask_on(server, keeps, counts):
    """Ask until nobody listens, on one connection as long as the other side allows."""
    asked = request() if keeps else request().replace(b"\r\n", CLOSE, 1)
    while True:
        try:
            reader, writer = await asyncio.open_connection(*address(server))
        except (OSError, IndexError):  # it no longer listens
            return
        with closing(writer):
            for place in itertools.count():
                writer.write(asked)
                try:
                    head = await reader.readuntil(b"\r\n\r\n")
                    size = head.lower().split(b"content-length: ")[1].split()[0]
                    body = await reader.readexactly(int(size))
                except (OSError, asyncio.IncompleteReadError):
                    counts["cut" if place else "not accepted"] += 1
                    return
                counts["answered" if b" 200 " in head else "refused"] += 1
                assert "predictions" in json.loads(body)
                if b"connection: close" in head.lower():
                    break


CLOSE = b"\r\nConnection: close\r\n"


@pytest.mark.parametrize("keeps", [True, False], ids=["keeps open", "closes"])
def test_no_request_is_lost_when_the_service_stops(keeps, path):
    """What the application began is answered, and so is every open connection."""
    app = Watched(noiseproof.serving.http_app(noiseproof.load(path)))
    server, counts = in_process(app), Counter()

    async def load():
        running = asyncio.create_task(server.serve())
        async with asyncio.timeout(SECONDS):
            await until(lambda: server.started)
            clients = [ask_on(server, keeps, counts) for _ in range(16)]
            clients = [asyncio.create_task(client) for client in clients]
            await until(lambda: counts["answered"] > 100)
            server.should_exit = True
            await asyncio.gather(*clients)
            await running

    asyncio.run(load())
    assert counts["cut"] == counts["refused"] == 0
    assert app.begun == app.answered == counts["answered"] > 100


@pytest.mark.parametrize("workers", ["1", "2"])
def test_a_stop_under_load_leaves_nothing_behind(path, workers, tmp_path):
    """No error, exit status 0, and no temporary folder."""

    def ask(port):
        with suppress(OSError):
            while True:
                with connect(port) as one:
                    one.sendall(request())
                    answer = answer_of(one)
                    assert answer is None or answer[0] == 200

    command = [sys.executable, "-m", "noiseproof", "serve", path, "--port", "0"]
    process = subprocess.Popen(
        [*command, "--workers", workers],
        stderr=subprocess.PIPE,
        env=os.environ | {"CI": "true", "TMPDIR": str(tmp_path)},
    )
    told = process.stderr.readline().decode()
    port = int(re.search(r"http://127.0.0.1:(\d+) ", told)[1])
    assert port > 0
    wait_for(port)
    with ThreadPoolExecutor(4) as pool:
        asked = [pool.submit(ask, port) for _ in range(4)]
        time.sleep(0.5)
        process.send_signal(signal.SIGTERM)
        errors = process.communicate(timeout=SECONDS)[1].decode()
    assert process.returncode == 0
    assert "Traceback" not in errors
    assert not list(tmp_path.iterdir())
    for one in asked:
        one.result()


def test_too_many_connections_get_a_sentence(path):
    app = noiseproof.serving.http_app(noiseproof.load(path))
    server = in_process(app, limit_concurrency=2)

    async def crowded():
        running = asyncio.create_task(server.serve())
        async with asyncio.timeout(SECONDS):
            await until(lambda: server.started)
            opened = [await asyncio.open_connection(*address(server)) for _ in "ab"]
            await until(lambda: len(server.server_state.connections) == 2)
            reader, writer = opened[0]
            writer.write(request())
            answer = await reader.read()
            server.should_exit = True
            for _, writer in opened:
                writer.close()
            await running
        return answer

    head, _, body = asyncio.run(crowded()).partition(b"\r\n\r\n")
    assert b" 503 " in head
    assert json.loads(body)["error"].startswith("There are too many connections")


@pytest.mark.parametrize("host", ["127.0.0.1", "no.such.host.invalid"])
def test_an_address_on_which_it_cannot_listen(path, host):
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = str(taken.getsockname()[1])
        options = ["--host", host, "--port", port]
        command = [sys.executable, "-m", "noiseproof", "serve", path, *options]
        done = subprocess.run(command, capture_output=True, text=True, timeout=SECONDS)
    assert done.returncode == 1
    assert done.stderr.startswith(f"Error: Cannot listen on {host}, port {port}: ")
    assert done.stderr.count("\n") == 1


def test_a_request_under_way_is_answered_as_the_last_of_its_connection(path):
    with running(path) as (port, process), connect(port) as one:
        one.sendall(request()[:-5])
        get(port, "health")  # the beginning has been read
        process.send_signal(signal.SIGTERM)
        end = time.monotonic() + SECONDS
        while accepts(port):
            assert time.monotonic() < end
            time.sleep(0.05)
        one.sendall(request()[-5:])
        answer = b"".join(iter(lambda: one.recv(65536), b""))
    head, _, body = answer.partition(b"\r\n\r\n")
    assert b" 200 " in head.partition(b"\r\n")[0]
    assert b"connection: close" in head.lower()
    assert json.loads(body)["predictions"] == [1]


def test_workers_share_their_metrics(path):
    with running(path, "--workers", "2") as (port, _):
        end = time.monotonic() + SECONDS
        for _ in range(20):
            with connect(port) as one:
                one.sendall(request())
                assert answer_of(one)[0] == 200
        line = 'noiseproof_requests_total{path="/predict",status="200"} 20.0'
        while line not in get(port, "metrics"):
            assert time.monotonic() < end
            time.sleep(0.1)


def test_a_file_that_cannot_be_served_is_refused_before_it_listens(tmp_path):
    file = tmp_path / "plain.npf"
    noiseproof.save(noiseproof.DropoutSVC().fit([[0.0], [1.0]], [0, 1]), file)
    command = [sys.executable, "-m", "noiseproof", "serve", file]
    done = subprocess.run(command, capture_output=True, text=True, timeout=SECONDS)
    assert done.returncode == 1
    assert "Served" in done.stderr
    assert "Traceback" not in done.stderr
