"""Runs that were stopped go on where they were."""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

from experiments.experiment import Row


class Unfinished:
    """Finished parts of a run, in a file that is removed with the end of the run.

    A line of JSON with the settings, then one for each part, written and synced at
    once. A line that was cut off does not count, nor does a file of other settings.

    Parameters
    ----------
    path : Path, default=None
        The file; None keeps nothing.
    settings : dict, default=None
        What the rows of a part depend on.
    """

    def __init__(
        self, path: Path | None = None, settings: dict[str, Any] | None = None
    ):
        self.path = path
        self.head = json.dumps(settings)
        self.known: dict[str, list[Row]] = {}
        self.is_resumed = False
        if path is None:
            return
        lines = path.read_text(encoding="utf-8").split("\n") if path.is_file() else []
        if lines and lines[0] == self.head:
            for line in lines[1:-1]:  # what follows the last end of a line was cut off
                key, rows = json.loads(line)
                self.known[key] = rows
        self.is_resumed = bool(self.known)
        whole = [self.head, *(json.dumps(part) for part in self.known.items())]
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("".join(f"{line}\n" for line in whole), encoding="utf-8")

    def part(self, name: str, work: Callable[[], Iterable[Row]]) -> list[Row]:
        """Rows of a part: those on file, or else the work is done and kept."""
        if name not in self.known:
            self.known[name] = list(work())
            if self.path is not None:
                with self.path.open("a", encoding="utf-8") as file:
                    file.write(json.dumps([name, self.known[name]]) + "\n")
                    file.flush()
                    os.fsync(file.fileno())
        return self.known[name]

    def remove(self) -> None:
        """Remove the file: the results are written."""
        if self.path is not None:
            self.path.unlink(missing_ok=True)
