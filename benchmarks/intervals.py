"""How often intervals hold the target, for each pattern of missing values.

    python benchmarks/intervals.py                  # all tables, about an hour
    python benchmarks/intervals.py diabetes         # needs no data folder
    python benchmarks/intervals.py abalone,bike 10  # ten splits in place of 30
    python benchmarks/intervals.py cost             # seconds of fits and of patterns

Three columns of a table may be missing, those that correlate most with the target: at
random (mcar), more often where a fourth column, which stays, is large (mar), or more
often where their own value is large (mnar); each in about 40 % of the rows. Half of the
rows, at most 2,000, train boosting in `AverageOverMissing`; the others, at most 2,000,
are predicted. Training rows are complete, or have missing values by the same mechanism.
Coverage asked for: 0.9, and with n calibration rows ⌈0.9 (n + 1)⌉ / (n + 1), which is
between 0.9 and 0.9 + 1 / (n + 1). Errors are standard errors of the mean over random
splits. Beside `predict_interval` there are

- one threshold: that of complete calibration rows, for all rows,
- the final model in the centre: the prediction, with the same widths,
- return_std: prediction ± 1.645 standard deviations.

Tables but diabetes and friedman (a generated one) are in the folder tabfsbench of
NOISEPROOF_DATA.
"""

from __future__ import annotations

import lzma
import sys
import time
import warnings
from typing import Any

import numpy as np
import pandas as pd
from common import folder
from scipy.special import expit
from scipy.stats import spearmanr
from sklearn.base import clone
from sklearn.datasets import load_diabetes, make_friedman1
from sklearn.ensemble import HistGradientBoostingRegressor
from sklearn.linear_model import Ridge
from sklearn.pipeline import make_pipeline

from noiseproof import AverageOverMissing
from noiseproof.tables import TableEncoder

ROWS, RATE, COVERAGE = 2000, 0.4, 0.9
TARGETS = {
    "diabetes": "target",
    "friedman": "target",
    "abalone": "Age",
    "bike": "count",
    "concrete": "csMPa",
    "laptop": "Price_euros",
}
MECHANISMS = ("mcar", "mar", "mnar")
PATTERNS = [np.array([k >> 2, k >> 1, k]) & 1 for k in range(8)]
WAYS = ("by pattern", "one threshold", "final centre", "return_std")


def main() -> None:
    warnings.simplefilter("ignore")
    if sys.argv[1:] == ["cost"]:
        return cost()
    names = sys.argv[1].split(",") if len(sys.argv) > 1 else list(TARGETS)
    splits = int(sys.argv[2]) if len(sys.argv) > 2 else 30
    kept: dict[str, list[bool]] = {}
    for name in names:
        X, y = table(name)
        columns = fallible(X, y)
        print(f"\n{name}: {len(y):,} rows, {X.shape[1]} columns; may be missing: "
              f"{', '.join(columns[:3])}")  # fmt: skip
        found = [one_split(X, y, columns, seed) for seed in range(splits)]
        for setting in found[0]:
            runs = [run[setting] for run in found]
            kept[setting] = kept.get(setting, []) + show(setting, runs)
    print("\npatterns whose coverage is within two errors of what is exact:")
    for setting, good in kept.items():
        print(f"  {setting}: {sum(good)} of {len(good)}")


def table(name: str) -> tuple[Any, Any]:
    """Columns and target; of a date its hour and month, of words those that are few."""
    if name == "diabetes":
        frame = load_diabetes(as_frame=True).frame
    elif name == "friedman":
        X, y = make_friedman1(1000, 8, noise=1.0, random_state=0)
        frame = pd.DataFrame(X).add_prefix("x").assign(target=y)
    else:
        with lzma.open(
            folder() / "tabfsbench" / f"{name}.csv.xz", "rt", encoding="utf-8"
        ) as file:
            frame = pd.read_csv(file)
    if "datetime" in frame:
        times = pd.to_datetime(frame.pop("datetime"))
        frame["hour"], frame["month"] = times.dt.hour, times.dt.month
    y = frame.pop(TARGETS[name]).to_numpy(dtype=float)
    words = frame.select_dtypes(exclude="number").columns
    many = [column for column in words if frame[column].nunique() > 10]
    return frame.drop(columns=many).astype(dict.fromkeys(words.drop(many), object)), y


def fallible(X: Any, y: Any) -> list[str]:
    """Numbers that correlate most with the target; the fourth drives the others."""
    numbers = [c for c in X if X[c].dtype.kind in "if" and X[c].nunique() > 5]
    return sorted(numbers, key=lambda c: -abs(spearmanr(X[c], y).statistic))[:4]


def masked(X: Any, columns: list[str], mechanism: str, rng: Any) -> Any:
    """Rows without some values of the first three columns."""
    Z = X[columns].rank(pct=True).to_numpy() * 4 - 2
    drivers = {"mcar": 0 * Z, "mar": np.tile(Z[:, 3:], 4), "mnar": Z}[mechanism]
    gone = rng.random((len(X), 3)) < expit(np.log(RATE / (1 - RATE)) + drivers[:, :3])
    rows = X.astype(dict.fromkeys(columns[:3], float))
    for column, lost in zip(columns, gone.T, strict=False):
        rows.loc[lost, column] = np.nan
    return rows


def one_split(X: Any, y: Any, columns: list[str], seed: int) -> dict[str, Any]:
    """What comes of each setting; see `judged`."""
    rng = np.random.default_rng(seed)
    order = rng.permutation(len(y))
    half = min(ROWS, len(y) // 2)
    train, test = order[:half], order[half : half + ROWS]
    boosting = HistGradientBoostingRegressor(max_iter=50, random_state=0)
    model = AverageOverMissing(
        make_pipeline(TableEncoder(), boosting), random_state=seed
    )
    model.fit(X.iloc[train], y[train])
    found = {}
    for mechanism in MECHANISMS:
        rows = masked(X.iloc[test], columns, mechanism, rng)
        found[mechanism] = judged(model, rows, y[test], columns)
    for mechanism in MECHANISMS:
        known = masked(X.iloc[train], columns, mechanism, rng)
        rows = masked(X.iloc[test], columns, mechanism, rng)
        model.fit(known, y[train])
        setting = f"{mechanism}, in training, too"
        found[setting] = judged(model, rows, y[test], columns)
    return found


def judged(model: Any, rows: Any, y: Any, columns: list[str]) -> tuple[Any, ...]:
    """Patterns of rows, hits and widths of each way, and what coverage is exact."""
    intervals = ways(model, rows)
    hits = [(low <= y) & (y <= high) for low, high in intervals]
    widths = [high - low for low, high in intervals]
    gone = rows[columns[:3]].isna().to_numpy()
    places = [list(rows.columns).index(column) for column in columns[:3]]
    exact = [exact_coverage(model, places, pattern) for pattern in PATTERNS]
    low, high = model.intervals_.predict(rows, COVERAGE).T  # before they are widened
    mean = model.predict(rows)
    return gone, hits, widths, exact, np.mean((mean < low) | (mean > high))


def exact_coverage(model: Any, places: list[int], pattern: Any) -> float:
    """Probability that a rank among the rows that calibrate a pattern is low enough."""
    calibration = model.intervals_.calibration
    missing = np.zeros(len(calibration.labels), dtype=bool)
    missing[places] = pattern
    missing = calibration._served(missing, COVERAGE)
    n = len(calibration._usable(missing, COVERAGE))
    return float(np.ceil(round(COVERAGE * (n + 1), 9)) / (n + 1))


def ways(model: Any, rows: Any) -> list[Any]:
    """Ends of intervals in each of the ways."""
    low, high = model.predict_interval(rows, COVERAGE).T
    mean, std = model.predict(rows, return_std=True)
    centre = model.intervals_.model.predict(rows)
    half, complete = (high - low) / 2, ~rows.isna().any(axis=1)
    plain = np.median(half[complete])  # of all complete rows it is the same
    halves = (centre, plain), (mean, half), (mean, 1.645 * std)
    return [(low, high), *((c - h, c + h) for c, h in halves)]


def show(setting: str, runs: list[Any]) -> list[bool]:
    """Print shares and widths; whether each pattern is within two errors."""
    print(f"  {setting}: covered ± s.e. (width), and of rows that miss two or three")
    for i, way in enumerate(WAYS):
        rows = [(hits[i].mean(), widths[i].mean()) for _, hits, widths, *_ in runs]
        few = [hits[i][gone.sum(axis=1) > 1].mean() for gone, hits, *_ in runs]
        (share, width), error = np.mean(rows, axis=0), spread([r[0] for r in rows])
        print(f"    {way:14} {share:.3f} ± {error:.3f} ({width:.4g})"
              f"   {np.mean(few):.3f} ± {spread(few):.3f}")  # fmt: skip
    good, texts = [], []
    for k, pattern in enumerate(PATTERNS):
        both = [
            (hits[0][(gone == pattern).all(axis=1)].mean(), exact[k])
            for gone, hits, _, exact, _ in runs
            if (gone == pattern).all(axis=1).any()
        ]
        shares, exact = np.transpose(both)
        error = spread(shares - exact)
        texts.append(f"{''.join(map(str, pattern))} {shares.mean():.3f}±{error:.3f}")
        good.append(bool(abs(np.mean(shares - exact)) <= 2 * error))
    print("    each pattern:", "  ".join(texts))
    print(
        f"    prediction outside: {np.mean([run[4] for run in runs]):.2%} of the rows"
    )
    return good


def cost() -> None:
    """Print how much longer a fit takes, and how long a new pattern."""
    rng = np.random.default_rng(0)
    for n in (1000, 10_000):
        X = rng.normal(size=(n, 12))
        y = X[:, 0] + X[:, 1] * X[:, 2] + rng.normal(size=n)
        rows = np.where(rng.random((50, 12)) < 0.4, np.nan, X[:50])
        patterns = len(np.unique(np.isnan(rows), axis=0))
        for estimator in (Ridge(), HistGradientBoostingRegressor(max_iter=50)):
            for law in ("auto", "donors", "joint-gaussian"):
                model = AverageOverMissing(estimator, law, random_state=0)
                plain = clone(model).set_params(n_calibration=0)
                without = min(seconds(plain.fit, X, y) for _ in range(2))
                ratio = min(seconds(model.fit, X, y) for _ in range(2)) / without
                each = seconds(model.predict_interval, rows) / patterns
                print(f"{n:,} rows, {type(estimator).__name__}, {law}: fit "
                      f"{without:.2f} s, with intervals {ratio:.2f} x; "
                      f"a pattern {1000 * each:.0f} ms")  # fmt: skip


def seconds(work: Any, *arguments: Any) -> float:
    """How long some work takes."""
    start = time.perf_counter()
    work(*arguments)
    return time.perf_counter() - start


def spread(values: Any) -> float:
    """Standard error of the mean."""
    return float(np.std(values, ddof=1) / np.sqrt(len(values)))


if __name__ == "__main__":
    main()
