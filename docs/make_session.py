"""Run the session of docs/cli.md again and write what it shows: a few minutes.

    python docs/make_session.py

The Python of the section makes the tables; then every `$ command` of its text blocks is
run in the same folder, and what it prints takes the place of what stood there.
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
import tempfile
import textwrap
from pathlib import Path

PAGE = Path(__file__).parent / "cli.md"
START, END = "## A session\n", "## What may happen\n"
_BLOCK = re.compile(r"(?<=```text\n)(.*?)(?=```)", re.S)
_WIDTH = 100  # of the terminal
_SHELL = 'noiseproof() { "$PYTHON" -m noiseproof "$@"; }\n'


def commands(section: str) -> list[str]:
    """The commands of the session, in their order."""
    return re.findall(r"^\$ (.*)$", "".join(_BLOCK.findall(section)), re.M)


def output(command: str, folder: str) -> str:
    """What a command prints now."""
    done = subprocess.run(
        ["bash", "-c", _SHELL + command],
        cwd=folder,
        env=os.environ | {"PYTHON": sys.executable, "COLUMNS": str(_WIDTH)},
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        encoding="utf-8",
        check=False,
    )
    lines = done.stdout.strip("\n").split("\n")
    return "\n".join(textwrap.fill(line.rstrip(), _WIDTH) for line in lines)


def make_tables(section: str, folder: str) -> None:
    """Run the Python of the section, which writes the tables."""
    code = "\n".join(re.findall(r"```python\n(.*?)```", section, re.S))
    subprocess.run([sys.executable, "-c", code], cwd=folder, check=True)


def split(text: str) -> tuple[str, str, str]:
    """The page before the session, the session, and the page after it."""
    before, rest = text.split(START)
    section, after = rest.split(END)
    return before, section, after


def shown(block: str, folder: str) -> str:
    """The commands of a block, each with what it prints now."""
    parts = (
        f"$ {command}\n{output(command, folder)}".strip("\n") + "\n"
        for command in re.findall(r"^\$ (.*)$", block, re.M)
    )
    return "\n".join(parts)


def page(text: str) -> str:
    """The page with its session run again."""
    before, section, after = split(text)
    with tempfile.TemporaryDirectory() as folder:
        make_tables(section, folder)
        section = _BLOCK.sub(lambda block: shown(block[0], folder), section)
    return before + START + section + END + after


if __name__ == "__main__":
    PAGE.write_text(page(PAGE.read_text(encoding="utf-8")), encoding="utf-8")
