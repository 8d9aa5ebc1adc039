"""Everything that a report shows, as plain numbers and words.

`gather` fills a `Summary`, `render` turns it into a page. It holds nothing but numbers,
strings, tuples and dictionaries, so that it can be kept as JSON.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from typing import Any

__all__ = ["DataSummary", "ModelSummary", "Series", "Summary", "WorstRow"]


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
    """What the models were judged on.

    Parameters
    ----------
    rows, features : int
        Shape of X.
    classes : dict of str to int
        Rows of each class; empty for a regression.
    missing : float
        Share of the cells that are empty.
    stored : float or None
        Share of the cells that a sparse matrix stores.
    curve_rows : int
        Rows that curves and costs were measured on.
    training_rows : int or None
        Rows that the models were trained on, if the caller told.
    """

    rows: int
    features: int
    classes: Mapping[str, int]
    missing: float
    stored: float | None
    curve_rows: int
    training_rows: int | None


@dataclass(frozen=True)
class ModelSummary:
    """What was found about one model.

    Parameters
    ----------
    name : str
        As the caller calls it.
    description : str
        The model with its parameters.
    scores : dict of str to float
        On the clean rows, by the name of the metric; the first is that of the curves.
    recalls : dict of str to float
        Share of the rows of each class that are right; empty if there are many.
    deletion : Series
        Score by the share of features deleted at random.
    feature_costs, group_costs : dict of str to float
        What losing the features and groups of the `Summary` costs, as far as the model
        has them and they were tried.
    why_uncertified : str
        One sentence if there are no certificates, and then the rest stays empty.
    certified : Series or None
        Certified accuracy by budget.
    attacked : Series or None
        Accuracy by budget under the worst deletion itself.
    risk : Series or None
        Bound on the risk by budget.
    median_budget : float or None
        Half of the rows need more than this, or this, to change; None if no deletion
        changes half of them.
    inexact : int
        Number of rows whose certificate is a lower bound.
    worst_rows : tuple of WorstRow
        Some of those with the lowest certificates.
    n_worst : int
        Number of rows whose certificate is as low as the lowest.
    """

    name: str
    description: str
    scores: Mapping[str, float]
    recalls: Mapping[str, float]
    deletion: Series
    feature_costs: Mapping[str, float]
    group_costs: Mapping[str, float]
    why_uncertified: str = ""
    certified: Series | None = None
    attacked: Series | None = None
    risk: Series | None = None
    median_budget: float | None = None
    inexact: int = 0
    worst_rows: tuple[WorstRow, ...] = ()
    n_worst: int = 0


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
    settings, versions : dict of str to str
        What it takes to reproduce the page.
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
