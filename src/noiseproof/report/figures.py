"""The charts of a page, each with a slider to read it by and a table of its numbers."""

from __future__ import annotations

from collections.abc import Sequence

from noiseproof.report.charts import Curve, line_chart
from noiseproof.report.html import Html, join, tag
from noiseproof.report.overview import metric_name
from noiseproof.report.scales import short
from noiseproof.report.summary import Series, Summary
from noiseproof.report.tables import model_table, number, section

__all__ = ["random_deletion", "why_uncertified", "worst_deletion"]

_FLOOR = -1  # charts of R² end here


def random_deletion(summary: Summary) -> Html:
    """Curves under random deletion."""
    curves = [Curve(i, m.name, m.deletion) for i, m in enumerate(summary.models)]
    text = (
        "Each feature of each row dies with the probability below; all models see the "
        f"same losses. {summary.deleted}"
    )
    if summary.n_repeats > 1:
        text += (
            f" Lines are means of {summary.n_repeats} draws, shades their 95% "
            "intervals, which speak of the losses and not of other rows."
        )
    if min(min(curve.line.y) for curve in curves) < _FLOOR:
        text += " What is below −1 is cut off."
    metric = metric_name(summary.scoring)
    return section(
        "random",
        "Features that die at random",
        tag("p", text),
        _figure("random", curves, metric, "share of features deleted"),
    )


def worst_deletion(summary: Summary) -> Html:
    """Certified accuracy, and what the attack itself leaves."""
    curves = [
        Curve(i, model.name, model.certified, model.attacked)
        for i, model in enumerate(summary.models)
        if model.certified is not None
    ]
    absent = why_uncertified(summary)
    title = "Features that an adversary deletes"
    if not curves:
        return section("worst", title, absent)
    text = (
        "Certified accuracy: the share of rows that are right and stay right whichever "
        "features are deleted, up to the number below, by somebody who knows the model "
        "and chooses anew for every row. This is a proof, not an experiment. "
    )
    if any(curve.points for curve in curves):
        text += "Marks are the accuracy that was left after the worst deletion itself."
    inexact = sum(model.inexact for model in summary.models)
    if inexact:
        text += (
            f" {inexact:,} certificates were decided by rounding and count as the "
            "lower number."
        )
    x_name = "features deleted in every row"
    figure = _figure("worst", curves, "certified accuracy", x_name, steps=True)
    return section("worst", title, tag("p", text), figure, absent)


def why_uncertified(summary: Summary) -> Html:
    """One sentence for the models that have no certificates, by the reason."""
    whose: dict[str, list[str]] = {}
    for model in summary.models:
        if model.why_uncertified:
            whose.setdefault(model.why_uncertified, []).append(model.name)
    return join(
        tag("p", f"No certificates for {', '.join(names)}. {why}")
        for why, names in whose.items()
    )


def _figure(
    id_: str, curves: Sequence[Curve], metric: str, x_name: str, steps: bool = False
) -> Html:
    names = {curve.model: curve.name for curve in curves}
    label = f"Line chart: {metric} by {x_name}, of {', '.join(names.values())}."
    rows = [
        (short(x), {curve.model: _cell(curve.line, i) for curve in curves})
        for i, x in enumerate(curves[0].line.x)
    ]
    caption = f"{metric[0].upper()}{metric[1:]} by {x_name}"
    return tag(
        "figure",
        tag("div", line_chart(curves, label, x_name, metric, steps), class_="plot"),
        _reader(f"{id_}-at", x_name, len(rows)),
        tag(
            "details",
            tag("summary", "Numbers of this chart"),
            model_table(caption, x_name, names, rows),
        ),
    )


def _reader(id_: str, x_name: str, n: int) -> Html:
    """A slider over the x of a chart; shown by the script, which fills the output."""
    slider = {"type": "range", "min": 0, "max": n - 1, "step": 1, "value": n // 2}
    return tag(
        "div",
        tag("label", f"Read off: {x_name}", for_=id_),
        tag("input", id=id_, **slider),
        tag("output", for_=id_, aria_live="off"),
        class_="reader",
        hidden=True,
    )


def _cell(line: Series, i: int) -> str:
    if line.low is None or line.high is None:
        return number(line.y[i])
    return f"{number(line.y[i])} ± {number((line.high[i] - line.low[i]) / 2)}"
