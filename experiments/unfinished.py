"""Runs that were stopped go on where they were."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

from experiments.experiment import Row
from noiseproof.io import atomic_write


class Unfinished:
    """Finished parts of a run, in a file that is removed with the end of the run.

    A line of JSON with the settings, then one for each part, written and synced at
    once: its name, its rows and the seconds of processor time that it took. A line that
    was cut off does not count, nor does a file of other settings.

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
        self.known: dict[str, tuple[list[Row], float]] = {}
        if path is None:
            return
        lines = path.read_text(encoding="utf-8").split("\n") if path.is_file() else []
        if lines and lines[0] == self.head:
            for line in lines[1:-1]:  # what follows the last end of a line was cut off
                name, rows, seconds = json.loads(line)
                self.known[name] = rows, seconds
        path.parent.mkdir(parents=True, exist_ok=True)
        parts = [json.dumps([name, *part]) for name, part in self.known.items()]
        with atomic_write(path) as file:
            file.write("".join(f"{line}\n" for line in [self.head, *parts]).encode())

    def keep(self, name: str, rows: list[Row], seconds: float) -> None:
        """Add a part that is done."""
        self.known[name] = rows, seconds
        if self.path is not None:
            with self.path.open("a", encoding="utf-8") as file:
                file.write(json.dumps([name, rows, seconds]) + "\n")
                file.flush()
                os.fsync(file.fileno())

    def remove(self) -> None:
        """Remove the file: the results are written."""
        if self.path is not None:
            self.path.unlink(missing_ok=True)
