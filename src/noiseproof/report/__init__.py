"""One page to show: how far models hold when their features go.

`gather` finds out, and `render` writes it down: a `Summary` lies between them, so that
the page is a pure function of numbers that can be kept, checked and drawn again.
"""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from typing import Any

from numpy.typing import ArrayLike

from noiseproof.io import atomic_write
from noiseproof.report.gather import LEVELS, Plan, gather
from noiseproof.report.page import render
from noiseproof.report.summary import Summary

__all__ = ["Plan", "Summary", "gather", "render", "write_report"]


def write_report(
    models: Any,
    X: Any,
    y: Any,
    path: str | os.PathLike[str],
    *,
    levels: ArrayLike = LEVELS,
    n_repeats: int = 10,
    groups: Any = None,
    feature_names: Sequence[str] | None = None,
    title: str = "Robustness report",
    random_state: int = 0,
    n_jobs: int | None = None,
    settings: Mapping[str, Any] | None = None,
    training_rows: int | None = None,
    delta: float = 0.05,
    space: str = "input",
    deleted_as: str = "nan",
    max_rows: int = 20_000,
    progress: Any = None,
) -> Summary:
    """Judge fitted models and write one self-contained HTML page about them.

    The page fetches nothing, works without a script, and can be read on a phone, on
    paper and by keyboard. Certificates, attacks and risk bounds are there for linear
    classifiers; of others the page says why not.

    Parameters
    ----------
    models : model, dict of str to model, or list of (str, model)
        Fitted, with `predict`; all classifiers or all regressors.
    X : array-like, sparse matrix or data frame of shape (n_samples, n_features)
        Rows, not those of the training. Sparse X stays sparse.
    y : array-like of shape (n_samples,)
        True labels or targets.
    path : str or path
        The file to create or to replace, all at once.
    levels : array-like of floats, default=0, 0.1, ..., 0.9
        Shares of features that die at random.
    n_repeats : int, default=10
        Draws per level.
    groups : dict of name to list of features, default=None
        Features that fail together, by name or number of their columns in X; or lists
        of features without names, or one label for each column.
    feature_names : list of str, default=None
        Names of the columns of X; None takes those of a frame, or x0, x1, ...
    title : str, default="Robustness report"
        Headline of the page.
    random_state : int, default=0
        Seed of all that is random.
    n_jobs : int or None, default=None
        Threads.
    settings : dict, default=None
        What else it takes to reproduce the page, such as the command; shown as it is.
    training_rows : int or None, default=None
        Number of rows the models were trained on, if the page shall tell.
    delta : float, default=0.05
        Probability that a risk bound may fail.
    space : {"input", "model"}, default="input"
        Whether a pipeline loses cells before its first step, or before its last, where
        behind a scaler zero means average. Certificates of missing cells count what
        the last step gets: to our models a missing feature adds nothing there.
    deleted_as : {"nan", "zero"}, default="nan"
        What a lost cell becomes. "nan": it is missing, so that the model knows, or the
        mean of its column for a model that refuses NaN. "zero": it is deleted, and
        reads as zero. The page says which it shows.
    max_rows : int, default=20_000
        Curves and costs are measured on so many rows, drawn at random if there are
        more; the page tells. Clean scores and certificates are of all rows.
    progress : bool, callable or None, default=None
        None shows a bar to who waits at a terminal for more than two seconds; True
        always, False never. A function is called with (done, total).

    Returns
    -------
    summary : Summary
        The numbers on the page; `to_dict` makes them fit for JSON.

    Examples
    --------
    >>> import os, tempfile
    >>> from sklearn.datasets import load_iris
    >>> from noiseproof import DropoutLogisticRegression
    >>> from noiseproof.report import write_report
    >>> X, y = load_iris(return_X_y=True, as_frame=True)
    >>> model = DropoutLogisticRegression(0.1).fit(X[::2], y[::2])
    >>> path = os.path.join(tempfile.mkdtemp(), "page.html")
    >>> summary = write_report(model, X[1::2], y[1::2], path)
    >>> summary.features[0]
    'petal width (cm)'
    """
    plan = Plan(
        levels=levels,
        n_repeats=n_repeats,
        groups=groups,
        feature_names=feature_names,
        title=title,
        random_state=random_state,
        n_jobs=n_jobs,
        settings=settings,
        training_rows=training_rows,
        delta=delta,
        space=space,
        deleted_as=deleted_as,
        max_rows=max_rows,
        progress=progress,
    )
    with atomic_write(path) as file:  # first, so that a bad path costs no work
        summary = gather(models, X, y, plan)
        file.write(render(summary).encode("utf-8"))
    return summary
