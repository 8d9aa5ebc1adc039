"""Work that threads do side by side, and what ends it."""

import signal
from threading import Barrier, main_thread
from time import sleep

import pytest

from noiseproof._rows import side_by_side
from noiseproof._rows.threads import Workers, available_threads

WAIT = 30  # seconds, by which all is long over


@pytest.mark.parametrize("n", [1, 2, 3])
@pytest.mark.parametrize("count", range(6))
def test_results_come_in_order_and_all_know_how_many_they_are(count, n):
    found = side_by_side(lambda part, together, _: (part, together), range(count), n)
    even = count - count % n
    left = count - even
    assert found == [(k, n if k < even else left) for k in range(count)]


def test_the_others_end_if_one_fails():
    seen, started = [], Barrier(2, timeout=WAIT)

    def work(part, together, failed):
        started.wait()
        if part == 0:
            raise ValueError("part 0")
        seen.append(failed.wait(WAIT))

    with pytest.raises(ValueError, match="part 0"):
        side_by_side(work, range(2), 2)
    assert seen == [True]


@pytest.fixture
def _interruptible():
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


@pytest.mark.skipif(not hasattr(signal, "pthread_kill"), reason="needs POSIX signals")
@pytest.mark.usefixtures("_interruptible")
def test_all_end_if_the_user_interrupts():
    seen, started = [], Barrier(2, timeout=WAIT)

    def work(part, together, failed):
        started.wait()
        if part == 0:
            sleep(0.2)  # until the main thread waits
            signal.pthread_kill(main_thread().ident, signal.SIGINT)
        seen.append(failed.wait(WAIT))

    with pytest.raises(KeyboardInterrupt):
        side_by_side(work, range(2), 2)
    assert seen == [True, True]


def test_pools_share_the_threads(monkeypatch):
    monkeypatch.setenv("OMP_NUM_THREADS", str(available_threads()))
    assert Workers(blas=False).count == available_threads()
    assert Workers(blas=False, sharing=1000).count == 1
