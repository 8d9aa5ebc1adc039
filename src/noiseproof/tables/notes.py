"""A look at the columns of a table: what a model would misread, and what to do."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np

from noiseproof._docs import shared_docs
from noiseproof.tables.cells import as_numbers, is_number, sentinel

_MOSTLY = 0.5  # of the cells of a text column are numbers, if they are read kindly
_DIFFERENT = 0.9  # of the cells of an identifier
_FEW_ROWS = 20  # tell nothing about identifiers
_CODES = 10  # so many whole numbers may be codes
_CLASSES = 10  # so many different numbers of a target are worth a word
_EXACT = 2**53  # whole numbers from here on are rounded by a float
_DATE = re.compile(r"\d{4}-\d{1,2}-\d{1,2}|\d{1,2}[./]\d{1,2}[./]\d{2,4}")
_NAMED = re.compile(r"(^|[_ ])(id|index|key|uuid|nr|no)$|^unnamed", re.IGNORECASE)


@shared_docs
class Note(NamedTuple):
    """Columns, what was found in them, and what can be done about it.

    Parameters
    ----------
    columns : list of str
        Names of the columns.
    finding : str
        What was found, in words.
    answer : str
        The option of the command line that answers it; may be empty.
    kind : str
        What sort of finding it is, for programs; see `noiseproof.serving.Served.check`.
    values : int
        How many values it is about, if it is about some.

    {See Also: column_notes, Served}
    """

    columns: list[str]
    finding: str
    answer: str = ""
    kind: str = ""
    values: int = 0


@shared_docs
def column_notes(X: Any) -> list[Note]:
    """What to know about the columns of a training table before a model is made of it.

    Parameters
    ----------
    X : DataFrame
        The table without its target; arrays and sparse matrices have no notes.

    Returns
    -------
    notes : list of Note
        Columns with the same finding together.

    {See Also: target_note, Served}

    Examples
    --------
    >>> import pandas as pd
    >>> from noiseproof.tables import column_notes
    >>> table = pd.DataFrame({"dose": ["0.5", "<0.1", "0.7"], "site": [1, 1, 1]})
    >>> for note in column_notes(table):
    ...     print(note.columns, note.finding, note.answer)
    ['dose'] read as text: cells such as '<0.1' are not plain numbers --coerce
    ['site'] the same in every row --drop
    """
    if not hasattr(X, "iloc"):
        return []
    found: dict[tuple[str, str], Note] = {}
    twins: dict[Any, str] = {}
    for name, column in X.items():
        for kind, finding, answer in _findings(str(name), column, twins):
            first = found.setdefault((kind, answer), Note([], finding, answer))
            first.columns.append(str(name))
    return list(found.values())


def _findings(
    name: str, column: Any, twins: dict[Any, str]
) -> Iterator[tuple[str, str, str]]:
    """Kind, words and answer of all that is worth a note about one column."""
    there = column.dropna()
    if not len(there):
        return  # the encoder says so
    values = there.unique()
    if len(values) == 1 and len(column) > 1:
        if column.dtype.kind == "f" and abs(values[0]) >= _EXACT:
            words = "numbers too large to be told apart: an identifier?"
            yield "too large", words, "--drop"
        else:
            yield "constant", "the same in every row", "--drop"
        return
    twin = twins.setdefault(_content(column), name)
    if twin != name:
        yield f"twin {twin}", f"the same as {twin!r}", "--drop"
    elif is_number(column):
        yield from _about_numbers(name, there, values)
    else:
        yield from _about_words(there.astype(str), values)


def _content(column: Any) -> Any:
    """Equal for columns with the same cells."""
    if not is_number(column):
        return tuple(column.astype(str))
    if column.dtype.kind in "iu" and (column.abs() >= _EXACT).any():
        return tuple(column)
    return column.to_numpy(dtype=np.float64).tobytes()


def _about_numbers(
    name: str, there: Any, values: Any
) -> Iterator[tuple[str, str, str]]:
    """The same about a column of numbers."""
    strange = sentinel(there)
    if strange is not None:
        words = f"{strange:g} stands far from the other numbers: a missing value?"
        yield f"sentinel {strange}", words, "--coerce"
    whole = bool((there == there.round()).all())
    if not whole:
        return
    unique = len(values) == len(there) > _FEW_ROWS
    if unique and (_NAMED.search(name) or np.ptp(values) == len(values) - 1):
        yield "identifier", "a different number in every row: an identifier?", "--drop"
    elif 2 < len(values) <= _CODES and len(there) >= 10 * len(values):
        words = "few different whole numbers: quantities or codes?"
        yield "codes", words, "--categorical, if codes"


def _about_words(there: Any, values: Any) -> Iterator[tuple[str, str, str]]:
    """The same about a column of text."""
    numbers, plain = as_numbers(there), as_numbers(there, kindly=False)
    odd = there[plain.isna()]
    if numbers.notna().mean() >= _MOSTLY:
        words = "read as text, though all cells are numbers"
        if len(odd):
            words = f"read as text: cells such as {odd.iloc[0]!r} are not plain numbers"
        yield "almost numbers", words, "--coerce"
    elif there.str.match(_DATE).mean() >= _DIFFERENT:
        yield "dates", "dates, read as text", "--drop, or turn them into numbers"
    elif len(there) > _FEW_ROWS and len(values) > _DIFFERENT * len(there):
        yield "names", "a different text in almost every row: an identifier?", "--drop"


@shared_docs
def target_note(y: Any, name: str, quantity: bool) -> Note | None:
    """A word about a target whose numbers could be classes as well as a quantity.

    Parameters
    ----------
    y : array-like of shape (n_samples,)
        The target.
    name : str
        Its name.
    quantity : bool
        Whether it is taken as a quantity.

    Returns
    -------
    note : Note or None
        None if there is no doubt.

    {See Also: column_notes}

    Examples
    --------
    >>> from noiseproof.tables import target_note
    >>> target_note([0, 1, 1], "ill", quantity=False) is None
    True
    """
    y = np.asarray(y)
    different = len(np.unique(y))
    if y.dtype.kind not in "iuf" or (different <= _CLASSES and not quantity):
        return None
    words = f"target with {different} different numbers, taken as "
    if quantity:
        return Note([name], f"{words}a quantity", "--task classification")
    return Note([name], f"{words}classes", "--task regression")
