"""Saved models, and tables read as they need them."""

from __future__ import annotations

import sys
import tempfile
import warnings
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import typer

from noiseproof.cli.output import listed, note, show_notes
from noiseproof.io import is_foreign, load_with_notes, open_foreign, save
from noiseproof.tables import (
    Table,
    TableEncoder,
    TableError,
    column_notes,
    read_table,
    target_note,
)
from noiseproof.training import task_of


class Saved(NamedTuple):
    """A model from a file, with what was noted when it was trained."""

    model: Any
    notes: dict[str, Any]

    @property
    def encoder(self) -> TableEncoder | None:
        """What encodes its tables, if it was trained by the command line."""
        steps = getattr(self._inner, "steps", [(None, None)])
        return steps[0][1] if isinstance(steps[0][1], TableEncoder) else None

    @property
    def takes_raw_rows(self) -> bool:
        """Whether it sees the table itself, and encodes it later."""
        return self.encoder is not None and self._inner is not self.model

    @property
    def _inner(self) -> Any:
        """The pipeline behind an average, of the first member if it is a blend."""
        is_blend = hasattr(self.model, "named_estimators_")
        member = self.model.estimators_[0] if is_blend else self.model
        return getattr(member, "estimator_", member)

    def n_features(self, X: Any) -> int:
        """Number of the features of X behind the encoder."""
        if self.encoder is None or self.takes_raw_rows:
            return int(X.shape[1])
        return len(self.encoder.get_feature_names_out())


@dataclass(frozen=True)
class TableOptions:
    """What options say about a table to train on: how to read and to encode it."""

    target: str | None
    drop: list[str] | None
    coerce: list[str] | None
    categorical: list[str] | None
    task: str | None
    n_features: int | None
    scale: str = "auto"

    def read(self, data: Path, *, quiet: bool) -> Table:
        """The table without dropped columns; what is worth a note is printed."""
        if self.task not in (None, "classification", "regression"):
            raise typer.BadParameter(
                f"--task {self.task}: use classification or regression."
            )
        table = read_data(data, self.target, n_features=self.n_features)
        require_target(table, data)
        for option in ("drop", "coerce", "categorical"):
            for name in getattr(self, option) or []:
                if name not in table.names:
                    raise TableError(
                        f"{data} has no column {name!r}, as in --{option}."
                    )
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
        """The task that was given, or the one that the target suggests."""
        return self.task or task_of(y)

    @property
    def encoder(self) -> TableEncoder:
        """The encoder of such a table."""
        return TableEncoder(
            self.scale, coerce=self.coerce or (), categorical=self.categorical or ()
        )


def save_trained(model: Any, path: Path, table: Table, summary: dict[str, Any]) -> None:
    """Save a model with what later commands need to know about its training."""
    notes = {"target": table.target, "first_index": table.first_index}
    save(model, path, notes=notes | {"training": summary})


def open_model(path: Path, *, foreign: bool = True) -> Saved:
    """Load a model and its notes, from a file or a pipe; or a model from elsewhere."""
    if foreign and is_foreign(path):
        return Saved(open_foreign(path), {})
    return Saved(*load_with_notes(path))


def read_data(path: Path, target: str | None, **options: Any) -> Table:
    """Read a table from a file, or from the standard input if its name is -."""
    if str(path) != "-":
        return read_table(path, target, strict=False, **options)
    data = sys.stdin.buffer.read()
    suffix = {b"PAR1": ".parquet", b"PK\x03\x04": ".npz"}.get(data[:4], ".csv")
    with tempfile.TemporaryDirectory() as folder:
        copy = Path(folder) / f"input{suffix}"
        copy.write_bytes(data)
        return read_table(copy, target, strict=False, **options)


def open_models(paths: list[Path]) -> dict[str, Saved]:
    """Load models, by the shortest names that tell them apart."""
    stems = [path.name if is_foreign(path) else path.stem for path in paths]
    names = stems if len(set(stems)) == len(stems) else [str(path) for path in paths]
    return {name: open_model(path) for name, path in zip(names, paths, strict=True)}


def read_for(
    saved: list[Saved], path: Path, target: str | None, labelled: bool = True
) -> Table:
    """Read a table as the models need it; with `labelled` it must have a target."""
    target = target or next((s.notes.get("target") for s in saved if s.notes), None)
    if not labelled:
        target = None
    first = saved[0]
    encoders = [s.encoder for s in saved if s.encoder is not None]
    text = {name for encoder in encoders for name in encoder.text_columns_}
    if (
        target is not None
        and getattr(first.model, "classes_", np.zeros(1)).dtype.kind in "UO"
    ):
        text.add(target)
    table = read_data(
        path,
        target,
        text=text,
        n_features=getattr(first.model, "n_features_in_", None),
        first_index=first.notes.get("first_index"),
    )
    if labelled:
        require_target(table, path)
        _check_labels(first.model, table, path)
    return _matched(saved, table)


def _matched(saved: list[Saved], table: Table) -> Table:
    """The columns that models were trained on, with notes on new and absent ones.

    Models that see the table itself need all of their columns, in their order.
    """
    encoders = [one.encoder for one in saved if one.encoder is not None]
    known = {n for e in encoders for n in getattr(e, "feature_names_in_", ())}
    if not known or not table.names:
        return table
    targets = [one.notes.get("target") for one in saved]
    extra = [name for name in table.names if name not in known and name not in targets]
    if extra:
        names = listed(extra, 5, repr)
        note(f"Note: ignored, as training did not have them: {names}.")
    raw = next((one.encoder for one in saved if one.takes_raw_rows), None)
    if raw is None:
        left = [name for name in table.names if name in known]
        return replace(table, X=table.X[left]) if left else table
    columns = list(raw.feature_names_in_)
    absent = [name for name in columns if name not in table.names]
    if absent:
        names = listed(absent, 5, repr)
        note(f"Note: missing in every row, as the table does not have them: {names}.")
    return replace(table, X=table.X.reindex(columns=columns))


def require_target(table: Table, path: Path) -> None:
    """Refuse a table without a target, in one sentence."""
    if table.y is None:
        hint = f"say which with --target; it has {listed(table.names, 8, repr)}"
        raise TableError(
            f"{path} has no target: {hint if table.names else 'it lacks an array y'}."
        )


def _check_labels(model: Any, table: Table, path: Path) -> None:
    """One clear sentence if the target has nothing to do with the model's classes."""
    classes, y = getattr(model, "classes_", None), np.asarray(table.y)
    if classes is not None and not np.isin(y, classes).any():
        raise TableError(
            f"{path}: no row of {table.target!r} holds a class of the model, "
            f"{listed(classes.tolist(), 4, repr)}; it has "
            f"{listed(np.unique(y).tolist(), 4, repr)}."
        )
