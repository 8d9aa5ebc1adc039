"""The page in a browser: everything shows, reacts and stays at home."""

import shutil
from dataclasses import replace
from itertools import combinations

import numpy as np
import pytest

from noiseproof import DropoutSVC
from noiseproof.report import Plan, gather, render

pytestmark = pytest.mark.whole

BROWSER = shutil.which("chromium") or shutil.which("chromium-browser")
playwright = pytest.importorskip(
    "playwright.sync_api", reason="needs the Python package playwright"
)
if BROWSER is None:
    pytest.skip("needs Debian's chromium on the path", allow_module_level=True)


@pytest.fixture(scope="module")
def browser():
    """One start for all tests; without a sandbox, which root would not get."""
    with playwright.sync_playwright() as driver:
        found = driver.chromium.launch(
            executable_path=BROWSER, args=["--no-sandbox", "--disable-gpu"]
        )
        yield found
        found.close()


@pytest.fixture
def visit(browser, page, tmp_path):
    """Opens the page from its file, and checks at the end that all went quietly."""
    path = tmp_path / "page.html"
    path.write_text(page, encoding="utf-8")
    said, asked, opened = [], [], []

    def open_page(**options):
        context = browser.new_context(**options)
        opened.append(context)
        tab = context.new_page()
        tab.on("console", lambda message: said.append(message.text))
        tab.on("pageerror", lambda error: said.append(str(error)))
        tab.on("request", lambda request: asked.append(request.url))
        tab.goto(path.as_uri())
        return tab

    yield open_page
    for context in opened:
        context.close()
    assert said == []
    assert set(asked) == {path.as_uri()}


def test_curves_are_drawn(visit):
    tab = visit()
    for chart, series in (("#random", 5), ("#worst", 4)):
        lines = tab.locator(f"{chart} .series .line")
        assert lines.count() == series
        for i in range(series):
            box = lines.nth(i).bounding_box()
            assert box["width"] > 200
            assert box["height"] > 20


@pytest.mark.parametrize("script", [True, False])
def test_a_toggle_hides_its_model_everywhere(visit, script):
    tab = visit(java_script_enabled=script)
    own = tab.locator(".m2:visible")
    others = tab.locator(".m1:visible").count()
    assert own.count() > 10
    tab.get_by_role("checkbox", name="svc").click()
    assert own.count() == 0
    assert tab.locator(".m1:visible").count() == others
    tab.keyboard.press("Space")  # the focus is still there
    assert own.count() > 10


def test_the_slider_reads_the_chart(visit, summary):
    tab = visit()
    slider = tab.get_by_label(
        "Read off: share of values replaced by zero (the model is not told)"
    )
    slider.focus()
    tab.keyboard.press("End")
    told = slider.get_attribute("aria-valuetext")
    assert told.startswith("0.75:")
    for model in summary.models:
        assert f"{model.name} {model.deletion.y[-1]:.3f}" in told
    assert tab.locator("#random output").inner_text().startswith("0.75:")
    shown = tab.locator("#random output span[class^=m]").all_inner_texts()
    assert len(shown) == len(summary.models)
    for text, model in zip(shown, summary.models, strict=True):
        assert text.strip().startswith(f"{model.name} {model.deletion.y[-1]:.3f}")
    tab.keyboard.press("Home")
    assert slider.get_attribute("aria-valuetext").startswith("0:")


def test_the_pointer_reads_the_chart(visit):
    tab = visit()
    tab.locator("#random .chart").scroll_into_view_if_needed()
    box = tab.locator("#random .mark").nth(1).bounding_box()
    tab.mouse.move(box["x"] + 2, box["y"] + 30)
    assert tab.locator("#random output").inner_text().startswith("0.25:")
    cursor = tab.locator("#random .cursor").bounding_box()
    assert cursor["x"] == pytest.approx(box["x"] + box["width"] / 2, abs=2)


def test_without_a_script_there_is_no_slider(visit):
    tab = visit(java_script_enabled=False)
    assert tab.locator("input[type=range]:visible").count() == 0
    assert tab.locator("#random .line:visible").count() == 5


def test_the_keyboard_reaches_every_control(visit):
    tab = visit()
    tab.keyboard.press("Tab")
    assert tab.evaluate("document.activeElement.className") == "skip"
    assert tab.locator(".skip").bounding_box()["x"] >= 0
    reached = set()
    for _ in range(60):
        tab.keyboard.press("Tab")
        reached.add(tab.evaluate("document.activeElement.id"))
    controls = tab.locator("input, select")
    controls = controls.evaluate_all("found => found.map(x => x.id)")
    assert set(controls) <= reached


def _brightness(tab, what):
    colour = tab.evaluate(f"getComputedStyle(document.body).{what}")
    return sum(map(int, colour.removeprefix("rgb(").rstrip(")").split(","))) / 765


def test_dark_and_light_follow_the_reader(visit):
    for scheme, paper in (("light", 1.0), ("dark", 0.0)):
        tab = visit(color_scheme=scheme)
        assert _brightness(tab, "backgroundColor") == pytest.approx(paper, abs=0.15)
        assert _brightness(tab, "color") == pytest.approx(1 - paper, abs=0.2)


@pytest.mark.parametrize("script", [True, False])
def test_the_reader_may_choose_the_colours(visit, script):
    tab = visit(color_scheme="light", java_script_enabled=script)
    for theme, paper in (("dark", 0.0), ("light", 1.0), ("automatic", 1.0)):
        tab.get_by_label("Colours").select_option(theme)
        assert _brightness(tab, "backgroundColor") == pytest.approx(paper, abs=0.15)


@pytest.mark.parametrize("size", [(390, 844), (1280, 800)])
def test_verdict_and_chart_are_seen_first(visit, size):
    tab = visit(viewport={"width": size[0], "height": size[1]})
    assert tab.locator(".lead").bounding_box()["y"] < size[1] / 3
    chart = tab.locator("#random .chart").bounding_box()
    assert chart["y"] + chart["height"] / 2 < size[1]


@pytest.mark.parametrize("width", [360, 1200])
def test_no_text_of_a_chart_covers_another(visit, width):
    tab = visit(viewport={"width": width, "height": 740})
    for chart in ("#random", "#proof"):
        boxes = tab.locator(f"{chart} .axis text").evaluate_all(
            "found => found.map(x => x.getBoundingClientRect().toJSON())"
        )
        assert len(boxes) > 8
        for a, b in combinations(boxes, 2):
            across = min(a["right"], b["right"]) - max(a["left"], b["left"])
            down = min(a["bottom"], b["bottom"]) - max(a["top"], b["top"])
            assert min(across, down) < 2, (a, b)


def test_on_a_phone_the_key_table_is_a_card_for_each_model(visit):
    tab = visit(viewport={"width": 360, "height": 740})
    cells = tab.locator("#glance .stack td")
    for i in range(cells.count()):
        box = cells.nth(i).bounding_box()
        assert box["x"] >= 0
        assert box["x"] + box["width"] <= 360
    shown = "found => getComputedStyle(found, '::before').content"
    assert cells.first.evaluate(shown) == '"accuracy on clean rows"'


@pytest.mark.parametrize("width", [360, 1200])
def test_nothing_is_wider_than_the_screen(visit, width):
    tab = visit(viewport={"width": width, "height": 740})
    tab.evaluate("document.querySelectorAll('details').forEach(x => x.open = true)")
    assert tab.evaluate("document.documentElement.scrollWidth") <= width
    sizes = "found => found.map(x => x.getBoundingClientRect().height)"
    assert min(tab.locator("#random .axis text").evaluate_all(sizes)) >= 9


def test_on_a_desktop_no_table_of_five_models_is_cut(visit):
    tab = visit(viewport={"width": 1280, "height": 800})
    tab.evaluate("document.querySelectorAll('details').forEach(x => x.open = true)")
    cut = "found => found.filter(x => x.scrollWidth > x.clientWidth).length"
    assert tab.locator(".scroll").evaluate_all(cut) == 0


def test_the_name_of_the_line_to_compare_with_lies_above_all_curves(visit):
    tab = visit()
    name = tab.locator("#random .reference text").bounding_box()
    grid = tab.locator("#random .grid").bounding_box()
    assert name["y"] + name["height"] < grid["y"]


def test_paper_is_white_and_complete(visit, browser):
    tab = visit(color_scheme="dark")
    tab.emulate_media(media="print")
    assert _brightness(tab, "backgroundColor") == 1
    assert tab.locator("#random .line:visible").count() == 5
    assert tab.locator("#worst .card table:visible").count() == 4
    for hidden in ("input", "details", "output"):
        assert tab.locator(f"{hidden}:visible").count() == 0
    assert tab.pdf(format="A4").startswith(b"%PDF")


LONG = "a_name_of_many_words_and_no_blank_" * 8


@pytest.fixture
def visit_long(browser, tmp_path, rng):
    """Opens a page on which every name is long."""
    X = rng.normal(size=(60, 4))
    y = np.where(X.sum(axis=1) > 0, LONG, LONG + "2")
    model = DropoutSVC(0.2).fit(X, y)
    plan = Plan(
        levels=[0, 0.5],
        n_repeats=2,
        title=LONG,
        feature_names=[f"{LONG}{j}" for j in range(4)],
        groups={LONG: [0, 1]},
        settings={LONG: LONG},
    )
    models = {f"{LONG}{i}": model for i in range(3)}
    path = tmp_path / "long.html"
    path.write_text(render(gather(models, X, y, plan)), encoding="utf-8")
    opened = []

    def open_page(**options):
        opened.append(browser.new_context(**options))
        tab = opened[-1].new_page()
        tab.goto(path.as_uri())
        return tab

    yield open_page
    for context in opened:
        context.close()


@pytest.mark.parametrize("width", [360, 1200])
def test_long_names_break_and_no_table_does(visit_long, width):
    tab = visit_long(viewport={"width": width, "height": 740})
    tab.evaluate("document.querySelectorAll('details').forEach(x => x.open = true)")
    assert tab.evaluate("document.documentElement.scrollWidth") <= width
    if width > 1000:  # on a phone a table scrolls
        wide = "found => found.filter(x => x.scrollWidth > x.clientWidth).length"
        assert tab.locator(".scroll").evaluate_all(wide) == 0
    numbers = "found => found.map(x => x.getBoundingClientRect().height)"
    cells = tab.locator("#random td.num").evaluate_all(numbers)
    assert max(cells) < 60  # a number stays on its line


def test_a_name_from_right_to_left_leaves_its_neighbours_in_place(browser, tmp_path):
    """The sizes of the classes stay behind their names, and in their order."""
    y = np.repeat(["\u05d0\u05d1", "\u05d2\u05d3", "\u202eabc"], [30, 20, 10])
    X = np.random.default_rng(0).normal(size=(60, 3))
    found = gather(DropoutSVC().fit(X, y), X, y, Plan(levels=[0, 0.5], n_repeats=1))
    path = tmp_path / "hebrew.html"
    path.write_text(render(found), encoding="utf-8")
    tab = browser.new_page()
    tab.goto(path.as_uri())
    places = tab.evaluate(
        """() => {
          const text = document.querySelector("#data p").firstChild;
          return ["(30)", "(20)", "(10)"].map((part) => {
            const range = document.createRange();
            const start = text.data.indexOf(part);
            range.setStart(text, start);
            range.setEnd(text, start + 4);
            return range.getBoundingClientRect().left;
          });
        }"""
    )
    tab.close()
    assert places == sorted(places)


def test_in_a_notebook_the_page_works_in_its_frame(browser, summary, tmp_path):
    path = tmp_path / "notebook.html"
    path.write_text(f"<!DOCTYPE html>{summary._repr_html_()}", encoding="utf-8")
    said = []
    tab = browser.new_page()
    tab.on("console", lambda message: said.append(message.text))
    tab.goto(path.as_uri())
    frame = tab.frame_locator("iframe")
    assert frame.locator("#random .line").count() == 5
    assert frame.locator("#random output").inner_text().startswith("0.5:")
    tab.close()
    assert said == []


def test_heads_of_tables_do_not_break_inside_words(browser, summary):
    """The marker stays beside the first word, in one line."""
    names = [f"KNNImputer + {model.name}" for model in summary.models]
    models = [
        replace(model, name=name)
        for model, name in zip(summary.models, names, strict=True)
    ]
    tab = browser.new_page(viewport={"width": 700, "height": 900})
    tab.set_content(render(replace(summary, models=tuple(models))))
    tied = tab.locator("#fragile thead .tied")
    assert tied.count() == len(names) * tab.locator("#fragile thead").count()
    for i in range(tied.count()):
        assert (
            tied.nth(i).evaluate("found => found.getBoundingClientRect().height") < 25
        )
    tab.close()
