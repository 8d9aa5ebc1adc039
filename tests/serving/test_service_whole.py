"""`noiseproof serve` as a process: faulty clients, workers, and a stop under load."""

import asyncio
import json
import os
import signal
import socket
import subprocess
import sys
import time
import urllib.request
from contextlib import contextmanager

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
        with connect(port) as slow, connect(port) as half, connect(port) as gone:
            slow.sendall(request(b"[{", length=100))  # the rest never comes
            half.sendall(request())
            half.shutdown(socket.SHUT_WR)  # says no more, but listens
            gone.sendall(request(b'[{"a"', length=50))
            gone.close()  # in the middle of a body
            with connect(port) as good:
                good.sendall(request())
                status, answer = answer_of(good)
                assert (status, answer["predictions"]) == (200, [1])
                good.sendall(request())  # the connection stays open
                assert answer_of(good)[0] == 200
            assert answer_of(half)[0] == 200
            status, answer = answer_of(slow)
            assert (status, answer["error"].split()[:2]) == (408, ["The", "body"])
        with connect(port) as large:
            large.sendall(request(b" " * 20000))
            assert answer_of(large)[0] == 413
        with connect(port) as wrong:
            wrong.sendall(b"NOT HTTP AT ALL\r\n\r\n")
            assert b"400" in wrong.recv(1000)
        assert json.loads(get(port, "health"))["status"] == "ok"


FORGOTTEN = {"nothing": b"", "half a head": b"POST /predict HTT", "all": request()}


@pytest.mark.parametrize("then", ["hangs up", "says no more", "waits"])
@pytest.mark.parametrize("sent", FORGOTTEN.values(), ids=FORGOTTEN)
def test_no_connection_is_kept_forever(sent, then, path):
    """Or load balancers, which connect and hang up to see who listens, use up all."""
    app = noiseproof.serving.http_app(noiseproof.load(path))
    options = {"port": 0, "timeout_keep_alive": 1, "log_level": "error"}
    options["http"] = noiseproof.serving.PatientHTTP
    server = uvicorn.Server(uvicorn.Config(app, **options))

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


def address(server):
    return server.servers[0].sockets[0].getsockname()


async def until(condition):
    while not condition():
        await asyncio.sleep(0.01)


@pytest.mark.parametrize("workers", ["1", "2"])
def test_no_accepted_request_is_lost_when_it_is_told_to_stop(path, workers):
    """Every request that the service began to read gets a whole answer."""

    async def client(port, stop):
        complete = 0
        while not stop.is_set():
            try:
                reader, writer = await asyncio.open_connection("127.0.0.1", port)
            except OSError:
                return complete, 0  # it no longer accepts: nothing is lost
            writer.write(
                request().replace(b"\r\n\r\n", b"\r\nConnection: close\r\n\r\n")
            )
            try:
                answer = await asyncio.wait_for(reader.read(), SECONDS)
            except ConnectionResetError:
                answer = b""  # was waiting to be accepted when the door was closed
            writer.close()
            if not answer:
                return complete, 0
            head, _, body = answer.partition(b"\r\n\r\n")
            if b" 200 " not in head or "predictions" not in json.loads(body):
                return complete, 1
            complete += 1
        return complete, 0

    async def load(port, process):
        stop = asyncio.Event()
        clients = [asyncio.create_task(client(port, stop)) for _ in range(8)]
        await asyncio.sleep(1.0)
        counted = await asyncio.to_thread(get, port, "metrics")
        process.send_signal(signal.SIGTERM)
        done = await asyncio.wait_for(asyncio.gather(*clients), SECONDS)
        stop.set()
        return counted, done

    with running(path, "--workers", workers) as (port, process):
        counted, done = asyncio.run(load(port, process))
        errors = process.communicate(timeout=SECONDS)[1].decode()
    assert sum(failed for _, failed in done) == 0
    assert sum(complete for complete, _ in done) > 8
    assert "Traceback" not in errors
    assert 'path="/predict",status="500"' not in counted


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
