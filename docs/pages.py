"""What a build of the site makes: API pages, the demo's report, the landing picture."""

from __future__ import annotations

import inspect
import json
import subprocess
import sys
from importlib import import_module
from pathlib import Path
from typing import Any

import matplotlib as mpl
import matplotlib.pyplot as plt
import public_names

import noiseproof
from noiseproof._marginal import LOSSES, SOLVERS
from noiseproof.estimators import ESTIMATORS

HERE = Path(__file__).parent
GENERATED = HERE / "_generated"
MODULES = (
    "noise",
    "attacks",
    "conditionals",
    "training",
    "evaluation",
    "report",
    "serving",
    "bounds",
    "datasets",
    "tables",
    "groups",
    "structured",
    "io",
)
LOOKS = {  # text, lines of the grid, models that fall, models that hold
    "light": ("#1d2733", "#d5dbe3", "#8a94a1", ("#0072b2", "#d55e00")),
    "dark": ("#e7ebf0", "#36404d", "#8a94a1", ("#56b4e9", "#f0934e")),
}


def make() -> None:
    """Everything that the pages of this folder refer to and git does not keep."""
    GENERATED.mkdir(exist_ok=True)
    (HERE / "api").mkdir(exist_ok=True)
    _write(HERE / "api" / "index.md", api_page())
    _write(GENERATED / "public_names.md", public_names.stability_tables())
    _write(GENERATED / "provisional.md", public_names.provisional_table())
    numbers = demo()
    for look in LOOKS:
        picture(numbers, look)


def _write(path: Path, text: str) -> None:
    """Only if it is new, so that the next build has less to do."""
    if not path.exists() or path.read_text(encoding="utf-8") != text:
        path.write_text(text, encoding="utf-8")


def api_page() -> str:
    """A table for each module; Sphinx makes a page of every name in it."""
    estimators = [cls.__name__ for cls in ESTIMATORS.values()]
    rest = [name for name in _public(noiseproof) if name not in estimators]
    lines = ["# API reference", "", "Everything that can be imported, by module. Which"]
    lines += ["names are stable is [on a page of its own](../stability.md)."]
    lines += _table("noiseproof", "Estimators", estimators)
    lines += _table("noiseproof", "Functions", rest)
    lines += _constants("noiseproof")
    for name in MODULES:
        module = import_module(f"noiseproof.{name}")
        names = [name for name in _public(module) if name not in rest]
        lines += _table(module.__name__, f"`{module.__name__}`", names, _first(module))
        lines += _constants(module.__name__)
    lines += ["", "## Losses", "", "The choices for `expectation`:", ""]
    lines += ["| loss | expectation | loss of a row | convex |", "|---|---|---|---|"]
    for (loss, expectation), part in LOSSES.items():
        formula, convex = (
            _first(part).replace("|", "\\|"),
            "yes" if part.convex else "no",
        )
        lines.append(f"| {loss} | `{expectation}` | {formula} | {convex} |")
    lines += ["", "## Solvers", "", "| `solver` | what it is |", "|---|---|"]
    for name, solver in SOLVERS.items():
        lines.append(f"| `{name}` | {_first(inspect.getmodule(solver))} |")
    lines += ["", "## Names on the command line", ""]
    lines += ["| `--model` | estimator |", "|---|---|"]
    lines += [f"| `{short}` | `{cls.__name__}` |" for short, cls in ESTIMATORS.items()]
    return "\n".join(lines) + "\n"


def _public(module: Any) -> list[str]:
    return [name for name in module.__all__ if callable(getattr(module, name))]


def _constants(module: str) -> list[str]:
    """The public constants of a module, such as the registries of its classes."""
    lines = public_names.constants(module)
    return ["", "```{eval-rst}", *lines[1:], "```"] if lines else []


def _first(thing: object) -> str:
    return (inspect.getdoc(thing) or "").splitlines()[0]


def _table(module: str, title: str, names: list[str], text: str = "") -> list[str]:
    lines = ["", f"## {title}", "", text, "", "```{eval-rst}"]
    lines += [f".. currentmodule:: {module}", "", ".. autosummary::"]
    lines += ["   :toctree: .", "   :nosignatures:"]
    return [*lines, "", *(f"   {name}" for name in names), "```"]


def demo() -> Any:
    """Numbers of `noiseproof demo`, whose page is kept; run again if code changed."""
    page, numbers = GENERATED / "demo.html", GENERATED / "demo.json"
    source = Path(noiseproof.__file__).parent
    newest = max(path.stat().st_mtime for path in source.rglob("*.py"))
    if not numbers.exists() or numbers.stat().st_mtime < newest:
        command = [sys.executable, "-m", "noiseproof", "demo", "--json"]
        done = subprocess.run(
            [*command, "-o", str(page)], stdout=subprocess.PIPE, check=True, text=True
        )
        numbers.write_text(done.stdout, encoding="utf-8")
    return json.loads(numbers.read_text(encoding="utf-8"))


def picture(numbers: Any, look: str) -> None:
    """Accuracy of the demo's models while pixels go missing, for one colour scheme."""
    ink, rule, quiet, loud = LOOKS[look]
    shown = {
        "boosting": ("boosted trees", quiet, "--"),
        "KNNImputer + boosting": ("the same, imputed", loud[1], "-."),
        "averaged boosting": ("the same, averaged by noiseproof", loud[0], "-"),
    }
    style = {"text.color": ink, "axes.labelcolor": ink, "axes.edgecolor": rule}
    style |= {"xtick.color": ink, "ytick.color": ink, "svg.fonttype": "none"}
    with mpl.rc_context(style | {"font.family": "sans-serif", "font.size": 11}):
        figure, ax = plt.subplots(figsize=(6.4, 4.2), layout="constrained")
        for name, (label, colour, line) in shown.items():
            scores = numbers["models"][name]
            ax.plot(numbers["levels"], scores, line, color=colour, lw=3, label=label)
            ax.annotate(
                f"{scores[-1]:.0%}",
                (numbers["levels"][-1], scores[-1]),
                (8, -4),
                textcoords="offset points",
                color=colour,
                weight="bold",
            )
        ax.set(xlabel="share of pixels missing", ylabel="accuracy", ylim=(0.2, 1.02))
        ax.xaxis.set_major_formatter(mpl.ticker.PercentFormatter(1, 0))
        ax.yaxis.set_major_formatter(mpl.ticker.PercentFormatter(1, 0))
        ax.set_xlim(0, 0.9)
        ax.grid(color=rule, lw=0.8)
        ax.spines[:].set_visible(False)
        ax.legend(loc="lower left", frameon=False)
        figure.savefig(GENERATED / f"landing-{look}.svg", transparent=True)
        plt.close(figure)


def gallery_look(conf: Any, name: str) -> None:
    """Pictures of the gallery: sharp, of one size, without boxes."""
    plt.rcParams.update(
        {
            "figure.figsize": (7.0, 4.2),
            "figure.constrained_layout.use": True,
            "axes.spines.top": False,
            "axes.spines.right": False,
            "axes.grid": True,
            "axes.axisbelow": True,
            "grid.color": "#dddddd",
            "legend.frameon": False,
            "lines.linewidth": 2,
            "axes.prop_cycle": mpl.cycler(
                color=["#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9"]
            ),
        }
    )


def skip_routing(
    app: Any, what: str, name: str, thing: Any, skip: bool, options: Any
) -> Any:
    """Metadata routing and the like are scikit-learn's to explain."""
    return True if name.endswith(("_request", "_routing", "set_output")) else None
