"""Bars of what losing each feature costs."""

from __future__ import annotations

from typing import Any

from numpy.typing import ArrayLike

from noiseproof._docs import shared_docs
from noiseproof.evaluation.fragility import Fragility, feature_fragility
from noiseproof.evaluation.plots.style import ACCENT, QUIET, Display, tidy


@shared_docs
class FragilityDisplay(Display):
    """Plot the cost of losing each feature or group, as horizontal bars.

    Parameters
    ----------
    fragility : Fragility
        What `feature_fragility` returns.

    Attributes
    ----------
    {ax_, figure_}
    bars_ : matplotlib BarContainer
        The bars, the most costly first.

    {See Also: feature_fragility}

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from sklearn.linear_model import LogisticRegression
    >>> from noiseproof.evaluation import FragilityDisplay
    >>> X, y = load_iris(return_X_y=True, as_frame=True)
    >>> model = LogisticRegression(max_iter=1000).fit(X, y)
    >>> display = FragilityDisplay.from_estimator(model, X, y)
    >>> len(display.bars_)
    4
    """

    bars_: Any

    def __init__(self, fragility: Fragility):
        self.fragility = fragility

    @classmethod
    def from_estimator(
        cls,
        model: Any,
        X: Any,
        y: ArrayLike,
        *,
        top: int = 15,
        ax: Any = None,
        **options: Any,
    ) -> FragilityDisplay:
        """Measure the fragility of a model and plot it.

        Parameters
        ----------
        model, X, y
            As for `feature_fragility`.
        top, ax
            As for `plot`.
        **options
            As for `feature_fragility`: groups, scoring, deleted_as, space, n_jobs,
            progress.

        Returns
        -------
        {display}
        """
        return cls(feature_fragility(model, X, y, **options)).plot(ax, top=top)

    def plot(self, ax: Any = None, *, top: int = 15) -> FragilityDisplay:
        """Draw the bars.

        Parameters
        ----------
        {ax}
        top : int, default=15
            How many features to show, the most costly first.

        Returns
        -------
        {display}
        """
        result = self.fragility
        names, cost = list(result.names[:top]), result.cost[:top]
        ax = self._draw_on(ax, (6.4, 1.2 + 0.26 * max(len(names), 3)))
        places = range(len(names))
        colours = [ACCENT if c > 0 else QUIET for c in cost]
        self.bars_ = ax.barh(places, cost, color=colours, height=0.7)
        ax.bar_label(self.bars_, fmt="%.3f", padding=3, fontsize="small")
        ax.set_yticks(places, labels=names)
        ax.invert_yaxis()
        ax.margins(x=0.12, y=0.02)
        ax.axvline(0, color="black", linewidth=0.8)
        ax.set_xlabel(f"{result.scoring} lost, of {result.score:.3f} with all")
        shown = (
            "" if len(names) == len(result.names) else f", the {len(names)} most costly"
        )
        ax.set_title(f"Cost of losing each {result.kind}{shown}", fontsize="medium")
        tidy(ax, "x")
        ax.tick_params(axis="y", length=0)
        return self
