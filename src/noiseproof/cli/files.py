"""Loading of models, and reading of tables as these models need them."""

from __future__ import annotations

import sys
import tempfile
import warnings
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import typer

from noiseproof.cli.output import listed, show_notes
from noiseproof.io import is_foreign, load_with_notes, open_foreign, save
from noiseproof.serving import Served, encoder_of
from noiseproof.tables import (
    Table,
    TableEncoder,
    TableError,
    column_notes,
    read_table,
    target_note,
)
from noiseproof.training import task_of

_STARTS = {  # of files that come through standard input, and their suffixes
    b"PAR1": ".parquet",
    b"PK\x03\x04": ".npz",
    b"\x1f\x8b": ".csv.gz",
    b"BZh": ".csv.bz2",
    b"\xfd7zXZ": ".csv.xz",
    b"\x28\xb5\x2f\xfd": ".csv.zst",
}
_CHANGES = ("absent", "extra", "unreadable", "unseen")  # what models are judged on


class Saved(NamedTuple):
    """A model from a file, with the notes that were saved with it.

    `served` is set if the training table is known, from the file or from the encoder of
    the model.
    """

    model: Any
    notes: dict[str, Any]
    served: Served | None = None

    @property
    def encoder(self) -> TableEncoder | None:
        """The encoder of its tables, if the command line has trained the model."""
        return encoder_of(self.model)

    @property
    def takes_raw_rows(self) -> bool:
        """Whether the model gets the table itself, and encodes it inside."""
        return self.encoder is not None and not hasattr(self.model, "steps")

    def n_features(self, X: Any) -> int:
        """Number of features of X after encoding."""
        if self.encoder is None or self.takes_raw_rows:
            return int(X.shape[1])
        return len(self.encoder.get_feature_names_out())

    def judged_on(self, X: Any) -> Any:
        """The model, or its served form if X also has columns of other models."""
        if self.served is None or not self.takes_raw_rows:
            return self.model
        same = list(X.columns) == self.served.names
        return self.model if same else self.served


@dataclass(frozen=True)
class TableOptions:
    """Options that say how to read and encode a training table."""

    target: str | None
    drop: list[str] | None
    coerce: list[str] | None
    categorical: list[str] | None
    task: str | None
    n_features: int | None
    scale: str = "auto"

    def read(self, data: Path, *, quiet: bool) -> Table:
        """Read the table, drop columns, and print notes about the others."""
        if self.task not in (None, "classification", "regression"):
            raise typer.BadParameter(
                f"--task {self.task}: use classification or regression."
            )
        table = read_data(data, self.target, n_features=self.n_features)
        require_target(table, data)
        for option in ("drop", "coerce", "categorical"):
            for name in getattr(self, option) or []:
                if name not in table.names:
                    raise TableError(f"--{option}: {data} has no column {name!r}.")
        # the notes say so
        warnings.filterwarnings("ignore", ".* different texts in .* leave it out")
        if self.drop:
            table = replace(table, X=table.X.drop(columns=self.drop))
        if not quiet:
            answered = [*(self.coerce or []), *(self.categorical or [])]
            notes = column_notes(
                table.X.drop(columns=answered) if answered else table.X
            )
            quantity = self.task_of(table.y) == "regression"
            about = target_note(table.y, str(table.target), quantity)
            show_notes(notes + [about] * (about is not None and self.task is None))
        return table

    def task_of(self, y: Any) -> str:
        """The task that was given, or else the one that the target suggests."""
        return self.task or task_of(y)

    @property
    def encoder(self) -> TableEncoder:
        """An encoder with these options."""
        return TableEncoder(
            self.scale, coerce=self.coerce or (), categorical=self.categorical or ()
        )


def save_trained(model: Any, path: Path, table: Table, summary: dict[str, Any]) -> None:
    """Save a model with the facts about its training that later commands need."""
    notes = {"target": table.target, "first_index": table.first_index}
    served = Served(model, table.X, target=table.target)
    save(served, path, notes=notes | {"training": summary})


def open_model(path: Path, *, foreign: bool = True) -> Saved:
    """Load a model and its notes, from our own file or pipe, or from elsewhere."""
    if foreign and is_foreign(path):
        return Saved(open_foreign(path), {})
    model, notes = load_with_notes(path)
    if isinstance(model, Served):
        return Saved(model.model, notes, model)
    return Saved(model, notes, Served.remembered(model, notes.get("target")))


def read_data(path: Path, target: str | None, **options: Any) -> Table:
    """Read a table from a file, or from standard input if the name is -."""
    if str(path) != "-":
        return read_table(path, target, strict=False, **options)
    data = sys.stdin.buffer.read()
    known = (suffix for start, suffix in _STARTS.items() if data.startswith(start))
    with (
        tempfile.TemporaryDirectory() as folder,
        warnings.catch_warnings(record=True) as said,
    ):
        warnings.simplefilter("always")
        copy = Path(folder) / f"input{next(known, '.csv')}"
        copy.write_bytes(data)
        try:
            table = read_table(copy, target, strict=False, **options)
        except TableError as error:
            raise TableError(str(error).replace(str(copy), "standard input")) from error
    for warning in said:
        warnings.warn(
            str(warning.message).replace(str(copy), "standard input"), stacklevel=2
        )
    return table


def open_models(paths: list[Path]) -> dict[str, Saved]:
    """Load models, named by their files without the folder if that is unambiguous."""
    stems = [path.name if is_foreign(path) else path.stem for path in paths]
    names = stems if len(set(stems)) == len(stems) else [str(path) for path in paths]
    return {name: open_model(path) for name, path in zip(names, paths, strict=True)}


def read_for(saved: list[Saved], path: Path, target: str | None) -> Table:
    """Read a table with a target, as the models get it, and print notes about it."""
    target = target or next((s.notes.get("target") for s in saved if s.notes), None)
    table = read_raw(saved, path, target)
    require_target(table, path)
    _check_labels(saved[0].model, table, path)
    arrived = [one.served.read(table.X) for one in saved if one.served is not None]
    if not arrived:
        return table
    notes = [n for part in arrived for n in part.notes if n.kind in _CHANGES]
    show_notes(list({str(one): one for one in notes}.values()))
    X = arrived[0].X
    for part in arrived[1:]:  # other models may have other columns
        more = [name for name in getattr(part.X, "columns", ()) if name not in X]
        X = X.assign(**{name: part.X[name] for name in more}) if more else X
    return replace(table, X=X)


def read_raw(saved: list[Saved], path: Path, target: str | None = None) -> Table:
    """Read a raw table; columns that the models know as text are read as text."""
    first = saved[0]
    tables = [one.served.columns for one in saved if one.served is not None]
    text = {column.name for part in tables for column in part if column.is_text}
    labels = getattr(first.model, "classes_", np.zeros(1))
    if target is not None and labels.dtype.kind in "UO":
        text.add(target)
    table = read_data(
        path,
        target,
        text=text,
        n_features=getattr(first.model, "n_features_in_", None),
        first_index=first.notes.get("first_index"),
    )
    names = list(getattr(first.model, "feature_names_in_", []))
    if names and first.served is None and sorted(names) == sorted(table.names):
        table = replace(table, X=table.X[names])  # in the order of training
    return table


def require_target(table: Table, path: Path) -> None:
    """Raise an error if a table has no target."""
    if table.y is None:
        hint = f"choose one with --target. It has {listed(table.names, 8, repr)}"
        raise TableError(
            f"{path} has no target: {hint if table.names else 'add an array y'}."
        )


def _check_labels(model: Any, table: Table, path: Path) -> None:
    """Raise an error if no label in the table is a class of the model."""
    classes, y = getattr(model, "classes_", None), np.asarray(table.y)
    if classes is not None and not np.isin(y, classes).any():
        raise TableError(
            f"{path}: no label in {table.target!r} is a class of the model. Its "
            f"classes are {listed(classes.tolist(), 4, repr)}; the labels are "
            f"{listed(np.unique(y).tolist(), 4, repr)}."
        )
