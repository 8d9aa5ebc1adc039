"""What hurts most: features, groups and rows, and what may be said about new ones."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from noiseproof.report.charts import dot_strip
from noiseproof.report.figures import why_uncertified
from noiseproof.report.html import Html, tag
from noiseproof.report.overview import metric_name
from noiseproof.report.scales import short
from noiseproof.report.summary import ModelSummary, Summary, WorstRow
from noiseproof.report.tables import (
    model_columns,
    model_table,
    number,
    section,
    swatch,
    table,
)

__all__ = ["fragile", "risk_bounds", "worst_rows"]

_NAMED = 5  # features in a row of the table of worst rows


def fragile(summary: Summary) -> Html:
    """Costs of losing features and groups."""
    metric = metric_name(summary.scoring)
    text = (
        f"What {metric} loses when one feature is deleted in all rows and nothing is "
        "trained again; the highest cost to any model first. Below zero, a model does "
        "better without."
    )
    models = summary.models
    features = [model.feature_costs for model in models]
    groups = [model.group_costs for model in models]
    parts = [tag("p", text), _costs("feature", summary.features, features, summary)]
    if any(len(own) < len(summary.features) for own in features):
        parts.append(
            tag(
                "p", "A dash: the model lacks the feature, or has too many to try each."
            )
        )
    if summary.groups:
        parts.append(tag("h3", "Groups that fail together"))
        parts.append(_costs("group", summary.groups, groups, summary))
    return section("fragile", "Most fragile features", *parts)


def _costs(
    kind: str,
    dearest: Sequence[str],
    costs: Sequence[Mapping[str, float]],
    summary: Summary,
) -> Html:
    """A row per feature: its name, a strip with the models' marks, the numbers."""
    if not dearest:
        return tag("p", f"There are too many {kind}s to try each.")
    names = {i: model.name for i, model in enumerate(summary.models)}
    every = [cost for own in costs for cost in own.values()]
    low, high = min(0.0, *every), max(*every, 1e-9)
    rows = []
    for name in dearest:
        own = {i: cost[name] for i, cost in enumerate(costs) if name in cost}
        strip = dot_strip(own, list(names.values()), low, high)
        cells = [tag("td", number(own.get(i)), class_=f"num m{i}") for i in names]
        first = tag("th", name, scope="row")
        rows.append(tag("tr", first, tag("td", strip, class_="wide"), *cells))
    head = [tag("th", kind, scope="col"), tag("td", class_="wide")]
    metric = metric_name(summary.scoring)
    caption = f"{metric[0].upper()}{metric[1:]} lost without each {kind}"
    return table(caption, [*head, *model_columns(names)], rows)


def worst_rows(summary: Summary) -> Html:
    """Rows whose prediction hangs by the fewest features."""
    certified = [(i, m) for i, m in enumerate(summary.models) if m.certified]
    if not certified:
        return section("rows", "Worst rows", why_uncertified(summary))
    text = (
        "The predictions that hang by the fewest features, and the features whose "
        "deletion changes them. Rows count from 0 in the order of the data."
    )
    tables = [_rows_of(i, model) for i, model in certified]
    return section(
        *("rows", "Worst rows", tag("p", text)),
        tag("div", *tables, class_="cards" if len(tables) > 1 else None),
    )


def _rows_of(i: int, model: ModelSummary) -> Html:
    title = tag("h3", swatch(i), " ", model.name)
    if not model.worst_rows:
        text = tag("p", "No deletion changes any prediction.")
        return tag("div", title, text, class_=f"card m{i}")
    lowest = model.worst_rows[0].budget
    count = (
        f"{model.n_worst:,} row{'s' * (model.n_worst != 1)} change"
        f"{'s' * (model.n_worst == 1)} with {short(lowest)} feature"
        f"{'s' * (lowest != 1)} deleted."
    )
    heads = [
        tag("th", "row", scope="col", class_="num"),
        *(tag("th", name, scope="col") for name in ("true class", "predicted")),
        tag("th", "budget", scope="col", class_="num"),
        tag("th", "delete", scope="col"),
    ]
    caption = f"Rows of {model.name} with the lowest certificates"
    rows = [_row(row) for row in model.worst_rows]
    return tag(
        "div", title, tag("p", count), table(caption, heads, rows), class_=f"card m{i}"
    )


def _row(row: WorstRow) -> Html:
    names = ", ".join(row.features[:_NAMED])
    more = len(row.features) - _NAMED
    wrong = row.label != row.prediction
    return tag(
        "tr",
        tag("td", f"{row.row:,}", class_="num"),
        tag("td", row.label),
        tag("td", row.prediction, tag("em", " wrong") if wrong else None),
        tag("td", short(row.budget), class_="num"),
        tag("td", names + (f" and {more} more" if more > 0 else "")),
    )


def risk_bounds(summary: Summary) -> Html:
    """What holds for new rows."""
    certified = {i: m for i, m in enumerate(summary.models) if m.risk is not None}
    if not certified:
        return section("risk", "Risk on new rows", why_uncertified(summary))
    text = (
        "Upper bounds on the probability that a new row is wrong, or can be made wrong "
        "by deleting up to so many features."
    )
    assumptions = (
        f"Each bound holds by itself with probability {1 - summary.delta:.0%} "
        "(Chernoff's bound, from the certified accuracy of these rows), provided that "
        "the rows here were drawn independently from the same source as the new ones, "
        "and that no model was trained, tuned or chosen by looking at them."
    )
    budgets = next(iter(certified.values())).risk
    rows = [
        (
            short(budget),
            {i: number(m.risk.y[k]) for i, m in certified.items() if m.risk},
        )
        for k, budget in enumerate(budgets.x if budgets else ())
    ]
    names = {i: model.name for i, model in certified.items()}
    return section(
        *("risk", "Risk on new rows", tag("p", text)),
        model_table("Bound on the risk", "features deleted", names, rows),
        tag("p", assumptions, class_="note"),
    )
