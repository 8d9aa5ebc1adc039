"""Rooms have one door, storage is known in one place, the import stays light."""

import ast
import re
import subprocess
import sys
from functools import cache
from pathlib import Path

import numpy as np
import pytest
import scipy.sparse as sp

import noiseproof
from noiseproof._marginal import LOSSES
from noiseproof.attacks import ATTACKS
from noiseproof.estimators import ESTIMATORS
from noiseproof.noise import NOISES

SOURCE = Path(noiseproof.__file__).parent
FILES = sorted(SOURCE.rglob("*.py"))
HEAVY = [
    "numba",
    "matplotlib",
    "pandas",
    "polars",
    "cvxpy",
    "highspy",
    "dask",
    "rich",
    "onnx",
    "onnxruntime",
    "skl2onnx",
    "torch",
]
# what imports Numba is imported where it is used, not through a door
BEHIND = ("kernels", "compiling")


ROOT = Path(__file__).parents[1]


@cache
def _tree(path):
    return ast.parse(path.read_text(encoding="utf-8"))


def _room(path):
    """The folder below the package that a file is in, or its own name."""
    return path.relative_to(SOURCE).parts[0]


def _offenders(check, files=FILES):
    """What a check finds, by file; nothing is as it should be."""
    found = {str(path.relative_to(SOURCE)): list(check(path)) for path in files}
    return {name: wrong for name, wrong in found.items() if wrong}


def _imported(tree):
    """Modules that a file imports names from."""
    for node in ast.walk(tree):
        if isinstance(node, ast.ImportFrom) and node.module:
            yield node.module
        elif isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)


def test_rooms_are_entered_by_their_doors():
    def inner_modules(path):
        return [
            module
            for module in _imported(_tree(path))
            if module.count(".") > 1
            and module.startswith("noiseproof.")
            and module.split(".")[1] != _room(path)
            and not module.endswith(BEHIND)
        ]

    assert not _offenders(inner_modules)


def test_only_one_room_asks_how_rows_are_stored():
    def asks(path):
        return re.findall("issparse", path.read_text(encoding="utf-8"))

    assert not _offenders(asks, [path for path in FILES if _room(path) != "_rows"])


def test_parts_are_not_told_apart_by_their_class():
    """What a noise, a loss or an attack can do is asked of it, outside its room."""
    parts = _subclasses(NOISES) | _subclasses(ATTACKS) | _subclasses(LOSSES)

    def told_apart(path):
        return {
            name.id
            for call in ast.walk(_tree(path))
            if isinstance(call, ast.Call)
            and getattr(call.func, "id", "") == "isinstance"
            for name in ast.walk(call.args[1])
            if isinstance(name, ast.Name) and name.id in parts
        }

    others = [path for path in FILES if _room(path) not in ("noise", "attacks")]
    assert not _offenders(told_apart, others)


def _subclasses(registry):
    """Names of the noises, attacks or losses, without their base classes."""
    found = {cls.__name__ for part in registry.values() for cls in part.__mro__[:-1]}
    return found - {"Noise", "Attack", "BaseEstimator"}


def test_functions_are_one_step():
    def long_functions(path):
        return [
            f"{node.name}: {_body_lines(node)} lines"
            for node in ast.walk(_tree(path))
            if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)
            and _body_lines(node) > 40
        ]

    assert not _offenders(long_functions)


def _body_lines(function):
    """Lines of a function after its signature and docstring."""
    body = function.body
    if ast.get_docstring(function) is not None:
        body = body[1:]
    return body[-1].end_lineno - body[0].lineno + 1 if body else 0


@pytest.mark.skipif(not (ROOT / "CONTRIBUTING.md").exists(), reason="installed copy")
def test_the_tree_in_contributing_lists_every_room():
    page = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8")
    tree = page.split("src/noiseproof/")[1].partition("experiments/")[0]
    inner = {"losses/", "plots/"}
    listed = set(re.findall(r"\b_?[a-z]+(?:/(?=\s)|\.py\b)", tree)) - inner
    rooms = {f"{path.name}/" for path in SOURCE.iterdir() if path.is_dir()}
    files = {path.name for path in SOURCE.glob("*.py")} - {"__init__.py", "__main__.py"}
    assert listed == (rooms - {"__pycache__/"}) | files


# Names with underscores that other libraries document for everybody to use.
DOCUMENTED = {
    "_asdict": "namedtuple",
    "_replace": "namedtuple",
    "_parameter_constraints": "scikit-learn's estimators, read by their validation",
    "_repr_html_": "IPython",
    "__sklearn_tags__": "scikit-learn's guide for developers",
    "__sklearn_is_fitted__": "scikit-learn's guide for developers",
    "__dask_graph__": "Dask's protocol for custom collections",
    "__dask_keys__": "Dask's protocol for custom collections",
    "__array_namespace__": "the array API standard",
    "__version__": "every package",
    "__file__": "every module",
    "__future__": "Python",
    "__main__": "Python",
    "__pycache__": "Python",
    "__all__": "Python",
    "__exit__": "context managers",
    "__cause__": "exceptions",
    "__setitem__": "containers",
    "__": "scikit-learn's names of nested parameters",
}
SKOPS = re.compile(r"schema\.json|\w+Node")  # words of skops' archives


def test_private_names_of_other_libraries_are_in_one_module():
    """Attributes and strings too, which no import gives away.

    Private is what begins with an underscore and is defined nowhere in our package; a
    private name of another library that we have also given to something of ours is
    not noticed.
    """
    trees = {path: ast.parse(path.read_text(encoding="utf-8")) for path in FILES}
    ours = {name for tree in trees.values() for name in _defined(tree)}
    ours |= set(dir(type)) | DOCUMENTED.keys()
    found = [
        f"{path.relative_to(SOURCE)}: {name}"
        for path, tree in trees.items()
        if path.name != "_private.py"
        for name in _named(tree)
        if SKOPS.fullmatch(name)
        or (name.split(".")[0] != "noiseproof" and _is_private(name, ours))
    ]
    assert not found, found


def _is_private(name, ours):
    return any(part.startswith("_") and part not in ours for part in name.split("."))


def _defined(tree):
    """Names of functions, classes, variables and attributes of `self`."""
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            yield node.name
        elif isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
            yield node.id
        elif (
            isinstance(node, ast.Attribute)
            and isinstance(node.ctx, ast.Store)
            and getattr(node.value, "id", "") in ("self", "cls")
        ):
            yield node.attr


def _named(tree):
    """Names that a file takes from elsewhere, or holds as text: dotted or not."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Attribute):
            yield node.attr
        elif isinstance(node, ast.Constant) and isinstance(node.value, str):
            if all(
                part.isidentifier() for part in node.value.split(".")
            ) or SKOPS.fullmatch(node.value):
                yield node.value
        elif isinstance(node, ast.ImportFrom) and node.level == 0:
            yield from (f"{node.module}.{alias.name}" for alias in node.names)
        elif isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)


def test_the_test_of_private_names_sees_attributes_strings_and_imports():
    code = (
        "from sklearn.utils import _safe_indexing\n"
        "import sklearn.tree._tree\n"
        "model._validate_params()\n"
        "getattr(model, '_bin_mapper')\n"
        "trusted = 'sklearn.utils._bunch.Bunch'\n"
        "client = get.__self__\n"
    )
    names = [name for name in _named(ast.parse(code)) if _is_private(name, set())]
    assert sorted(names) == [
        "__self__",
        "_bin_mapper",
        "_validate_params",
        "sklearn.tree._tree",
        "sklearn.utils._bunch.Bunch",
        "sklearn.utils._safe_indexing",
    ]


def test_there_are_more_estimators_than_helpers_beside_them():
    homes = {cls.__module__.rpartition(".")[2] for cls in ESTIMATORS.values()}
    files = {path.stem for path in (SOURCE / "estimators").glob("*.py")}
    helpers = files - homes - {"__init__"}
    assert len(helpers) < len(homes)


def test_import_adds_nothing_heavy_to_scikit_learn():
    """scikit-learn imports pandas where it finds it; that is not ours to mend."""
    code = (
        "import sys, contextlib, sklearn.linear_model\n"
        "with contextlib.suppress(ImportError): import sklearn.callback\n"
        "before = set(sys.modules)\n"
        "import noiseproof\n"
        "for name in noiseproof.__all__: getattr(noiseproof, name)\n"
        f"print([m for m in {HEAVY} if m in set(sys.modules) - before])"
    )
    assert _run(code) == "[]"


def test_the_bare_import_does_not_load_scikit_learn():
    assert _run("import sys, noiseproof; print('sklearn' in sys.modules)") == "False"


def test_files_need_no_array_library():
    """skops lists all estimators of scikit-learn, whose adapters would import them."""
    code = (
        "import sys, tempfile, numpy as np, noiseproof\n"
        "model = noiseproof.DropoutSVC().fit(np.eye(4), [0, 1, 0, 1])\n"
        "with tempfile.TemporaryDirectory() as folder:\n"
        "    noiseproof.save(model, folder + '/model.npf')\n"
        "    noiseproof.load(folder + '/model.npf')\n"
        "print([m for m in ('torch', 'cupy', 'dask') if m in sys.modules])"
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


def test_public_names_exist_and_are_shown():
    assert all(hasattr(noiseproof, name) for name in noiseproof.__all__)
    assert {cls.__name__ for cls in ESTIMATORS.values()} <= set(noiseproof.__all__)
    assert set(dir(noiseproof)) >= set(noiseproof.__all__)


def test_a_sparse_fit_is_a_short_walk():
    """A reader who follows one fit should not get lost; compiled code is warm.

    The bounds are what there is now, so that a fit does not grow unnoticed.
    """
    rng = np.random.default_rng(0)
    X = sp.random(300, 50, density=0.2, format="csr", random_state=rng)
    y = rng.integers(0, 2, 300)
    model = noiseproof.DropoutSVC().fit(X, y)
    ours = {str(path.resolve()) for path in FILES}
    entered, depths = set(), [0]

    def note(frame, event, argument):
        code = frame.f_code
        if event != "call" or code.co_filename not in ours or "<" in code.co_name:
            return
        entered.add((code.co_filename, code.co_qualname))
        depth = 0
        while frame is not None:
            depth += frame.f_code.co_filename in ours
            frame = frame.f_back
        depths.append(depth)

    before = sys.getprofile()
    sys.setprofile(note)
    try:
        model.fit(X, y)
    finally:
        sys.setprofile(before)
    assert len({file for file, _ in entered}) <= 20
    assert len(entered) <= 165
    assert max(depths) <= 20


def _without_encoding(path):
    """Calls that read or write text in whatever encoding the system prefers."""
    for node in ast.walk(_tree(path)):
        if not isinstance(node, ast.Call):
            continue
        said = any(keyword.arg == "encoding" for keyword in node.keywords)
        name = getattr(node.func, "attr", getattr(node.func, "id", ""))
        if name in ("read_text", "write_text"):  # it may be the last argument, too
            said = said or len(node.args) > (name == "write_text")
        elif isinstance(node.func, ast.Name) and name == "open":
            said = said or (len(node.args) > 1 and "b" in node.args[1].value)
        else:
            continue
        if not said:
            yield f"{name} in line {node.lineno}"


def test_text_is_read_and_written_in_utf8():
    """The default on Windows is another encoding, which lacks signs such as R²."""
    files = [*FILES, *(ROOT / "tests").rglob("*.py")]
    wrong = {path.name: list(_without_encoding(path)) for path in files}
    assert {name: calls for name, calls in wrong.items() if calls} == {}
