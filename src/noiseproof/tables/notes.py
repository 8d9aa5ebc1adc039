"""Notes on the columns of a table: what a model would misread, and what to do."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np

from noiseproof._docs import shared_docs
from noiseproof.tables.cells import as_numbers, is_number, sentinel

_MOSTLY = 0.5  # share of values in a text column that can be read as numbers
_DIFFERENT = 0.9  # distinct values per row of an identifier, at least
_FEW_ROWS = 20  # too few rows to recognise an identifier
_CODES = 10  # a column with at most this many whole numbers may hold codes
_CLASSES = 10  # a numeric target with more classes than this gets a note
_EXACT = 2**53  # from here on a float cannot hold every whole number
_DATE = re.compile(r"\d{4}-\d{1,2}-\d{1,2}|\d{1,2}[./]\d{1,2}[./]\d{2,4}")
_NAMED = re.compile(  # Id, patient_id, PatientNo, id_patient, rownames, Unnamed: 0
    r"(?i:^|[\W_])(?i:ids?|idx|index|key|uuid|guid|nr|no|number)$"
    r"|(?<=[a-z])(I[dD]|No|Nr|Number|Key|Index)$"
    r"|(?i:^id[\W_]|^unnamed|^row_?(id|names?|number)$)"
)


@shared_docs
class Note(NamedTuple):
    """Something that a model would misread in some columns, and what to do about it.

    Parameters
    ----------
    columns : list of str
        Names of the columns.
    finding : str
        What was found, in words.
    answer : str
        The option of the command line that helps; empty if there is none.
    kind : str
        The kind of finding, for programs; see `noiseproof.serving.Served.check`.
    values : int
        How many values are affected, where the finding is about single values.

    {See Also: column_notes, Served}
    """

    columns: list[str]
    finding: str
    answer: str = ""
    kind: str = ""
    values: int = 0


@shared_docs
def column_notes(X: Any) -> list[Note]:
    """Check the columns of a training table for what a model would misread.

    The notes name columns that look like identifiers, dates, codes or duplicates, that
    are constant, or that hold text where numbers are meant.

    Parameters
    ----------
    X : DataFrame
        The table without its target. Arrays and sparse matrices get no notes.

    Returns
    -------
    notes : list of Note
        One note per finding, with all columns that it applies to.

    {See Also: target_note, Served}

    Examples
    --------
    >>> import pandas as pd
    >>> from noiseproof.tables import column_notes
    >>> table = pd.DataFrame({"dose": ["0.5", "<0.1", "0.7"], "site": [1, 1, 1]})
    >>> for note in column_notes(table):
    ...     print(note.columns, note.finding, note.answer)
    ['dose'] read as text: values such as '<0.1' are not plain numbers --coerce
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
    """Kind, words and answer of each finding about one column."""
    there = column.dropna()
    if not len(there):
        return  # the encoder warns of empty columns
    values = there.unique()
    if len(values) == 1 and len(column) > 1:
        if column.dtype.kind == "f" and abs(values[0]) >= _EXACT:
            words = "probably an identifier: numbers too large to tell apart"
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
        yield from _about_words(name, there.astype(str), values)


def _content(column: Any) -> Any:
    """A key that is equal for columns with the same values."""
    if not is_number(column):
        return tuple(column.astype(str))
    if column.dtype.kind in "iu" and (column.abs() >= _EXACT).any():
        return tuple(column)
    return column.to_numpy(dtype=np.float64).tobytes()


def _about_numbers(
    name: str, there: Any, values: Any
) -> Iterator[tuple[str, str, str]]:
    """Findings about a column of numbers."""
    strange = sentinel(there)
    if strange is not None:
        words = f"{strange:g} stands far from the other numbers: a missing value?"
        yield f"sentinel {strange}", words, "--coerce"
    whole = bool((there == there.round()).all())
    if not whole:
        return
    unique = len(values) == len(there)
    consecutive = unique and np.ptp(values) == len(values) - 1
    if _nearly_unique(there, values) and (consecutive or _NAMED.search(name)):
        every = "every" if unique else "almost every"
        words = f"probably an identifier: a different number in {every} row"
        yield f"identifier {every}", words, "--drop"
    elif 2 < len(values) <= _CODES and len(there) >= 10 * len(values):
        words = "few different whole numbers: quantities or codes?"
        yield "codes", words, "--categorical, if codes"


def _about_words(name: str, there: Any, values: Any) -> Iterator[tuple[str, str, str]]:
    """Findings about a column of text."""
    named = _nearly_unique(there, values) and _NAMED.search(name)
    numbers, plain = as_numbers(there), as_numbers(there, kindly=False)
    odd = there[plain.isna()]
    if not named and numbers.notna().mean() >= _MOSTLY:
        words = "read as text, though all values are numbers"
        if len(odd):
            example = repr(odd.iloc[0])
            words = f"read as text: values such as {example} are not plain numbers"
        yield "almost numbers", words, "--coerce"
    elif not named and there.str.match(_DATE).mean() >= _DIFFERENT:
        yield "dates", "dates, read as text", "--drop, or turn them into numbers"
    elif _nearly_unique(there, values):
        words = "probably an identifier: a different text in almost every row"
        yield "names", words, "--drop"


def _nearly_unique(there: Any, values: Any) -> bool:
    """Whether almost all values differ, in a column long enough to tell."""
    return len(there) > _FEW_ROWS and len(values) > _DIFFERENT * len(there)


@shared_docs
def target_note(y: Any, name: str, quantity: bool) -> Note | None:
    """Say how a numeric target was understood, if it could be classes or a quantity.

    Parameters
    ----------
    y : array-like of shape (n_samples,)
        The target.
    name : str
        Its name.
    quantity : bool
        Whether it is treated as a quantity.

    Returns
    -------
    note : Note or None
        None if the target is clear.

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
