"""Every public name with its stability, and the table of them on the site.

A name is public if it is in `__all__` of `noiseproof` or of a module listed there. It
is stable unless `PROVISIONAL` names it: this is the only list of provisional names.
"""

from __future__ import annotations

from importlib import import_module
from inspect import getdoc, ismodule
from typing import Any

import noiseproof

# Name: why it may still change. Remove a line to declare a name stable.
PROVISIONAL = {
    "noiseproof.StructuredSVM": (
        "The protocol for structured outputs has been tried on two problems only."
    ),
    "noiseproof.attacks.LinearMaps": (
        "A base class for attacks of your own; what a subclass must provide may change."
    ),
    "noiseproof.attacks.LinearMargins": (
        "Holds what an attack knows about a linear model; more kinds of models may "
        "need other attributes."
    ),
    "noiseproof.conditionals.Conditional": (
        "Using a conditional is stable. What a subclass must provide (the methods that "
        "begin with an underscore) may change."
    ),
    "noiseproof.conditionals.Draws": (
        "May get more fields, for weights that depend on the model."
    ),
    "noiseproof.evaluation.AcquisitionCurve": (
        "New; the names of its attributes may change."
    ),
    "noiseproof.evaluation.AcquisitionDisplay": "Follows `AcquisitionCurve`.",
    "noiseproof.evaluation.LinearView": (
        "Its attributes `steps`, `shifted`, `rank` and `rounding` serve the "
        "certificates and may change with them."
    ),
    "noiseproof.evaluation.acquisition_curve": (
        "New; its parameters and the orders it compares may change."
    ),
    "noiseproof.evaluation.linear_view": "Follows `LinearView`.",
    "noiseproof.io.log_mlflow": "Follows the interface of MLflow.",
    "noiseproof.io.save_mlflow": "Follows the interface of MLflow.",
    "noiseproof.noise.Cumulants": "Follows `Noise`.",
    "noiseproof.noise.Noise": (
        "Using a noise is stable. What a subclass must provide (the methods that begin "
        "with an underscore) may change."
    ),
    "noiseproof.noise.VarianceLaw": "Follows `Noise`.",
    "noiseproof.portfolio": (
        "Which models it contains, and under which names, changes as measurements "
        "improve."
    ),
    "noiseproof.report.Plan": "Gains and loses options together with the report.",
    "noiseproof.report.Summary": "Its fields follow the sections of the report.",
    "noiseproof.report.gather": "Returns a `Summary`.",
    "noiseproof.report.render": "Takes a `Summary`.",
    "noiseproof.structured.LinearChain": "Follows `StructuredProblem`.",
    "noiseproof.structured.Multiclass": "Follows `StructuredProblem`.",
    "noiseproof.structured.StructuredProblem": (
        "The protocol for structured outputs has been tried on two problems only."
    ),
    "noiseproof.structured.TokenDeletion": "Follows `StructuredProblem`.",
    "noiseproof.tables.column_notes": (
        "Made for the command line; which findings it reports may change."
    ),
    "noiseproof.tables.target_note": (
        "Made for the command line; which findings it reports may change."
    ),
    "noiseproof.training.TableParts": "Follows the interface of Dask's clusters.",
    "noiseproof.training.portfolio": "The same as `noiseproof.portfolio`.",
}

# What is public but neither a class nor a function
CONSTANTS = {
    "noiseproof.__version__": "The version of the library.",
    "noiseproof.attacks.ATTACKS": (
        "Classes of attacks, by their names on the command line."
    ),
    "noiseproof.conditionals.CONDITIONALS": (
        "Classes of conditionals, by the names that `AverageOverMissing` takes."
    ),
    "noiseproof.noise.MISSINGNESS": "Classes of missing values, by name.",
    "noiseproof.noise.NOISES": "Classes of noise, by their names on the command line.",
    "noiseproof.structured.PROBLEMS": "Classes of structured problems, by name.",
    "noiseproof.tables.SUFFIXES": "Suffixes of the files that `read_table` reads.",
}

# Class of a table whose cells stand below each other on a phone (see site.css)
STACKED = "{.stacked}"


def public_modules() -> list[str]:
    """`noiseproof` and the modules in its `__all__`."""
    names = sorted(noiseproof.__all__)
    return [
        "noiseproof",
        *(f"noiseproof.{n}" for n in names if ismodule(getattr(noiseproof, n))),
    ]


def public_names() -> dict[str, Any]:
    """Everything that is public, by dotted name; modules themselves are left out."""
    found = {}
    for path in public_modules():
        module = import_module(path)
        for name in sorted(module.__all__, key=str.lower):
            thing = getattr(module, name)
            if not ismodule(thing):
                found[f"{path}.{name}"] = thing
    return found


def stability(path: str) -> str:
    """Stable, or provisional."""
    return "provisional" if path in PROVISIONAL else "stable"


def stability_tables() -> str:
    """A table of names for each public module, in Markdown."""
    lines: list[str] = []
    names = public_names()
    for module in public_modules():
        here = [path for path in names if path.rpartition(".")[0] == module]
        lines += [
            "",
            f"### `{module}`",
            "",
            STACKED,
            "| name | stability | what it is |",
        ]
        lines += ["|---|---|---|"]
        lines += [_row(path, names[path]) for path in here]
    return "\n".join(lines) + "\n"


def home(path: str) -> str:
    """The name under which the API pages show a name: the shortest, if it has two."""
    name = path.rpartition(".")[2]
    return f"noiseproof.{name}" if name in noiseproof.__all__ else path


def _row(path: str, thing: Any) -> str:
    """One name, with a link to its API page."""
    name = path.rpartition(".")[2]
    link = f"{{py:obj}}`{name} <{home(path)}>`"
    return f"| {link} | {stability(path)} | {summary(path, thing)} |"


def summary(path: str, thing: Any) -> str:
    """What a name is, in a line; constants have no docstring of their own."""
    if path in CONSTANTS:
        return CONSTANTS[path]
    return (getdoc(thing) or "").splitlines()[0].replace("|", "\\|")


def provisional_table() -> str:
    """The provisional names and why they are, in Markdown."""
    lines = [STACKED, "| name | why it may change |", "|---|---|"]
    for path, why in PROVISIONAL.items():
        lines.append(f"| {{py:obj}}`{path} <{home(path)}>` | {why} |")
    return "\n".join(lines) + "\n"


def constants(module: str) -> list[str]:
    """Sphinx directives for the public constants of a module."""
    found = []
    for path, text in CONSTANTS.items():
        home, _, name = path.rpartition(".")
        if home == module:
            found += [
                "",
                f".. py:data:: {name}",
                f"   :module: {module}",
                "",
                f"   {text}",
            ]
    return found
