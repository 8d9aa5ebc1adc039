"""Read tables from files, and encode their columns as features.

`read_table` reads a file. A pipeline that starts with a `TableEncoder` accepts the raw
table.
"""

from __future__ import annotations

from noiseproof.tables.cells import written as written
from noiseproof.tables.encoder import TableEncoder
from noiseproof.tables.notes import Note, column_notes, target_note
from noiseproof.tables.reading import SUFFIXES, Table, TableError, read_table

__all__ = [
    "SUFFIXES",
    "Note",
    "Table",
    "TableEncoder",
    "TableError",
    "column_notes",
    "read_table",
    "target_note",
]
