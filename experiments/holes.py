"""Beyond the papers: values missing for a reason, in training rows or only later."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, ClassVar

import numpy as np
from sklearn.base import clone

from experiments.cases import (
    Cases,
    by_method,
    errors_of,
    is_far_behind,
    judged_ranks,
    loss_table,
    losses,
)
from experiments.experiment import (
    Claim,
    Experiment,
    Layout,
    Part,
    Row,
    Settings,
    distinct,
    select,
)
from experiments.filling import Filling, fillings
from experiments.learners import (
    BOOSTING,
    FOREST,
    LINEAR,
    answers,
    boosting,
    forest,
    linear,
    rivals,
    scores,
    with_copies,
)
from experiments.ranks import Ranks
from experiments.tables import (
    WITH_HOLES,
    Divided,
    Table,
    divided,
    from_source,
)
from noiseproof import AverageOverMissing, recommend
from noiseproof.noise import Missing

LATER, ALWAYS = "in test rows only", "in all rows"
NATURAL = "their own holes"
AVERAGED, AUTO, OWN, MEAN = "averaged", "auto", "own NaN", "mean fill"
INDICATORS = "mean fill and indicators"
_RIVALS = (OWN, MEAN, INDICATORS)  # that a claim compares averages with
_AVERAGED = (BOOSTING, FOREST, LINEAR, "LightGBM")  # models that are averaged
_COMPARED = (*(f"{model}, {AVERAGED}" for model in (BOOSTING, FOREST, LINEAR)), AUTO)
_BLOCKS = 8  # of neighbouring columns, about
_CLASSES = 10  # with more of them boosting has fewer trees a class
_GOOD = 0.9  # share of the cases that a claim asks for


@dataclass(frozen=True)
class Sizes(Settings):
    """Rows, splits, share of missing values, and how large the models are."""

    data: tuple[str, ...] = (
        *WITH_HOLES,
        *(f"{name}-table" for name in ("heart", "credit", "concrete", "electricity")),
        *("wine", "vehicle", "segment"),
    )
    splits: int = 3  # more splits or data need no other part to be run again
    n_train: int = 500
    n_test: int = 500
    rate: float = 0.3
    mechanisms: tuple[str, ...] = ("mcar", "mar", "mnar", "blocks")
    n_trees: int = 100
    copies: int = 4
    imputations: int = 2
    wide: int = 100
    fewer_trees: int = 20
    folds: int = 3
    repeats: int = 2
    rivals: tuple[str, ...] = ("LightGBM", "XGBoost")


class Reasons(Experiment[Sizes]):
    """What to do about missing values, whatever makes them missing."""

    name = "holes"
    title = "values missing for a reason, also in training rows"
    protocol = (
        "The data are random rows of twelve tables: five of R's package mlbench that "
        "have missing values of their own, four of TabFSBench (as in `vanishing`), and "
        "three of `beyond`. A share `rate` of the values is removed in one of four "
        "ways. mcar: each value with the same probability. mar: more often where "
        "another column is large. mnar: more often where the value itself is large "
        "(`noise.Missing` gives the formula). Blocks: in groups of neighbouring "
        "columns, about eight of them. Values are removed from the test rows only, or "
        "from training and test rows alike. Tables with missing values of their own "
        "keep these, and are also used as they are. Boosting is "
        "`HistGradientBoosting` with scikit-learn's defaults. The forest, LightGBM and "
        "XGBoost have as many trees, or `fewer_trees` on tables of more than `wide` "
        "columns or ten classes. Linear is logistic or ridge regression. Own NaN: the "
        "model is trained on rows with missing values and predicts from such rows. "
        "Imputers "
        "are fitted to the training rows, and the model is fitted to imputed rows. "
        "Indicators are additional columns that say where a value was missing, one for "
        "each column with missing values in training. miceforest and "
        "`IterativeImputer` (five rounds, at most 30 regressors) are used on tables of "
        "at most `wide` columns. With miceforest one model is fitted for each "
        "imputation, and their predictions are averaged. Averaged is "
        "`AverageOverMissing` around the model; no rows are held out for calibration, "
        "which saves fits and changes no prediction of a classifier. NaN copies: the "
        "model is also trained on copies of the training rows, each of which misses "
        "values at a rate of its own, uniform between 0 and 0.9. Auto is the model "
        "that `recommend` picks on the training rows for `rate` of the values missing "
        "at random. Like all other methods, it is not told the mechanism. It takes "
        "most of the time, and is therefore only trained on rows from which no values "
        "were removed. A method is as good as the best if the mean of the paired "
        "differences over the splits is at most its standard error. With three splits "
        "this rule is strict: of two methods that are equally good, each is behind the "
        "other in a fifth of the cases. So the claims also count the cases in which a "
        "method is at most the standard error of the best mean score behind, as it "
        "varies over the splits."
    )
    sizes: ClassVar = {
        "tiny": Sizes(
            data=("Soybean", "abalone-table"),
            splits=1,
            n_train=60,
            n_test=40,
            mechanisms=("blocks",),
            n_trees=3,
            copies=1,
            imputations=0,
            folds=2,
            repeats=1,
            rivals=(),
        ),
        "quick": Sizes(
            data=("heart-table", "wine"),
            splits=2,
            n_train=300,
            n_test=300,
            mechanisms=("mcar", "mnar"),
            imputations=1,
            folds=2,
        ),
        "full": Sizes(),
    }
    summary = (
        "Mean ranks of the methods around boosting, of other packages and of auto, "
        "over the data sets, ± their standard error. The plot shows the same. Each "
        "data set follows, with accuracy or root mean squared error."
    )
    grows_by = ("data", "splits")
    layout = Layout(value="score", panel="table", x="method", curve="case")

    def parts(self, settings: Sizes, data: Mapping[str, Any]) -> Iterator[Part]:
        """All methods and mechanisms, split by split."""
        for split in range(settings.splits):
            for name in settings.data:
                work = partial(judged, name, data[name], split, settings)
                yield Part(f"{name} {split}", work)

    def claims(self, rows: Sequence[Row]) -> list[Claim]:
        """How often averages are as good as what is usually done, and auto as all."""
        found = []
        for measure in ("score", "log_loss"):
            for where in distinct(rows, "where"):
                cases = _cases(rows, measure, where=where)
                told = {name for errors in cases.values() for name in errors}
                named = [name for name in _COMPARED if name in told]
                found += [_as_good(cases, name, measure) for name in named]
        return found

    def drawn(self, rows: Sequence[Row]) -> tuple[Sequence[Row], Layout]:
        """Mean rank on each data set, by where values are missing."""
        found = []
        for where in distinct(rows, "where"):
            own = judged_ranks(_shared(_cases(rows, where=where)))
            for method, values in zip(own.names, own.table.T, strict=True):
                if not method.startswith((LINEAR, FOREST)):
                    label = method.removeprefix(f"{BOOSTING}, ")
                    found += [
                        {"method": label, "holes": where, "mean rank": float(value)}
                        for value in values
                    ]
        return found, Layout("mean rank", "method", "holes", digits=2)

    def ranks(self, rows: Sequence[Row]) -> Ranks:
        """Mean ranks of all methods, by data set."""
        return judged_ranks(_shared(_cases(rows)))

    def notes(self, rows: Sequence[Row]) -> str:
        """Mean ranks by mechanism, and all cases in which averaging loses."""
        return "\n\n".join(_notes(rows))


def judged(name: str, source: Any, split: int, settings: Sizes) -> Iterator[Row]:
    """All methods in all cases of one split."""
    table, seed = from_source(source), settings.seed + split
    whole = divided(table, settings.n_train, settings.n_test, seed)
    measure = "accuracy" if table.n_classes else "RMSE"
    label = name.removesuffix("-table")
    complete = Contenders(whole.train, settings, seed, auto=True)
    cases: list[tuple[str, str, Table, Contenders]] = []
    if table.X.isna().any(axis=None):
        cases.append((NATURAL, ALWAYS, whole.test, complete))
    for mechanism in settings.mechanisms:
        noise = reason(mechanism, settings.rate, table.X.shape[1])
        holed = with_holes(whole, noise, np.random.default_rng([seed, 3]))
        cases.append((mechanism, LATER, holed.test, complete))
        taught = Contenders(holed.train, settings, seed)
        cases.append((mechanism, ALWAYS, holed.test, taught))
    for mechanism, where, test, contenders in cases:
        for method, answer in contenders.asked(test.X):
            score, loss = scores(answer, test.y)
            yield {
                "data": label,
                "split": split,
                "mechanism": mechanism,
                "where": where,
                "method": method,
                "score": round(score, 5),
                "log_loss": None if loss is None else round(loss, 5),
                "measure": measure,
                "table": f"{label}, {measure}",
                "case": f"{mechanism}, {where}",
            }


def reason(mechanism: str, rate: float, n_columns: int) -> Missing:
    """What makes values missing."""
    if mechanism != "blocks":
        return Missing(rate, mechanism=mechanism)
    size = max(2, round(n_columns / _BLOCKS))
    return Missing(rate, groups=[str(j // size) for j in range(n_columns)])


def with_holes(whole: Divided, noise: Missing, rng: np.random.Generator) -> Divided:
    """Training and test rows from which values are removed in one go, and so alike."""
    import pandas as pd

    n = len(whole.train.y)
    rows = pd.concat([whole.train.X, whole.test.X], ignore_index=True)
    holed = noise.sample(rows, rng)
    train, test = holed.iloc[:n], holed.iloc[n:].reset_index(drop=True)
    return Divided(Table(train, whole.train.y), Table(test, whole.test.y))


class Behind:
    """A model that gets imputed rows, also in training."""

    def __init__(self, model: Any, filling: Filling, *, indicators: bool = False):
        self.model, self.filling, self.indicators = model, filling, indicators

    def fit(self, X: Any, y: Any) -> Behind:
        holed = X.isna().any()
        self.marked = list(X.columns[holed]) if self.indicators else []
        self.models = [clone(self.model).fit(table, y) for table in self._shown(X)]
        return self

    def _shown(self, X: Any) -> list[Any]:
        marks = {f"{name} missing": X[name].isna() * 1.0 for name in self.marked}
        return [table.assign(**marks) for table in self.filling.filled(X)]

    def answers(self, X: Any, n_classes: int) -> Any:
        models, tables = self.models, self._shown(X)
        n = max(len(models), len(tables))  # complete rows are one table only
        pairs = zip(
            models * (n // len(models)), tables * (n // len(tables)), strict=True
        )
        return np.mean([answers(m, table, n_classes) for m, table in pairs], axis=0)


class Contenders:
    """All that is fitted on the same training rows."""

    def __init__(self, train: Table, settings: Sizes, seed: int, *, auto: bool = False):
        self.train = train
        wide = train.X.shape[1] > settings.wide
        slow = wide or train.n_classes > _CLASSES
        n_trees = settings.fewer_trees if slow else settings.n_trees
        trees, woods = boosting(train, n_trees), forest(train, n_trees)
        ways = {
            name: filling.fit(train.X)
            for name, filling in fillings(0 if wide else settings.imputations).items()
            if not (wide and name == "IterativeImputer")
        }
        behind = {f"{BOOSTING}, {name}": Behind(trees, f) for name, f in ways.items()}
        for name, filling in ways.items():
            if name != "miceforest":
                marked = Behind(trees, filling, indicators=True)
                behind[f"{BOOSTING}, {name} and indicators"] = marked
        for name, model in ((FOREST, woods), (LINEAR, linear(train))):
            for treatment in (MEAN, INDICATORS):
                behind[f"{name}, {treatment}"] = Behind(
                    model, ways[MEAN], indicators=treatment == INDICATORS
                )
        self.behind = {name: model.fit(*train) for name, model in behind.items()}
        own = {BOOSTING: trees, FOREST: woods}
        own |= rivals(train, settings.rivals, n_trees)
        takes_nan = {f"{name}, {OWN}": model for name, model in own.items()} | {
            f"{name}, {AVERAGED}": AverageOverMissing(
                model, random_state=0, n_calibration=0
            )
            for name, model in {**own, LINEAR: linear(train)}.items()
            if name in _AVERAGED
        }
        self.takes_nan = {name: model.fit(*train) for name, model in takes_nan.items()}
        copies = with_copies(train, settings.copies, np.random.default_rng([seed, 2]))
        self.takes_nan[f"{BOOSTING}, NaN copies"] = clone(trees).fit(*copies)
        if not auto:
            return
        found = recommend(
            *train, Missing(settings.rate), task=train.task, cv=settings.folds,
            n_repeats=settings.repeats, random_state=seed, progress=False,
        )  # fmt: skip
        self.takes_nan[AUTO] = found.model

    def asked(self, X: Any) -> Iterator[tuple[str, Any]]:
        """What everyone says about these rows."""
        k = self.train.n_classes
        for name, one in self.behind.items():
            yield name, one.answers(X, k)
        for name, model in self.takes_nan.items():
            yield name, answers(model, X, k)


def _cases(rows: Sequence[Row], measure: str = "score", **key: Any) -> Cases:
    return errors_of(select(rows, **key), ("data", "mechanism", "where"), measure)


def _shared(cases: Cases) -> Cases:
    """The cases with the methods that all data have."""
    every = [set(errors) for errors in cases.values()]
    shared = set.intersection(*every)
    return {
        case: {method: e for method, e in errors.items() if method in shared}
        for case, errors in cases.items()
    }


def _is_rival(ours: str, method: str) -> bool:
    """Whether a claim compares the two: the same model treated otherwise, or all."""
    return ours == AUTO or method in [
        f"{ours.split(', ')[0]}, {treatment}" for treatment in _RIVALS
    ]


def _as_good(cases: Cases, ours: str, measure: str) -> Claim:
    """The claim that a method is hardly ever behind the best of its rivals."""
    cases = {case: errors for case, errors in cases.items() if ours in errors}
    where = next(iter(cases))[2]
    is_rival = partial(_is_rival, ours)
    good = len(cases) - len(list(losses(cases, ours, is_rival)))
    near = len(cases) - len(list(losses(cases, ours, is_rival, is_far_behind)))
    best = "the best of all" if ours == AUTO else f"the best of {', '.join(_RIVALS)}"
    what = "log-loss" if measure == "log_loss" else "accuracy or RMSE"
    return Claim(
        f"values missing {where}, {what}: {ours} is as good as {best} in at least "
        f"{100 * _GOOD:g} % of the cases",
        good >= _GOOD * len(cases),
        f"{good} of {len(cases)}; at most the standard error of the best score behind "
        f"in {near}",
    )


def _notes(rows: Sequence[Row]) -> Iterator[str]:
    cases = _shared(_cases(rows))
    found = judged_ranks(cases)
    yield (
        f"Mean ranks over the data sets, 1 for the best of {len(found.names)} methods "
        "that all of them have. In the diagram, methods that a bar connects are not "
        f"told apart by Nemenyi's test (5 %, {len(found.table)} data sets, critical "
        f"difference {found.critical_difference:.1f}; Friedman's test: p = "
        f"{found.p_value:.1g})."
    )
    kinds = dict.fromkeys(case[1:] for case in cases)
    yield by_method(
        {
            ", ".join(kind): judged_ranks(
                {case: errors for case, errors in cases.items() if case[1:] == kind}
            ).by_name
            for kind in kinds
        }
    )
    yield (
        f"Cases in which an average is behind the best of {', '.join(_RIVALS)} around "
        "the same model, or auto is behind any method, by more than one standard "
        "error, "
        + loss_table(
            _cases(rows), {name: partial(_is_rival, name) for name in _COMPARED}
        )
    )


EXPERIMENT = Reasons()
