"""A page from a summary: one file that needs nothing else."""

from __future__ import annotations

import base64
import hashlib
from importlib.resources import files

from noiseproof.report.figures import random_deletion, worst_deletion
from noiseproof.report.html import Html, raw, tag
from noiseproof.report.losses import fragile, risk_bounds, worst_rows
from noiseproof.report.overview import at_a_glance, data
from noiseproof.report.summary import Summary
from noiseproof.report.tables import section, swatch

__all__ = ["render"]

_COLOURS = 8  # of the style sheet


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
    """
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
        tag("style", raw(style)),
    )
    body = tag(
        "body",
        tag("a", "Skip to the findings", href="#glance", class_="skip"),
        tag("header", tag("h1", summary.title), _toggles(summary)),
        tag("main", *(part(summary) for part in _SECTIONS)),
        tag("script", raw(script)),
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


def settings(summary: Summary) -> Html:
    """What it takes to get the same page again."""
    facts = [(name, tag("code", value)) for name, value in summary.settings.items()]
    facts += [
        (f"model {model.name}", tag("code", model.description))
        for model in summary.models
    ]
    versions = ", ".join(f"{name} {v}" for name, v in summary.versions.items())
    facts.append(("versions", tag("span", versions)))
    rows = [tag("div", tag("dt", name), tag("dd", fact)) for name, fact in facts]
    return section("settings", "To reproduce", tag("dl", *rows, class_="facts"))


_SECTIONS = (
    at_a_glance,
    data,
    random_deletion,
    worst_deletion,
    fragile,
    worst_rows,
    risk_bounds,
    settings,
)
