"""Pages: valid, safe, complete, and a pure function of the summary."""

import base64
import hashlib
import json
import re
import sys
from dataclasses import replace

import numpy as np
import pytest
from reading import POINTERS, Reader

from noiseproof import DropoutSVC
from noiseproof._charts import COLOURS, short
from noiseproof.report import Plan, Summary, gather, render
from noiseproof.report.page import asset, isolated, number

CONTROLS = ("input", "select")
EVIL = "<script>alert(1)</script>"
EVIL_ATTRIBUTE = '"\' onload=alert(1) x="><img src=x onerror=alert(1)>&amp;'


@pytest.fixture(scope="module")
def read(page):
    return Reader(page)


def test_models_have_the_colours_of_the_displays(page):
    for i, colour in enumerate(COLOURS[:5]):
        assert f'class="swatch m{i}" color="{colour}"' in page


def test_ids_are_unique_and_every_pointer_points(read):
    ids = read.attributes("id")
    assert len(set(ids)) == len(ids)
    pointed = [target for name in POINTERS for target in read.attributes(name)]
    pointed += [href.removeprefix("#") for href in read.attributes("href")]
    assert pointed
    assert set(pointed) <= set(ids)


def test_every_control_has_a_label(read):
    labels = {attrs.get("for") for tag, attrs in read.elements if tag == "label"}
    controls = [attrs["id"] for tag, attrs in read.elements if tag in CONTROLS]
    assert len(controls) == 5 + 2 + 1  # a checkbox a model, a slider a chart, colours
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
    assert read.scripts == [asset("script.js")]
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
    assert read.scripts == [asset("script.js")]
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
    curve = read.table(
        "Accuracy by share of values replaced by zero (the model is not told)"
    )
    certified = read.table("Certified accuracy by features lost in every row")
    risk = read.table("Bound on the risk")
    costs = read.table("Accuracy lost without each feature")
    groups = read.table("Accuracy lost without each group")
    pairs = read.table("Accuracy lost without each pair of groups")
    for i, model in enumerate(summary.models):
        means = [row[1 + i].split(" ± ")[0] for row in curve[1:]]
        assert means == [number(y) for y in model.deletion.y]
        for rows, kinds in ((costs, "feature"), (groups, "group")):
            shown = {row[0]: row[2 + i] for row in rows[1:]}
            expected = model.costs[kinds]
            assert shown == {name: number(cost) for name, cost in expected.items()}
        shown = {row[0]: row[2 + i] for row in pairs[1:]}
        assert shown == {
            name: f"{number(cost)} ({number(model.costs['alone'][name])})"
            for name, cost in model.costs["pair of groups"].items()
        }
        if model.certified is None:
            continue
        assert [row[1 + i] for row in certified[1:]] == [
            number(y) for y in model.certified.y
        ]
        assert [row[1 + i] for row in risk[1:]] == [number(y) for y in model.risk.y]
        name = f"Confident predictions of {model.name} that change with the fewest"
        worst = read.table(f"{name} features")
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


def test_rows_with_missing_values_are_not_called_clean(summary):
    holed = replace(summary, data=replace(summary.data, missing=0.1))
    for which, words in ((summary, "clean rows"), (holed, "these rows as they are")):
        read = Reader(render(which))
        assert f"On {words} " in read.text
        assert f"accuracy on {words}" in read.text
        assert f"Scores on {words} and after losses" in read.text
        alone = Reader(render(_only(which, which.models[0])))
        assert f" on {words}, " in alone.text
    assert "clean rows" not in read.text


def test_a_model_without_certificate_has_a_dash_with_a_footnote(summary, read):
    (key,) = (rows for name, rows in read.tables.items() if name.startswith("Scores"))
    head, *rows = [[cell.strip() for cell in row] for row in key[0]]
    place = head.index("features to lose until half of the predictions can change")
    assert {row[0] for row in rows if row[place] == "–"} == {"forest"}
    footnote = "– No certificate is available for this model"
    assert footnote in read.text
    assert footnote not in Reader(render(_only(summary, summary.models[2]))).text


def test_a_model_called_model_is_not_called_so_twice(summary):
    model = replace(summary.models[0], name="model")
    page = render(_only(summary, model))
    assert "<dt>model</dt>" in page
    assert "model model" not in page


def test_numbers_are_written_as_people_do():
    assert [number(x) for x in (0.95, -0.0001, -1.5)] == ["0.950", "0.000", "−1.500"]
    assert [number(None), number(2.0, 0)] == ["–", "2"]
    told = [short(x) for x in (0.30000000000000004, 20.0, 12000.0, -0.5)]
    assert told == ["0.3", "20", "12,000", "−0.5"]


def _only(summary, model):
    return replace(summary, models=(model,), leaders=((0,),) * len(summary.leaders))


def test_one_model_needs_no_toggle(summary):
    read = Reader(render(_only(summary, summary.models[2])))
    assert "Models shown" not in read.text
    assert "svc: accuracy" in read.text


def test_a_model_beyond_all_deletions_is_told(summary):
    svc = replace(summary.models[2], median_budget=None, worst_rows=(), lowest=None)
    read = Reader(render(_only(summary, svc)))
    assert "No loss of features changes any prediction." in read.text
    assert "half never can" in read.text
    assert "∞" not in read.text


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


def _curves(summary, *heights, leaders):
    """The summary with models of these scores at 0, 0.25, 0.5 and 0.75."""
    models = [
        replace(
            model,
            name=name,
            scores={"accuracy": ys[0]},
            deletion=replace(
                model.deletion,
                y=ys,
                low=tuple(y - 0.01 for y in ys),
                high=tuple(y + 0.01 for y in ys),
            ),
        )
        for model, name, ys in zip(summary.models, "ABCDE", heights, strict=False)
    ]
    data = replace(summary.data, chance=0.5)
    return replace(summary, models=tuple(models), leaders=leaders, data=data)


A, B = (0.9, 0.7, 0.6, 0.5), (0.88, 0.8, 0.7, 0.49)
LOST = "values replaced by zero (the model is not told)"


@pytest.mark.parametrize(
    ("heights", "leaders", "words"),
    [
        (
            (A, B),
            ((0,), (1,), (1,), (0, 1)),
            "On clean rows A (0.900) has the best accuracy. With 50% of "
            f"{LOST} B (0.700) has the best accuracy. From 25% to 50%, B is clearly "
            "better than A. From 75% on, no model is clearly better than always "
            "giving the most frequent class.",
        ),
        (
            (A, B),
            ((0, 1), (1,), (1, 0), (0, 1)),
            "On clean rows there is no clear difference in accuracy between A (0.900) "
            "and B (0.880).",
        ),
        (
            (A, B, A),
            ((0, 2), (1,), (1,), (1,)),
            "On clean rows A (0.900) and C (0.900) have the best accuracy, with no "
            "clear difference between them.",
        ),
        ((A, B, A), ((0, 2), (1,), (1,), (1,)), "From 25% on, B is clearly better"),
        (
            (A,),
            ((0,),) * 4,
            f"A: accuracy 0.900 on clean rows, 0.600 with 50% of {LOST}. From 75% on, "
            "it is not clearly better than always giving the most frequent class.",
        ),
    ],
)
def test_the_verdict_rests_on_intervals(summary, heights, leaders, words):
    assert words in Reader(render(_curves(summary, *heights, leaders=leaders))).text


def test_the_best_are_bold_and_so_is_what_cannot_be_told_from_them(summary):
    page = render(_curves(summary, A, B, A, leaders=((0, 2), (1,), (1,), (1,))))
    bold = re.findall(r"<strong>([^<]+)</strong>", page)
    assert bold == ["0.900", "0.700", "0.900"]


def test_the_page_tells_data_target_date_and_what_it_leaves_out(summary):
    about = "a.csv · target y · 1 May 2026"
    data = replace(summary.data, curve_rows=50)
    rows = {kind: 50 for kind in summary.costly}
    first = replace(summary.models[0], cost_rows=rows | {"feature": 20})
    others = [replace(model, cost_rows=rows) for model in summary.models[1:]]
    models = (first, *others)
    read = Reader(render(replace(summary, about=about, data=data, models=models)))
    assert f"{about} · 200 rows, 64 features" in read.text
    for words in (
        "Scores and curves: measured on 50 of the 200 rows, drawn at random.",
        "scaled, svc, logistic and forest: measured on 50 of the 200 rows.",
        "Of 64 features the 12 that cost most are shown.",
        "plain: measured on 20 of the 200 rows.",
    ):
        assert words in read.text


def test_a_notebook_shows_the_page_in_a_frame(summary, page):
    read = Reader(summary._repr_html_())
    ((tag, frame),) = read.elements
    assert (tag, frame["srcdoc"], frame["sandbox"]) == ("iframe", page, "allow-scripts")


def test_without_jinja_a_sentence_says_what_to_install(summary, monkeypatch):
    monkeypatch.setitem(sys.modules, "jinja2", None)
    with pytest.raises(ImportError, match=r"pip install 'noiseproof\[report\]'"):
        render(summary)
