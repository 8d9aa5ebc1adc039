"""Time to a fixed relative suboptimality, beside the time at defaults.

    python benchmarks/suboptimality.py                # prints the tables
    python benchmarks/suboptimality.py plot docs/pictures   # and draws them, too
    python benchmarks/suboptimality.py - books        # one data set

The problem, the data sets and the solvers are files under `benchmarks/benchopt`, which
`benchopt run benchmarks/benchopt` runs, too. Here every solver is fitted to tighter and
tighter tolerances, three times each, or once if that takes long, with the threads of
this process. Its curve is the median time against (objective - minimum) / minimum. The
minimum is the lowest value that anybody finds.
"""

from __future__ import annotations

import importlib.util
import statistics
import sys
import time
from pathlib import Path

import numpy as np

HERE = Path(__file__).parent / "benchopt"
TOLERANCES = 10.0 ** -np.arange(0, 11)
GOALS = (1e-3, 1e-6)
LIMIT = 5.0  # seconds: a solver that takes longer gets no tighter tolerance
DATA = {"books": ("text", {"source": "books"}),
        "kitchen": ("text", {"source": "kitchen"}),
        "tall": ("tall", {"rows": 100_000, "features": 30})}  # fmt: skip
PEERS = [
    ("scikit_learn", {"solver": "liblinear"}),
    ("scikit_learn", {"solver": "lbfgs"}),
    ("scikit_learn", {"solver": "newton-cg"}),
    ("scikit_learn", {"solver": "newton-cholesky"}),
    ("snapml", {"n_jobs": 2}),
    ("cyanure", {}),
]
DEFAULT_TOL = {"noiseproof": 1e-6, "snapml": 1e-3, "cyanure": 1e-3}


def load(kind: str, name: str, **parameters):
    """An instance of the class in a file of the benchmark, or None where it fails."""
    folder = HERE if kind == "Objective" else HERE / f"{kind.lower()}s"
    spec = importlib.util.spec_from_file_location(f"np_{name}", folder / f"{name}.py")
    module = importlib.util.module_from_spec(spec)
    try:
        spec.loader.exec_module(module)
    except ImportError as missing:
        print(f"{name} is left out: {missing}", flush=True)
        return None
    made = getattr(module, kind)()
    for key, value in parameters.items():
        setattr(made, key, value)
    return made


def curve(solver, objective) -> list[tuple[float, float, float]]:
    """Tolerance, seconds and objective of a solver, to ever tighter tolerances."""
    solver.set_objective(**objective.get_objective())
    solver.run(1.0)
    points = []
    for tol in TOLERANCES:
        times = []
        for _ in range(3):
            start = time.perf_counter()
            solver.run(tol)
            times.append(time.perf_counter() - start)
            if times[0] > 0.5:
                break
        value = objective.evaluate_result(**solver.get_result())["value"]
        points.append((tol, statistics.median(times), value))
        if times[0] > LIMIT:
            break
    return points


def contest(data: str, loss: str) -> dict[str, list[tuple[float, float, float]]]:
    """Curves with suboptimalities in place of objectives."""
    kind, parameters = DATA[data]
    X_y = load("Dataset", kind, **parameters).get_data()
    curves = {}
    for rate in (0.0, 0.5, 0.9):
        objective = load("Objective", "objective", loss=loss, rate=rate, C=0.1)
        objective.set_data(**X_y)
        mine = f"noiseproof, rate {rate:g}"
        found = {mine: load("Solver", "noiseproof", solver="newton")}
        for name, options in PEERS if not rate else ():
            peer = load("Solver", name, **options)
            if peer is not None and not peer.skip(**objective.get_objective())[0]:
                found[options.get("solver", name)] = peer
        found = {name: curve(solver, objective) for name, solver in found.items()}
        best = min(value for points in found.values() for *_, value in points)
        for name, points in found.items():
            curves[name] = [(tol, s, value / best - 1) for tol, s, value in points]
    return curves


def default_time(name: str, points) -> float:
    """Seconds at the solver's default tolerance."""
    wanted = next((t for key, t in DEFAULT_TOL.items() if name.startswith(key)), 1e-4)
    return next((s for tol, s, _ in points if tol <= 1.01 * wanted), float("nan"))


def time_to(points, goal: float) -> float:
    return min((s for _, s, gap in points if gap <= goal), default=float("nan"))


def table(data: str, loss: str, curves) -> None:
    print(f"\n{data}, {loss}, C = 0.1, no intercept")
    print("| solver | s at defaults | s to 1e-3 | s to 1e-6 |\n|---|---|---|---|")
    for name, points in curves.items():
        cells = default_time(name, points), *(time_to(points, goal) for goal in GOALS)
        shown = " | ".join("-" if np.isnan(s) else f"{s:.4f}" for s in cells)
        print(f"| {name} | {shown} |", flush=True)


def plot(data: str, loss: str, curves, folder: Path) -> None:
    import matplotlib

    matplotlib.use("Agg")
    import matplotlib.pyplot as plt
    from matplotlib.ticker import LogLocator, NullFormatter

    figure, axes = plt.subplots(figsize=(6.4, 3.8))
    for name, points in curves.items():
        ours = name.startswith("noiseproof")
        seconds = [s for _, s, _ in points]
        gaps = [max(gap, 1e-10) for *_, gap in points]
        order = np.argsort(seconds)
        best = np.minimum.accumulate(np.array(gaps)[order])
        style = {"lw": 2.2} if ours else {"lw": 1.1, "ls": "--"}
        axes.loglog(np.array(seconds)[order], best, "o", ms=3, label=name, **style)
        axes.lines[-1].set_linestyle(style.get("ls", "-"))
    axes.set(xlabel="seconds", ylabel="(objective - minimum) / minimum")
    axes.xaxis.set_major_locator(LogLocator(subs=(1, 2, 5)))  # also within a decade
    axes.xaxis.set_major_formatter("{x:g}")
    axes.xaxis.set_minor_formatter(NullFormatter())
    axes.set_title(f"{data}, {loss} loss")
    axes.legend(fontsize=7, frameon=False)
    figure.tight_layout()
    folder.mkdir(parents=True, exist_ok=True)
    figure.savefig(folder / f"suboptimality-{data}-{loss}.svg")


def main(what: str = "-", *names: str) -> None:
    folder = None
    if what == "plot":
        folder, names = Path(names[0]), names[1:]
    for data in names or DATA:
        for loss in ("logistic",) if data == "tall" else ("logistic", "hinge"):
            curves = contest(data, loss)
            table(data, loss, curves)
            if folder:
                plot(data, loss, curves, folder)


if __name__ == "__main__":
    main(*sys.argv[1:])
