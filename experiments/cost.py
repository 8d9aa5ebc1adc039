"""Beyond the papers: what missing values cost, estimated without labels."""

from __future__ import annotations

import json
import os
import subprocess
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
from scipy.stats import spearmanr
from sklearn.base import clone

from experiments.experiment import (
    Claim,
    Experiment,
    Layout,
    Part,
    Row,
    Settings,
    distinct,
    mean,
    select,
)
from experiments.filling import Means
from experiments.learners import BOOSTING, FOREST, LINEAR, boosting, forest, linear
from experiments.pages import tables
from experiments.tables import Divided, Table, from_source, without
from noiseproof import AverageOverMissing
from noiseproof.evaluation import acquisition_curve, missing_cost
from noiseproof.noise import Missing

OURS, SURE, CBPE = "missing_cost", "confidence, mean fill", "CBPE, mean fill"
CBPE_AVERAGED = "CBPE, averaged"
RATIO = "ratio"
SHARE, AREA = "share bought", "mean accuracy while buying"
_PURCHASES = (SHARE, AREA)
GROUPS = "error of the cost of groups"
RMSE, SQUARES = "relative error of the RMSE", "squared_error"
MECHANISMS = ("mcar", "mar", "mnar")
NANNYML = "NOISEPROOF_NANNYML"  # the Python that has NannyML
_RANKED_AT, _BOUGHT_AT = 0.5, 0.8  # shares of the values missing
Place = tuple[str, str, str, str]  # data, model, panel and share missing
_MASKS = 3  # of a row, for ranks
_TIMES = 3  # that something is timed
_KEPT = 4  # one in so many training rows is the reference of rivals
_NEAR = 0.01  # accuracy that may be lacking
_ENOUGH = 500  # test rows of a case that claims count
_WRONG = 0.05  # error of an estimate that needs a warning


@dataclass(frozen=True)
class Sizes(Settings):
    """Rows, repetitions, and what is run."""

    data: tuple[str, ...] = (
        "vehicle", "phoneme", "segment", "satimage", "penbased", "spambase", "digits",
        "mnist", "cancer", "heart-table", "electricity-table", "eyemovements-table",
        "credit-table", "abalone-table", "bike-table", "concrete-table",
    )  # fmt: skip
    models: tuple[str, ...] = (LINEAR, BOOSTING, FOREST)
    rates: tuple[float, ...] = (0.2, 0.5, 0.8)
    n_train: int = 1500
    n_test: int = 1000
    n_timed: int = 5000  # rows, test rows again and again
    n_bought: int = 400  # test rows of which values are bought
    n_trees: int = 40
    ranked: int = 70  # columns at most, if they are ranked and bought


class Cost(Experiment[Sizes]):
    """Whether estimates come near to the truth, and which values to look up."""

    name = "cost"
    title = "what missing values cost: estimates without labels, and the truth"
    paper = "Beyond the papers"
    protocol = (
        "Models are trained on complete rows and wrapped in `AverageOverMissing` with "
        "its defaults. Values of the test rows are then missing at random (mcar), "
        "depending on another column (mar), or depending on their own value (mnar; see "
        "`noise.Missing`). `missing_cost` gets the test rows without labels. Its error "
        "is the absolute difference between the accuracy that it estimates and the "
        "true accuracy of the same predictions on the same rows. The two rivals "
        "estimate the accuracy of a plain model on mean-imputed rows: confidence is "
        "the mean of the largest predicted probability, and CBPE is that of NannyML. "
        "Their models are trained on three quarters of the training rows, and CBPE is "
        "calibrated on the last quarter, which is complete. *CBPE, averaged* gets the "
        "probabilities of `AverageOverMissing` instead. There are at most 1,000 test "
        "rows, and at most half of the table. Claims about errors count only tables "
        "with at least 500 test rows; wine and iris have too few, and are left out. "
        "Ranks: with 50 % of the values missing at "
        "random, three times for each row, columns are ranked by their cost according "
        "to `missing_cost` (as log-loss) and by how much the true log-loss falls if "
        "the column is revealed. The true order can be told if at least half of the "
        "columns gain more than two standard errors. Groups of columns are ranked as "
        "well where `missing_cost` forms more than two. Where it forms any, their "
        "costs are compared with how much the true log-loss falls if the group is "
        "revealed, with values missing once for each row. Buying: 80 % of the values "
        "of 400 test rows are missing at random and are revealed in 20 steps by "
        "`acquisition_curve`, for averaged boosting. Importance is that of permuted "
        "columns of the training rows that the model has held out. For abalone, bike "
        "and concrete the target is a quantity, and the score is the root of the "
        "estimated squared error; there are no rivals. Their columns are ranked by "
        "squared error. Times are ratios to the time of predicting the same 5,000 "
        "rows, which are test rows drawn with replacement; each is processor time, "
        "the shortest of three. With many columns, as in mnist, the estimate takes "
        "longer, since each column is revealed in some rows."
    )
    sizes: ClassVar = {
        "tiny": Sizes(
            data=("vehicle", "concrete-table"),
            models=(LINEAR,),
            rates=(0.5,),
            n_train=100,
            n_test=100,
            n_bought=20,
            n_timed=100,
            n_trees=2,
        ),
        "quick": Sizes(
            data=("segment", "phoneme", "concrete-table"),
            models=(LINEAR, BOOSTING),
            rates=(0.5,),
            n_bought=100,
        ),
        "full": Sizes(),
    }
    layout = Layout("value", "missing", "curve", "panel", digits=3)

    def parts(self, settings: Sizes, data: Mapping[str, Any]) -> Iterator[Part]:
        """Each model of each table; parts with CBPE have names of their own."""
        python = os.environ.get(NANNYML)
        if python:
            _check_nannyml(python)
        for name in settings.data:
            for model in settings.models:
                work = partial(judged, name, data[name], model, settings)
                yield Part(f"{name} {model}{', with CBPE' if python else ''}", work)

    def claims(self, rows: Sequence[Row]) -> list[Claim]:
        """What the estimates promise."""
        found = list(_near(rows))
        found += _warned(rows)
        found += _of_quantities(rows)
        found += _ranked(rows)
        found += _of_any_group(rows)
        found += _bought(rows)
        times = [row["value"] for row in select(rows, panel="time")]
        text = "missing_cost takes at most three times as long as predicting the rows"
        told = f"mean {np.mean(times):.2f}, largest {max(times):.2f}"
        return [*found, Claim(text, max(times) <= 3, told)]

    def drawn(self, rows: Sequence[Row]) -> tuple[Sequence[Row], Layout]:
        """Errors only."""
        return [row for row in rows if row["panel"] in MECHANISMS], self.layout

    def notes(self, rows: Sequence[Row]) -> str:
        """The same numbers by table and model, or by table and order of buying."""
        bought = [row for row in rows if row["panel"] in _PURCHASES]
        ours = [row for row in rows if row["curve"] in (OURS, RATIO)]
        by_model = Layout("value", "data", "model", "panel")
        by_order = Layout("value", "data", "curve", "panel")
        return "\n\n".join(
            [
                "By table and model, for `missing_cost`:",
                tables(self, ours, by_model),
                "By table, for the orders of buying:",
                tables(self, bought, by_order),
            ]
        )


def row_of(place: Place, curve: str, value: float, **more: Any) -> Row:
    """A number, with whatever else is known; no key is left out."""
    keys = ("data", "model", "panel", "missing", "curve", "value")
    others = ("n_test", "estimate", "truth", "low", "high", "warned", "told")
    row = dict(zip(keys, (*place, curve, float(value)), strict=True))
    return row | {key: more.get(key) for key in others}


def judged(name: str, source: Any, model: str, settings: Sizes) -> Iterator[Row]:
    """One model of one table: estimates, ranks and purchases."""
    table = from_source(source)
    split = halves(table, settings)
    base = _model(model, table, settings)
    averaged = AverageOverMissing(base, random_state=settings.seed)
    averaged.fit(split.train.X, split.train.y)
    if not table.n_classes:
        yield from _of_quantity(name, model, averaged, split.test, settings)
        yield from _ranks(name, model, averaged, split.test, settings)
        return
    rivals = _Rivals(base, averaged, split)
    for mechanism in MECHANISMS:
        for rate in settings.rates:
            noise = Missing(rate, mechanism=mechanism)
            rows = noise.sample(split.test.X, rng=settings.seed)
            place = (name, model, mechanism, f"{100 * rate:g} %")
            yield _ours(place, averaged, rows, split.test)
            rivals.add(place, rows)
    yield from rivals.rows(split.test)
    yield _timed(name, model, averaged, split.test, settings)
    if split.test.X.shape[1] <= settings.ranked:
        yield from _ranks(name, model, averaged, split.test, settings)
        yield from _of_groups(name, model, averaged, split.test, settings)
        if model == BOOSTING or len(settings.models) == 1:
            yield from _purchases(name, model, averaged, split.test, settings)


def halves(table: Table, settings: Sizes) -> Divided:
    """Random rows to test on, at most half of them, and others to train on."""
    order = np.random.default_rng(settings.seed).permutation(len(table.y))
    n_test = min(settings.n_test, len(order) // 2)
    parts = order[n_test:][: settings.n_train], order[:n_test]
    return Divided(
        *(Table(table.X.iloc[p].reset_index(drop=True), table.y[p]) for p in parts)
    )


def _model(model: str, table: Table, settings: Sizes) -> Any:
    if model == LINEAR:
        return linear(table)
    make = boosting if model == BOOSTING else forest
    return make(table, settings.n_trees)


def _ours(place: Place, averaged: Any, rows: Any, test: Table) -> Row:
    found: Any = missing_cost(averaged, rows)
    truth = float(np.mean(averaged.predict(rows) == test.y))
    return _beside(place, abs(found.score.value - truth), found, found.score, truth)


def _beside(place: Place, error: float, found: Any, ends: Any, truth: float) -> Row:
    """An estimate with its interval beside the truth."""
    value, low, high = ends
    return row_of(
        *(place, OURS, error),
        n_test=found.n_rows,
        estimate=value,
        truth=truth,
        low=low,
        high=high,
        warned=len(found.warnings) > 0,
    )


class _Rivals:
    """Estimates by confidence, and by CBPE if there is a Python that has NannyML."""

    def __init__(self, base: Any, averaged: Any, split: Divided):
        n = len(split.train.y) * (_KEPT - 1) // _KEPT
        early, late = slice(0, n), slice(n, None)
        X, y = split.train
        self.means = Means().fit(X.iloc[early])
        self.filled = clone(base).fit(X.iloc[early], y[early])
        self.averaged = clone(averaged).set_params(n_calibration=0)
        self.averaged.fit(X.iloc[early], y[early])
        self.reference, self.labels = X.iloc[late], y[late]
        self.places: list[Place] = []
        self.answers: list[dict[str, Any]] = []

    def add(self, place: Place, rows: Any) -> None:
        """Answers for rows that are to be judged."""
        self.places.append(place)
        (filled,) = self.means.filled(rows)
        given = {SURE: self.filled.predict_proba(filled)}
        if os.environ.get(NANNYML):
            given[CBPE] = given[SURE]
            given[CBPE_AVERAGED] = self.averaged.predict_proba(rows)
        self.answers.append(given)

    def rows(self, test: Table) -> Iterator[Row]:
        """Errors of all estimates."""
        estimates = self._estimates()
        for place, given in zip(self.places, self.answers, strict=True):
            for method, p in given.items():
                truth = float(np.mean(p.argmax(axis=1) == test.y))
                estimate = next(estimates)
                yield row_of(
                    *(place, method, abs(estimate - truth)),
                    n_test=len(test.y),
                    estimate=estimate,
                    truth=truth,
                )

    def _estimates(self) -> Iterator[float]:
        references = {
            CBPE: self.filled.predict_proba(self.reference),
            CBPE_AVERAGED: self.averaged.predict_proba(self.reference),
        }
        cases = [
            (references[method], self.labels, p)
            for given in self.answers
            for method, p in given.items()
            if method != SURE
        ]
        by_cbpe = iter(_by_nannyml(cases))
        for given in self.answers:
            for method, p in given.items():
                if method == SURE:
                    yield float(p.max(axis=1).mean())
                else:
                    yield next(by_cbpe)


def _check_nannyml(python: str) -> None:
    """Raise an error unless this Python can import NannyML."""
    try:
        words = [python, "-c", "import nannyml"]
        subprocess.run(words, env=_clean(), check=True, capture_output=True)
    except (OSError, subprocess.CalledProcessError) as error:
        raise ValueError(
            f"{NANNYML}={python} is no Python that can import nannyml; install nannyml "
            f"and statsmodels there, or unset {NANNYML} to run without CBPE."
        ) from error


def _clean() -> dict[str, str]:
    """Variables for another Python, which must not import what this one does."""
    return {k: v for k, v in os.environ.items() if k != "PYTHONPATH"}


def _by_nannyml(cases: Sequence[tuple[Any, Any, Any]]) -> list[float]:
    """What CBPE estimates, in the environment of its own."""
    if not cases:
        return []
    names = ("reference", "labels", "probabilities")
    with tempfile.TemporaryDirectory() as folder:
        source, target = Path(folder) / "tables.npz", Path(folder) / "estimates.json"
        arrays = {
            f"{name}_{i}": part
            for i, case in enumerate(cases)
            for name, part in zip(names, case, strict=True)
        }
        np.savez(source, **arrays)
        script = Path(__file__).with_name("cbpe.py")
        words = [os.environ[NANNYML], str(script), str(source), str(target)]
        subprocess.run(words, env=_clean(), check=True, capture_output=True)
        found: list[float] = json.loads(target.read_text(encoding="utf-8"))
    return found


def _timed(name: str, model: str, averaged: Any, test: Table, settings: Sizes) -> Row:
    """How much longer the estimate takes than predictions for many rows."""
    rng = np.random.default_rng(settings.seed)
    rows = test.X.iloc[rng.integers(len(test.y), size=settings.n_timed)]
    rows = Missing(_RANKED_AT).sample(rows.reset_index(drop=True), rng=settings.seed)
    ratio = _seconds(missing_cost, averaged, rows)
    ratio /= _seconds(type(averaged).predict_proba, averaged, rows)
    return row_of((name, model, "time", "50 %"), RATIO, ratio)


def _seconds(work: Callable[..., Any], *given: Any) -> float:
    """The shortest processor time of several, of which a busy machine costs little."""
    found = []
    for _ in range(_TIMES):
        start = time.process_time()
        work(*given)
        found.append(time.process_time() - start)
    return min(found)


def _ranks(
    name: str, model: str, averaged: Any, test: Table, settings: Sizes
) -> Iterator[Row]:
    """Whether columns, and groups of them, are ranked as the truth ranks them.

    Each row loses other values several times, as the truth is known the better.
    """
    n, places = len(test.y), np.tile(np.arange(len(test.y)), _MASKS)
    many = Table(test.X.iloc[places].reset_index(drop=True), test.y[places])
    rows = Missing(_RANKED_AT).sample(many.X, rng=settings.seed)
    scoring = "log_loss" if test.n_classes else SQUARES
    found: Any = missing_cost(averaged, rows, scoring=scoring)
    kinds = [("columns", found.by_column, {c: [c] for c in found.by_column})]
    if len(found.by_group) > 2:
        kinds.append(("groups", found.by_group, found.groups))
    for kind, costs, members in kinds:
        sets = [members[one] for one in costs]
        gains = _gains(averaged, rows, many, sets).reshape(-1, _MASKS, n).mean(axis=1)
        truth = np.mean(gains, axis=1)
        errors = np.std(gains, axis=1) / n**0.5
        rank = spearmanr([one.value for one in costs.values()], truth)[0]
        place = (name, model, _ranks_of(kind, scoring), "50 %")
        told = float(np.mean(truth > 2 * errors))
        yield row_of(place, OURS, np.nan_to_num(rank), told=told)


def _ranks_of(kind: str, scoring: str) -> str:
    return f"ranks of {kind}{', squared error' if scoring == SQUARES else ''}"


def _of_quantity(
    name: str, model: str, averaged: Any, test: Table, settings: Sizes
) -> Iterator[Row]:
    """The error of the estimated RMSE of a regressor, as a share of the true one."""
    for mechanism in MECHANISMS:
        for rate in settings.rates:
            noise = Missing(rate, mechanism=mechanism)
            rows = noise.sample(test.X, rng=settings.seed)
            found: Any = missing_cost(averaged, rows)
            ends = np.sqrt(found.score)
            truth = float(np.mean((averaged.predict(rows) - test.y) ** 2) ** 0.5)
            place = name, model, f"{RMSE}, {mechanism}", f"{100 * rate:g} %"
            yield _beside(place, abs(ends[0] / truth - 1), found, ends, truth)


def _of_groups(
    name: str, model: str, averaged: Any, test: Table, settings: Sizes
) -> Iterator[Row]:
    """What groups of columns cost, as estimated and in truth."""
    rows = Missing(_RANKED_AT).sample(test.X, rng=settings.seed)
    found: Any = missing_cost(averaged, rows, scoring="log_loss")
    truth = _gains(averaged, rows, test, [found.groups[one] for one in found.by_group])
    place = (name, model, GROUPS, "50 %")
    for one, true in zip(found.by_group.values(), truth.mean(axis=1), strict=True):
        more = {"estimate": one.value, "low": one.low, "high": one.high, "truth": true}
        yield row_of(place, OURS, abs(one.value - true), **more)


def _gains(
    averaged: Any, rows: Any, test: Table, parts: Sequence[Sequence[str]]
) -> Any:
    """How far the loss of each row falls if the columns of each part are known."""
    before = _losses(averaged, rows, test)
    gains = np.zeros((len(parts), len(before)))
    for own, names in zip(gains, parts, strict=True):
        gone = rows.isna()
        gone[list(names)] = False
        known = without(test.X, gone.to_numpy())
        own[:] = before - _losses(averaged, known, test)
    return gains


def _losses(averaged: Any, rows: Any, test: Table) -> Any:
    """Log-losses, or squared errors of a quantity."""
    y = test.y
    if not test.n_classes:
        return (averaged.predict(rows) - y) ** 2
    p = averaged.predict_proba(rows)
    places = np.searchsorted(averaged.classes_, y)
    return -np.log(np.maximum(p[np.arange(len(y)), places], 1e-6))


def _purchases(
    name: str, model: str, averaged: Any, test: Table, settings: Sizes
) -> Iterator[Row]:
    """What it takes to come near to the accuracy of complete rows, and areas."""
    X, y = test.X.iloc[: settings.n_bought], test.y[: settings.n_bought]
    rows = Missing(_BOUGHT_AT).sample(X, rng=settings.seed)
    curve = acquisition_curve(averaged, rows, X, y)
    for order, needed in curve.needed(_NEAR).items():
        share = needed / curve.spent[-1]
        yield row_of((name, model, SHARE, "80 %"), order, share)
    for order, area in curve.areas.items():
        yield row_of((name, model, AREA, "80 %"), order, area)


def _near(rows: Sequence[Row]) -> Iterator[Claim]:
    """The error of the estimates, and of those of rivals."""
    own = [row for row in rows if row["n_test"] and row["n_test"] >= _ENOUGH] or rows
    errors = {
        method: np.mean([e for m in ("mcar", "mar") for e in _errors(own, m, method)])
        for method in (OURS, SURE, CBPE, CBPE_AVERAGED)
        if select(own, curve=method)
    }
    ours = float(errors[OURS])
    yield Claim(
        "The mean absolute error of the estimated accuracy is at most 0.02 for mcar "
        "and mar", ours <= 0.02, f"{ours:.4f}",
    )  # fmt: skip
    for method in (SURE, CBPE, CBPE_AVERAGED):
        given = method == CBPE_AVERAGED  # it gets the averaged probabilities
        text = f"That is at most {'' if given else 'half of '}that of {method}"
        if method not in errors:
            told = f"not run: {NANNYML} does not name a Python that has NannyML"
            yield Claim(text, False, told)
            continue
        error = errors[method]
        good = ours <= (error if given else error / 2)
        yield Claim(text, bool(good), f"{ours:.4f} against {error:.4f}")
    inside = [
        row["low"] <= row["truth"] <= row["high"]
        for m in ("mcar", "mar")
        for row in select(own, panel=m, curve=OURS)
    ]
    share = float(np.mean(inside))
    text = "Intervals of 95 % hold the true accuracy in at least 90 % of these cases"
    yield Claim(text, share >= 0.9, f"{100 * share:.0f} % of {len(inside)}")


def _errors(rows: Sequence[Row], mechanism: str, method: str) -> list[float]:
    return [row["value"] for row in select(rows, panel=mechanism, curve=method)]


def _warned(rows: Sequence[Row]) -> Iterator[Claim]:
    """Whether wrong estimates come with a warning, and how often others do."""
    own = select(rows, curve=OURS)
    mnar = select(own, panel="mnar")
    wrong = [row["warned"] for row in mnar if row["value"] > _WRONG]
    often = {
        m: 100 * np.mean([row["warned"] for row in select(own, panel=m)])
        for m in MECHANISMS
    }
    told = (
        f"{sum(wrong)} of {len(wrong)}; mean error for mnar {mean(mnar, 'value'):.4f}; "
        f"warned in {often['mnar']:.0f} % of all cases for mnar, {often['mcar']:.0f} % "
        f"for mcar, {often['mar']:.0f} % for mar"
    )
    text = "For mnar there is a warning in at least 80 % of the cases with an error "
    good = not wrong or float(np.mean(wrong)) >= 0.8
    yield Claim(f"{text}above {_WRONG}", bool(good), told)


def _of_quantities(rows: Sequence[Row]) -> Iterator[Claim]:
    """The error of the estimated RMSE of regressors, and its intervals."""
    panels = [f"{RMSE}, {mechanism}" for mechanism in ("mcar", "mar")]
    own = [row for panel in panels for row in select(rows, panel=panel)]
    if not own:
        return
    names = ", ".join(
        f"{name} {100 * mean(own, 'value', data=name):.1f} %"
        for name in distinct(own, "data")
    )
    error = mean(own, "value")
    text = (
        "Regression: the mean relative error of the estimated RMSE is at most 10 % "
        "for mcar and mar"
    )
    yield Claim(text, error <= 0.1, f"{100 * error:.1f} %; {names}")
    inside = [row["low"] <= row["truth"] <= row["high"] for row in own]
    text = (
        "Regression: intervals of 95 % hold the true RMSE in at least 90 % of these "
        "cases"
    )
    share = float(np.mean(inside))
    yield Claim(text, share >= 0.9, f"{100 * share:.0f} % of {len(inside)}")


def _ranked(rows: Sequence[Row]) -> Iterator[Claim]:
    """The mean rank correlation, where the truth can be told."""
    cases = ("columns", "log_loss"), ("groups", "log_loss"), ("columns", SQUARES)
    for kind, scoring in cases:
        own = select(rows, panel=_ranks_of(kind, scoring))
        told = [row for row in own if row["told"] >= 0.5]
        if not told:
            continue
        ranks = [row["value"] for row in told]
        numbers = f"{np.mean(ranks):.2f} over {len(told)} of {len(own)} cases: "
        numbers += ", ".join(
            f"{row['data']} {row['model']} {row['value']:.2f}" for row in told
        )
        text = (
            f"{'Regression: ' if scoring == SQUARES else ''}Spearman's rank "
            f"correlation of estimated and true costs of {kind} is at least 0.8 on "
            "average, where the truth can be told"
        )
        yield Claim(text, bool(np.mean(ranks) >= 0.8), numbers)


def _of_any_group(rows: Sequence[Row]) -> Iterator[Claim]:
    """Whether the true costs of groups lie in their intervals."""
    own = select(rows, panel=GROUPS)
    if not own:
        return
    inside = [row["low"] <= row["truth"] <= row["high"] for row in own]
    pairs = [(row["estimate"], row["truth"]) for row in own]
    rank = spearmanr(pairs)[0] if len(pairs) > 2 else np.nan
    told = (
        f"{100 * np.mean(inside):.0f} % of {len(own)} groups; mean true cost "
        f"{mean(own, 'truth'):.4f}, mean absolute error {mean(own, 'value'):.4f}, "
        f"rank correlation over all groups of all tables {rank:.2f}"
    )
    text = "Intervals of 95 % hold the true cost of groups in at least 90 % of cases"
    yield Claim(text, bool(np.mean(inside) >= 0.9), told)


def _bought(rows: Sequence[Row]) -> Iterator[Claim]:
    """Whether buying by value needs less than buying by importance."""
    names = distinct(select(rows, panel=SHARE), "data")
    if not names:
        return
    shares = {
        name: [
            mean(rows, "value", panel=SHARE, data=name, curve=order)
            for order in ("value", "importance", "random")
        ]
        for name in names
    }
    areas = [
        mean(rows, "value", panel=AREA, curve=order)
        for order in ("value", "importance", "random")
    ]
    fewer = sum(own[0] < own[1] for own in shares.values())
    told = "; ".join(
        f"{name} {a:.2f}, {b:.2f}, {c:.2f}" for name, (a, b, c) in shares.items()
    )
    numbers = (
        f"{fewer} of {len(names)}; mean accuracy over the curve "
        f"{areas[0]:.4f}, {areas[1]:.4f}, {areas[2]:.4f}; shares bought by value, by "
        f"importance, at random: {told}"
    )
    text = (
        f"Buying by value comes within {_NEAR} of the accuracy of complete rows with "
        "fewer values than by importance on at least 7 of 9 tables"
    )
    yield Claim(text, bool(fewer >= 7 / 9 * len(names)), numbers)


EXPERIMENT = Cost()
