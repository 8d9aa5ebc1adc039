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


def shown(block: str, folder: str) -> str:
    """The commands of a block, each with what it prints now."""
    environment = os.environ | {"PYTHON": sys.executable, "COLUMNS": str(_WIDTH)}
    parts = []
    for command in re.findall(r"^\$ (.*)$", block, re.M):
        done = subprocess.run(
            ["bash", "-c", _SHELL + command],
            cwd=folder,
            env=environment,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            check=False,
        )
        lines = done.stdout.strip("\n").split("\n")
        said = "\n".join(textwrap.fill(line.rstrip(), _WIDTH) for line in lines)
        parts.append(f"$ {command}\n{said}".strip("\n") + "\n")
    return "\n".join(parts)


def page(text: str) -> str:
    """The page with its session run again."""
    before, rest = text.split(START)
    session, after = rest.split(END)
    with tempfile.TemporaryDirectory() as folder:
        code = "\n".join(re.findall(r"```python\n(.*?)```", session, re.S))
        subprocess.run([sys.executable, "-c", code], cwd=folder, check=True)
        session = _BLOCK.sub(lambda block: shown(block[0], folder), session)
    return before + START + session + END + after


if __name__ == "__main__":
    PAGE.write_text(page(PAGE.read_text(encoding="utf-8")), encoding="utf-8")
