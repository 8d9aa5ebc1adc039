"""Write docs/RESULTS.md from results of runs: python docs/make_results.py [FOLDER].

`noiseproof reproduce NAME` writes NAME.md, NAME.csv and NAME.png to a folder. This puts
the pages of a folder (docs/results, unless another is named) in one, copies the files
of another folder to docs/results, and types nothing itself.
"""

from __future__ import annotations

import shutil
import sys
from pathlib import Path

HERE = Path(__file__).parent
sys.path.insert(0, str(HERE.parent))  # experiments are beside the package, not in it

from experiments import EXPERIMENTS  # noqa: E402
from experiments.pages import FAILS, HOLDS  # noqa: E402

PAGE, KEPT = HERE / "RESULTS.md", HERE / "results"
SUFFIXES = (".md", ".csv", ".png", "-ranks.png")


def page(folder: Path = KEPT) -> str:
    """The whole page as Markdown."""
    pages = {
        name: (folder / f"{name}.md").read_text(encoding="utf-8")
        for name in EXPERIMENTS
        if (folder / f"{name}.md").is_file()
    }
    sections = (section(name, text, folder) for name, text in pages.items())
    return "\n".join([HEAD, *index(pages), "", *sections])


HEAD = """\
# Results

The papers' tables and figures, repeated. Every number, and every verdict on a claim,
was computed by the command beside it; `python docs/make_results.py` made this page from
the files in `docs/results`. A `--quick` run takes about a minute and has fewer rows,
folds and repetitions than the paper; its settings are printed.

| experiment | paper | run | claims that hold |
| --- | --- | --- | --- |"""


def index(pages: dict[str, str]) -> list[str]:
    """A line of the contents for each experiment."""
    lines = []
    for name, text in pages.items():
        starts = [line for line in text.splitlines() if line.startswith((HOLDS, FAILS))]
        holding = sum(line.startswith(HOLDS) for line in starts)
        title = text.splitlines()[0].removeprefix("## ")
        anchor = "".join(c for c in title.lower() if c.isalnum() or c in " -")
        paper = EXPERIMENTS[name].paper
        size = "full" if f"reproduce {name} --full" in text else "quick"
        lines.append(
            f"| [{name}](#{anchor.replace(' ', '-')}) | {paper} | {size} | "
            f"{holding} of {len(starts)} |"
        )
    return lines


def section(name: str, text: str, folder: Path) -> str:
    """A page with links to its plots and its numbers."""
    stems = [s for s in (name, f"{name}-ranks") if (folder / f"{s}.png").is_file()]
    plots = "\n\n".join(f"![{stem}](results/{stem}.png)" for stem in stems)
    return f"{text}\n{plots}\n\n[CSV](results/{name}.csv)\n"


def keep(folder: Path) -> None:
    """Copy the files of a run to the folder of those we publish."""
    KEPT.mkdir(exist_ok=True)
    for name in EXPERIMENTS:
        for suffix in SUFFIXES:
            path = folder / f"{name}{suffix}"
            if path.is_file():
                shutil.copy(path, KEPT / path.name)


if __name__ == "__main__":
    if len(sys.argv) > 1:
        keep(Path(sys.argv[1]))
    PAGE.write_text(page(), encoding="utf-8")
