"""A page from a summary: one file that needs nothing else.

The page itself is the template `assets/page.html`; here is what it says. Jinja escapes
every text that is not the work of a template or a chart, so no name of a feature, class
or file needs a thought.
"""

from __future__ import annotations

import base64
import hashlib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import fields, is_dataclass, replace
from importlib.resources import files
from typing import Any
from unicodedata import bidirectional

from noiseproof._charts import (
    FLOOR,
    Chart,
    Line,
    Series,
    Svg,
    dot_strip,
    short,
    swatch,
    to_svg,
)
from noiseproof._docs import shared_docs
from noiseproof.report.summary import ModelSummary, Summary

_HALF = 0.5  # of the features are gone: the level to compare models at
_FEW = 12  # classes whose sizes are listed
_TURNING = {"R", "AL", "RLE", "RLO", "LRE", "LRO", "PDF", "RLI", "LRI", "FSI", "PDI"}
_ISOLATE, _END = "\u2068", "\u2069"  # FSI and PDI
_OPENING = {"\u2066", "\u2067", _ISOLATE}


@shared_docs
def render(summary: Summary) -> str:
    """Write a page: a pure function of the summary. It needs Jinja2.

    Parameters
    ----------
    summary : Summary
        From `gather`.

    Returns
    -------
    page : str
        An HTML document that fetches nothing and runs no script but its own.

    {See Also: gather, write_report}

    Examples
    --------
    >>> from noiseproof import DropoutSVC
    >>> from noiseproof.report import Plan, gather, render
    >>> X, y = [[0.0, 1.0], [1.0, 0.0], [0.2, 1.0], [1.0, 0.1]], [0, 1, 0, 1]
    >>> model = DropoutSVC(noise=0.1).fit(X, y)
    >>> render(gather({"SVM": model}, X, y, Plan(n_repeats=2)))[:15]
    '<!DOCTYPE html>'
    """
    s = isolated(summary)
    rules = (  # the toggles of the models, which so need no script
        f"body:has(#show-{i}:not(:checked)) .m{i}{{display:none}}\n"
        for i in range(len(s.models))
    )
    style, script = asset("style.css") + "".join(rules), asset("script.js")
    policy = (
        f"default-src 'none'; style-src '{_hash(style)}'; script-src "
        f"'{_hash(script)}'; base-uri 'none'; form-action 'none'"
    )
    env = environment()
    env.globals |= {"to_svg": to_svg, "swatch": swatch, "of_rows": _of_rows}
    page = env.get_template("page.html")
    return page.render(
        s=s, style=style, script=script, policy=policy, **_contents(s)
    ).lstrip()


def environment() -> Any:
    """Jinja, which escapes every text that is not the work of a template."""
    try:
        from jinja2 import Environment, FunctionLoader
        from markupsafe import Markup, escape
    except ImportError as error:
        raise ImportError(
            "The report needs Jinja2: pip install 'noiseproof[report]'."
        ) from error
    env = Environment(
        autoescape=True,
        loader=FunctionLoader(asset),
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
    )
    env.filters |= {"number": number, "short": short, "points": _points}
    env.filters["breakable"] = lambda name: Markup(
        str(escape(name)).replace("_", "_<wbr>")
    )
    return env


def asset(name: str) -> str:
    """A file of the page."""
    return (files(__package__) / "assets" / name).read_text(encoding="utf-8")


def _hash(text: str) -> str:
    """Its hash, as a policy of the page names it."""
    digest = hashlib.sha256(text.encode("utf-8")).digest()
    return "sha256-" + base64.b64encode(digest).decode("ascii")


def isolated(thing: Any) -> Any:
    """All texts of a summary such that none changes the order of what stands beside it.

    A text that runs from right to left, or that holds characters which turn the order
    round, is put between Unicode's marks of isolation; they work where there can be no
    element, too: in titles, labels and charts.
    """
    if isinstance(thing, str):
        return _isolated_text(thing)
    if isinstance(thing, Mapping):
        return {isolated(key): isolated(value) for key, value in thing.items()}
    if isinstance(thing, tuple):
        return tuple(map(isolated, thing))
    if is_dataclass(thing) and not isinstance(thing, type):
        parts = {f.name: isolated(getattr(thing, f.name)) for f in fields(thing)}
        return replace(thing, **parts)
    return thing


def _isolated_text(text: str) -> str:
    """A text between marks of isolation, if it needs them."""
    if text.isascii() or _TURNING.isdisjoint(map(bidirectional, text)):
        return text
    kept, depth = [], 0
    for letter in text:
        depth += letter in _OPENING
        if letter == _END:
            if not depth:
                continue  # it would end our own isolation
            depth -= 1
        kept.append(letter)
    return _ISOLATE + "".join(kept) + _END * (depth + 1)


def number(value: float | None, digits: int = 3) -> str:
    """A score with equally many decimals everywhere; a dash for None."""
    if value is None:
        return "–"
    text = f"{value:.{digits}f}"
    return text.lstrip("-") if float(text) == 0 else text.replace("-", "−")


def _contents(s: Summary) -> dict[str, Any]:
    """What the page says, by the names of the template."""
    metric = "R²" if s.scoring == "r2" else s.scoring
    every = range(len(s.models))
    answer = "most frequent class" if s.data.classes else "mean"
    own = enumerate(s.models)
    proofs = [Line(m.name, m.certified, i) for i, m in own if m.certified]
    proven = [line.number for line in proofs]
    return {
        "metric": metric,
        "all": every,
        "verdict": _verdict(s, metric, f"always giving the {answer}"),
        "curves": Chart(
            [Line(m.name, m.deletion, i) for i, m in enumerate(s.models)],
            f"share of {s.curve}",
            metric,
            reference=(f"always the {answer}", s.data.chance),
        ),
        "cut_off": min(min(m.deletion.y) for m in s.models) < FLOOR,
        "columns": _columns(s, metric),
        "unperturbed": _unperturbed(s),
        "some_unproven": bool(proven) and len(proven) < len(s.models),
        "recalls": [
            (c, {i: number(s.models[i].recalls[c]) for i in every})
            for c in s.models[0].recalls
        ],
        "proven": proven,
        "proofs": Chart(
            proofs, "features lost in every row", "certified accuracy", steps=True
        ),
        "proof_notes": list(_proof_notes(s)),
        "intervals": list(_intervals(s)),
        "holes": list(_holes(s)),
        "risks": list(_risks(s, proven)),
        "tiles": list(_tiles(s)),
        "classes": _sizes(s.data.classes),
        "costs": {kind: list(_costs(s, kind)) for kind in s.costly},
        "measured": {kind: _measured(s, kind) for kind in s.costly},
        "left_out": [*_left_out(s), *([] if proven else _proof_notes(s))],
    }


def _risks(s: Summary, proven: Sequence[int]) -> Iterator[tuple[str, dict[int, str]]]:
    """Rows of the table of risks: their bounds at each budget, by model."""
    risks = {i: s.models[i].risk or Series((), ()) for i in proven}
    longest = max((risk.x for risk in risks.values()), key=len, default=())
    for k, x in enumerate(longest):
        yield short(x), {i: number(r.y[k]) for i, r in risks.items() if k < len(r.y)}


def _intervals(s: Summary) -> Iterator[tuple[str, dict[int, str]]]:
    """Rows of the table of intervals: coverage and width at each level, by model."""
    pairs = {i: (m.covered, m.width) for i, m in enumerate(s.models)}
    known = {
        i: (c, w) for i, (c, w) in pairs.items() if c is not None and w is not None
    }
    for k, level in enumerate(next(iter(known.values()))[0].x if known else ()):
        cells = {}
        for i, (covered, width) in known.items():
            error = covered.y[k] - (covered.low or covered.y)[k]
            share = f"{number(covered.y[k])} ± {number(error)}"
            cells[i] = f"{share}, width {short(width.y[k])}"
        yield f"{level:.0%}", cells


def _holes(s: Summary) -> Iterator[tuple[str, dict[int, str]]]:
    """Rows of the table of what is missing: scores and costs of columns, by model."""
    found = {i: m.holes for i, m in enumerate(s.models) if m.holes is not None}

    def with_ends(ends: tuple[float, ...]) -> str:
        value, low, high = map(number, ends)
        return f"{value} ({low} to {high})"

    for title, name in (
        ("as they are", "score"),
        ("with nothing missing", "complete_score"),
        ("cost of all missing values", "cost"),
    ):
        if found:
            yield title, {i: with_ends(getattr(h, name)) for i, h in found.items()}
    for name in dict.fromkeys(name for h in found.values() for name in h.columns):
        cells = {
            i: with_ends(h.columns[name][1:])
            for i, h in found.items()
            if name in h.columns
        }
        share = next(h.columns[name][0] for h in found.values() if name in h.columns)
        yield f"{name}, {share:.0%} missing", cells


def _sizes(classes: Mapping[str, int]) -> str:
    """The largest classes with their numbers of rows."""
    largest = sorted(classes.items(), key=lambda item: -item[1])
    sizes = [f"{name} ({size:,})" for name, size in largest[:_FEW]]
    if len(largest) > _FEW:
        sizes.append(f"and {len(largest) - _FEW:,} smaller classes")
    return ", ".join(sizes)


def _points(chart: Chart) -> Iterator[tuple[str, dict[int, str]]]:
    """The numbers of a chart, a row for each x."""
    for k, x in enumerate(chart.lines[0].series.x):
        cells = {}
        for _, own, i in chart.lines:
            cells[i] = number(own.y[k])
            if own.low is not None and own.high is not None:
                cells[i] += f" ± {number((own.high[k] - own.low[k]) / 2)}"
        yield short(x), cells


def _listed(names: Sequence[str]) -> str:
    """Names as in a sentence."""
    if len(names) == 1:
        return names[0]
    return f"{', '.join(names[:-1])} and {names[-1]}"


def _verdict(s: Summary, metric: str, chance: str) -> Iterator[str]:
    """The findings in a few sentences; who is best is decided by intervals."""
    levels = s.models[0].deletion.x
    half = s.models[0].deletion.nearest(_HALF)
    share = f"{levels[half]:.0%} of {s.curve}"
    if len(s.models) == 1:
        (m,) = s.models
        clean, after = number(m.scores[s.scoring]), number(m.deletion.y[half])
        yield f"{m.name}: {metric} {clean} on {_unperturbed(s)}, {after} with {share}."
    else:
        if levels[0] == 0:
            yield f"On {_unperturbed(s)} {_best(s, 0, metric)}."
        if half or levels[0]:
            yield f"With {share} {_best(s, half, metric)}."
        first = s.leaders[0][0]
        better = next((best[0] for best in s.leaders if first not in best), None)
        if better is not None:
            ahead = [best[0] == better and first not in best for best in s.leaders]
            names = s.models[better].name, s.models[first].name
            when = _first_run(levels, ahead)
            yield f"{when}, {names[0]} is clearly better than {names[1]}."
    lows = zip(*(m.deletion.low for m in s.models if m.deletion.low), strict=True)
    lost = [max(low) <= s.data.chance for low in lows]
    if any(lost):
        who = "it is not" if len(s.models) == 1 else "no model is"
        yield f"{_first_run(levels, lost)}, {who} clearly better than {chance}."


def _unperturbed(s: Summary) -> str:
    """The rows before anything is lost; some values may be missing already."""
    return "these rows as they are" if s.data.missing else "clean rows"


def _first_run(levels: Sequence[float], holds: Sequence[bool]) -> str:
    """At which levels in a row it holds for the first time, in words."""
    start = list(holds).index(True)
    end = next((k for k in range(start, len(levels)) if not holds[k]), len(levels))
    if end == len(levels):
        return f"From {levels[start]:.0%} on"
    if end == start + 1:
        return f"At {levels[start]:.0%}"
    return f"From {levels[start]:.0%} to {levels[end - 1]:.0%}"


def _best(s: Summary, level: int, metric: str) -> str:
    """Who is best at a level, or between whom there is no difference."""
    names = [
        f"{s.models[i].name} ({number(s.models[i].deletion.y[level])})"
        for i in s.leaders[level]
    ]
    if len(names) == 1:
        return f"{names[0]} has the best {metric}"
    if len(names) == len(s.models):
        return f"there is no clear difference in {metric} between {_listed(names)}"
    return (
        f"{_listed(names)} have the best {metric}, with no clear difference between "
        "them"
    )


def _columns(s: Summary, metric: str) -> list[tuple[str, list[tuple[str, bool]]]]:
    """Columns of the table of models: a head, and texts that are bold or not."""
    levels = s.models[0].deletion.x
    half = s.models[0].deletion.nearest(_HALF)
    bold = [set(best) if len(s.models) > 1 else set() for best in s.leaders]
    found = []
    for name in s.models[0].scores:
        cells = [(number(m.scores[name]), False) for m in s.models]
        if name == s.scoring:
            if levels[0] == 0:
                cells = [(text, i in bold[0]) for i, (text, _) in enumerate(cells)]
            found.append((f"{metric} on {_unperturbed(s)}", cells))
            cells = [
                (number(m.deletion.y[half]), i in bold[half])
                for i, m in enumerate(s.models)
            ]
            name = f"{metric} with {levels[half]:.0%} of {s.curve}"
        found.append((name, cells))
    if any(m.certified for m in s.models):
        cells = [(_median(m), False) for m in s.models]
        found.append(
            ("features to lose until half of the predictions can change", cells)
        )
    return found


def _median(model: ModelSummary) -> str:
    """What it takes to change half of the predictions; a dash if nothing is proven."""
    if model.certified is None:
        return "–"
    return (
        "half never can" if model.median_budget is None else short(model.median_budget)
    )


def _costs(s: Summary, kind: str) -> Iterator[tuple[str, Svg, list[str]]]:
    """Rows of a table of costs: a name, a strip with the models' marks, numbers."""
    names = [m.name for m in s.models]
    costs = [m.costs.get(kind, {}) for m in s.models]
    for name in s.costly[kind]:
        every = [own[one] for own in costs for one in s.costly[kind] if one in own]
        own = {i: cost[name] for i, cost in enumerate(costs) if name in cost}
        strip = dot_strip(own, min(0.0, *every), max(1e-9, *every), names)
        cells = [number(own.get(i)) for i in range(len(names))]
        if kind.startswith("pair"):
            alone = [m.costs.get("alone", {}).get(name) for m in s.models]
            cells = [f"{c} ({number(a)})" for c, a in zip(cells, alone, strict=True)]
        yield name, strip, cells


def _of_rows(s: Summary, rows: int) -> str:
    """How many rows were drawn, if not all of them were used."""
    if rows >= s.data.rows:
        return ""
    return f"Measured on {rows:,} of the {s.data.rows:,} rows, drawn at random."


def _measured(s: Summary, kind: str) -> str:
    """How many rows the costs of a kind were measured on, if not on all of them."""
    by_model = [m.cost_rows.get(kind, 0) for m in s.models]
    different = sorted({*by_model} - {0})
    if len(different) < 2:
        return "".join(_of_rows(s, rows) for rows in different)
    return " ".join(
        f"{_listed([s.models[i].name for i, n in enumerate(by_model) if n == rows])}: "
        f"measured on {rows:,} of the {s.data.rows:,} rows."
        for rows in different
    )


def _proof_notes(s: Summary) -> Iterator[str]:
    """Notes on the certificates, and on models that have none."""
    inexact = sum(m.inexact for m in s.models)
    if inexact:
        yield f"{inexact:,} certificates are lower bounds: exact ones may be higher."
    for m in s.models:
        if m.median_changed is not None:
            yield (
                f"{m.name} is an ensemble that votes, so there is a proof for wrong "
                "values, too: half of the predictions cannot change unless at least "
                f"{short(m.median_changed)} features are changed."
            )
    whose: dict[str, list[str]] = {}
    for m in s.models:
        if m.why_uncertified:
            whose.setdefault(m.why_uncertified, []).append(m.name)
    for why, names in whose.items():
        yield f"No certificates for {_listed(names)}. {why}"


def _tiles(s: Summary) -> Iterator[tuple[str, str]]:
    """Facts about the data."""
    about = s.data
    yield "rows", f"{about.rows:,}"
    yield "features", f"{about.features:,}"
    for n in sorted({m.n_features for m in s.models} - {about.features}):
        who = [m.name for m in s.models if m.n_features == n]
        yield f"features behind the encoder of {_listed(who)}", f"{n:,}"
    if about.classes:
        yield "classes", f"{len(about.classes):,}"
    yield "missing values", f"{about.missing:.1%}"
    if about.stored is not None:
        yield "values that are not zero", f"{about.stored:.2%}"
    if about.training_rows is not None:
        yield "rows trained on", f"{about.training_rows:,}"


def _left_out(s: Summary) -> Iterator[str]:
    """What was not done or is not shown."""
    for kind, names in s.costly.items():
        if len(names) < s.tried[kind]:
            what = kind.replace("pair", "pairs") if " " in kind else f"{kind}s"
            n = s.tried[kind]
            yield f"Of {n:,} {what} the {len(names)} that cost most are shown."
    untried = [m.name for m in s.models if not m.cost_rows["feature"]]
    if untried:
        yield (
            f"There are too many features to try the loss of each with "
            f"{_listed(untried)}."
        )
    if s.tried["group"] > 1 and not s.tried["pair of groups"]:
        yield "There are too many pairs of groups to try them one by one."
    for m in s.models:
        if m.why_no_intervals:
            yield f"Intervals of {m.name} are not shown. {m.why_no_intervals}"
    if len(s.data.classes) > _FEW:
        yield f"Scores by class are left out: there are more than {_FEW} classes."
