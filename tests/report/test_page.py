"""Pages: valid, safe, complete, and a pure function of the summary."""

import base64
import hashlib
import json
import re
from dataclasses import replace

import numpy as np
import pytest
from reading import POINTERS, Reader

from noiseproof import DropoutSVC
from noiseproof.report import Plan, Summary, gather, render
from noiseproof.report.html import isolated, number, short
from noiseproof.report.page import _asset

EVIL = "<script>alert(1)</script>"
EVIL_ATTRIBUTE = '"\' onload=alert(1) x="><img src=x onerror=alert(1)>&amp;'


@pytest.fixture(scope="module")
def read(page):
    return Reader(page)


def test_ids_are_unique_and_every_pointer_points(read):
    ids = read.attributes("id")
    assert len(set(ids)) == len(ids)
    pointed = [target for name in POINTERS for target in read.attributes(name)]
    pointed += [href.removeprefix("#") for href in read.attributes("href")]
    assert pointed
    assert set(pointed) <= set(ids)


def test_every_control_has_a_label(read):
    labels = {attrs.get("for") for tag, attrs in read.elements if tag == "label"}
    controls = [attrs["id"] for tag, attrs in read.elements if tag == "input"]
    assert len(controls) == 5 + 2  # a checkbox per model, a slider per chart
    assert set(controls) <= labels


def test_every_chart_has_a_name_and_a_table(read):
    images = [attrs for _, attrs in read.elements if attrs.get("role") == "img"]
    assert len(images) == 2
    assert all(attrs["aria-label"] for attrs in images)
    summaries = [tag for tag, _ in read.elements if tag == "details"]
    assert len(summaries) == 2 + 1  # and the recall by class


def test_nothing_is_fetched_and_only_our_script_runs(page, read):
    assert not [tag for tag, _ in read.elements if tag in ("link", "img", "iframe")]
    assert not read.attributes("src")
    assert not re.findall(r"https?:|url\(|@import", page)
    for _, attrs in read.elements:
        assert "style" not in attrs  # the policy would block it
        assert not [name for name in attrs if name.startswith("on")]
    assert read.scripts == [_asset("script.js")]
    (policy,) = (a["content"] for _, a in read.elements if "http-equiv" in a)
    digest = hashlib.sha256(read.scripts[0].encode()).digest()
    assert f"script-src 'sha256-{base64.b64encode(digest).decode()}'" in policy
    assert policy.startswith("default-src 'none';")
    assert "unsafe" not in policy


def test_names_from_the_data_stay_text(rng):
    X = rng.normal(size=(60, 3))
    y = np.where(X[:, 0] > 0, EVIL, EVIL_ATTRIBUTE)
    names = [EVIL, EVIL_ATTRIBUTE, "plain"]
    plan = Plan(
        levels=[0, 0.5],
        n_repeats=2,
        title=EVIL,
        feature_names=names,
        groups={EVIL_ATTRIBUTE: [EVIL]},
        settings={EVIL: EVIL_ATTRIBUTE},
    )
    model = DropoutSVC(0.2).fit(X, y)
    found = gather({EVIL: model, EVIL_ATTRIBUTE: model}, X, y, plan)
    page = render(found)
    read = Reader(page)
    assert read.scripts == [_asset("script.js")]
    assert not [tag for tag, _ in read.elements if tag == "img"]
    assert not read.attributes("onload")
    assert EVIL not in page
    assert read.text.count(EVIL) >= 8  # title, features, classes, models, settings
    assert read.text.count(EVIL_ATTRIBUTE) >= 6


def test_the_page_depends_on_the_summary_alone(summary, page):
    before = json.dumps(summary.to_dict(), allow_nan=False)
    assert render(summary) == page
    assert json.dumps(summary.to_dict(), allow_nan=False) == before
    assert render(replace(summary, title="Another")) != page


def test_the_tables_show_the_numbers_of_the_summary(summary, read):
    assert isinstance(summary, Summary)
    curve = read.table("Accuracy by share of features deleted (read as zero)")
    certified = read.table("Certified accuracy by features deleted in every row")
    risk = read.table("Bound on the risk")
    costs = read.table("Accuracy lost without each feature")
    groups = read.table("Accuracy lost without each group")
    for i, model in enumerate(summary.models):
        means = [row[1 + i].split(" ± ")[0] for row in curve[1:]]
        assert means == [number(y) for y in model.deletion.y]
        for rows, kinds in ((costs, "feature_costs"), (groups, "group_costs")):
            shown = {row[0]: row[2 + i] for row in rows[1:]}
            expected = getattr(model, kinds)
            assert shown == {name: number(cost) for name, cost in expected.items()}
        if model.certified is None:
            continue
        assert [row[1 + i] for row in certified[1:]] == [
            number(y) for y in model.certified.y
        ]
        assert [row[1 + i] for row in risk[1:]] == [number(y) for y in model.risk.y]
        worst = read.table(f"Rows of {model.name} with the lowest certificates")
        assert [row[0] for row in worst[1:]] == [str(r.row) for r in model.worst_rows]


def test_the_page_says_what_it_rests_on(summary, read):
    for words in (
        "600",  # rows trained on
        "Rows by class: ",
        "No certificates for forest. RandomForestClassifier is not a linear",
        "drawn independently from the same source",
        "with probability 95%",
        summary.settings["command"],
        f"scikit-learn {summary.versions['scikit-learn']}",
        f"numpy {summary.versions['numpy']}",
        "Python 3.",
        "DropoutSVC(noise=0.3)",
    ):
        assert words in read.text


def test_numbers_are_written_as_people_do():
    assert [number(x) for x in (0.95, -0.0001, -1.5)] == ["0.950", "0.000", "−1.500"]
    assert [number(None), number(np.inf), number(2.0, 0)] == ["–", "∞", "2"]
    told = [short(x) for x in (0.30000000000000004, 20.0, 12000.0, -0.5)]
    assert told == ["0.3", "20", "12,000", "−0.5"]


def test_one_model_needs_no_toggle(summary):
    read = Reader(render(replace(summary, models=summary.models[2:3])))
    assert "Models shown" not in read.text
    assert "svc: accuracy" in read.text


def test_a_model_beyond_all_deletions_is_told(summary):
    svc = replace(summary.models[2], median_budget=None, worst_rows=(), n_worst=0)
    read = Reader(render(replace(summary, models=(svc,))))
    assert "No deletion changes any prediction." in read.text
    assert "∞" in read.text


RIGHT_TO_LEFT = "\u05d0\u05d1\u05d2"  # Hebrew letters
OVERRIDE = "\u202egnp.exe"
BREAKING_OUT = "a\u2069\u202eb"  # ends an isolation that it did not begin


@pytest.mark.parametrize("name", [RIGHT_TO_LEFT, OVERRIDE, BREAKING_OUT, "\u2067a"])
def test_texts_are_isolated_whatever_they_hold(name):
    inner = isolated(name)
    assert (inner[0], inner[-1]) == ("\u2068", "\u2069")
    depth = 0
    for place, letter in enumerate(inner):
        depth += (letter in "\u2066\u2067\u2068") - (letter == "\u2069")
        assert depth > 0 or place == len(inner) - 1
    assert depth == 0
    assert isolated("plain") == "plain"
    assert isolated({name: (name, 1)}) == {inner: (inner, 1)}


def test_names_that_run_from_right_to_left_turn_nothing_else_round(rng):
    X = rng.normal(size=(60, 3))
    y = np.where(X[:, 0] > 0, RIGHT_TO_LEFT, OVERRIDE)
    plan = Plan(
        levels=[0, 0.5],
        n_repeats=2,
        title=RIGHT_TO_LEFT,
        feature_names=[RIGHT_TO_LEFT, OVERRIDE, "plain"],
        groups={RIGHT_TO_LEFT: [0, 1]},
        settings={RIGHT_TO_LEFT: OVERRIDE},
    )
    model = DropoutSVC(0.2).fit(X, y)
    page = render(gather({RIGHT_TO_LEFT: model, OVERRIDE: model}, X, y, plan))
    Reader(page)
    for name in (RIGHT_TO_LEFT, OVERRIDE):
        assert page.count(name) == page.count(f"\u2068{name}\u2069") > 8
