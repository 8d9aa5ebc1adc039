"""Scores against what is spent to look up missing values."""

from __future__ import annotations

from typing import Any

from noiseproof._docs import shared_docs
from noiseproof.evaluation.acquisition import AcquisitionCurve, acquisition_curve
from noiseproof.evaluation.plots.style import Display, draw


@shared_docs
class AcquisitionDisplay(Display):
    """Plot scores against what is spent on looking up values, a line for each order.

    Parameters
    ----------
    curve : AcquisitionCurve
        What `acquisition_curve` returns.

    Attributes
    ----------
    {ax_, figure_}
    lines_ : list of matplotlib Line2D
        One line for each order.

    {See Also: acquisition_curve, MissingCostDisplay}

    Examples
    --------
    >>> from sklearn.datasets import load_wine
    >>> from noiseproof import AverageOverMissing
    >>> from noiseproof.evaluation import AcquisitionDisplay
    >>> from noiseproof.noise import Missing
    >>> X, y = load_wine(return_X_y=True)
    >>> model = AverageOverMissing(conditional="donors", random_state=0)
    >>> model = model.fit(X[::2], y[::2])
    >>> Z = Missing(0.8).sample(X[1::2], rng=0)
    >>> display = AcquisitionDisplay.from_estimator(model, Z, X[1::2], y[1::2])
    >>> display.ax_.get_ylabel()
    'accuracy'
    """

    lines_: list[Any]

    def __init__(self, curve: AcquisitionCurve):
        self.curve = curve

    @classmethod
    def from_estimator(
        cls, model: Any, X: Any, X_complete: Any, y: Any, *, ax: Any = None,
        **options: Any,
    ) -> AcquisitionDisplay:  # fmt: skip
        """Buy missing values in three orders and plot the scores.

        Parameters
        ----------
        model, X, X_complete, y
            As for `acquisition_curve`.
        ax
            As for `plot`.
        **options
            As for `acquisition_curve`: costs, scoring, n_steps, random_state.

        Returns
        -------
        {display}
        """
        return cls(acquisition_curve(model, X, X_complete, y, **options)).plot(ax)

    def plot(self, ax: Any = None) -> AcquisitionDisplay:
        """Draw the lines.

        Parameters
        ----------
        {ax}

        Returns
        -------
        {display}
        """
        self.lines_, _ = draw(self._draw_on(ax), self.curve._chart())
        return self
