"""Threads that share a pass over the data, and how many BLAS may use meanwhile."""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, nullcontext
from functools import cached_property
from typing import Any, TypeVar

import joblib
from threadpoolctl import ThreadpoolController

Part = TypeVar("Part")
Out = TypeVar("Out")


class Workers:
    """A pool of threads, made at the first pass that is large enough for it.

    The work must release the GIL: compiled kernels and BLAS do.

    Parameters
    ----------
    blas : bool
        Whether the work calls BLAS. Then that gets one thread in each of ours: its own
        spin-waiting costs more than it brings on narrow products.
    """

    def __init__(self, blas: bool) -> None:
        self._limits = one_blas_thread if blas else nullcontext
        self._pool: ThreadPoolExecutor | None = None

    @cached_property
    def count(self) -> int:
        """Threads there may be; a question that takes longer than a little work."""
        return available_threads()

    def at_most(self, wanted: int) -> int:
        """Threads for work that `wanted` of them would share."""
        return min(wanted, self.count) if wanted > 1 else 1

    def map(self, work: Callable[[Part], Out], parts: Sequence[Part]) -> list[Out]:
        """Results of `work`, in the order of the parts; a single part is done here.

        Only the pool's threads limit BLAS: an interrupt, which reaches the main thread
        only, cannot come between a limit and its end.
        """
        if len(parts) == 1:
            return [work(parts[0])]
        if self._pool is None:
            self._pool = ThreadPoolExecutor(self.count)

        def limited(part: Part) -> Out:
            with self._limits():
                return work(part)

        return list(self._pool.map(limited, parts))


class _BlasLimit:
    """One thread for BLAS while anybody asks for it, as many as before afterwards.

    The limit belongs to the whole process, so it is counted: the first who comes sets
    it and the last who leaves lifts it, in whatever order threads come and leave.
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._users = 0
        self._libraries: ThreadpoolController | None = None  # looked up once
        self._limit: Any = None

    def take(self) -> None:
        with self._lock:
            if self._users == 0:
                self._libraries = self._libraries or ThreadpoolController()
                self._limit = self._libraries.limit(limits=1, user_api="blas")
            self._users += 1

    def give_back(self) -> None:
        with self._lock:
            self._users -= 1
            if self._users == 0:
                self._limit.restore_original_limits()


_blas = _BlasLimit()


@contextmanager
def one_blas_thread() -> Iterator[None]:
    """A context in which BLAS works alone."""
    _blas.take()
    try:
        yield
    finally:
        _blas.give_back()


def available_threads() -> int:
    """Cores this process may use; joblib's workers announce less through OpenMP's."""
    limit = os.environ.get("OMP_NUM_THREADS", "")
    cores = joblib.cpu_count()
    return min(int(limit), cores) if limit.isdigit() and int(limit) > 0 else cores
