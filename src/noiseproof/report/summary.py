"""Everything that a report shows, as plain numbers and words.

`gather` fills a `Summary`, `render` turns it into a page. It holds nothing but numbers,
strings, tuples and dictionaries, so that it can be kept as JSON.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from html import escape
from typing import Any

from noiseproof._charts import Series
from noiseproof._docs import shared_docs

Numbers = Mapping[str, float]


@dataclass(frozen=True)
class WorstRow:
    """A row that the model is sure of, though few `features` decide on it."""

    row: int
    label: str
    prediction: str
    budget: float
    confidence: float | None  # probability of the prediction, or its lead
    features: tuple[str, ...]  # those whose loss changes it, if they are known


@dataclass(frozen=True)
class DataSummary:
    """The rows that the models were evaluated on."""

    rows: int
    features: int
    classes: Mapping[str, int]  # rows of each; empty for a regression
    missing: float  # share of the cells that are empty
    stored: float | None  # share of the cells that a sparse matrix stores
    curve_rows: int  # those that scores and curves were measured on
    few_rows: int  # those that intervals were tried on, and costs of holes are of
    training_rows: int | None  # if the caller told
    chance: float  # score of the best answer that looks at no feature


@dataclass(frozen=True)
class HolesSummary:
    """What the missing values of the rows cost, estimated without their labels.

    Estimates have the ends of their intervals behind them.
    """

    scoring: str
    score: tuple[float, ...]
    complete_score: tuple[float, ...]
    cost: tuple[float, ...]
    columns: Mapping[str, tuple[float, float, float, float]]  # share missing, and cost
    warnings: tuple[str, ...]


@dataclass(frozen=True)
class ModelSummary:
    """What was found about one model; the part about certificates may be empty."""

    name: str
    description: str  # the model with its parameters; the parts of a blend as lines
    n_features: int  # that the model proper gets, behind its encoders
    treatment: str | None  # how it answers rows with holes, if training rows had some
    scores: Numbers  # on clean rows; the first metric is that of the curves
    recalls: Numbers  # of each class; empty if there are many
    deletion: Series  # score by the share of features lost at random
    # of those in `Summary.costly`, by kind, as far as the model has them and they were
    # tried; "alone" are the sums of what the two of a pair cost one at a time
    costs: Mapping[str, Numbers]
    cost_rows: Mapping[str, int]  # that they were measured on, by kind; 0 if not tried
    why_uncertified: str = ""  # one sentence if there are no certificates
    certified: Series | None = None  # accuracy by budget
    risk: Series | None = None  # its bound, by budget
    median_budget: float | None = None  # None if no deletion changes half of the rows
    median_changed: float | None = None  # of a model that votes: changes to any value
    inexact: int = 0  # number of rows whose certificate is a lower bound
    worst_rows: tuple[WorstRow, ...] = ()
    n_worst: int = 0  # number of rows whose certificate is as low as the lowest
    lowest: float | None = None  # that certificate; None if no deletion changes any row
    gives_probabilities: bool = False  # whether the rows' confidence is a probability
    # of a regressor with intervals: share of targets in those that promise so much, and
    # mean width, by the share of columns missing
    promised: float | None = None
    covered: Series | None = None
    width: Series | None = None
    why_no_intervals: str = ""  # one sentence if those of a regressor cannot be had
    # of a model that averages over missing values, if there are any
    holes: HolesSummary | None = None


@shared_docs
@dataclass(frozen=True)
class Summary:
    """A whole report before it is a page; in a notebook it shows itself as the page.

    Parameters
    ----------
    title : str
        Headline of the page.
    about : str
        Data, target and date, in one line.
    scoring : str
        Metric of the curves and of the costs.
    data : DataSummary
        The rows that the models were evaluated on.
    models : tuple of ModelSummary
        What was found.
    leaders : tuple of tuples of int
        For each level of the curves the numbers of the best model and of all that
        cannot be told from it, the best first.
    costly : dict of str to tuple of str
        Features, groups and pairs of groups that cost most, by kind, worst first.
    tried : dict of str to int
        How many there are of each kind.
    delta : float
        Probability that a risk bound may fail.
    n_repeats : int
        Draws per level.
    deleted : str
        What a deletion means, in one sentence.
    lost : str
        What is lost: features that read as zero, or cells known to be missing.
    curve : str
        What a level of the curves is a share of, and how it is lost.
    proven : str
        What certificates take for the loss of a feature, in one sentence.
    settings, versions : dict of str to str
        What it takes to reproduce the page.

    {See Also: gather, render}
    """

    title: str
    about: str
    scoring: str
    data: DataSummary
    models: tuple[ModelSummary, ...]
    leaders: tuple[tuple[int, ...], ...]
    costly: Mapping[str, tuple[str, ...]]
    tried: Mapping[str, int]
    delta: float
    n_repeats: int
    deleted: str
    lost: str
    curve: str
    proven: str
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

    def _repr_html_(self) -> str:
        from noiseproof.report.page import render

        return (
            f'<iframe srcdoc="{escape(render(self))}" sandbox="allow-scripts" '
            'width="100%" height="720" style="border: 1px solid #8884"></iframe>'
        )
