"""Scores against the level of a perturbation."""

from __future__ import annotations

from typing import Any

from numpy.typing import ArrayLike

from noiseproof._docs import shared_docs
from noiseproof.evaluation.curves import RobustnessCurve, robustness_curve
from noiseproof.evaluation.plots.style import Display, draw


@shared_docs
class RobustnessCurveDisplay(Display):
    """Plot the mean score of each model as a line, with a band for its interval.

    Parameters
    ----------
    curve : RobustnessCurve
        What `robustness_curve` returns.

    Attributes
    ----------
    {ax_, figure_, lines_}
    bands_ : list of matplotlib PolyCollection
        One per model; none where there is only one repeat.

    {See Also: robustness_curve, CertificateDisplay}

    Examples
    --------
    >>> from sklearn.datasets import load_digits
    >>> from sklearn.svm import LinearSVC
    >>> from noiseproof import DropoutSVC
    >>> from noiseproof.evaluation import RobustnessCurveDisplay
    >>> X, y = load_digits(return_X_y=True)
    >>> models = {"LinearSVC": LinearSVC(), "DropoutSVC": DropoutSVC(0.2, C=10.0)}
    >>> for model in models.values():
    ...     model = model.fit(X[:900] / 16, y[:900])
    >>> display = RobustnessCurveDisplay.from_estimators(
    ...     models, X[900:] / 16, y[900:], "delete", [0, 0.2, 0.4, 0.6, 0.8]
    ... )
    >>> display.ax_.get_xlabel()
    'share of values replaced by zero (the model is not told)'
    """

    lines_: list[Any]
    bands_: list[Any]

    def __init__(self, curve: RobustnessCurve):
        self.curve = curve

    @classmethod
    def from_curve(
        cls, curve: RobustnessCurve, *, ax: Any = None
    ) -> RobustnessCurveDisplay:
        """Plot a curve that was computed before.

        Parameters
        ----------
        curve : RobustnessCurve
            What `robustness_curve` returns.
        {ax}

        Returns
        -------
        {display}
        """
        return cls(curve).plot(ax)

    @classmethod
    def from_estimators(
        cls,
        models: Any,
        X: Any,
        y: Any,
        perturb: Any,
        levels: ArrayLike,
        *,
        ax: Any = None,
        **options: Any,
    ) -> RobustnessCurveDisplay:
        """Compute the curve of fitted models and plot it.

        Parameters
        ----------
        models, X, y, perturb, levels
            As for `robustness_curve`.
        {ax}
        **options
            The other parameters of `robustness_curve`: `scoring`, `n_repeats`,
            `random_state` and so on.

        Returns
        -------
        display : RobustnessCurveDisplay
            With the plot in `ax_` and the numbers in `curve`.
        """
        curve = robustness_curve(models, X, y, perturb, levels, **options)
        return cls.from_curve(curve, ax=ax)

    def plot(self, ax: Any = None) -> RobustnessCurveDisplay:
        """Draw the curves.

        {(ax) -> display}
        """
        ax = self._draw_on(ax)
        self.lines_, self.bands_ = draw(ax, self.curve._chart())
        interval = f"mean, {self.curve.confidence:.0%} interval"
        title = interval if self.bands_ else None
        ax.legend(frameon=False, title=title, alignment="left")
        return self
