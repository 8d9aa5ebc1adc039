"""Beyond the papers: columns vanish after training, on a public benchmark's tables."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, ClassVar

import numpy as np
from scipy.stats import ttest_rel
from sklearn.base import clone

from experiments.cases import (
    Case,
    Cases,
    by_method,
    errors_of,
    judged_ranks,
    loss_table,
    score,
    told,
)
from experiments.experiment import Claim, Experiment, Layout, Part, Row, Settings
from experiments.filling import fillings
from experiments.learners import (
    BOOSTING,
    FOREST,
    KERNEL,
    LINEAR,
    RIVALS,
    answers,
    boosting,
    forest,
    kernel_machine,
    linear,
    rivals,
    scores,
    with_copies,
)
from experiments.ranks import Ranks
from experiments.tables import QUANTITIES, TARGETS, Table, divided, without
from noiseproof import AverageOverMissing, recommend
from noiseproof._rows import contain
from noiseproof.evaluation import MissingColumns
from noiseproof.evaluation.relevance import relevance

MOST, LEAST, RANDOM = "most relevant first", "least relevant first", "random order"
SINGLE = "one column"
AVERAGED, RETRAINED, AUTO = "averaged", "retrained", "auto"
OWN, COPIES, MEAN = "own NaN", "NaN copies", "mean fill"
_COMPARED = (
    *(f"{model}, {AVERAGED}" for model in (LINEAR, BOOSTING, FOREST, KERNEL)),
    AUTO,
)
_ALL_FILLS = (LINEAR, BOOSTING)  # the others are shown mean fill only
_AUTO_SHARE = 0.4  # of the columns, for which auto is chosen
_NEAR, _MOST_CASES, _FAR = 0.03, 0.8, 0.6  # what a claim asks for
_LEVEL = 0.05  # of significance
_SHOWN = (MEAN, "KNNImputer", OWN, AVERAGED)  # around boosting, in the plot


@dataclass(frozen=True)
class Sizes(Settings):
    """Rows, splits, columns that vanish, and how large the models are."""

    data: tuple[str, ...] = tuple(f"{name}-table" for name in TARGETS)
    splits: int = 3  # more need no other part to be run again
    n_train: int = 10_000
    n_test: int = 1_000
    n_kernel: int = 2_000
    shares: tuple[float, ...] = (0.2, 0.4, 0.6, 0.8)
    singles: int = 3
    n_trees: int = 100
    copies: int = 4
    imputations: int = 5
    folds: int = 5
    repeats: int | None = None
    rivals: tuple[str, ...] = RIVALS


class Vanishing(Experiment[Sizes]):
    """What to do when whole columns are gone after training."""

    name = "vanishing"
    title = "columns vanish: how close to a model retrained without them"
    protocol = (
        "The nine tables are those of TabFSBench (Cheng et al., ICML 2025) that are "
        "freely available as files: abalone, bike, concrete and laptop (root mean "
        "squared error) and credit, electricity, eyemovements, heart and iris "
        "(accuracy). Text columns stay text; words in fewer than three rows become one "
        "category, and bike's time stamp is split into year, month, day of the week "
        "and hour. One fifth of the rows, and at most `n_test` of them, are test rows; "
        "at most `n_train` of the others are for training. All models are trained once "
        "on complete rows. Then columns vanish from all test rows: a given share of "
        "the columns, the most relevant first, the least relevant first, or in random "
        "order; or a single column, as the mean over `singles` columns drawn at "
        "random. Relevance is the mutual information with the target on the training "
        "rows. No method is told beforehand which columns will vanish, or how many, "
        "except for *retrained*: the same model, trained without these columns. "
        "Boosting is `HistGradientBoosting` with scikit-learn's defaults, and the "
        "forest has as many trees. Linear is logistic or ridge regression, and the "
        "kernel machine is `SVC` or `SVR` on the first `n_kernel` training rows. "
        "Averaged is `AverageOverMissing` around the model. Imputers complete the test "
        "rows for the model that was trained on complete rows: with the mean of a "
        "number and the most frequent word; with `KNNImputer` on scaled numbers and "
        "one-hot encoded words; with `IterativeImputer` (five rounds, at most 30 "
        "regressors) on scaled numbers and ordinal codes of words, rounded; and with "
        "miceforest (five rounds; the predictions are averaged over the imputations). "
        "Own NaN: the model gets the rows with NaN. NaN copies: the model is trained "
        "on the training rows and on copies of them, each row of which misses values "
        "at a rate of its own, uniform between 0 and 0.9; the linear model gets "
        "indicators of missing numbers as well. (For models trained on complete rows "
        "indicators would be constant.) LightGBM and XGBoost have as many trees as "
        "boosting, and CatBoost three times as many; it encodes columns of at most ten "
        "different words as one-hot, and all other parameters are defaults. Auto is "
        "the model that `recommend` picks for 40 % of the columns missing in random "
        "order. On tables of few columns it may contain `ReducedModels`, which fits a "
        "model when a set of missing columns is first met. The MissForest on PyPI does "
        "not take part, because it refuses training rows without missing values. "
        "Within one standard error: the mean of the paired differences over the splits "
        "is at most its standard error."
    )
    sizes: ClassVar = {
        "tiny": Sizes(
            data=("abalone-table", "heart-table"),
            splits=2,
            n_kernel=60,
            shares=(0.4,),
            singles=1,
            n_trees=3,
            copies=1,
            imputations=0,
            folds=2,
            repeats=1,
            rivals=(),
        ),
        "quick": Sizes(
            data=("concrete-table", "heart-table", "iris-table"),
            splits=2,
            singles=1,
            imputations=1,
            folds=3,
        ),
        "full": Sizes(),
    }
    summary = (
        "Error (root mean squared error, or share of wrong classes) divided by that "
        "of boosting retrained without the columns. Both are summed over the three "
        "orders; means over the tables, ± their standard error. The plot shows the "
        "same. Each table follows, with accuracy or root mean squared error."
    )
    grows_by = ("data", "splits")
    layout = Layout(value="score", panel="table", x="method", curve="case")

    def parts(self, settings: Sizes, data: Mapping[str, Any]) -> Iterator[Part]:
        """All methods and patterns, split by split."""
        for split in range(settings.splits):
            for name in settings.data:
                work = partial(judged, name, data[name], split, settings)
                yield Part(f"{name} {split}", work)

    def claims(self, rows: Sequence[Row]) -> list[Claim]:
        """How near averages and auto come to retraining, and how they rank."""
        cases = _cases(rows)
        return [
            _near(cases),
            *_first(cases),
            _not_worse(cases),
            *_near_on(cases, "electricity"),
        ]

    def drawn(self, rows: Sequence[Row]) -> tuple[Sequence[Row], Layout]:
        """Errors divided by those of boosting that was retrained."""
        names = {f"{BOOSTING}, {method}": method for method in _SHOWN} | {AUTO: AUTO}
        value, x = "error relative to retraining", "share of columns gone"
        found = [
            {x: share, "method": label, value: ratios[key]}
            for share, own in _by_share(_cases(rows)).items()
            for ratios in relative(own)
            for key, label in names.items()
            if share
        ]
        return found, Layout(value, x, "method")

    def ranks(self, rows: Sequence[Row]) -> Ranks:
        """Mean ranks of all methods but those that are retrained, by table."""
        return judged_ranks(_cases(rows), RETRAINED)

    def notes(self, rows: Sequence[Row]) -> str:
        """Mean ranks, gaps to retraining, and all cases in which averaging loses."""
        return "\n\n".join(_notes(rows))


def judged(name: str, table: Table, split: int, settings: Sizes) -> Iterator[Row]:
    """All methods in all cases of one split."""
    seed = settings.seed + split
    train, test = divided(table, settings.n_train, settings.n_test, seed)
    contenders = Contenders(train, settings, seed)
    measure = "accuracy" if table.n_classes else "RMSE"
    label = name.removesuffix("-table")
    for (order, share), patterns in vanished(train, settings, seed).items():
        found: dict[str, list[tuple[float, float | None]]] = {}
        for columns in patterns:
            for method, answer in contenders.asked(test.X, columns):
                found.setdefault(method, []).append(scores(answer, test.y))
        for method, pairs in found.items():
            values, loss = zip(*pairs, strict=True)
            yield {
                "data": label,
                "split": split,
                "order": order,
                "share": share,
                "method": method,
                "score": round(float(np.mean(values)), 5),
                "log_loss": round(float(np.mean(loss)), 5) if table.n_classes else None,
                "measure": measure,
                "table": f"{label}, {measure}",
                "case": f"{order}, {100 * share:g} %" if share else order,
            }


def vanished(
    train: Table, settings: Sizes, seed: int
) -> dict[tuple[str, float], list[tuple[str, ...]]]:
    """Patterns of columns that vanish, by order and share."""
    names, rng = np.array(train.X.columns), np.random.default_rng([seed, 1])
    told = relevance(contain(train.X, "nan"), train.y)
    orders = {
        MOST: np.argsort(-told, kind="stable"),
        LEAST: np.argsort(told, kind="stable"),
        RANDOM: rng.permutation(len(names)),
    }
    found = {
        (order, share): [tuple(names[places[: int(share * len(names) + 0.5)]])]
        for order, places in orders.items()
        for share in settings.shares
    }
    alone = rng.permutation(names)[: settings.singles]
    return {**found, (SINGLE, 0.0): [(name,) for name in alone]}


class Contenders:
    """All that is fitted before columns vanish, and what is retrained after it."""

    def __init__(self, train: Table, settings: Sizes, seed: int):
        self.train, self.settings = train, settings
        self.unfitted = {
            LINEAR: linear(train),
            BOOSTING: boosting(train, settings.n_trees),
            FOREST: forest(train, settings.n_trees),
            KERNEL: kernel_machine(train),
        }
        self.models = {
            name: clone(model).fit(*self._rows(name))
            for name, model in self.unfitted.items()
        }
        self.fillings = {
            name: filling.fit(train.X)
            for name, filling in fillings(settings.imputations).items()
        }
        X, y = with_copies(train, settings.copies, np.random.default_rng([seed, 2]))
        self.takes_nan = {
            **{
                f"{name}, {AVERAGED}": AverageOverMissing(model, random_state=0).fit(
                    *self._rows(name)
                )
                for name, model in self.unfitted.items()
            },
            **{f"{name}, {OWN}": self.models[name] for name in (BOOSTING, FOREST)},
            f"{BOOSTING}, {COPIES}": clone(self.unfitted[BOOSTING]).fit(X, y),
            f"{LINEAR}, {COPIES}": linear(train, indicators=True).fit(X, y),
            **{
                f"{name}, {OWN}": model.fit(*train)
                for name, model in rivals(
                    train, settings.rivals, settings.n_trees
                ).items()
            },
            AUTO: recommend(
                *train, MissingColumns(order="random"), _AUTO_SHARE,
                task=train.task, cv=settings.folds, n_repeats=settings.repeats,
                random_state=seed, progress=False,
            ).model,
        }  # fmt: skip
        self.retrained: dict[Any, Any] = {}

    def _rows(self, name: str) -> tuple[Any, Any]:
        n = self.settings.n_kernel if name == KERNEL else None
        return self.train.X[:n], self.train.y[:n]

    def asked(self, X: Any, columns: tuple[str, ...]) -> Iterator[tuple[str, Any]]:
        """What everyone says about rows without these columns."""
        k = self.train.n_classes
        holed, left = without(X, columns), X.drop(columns=list(columns))
        whole = {way: f.filled(holed) for way, f in self.fillings.items()}
        for name, model in self.models.items():
            for way in whole if name in _ALL_FILLS else (MEAN,):
                each = [answers(model, table, k) for table in whole[way]]
                yield f"{name}, {way}", np.mean(each, axis=0)
        for name, model in self.takes_nan.items():
            yield name, answers(model, holed, k)
        for name in self.unfitted:
            yield f"{name}, {RETRAINED}", answers(self._without(name, columns), left, k)

    def _without(self, name: str, columns: tuple[str, ...]) -> Any:
        """The model that was never shown these columns."""
        key = name, frozenset(columns)
        if key not in self.retrained:
            X, y = self._rows(name)
            model = clone(self.unfitted[name])
            self.retrained[key] = model.fit(X.drop(columns=list(columns)), y)
        return self.retrained[key]


def _cases(rows: Sequence[Row], measure: str = "score") -> Cases:
    return errors_of(rows, ("data", "order", "share"), measure)


def _against(case: Case, ours: Any, theirs: Any) -> str:
    return f"{told(case)}: {score(case, ours):.3f} against {score(case, theirs):.3f}"


def _near(cases: Cases) -> Claim:
    """The claim that averaged boosting is almost as good as retrained boosting."""
    far, n = [], 0
    for case, errors in cases.items():
        if 0 < case[2] <= _FAR:
            pair = [errors[f"{BOOSTING}, {method}"] for method in (AVERAGED, RETRAINED)]
            ours, theirs = (score(case, each) for each in pair)
            n += 1
            near = (
                ours <= (1 + _NEAR) * theirs
                if case[0] in QUANTITIES
                else ours >= (1 - _NEAR) * theirs
            )
            if not near:
                far.append(_against(case, *pair))
    return Claim(
        f"averaged boosting is within {100 * _NEAR:g} % of boosting retrained without "
        f"the columns (accuracy or RMSE) in at least {100 * _MOST_CASES:g} % of the "
        f"cases with up to {100 * _FAR:g} % of the columns gone",
        n - len(far) >= _MOST_CASES * n,
        "; ".join([f"{n - len(far)} of {n}", *(f"not near: {one}" for one in far)]),
    )


def _by_share(cases: Cases) -> dict[float, Cases]:
    """Cases of each share of columns gone; 0 stands for one column."""
    return {
        share: {case: errors for case, errors in cases.items() if case[2] == share}
        for share in sorted({case[2] for case in cases})
    }


def _first(cases: Cases) -> Iterator[Claim]:
    """The claims that auto has the best mean rank at each level."""
    for share, own in _by_share(cases).items():
        found = judged_ranks(own, RETRAINED)
        names, order = list(found.names), np.argsort(found.means, kind="stable")[:3]
        shown = dict.fromkeys([*(names[i] for i in order), AUTO])
        numbers = [f"{name} {found.means[names.index(name)]:.1f}" for name in shown]
        where = f"with {100 * share:g} % of the columns gone" if share else SINGLE
        text = f"{where}: auto has the best mean rank of {len(names)} methods"
        yield Claim(text, found.first == AUTO, ", ".join(numbers))


def _not_worse(cases: Cases) -> Claim:
    """The claim that auto never loses to mean fill by more than chance explains."""
    worse = []
    for case, errors in cases.items():
        pair = errors[AUTO], errors[f"{BOOSTING}, {MEAN}"]
        behind = pair[0] - pair[1]
        if behind.mean() > 0 and (
            np.ptp(behind) == 0 or ttest_rel(*pair).pvalue < _LEVEL
        ):
            worse.append(_against(case, *pair))
    return Claim(
        f"auto is never significantly worse than boosting behind {MEAN} (paired "
        f"t-test over the splits, {100 * _LEVEL:g} %)",
        not worse,
        "; ".join([f"worse in {len(worse)} of {len(cases)} cases", *worse]),
    )


def _near_on(cases: Cases, data: str) -> Iterator[Claim]:
    """The claim that auto comes near retrained boosting on one table of classes."""
    gaps = {
        case: errors[AUTO].mean() - errors[f"{BOOSTING}, {RETRAINED}"].mean()
        for case, errors in cases.items()
        if case[0] == data
    }
    if gaps:
        far = [
            f"{told(case)}: {gap:.3f} behind"
            for case, gap in gaps.items()
            if gap > _NEAR
        ]
        text = f"{data}: auto is at most {_NEAR} behind boosting retrained in each case"
        good = f"{len(gaps) - len(far)} of {len(gaps)}"
        yield Claim(text, not far, "; ".join([good, *far]))


def _notes(rows: Sequence[Row]) -> Iterator[str]:
    cases = _cases(rows)
    found = judged_ranks(cases, RETRAINED)
    yield (
        f"Mean ranks over the tables, 1 for the best of {len(found.names)} methods. In "
        "the diagram, methods that a bar connects are not told apart by Nemenyi's test "
        f"(5 %, {len(found.table)} tables, critical difference "
        f"{found.critical_difference:.1f}; Friedman's test: p = {found.p_value:.1g})."
    )
    yield _by_level(cases, lambda own: judged_ranks(own, RETRAINED).by_name)
    by_loss = _cases(rows, "log_loss")
    if by_loss:
        yield "Mean ranks by log-loss, over the tables with classes."
        yield _by_level(by_loss, lambda own: judged_ranks(own, RETRAINED).by_name)
    yield (
        "Gap to retraining: error divided by that of the same model retrained (for "
        "auto and other packages, of boosting retrained). Errors are summed over the "
        "orders, and the ratios averaged over the tables."
    )
    yield _by_level(cases, _gaps)
    yield (
        "Cases in which averaging is behind another way to ask the same model, or auto "
        "is behind any method, by more than one standard error, "
        + loss_table(cases, {name: partial(_is_rival, name) for name in _COMPARED})
    )


def _by_level(cases: Cases, measured: Callable[[Cases], Mapping[str, float]]) -> str:
    """A number for each method, by share of columns gone."""
    return by_method(
        {
            f"{100 * share:g} %" if share else SINGLE: measured(own)
            for share, own in _by_share(cases).items()
        }
    )


def _gaps(cases: Cases) -> dict[str, float]:
    """Mean of `relative` over the tables, without the models retrained."""
    found = relative(cases)
    return {
        method: float(np.mean([ratios[method] for ratios in found]))
        for method in found[0]
        if not method.endswith(RETRAINED)
    }


def relative(cases: Cases) -> list[dict[str, float]]:
    """Errors by those of the same model retrained, for each table.

    Both are summed over its cases. A table without any error is left out.
    """
    sums: dict[str, dict[str, float]] = {}
    for case, errors in cases.items():
        own = sums.setdefault(case[0], dict.fromkeys(errors, 0.0))
        for method, values in errors.items():
            own[method] += float(values.mean())
    found = []
    for own in sums.values():
        boosted = own[f"{BOOSTING}, {RETRAINED}"]
        wholes = {
            method: own.get(f"{method.split(', ')[0]}, {RETRAINED}", boosted)
            for method in own
        }
        if all(wholes.values()):
            found.append({method: own[method] / wholes[method] for method in own})
    return found


def _is_rival(ours: str, method: str) -> bool:
    """Whether the table of losses compares the two."""
    model = "" if ours == AUTO else ours.removesuffix(AVERAGED)
    return method.startswith(model) and not method.endswith(RETRAINED)


EXPERIMENT = Vanishing()
