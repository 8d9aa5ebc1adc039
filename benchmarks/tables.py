"""`noiseproof train` on a CSV file of 100,000 rows and 200 columns.

Time and peak memory of the whole command, in a process of its own, beside those of a
script that does the same with pandas and plain scikit-learn.

python benchmarks/tables.py [rows] [columns]
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np
import pyarrow as pa
from pyarrow import csv

PEER = """
import sys, pandas as pd
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
table = pd.read_csv(sys.argv[1])
y = table.pop("y")
model = make_pipeline(StandardScaler(), LogisticRegression()).fit(table, y)
print(model.score(table, y))
"""


def write(path: Path, n: int, d: int) -> None:
    rng = np.random.default_rng(0)
    X = rng.normal(size=(n, d))
    columns = {f"x{j}": X[:, j] for j in range(d)}
    score = X @ rng.normal(size=d) / np.sqrt(d) + 0.5 * rng.normal(size=n)
    columns["y"] = (score > 0).astype(int)
    csv.write_csv(pa.table(columns), path)


def measure(command: list[str]) -> tuple[float, float]:
    """Seconds and peak memory in MB of a command."""
    start = time.perf_counter()
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL)
    _, status, usage = os.wait4(process.pid, 0)
    if status:
        sys.exit(f"{command} failed.")
    return time.perf_counter() - start, usage.ru_maxrss / 1024


def main() -> None:
    n, d = (int(word) for word in [*sys.argv[1:], "100000", "200"][:2])
    with tempfile.TemporaryDirectory() as folder:
        data, model = Path(folder, "data.csv"), Path(folder, "model.npf")
        write(data, n, d)
        print(f"{n:,} x {d} CSV of {data.stat().st_size / 1e6:.0f} MB")
        train = ["-m", "noiseproof", "train", str(data), "--target", "y"]
        commands = {
            "pandas, StandardScaler, LogisticRegression": ["-c", PEER, str(data)],
            "noiseproof train": [*train, "-o", str(model)],
        }
        for name, command in commands.items():
            seconds, memory = measure([sys.executable, *command])
            print(f"{name:42}  {seconds:6.1f} s  {memory:7,.0f} MB")


if __name__ == "__main__":
    main()
