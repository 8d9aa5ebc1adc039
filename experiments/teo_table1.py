"""Table 1 of Teo et al. 2008: hinge, FDROP and FSCALE on messages that change."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, ClassVar

import numpy as np
from sklearn.feature_extraction.text import CountVectorizer
from sklearn.metrics import accuracy_score, roc_auc_score
from sklearn.preprocessing import Normalizer

from experiments.data import Dated, Rows
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
from experiments.tuning import fitted
from noiseproof import InvariantSVC
from noiseproof.attacks import FeatureDeletion, FeatureScaling

Labelled = tuple[Any, Any]

_LARGER = "the larger class"
_COUNTS = ", word counts"  # else indicators of words, in rows of length 1
_PRINTED = {  # on mail that is not to be had
    "accuracy": {"Hinge": 74.75, "FDROP": 81.73, "FSCALE": 83.71},
    "AUC": {"Hinge": 83.63, "FDROP": 87.79, "FSCALE": 89.14},
}


@dataclass(frozen=True)
class Messages(Settings):
    """Data sets, and grids; messages have many words, rows of Spambase few."""

    data: tuple[str, ...] = ("AthR-dated", "XGraph-dated", "BbCrypt-dated", "spambase")
    alphas: tuple[float, ...] = (1e-4, 1e-3, 1e-2, 1e-1)
    count_alphas: tuple[float, ...] = (5e-3, 5e-2, 5e-1)
    word_budgets: tuple[int, ...] = (5, 10, 20)
    spam_budgets: tuple[int, ...] = (1, 3, 6)
    ranges: tuple[tuple[float, float], ...] = ((0.5, 1.5), (0.5, 2.0), (0.5, 8.0))
    words_deleted: int = 10
    spam_deleted: int = 3


class TeoTable1(Experiment[Messages]):
    """Messages are written later than those seen, or lose words to an adversary."""

    name = "teo-table1"
    title = "hinge, FDROP and FSCALE on messages that change"
    paper = "Teo, Globerson, Roweis and Smola 2008, table 1"
    protocol = (
        "The paper's mail (ECML 2006) is not to be had; its numbers are given with the "
        "claims. Here newsgroup messages are classified that were written later than "
        "those seen in training (later), and messages and spam from which an adversary "
        "who knows the model and the answer deletes up to `words_deleted` words or "
        "`spam_deleted` features (attacked). Constants are those with the best "
        "accuracy on the last quarter of the early messages, or on a quarter of "
        "Spambase, which suffers what the test rows will. FDROP and FSCALE are "
        "`InvariantSVC` with `FeatureDeletion` and `FeatureScaling` as its attack; "
        "the larger class is the answer to everything that needs no features. Messages "
        "are indicators of their words, scaled to length 1, and once more, as the "
        "paper's mail, plain counts of words, for Hinge and FDROP, with α from "
        "`count_alphas`."
    )
    tried = (
        "Whether FDROP helps on later messages is a matter of features. With plain "
        "counts a few frequent words weigh much in a message, FDROP spreads the "
        "weights, and it beats the hinge as in the paper; indicators scaled to length "
        "1 have done that already, and FDROP only takes from them. A user should want "
        "scaled indicators and, if messages will change, FSCALE. More α for the hinge "
        "made it stronger on later messages. That a model beats the larger class when "
        "attacked is not a claim of the paper's: on Spambase three deletions turn most "
        "spam into mail, for every model tried."
    )
    sizes: ClassVar = {
        "tiny": Messages(
            data=("AthR-dated", "spambase"),
            alphas=(1e-2,),
            count_alphas=(0.5,),
            word_budgets=(1,),
            spam_budgets=(1,),
            ranges=((0.5, 1.5),),
            words_deleted=2,
        ),
        "quick": Messages(ranges=((0.5, 1.5), (0.5, 2.0))),
        "full": Messages(),
    }
    layout = Layout("accuracy", x="data", curve="loss", panel="test", digits=2)

    def parts(self, settings: Messages, data: Mapping[str, Any]) -> Iterator[Part]:
        for kind in ("", _COUNTS):
            for name, source in data.items():
                if kind == _COUNTS and not isinstance(source, Dated):
                    continue
                for loss in (_LARGER, *grids(source, settings, kind)):
                    shared = {"data": name.removesuffix("-dated"), "loss": loss}
                    work = partial(judged, shared, source, settings, kind)
                    yield Part(f"{name}{kind} {loss}", work)

    def claims(self, rows: Sequence[Row]) -> list[Claim]:
        found = [
            _beats(rows, "attacked", "accuracy", "FDROP", "Hinge"),
            _beats(rows, "attacked", "accuracy", "FSCALE", "Hinge"),
            _beats(rows, "attacked", "accuracy", "FDROP", _LARGER),
            _beats(rows, "attacked", "accuracy", "FSCALE", _LARGER),
        ]
        found += [
            _beats(rows, "later", value, ours, theirs)
            for value in _PRINTED
            for ours, theirs in (
                ("FDROP", "Hinge"),
                ("FSCALE", "Hinge"),
                ("FSCALE", "FDROP"),
            )
        ]
        return found + [
            _beats(rows, f"later{_COUNTS}", value, "FDROP", "Hinge")
            for value in _PRINTED
        ]


def judged(shared: Row, source: Any, settings: Messages, kind: str) -> Iterator[Row]:
    """One loss under all that may happen to the messages."""
    train, validation, test = split(source, settings.seed, kind)
    happens = changes(source, settings)
    if shared["loss"] == _LARGER:
        for change in happens:
            yield {"test": change + kind, **shared, **larger_class(train, test)}
        return
    grid = grids(source, settings, kind)[shared["loss"]]
    models = fitted(InvariantSVC(solver="bundle", tol=0.01), grid, *train)
    for change, attack in happens.items():
        scores = {
            constants: measure(model, *validation, attack)["accuracy"]
            for constants, model in models.items()
        }
        best = max(scores, key=scores.__getitem__)
        yield {
            "test": change + kind,
            **shared,
            **measure(models[best], *test, attack),
            "validation_accuracy": scores[best],
            "constants": best,
        }


def _beats(
    rows: Sequence[Row], change: str, value: str, ours: str, theirs: str
) -> Claim:
    """The claim that one loss is better than another on all data sets."""
    own = select(rows, test=change)
    pairs = {
        name: tuple(mean(own, value, data=name, loss=loss) for loss in (ours, theirs))
        for name in distinct(own, "data")
    }
    numbers = [f"{a:.2f} against {b:.2f} on {name}" for name, (a, b) in pairs.items()]
    if change.startswith("later"):
        a, b = _PRINTED[value][ours], _PRINTED[value][theirs]
        numbers.append(f"the paper has {a} against {b} on its mail")
    change, comma, how = change.partition(", ")
    return Claim(
        f"{ours} has higher {value} than {theirs} on all {change} messages{comma}{how}",
        all(a > b for a, b in pairs.values()),
        ", ".join(numbers),
    )


def grids(source: Any, settings: Messages, kind: str) -> dict[str, dict[str, Any]]:
    """The grid of each loss."""
    words = isinstance(source, Dated)
    budgets = settings.word_budgets if words else settings.spam_budgets
    attacks = {
        "Hinge": [None],
        "FDROP": [FeatureDeletion(k) for k in budgets],
        "FSCALE": [FeatureScaling(k, *r) for k in budgets for r in settings.ranges],
    }
    alphas = settings.count_alphas if kind == _COUNTS else settings.alphas
    if kind == _COUNTS:
        del attacks["FSCALE"]  # slow on counts, and in no doubt
    return {loss: {"attack": some, "alpha": alphas} for loss, some in attacks.items()}


def changes(source: Any, settings: Messages) -> dict[str, FeatureDeletion]:
    """What happens to test rows."""
    if isinstance(source, Dated):
        attack = FeatureDeletion(settings.words_deleted)
        return {"later": FeatureDeletion(0), "attacked": attack}
    return {"attacked": FeatureDeletion(settings.spam_deleted)}


def measure(model: Any, X: Any, y: Any, attack: FeatureDeletion) -> dict[str, float]:
    """Accuracy and AUC after the attack, in %."""
    scores = model.decision_function(attack.worst(X, y, model.coef_))
    return {
        "accuracy": 100 * float(accuracy_score(y > 0, scores > 0)),
        "AUC": 100 * float(roc_auc_score(y, scores)),
    }


def larger_class(train: Labelled, test: Labelled) -> dict[str, Any]:
    """What no attack can spoil: the answer that is right most often in training."""
    answer = 1 if np.mean(train[1]) > 0 else -1
    accuracy = 100 * float(np.mean(test[1] == answer))
    return {"accuracy": accuracy, "AUC": 50.0}


def split(source: Dated | Rows, seed: int, kind: str) -> list[Labelled]:
    """Rows to train on, to tune with and to test on, with labels in ±1."""
    if isinstance(source, Dated):
        return by_date(source, kind)
    n = len(source.y)
    order = np.random.default_rng(seed).permutation(n)
    chosen = np.split(order, [n // 2, 3 * n // 4])
    return [(source.X[part], source.y[part]) for part in chosen]


def by_date(source: Dated, kind: str) -> list[Labelled]:
    """Early messages, the next, and later ones; words are those of the first."""
    texts, y, early, number = source
    cut = [np.quantile(number[early & (y == group)], 0.75) for group in (0, 1)]
    first = early & (number <= np.take(cut, y))
    words = CountVectorizer(binary=kind != _COUNTS, min_df=2, dtype=np.float64)
    words.fit([texts[i] for i in np.flatnonzero(first)])
    X = words.transform(texts)
    if kind != _COUNTS:
        X = Normalizer().fit_transform(X)
    return [(X[part], 2 * y[part] - 1) for part in (first, early & ~first, ~early)]


EXPERIMENT = TeoTable1()
