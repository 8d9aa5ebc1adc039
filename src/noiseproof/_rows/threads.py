"""Threads that share a pass over the data, and loading of compiled code."""

from __future__ import annotations

import gc
import os
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, nullcontext
from functools import cache, cached_property
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


@cache
def _controller() -> Any:
    return ThreadpoolController()


def one_blas_thread() -> Any:
    """A context in which BLAS works alone; cheap, since the libraries are known."""
    return _controller().limit(limits=1, user_api="blas")


def available_threads() -> int:
    """Cores this process may use; joblib's workers announce less through OpenMP's."""
    limit = os.environ.get("OMP_NUM_THREADS", "")
    cores = joblib.cpu_count()
    return min(int(limit), cores) if limit.isdigit() and int(limit) > 0 else cores


@contextmanager
def collector_paused() -> Iterator[None]:
    """No garbage collection inside, if there was any outside.

    Numba and what it compiled make a hundred thousand objects, none of them garbage:
    with the collector looking on, loading them takes almost twice as long.
    """
    was_on = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_on:
            gc.enable()
