"""Printing and writing: results to standard output, the rest to the error stream."""

from __future__ import annotations

import csv
import io
import json
import math
import os
import shutil
import sys
import textwrap
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import Any

Columns = Mapping[str, Sequence[Any]]


def say(text: str = "") -> None:
    """Print a line of the result."""
    print(_fitted(text, sys.stdout))


def note(text: str) -> None:
    """Print a line that is not part of the result."""
    print(_fitted(text, sys.stderr), file=sys.stderr)


def _fitted(text: str, stream: Any) -> str:
    """The text in lines that fit the terminal, if it is printed on one."""
    if not stream.isatty():
        return text
    width = shutil.get_terminal_size().columns
    wrap = partial(
        textwrap.fill, width=width, break_long_words=False, break_on_hyphens=False
    )
    return "\n".join(map(wrap, text.split("\n")))


def check_output(output: Path | None, *inputs: Path | None) -> None:
    """Raise an error, before any work, if the output cannot be written.

    An output that would overwrite an input is refused, too. If the file is written to
    standard output itself, as with `-o /dev/stdout`, everything that would be printed
    there goes to the error stream from now on.
    """
    from noiseproof import io as files

    if output is None:
        return
    files.check_output(output, [path for path in inputs if path is not None])
    with suppress(OSError, ValueError):  # an output that is no stream of the system
        if os.path.samestat(os.stat(output), os.fstat(sys.stdout.fileno())):
            sys.stdout = sys.stderr


def show_json(value: Any) -> None:
    """Print the whole result as JSON; numbers that are not finite become null."""
    print(json.dumps(_plain(value), indent=2, allow_nan=False, ensure_ascii=False))


def _plain(value: Any) -> Any:
    """Convert a value to types of JSON."""
    if hasattr(value, "tolist"):  # NumPy's numbers and arrays
        value = value.tolist()
    if isinstance(value, Mapping):
        return {str(key): _plain(part) for key, part in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(part) for part in value]
    if isinstance(value, float) and not math.isfinite(value):
        return None
    return value


def show_table(
    columns: Mapping[str, Sequence[str]], *, words: bool = False, file: Any = None
) -> None:
    """Print columns of text: the first is aligned left, the others right.

    With `words`, all columns are aligned left. `file` is standard output by default.
    """
    from rich import box
    from rich.console import Console
    from rich.table import Table

    table = Table(box=box.SIMPLE_HEAD, show_edge=False)
    for i, name in enumerate(columns):
        right = i > 0 and not words
        table.add_column(name, justify="right" if right else "left", overflow="fold")
    for row in zip(*columns.values(), strict=True):
        table.add_row(*row)
    console = Console(highlight=False, markup=False, file=file or sys.stdout)
    console.print(table)
    console.print()


def show_notes(notes: Sequence[Any]) -> None:
    """Print notes about columns, on the error stream."""
    if not notes:
        return
    note("Notes about the columns:")
    columns = {"column": [listed(one.columns, 3) for one in notes]}
    columns["what was found"] = [one.finding for one in notes]
    if any(one.answer for one in notes):
        columns["option"] = [one.answer for one in notes]
    show_table(columns, words=True, file=sys.stderr)


def listed(values: Iterable[Any], most: int, show: Callable[[Any], str] = str) -> str:
    """List the first values, and say how many more there are."""
    shown = [show(value) for value in values]
    more = f" and {len(shown) - most} more" if len(shown) > most else ""
    return ", ".join(shown[:most]) + more


def write_csv(columns: Columns, path: Path | None, *, safe: bool = False) -> None:
    """Write columns as CSV to standard output, or to a file: completely or not at all.

    With `safe`, a text that a spreadsheet would take for a formula is preceded by '.
    """
    from noiseproof.io import atomic_write

    guard = _no_formula if safe else lambda cell: cell
    text = io.StringIO(newline="")
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(map(guard, columns))
    writer.writerows(zip(*(map(guard, c) for c in columns.values()), strict=True))
    if path is None:
        sys.stdout.write(text.getvalue())
        return
    with atomic_write(path) as file:
        file.write(text.getvalue().encode())


def _no_formula(cell: Any) -> Any:
    """Put a quote before a text that begins like a formula.

    Spreadsheets ignore white space at the beginning.
    """
    if not isinstance(cell, str) or not cell.lstrip().startswith(tuple("=+-@")):
        return cell
    try:
        float(cell)  # a number written as text, such as -1
    except ValueError:
        return f"'{cell}"
    return cell
