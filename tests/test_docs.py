"""The pages say what the code does."""

import doctest
import re
import shlex
import shutil
from functools import partial
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path

import numpy as np
import pytest
import typer

import noiseproof
from noiseproof.cli.app import app

ROOT = Path(__file__).parents[1]
DOCS = ROOT / "docs"

pytestmark = pytest.mark.skipif(
    not DOCS.is_dir(), reason="an installed copy has no docs folder"
)

KEPT = [
    page
    for folder in (".", "howto", "papers")
    for page in sorted((DOCS / folder).glob("*.md"))
]
PAGES = [
    page
    for page in (ROOT / "README.md", *KEPT)
    if page.exists() and "```python" in page.read_text("utf-8")
]

# Data and models that a page calls by names the reader brings along
_DIGITS = """
from sklearn.datasets import load_digits
from sklearn.linear_model import LogisticRegression
X, y = load_digits(return_X_y=True)
X = X / 16
X_train, y_train, X_test, y_test = X[:300], y[:300], X[300:400], y[300:400]
X_new, Z = X_test, X[400:600]
my_old_model = plain = LogisticRegression(max_iter=1000).fit(X_train, y_train)
model = robust = plain
"""
_BRINGS = {
    "files.md": _DIGITS,
    "guide.md": _DIGITS,
    "report.md": _DIGITS,
    "gpu.md": 'import pytest; pytest.importorskip("torch")',
    "invariances.md": _DIGITS
    + """
X_text, y_text = X[:100], y[:100]
keep = y[:60] < 3
X_mnist, y_mnist = X[:60][keep], y[:60][keep]
sentences = [X[i : i + 3] for i in range(0, 30, 3)]
tags = [y[i : i + 3] % 2 for i in range(0, 30, 3)]
""",
}


def _name(page):
    return str(page.relative_to(ROOT))


@pytest.mark.whole
@pytest.mark.parametrize("page", PAGES, ids=_name)
def test_snippets_run(page, tmp_path, monkeypatch):
    """All Python of a page, from top to bottom, as a reader would type it.

    Where it is typed after a prompt, what it prints must be what the page says.
    """
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("MPLBACKEND", "Agg")
    quick = partial(noiseproof.recommend, cv=2, n_repeats=1)
    monkeypatch.setattr(noiseproof, "recommend", quick)
    monkeypatch.setattr("noiseproof.training.portfolios._ITERATIONS", 10)
    names: dict = {}
    exec(_BRINGS.get(page.name, ""), names)
    for code in re.findall(r"```python\n(.*?)```", page.read_text("utf-8"), re.S):
        if ">>>" in code:
            _check_session(code, names, page)
        else:
            exec(compile(code, str(page), "exec"), names)


def _check_session(code, names, page):
    flags = doctest.NORMALIZE_WHITESPACE | doctest.ELLIPSIS
    said: list[str] = []
    session = doctest.DocTestParser().get_doctest(code, names, page.name, str(page), 0)
    runner = doctest.DocTestRunner(optionflags=flags, verbose=False)
    failed = runner.run(session, out=said.append, clear_globs=False).failed
    names.update(session.globs)
    assert not failed, "".join(said)


@pytest.mark.whole
def test_numbers_beside_the_snippets_on_missing_cells():
    """A comment behind an expression starts with what the expression gives."""
    text = (DOCS / "missing.md").read_text("utf-8")
    names: dict = {}
    checked = 0
    for code in re.findall(r"```python\n(.*?)```", text, re.S):
        for line in code.splitlines():
            told = re.match(r"(model\.\S.*?)\s+# ([\d., ]*\d)", line)
            exec(line, names)
            if told is None:
                continue
            values = np.ravel(eval(told[1], names))
            for value, number in zip(values, told[2].split(", "), strict=False):
                assert f"{value:.{len(number.split('.')[1])}f}" == number, line
                checked += 1
    assert checked >= 6


@pytest.mark.parametrize(
    "page", [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *KEPT], ids=_name
)
def test_links_lead_somewhere(page):
    for target in re.findall(r"\]\(([^)#:]+)(?:#[^)]*)?\)", page.read_text("utf-8")):
        assert (page.parent / target).exists(), target


@pytest.mark.parametrize("page", [ROOT / "README.md", *KEPT], ids=_name)
def test_commands_have_the_options_they_are_given(page):
    commands = typer.main.get_command(app).commands
    for block in re.findall(r"```bash\n(.*?)```", page.read_text("utf-8"), re.S):
        for line in re.findall(r"^noiseproof .*", block, re.M):
            _, name, *words = shlex.split(line, comments=True)
            parameters = commands[name].params
            known = {o for p in parameters for o in (*p.opts, *p.secondary_opts)}
            assert {word for word in words if word.startswith("-")} <= known, line


def test_the_walk_names_what_is_in_the_files():
    text = (DOCS / "walk.md").read_text(encoding="utf-8")
    steps = re.findall(r"\[`(\w+)`\]\((\.\./src/[\w/.]+)\)", text)
    assert len(steps) >= 20
    for name, path in steps:
        source = (DOCS / path).read_text(encoding="utf-8")
        assert re.search(rf"^\s*(def|class) {name}\b", source, re.M), name


def _numbers(text):
    return [float(number) for number in re.findall(r"\d+(?:\.\d+)?", text)]


@pytest.mark.whole
@pytest.mark.skipif(shutil.which("bash") is None, reason="the session runs in bash")
def test_the_session_on_the_command_line_shows_what_the_commands_print(tmp_path):
    """All commands of docs/cli.md but the slow ones; see docs/make_session.py."""
    spec = spec_from_file_location("make_session", DOCS / "make_session.py")
    session = module_from_spec(spec)
    spec.loader.exec_module(session)
    _, section, _ = session.split((DOCS / "cli.md").read_text(encoding="utf-8"))
    session.make_tables(section, tmp_path)
    slow = ("noiseproof evaluate", "noiseproof report", "noiseproof train train.csv "
            "--target target -o auto.npf")  # fmt: skip
    quick = [words for words in session.commands(section) if not words.startswith(slow)]
    assert len(quick) >= 7
    for command in quick:
        told = section.partition(f"$ {command}\n")[2]
        told = re.split(r"^(?:\$ |```)", told, maxsplit=1, flags=re.M)[0]
        pair = [
            re.sub(r"in \d+\.\d s:", "", text).split()  # how long it took
            for text in (told, session.output(command, tmp_path))
        ]
        told, found = map(" ".join, pair)
        assert re.sub(r"\d", "", told) == re.sub(r"\d", "", found)
        # on another processor a row or two of 899 may turn
        assert _numbers(told) == pytest.approx(_numbers(found), abs=0.005)
