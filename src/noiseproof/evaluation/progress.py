"""A progress bar for long work, shown in a terminal only."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from threading import Lock
from typing import Any

_PATIENCE = 2.0  # seconds before a bar appears
_WIDTH = 30


@contextmanager
def progress_bar(progress: Any, total: int) -> Iterator[Callable[[], None]]:
    """Give a function to call after each of `total` pieces of work, from any thread.

    `progress` is None (a bar after 2 seconds, if the error stream is a terminal), True
    (always a bar), False (no bar), or a function of (done, total).
    """
    if not (progress in (None, True, False) or callable(progress)):
        raise TypeError(
            "progress must be None, True, False, or a function of (done, total); got "
            f"{progress!r}."
        )
    bar = None if callable(progress) else _Bar(progress)
    try:
        yield _Ticker(bar.show if bar else progress, total)
    finally:
        if bar:
            bar.clear()


class _Ticker:
    """Counts and shows finished work; in another process it does nothing."""

    def __init__(self, show: Callable[[int, int], Any], total: int):
        self.show, self.total = show, total
        self.done, self.lock = 0, Lock()

    def __call__(self) -> None:
        with self.lock:
            self.done += 1
            self.show(self.done, self.total)

    def __reduce__(self) -> Any:
        return _Ticker, (_unseen, self.total)


def _unseen(done: int, total: int) -> None:
    """Show nothing."""


class _Bar:
    """A bar on the error stream, which appears after a while and is then removed."""

    def __init__(self, wanted: bool | None):
        self.shown = False
        self.start = time.monotonic()
        self.patience = 0.0 if wanted else _PATIENCE
        self.silent = wanted is False or (wanted is None and not sys.stderr.isatty())

    def show(self, done: int, total: int) -> None:
        if self.silent or time.monotonic() - self.start < self.patience:
            return
        filled = _WIDTH * done // total
        bar = "█" * filled + "░" * (_WIDTH - filled)
        print(f"\r{bar} {done} of {total}", end="", file=sys.stderr, flush=True)
        self.shown = True

    def clear(self) -> None:
        if self.shown:
            blank = " " * (_WIDTH + 30)
            print(f"\r{blank}\r", end="", file=sys.stderr, flush=True)
