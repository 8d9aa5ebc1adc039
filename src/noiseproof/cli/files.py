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

from noiseproof.cli.output import note, show_notes
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

    def scoring_of(self, y: Any) -> str:
        """How to score it: as it says, or by targets with fractions if it does not."""
        from sklearn.base import is_regressor

        if hasattr(self.model, "__sklearn_tags__"):
            return "r2" if is_regressor(self.model) else "accuracy"
        return "r2" if np.asarray(y).dtype.kind == "f" else "accuracy"

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
        """The task as said, or by the target."""
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
    table = _without_extra(encoders, table, [s.notes.get("target") for s in saved])
    return _aligned(saved, table)


def _aligned(saved: list[Saved], table: Table) -> Table:
    """The columns that models without an encoder in front have been trained on."""
    raw = [s.encoder for s in saved if s.takes_raw_rows]
    names = next((list(getattr(e, "feature_names_in_", [])) for e in raw), [])
    if not names or not hasattr(table.X, "reindex"):
        return table
    absent = [name for name in names if name not in table.X.columns]
    if absent:
        told = ", ".join(map(repr, absent))
        note(f"Note: missing in every row, as the table does not have them: {told}.")
    return replace(table, X=table.X.reindex(columns=names))


def require_target(table: Table, path: Path) -> None:
    """One clear sentence if nobody said which column is the target."""
    if table.y is None:
        names = ", ".join(map(repr, table.names[:8])) or "no names"
        more = " ..." if len(table.names) > 8 else ""
        hint = f"say which with --target; it has {names}{more}"
        raise TableError(
            f"{path} has no target: {hint if table.names else 'it lacks an array y'}."
        )


def _check_labels(model: Any, table: Table, path: Path) -> None:
    """One clear sentence if the target has nothing to do with the model's classes."""
    classes, y = getattr(model, "classes_", None), np.asarray(table.y)
    if classes is not None and not np.isin(y, classes).any():
        raise TableError(
            f"{path}: no row of {table.target!r} holds a class of the model, "
            f"{_few(classes)}; it has {_few(np.unique(y))}."
        )


def _few(values: Any) -> str:
    """The first four values."""
    shown = ", ".join(repr(value) for value in values[:4].tolist())
    return shown + (" ..." if len(values) > 4 else "")


def _without_extra(
    encoders: list[TableEncoder], table: Table, targets: list[Any]
) -> Table:
    """The table without columns that no model was trained on, with a note."""
    if not encoders or not table.names:
        return table
    known = {name for e in encoders for name in getattr(e, "feature_names_in_", [])}
    extra = [name for name in table.names if name not in known and name not in targets]
    if known and extra:
        more = f" and {len(extra) - 5} more" if len(extra) > 5 else ""
        names = ", ".join(map(repr, extra[:5]))
        note(f"Note: ignored, as training did not have them: {names}{more}.")
    left = [name for name in table.names if not known or name in known]
    return replace(table, X=table.X[left]) if left else table
