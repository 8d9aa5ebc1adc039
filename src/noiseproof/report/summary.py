"""Everything that a report shows, as plain numbers and words.

`gather` fills a `Summary`, `render` turns it into a page. It holds nothing but numbers,
strings, tuples and dictionaries, so that it can be kept as JSON.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from typing import Any

Numbers = Mapping[str, float]


@dataclass(frozen=True)
class Series:
    """Numbers y against x, with the ends of their intervals where there are any."""

    x: tuple[float, ...]
    y: tuple[float, ...]
    low: tuple[float, ...] | None = None
    high: tuple[float, ...] | None = None

    def nearest(self, x: float) -> int:
        """Where x is, or the number next to it."""
        return min(range(len(self.x)), key=lambda i: abs(self.x[i] - x))


@dataclass(frozen=True)
class WorstRow:
    """A row whose prediction hangs by few features; `features` are these."""

    row: int
    label: str
    prediction: str
    budget: float
    features: tuple[str, ...]


@dataclass(frozen=True)
class DataSummary:
    """What the models were judged on."""

    rows: int
    features: int
    classes: Mapping[str, int]  # rows of each; empty for a regression
    missing: float  # share of the cells that are empty
    stored: float | None  # share of the cells that a sparse matrix stores
    curve_rows: int  # those that curves and costs were measured on
    training_rows: int | None  # if the caller told


@dataclass(frozen=True)
class ModelSummary:
    """What was found about one model; the part about certificates may be empty."""

    name: str
    description: str  # the model with its parameters
    scores: Numbers  # on the clean rows; the first metric is that of the curves
    recalls: Numbers  # of each class; empty if there are many
    deletion: Series  # score by the share of features deleted at random
    feature_costs: Numbers  # of losing the features and groups of the `Summary`, as far
    group_costs: Numbers  # as the model has them and they were tried
    why_uncertified: str = ""  # one sentence if there are no certificates
    certified: Series | None = None  # accuracy by budget
    attacked: Series | None = None  # accuracy by budget, under the worst deletion
    risk: Series | None = None  # its bound, by budget
    median_budget: float | None = None  # None if no deletion changes half of the rows
    inexact: int = 0  # number of rows whose certificate is a lower bound
    worst_rows: tuple[WorstRow, ...] = ()  # some of those with the lowest certificates
    n_worst: int = 0  # number of rows whose certificate is as low as the lowest


@dataclass(frozen=True)
class Summary:
    """A whole report before it is a page.

    Parameters
    ----------
    title : str
        Headline of the page.
    scoring : str
        Metric of the curves and of the costs.
    data : DataSummary
        What the models were judged on.
    models : tuple of ModelSummary
        What was found.
    features, groups : tuple of str
        Those that cost most, the dearest first.
    delta : float
        Probability that a risk bound may fail.
    n_repeats : int
        Draws per level.
    deleted : str
        What a deletion means, in one sentence.
    lost : str
        What is lost: features that read as zero, or cells known to be missing.
    settings, versions : dict of str to str
        What it takes to reproduce the page.

    See Also
    --------
    gather : Makes it.
    render : Writes it as HTML.
    """

    title: str
    scoring: str
    data: DataSummary
    models: tuple[ModelSummary, ...]
    features: tuple[str, ...]
    groups: tuple[str, ...]
    delta: float
    n_repeats: int
    deleted: str
    lost: str
    settings: Mapping[str, str] = field(default_factory=dict)
    versions: Mapping[str, str] = field(default_factory=dict)

    def to_dict(self) -> dict[str, Any]:
        """The summary as dictionaries, ready for JSON.

        Returns
        -------
        summary : dict
            Of numbers, strings, tuples and dictionaries.
        """
        return asdict(self)
