"""Save in a child process, kill it at any moment, and look at the file: 100 times.

python tests/helpers/crash.py FOLDER
"""

import os
import random
import signal
import sys
import time
from pathlib import Path

import numpy as np

import noiseproof
from noiseproof import DropoutRidge

KILLS = 100


def model(version):
    """A model large enough to be caught while it is written."""
    ridge = DropoutRidge()
    ridge.coef_ = np.random.default_rng(version).normal(size=4_000)
    ridge.n_features_in_, ridge.intercept_ = len(ridge.coef_), 0.0
    ridge.version_ = version
    return ridge


def save_forever(path, version):
    while True:
        version += 1
        noiseproof.save(model(version), path)


def main(folder):
    path = folder / "model.npf"
    noiseproof.save(model(0), path)
    start = time.perf_counter()
    child = os.fork()  # where the first save takes longer than here
    if child == 0:
        noiseproof.save(model(0), path)
        os._exit(0)
    os.waitpid(child, 0)
    once = time.perf_counter() - start
    dice, versions = random.Random(0), []
    for turn in range(KILLS):
        child = os.fork()
        if child == 0:
            save_forever(path, 1000 * turn)
        time.sleep(dice.uniform(0, 2 * once))
        os.kill(child, signal.SIGKILL)
        os.waitpid(child, 0)
        found = noiseproof.load(path)
        assert np.array_equal(found.coef_, model(found.version_).coef_)
        versions.append(found.version_)
    drafts = len(list(folder.iterdir())) - 1
    print(len(versions), len(set(versions)), drafts)


if __name__ == "__main__":
    main(Path(sys.argv[1]))
