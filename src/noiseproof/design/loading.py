"""Loading of large modules."""

from __future__ import annotations

import gc
from collections.abc import Iterator
from contextlib import contextmanager


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
