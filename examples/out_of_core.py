"""Learn from a file that is larger than the memory allowed for it.

Writes a text-like file in svmlight format, then streams it in chunks through
`DropoutSGDClassifier.partial_fit`, holding one chunk at a time.

    python examples/out_of_core.py --rows 400000 --budget 48
"""

from __future__ import annotations

import argparse
import resource
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
from rich.progress import Progress
from sklearn.datasets import load_svmlight_file

from noiseproof import DropoutSGDClassifier

FEATURES, PER_ROW = 20_000, 30
MIB = 2**20


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=int, default=400_000)
    parser.add_argument("--budget", type=int, default=48, help="MiB beyond the start")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "stream.svmlight"
        write(path, options.rows)
        size = path.stat().st_size
        print(f"{options.rows} rows, {size / MIB:.0f} MiB on disk")
        # one small chunk first, so that compiling is not counted as data
        model = DropoutSGDClassifier(0.5)
        X, y = next(chunks(path, MIB // 4))
        model.partial_fit(X, y, classes=[-1, 1])
        before = peak()
        right = seen = 0
        with Progress() as progress:
            task = progress.add_task("learning", total=size)
            for X, y in chunks(path, options.budget * MIB // 16):
                right += int((model.predict(X) == y).sum())  # before learning from it
                seen += len(y)
                model.partial_fit(X, y)
                progress.update(task, completed=size * seen / options.rows)
        grown = (peak() - before) / MIB
        print(f"accuracy along the stream {right / seen:.3f}")
        print(f"memory grew by {grown:.0f} MiB, allowed were {options.budget} MiB")
        if grown > options.budget:
            raise SystemExit("The budget was exceeded.")


def write(path: Path, rows: int) -> None:
    """Rows of words with Zipf's popularity; the label is a noisy linear rule."""
    rng = np.random.default_rng(0)
    truth = rng.normal(size=FEATURES)
    with path.open("w", encoding="ascii") as file:
        for _ in range(rows):
            words = np.unique(rng.zipf(1.3, PER_ROW) % FEATURES)
            label = 1 if truth[words].sum() + rng.normal() > 0 else -1
            entries = " ".join(f"{word + 1}:1" for word in words)
            file.write(f"{label} {entries}\n")


def chunks(path: Path, size: int) -> Iterator[tuple[Any, Any]]:
    """Pieces of about `size` bytes, cut at line ends."""
    for offset in range(0, path.stat().st_size, size):
        X, y = load_svmlight_file(
            str(path),
            n_features=FEATURES,
            zero_based=False,
            offset=offset,
            length=size,
        )
        if X.shape[0]:
            yield X, y


def peak() -> int:
    """Largest resident memory of this process so far, in bytes."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024


if __name__ == "__main__":
    main()
