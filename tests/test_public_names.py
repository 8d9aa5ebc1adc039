"""Every public name has an API page and a stability."""

import importlib.util
import inspect
import re
import sys
from pathlib import Path

import pytest

DOCS = Path(__file__).parents[1] / "docs"

pytestmark = pytest.mark.skipif(
    not DOCS.is_dir(), reason="an installed copy has no docs folder"
)


@pytest.fixture(scope="module")
def names():
    """The module that lists public names, as a build of the site imports it."""
    return _imported("public_names")


@pytest.fixture(scope="module")
def api_page(names):
    """The API page, with the names that have a page of their own."""
    pytest.importorskip("matplotlib")
    return _imported("pages").api_page()


def _imported(name):
    if name not in sys.modules:
        spec = importlib.util.spec_from_file_location(name, DOCS / f"{name}.py")
        sys.modules[name] = module = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(module)
    return sys.modules[name]


def _shown(page):
    """Dotted names in the tables and the constants of the API page."""
    shown, module = set(), ""
    for line in page.splitlines():
        if found := re.match(r"\.\. currentmodule:: (\S+)|   :module: (\S+)", line):
            module = found[1] or found[2]
        if found := re.match(r"   (\w+)$", line):
            shown.add(f"{module}.{found[1]}")
    constants = re.findall(r"py:data:: (\w+)\n   :module: (\S+)", page)
    return shown | {f"{module}.{name}" for name, module in constants}


def test_every_public_name_is_on_an_api_page(names, api_page):
    public = {names.home(path) for path in names.public_names()}
    assert public - _shown(api_page) == set()


def test_api_pages_show_public_names_only(names, api_page):
    assert _shown(api_page) <= set(names.public_names())


def test_every_public_name_is_on_the_page_about_stability(names):
    tables = names.stability_tables()
    text = (DOCS / "stability.md").read_text("utf-8")
    assert "_generated/public_names.md" in text
    assert "_generated/provisional.md" in text
    for path in names.public_names():
        name = path.rpartition(".")[2]
        row = f"| {{py:obj}}`{name} <{names.home(path)}>` | {names.stability(path)} | "
        assert row in tables, path


def test_provisional_names_exist_and_say_why(names):
    public = names.public_names()
    assert set(names.PROVISIONAL) <= set(public)
    for path, why in names.PROVISIONAL.items():
        assert re.fullmatch(r"[A-Z].{14,}\.", why), path
    table = names.provisional_table()
    assert all(f"`{path} <{names.home(path)}>`" in table for path in names.PROVISIONAL)


def test_two_names_of_one_thing_have_one_stability(names):
    for path in names.public_names():
        assert names.stability(path) == names.stability(names.home(path)), path


def test_constants_are_described_and_nothing_else_is(names):
    constants = {
        path
        for path, thing in names.public_names().items()
        if not (inspect.isclass(thing) or callable(thing))
    }
    assert set(names.CONSTANTS) == constants
