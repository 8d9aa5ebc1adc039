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
def test_results_come_in_order(count, n):
    assert side_by_side(lambda part, _: part, range(count), n) == [*range(count)]


def test_the_others_end_if_one_fails():
    seen, started = [], Barrier(2, timeout=WAIT)

    def work(part, failed):
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

    def work(part, failed):
        started.wait()
        if part == 0:
            sleep(0.2)  # until the main thread waits
            signal.pthread_kill(main_thread().ident, signal.SIGINT)
        seen.append(failed.wait(WAIT))

    with pytest.raises(KeyboardInterrupt):
        side_by_side(work, range(2), 2)
    assert seen == [True, True]


def test_a_pool_has_all_threads_or_so_many_as_it_is_told(monkeypatch):
    monkeypatch.setenv("OMP_NUM_THREADS", str(available_threads()))
    assert Workers(blas=False).count == available_threads()
    assert Workers(blas=False, threads=3).count == 3
