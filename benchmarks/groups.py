"""Sensors that fail as a whole: what training for groups gains, and what it costs.

Three redundant sensors of ten features each see the same thing; at test time one of
them is out. Run: python benchmarks/groups.py [outages] [timing] [rows of the timing]
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
COLUMNS = "all  one out  worst  attacked"


def hidden_state(rng, size=6, own=0.5):
    """Each feature is a mixture of the same six quantities, one of which decides.

    Each sensor suffices to find that one out: it sees ten mixtures of its own.
    """
    mixture = rng.normal(size=(size, len(LABELS)))

    def draw(n):
        state = rng.normal(size=(n, size))
        noise = own * rng.normal(size=(n, len(LABELS)))
        return state @ mixture + noise, np.where(state[:, 0] > 0, 1, -1)

    return draw


def disturbed(rng, gains, own):
    """Each sensor sees the answer, disturbed by something common and by its own.

    A sensor has as much of the common disturbance as its gain says, so the difference
    of two sensors may be free of it; each feature has another disturbance (`own`).
    """

    def draw(n):
        y = rng.choice([-1, 1], n)
        whole = np.outer(rng.normal(size=n), gains)
        whole += 0.5 * rng.normal(size=(n, SENSORS))
        return y[:, None] + whole[:, LABELS] + own * rng.normal(
            size=(n, len(LABELS))
        ), y

    return draw


CASES = {
    "hidden state": (hidden_state, 1000),
    "hidden state, few rows": (hidden_state, 200),
    "common disturbance": (lambda rng: disturbed(rng, (0.5, 1.0, 1.5), 0.5), 1000),
    "nothing in common": (lambda rng: disturbed(rng, (0.0, 0.0, 0.0), 2.0), 150),
}


def one_out(model, X, y):
    """Accuracy with one sensor out, the mean over which and the worst one."""
    scores = [model.score(np.where(g == LABELS, 0.0, X), y) for g in range(SENSORS)]
    return np.mean(scores), np.min(scores)


def under_attack(model, X, y):
    """Accuracy if the worst sensor of each row is out."""
    attack = FeatureDeletion(1, groups=LABELS)
    return model.score(attack.worst(X, y, model.coef_, model.intercept_), y)


def outages(case):
    models = {
        "no noise": DropoutLogisticRegression(None),
        "independent noise": DropoutLogisticRegression(RATE),
        "group noise": DropoutLogisticRegression(Dropout(RATE, groups=LABELS)),
        "LP, no budget": RobustLPClassifier(0, C=0.3),
        "LP, 3 features": RobustLPClassifier(3, C=0.3),
        "LP, 10 features": RobustLPClassifier(10, C=0.3),
        "LP, 1 group": RobustLPClassifier(1, groups=LABELS, C=0.3),
    }
    make, n = CASES[case]
    found = {name: [] for name in models}
    for seed in range(SEEDS):
        draw = make(np.random.default_rng(seed))
        train, test = draw(n), draw(4000)
        for name, model in models.items():
            model.fit(*train)
            row = model.score(*test), *one_out(model, *test), under_attack(model, *test)
            found[name].append(row)
    print(f"{case}, {n} rows")
    print(f"{'accuracy, ' + str(SEEDS) + ' seeds':20}    {COLUMNS}")
    for name, rows in found.items():
        print(f"{name:20}  " + "   ".join(f"{x:.3f}" for x in np.mean(rows, axis=0)))
    for better, worse, column in [
        ("group noise", "independent noise", "one out"),
        ("independent noise", "no noise", "one out"),
        ("LP, 1 group", "LP, 3 features", "attacked"),
        ("LP, 3 features", "LP, no budget", "attacked"),
    ]:
        place = COLUMNS.split("  ").index(column)
        gap = np.array(found[better])[:, place] - np.array(found[worse])[:, place]
        print(
            f"{better} - {worse}, {column}: {gap.mean():+.4f} "
            f"± {1.96 * gap.std(ddof=1) / np.sqrt(SEEDS):.4f}, "
            f"better for {np.sum(gap > 0)} of {SEEDS} seeds"
        )
    print(flush=True)


def timing(n, d=50, n_groups=10, repeats=3):
    rng = np.random.default_rng(0)
    X = sp.random(n, d, 0.2, "csr", random_state=0, data_rvs=rng.standard_normal)
    y = X @ rng.normal(size=d) + rng.normal(size=n) > 0
    noises = Dropout(0.2), Dropout(0.2, groups=np.arange(d) % n_groups)
    models = [DropoutLogisticRegression(noise) for noise in noises]
    times = [[], []]
    for model in models:
        model.fit(X[:1000], y[:1000])  # compiles
    for _ in range(repeats):
        for model, took in zip(models, times, strict=True):
            start = time.perf_counter()
            model.fit(X, y)
            took.append(time.perf_counter() - start)
    plain, grouped = map(min, times)
    steps = [int(np.max(model.n_iter_)) for model in models]
    print(
        f"fit of {n:,} x {d} sparse rows: {plain:.2f} s ({steps[0]} steps), with "
        f"{n_groups} groups {grouped:.2f} s ({steps[1]} steps), ratio "
        f"{grouped / plain:.2f}"
    )


if __name__ == "__main__":
    words = sys.argv[1:] or ["outages", "timing"]
    if "outages" in words:
        for case in CASES:
            outages(case)
    if "timing" in words:
        timing(next((int(word) for word in words if word.isdecimal()), 1_000_000))
