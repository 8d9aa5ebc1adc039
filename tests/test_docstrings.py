"""Public docstrings are complete, by numpydoc's own validation."""

import inspect
import types
from importlib import import_module

import pytest

import noiseproof
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


@pytest.mark.parametrize("path", OBJECTS)
def test_docstring_is_complete(path):
    thing = _found(path)
    allowed = set(ALLOWED)
    if inspect.isclass(thing) and thing not in ESTIMATORS.values():
        allowed.add("EX01")  # results and base classes: what makes them has an example
    wrong = [e for e in validation.validate(path)["errors"] if e[0] not in allowed]
    assert not wrong


@pytest.mark.parametrize("path", OBJECTS)
def test_see_also_leads_somewhere(path):
    home = path.rpartition(".")[0]
    parsed = validation.Validator(validation.get_doc_object(_found(path)))
    for name in parsed.see_also:
        assert _found(name if name.startswith("noiseproof.") else f"{home}.{name}")
