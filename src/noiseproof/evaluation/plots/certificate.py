"""Certified accuracy against the budget of the adversary."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from numpy.typing import ArrayLike

from noiseproof._docs import shared_docs
from noiseproof.evaluation.certificates import (
    Certificates,
    certificate_chart,
    certify,
)
from noiseproof.evaluation.models import read_models
from noiseproof.evaluation.plots.style import Display, draw


@shared_docs
class CertificateDisplay(Display):
    """Plot the certified accuracy of one or more models, as steps over the budget.

    Parameters
    ----------
    certificates : Certificates, or dict of str to Certificates
        What `certify` returns, by the name of the model.

    Attributes
    ----------
    {ax_, figure_, lines_}

    {See Also: certify, RobustnessCurveDisplay}

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from sklearn.linear_model import RidgeClassifier
    >>> from noiseproof import DropoutSVC
    >>> from noiseproof.evaluation import CertificateDisplay
    >>> X, y = load_iris(return_X_y=True)
    >>> models = {"ridge": RidgeClassifier(), "dropout": DropoutSVC(0.2)}
    >>> for model in models.values():
    ...     model = model.fit(X[::2], y[::2])
    >>> display = CertificateDisplay.from_estimators(models, X[1::2], y[1::2])
    >>> display.ax_.get_ylabel()
    'certified accuracy'
    """

    lines_: list[Any]

    def __init__(self, certificates: Certificates | Mapping[str, Certificates]):
        self.certificates = certificates

    @classmethod
    def from_estimators(
        cls,
        models: Any,
        X: Any,
        y: ArrayLike | None,
        values: ArrayLike | None = None,
        *,
        attack: Any = None,
        space: str = "input",
        tolerance: ArrayLike | None = None,
        max_budget: float | None = None,
        ax: Any = None,
    ) -> CertificateDisplay:
        """Certify models and plot.

        Parameters
        ----------
        models, X, y, values, attack, space, tolerance
            Fitted linear models, and the other parameters of `certify`.
        max_budget, ax
            As for `plot`.

        Returns
        -------
        {display}
        """
        options = {"attack": attack, "space": space, "tolerance": tolerance}
        certificates = {
            name: certify(model, X, y, values, **options)
            for name, model in read_models(models).items()
        }
        return cls(certificates).plot(ax, max_budget=max_budget)

    def plot(
        self, ax: Any = None, *, max_budget: float | None = None
    ) -> CertificateDisplay:
        """Draw the curves.

        Parameters
        ----------
        {ax}
        max_budget : float, default=None
            Right end of the axis. None means a budget that changes almost every
            prediction.

        Returns
        -------
        {display}
        """
        named = self._named()
        chart = certificate_chart(named, max_budget)
        ax = self._draw_on(ax)
        self.lines_, _ = draw(ax, chart)
        ax.set(xlim=(0, chart.lines[0].series.x[-1] or 1), ylim=(0, 1.02))
        if next(iter(named.values())).unit in ("features", "groups"):
            ax.xaxis.get_major_locator().set_params(integer=True)
        if any(named):
            ax.legend(frameon=False)
        return self

    def _named(self) -> Mapping[str, Certificates]:
        """The certificates by name, which must count the same."""
        given = self.certificates
        named = {"": given} if isinstance(given, Certificates) else dict(given)
        if len({each.unit for each in named.values()}) != 1:
            raise ValueError(
                "All certificates in a plot must count the same: features, value or "
                "radius."
            )
        return named
