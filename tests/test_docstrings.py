"""Public docstrings are complete, by numpydoc's own validation."""

import ast
import inspect
import subprocess
import sys
import types
from importlib import import_module
from pathlib import Path

import pytest

import noiseproof
from noiseproof._docs import _LINE, _REFERENCES, _RELATED, _SHARED, shared_docs
from noiseproof.estimators import ESTIMATORS

validation = pytest.importorskip("numpydoc.validate", reason="needs numpydoc")

ALLOWED = {
    "ES01",  # no extended summary: one sentence may be enough
    "RT02",  # returned values have names, as in scikit-learn
    "PR04",  # parameters without a type are "as in" another function
    "PR08",  # a description may begin with a symbol of the mathematics
    "PR09",  # or end with a formula
}
MODULES = [
    thing
    for name in noiseproof.__all__
    if isinstance(thing := getattr(noiseproof, name), types.ModuleType)
]
OBJECTS = sorted(
    {
        f"{module.__name__}.{name}"
        for module in (noiseproof, *MODULES)
        for name in module.__all__
        if callable(getattr(module, name))
    }
)


def _found(path):
    """The object that a dotted path names."""
    module, _, name = path.rpartition(".")
    try:
        return getattr(import_module(module), name)
    except ModuleNotFoundError:
        return getattr(_found(module), name)


def _parsed(path):
    return validation.Validator(validation.get_doc_object(_found(path)))


def _incomplete(path):
    """What numpydoc misses in one docstring."""
    thing, allowed = _found(path), set(ALLOWED)
    if inspect.isclass(thing) and thing not in ESTIMATORS.values():
        allowed.add("EX01")  # results and base classes: what makes them has an example
    return [e for e in validation.validate(path)["errors"] if e[0] not in allowed]


def test_docstrings_are_complete():
    wrong = {path: found for path in OBJECTS if (found := _incomplete(path))}
    assert not wrong


def test_see_also_leads_somewhere():
    for path in OBJECTS:
        home = path.rpartition(".")[0]
        for name in _parsed(path).see_also:
            assert _found(name if name.startswith("noiseproof.") else f"{home}.{name}")


def _wrong_defaults(path):
    """Parameters of a class or function whose documented default is another one."""
    parsed = _parsed(path)
    for name, parameter in inspect.signature(_found(path)).parameters.items():
        kind = parsed.parameter_type(name) if name in parsed.doc_parameters else ""
        documented = kind.partition("default=")[2]
        try:
            expected = ast.literal_eval(documented)
        except (SyntaxError, ValueError):  # none, or in words: "0.0 and 1.0"
            continue
        if "..." not in documented and parameter.default != expected:
            yield name


def test_documented_defaults_are_those_of_the_signatures():
    errors = [
        p
        for p in OBJECTS
        if inspect.isclass(e := _found(p)) and issubclass(e, Exception)
    ]
    things = set(OBJECTS) - set(errors)  # which have no signature
    wrong = {path: found for path in things if (found := list(_wrong_defaults(path)))}
    assert not wrong


def test_shared_descriptions_are_filled_in():
    things = [_found(path) for path in OBJECTS]
    for cls in list(filter(inspect.isclass, things)):
        things += [value for _, value in inspect.getmembers(cls, callable)]
    left = [thing for thing in things if _LINE.search(str(thing.__doc__))]
    assert not left


def test_shared_descriptions_take_defaults_from_the_signature():
    @shared_docs
    class Toy:
        """Toy.

        Parameters
        ----------
        {C, solver}
            Only one.
        """

        def __init__(self, C=3.0, solver="newton"):
            pass

        def fit(self, X):
            """Fit.

            {X}
            """

        @classmethod
        def made(cls, y, n_jobs=2):
            """Make one.

            {(y, n_jobs) -> self}

            {See Also: certify, contest}
            """

    lines = Toy.__doc__.splitlines()
    assert lines[4] == "        C : float, default=3.0"
    assert lines[6] == '        solver : {"newton", "lbfgs", "irls"}, default="newton"'
    assert lines[9] == "            Only one."
    assert "            X : array-like or sparse matrix of shape" in Toy.fit.__doc__
    lines = inspect.getdoc(Toy.made).splitlines()
    assert lines[6] == "n_jobs : int or None, default=2"
    assert lines[lines.index("Returns") + 2] == "self : object"
    assert lines[-4:-2] == ["See Also", "--------"]
    assert lines[-1].startswith("noiseproof.evaluation.contest : Cross-validates")
    with pytest.raises(KeyError, match="no_such_name"):
        shared_docs(type("Toy", (), {"__doc__": "{no_such_name}"}))


def test_every_shared_description_is_used():
    used = {"References": set(), "See Also": set(), None: set()}
    for file in Path(noiseproof.__file__).parent.rglob("*.py"):
        if file.name != "_docs.py":
            for _, section, names, returned in _LINE.findall(file.read_text("utf-8")):
                used[section or None] |= {*names.split(", "), returned} - {""}
    assert used["References"] == set(_REFERENCES)
    assert used["See Also"] == set(_RELATED)
    assert used[None] == set(_SHARED)


def test_without_docstrings_there_is_nothing_to_fill_in():
    bare = type("Bare", (), {"fit": lambda self, X: None})
    assert shared_docs(bare).__doc__ is None


@pytest.mark.whole
def test_everything_can_be_imported_without_docstrings():
    code = "import noiseproof as n; print(all(getattr(n, x) for x in n.__all__))"
    done = subprocess.run(
        [sys.executable, "-OO", "-c", code], capture_output=True, text=True, check=True
    )
    assert done.stdout.strip() == "True"
