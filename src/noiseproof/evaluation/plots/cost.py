"""What missing values cost: bars by column, or a line over time."""

from __future__ import annotations

from typing import Any

import numpy as np

from noiseproof._docs import shared_docs
from noiseproof.evaluation.missing_cost import (
    MissingCost,
    MissingCostSeries,
    missing_cost,
)
from noiseproof.evaluation.plots.style import ACCENT, Display, draw, tidy


@shared_docs
class MissingCostDisplay(Display):
    """Plot the cost of missing values by column as bars, or a series as lines.

    Parameters
    ----------
    cost : MissingCost or MissingCostSeries
        What `missing_cost` returns.

    Attributes
    ----------
    {ax_, figure_}
    bars_ : matplotlib BarContainer or None
        The bars, the most costly first; None for a series.
    lines_ : list of matplotlib Line2D
        The estimated scores of the batches as they are, and with nothing missing; empty
        for one batch.

    {See Also: missing_cost, AcquisitionDisplay}

    Examples
    --------
    >>> from sklearn.datasets import load_wine
    >>> from noiseproof import AverageOverMissing
    >>> from noiseproof.evaluation import MissingCostDisplay
    >>> from noiseproof.noise import Missing
    >>> X, y = load_wine(return_X_y=True)
    >>> model = AverageOverMissing(conditional="donors", random_state=0)
    >>> model = model.fit(X[::2], y[::2])
    >>> Z = Missing(0.5).sample(X[1::2], rng=0)
    >>> display = MissingCostDisplay.from_estimator(model, Z)
    >>> len(display.bars_)
    13
    """

    bars_: Any
    lines_: list[Any]

    def __init__(self, cost: MissingCost | MissingCostSeries):
        self.cost = cost

    @classmethod
    def from_estimator(
        cls, model: Any, X: Any, *, top: int = 15, ax: Any = None, **options: Any
    ) -> MissingCostDisplay:
        """Estimate the costs and plot them.

        Parameters
        ----------
        model, X
            As for `missing_cost`.
        top, ax
            As for `plot`.
        **options
            As for `missing_cost`: scoring, groups, by, calibration, max_rows,
            random_state.

        Returns
        -------
        {display}
        """
        return cls(missing_cost(model, X, **options)).plot(ax, top=top)

    def plot(self, ax: Any = None, *, top: int = 15) -> MissingCostDisplay:
        """Draw the bars, or the lines.

        Parameters
        ----------
        {ax}
        top : int, default=15
            How many columns to show, the most costly first.

        Returns
        -------
        {display}
        """
        if isinstance(self.cost, MissingCostSeries):
            return self._over_time(ax, self.cost)
        self.lines_ = []
        shown = list(self.cost.by_column.items())[:top]
        ax = self._draw_on(ax, (6.4, 1.2 + 0.26 * max(len(shown), 3)))
        value, low, high = np.array([one for _, one in shown]).reshape(-1, 3).T
        places = range(len(shown))
        self.bars_ = ax.barh(
            *(places, value), xerr=[value - low, high - value],
            color=ACCENT, height=0.7,
            error_kw={"ecolor": "#555555", "elinewidth": 1.0},
        )  # fmt: skip
        names = [f"{name} ({self.cost.missing[name]:.0%} missing)" for name, _ in shown]
        ax.set_yticks(places, labels=names)
        ax.invert_yaxis()
        ax.axvline(0, color="black", linewidth=0.8)
        ax.set_xlabel(f"{self.cost.scoring} lost by missing values of this column")
        ax.set_title(self.cost.verdict, fontsize="small", loc="right")
        tidy(ax, "x")
        ax.tick_params(axis="y", length=0)
        return self

    def _over_time(self, ax: Any, series: MissingCostSeries) -> MissingCostDisplay:
        ax, names = self._draw_on(ax), list(series.batches)
        self.bars_ = None
        self.lines_, _ = draw(ax, series._chart())
        step = max(1, len(names) // 8)
        ax.set_xticks(range(0, len(names), step), labels=names[::step], rotation=30)
        ax.set_xlabel("batch")
        return self
