"""One network for all parts of a `PartitionEnsemble`, trained for what it can prove.

    NOISEPROOF_DATA=... python benchmarks/partition_network.py            # both
    NOISEPROOF_DATA=... python benchmarks/partition_network.py mnist
    NOISEPROOF_DATA=... python benchmarks/partition_network.py ames
    NOISEPROOF_DATA=... python benchmarks/partition_network.py held-out   # of MNIST

Each part is a small network with two hidden layers that reads the features of the part
and nothing else, so the proofs of `PartitionEnsemble` hold. All parts are trained at
the same time by batched matrix products: first each by itself, then all together. A
prediction can be proven if many parts are on the right side, whichever these are, so
the second loss looks at shares of parts: of classes, how many parts prefer the true one
to its strongest rival; of prices, how many are too high, and how many too low.

mnist: all 60,000 training rows, pixels dealt in strides; judged by the 10,000 test
rows. held-out: the same, judged by 10,000 training rows that were left out; what is in
`MNIST` below was chosen so, on fewer rows. ames: right means within 15 % of the price;
judged by cross-validation in five parts, of which the first one was looked at to choose
what is in `AMES`. A feature is a column of the table, words included, or else a number
or a word: then each word of a column is a feature by itself, as where one-hot columns
are counted.
"Changed" is the median, over test rows, of how many features can be changed to whatever
values while the prediction provably stays right; a row that is wrong counts as 0.

Training runs on a GPU if torch has one.
"""

from __future__ import annotations

import lzma
import sys
import time
from dataclasses import dataclass
from itertools import pairwise
from typing import Any, Self

import numpy as np
import pandas as pd
import torch
from common import folder, mnist
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, ClassifierMixin, RegressorMixin, clone
from sklearn.model_selection import KFold
from torch import Tensor
from torch.nn import functional

from noiseproof import PartitionEnsemble
from noiseproof.evaluation import certify

Array = NDArray[np.float64]
DEVICE = "cuda" if torch.cuda.is_available() else "cpu"
TOLERANCE = 0.15
HELD_OUT = 10_000  # training rows of MNIST
BINS = 8  # of a number that describes a house


@dataclass(frozen=True)
class Plan:
    """How a network is trained."""

    width: int  # of both hidden layers
    alone: int  # passes over the rows in which each part learns by itself
    together: int  # and then for the vote
    goal: float  # the share of parts by which to lead, or that may be outside
    softness: float  # of preferences, in units of the answers
    sharpness: float = 10.0  # of the loss around the goal
    batch: int = 256
    rate: float = 3e-3  # of learning, at its highest


MNIST = 90, Plan(64, 6, 14, goal=0.45, softness=1.0)
AMES = {
    "columns": (25, Plan(32, 5, 30, goal=0.22, softness=0.06)),
    "numbers and words": (75, Plan(32, 5, 30, goal=0.4, softness=0.06)),
}


class Network:
    """A network with two hidden layers for each part, all in one.

    Its weights have a leading axis for the parts. A part with fewer features than
    others reads zeros in their place.
    """

    def __init__(self, columns: list[Any], plan: Plan, n_outputs: int):
        torch.manual_seed(0)
        d = max(map(len, columns))
        place, read = np.zeros((len(columns), d), int), np.zeros((len(columns), 1, d))
        for p, own in enumerate(columns):
            place[p, : len(own)], read[p, 0, : len(own)] = own, 1
        self.columns, self.plan = columns, plan
        self.place = torch.tensor(place, device=DEVICE)
        self.read = torch.tensor(read, dtype=torch.float32, device=DEVICE)
        self.weights: list[Tensor] = []
        sizes = [d, plan.width, plan.width, n_outputs]
        for a, b in pairwise(sizes):
            size = (2 / a) ** 0.5
            self.weights.append(torch.randn(len(columns), a, b, device=DEVICE) * size)
            self.weights.append(torch.zeros(len(columns), 1, b, device=DEVICE))
        for weight in self.weights:
            weight.requires_grad_()

    def answers(self, X: Tensor) -> Tensor:
        """What all parts say, of shape (n_parts, n_rows, n_outputs)."""
        found = X[:, self.place].permute(1, 0, 2) * self.read
        *hidden, weight, intercept = self.weights
        for one, other in zip(hidden[::2], hidden[1::2], strict=True):
            found = torch.relu(torch.baddbmm(other, found, one))
        return torch.baddbmm(intercept, found, weight)

    def fit(self, X: Any, y: Any, losses: Any) -> None:
        """Minimise one loss after the other, by random batches."""
        rows = torch.tensor(X, dtype=torch.float32, device=DEVICE)
        targets = torch.tensor(y, device=DEVICE)
        plan, steps = self.plan, len(y) // self.plan.batch
        for passes, loss in zip((plan.alone, plan.together), losses, strict=True):
            way = torch.optim.AdamW(self.weights, plan.rate)
            pace = torch.optim.lr_scheduler.OneCycleLR(
                way, plan.rate, total_steps=passes * steps, pct_start=0.1
            )
            for _ in range(passes):
                order = torch.randperm(len(y), device=DEVICE)[: steps * plan.batch]
                for batch in order.reshape(steps, plan.batch):
                    value = loss(self.answers(rows[batch]), targets[batch], plan)
                    way.zero_grad()
                    value.backward()
                    way.step()
                    pace.step()

    def part(self, p: int) -> list[Array]:
        """Weights of one part."""
        own = (w[p].detach().cpu().numpy().astype(float) for w in self.weights)
        first, *others = own
        return [first[: len(self.columns[p])], *others]


def each_class(answers: Tensor, y: Tensor, plan: Plan) -> Tensor:
    """Cross-entropy of each part by itself."""
    n_parts, _, k = answers.shape
    return functional.cross_entropy(answers.reshape(-1, k), y.repeat(n_parts))


def lead(answers: Tensor, y: Tensor, plan: Plan) -> Tensor:
    """How far the lead over the strongest rival, a share of the parts, is too small."""
    own = answers.gather(2, y[None, :, None].expand(len(answers), -1, 1))
    ahead = torch.tanh((own - answers) / plan.softness).mean(dim=0)
    ahead = ahead + 2 * functional.one_hot(y, answers.shape[2])  # itself is no rival
    least = -torch.logsumexp(-20 * ahead, dim=1) / 20
    return functional.softplus(plan.sharpness * (plan.goal - least)).mean()


def each_number(answers: Tensor, y: Tensor, plan: Plan) -> Tensor:
    """Huber's loss of each part by itself."""
    off = answers[:, :, 0] - y
    return functional.smooth_l1_loss(off, torch.zeros_like(off), beta=0.1)


def outside(answers: Tensor, y: Tensor, plan: Plan) -> Tensor:
    """How far the shares of parts that are too high, or too low, are too large."""
    off = answers[:, :, 0] - y  # of logarithms
    high = torch.sigmoid((off - np.log1p(TOLERANCE)) / plan.softness).mean(dim=0)
    low = torch.sigmoid((np.log1p(-TOLERANCE) - off) / plan.softness).mean(dim=0)
    over = plan.sharpness * (torch.stack([high, low]) - plan.goal)
    return functional.softplus(over).sum(dim=0).mean()


class Part(BaseEstimator):
    """What one part of a network says; made by `Together`."""

    def __init__(self, plan: Any = None):
        self.plan = plan

    def fit(self, X: Any, y: Any) -> Self:
        """Refuse: a part does not learn by itself."""
        raise TypeError("Parts are fitted together, by Together.")

    def _outputs(self, X: Any) -> Array:
        found, (*hidden, weight, intercept) = np.asarray(X, float), self.weights_
        for one, other in zip(hidden[::2], hidden[1::2], strict=True):
            found = np.maximum(found @ one + other, 0)
        return np.asarray(found @ weight + intercept)


class ClassPart(ClassifierMixin, Part):
    """A part that votes on classes."""

    def predict_proba(self, X: Any) -> Array:
        """Probabilities of the classes."""
        found = self._outputs(X)
        odds = np.exp(found - found.max(axis=1, keepdims=True))
        return np.asarray(odds / odds.sum(axis=1, keepdims=True))

    def predict(self, X: Any) -> Any:
        """The likeliest class."""
        return self.classes_[self._outputs(X).argmax(axis=1)]


class PricePart(RegressorMixin, Part):
    """A part that answers with a positive number, whose logarithm it has learnt."""

    def predict(self, X: Any) -> Array:
        """The numbers."""
        return np.asarray(np.exp(self._outputs(X)[:, 0] + self.middle_))


class Together(PartitionEnsemble):
    """A `PartitionEnsemble` whose parts are fitted as one network."""

    def _fit_parts(self, base: Any, X: Any, y: Any, weights: Any) -> list[Any]:
        learnt: dict[str, Any]
        if isinstance(base, ClassPart):
            learnt, losses = {"classes_": self.classes_}, (each_class, lead)
            targets, size = np.searchsorted(self.classes_, y), len(self.classes_)
        else:
            learnt, losses = {"middle_": np.log(y).mean()}, (each_number, outside)
            targets, size = (np.log(y) - learnt["middle_"]).astype(np.float32), 1
        network = Network(self.parts_, base.plan, size)
        network.fit(X, targets, losses)
        models = [clone(base) for _ in self.parts_]
        for p, model in enumerate(models):
            vars(model).update(learnt, weights_=network.part(p))
        return models


def images(held_out: bool = False) -> None:
    """MNIST: pixels that may be changed, by each way to vote."""
    X, y, Z, z = mnist()
    if held_out:
        rows = np.random.default_rng(0).permutation(len(y))
        kept, rest = rows[:HELD_OUT], rows[HELD_OUT:]
        X, y, Z, z = X[rest], y[rest], X[kept], y[kept]
    n_parts, plan = MNIST
    start = time.perf_counter()
    model = Together(ClassPart(plan), n_parts, partition="strides").fit(X, y)
    took = time.perf_counter() - start
    name = f"MNIST{', held out' * held_out}, {len(y):,} rows"
    for vote in ("majority", "pairwise", "run-off"):
        found = certify(model.set_params(vote=vote), Z, z)
        show(f"{name}, {n_parts} parts, {vote}", found.correct, found.budget, took)


def houses() -> None:
    """Ames: columns, or numbers and words, that may be changed; by cross-validation."""
    with lzma.open(folder() / "ames.csv.xz", "rt", encoding="utf-8") as file:
        frame = pd.read_csv(file, keep_default_na=False)  # "None" is a word
    y = frame.pop("Sale_Price").to_numpy(dtype=float)
    for unit, (n_parts, plan) in AMES.items():
        start = time.perf_counter()
        right, budgets = np.zeros(len(y), bool), np.zeros(len(y))
        for train, test in KFold(5, shuffle=True, random_state=0).split(y):
            X, column = encoded(frame, train)
            labels = column
            if unit != "columns":
                words = np.array([dtype.kind not in "if" for dtype in frame.dtypes])[
                    column
                ]
                labels = np.where(words, len(frame.T) + np.arange(len(column)), column)
            model = Together(PricePart(plan), n_parts, labels).fit(X[train], y[train])
            found = certify(model, X[test], y[test], tolerance=f"{TOLERANCE:.0%}")
            right[test], budgets[test] = found.correct, found.budget
        took = time.perf_counter() - start
        name = f"Ames, {len(np.unique(labels))} {unit}, {n_parts} parts"
        show(name, right, budgets, took)


def encoded(frame: Any, train: Any) -> tuple[Array, Any]:
    """Words as indicators, and of numbers how far they reach into each of their bins.

    Also the column from which each comes. Bins are quantiles of the training rows.
    """
    blocks = []
    for name in frame:
        column = frame[name]
        if column.dtype.kind not in "if":
            blocks.append(pd.get_dummies(column).to_numpy(dtype=float))
            continue
        x = column.to_numpy(dtype=float)[:, None]
        ends = np.unique(np.quantile(x[train], np.linspace(0, 1, BINS + 1)))
        reach = (x - ends[:-1]) / np.diff(ends)
        blocks.append(np.column_stack([reach.clip(0, 1), x > ends[0]]))
    X = np.hstack(blocks)
    column = np.repeat(np.arange(len(blocks)), [block.shape[1] for block in blocks])
    return (X - X[train].mean(axis=0)) / (X[train].std(axis=0) + 0.05), column


def show(name: str, right: Any, budgets: Any, took: float) -> None:
    """Print accuracy, and what is proven."""
    changed = right * (budgets - 1).clip(0)
    few = ", ".join(f"{np.mean(right & (budgets > k)):.3f}" for k in (1, 2, 3, 4, 13))
    print(
        f"{name}: accuracy {right.mean():.4f}, changed {np.median(changed):.0f}; right "
        f"whatever 1, 2, 3, 4, 13 features are: {few}; trained in {took:.0f} s",
        flush=True,
    )


PARTS = {"mnist": images, "ames": houses, "held-out": lambda: images(held_out=True)}

if __name__ == "__main__":
    for name in sys.argv[1:] or ["mnist", "ames"]:
        PARTS[name]()
