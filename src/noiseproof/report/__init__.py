"""One page to show: how far models hold when their features go.

`gather` finds out, and `render` writes it down: a `Summary` lies between them, so that
the page is a pure function of numbers that can be kept, checked and drawn again.
"""

from __future__ import annotations

import os
from contextlib import ExitStack
from typing import Any

from noiseproof._docs import shared_docs
from noiseproof.io import atomic_write
from noiseproof.report.costs import render_cost
from noiseproof.report.gather import Plan, gather
from noiseproof.report.page import render
from noiseproof.report.summary import Summary

__all__ = ["Plan", "Summary", "gather", "render", "render_cost", "write_report"]


@shared_docs
def write_report(
    models: Any,
    X: Any,
    y: Any,
    path: str | os.PathLike[str] | None = None,
    **options: Any,
) -> Summary:
    """Evaluate fitted models and write one self-contained HTML page about them.

    The page fetches nothing, works without a script, and can be read on a phone, on
    paper and by keyboard. It has certificates and risk bounds for linear classifiers
    and for ensembles that vote; for other models it says why there are none. In a
    notebook the summary is displayed as the page.

    Parameters
    ----------
    {models}
        All of them must be classifiers, or all regressors.
    {held out X, true y}
    path : str or path, default=None
        The file to create or to replace, all at once; None writes none.
    **options : dict
        Further options, by name: those of `Plan`, such as `groups`, `title`, `levels`
        or `max_rows`.

    Returns
    -------
    summary : Summary
        The numbers on the page; `to_dict` makes them fit for JSON.

    {See Also: robustness_curve, certify}

    Examples
    --------
    >>> import os, tempfile
    >>> from sklearn.datasets import load_iris
    >>> from noiseproof import DropoutLogisticRegression
    >>> from noiseproof.report import write_report
    >>> X, y = load_iris(return_X_y=True, as_frame=True)
    >>> model = DropoutLogisticRegression(0.1).fit(X[::2], y[::2])
    >>> path = os.path.join(tempfile.mkdtemp(), "page.html")
    >>> summary = write_report(model, X[1::2], y[1::2], path, title="Iris")
    >>> summary.costly["feature"][0]
    'petal width (cm)'
    """
    plan = Plan(**options)
    with ExitStack() as opened:  # the file first, so that a bad path costs no work
        file = None if path is None else opened.enter_context(atomic_write(path))
        summary = gather(models, X, y, plan)
        if file is not None:
            file.write(render(summary).encode("utf-8"))
    return summary
