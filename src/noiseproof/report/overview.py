"""The first part of a page: what was found, and on which data."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import NamedTuple

from noiseproof.report.html import Html, tag
from noiseproof.report.summary import ModelSummary, Summary
from noiseproof.report.tables import model_table, number, section, swatch, table

__all__ = ["at_a_glance", "data", "metric_name"]

_METRICS = {"r2": "R²"}
_HALF = 0.5  # of the features are gone: the level to compare models at
_FEW = 12  # classes whose sizes are listed


def metric_name(scoring: str) -> str:
    """A metric as people write it."""
    return _METRICS.get(scoring, scoring)


def at_a_glance(summary: Summary) -> Html:
    """One row per model with what matters most."""
    columns = _columns(summary)
    rows = []
    for i, model in enumerate(summary.models):
        head = tag("th", swatch(i), " ", model.name, scope="row")
        cells = [tag("td", column.cell(i), class_="num") for column in columns]
        rows.append(tag("tr", head, *cells, class_=f"m{i}"))
    heads = [tag("th", "model", scope="col")]
    heads += [tag("th", c.name, scope="col", class_="num") for c in columns]
    caption = "Scores on clean rows, and after losses"
    if len(rows) > 1:
        caption += "; the best of each column in bold"
    return section(
        "glance",
        "At a glance",
        tag("p", _headline(summary), class_="lead"),
        table(caption, heads, rows),
        _recalls(summary),
    )


class _Column(NamedTuple):
    """A number per model; `sense` is 1 if more is better and -1 if less is."""

    name: str
    values: list[float | None]
    digits: int = 3
    sense: int = 1

    def cell(self, i: int) -> Html | str:
        """The number of model i, bold if it is the best of several."""
        text = number(self.values[i], self.digits)
        known = [self.sense * value for value in self.values if value is not None]
        value = self.values[i]
        if len(known) > 1 and value is not None and self.sense * value == max(known):
            return tag("strong", text)
        return text


def _columns(summary: Summary) -> list[_Column]:
    models = summary.models
    columns = [
        _Column(
            metric_name(metric),
            [model.scores[metric] for model in models],
            sense=-1 if "error" in metric else 1,
        )
        for metric in models[0].scores
    ]
    half = models[0].deletion.nearest(_HALF)
    share = models[0].deletion.x[half]
    name = f"{metric_name(summary.scoring)} with {share:.0%} of features deleted"
    columns.insert(1, _Column(name, [model.deletion.y[half] for model in models]))
    if any(model.certified for model in models):
        medians = [_median(model) for model in models]
        columns.append(_Column("features a typical prediction hangs by", medians, 0))
    return columns


def _median(model: ModelSummary) -> float | None:
    """Infinite where no deletion changes half of the rows."""
    if model.certified is None:
        return None
    return math.inf if model.median_budget is None else model.median_budget


def _headline(summary: Summary) -> str:
    """The finding in a sentence or two."""
    metric, models = metric_name(summary.scoring), summary.models
    half = models[0].deletion.nearest(_HALF)
    share = f"{models[0].deletion.x[half]:.0%} of the features deleted at random"
    clean = max(models, key=lambda model: model.scores[summary.scoring])
    noisy = max(models, key=lambda model: model.deletion.y[half])
    score = number(clean.scores[summary.scoring])
    after = number(clean.deletion.y[half])
    if len(models) == 1:
        return f"{clean.name}: {metric} {score} on clean rows, {after} with {share}."
    first = f"On clean rows {clean.name} is best, with {metric} {score}. With {share}"
    if noisy is clean:
        return f"{first} it still is, with {after}."
    return (
        f"{first} it falls to {after}, and {noisy.name} is best, with "
        f"{number(noisy.deletion.y[half])}."
    )


def _recalls(summary: Summary) -> Html | None:
    """Recall by class, if there are few classes."""
    models = dict(enumerate(summary.models))
    labels = summary.models[0].recalls
    if not labels:
        return None
    rows = [
        (label, {i: number(model.recalls[label]) for i, model in models.items()})
        for label in labels
    ]
    names = {i: model.name for i, model in models.items()}
    caption = "Share of the rows of each class that are right"
    return tag(
        "details",
        tag("summary", "By class"),
        model_table(caption, "class", names, rows),
    )


def data(summary: Summary) -> Html:
    """What the models were judged on."""
    about = summary.data
    facts = {"rows": f"{about.rows:,}", "features": f"{about.features:,}"}
    if about.classes:
        facts["classes"] = f"{len(about.classes):,}"
    facts["missing cells"] = f"{about.missing:.1%}"
    if about.stored is not None:
        facts["cells that are not zero"] = f"{about.stored:.2%}"
    if about.training_rows is not None:
        facts["rows trained on"] = f"{about.training_rows:,}"
    tiles = [
        tag("div", tag("dt", name), tag("dd", fact)) for name, fact in facts.items()
    ]
    notes = [tag("p", _sizes(about.classes))] if about.classes else []
    if about.curve_rows < about.rows:
        text = (
            f"Curves and costs were measured on {about.curve_rows:,} rows drawn at "
            "random; clean scores and certificates on all."
        )
        notes.append(tag("p", text))
    return section("data", "Data", tag("dl", *tiles, class_="tiles"), *notes)


def _sizes(classes: Mapping[str, int]) -> str:
    largest = sorted(classes.items(), key=lambda item: -item[1])
    shown = ", ".join(f"{name} ({size:,})" for name, size in largest[:_FEW])
    return f"Rows by class: {shown}{', ...' if len(largest) > _FEW else ''}."
