"""A little generated data of the form of each of the papers' data sets."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
import scipy.sparse as sp

from experiments.data import KEEL, READERS, Dated, Rows, Split
from experiments.images import Images
from experiments.series import Series, days
from experiments.tables import QUANTITIES, TARGETS, WITH_HOLES, Table, as_table, without
from noiseproof.datasets import Imdb, Texts

_WORDS = np.array([f"word{k}" for k in range(40)])


def _counts(n: int, rng: np.random.Generator) -> tuple[Any, Any]:
    """Word counts whose rates depend on the label."""
    y = rng.permutation(np.arange(n) % 2)
    rates = rng.gamma(0.5, size=(2, len(_WORDS)))
    return rng.poisson(rates[y]).astype(float), y


def _split() -> Split:
    X, y = _counts(120, np.random.default_rng(0))
    return Split(sp.csr_matrix(X[:60]), y[:60], sp.csr_matrix(X[60:]), y[60:])


def _texts() -> Texts:
    X, y = _counts(90, np.random.default_rng(1))
    texts = [" ".join(np.repeat(_WORDS, row.astype(int))) or "none" for row in X]
    return Texts(texts, y)


def _dated() -> Dated:
    texts, y = _texts()
    number = np.arange(len(y))
    return Dated(texts, y, number < 60, number)


def _imdb() -> Imdb:
    X, y = _counts(200, np.random.default_rng(2))
    Z = sp.csr_matrix((X > 0).astype(np.float32))
    return Imdb(Z[:60], y[:60], Z[60:100], y[60:100], Z[100:])


def _two_classes() -> Rows:
    rng = np.random.default_rng(3)
    y = rng.permutation(np.arange(200) % 2) * 2 - 1
    X = rng.uniform(size=(200, 16)) * (rng.random((200, 16)) < 0.7)
    return Rows(np.clip(X + 0.25 * y[:, None] * (X > 0), 0, 1), y)


def _images(n: int = 120, side: int = 12) -> Images:
    """A bright square whose place tells the class, on noise."""
    rng = np.random.default_rng(4)
    y = rng.permutation(np.arange(n) % 10)
    pixels = 0.3 * rng.random((n, side, side, 1))
    for image, label in zip(pixels, y, strict=True):
        row, column = divmod(int(label), 4)
        image[3 * row : 3 * row + 3, 3 * column : 3 * column + 3] += 0.6
    return Images("made", pixels[: n // 2], y[: n // 2], pixels[n // 2 :], y[n // 2 :])


def _digits() -> Split:
    images = _images()
    train, test = (part.reshape(len(part), -1) for part in (images[1], images[3]))
    return Split(train, images.y_train, test, images.y_test)


def _series(n: int = 700) -> Series:
    """Two sensors that follow the hour and each other."""
    rng = np.random.default_rng(5)
    phase = np.arange(n) % 24 / 24
    common = np.sin(2 * np.pi * phase) + 0.1 * rng.standard_normal(n).cumsum()
    readings = common[:, None] + 0.1 * rng.standard_normal((n, 2))
    readings[300:310] = np.nan
    lags = ((1, 2, 24), (1, 2))
    return Series(readings, ("a", "b"), days(phase, np.ones(n)), lags)


def _table(*, is_quantity: bool = False, has_holes: bool = False) -> Table:
    """Numbers and words that depend on each other, and on the target."""
    import pandas as pd

    rng = np.random.default_rng(6)
    common = rng.standard_normal(150)
    numbers = common[:, None] + 0.5 * rng.standard_normal((150, 4))
    frame = pd.DataFrame(numbers, columns=list("abcd"))
    frame["word"] = np.where(common > 0, "high", "low")
    frame["target"] = common if is_quantity else np.where(common > 0.5, "yes", "no")
    X, y = as_table(frame, "target", is_quantity)
    return Table(without(X, rng.random(X.shape) < 0.1 * has_holes), y)


_FORMS: dict[str, Callable[[], Any]] = {
    "books": _split,
    "kitchen": _split,
    **{name: _dated for name in READERS if name.endswith("-dated")},
    "imdb": _imdb,
    "imdb-bigrams": _imdb,
    "spambase": _two_classes,
    "mnist-4-7": _two_classes,
    **dict.fromkeys(("wine", "cancer", "digits", *KEEL), _two_classes),
    "mnist": _digits,
    "images": _images,
    "bike": _series,
    "electricity": _series,
    **{
        f"{name}-table": partial(_table, is_quantity=name in QUANTITIES)
        for name in TARGETS
    },
    **dict.fromkeys(WITH_HOLES, partial(_table, has_holes=True)),
}

MADE: dict[str, Callable[[], Any]] = {
    name: _FORMS.get(name, _texts) for name in READERS
}
