"""A page about what missing values cost."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from noiseproof._docs import shared_docs
from noiseproof.evaluation import MissingCost, MissingCostSeries
from noiseproof.report.page import asset, environment


@shared_docs
def render_cost(
    cost: MissingCost | MissingCostSeries,
    title: str = "What missing values cost",
    prices: Mapping[str, float] | None = None,
) -> str:
    """Write a page about estimated costs. It needs Jinja2.

    Parameters
    ----------
    cost : MissingCost or MissingCostSeries
        From `noiseproof.evaluation.missing_cost`.
    title : str, default="What missing values cost"
        Headline of the page.
    prices : mapping of str to float, default=None
        Price of looking up a missing value, by column. Other columns have price 1. If
        given, the page shows what a missing value is worth for its price.

    Returns
    -------
    page : str
        An HTML document that fetches nothing and runs no script.

    {See Also: missing_cost, write_report}

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from noiseproof import AverageOverMissing
    >>> from noiseproof.evaluation import missing_cost
    >>> from noiseproof.noise import Missing
    >>> from noiseproof.report import render_cost
    >>> X, y = load_iris(return_X_y=True)
    >>> model = AverageOverMissing(conditional="donors").fit(X, y)
    >>> render_cost(missing_cost(model, Missing(0.3).sample(X, rng=0)))[:15]
    '<!DOCTYPE html>'
    """
    batches = getattr(cost, "batches", None) or {"": cost}
    env = environment()
    page = env.get_template("cost.html")
    return page.render(
        title=title,
        series=_html(cost) if len(batches) > 1 else "",
        batches={
            name: (one, _html(one), _by_price(one, prices))
            for name, one in batches.items()
        },
        style=asset("style.css"),
    ).lstrip()


def _html(found: Any) -> Any:
    """The table of a result, which has escaped all names itself."""
    from markupsafe import Markup

    return Markup(found._repr_html_())


def _by_price(
    found: MissingCost, prices: Mapping[str, float] | None
) -> list[tuple[str, float, float, float]]:
    """Column, worth of a value, price and worth / price, the best purchase first."""
    if not prices:
        return []
    priced = ((name, w, prices.get(name, 1.0)) for name, w in found.worth.items())
    rows = [(name, worth, price, worth / price) for name, worth, price in priced]
    return sorted(rows, key=lambda row: -row[-1])
