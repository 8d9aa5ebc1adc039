"""The robust linear program, the robust Perceptron and feature values, against peers.

Ratios come from one run. All but `quantity` need the environment variable
NOISEPROOF_DATA (MNIST).

    python benchmarks/robust_lp.py            # all
    python benchmarks/robust_lp.py program quantity large perceptron values attack
"""

from __future__ import annotations

import argparse
import resource
import sys
import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse as sp
from sklearn.feature_selection import mutual_info_classif

from noiseproof import RobustLPClassifier, RobustPerceptron, mutual_info_values
from noiseproof._deletion import DeletionHinge, DeletionPinball, interior_point
from noiseproof._stop import Stop
from noiseproof.attacks import FeatureDeletion
from noiseproof.datasets import load_mnist

BUDGET = 50


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("parts", nargs="*", metavar="|".join(PARTS))
    for name in parser.parse_args().parts or PARTS:
        PARTS[name]()


def timed(work: Callable[[], Any], repeats: int = 1) -> tuple[float, Any]:
    """Shortest of some runs, and the last answer."""
    times = []
    for _ in range(repeats):
        start = time.perf_counter()
        answer = work()
        times.append(time.perf_counter() - start)
    return min(times), answer


def four_against_seven() -> tuple[Any, Any]:
    X, y = load_mnist(digits=(4, 7))
    return X, np.where(y == 7, 1, -1)


def fit(X: Any, y: Any, **options: Any) -> RobustLPClassifier:
    return RobustLPClassifier(BUDGET, **options).fit(X, y)


def program() -> None:
    """500 rows: HiGHS on eq. (4) as written, on the reduced program, and ours."""
    X, y = four_against_seven()
    X, y = X[:500], y[:500]
    fit(X[:50], y[:50])  # compile
    rows = []
    for tol in (1e-4, 1e-6):
        seconds, model = timed(lambda tol=tol: fit(X, y, tol=tol), 3)
        gap = model.gap_ / model.objective_
        rows.append((f"interior, tol={tol:g}", seconds, model.objective_, gap))
    seconds, result = timed(lambda: reduced(X, y))
    gap = (result.value - result.bound) / result.value
    rows.append(("HiGHS, reduced", seconds, result.value, gap))
    seconds, value = timed(lambda: as_written(X, y))
    rows.append(("HiGHS, eq. (4) as written", seconds, value, np.nan))
    print(f"\nRobust LP, m=500, n=784, N={BUDGET}, MNIST 4 against 7")
    for name, time_, value, gap in rows:
        ratio = rows[-1][1] / time_
        print(
            f"  {name:28s}{time_:9.2f} s  objective {value:.7f}  relative gap "
            f"{gap:.1e}  {ratio:6.1f} times as fast as the last"
        )


def reduced(X: Any, y: Any) -> Any:
    """HiGHS on the program of the stored entries, as the tests use it."""
    n, d = X.shape
    rows = sp.csr_array(X, dtype=np.float64)
    problem = DeletionHinge(rows, y.astype(float), np.ones(n), np.ones(d), BUDGET, 1.0)
    return witness()(problem, Stop(1e-6, 200))


def witness() -> Any:
    sys.path.append(str(Path(__file__).parents[1] / "tests" / "helpers"))
    from highs_program import highs

    return highs


def quantity(n: int = 2000, repeats: int = 3) -> None:
    """2,000 rows of a quantity: HiGHS on the reduced program, and ours, in turns."""
    highs, stop = witness(), Stop(1e-6, 200)
    print(f"\nRobust LP of a quantity, m={n:,}, a tenth of the value may be deleted")
    for name, (d, share, kind) in {
        "20 features": (20, 1.0, "features"),
        "50 features": (50, 1.0, "features"),
        "50 features, general values": (50, 1.0, "values"),
        "50 features in 10 groups": (50, 1.0, "groups"),
        "300 features, 5 % stored": (300, 0.05, "features"),
    }.items():
        problem = regression(n, d, share, kind)
        interior_point(problem.take(np.arange(50)), stop)  # compile
        ours, theirs = [], []
        for _ in range(repeats):
            ours.append(timed(lambda p=problem: interior_point(replace(p), stop)))
            theirs.append(timed(lambda p=problem: highs(replace(p), stop)))
        (seconds, result), (others, other) = (min(t, key=first) for t in (ours, theirs))
        apart = abs(result.value - other.value) / other.value
        gap = (result.value - result.bound) / result.value
        print(
            f"  {name:28s} ours {seconds:6.2f} s, gap {gap:.0e}; HiGHS {others:6.2f} s;"
            f" 1/{others / seconds:.0f} of the time, objectives apart by {apart:.0e}"
        )


def first(pair: tuple[float, Any]) -> float:
    return pair[0]


def regression(n: int, d: int, share: float, kind: str) -> DeletionPinball:
    rng = np.random.default_rng(0)
    X = rng.normal(size=(n, d)) * (rng.random((n, d)) < share)
    y = X @ rng.normal(size=d) / np.sqrt(d * share) + rng.normal(size=n)
    labels = np.arange(d) // 5 if kind == "groups" else None
    v = np.ones(d if labels is None else d // 5)
    v = rng.gamma(1.0, size=d) if kind == "values" else v
    budget, rows = 0.1 * float(v.sum()), sp.csr_array(X)
    return DeletionPinball(rows, y, np.ones(n), v, budget, C=1.0, labels=labels)


def as_written(X: Any, y: Any) -> float:
    """The optimal value of eq. (4) with all its variables, by HiGHS' interior point."""
    import highspy

    n, d = X.shape
    P, gamma, C = d - BUDGET, 1.0, 1.0
    pull = sp.diags_array(np.repeat(y, d) * X.ravel()) @ sp.vstack(
        [sp.eye_array(d)] * n
    )
    ones = sp.kron(sp.eye_array(n), np.ones((1, d)))
    eye, column = sp.eye_array(n), sp.csr_array(y[:, None].astype(float))
    matrix = sp.block_array(
        [
            [None, column, eye, P * eye, -ones],
            [pull, None, None, -ones.T, sp.eye_array(n * d)],
        ],
        format="csc",
    )
    lp = highspy.HighsLp()
    lp.num_row_, lp.num_col_ = matrix.shape
    inf = highspy.kHighsInf
    lower, upper = np.zeros(matrix.shape[1]), np.full(matrix.shape[1], inf)
    lower[:d], upper[:d], lower[d] = -C, C, -inf
    cost = np.zeros(matrix.shape[1])
    cost[d + 1 : d + 1 + n] = 1 / (n * gamma)
    lp.col_cost_, lp.col_lower_, lp.col_upper_ = cost, lower, upper
    lp.row_lower_ = np.r_[np.zeros(n), np.full(n * d, gamma / P)]
    lp.row_upper_ = np.full(matrix.shape[0], inf)
    lp.a_matrix_.format_ = highspy.MatrixFormat.kColwise
    lp.a_matrix_.start_, lp.a_matrix_.index_ = matrix.indptr, matrix.indices
    lp.a_matrix_.value_ = matrix.data
    solver = highspy.Highs()
    for option, value in (("solver", "ipm"), ("run_crossover", "off")):
        solver.setOptionValue(option, value)
    solver.setOptionValue("output_flag", False)
    solver.passModel(lp)
    solver.run()
    return float(solver.getInfo().objective_function_value)


def large() -> None:
    """5,000 rows without chunks."""
    X, y = four_against_seven()
    X, y = X[:5000], y[:5000]
    print(f"\nRobust LP, m=5,000, n=784, N={BUDGET}")
    fit(X[:50], y[:50])
    for tol in (1e-4, 1e-6):
        seconds, model = timed(lambda tol=tol: fit(X, y, tol=tol))
        print(
            f"  interior, tol={tol:g}: {seconds:.1f} s, {model.n_iter_} iterations, "
            f"objective {model.objective_:.7f}, gap {model.gap_:.1e}"
        )
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20
    print(f"  peak memory of the process {peak:.2f} GiB")


def perceptron() -> None:
    """One pass over MNIST 4 against 7, on one core."""
    X, y = four_against_seven()
    print(f"\nRobust Perceptron, {X.shape[0]} x {X.shape[1]}, N={BUDGET}, one pass")
    for name, rows in (("dense", X), ("CSR", sp.csr_array(X))):
        for values in (None, mutual_info_values(X, y)):
            model = RobustPerceptron(BUDGET, feature_values=values, random_state=0)
            seconds, _ = timed(lambda m=model, r=rows: m.fit(r, y), 3)
            kind = "equal values" if values is None else "mutual information"
            print(f"  {name}, {kind}: {len(y) / seconds:,.0f} rows a second")


def values() -> None:
    """mutual_info_values on all of MNIST, scikit-learn's estimate on a tenth."""
    X, y = load_mnist()
    mutual_info_values(X[:100], y[:100])
    print(f"\nFeature values, MNIST {X.shape[0]:,} x {X.shape[1]}")
    ours, _ = timed(lambda: mutual_info_values(X, y))
    print(f"  mutual_info_values, all rows: {ours:.2f} s")
    theirs, _ = timed(lambda: mutual_info_classif(X[::10], y[::10]))
    print(f"  mutual_info_classif, a tenth: {theirs:.2f} s, {theirs / ours:.1f} times")


def attack() -> None:
    """FeatureDeletion on all rows, by selection, and the row losses of eq. (12)."""
    X, y = four_against_seven()
    rng = np.random.default_rng(0)
    coef = rng.normal(size=784)
    print(f"\nFeatureDeletion({BUDGET}) on {X.shape[0]} x {X.shape[1]}")
    rows = sp.csr_array(X)
    for kind, cost in (("equal", None), ("general", rng.gamma(1.0, size=784))):
        deletion = FeatureDeletion(BUDGET, cost)
        deletion.margin_drop(rows[:5], y[:5], coef)
        seconds, _ = timed(lambda d=deletion: d.margin_drop(rows, y, coef), 3)
        print(f"  {kind} values, CSR: {len(y) / seconds:,.0f} rows a second")
    problem = DeletionHinge(
        rows, y.astype(float), np.ones(len(y)), np.ones(784), BUDGET, 1.0
    )
    problem.value(coef, 0.0)
    seconds, _ = timed(lambda: problem.value(coef, 0.0), 3)
    print(f"  row losses: {len(y) / seconds:,.0f} rows a second")


PARTS: dict[str, Callable[[], None]] = {
    "program": program,
    "quantity": quantity,
    "large": large,
    "perceptron": perceptron,
    "values": values,
    "attack": attack,
}

if __name__ == "__main__":
    main()
