"""Commands in processes of their own, and a table to give them."""

import subprocess
import sys
from typing import NamedTuple

import numpy as np
import pandas as pd


class Outcome(NamedTuple):
    code: int
    out: str
    err: str


def shell(*words, cwd=None):
    """Give a command in a process of its own."""
    command = [sys.executable, "-m", "noiseproof", *map(str, words)]
    done = subprocess.run(command, capture_output=True, text=True, cwd=cwd)
    return Outcome(done.returncode, done.stdout, done.stderr)


def frame(n, seed):
    """Sensors, a colour and a target that depends on both; some cells are empty."""
    rng = np.random.default_rng(seed)
    table = pd.DataFrame(
        rng.normal(size=(n, 5)), columns=["s0", "s1", "s2", "s3", "s4"]
    )
    table["colour"] = rng.choice(["red", "blue", "green"], n)
    score = (
        table["s0"] + table["s1"] - table["s2"] + 2 * (table["colour"] == "red") - 0.6
    )
    table = table.mask(rng.random(table.shape) < 0.05)
    table["amount"] = score + 0.3 * rng.normal(size=n)
    table["kind"] = np.where(score + 0.3 * rng.normal(size=n) > 0, "good", "bad")
    return table
