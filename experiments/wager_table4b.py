"""Table 4b of Wager et al. 2013: IMDB with 50,000 unlabelled reviews.

Constants are chosen on a held-out fifth of the training reviews; with `--tune 0` they
are fixed at rate 0.5, C = 0.3 and alpha 0.4, which had done well on unigrams.

    python experiments/wager_table4b.py               # unigrams
    python experiments/wager_table4b.py --bigrams 1   # and millions of bigrams
"""

from __future__ import annotations

import itertools
import resource
import time
from typing import Any

import numpy as np
from report import Row, arguments, write

from noiseproof import DropoutLogisticRegression
from noiseproof.datasets import load_imdb

PAPER = {
    (False, "dropout"): 87.78,
    (False, "+unlabelled"): 89.52,
    (True, "dropout"): 91.31,
    (True, "+unlabelled"): 91.98,
}
FIXED = (0.5, 0.3, 0.4)
RATES, CS, ALPHAS = (0.5, 0.7), (0.1, 0.3), (0.4, 1.0)


def main() -> None:
    options = arguments(__doc__, bigrams=0, tune=1)
    bigrams = bool(options.bigrams)
    data = load_imdb(bigrams=bigrams)
    order = np.random.default_rng(0).permutation(len(data.y_train))
    part, held_out = order[:20_000], order[20_000:]
    rows: list[Row] = []
    for method, Z in (("dropout", None), ("+unlabelled", data.X_unlabeled)):
        grid = itertools.product(RATES, CS, [0.0] if Z is None else ALPHAS)
        trials = {}
        for constants in grid if options.tune else ():
            model = fit(data.X_train[part], data.y_train[part], Z, *constants)
            score = model.score(data.X_train[held_out], data.y_train[held_out])
            trials[constants] = score
            print(method, *constants, f"{score:.4f}", flush=True)
        best = max(trials, key=trials.get) if options.tune else FIXED
        start = time.perf_counter()
        model = fit(data.X_train, data.y_train, Z, *best)
        took = time.perf_counter() - start
        peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20
        rows.append(
            {
                "features": f"{'bigrams' if bigrams else 'unigrams'}: "
                f"{data.X_train.shape[1]}",
                "method": method,
                "accuracy": round(100 * model.score(data.X_test, data.y_test), 2),
                "paper": PAPER[bigrams, method],
                "rate, C, alpha": ", ".join(map(str, best)),
                "seconds": round(took, 1),
                "peak GiB": round(peak, 2),
            }
        )
    write(rows, options.out / f"wager_table4b_{'bi' if bigrams else 'uni'}grams")


def fit(X: Any, y: Any, Z: Any, rate: float, C: float, alpha: float) -> Any:
    model = DropoutLogisticRegression(
        rate, C=C, expectation="taylor", unlabeled_weight=alpha, tol=1e-4
    )
    return model.fit(X, y, X_unlabeled=Z)


if __name__ == "__main__":
    main()
