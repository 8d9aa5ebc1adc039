"""Files and functions stay small, the import stays light, the layers stay apart."""

import ast
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
import scipy.sparse as sp

import noiseproof
from noiseproof.estimators import ESTIMATORS

SOURCE = Path(noiseproof.__file__).parent
FILES = sorted(SOURCE.rglob("*.py"))
HEAVY = ["numba", "matplotlib", "pandas", "polars", "cvxpy", "highspy", "dask", "rich"]


def _id(path):
    return str(path.relative_to(SOURCE))


def _body_lines(function):
    """Lines of a function after its signature and docstring."""
    body = function.body
    if ast.get_docstring(function) is not None:
        body = body[1:]
    return body[-1].end_lineno - body[0].lineno + 1 if body else 0


@pytest.mark.parametrize("path", FILES, ids=_id)
def test_files_and_functions_are_short(path):
    text = path.read_text(encoding="utf-8")
    functions = (ast.FunctionDef, ast.AsyncFunctionDef)
    long = {
        node.name: _body_lines(node)
        for node in ast.walk(ast.parse(text))
        if isinstance(node, functions) and _body_lines(node) > 40
    }
    assert not long


def test_import_adds_nothing_heavy_to_scikit_learn():
    """scikit-learn imports pandas where it finds it; that is not ours to mend."""
    code = (
        "import sys, contextlib, sklearn.linear_model\n"
        "with contextlib.suppress(ImportError): import sklearn.callback\n"
        "before = set(sys.modules)\n"
        "import noiseproof\n"
        f"print([m for m in {HEAVY} if m in set(sys.modules) - before])"
    )
    assert _run(code) == "[]"


def test_dense_fits_need_no_compiler():
    """Numba is for sparse data only."""
    code = (
        "import sys, numpy as np, noiseproof\n"
        "noiseproof.DropoutSVC().fit(np.eye(4), [0, 1, 0, 1])\n"
        "print('numba' in sys.modules)"
    )
    assert _run(code) == "False"


def _run(code):
    """What a fresh process prints."""
    command = [sys.executable, "-c", code]
    return subprocess.run(
        command, capture_output=True, text=True, check=True
    ).stdout.strip()


def test_public_names_exist():
    assert all(hasattr(noiseproof, name) for name in noiseproof.__all__)
    assert {cls.__name__ for cls in ESTIMATORS.values()} <= set(noiseproof.__all__)


def test_a_sparse_fit_enters_few_files():
    """A reader who follows one fit should not get lost; compiled code is warm."""
    rng = np.random.default_rng(0)
    X = sp.random_array((300, 50), density=0.2, format="csr", rng=rng)
    y = rng.integers(0, 2, 300)
    model = noiseproof.DropoutSVC().fit(X, y)
    entered = set()

    def note(frame, event, argument):
        entered.add(frame.f_code.co_filename)

    before = sys.getprofile()
    sys.setprofile(note)
    try:
        model.fit(X, y)
    finally:
        sys.setprofile(before)
    ours = {Path(name).resolve() for name in entered} & {p.resolve() for p in FILES}
    assert len(ours) <= 18, sorted(map(_id, ours))
