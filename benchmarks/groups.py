"""Sensors that fail as a whole: what training for groups gains, and what it costs.

Three redundant sensors of ten features each see the same thing; at test time one of
them is out. Run: python benchmarks/groups.py [rows of the timing, 200000 by default]
"""

from __future__ import annotations

import sys
import time

import numpy as np
import scipy.sparse as sp

from noiseproof import DropoutLogisticRegression, RobustLPClassifier
from noiseproof.attacks import FeatureDeletion
from noiseproof.noise import Dropout

SENSORS, EACH, SEEDS, RATE = 3, 10, 20, 0.3
LABELS = np.repeat(np.arange(SENSORS), EACH)


def sensors(n, rng, gains, own):
    """Sensors that see a hidden state, and with different gains a common disturbance.

    Besides, each sensor has a disturbance of its own, and so has each feature (`own`).
    """
    y = rng.choice([-1, 1], n)
    common = np.outer(rng.normal(size=n), gains)
    whole = common + 0.5 * rng.normal(size=(n, SENSORS))
    each = own * rng.normal(size=(n, len(LABELS)))
    return y[:, None] + whole[:, LABELS] + each, y


def one_out(model, X, y):
    """Accuracy with one sensor out, the mean over which and the worst one."""
    scores = [model.score(np.where(g == LABELS, 0.0, X), y) for g in range(SENSORS)]
    return np.mean(scores), np.min(scores)


def under_attack(model, X, y):
    """Accuracy if the worst sensor of each row is out."""
    attack = FeatureDeletion(1, groups=LABELS)
    return model.score(attack.worst(X, y, model.coef_, model.intercept_), y)


def outages(n, gains, own):
    models = {
        "no noise": DropoutLogisticRegression(None),
        "independent noise": DropoutLogisticRegression(RATE),
        "group noise": DropoutLogisticRegression(Dropout(RATE, groups=LABELS)),
        "LP, 10 features": RobustLPClassifier(10, C=0.3),
        "LP, 1 group": RobustLPClassifier(1, groups=LABELS, C=0.3),
    }
    found = {name: [] for name in models}
    for seed in range(SEEDS):
        rng = np.random.default_rng(seed)
        train, test = sensors(n, rng, gains, own), sensors(4000, rng, gains, own)
        for name, model in models.items():
            model.fit(*train)
            row = model.score(*test), *one_out(model, *test), under_attack(model, *test)
            found[name].append(row)
    print(f"{n} rows, common disturbance {gains}, of features {own}")
    print(f"{'accuracy, ' + str(SEEDS) + ' seeds':20}    all  one out  worst  attacked")
    for name, rows in found.items():
        print(f"{name:20}  " + "   ".join(f"{x:.3f}" for x in np.mean(rows, axis=0)))
    for better, worse, column in [
        ("group noise", "independent noise", 1),
        ("independent noise", "no noise", 1),
        ("LP, 1 group", "LP, 10 features", 3),
        ("LP, 1 group", "no noise", 3),
    ]:
        gap = np.array(found[better])[:, column] - np.array(found[worse])[:, column]
        print(
            f"{better} - {worse}: {gap.mean():+.4f} "
            f"± {1.96 * gap.std(ddof=1) / np.sqrt(SEEDS):.4f}, "
            f"better for {np.sum(gap > 0)} of {SEEDS} seeds"
        )


def timing(n, d=50, n_groups=10, repeats=3):
    rng = np.random.default_rng(0)
    X = sp.random(n, d, 0.2, "csr", random_state=0, data_rvs=rng.standard_normal)
    y = X @ rng.normal(size=d) + rng.normal(size=n) > 0
    noises = Dropout(0.2), Dropout(0.2, groups=np.arange(d) % n_groups)
    best = []
    for noise in noises:
        model, times = DropoutLogisticRegression(noise), []
        model.fit(X[:1000], y[:1000])  # compiles
        for _ in range(repeats):
            start = time.perf_counter()
            model.fit(X, y)
            times.append(time.perf_counter() - start)
        best.append(min(times))
    print(
        f"fit of {n:,} x {d} sparse rows: {best[0]:.2f} s, with {n_groups} groups "
        f"{best[1]:.2f} s, ratio {best[1] / best[0]:.2f}"
    )


if __name__ == "__main__":
    # the difference of two sensors is free of the disturbance: do not rely on it
    outages(1000, gains=(0.5, 1.0, 1.5), own=0.5)
    # nothing in common, features differ, and rows are few
    outages(150, gains=(0.0, 0.0, 0.0), own=2.0)
    timing(int(sys.argv[1]) if len(sys.argv) > 1 else 200_000)
