"""The papers' tables and figures, one file each, behind one function.

>>> from experiments import EXPERIMENTS, run
>>> report = run("wager-table3", "tiny", out=None)
>>> len(report.claims)
3

An experiment is imported when it is looked up.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from experiments.experiment import Experiment
    from experiments.runner import Report

__all__ = ["EXPERIMENTS", "run"]

_NAMES = (
    "chen-fig1",
    "chen-fig2",
    "chen-fig3",
    "chen-table2",
    "teo-fig1",
    "teo-table1",
    "wager-fig1",
    "wager-fig2",
    "wager-table3",
    "wager-table4a",
    "wager-table4b",
    "dekel-sanity",
    "dekel-fig1",
    "dekel-fig2",
    "harms",
    "beyond",
    "outages",
    "vanishing",
    "holes",
    "cost",
)


class _Experiments(Mapping[str, "Experiment[Any]"]):
    """Experiment of each name; its module has the same name."""

    def __getitem__(self, name: str) -> Experiment[Any]:
        if name not in _NAMES:
            raise KeyError(name)
        module = import_module(f"{__name__}.{name.replace('-', '_')}")
        experiment: Experiment[Any] = module.EXPERIMENT
        return experiment

    def __iter__(self) -> Iterator[str]:
        return iter(_NAMES)

    def __len__(self) -> int:
        return len(_NAMES)


EXPERIMENTS: Mapping[str, Experiment[Any]] = _Experiments()


def run(
    name: str,
    size: str = "quick",
    out: str | Path | None = Path("results"),
    *,
    progress: Callable[[str], None] | None = None,
    n_jobs: int = 1,
) -> Report:
    """Repeat one table or figure of the papers and write down what came out.

    Parameters
    ----------
    name : str
        A key of `EXPERIMENTS`.
    size : {"tiny", "quick", "full"}, default="quick"
        "tiny" takes seconds, on made data; "quick" about a minute; "full" follows the
        paper's protocol. All but "tiny" read the papers' data from the folder that the
        environment variable `NOISEPROOF_DATA` names.
    out : path or None, default="results"
        Folder for `NAME.csv`, `NAME.md` and `NAME.png`; None writes nothing. The plot
        needs matplotlib (the extra `plot`). A run that was stopped goes on where it
        was, from `NAME-SIZE.unfinished` there.
    progress : callable, default=None
        Gets a line of text after each part of the work. None shows it at a terminal.
    n_jobs : int, default=1
        Processes that share the parts of the work.

    Returns
    -------
    report : Report
        Rows, claims and settings.
    """
    from experiments.runner import run_experiment

    if name not in EXPERIMENTS:
        raise ValueError(
            f"There is no experiment {name!r}; use one of {', '.join(EXPERIMENTS)}."
        )
    folder = None if out is None else Path(out)
    return run_experiment(EXPERIMENTS[name], size, folder, progress, n_jobs)
