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
    """A pool of threads, created by the first pass that is large enough for it.

    The work must release the GIL, as compiled loops and BLAS do. If it calls `blas`,
    BLAS is limited to one thread in each of ours, since its spin-waiting costs more
    than it gains on narrow products. `threads` defaults to the number of cores.
    """

    def __init__(self, blas: bool, threads: int | None = None) -> None:
        self._limits = one_blas_thread if blas else nullcontext
        self._threads = threads
        self._pool: ThreadPoolExecutor | None = None

    @cached_property
    def count(self) -> int:
        """The maximum number of threads, which takes some time to look up."""
        return self._threads or available_threads()

    def at_most(self, wanted: int) -> int:
        """Return the number of threads for work that `wanted` of them could share."""
        return min(wanted, self.count) if wanted > 1 else 1

    def map(
        self, work: Callable[[Part], Out], parts: Sequence[Part], *, light: bool = False
    ) -> list[Out]:
        """Apply `work` to the parts; return the results in order.

        For `light` work, BLAS uses a single thread anyway, and need not be limited.
        """
        with nullcontext() if light else self._limits():
            if len(parts) == 1:
                return [work(parts[0])]
            if self._pool is None:
                self._pool = ThreadPoolExecutor(self.count)
            return list(self._pool.map(work, parts))


def side_by_side(
    work: Callable[[Part, threading.Event], Out], parts: Sequence[Part], n: int
) -> list[Out]:
    """Apply `work` to each part, `n` of them in parallel; return the results in order.

    If one part fails or the user interrupts, an event is set that tells the others to
    end.
    """
    failed = threading.Event()

    def attempt(part: Part) -> Out:
        try:
            return work(part, failed)
        except BaseException:
            failed.set()
            raise

    with ThreadPoolExecutor(n) as pool:
        try:
            return list(pool.map(attempt, parts))
        except BaseException:
            failed.set()
            raise


class one_blas_thread:  # noqa: N801
    """A context in which BLAS uses a single thread.

    BLAS has one number of threads for the whole process. So, of several contexts that
    are open at the same time, the first one sets it and the last one restores it, in
    whatever order threads open and close them. A context that is not closed because of
    an interrupt is closed when it is deleted.
    """

    _open: ClassVar[set[int]] = set()
    _lock: ClassVar[Any] = threading.RLock()  # a context may be deleted while one opens
    _libraries: ClassVar[list[Any] | None] = None  # looked up once
    _before: ClassVar[list[tuple[Any, int]]] = []

    def __enter__(self) -> None:
        cls = type(self)
        with cls._lock:
            cls._open.add(id(self))
            if len(cls._open) == 1:
                cls._before = cls._limited()

    def __exit__(self, *error: object) -> None:
        cls = type(self)
        with cls._lock:
            cls._open.discard(id(self))
            while not cls._open and cls._before:
                _set_threads(*cls._before.pop())

    def __del__(self) -> None:
        if id(self) in self._open:
            self.__exit__()

    @classmethod
    def _limited(cls) -> list[tuple[Any, int]]:
        """Limit all BLAS libraries; return the old numbers of those that complied."""
        if cls._libraries is None:
            found = ThreadpoolController().select(user_api="blas")
            cls._libraries = list(found.lib_controllers)
        numbers = [(library, library.num_threads) for library in cls._libraries]
        several = [(library, n) for library, n in numbers if n > 1]
        for library, _ in several:
            _set_threads(library, 1)
        return [(library, n) for library, n in several if library.num_threads == 1]


def _set_threads(library: Any, n: int) -> None:
    """Set the number of threads of a BLAS so that any thread can set it again.

    threadpoolctl 3.8 lets only the thread that set OpenBLAS's number first change it,
    but another thread may close the last of our contexts.
    """
    before = library.num_threads
    library.set_num_threads(n)
    if library.num_threads != before and hasattr(library, "clear_controlling_thread"):
        library.clear_controlling_thread(force=True)


_here = threading.local()


@contextmanager
def alone() -> Iterator[None]:
    """A context in which passes use one thread, so that sums keep their order."""
    before = getattr(_here, "alone", False)
    _here.alone = True
    try:
        with one_blas_thread():
            yield
    finally:
        _here.alone = before


def available_threads() -> int:
    """Return the cores this process may use; joblib's workers set OMP_NUM_THREADS."""
    if getattr(_here, "alone", False):
        return 1
    limit = os.environ.get("OMP_NUM_THREADS", "")
    cores = joblib.cpu_count()
    return min(int(limit), cores) if limit.isdigit() and int(limit) > 0 else cores
