"""A page from a summary: one file that needs nothing else."""

from __future__ import annotations

import base64
import hashlib
import math
from collections.abc import Iterable, Mapping, Sequence
from importlib.resources import files

from noiseproof.report.html import (
    Html,
    facts,
    heads,
    isolated,
    join,
    number,
    section,
    short,
    table,
    tag,
)
from noiseproof.report.summary import ModelSummary, Series, Summary, WorstRow
from noiseproof.report.svg import FLOOR, Curve, dot_strip, line_chart, swatch

Names = Mapping[int, str]  # of the models that a table is about, by their numbers

_COLOURS = 8  # of the style sheet
_HALF = 0.5  # of the features are gone: the level to compare models at
_FEW = 12  # classes whose sizes are listed
_NAMED = 5  # features in a row of the table of worst rows


def render(summary: Summary) -> str:
    """Write a page: a pure function of the summary.

    Parameters
    ----------
    summary : Summary
        From `gather`.

    Returns
    -------
    page : str
        An HTML document that fetches nothing and runs no script but its own.

    See Also
    --------
    gather : Finds out what the page shows.
    write_report : Does both steps.

    Examples
    --------
    >>> from noiseproof import DropoutSVC
    >>> from noiseproof.report import Plan, gather, render
    >>> X, y = [[0.0, 1.0], [1.0, 0.0], [0.2, 1.0], [1.0, 0.1]], [0, 1, 0, 1]
    >>> model = DropoutSVC(noise=0.1).fit(X, y)
    >>> render(gather({"SVM": model}, X, y, Plan(n_repeats=2)))[:15]
    '<!DOCTYPE html>'
    """
    summary = isolated(summary)
    style = _asset("style.css") + _model_rules(len(summary.models))
    script = _asset("script.js")
    policy = (
        f"default-src 'none'; style-src '{_hash(style)}'; script-src "
        f"'{_hash(script)}'; base-uri 'none'; form-action 'none'"
    )
    head = tag(
        "head",
        tag("meta", charset="utf-8"),
        tag("meta", http_equiv="Content-Security-Policy", content=policy),
        tag("meta", name="viewport", content="width=device-width, initial-scale=1"),
        tag("meta", name="generator", content="noiseproof"),
        tag("title", summary.title),
        tag("style", Html(style)),
    )
    body = tag(
        "body",
        tag("a", "Skip to the findings", href="#glance", class_="skip"),
        tag("header", tag("h1", summary.title), _toggles(summary)),
        tag("main", *(part(summary) for part in _SECTIONS)),
        tag("script", Html(script)),
    )
    return "<!DOCTYPE html>\n" + tag("html", head, body, lang="en") + "\n"


def _asset(name: str) -> str:
    return (files(__package__) / "assets" / name).read_text(encoding="utf-8")


def _model_rules(n_models: int) -> str:
    """A colour for each model, and the toggles, which so need no script."""
    return "".join(
        f".c{i}{{--c:var(--c-{i % _COLOURS})}}\n"
        f"body:has(#show-{i}:not(:checked)) .m{i}{{display:none}}\n"
        for i in range(n_models)
    )


def _hash(text: str) -> str:
    digest = hashlib.sha256(text.encode("utf-8")).digest()
    return "sha256-" + base64.b64encode(digest).decode("ascii")


def _toggles(summary: Summary) -> Html | None:
    """A checkbox for each of several models; the legend of all charts as well."""
    if len(summary.models) == 1:
        return None
    chips = [
        tag(
            "label",
            tag("input", type="checkbox", id=f"show-{i}", checked=True),
            swatch(i),
            tag("span", model.name),
            for_=f"show-{i}",
        )
        for i, model in enumerate(summary.models)
    ]
    return tag("fieldset", tag("legend", "Models shown"), *chips, class_="toggles")


def _written(metric: str) -> str:
    """A metric as people write it."""
    return "R²" if metric == "r2" else metric


def _names(summary: Summary) -> Names:
    return {i: model.name for i, model in enumerate(summary.models)}


def _model_table(
    caption: str,
    first: str,
    names: Names,
    rows: Iterable[tuple[str, Mapping[int, str]]],
) -> Html:
    """A column per model; each row has a name and cells by model."""
    lines = [
        tag(
            "tr",
            tag("th", name, scope="row"),
            *(tag("td", cells.get(i, "–"), class_=f"num m{i}") for i in names),
        )
        for name, cells in rows
    ]
    return table(caption, [*heads(first), *_model_heads(names)], lines)


def _model_heads(names: Names) -> list[Html]:
    return [
        tag("th", swatch(i), " ", name, scope="col", class_=f"num m{i}")
        for i, name in names.items()
    ]


def _glance(summary: Summary) -> Html:
    """The finding in a sentence, and one row per model with what matters most."""
    models = summary.models
    half = models[0].deletion.nearest(_HALF)
    share = models[0].deletion.x[half]
    columns = [
        (_written(m), _best([model.scores[m] for model in models], m))
        for m in models[0].scores
    ]
    name = f"{_written(summary.scoring)} with {share:.0%} of {summary.lost}"
    columns.insert(1, (name, _best([model.deletion.y[half] for model in models])))
    if any(model.certified for model in models):
        medians = [  # infinite where no deletion changes half of the rows
            None
            if m.certified is None
            else math.inf
            if m.median_budget is None
            else m.median_budget
            for m in models
        ]
        name = "features a typical prediction hangs by"
        columns.append((name, _best(medians, digits=0)))
    rows = [
        tag(
            "tr",
            tag("th", swatch(i), " ", model.name, scope="row"),
            *(tag("td", cells[i], class_="num") for _, cells in columns),
            class_=f"m{i}",
        )
        for i, model in enumerate(models)
    ]
    caption = "Scores on clean rows, and after losses"
    if len(rows) > 1:
        caption += "; the best of each column in bold"
    return section(
        "glance",
        "At a glance",
        tag("p", _headline(summary, half), class_="lead"),
        table(caption, [*heads("model"), *heads(*dict(columns), numeric=True)], rows),
        _recalls(summary),
    )


def _best(
    values: Sequence[float | None], metric: str = "", digits: int = 3
) -> list[Html | str]:
    """Numbers of the models, the best of several in bold."""
    known = [value for value in values if value is not None]
    best = min(known) if "error" in metric else max(known)
    return [
        tag("strong", number(value, digits))
        if len(known) > 1 and value == best
        else number(value, digits)
        for value in values
    ]


def _headline(summary: Summary, half: int) -> str:
    """The finding in a sentence or two."""
    metric, models = _written(summary.scoring), summary.models
    share = f"{models[0].deletion.x[half]:.0%} of {summary.lost}"
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
    models = summary.models
    if not models[0].recalls:
        return None
    rows = [
        (label, {i: number(model.recalls[label]) for i, model in enumerate(models)})
        for label in models[0].recalls
    ]
    caption = "Share of the rows of each class that are right"
    found = _model_table(caption, "class", _names(summary), rows)
    return tag("details", tag("summary", "By class"), found)


def _data(summary: Summary) -> Html:
    """What the models were judged on."""
    about = summary.data
    told = {"rows": f"{about.rows:,}", "features": f"{about.features:,}"}
    if about.classes:
        told["classes"] = f"{len(about.classes):,}"
    told["missing cells"] = f"{about.missing:.1%}"
    if about.stored is not None:
        told["cells that are not zero"] = f"{about.stored:.2%}"
    if about.training_rows is not None:
        told["rows trained on"] = f"{about.training_rows:,}"
    notes = []
    if about.classes:
        largest = sorted(about.classes.items(), key=lambda item: -item[1])
        sizes = ", ".join(f"{name} ({size:,})" for name, size in largest[:_FEW])
        more = ", ..." if len(largest) > _FEW else ""
        notes.append(tag("p", f"Rows by class: {sizes}{more}."))
    if about.curve_rows < about.rows:
        text = (
            f"Curves and costs were measured on {about.curve_rows:,} rows drawn at "
            "random; clean scores and certificates on all."
        )
        notes.append(tag("p", text))
    return section("data", "Data", facts(told.items(), "tiles"), *notes)


def _random_deletion(summary: Summary) -> Html:
    """Curves under random deletion."""
    curves = [Curve(i, m.name, m.deletion) for i, m in enumerate(summary.models)]
    text = (
        "Each cell of each row is lost with the probability below; all models see the "
        f"same losses. {summary.deleted}"
    )
    if summary.n_repeats > 1:
        text += (
            f" Lines are means of {summary.n_repeats} draws, shades their 95% "
            "intervals, which speak of the losses and not of other rows."
        )
    if min(min(curve.line.y) for curve in curves) < FLOOR:
        text += " What is below −1 is cut off."
    return section(
        "random",
        "Features that die at random",
        tag("p", text),
        _figure(
            "random", curves, _written(summary.scoring), f"share of {summary.lost}"
        ),
    )


def _worst_deletion(summary: Summary) -> Html:
    """Certified accuracy, and what the attack itself leaves."""
    curves = [
        Curve(i, model.name, model.certified, model.attacked)
        for i, model in enumerate(summary.models)
        if model.certified is not None
    ]
    absent = _why_uncertified(summary)
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


def _why_uncertified(summary: Summary) -> Html:
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
    """A chart with a slider to read it by, shown by the script, and its numbers."""
    names = {curve.model: curve.name for curve in curves}
    label = f"Line chart: {metric} by {x_name}, of {', '.join(names.values())}."
    rows = [
        (short(x), {curve.model: _interval(curve.line, i) for curve in curves})
        for i, x in enumerate(curves[0].line.x)
    ]
    n, at = len(rows), f"{id_}-at"
    slider = {"type": "range", "min": 0, "max": n - 1, "step": 1, "value": n // 2}
    numbers = _model_table(f"{metric.capitalize()} by {x_name}", x_name, names, rows)
    return tag(
        "figure",
        tag("div", line_chart(curves, label, x_name, metric, steps), class_="plot"),
        tag(
            "div",
            tag("label", f"Read off: {x_name}", for_=at),
            tag("input", id=at, **slider),
            tag("output", for_=at, aria_live="off"),
            class_="reader",
            hidden=True,
        ),
        tag("details", tag("summary", "Numbers of this chart"), numbers),
    )


def _interval(line: Series, i: int) -> str:
    if line.low is None or line.high is None:
        return number(line.y[i])
    return f"{number(line.y[i])} ± {number((line.high[i] - line.low[i]) / 2)}"


def _fragile(summary: Summary) -> Html:
    """Costs of losing features and groups."""
    text = (
        f"What {_written(summary.scoring)} loses when one feature is lost in all rows "
        f"({summary.lost}) and nothing is trained again; the highest cost to any model "
        "first. Below zero, a model does better without."
    )
    features = [model.feature_costs for model in summary.models]
    groups = [model.group_costs for model in summary.models]
    parts = [tag("p", text), _costs("feature", summary.features, features, summary)]
    if any(len(own) < len(summary.features) for own in features):
        dash = "A dash: the model lacks the feature, or has too many to try each."
        parts.append(tag("p", dash))
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
    names = _names(summary)
    every = [cost for own in costs for cost in own.values()]
    low, high = min(0.0, *every), max(*every, 1e-9)
    rows = []
    for name in dearest:
        own = {i: cost[name] for i, cost in enumerate(costs) if name in cost}
        strip = dot_strip(own, list(names.values()), low, high)
        cells = [tag("td", number(own.get(i)), class_=f"num m{i}") for i in names]
        first = tag("th", name, scope="row")
        rows.append(tag("tr", first, tag("td", strip, class_="wide"), *cells))
    head = [*heads(kind), tag("td", class_="wide"), *_model_heads(names)]
    metric = _written(summary.scoring).capitalize()
    return table(f"{metric} lost without each {kind}", head, rows)


def _worst_rows(summary: Summary) -> Html:
    """Rows whose prediction hangs by the fewest features."""
    certified = [(i, m) for i, m in enumerate(summary.models) if m.certified]
    if not certified:
        return section("rows", "Worst rows", _why_uncertified(summary))
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
    row, budget = heads("row", "budget", numeric=True)
    head = [row, *heads("true class", "predicted"), budget, *heads("delete")]
    caption = f"Rows of {model.name} with the lowest certificates"
    found = table(caption, head, map(_row, model.worst_rows))
    return tag("div", title, tag("p", count), found, class_=f"card m{i}")


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


def _risk_bounds(summary: Summary) -> Html:
    """What holds for new rows."""
    risks = {i: m.risk for i, m in enumerate(summary.models) if m.risk is not None}
    if not risks:
        return section("risk", "Risk on new rows", _why_uncertified(summary))
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
    longest = max((risk.x for risk in risks.values()), key=len)  # all begin alike
    rows = [
        (short(x), {i: number(r.y[k]) for i, r in risks.items() if k < len(r.y)})
        for k, x in enumerate(longest)
    ]
    names = {i: summary.models[i].name for i in risks}
    return section(
        *("risk", "Risk on new rows", tag("p", text)),
        _model_table("Bound on the risk", "features deleted", names, rows),
        tag("p", assumptions, class_="note"),
    )


def _settings(summary: Summary) -> Html:
    """What it takes to get the same page again."""
    told = [(name, tag("code", value)) for name, value in summary.settings.items()]
    told += [(f"model {m.name}", tag("code", m.description)) for m in summary.models]
    versions = ", ".join(f"{name} {v}" for name, v in summary.versions.items())
    told.append(("versions", tag("span", versions)))
    return section("settings", "To reproduce", facts(told, "facts"))


_SECTIONS = (
    *(_glance, _data, _random_deletion, _worst_deletion, _fragile),
    *(_worst_rows, _risk_bounds, _settings),
)
