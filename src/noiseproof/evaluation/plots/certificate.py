"""Certified accuracy against the budget of the adversary."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from noiseproof.evaluation.certificates import Certificates, certify
from noiseproof.evaluation.models import read_models
from noiseproof.evaluation.plots.style import Display, line_style, tidy

_ENOUGH = 0.02  # curves are drawn to where less than this share of the rows holds
_MARKS = 8


class CertificateDisplay(Display):
    """Certified accuracy of one or more models, as steps over the budget.

    Parameters
    ----------
    certificates : Certificates, or dict of str to Certificates
        What `certify` returns, by the name of the model.

    Attributes
    ----------
    ax_ : matplotlib Axes
        With the curves, after `plot`.
    figure_ : matplotlib Figure
        To which the axes belong.
    lines_ : list of matplotlib Line2D
        One per model.

    See Also
    --------
    certify : Computes the certificates.
    RobustnessCurveDisplay : For random perturbations.

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
        max_budget: float | None = None,
        ax: Any = None,
    ) -> CertificateDisplay:
        """Certify models and plot.

        Parameters
        ----------
        models : model, dict of str to model, or list of (str, model)
            Fitted linear classifiers.
        X, y, values, attack, space
            As for `certify`.
        max_budget, ax
            As for `plot`.

        Returns
        -------
        display : CertificateDisplay
            With the plot in `ax_`.
        """
        certificates = {
            name: certify(model, X, y, values, attack=attack, space=space)
            for name, model in read_models(models).items()
        }
        return cls(certificates).plot(ax, max_budget=max_budget)

    def plot(
        self, ax: Any = None, *, max_budget: float | None = None
    ) -> CertificateDisplay:
        """Draw the curves.

        Parameters
        ----------
        ax : matplotlib Axes, default=None
            Where to; None means a new figure.
        max_budget : float, default=None
            Right end; None means where hardly any row holds.

        Returns
        -------
        display : CertificateDisplay
            Itself.
        """
        named = self._named()
        first = next(iter(named.values()))
        labelled = all(each.correct is not None for each in named.values())
        end = max(map(_end, named.values())) if max_budget is None else max_budget
        ax = self._draw_on(ax)
        self.lines_ = []
        for i, (name, each) in enumerate(named.items()):
            at = np.unique(np.concatenate([[0.0, end], each.budget]))
            at = at[at <= end]
            share = each.accuracy_at(at) if labelled else each.unchanged_at(at)
            style = {**line_style(i), "markevery": max(1, len(at) // _MARKS)}
            self.lines_ += ax.plot(
                at, share, label=name or None, drawstyle="steps-post", **style
            )
        ax.set(xlim=(0, end or 1), ylim=(0, 1.02))
        if first.unit in ("features", "groups"):
            ax.xaxis.get_major_locator().set_params(integer=True)
        ax.set_xlabel(f"budget of the adversary ({first.unit})")
        ax.set_ylabel("certified accuracy" if labelled else "predictions unchanged")
        tidy(ax)
        if any(named):
            ax.legend(frameon=False)
        return self

    def _named(self) -> Mapping[str, Certificates]:
        given = self.certificates
        named = {"": given} if isinstance(given, Certificates) else dict(given)
        if len({each.unit for each in named.values()}) != 1:
            raise ValueError(
                "All certificates in a plot must count the same: features, value or "
                "radius."
            )
        return named


def _end(certificates: Certificates) -> float:
    """The budget at which hardly any prediction holds, or the last that matters."""
    finite = np.sort(certificates.budget[np.isfinite(certificates.budget)])
    if not len(finite):
        return 1.0
    enough = int(np.ceil((1 - _ENOUGH) * len(finite))) - 1
    counts = certificates.unit in ("features", "groups")
    return float(finite[enough]) + counts  # one more, to see the last step
