"""What `import noiseproof` and a first sparse fit add, in fresh processes.

python benchmarks/startup.py
"""

from __future__ import annotations

import statistics
import subprocess
import sys

CLOCK = "import time; t = time.perf_counter(); {}; print(time.perf_counter() - t)"
SETUP = (
    "import numpy as np, scipy.sparse as sp; from noiseproof import DropoutSVC; "
    "X = sp.random(200, 50, 0.2, format='csr', random_state=0); "
    "y = np.arange(200) % 2; "
)
WIDE = SETUP.replace("sp.random(200, 50, 0.2", "sp.random(200, 5000, 0.02")


def medians(*codes: str, repeats: int = 5) -> list[float]:
    """Median seconds of each code, taking turns, after one round to warm up."""
    runs = [
        [float(subprocess.check_output([sys.executable, "-c", code])) for code in codes]
        for _ in range(repeats + 1)
    ]
    return [statistics.median(column) for column in zip(*runs[1:], strict=True)]


def main() -> None:
    peer, ours = medians(
        CLOCK.format("import sklearn.linear_model"),
        CLOCK.format("import sklearn.linear_model, noiseproof"),
    )
    print(f"import sklearn.linear_model {peer:.3f} s, with noiseproof {ours:.3f} s: "
          f"adds {ours - peer:.3f} s")  # fmt: skip
    fit = "DropoutSVC().fit(X, y)"
    for features, setup in (50, SETUP), (5000, WIDE):
        first, again = medians(
            setup + CLOCK.format(fit), setup + fit + "; " + CLOCK.format(fit)
        )
        print(f"{features} features: first fit {first:.3f} s, the next {again:.3f} s: "
              f"adds {first - again:.3f} s")  # fmt: skip


if __name__ == "__main__":
    main()
