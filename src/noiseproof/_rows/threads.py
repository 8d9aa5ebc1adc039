"""Threads that share a pass over the data, and how many BLAS may use meanwhile."""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, nullcontext
from functools import cached_property
from typing import Any, ClassVar, TypeVar

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
    sharing : int
        How many pools work at the same time: each has its part of the threads.
    """

    def __init__(self, blas: bool, sharing: int = 1) -> None:
        self._limits = one_blas_thread if blas else nullcontext
        self._sharing = sharing
        self._pool: ThreadPoolExecutor | None = None

    @cached_property
    def count(self) -> int:
        """Threads there may be; a question that takes longer than a little work."""
        return max(1, available_threads() // self._sharing)

    def at_most(self, wanted: int) -> int:
        """Threads for work that `wanted` of them would share."""
        return min(wanted, self.count) if wanted > 1 else 1

    def map(
        self, work: Callable[[Part], Out], parts: Sequence[Part], *, light: bool = False
    ) -> list[Out]:
        """Results of `work`, in the order of the parts.

        BLAS leaves `light` work to one thread by itself: no need to tell it.
        """
        with nullcontext() if light else self._limits():
            if len(parts) == 1:
                return [work(parts[0])]
            if self._pool is None:
                self._pool = ThreadPoolExecutor(self.count)
            return list(self._pool.map(work, parts))


def side_by_side(
    work: Callable[[Part, int, threading.Event], Out], parts: Sequence[Part], n: int
) -> list[Out]:
    """Results of `work` for each part, `n` of them at a time, then those left over.

    It is told how many work at the same time. If one fails, or the user interrupts
    them, all others see that the event is set, and should end.
    """
    failed = threading.Event()

    def attempt(part: Part, together: int) -> Out:
        try:
            return work(part, together, failed)
        except BaseException:
            failed.set()
            raise

    even = len(parts) - len(parts) % n
    found: list[Out] = []
    for some in (parts[:even], parts[even:]):
        together = min(n, len(some))
        if together == 1:
            found += [attempt(part, 1) for part in some]
        elif some:
            with ThreadPoolExecutor(together) as pool:
                try:
                    found += pool.map(attempt, some, [together] * len(some))
                except BaseException:
                    failed.set()
                    raise
    return found


class one_blas_thread:  # noqa: N801
    """A context in which BLAS works alone.

    BLAS keeps one number of threads for the whole process. So the first of all contexts
    that are open at a time sets it and the last one restores it, in whatever order
    threads open and close them. One that an interrupt kept from being closed is closed
    when it is deleted.
    """

    _open: ClassVar[set[int]] = set()
    _lock: ClassVar[Any] = threading.RLock()  # may be deleted while one is opened
    _libraries: ClassVar[ThreadpoolController | None] = None  # looked up once
    _before: ClassVar[Any] = None

    def __enter__(self) -> None:
        cls = type(self)
        with cls._lock:
            cls._open.add(id(self))
            if cls._before is None:
                cls._libraries = cls._libraries or ThreadpoolController()
                cls._before = cls._libraries.limit(limits=1, user_api="blas")

    def __exit__(self, *error: object) -> None:
        cls = type(self)
        with cls._lock:
            cls._open.discard(id(self))
            if not cls._open and cls._before is not None:
                cls._before.restore_original_limits()
                cls._before = None

    def __del__(self) -> None:
        if id(self) in self._open:
            self.__exit__()


_here = threading.local()


@contextmanager
def alone() -> Iterator[None]:
    """A context in which this thread works by itself, so that sums keep their order."""
    before = getattr(_here, "alone", False)
    _here.alone = True
    try:
        with one_blas_thread():
            yield
    finally:
        _here.alone = before


def available_threads() -> int:
    """Cores this process may use; joblib's workers announce less through OpenMP's."""
    if getattr(_here, "alone", False):
        return 1
    limit = os.environ.get("OMP_NUM_THREADS", "")
    cores = joblib.cpu_count()
    return min(int(limit), cores) if limit.isdigit() and int(limit) > 0 else cores
