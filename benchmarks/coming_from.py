"""What four other tools do, and what it becomes here: numbers of docs/coming_from.md.

    python benchmarks/coming_from.py             # all four, some minutes
    python benchmarks/coming_from.py imputer     # or lightgbm, nannyml, mapie

Prints the tables of the page. All numbers are means over SPLITS random splits of real
tables: digits, breast cancer and diabetes of scikit-learn, and tables of TabFSBench
(the folder tabfsbench of NOISEPROOF_DATA), at most 1,000 training rows (3,000 for
`nannyml`) and 1,000 new rows of each, with the columns that are numbers. Seconds are of
processor time, of which a busy machine costs little; OMP_NUM_THREADS=1 keeps all to one
core.

`lightgbm` and `nannyml` need the package lightgbm, `mapie` the package mapie 1.x.
NannyML asks for other versions of its packages: the variable NOISEPROOF_NANNYML names
the Python of an environment that has it, and statsmodels.
"""

from __future__ import annotations

import json
import os
import pickle
import subprocess
import sys
import tempfile
import time
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from recommend import table
from sklearn.datasets import load_breast_cancer, load_diabetes, load_digits
from sklearn.ensemble import HistGradientBoostingRegressor, RandomForestClassifier
from sklearn.experimental import enable_iterative_imputer  # noqa: F401
from sklearn.feature_selection import mutual_info_classif, mutual_info_regression
from sklearn.frozen import FrozenEstimator
from sklearn.impute import IterativeImputer, KNNImputer, SimpleImputer
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import log_loss
from sklearn.model_selection import train_test_split
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from noiseproof import AverageOverMissing, ConformalRegressor, CorruptedCopies
from noiseproof.evaluation import missing_cost
from noiseproof.noise import Missing

SPLITS, TRAIN, NEW = 3, 1_000, 1_000
MONITORED = 3_000  # training rows of `nannyml`, a third of which is its reference
CLASSES = ("digits", "cancer", "eyemovements", "electricity")
QUANTITIES = ("diabetes", "concrete", "abalone", "bike")
OWN = {"digits": load_digits, "cancer": load_breast_cancer, "diabetes": load_diabetes}
ALONE = 20  # rows that are asked about one at a time
APART = 20  # rows with a pattern of missing values of their own
Rows = dict[str, dict[str, list[float]]]  # numbers by line and column of a table


def main() -> None:
    parts = {
        "imputer": imputer,
        "lightgbm": lightgbm,
        "nannyml": nannyml,
        "mapie": mapie,
    }
    warnings.simplefilter("ignore")
    for name in sys.argv[1:] or parts:
        start = time.perf_counter()
        parts[name]()
        print(f"({name}: {time.perf_counter() - start:.0f} s)\n", flush=True)


def data(name: str) -> tuple[Any, Any]:
    """Numbers and targets of a table."""
    if name in OWN:
        X, y = OWN[name](return_X_y=True)
        return X, y
    X, y = table(name)
    y = y if name in QUANTITIES else np.unique(y, return_inverse=True)[1]
    return X.select_dtypes("number").to_numpy(float), y


def split(name: str, seed: int, most: int = TRAIN) -> Any:
    """Training rows and new rows, and their targets."""
    X, y = data(name)
    X, X_new, y, y_new = train_test_split(
        X,
        y,
        test_size=min(NEW, len(y) // 2),
        random_state=seed,
        stratify=None if name in QUANTITIES else y,
    )
    return X[:most], X_new, y[:most], y_new


def holes(X: Any, rate: float, seed: int, mechanism: str = "mcar") -> Any:
    """The rows with a share of their values missing."""
    return Missing(rate, mechanism=mechanism).sample(X, rng=seed)


def relevant(X: Any, y: Any, share: float) -> Any:
    """The columns that tell most about the target."""
    told = mutual_info_regression if y.dtype.kind == "f" else mutual_info_classif
    order = np.argsort(-told(np.nan_to_num(X), y, random_state=0), kind="stable")
    return order[: max(1, round(share * X.shape[1]))]


def seconds(work: Callable[[], Any]) -> tuple[float, Any]:
    """Processor time, and what the work returns."""
    start = time.process_time()
    found = work()
    return time.process_time() - start, found


def note(rows: Rows, line: str, **numbers: float) -> None:
    """Keep numbers of one split for a line of a table."""
    for column, number in numbers.items():
        rows.setdefault(line, {}).setdefault(column, []).append(float(number))


def show(title: str, rows: Rows, forms: dict[str, str]) -> None:
    """A table in Markdown: means of what was kept, log-loss behind the accuracy."""
    print(f"{title}\n\n| | {' | '.join(forms)} |\n|---{'|---' * len(forms)}|")
    for line, kept in rows.items():
        cells = []
        for column, form in forms.items():
            cell = format(np.mean(kept[column]), form) if column in kept else ""
            if (loss := f"{column}, log-loss") in kept:
                cell += f" / {np.mean(kept[loss]):.2f}"
            cells.append(cell)
        print(f"| {line} | {' | '.join(cells)} |")
    print(flush=True)


def judged(model: Any, X: Any, y: Any) -> tuple[float, float]:
    """Accuracy and log-loss."""
    p = model.predict_proba(X)
    right = np.mean(model.classes_[p.argmax(axis=1)] == y)
    return float(right), float(log_loss(y, p, labels=model.classes_))


# ------------------------------------------------------------- from an imputer


def imputer() -> None:
    """Imputers before a forest and a linear model, and averages instead."""
    models = {
        "forest": RandomForestClassifier(random_state=0),
        "logistic regression": make_pipeline(
            StandardScaler(), LogisticRegression(max_iter=1000)
        ),
    }
    fills = {
        "`SimpleImputer`": SimpleImputer(),
        "`KNNImputer`": KNNImputer(),
        "`IterativeImputer`": IterativeImputer(random_state=0),
    }
    for trained in ("complete", "with 30 % of their values missing"):
        rows: Rows = {}
        for name in CLASSES:
            for seed in range(SPLITS):
                X, X_new, y, y_new = split(name, seed)
                X = X if trained == "complete" else holes(X, 0.3, seed)
                new = {rate: holes(X_new, rate, 100 + seed) for rate in (0.3, 0.6)}
                for kind, model in models.items():
                    ways = {k: make_pipeline(v, model) for k, v in fills.items()}
                    ways["averaged"] = AverageOverMissing(model, random_state=0)
                    for way, one in ways.items():
                        compare(rows, f"{kind}, {way}", one, (X, y), new, y_new)
        show(
            f"Training rows {trained}; {', '.join(CLASSES)}",
            rows,
            {
                "30 % missing": ".3f",
                "60 % missing": ".3f",
                "fit, s": ".1f",
                "a row of a batch, ms": ".2f",
                "one row alone, ms": ".0f",
                "pickle, MB": ".1f",
            },
        )


def compare(
    rows: Rows, line: str, model: Any, known: Any, new: dict[float, Any], y: Any
) -> None:
    """One split for one way: what it gets right, and what it costs."""
    fit, model = seconds(lambda: model.fit(*known))
    for rate, X in new.items():
        batch, (right, loss) = seconds(lambda X=X: judged(model, X, y))
        note(
            rows,
            line,
            **{
                f"{100 * rate:.0f} % missing": right,
                f"{100 * rate:.0f} % missing, log-loss": loss,
                "a row of a batch, ms": 1000 * batch / len(y),
            },
        )
    alone, _ = seconds(lambda: [model.predict(X[[i]]) for i in range(ALONE)])
    size = len(pickle.dumps(model)) / 1e6
    note(
        rows,
        line,
        **{
            "fit, s": fit,
            "one row alone, ms": 1000 * alone / ALONE,
            "pickle, MB": size,
        },
    )


# --------------------------------------------------------------- from LightGBM


def lightgbm() -> None:
    """LightGBM's own NaN; copies with NaN; averages."""
    from lightgbm import LGBMClassifier

    booster = LGBMClassifier(random_state=0, verbose=-1, n_jobs=1)
    ways = {
        "LightGBM": booster,
        "LightGBM on copies": CorruptedCopies(booster, Missing(0.3), random_state=0),
        "LightGBM, averaged": AverageOverMissing(booster, random_state=0),
    }
    for trained in ("complete", "with large values missing"):
        rows: Rows = {}
        for name in CLASSES:
            for seed in range(SPLITS):
                X, X_new, y, y_new = split(name, seed)
                gone = X_new.copy()
                gone[:, relevant(X, y, 0.3)] = np.nan
                new = {
                    "nothing missing": X_new,
                    "30 % at random": holes(X_new, 0.3, 100 + seed),
                    "30 % of columns": gone,
                    "large values": holes(X_new, 0.3, 100 + seed, "mnar"),
                }
                if trained != "complete":
                    X = holes(X, 0.3, seed, "mnar")
                for way, model in ways.items():
                    if trained == "complete" or way != "LightGBM on copies":
                        lightgbm_split(rows, way, model, (X, y), new, y_new)
        forms = dict.fromkeys(new, ".3f") | {
            "fit, s": ".2f",
            "complete row, ms": ".3f",
            "incomplete row, ms": ".3f",
            "pickle, MB": ".1f",
        }
        show(f"Training rows {trained}; {', '.join(CLASSES)}", rows, forms)


def lightgbm_split(
    rows: Rows, line: str, model: Any, known: Any, new: dict[str, Any], y: Any
) -> None:
    """One split for one way."""
    fit, model = seconds(lambda: model.fit(*known))
    note(rows, line, **{"fit, s": fit, "pickle, MB": len(pickle.dumps(model)) / 1e6})
    for what, X in new.items():
        spent, (right, loss) = seconds(lambda X=X: judged(model, X, y))
        kind = "complete" if what == "nothing missing" else "incomplete"
        numbers = {
            what: right,
            f"{what}, log-loss": loss,
            f"{kind} row, ms": 1000 * spent / len(y),
        }
        note(rows, line, **numbers)


# ---------------------------------------------------------------- from NannyML

_IN_ITS_PYTHON = """
import sys, json, time, warnings
warnings.simplefilter("ignore")
sys.path.insert(0, sys.argv[1])
import numpy as np
from cbpe import estimated
z = np.load(sys.argv[2])
found = []
for turn in range(int(z["n"]) + 1):  # the first warms up
    i = max(turn - 1, 0)
    start = time.process_time()
    value = estimated(z[f"r{i}"], z[f"l{i}"], z[f"p{i}"])
    found.append([value, time.process_time() - start])
json.dump(found[1:], open(sys.argv[3], "w", encoding="utf-8"))
"""


def nannyml() -> None:
    """Accuracy estimated without labels by CBPE and by `missing_cost`."""
    from lightgbm import LGBMClassifier

    rows: Rows = {}
    cases: list[tuple[Any, ...]] = []  # for NannyML: line, truth, and what it reads
    held = []
    for name in CLASSES:
        for seed in range(SPLITS):
            X, X_new, y, y_new = split(name, seed, MONITORED)
            X, X_ref, y, y_ref = train_test_split(
                X, y, test_size=1 / 3, random_state=seed, stratify=y
            )
            model = LGBMClassifier(random_state=0, verbose=-1, n_jobs=1).fit(X, y)
            averaged = AverageOverMissing(FrozenEstimator(model), random_state=0)
            fit, averaged = seconds(lambda a=averaged, X=X: a.fit(X))
            top = relevant(X, y, 0)[0]
            shifted = X_new[:, top] > np.median(X_new[:, top])
            days = {
                "nothing missing": (X_new, y_new),
                "30 % missing at random": (holes(X_new, 0.3, 100 + seed), y_new),
                "60 % missing at random": (holes(X_new, 0.6, 100 + seed), y_new),
                "30 % missing, large values": (
                    holes(X_new, 0.3, 100 + seed, "mnar"),
                    y_new,
                ),
                "other rows, nothing missing": (X_new[shifted], y_new[shifted]),
            }
            for what, (today, truth) in days.items():
                known = (X_ref, y_ref)
                spent, found = seconds(
                    lambda a=averaged, t=today, k=known: missing_cost(
                        a, t, calibration=k
                    )
                )
                right = judged(averaged, today, truth)[0]
                note(
                    rows,
                    what,
                    **{
                        "missing_cost": abs(found.score.value - right),
                        "accuracy, averaged": right,
                    },
                )
                note(
                    rows,
                    "seconds",
                    **{"missing_cost": spent, "accuracy, averaged": fit},
                )
                held.append((what, found.score.low <= right <= found.score.high, found))
                right = judged(model, today, truth)[0]
                note(rows, what, **{"accuracy, as it is": right})
                like = np.random.default_rng(seed).integers(len(today), size=len(X_ref))
                for way, reference in (
                    ("CBPE", X_ref),
                    (
                        "CBPE, reference masked",
                        np.where(np.isnan(today[like]), np.nan, X_ref),
                    ),
                ):
                    p = [model.predict_proba(part) for part in (reference, today)]
                    cases.append((what, way, right, p[0], y_ref, p[1]))
    for (what, way, right, *_), (value, spent) in zip(cases, cbpe(cases), strict=True):
        note(rows, what, **{way: abs(value - right)})
        note(rows, "seconds", **{way: spent})
    show(
        f"Error of the estimated accuracy; {', '.join(CLASSES)}",
        rows,
        {
            "accuracy, as it is": ".3f",
            "CBPE": ".3f",
            "CBPE, reference masked": ".3f",
            "accuracy, averaged": ".3f",
            "missing_cost": ".3f",
        },
    )
    for what in rows:
        inside = [hold for case, hold, _ in held if case == what]
        warned = [bool(found.warnings) for case, _, found in held if case == what]
        if inside:
            print(
                f"{what}: the interval of missing_cost holds the accuracy in "
                f"{sum(inside)} of {len(inside)}, and there is a warning in "
                f"{sum(warned)}"
            )


def cbpe(cases: list[tuple[Any, ...]]) -> list[Any]:
    """Estimates and seconds, from the Python that has NannyML."""
    experiments = Path(__file__).parents[1] / "experiments"
    with tempfile.TemporaryDirectory() as folder:
        source, target = Path(folder) / "cases.npz", Path(folder) / "found.json"
        tables: dict[str, Any] = {"n": len(cases)}
        for i, (*_, reference, labels, probabilities) in enumerate(cases):
            tables |= {f"r{i}": reference, f"l{i}": labels, f"p{i}": probabilities}
        np.savez(source, **tables)
        words = [os.environ["NOISEPROOF_NANNYML"], "-c", _IN_ITS_PYTHON]
        subprocess.run([*words, str(experiments), str(source), str(target)], check=True)
        return json.loads(target.read_text(encoding="utf-8"))


# ------------------------------------------------------------------ from MAPIE


def mapie() -> None:
    """Intervals of 90 % for boosting: MAPIE's, and those by pattern."""
    from mapie.regression import CrossConformalRegressor, SplitConformalRegressor

    def boosting() -> Any:
        return HistGradientBoostingRegressor(max_iter=50, random_state=0)

    def mapie_split(X: Any, y: Any) -> Any:
        X, X_held, y, y_held = train_test_split(X, y, test_size=0.25, random_state=0)
        model = SplitConformalRegressor(boosting(), 0.9, prefit=False).fit(X, y)
        model.conformalize(X_held, y_held)
        return lambda Z: model.predict_interval(Z)[1][:, :, 0]

    def mapie_cross(X: Any, y: Any) -> Any:
        model = CrossConformalRegressor(boosting(), 0.9).fit_conformalize(X, y)
        return lambda Z: model.predict_interval(Z)[1][:, :, 0]

    def ours(kind: Any) -> Callable[[Any, Any], Any]:
        def fitted(X: Any, y: Any) -> Any:
            model = kind(boosting(), random_state=0).fit(X, y)
            return lambda Z: np.transpose(
                np.reshape(
                    np.transpose(model.predict_interval(Z, coverage=0.9)), (2, -1)
                )
            )

        return fitted

    ways = {
        "MAPIE, split": mapie_split,
        "MAPIE, cross (`plus`)": mapie_cross,
        "`ConformalRegressor`": ours(ConformalRegressor),
        "`AverageOverMissing`": ours(AverageOverMissing),
    }
    for trained in ("complete", "with the same missing"):
        rows: Rows = {}
        for name in QUANTITIES:
            for seed in range(SPLITS):
                X, X_new, y, y_new = split(name, seed)
                columns = relevant(X, y, 0.3)[:3]
                new = three(X_new, columns, 100 + seed)
                known = X if trained == "complete" else three(X, columns, seed)
                for way, fit in ways.items():
                    intervals(rows, way, fit, (known, y), X_new, new, y_new, columns)
        show(
            f"Training rows {trained}; {', '.join(QUANTITIES)}",
            rows,
            {
                "complete": ".3f",
                "one missing": ".3f",
                "two or three": ".3f",
                "width, complete": ".2f",
                "width, two or three": ".2f",
                "fit, s": ".2f",
                "1,000 rows, s": ".2f",
                "1,000 patterns, s": ".2f",
            },
        )


def three(X: Any, columns: Any, seed: int) -> Any:
    """The rows, each of some columns missing in 40 % of them."""
    X = X.copy()
    gone = np.random.default_rng(seed).random((len(X), len(columns))) < 0.4
    X[:, columns] = np.where(gone, np.nan, X[:, columns])
    return X


def intervals(
    rows: Rows, way: str, fit: Any, known: Any, whole: Any, X: Any, y: Any, columns: Any
) -> None:
    """One split for one way: how often intervals hold, how wide they are, and costs."""
    fitting, predict = seconds(lambda: fit(*known))
    spent, found = seconds(lambda: predict(X))
    lost = np.isnan(X[:, columns]).sum(axis=1)
    kinds = {"complete": lost == 0, "one missing": lost == 1, "two or three": lost > 1}
    held = (found[:, 0] <= y) & (y <= found[:, 1])
    width = (found[:, 1] - found[:, 0]) / np.std(y)
    for kind, of_kind in kinds.items():
        note(rows, way, **{kind: held[of_kind].mean()})
        note(rows, way, **{f"width, {kind}": width[of_kind].mean()})
    note(rows, way, **{"fit, s": fitting, "1,000 rows, s": 1000 * spent / len(y)})
    if len(rows[way]["fit, s"]) % SPLITS == 1:  # once for each table
        several = holes(whole[:APART], 0.3, 7)
        apart, _ = seconds(lambda: predict(several))
        note(rows, way, **{"1,000 patterns, s": 1000 * apart / len(several)})


if __name__ == "__main__":
    main()
