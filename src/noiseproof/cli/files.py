"""Saved models, and tables read as they need them."""

from __future__ import annotations

import sys
import tempfile
from dataclasses import replace
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from sklearn.pipeline import Pipeline

from noiseproof._pipelines import transform, unwrap
from noiseproof.cli.output import note
from noiseproof.io import is_foreign, load_with_notes, open_foreign
from noiseproof.tables import Table, TableEncoder, TableError, read_table


class Saved(NamedTuple):
    """A model from a file, with what was noted when it was trained."""

    model: Any
    notes: dict[str, Any]

    @property
    def encoder(self) -> TableEncoder | None:
        """What encodes its tables, if it was trained by the command line."""
        steps = unwrap(self._inner)[0]
        first = steps[0][1] if steps else None
        return first if isinstance(first, TableEncoder) else None

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

    def split(self, X: Any) -> tuple[Any, Any]:
        """The model behind the encoder, and X as it gets it."""
        if self.encoder is None or self.takes_raw_rows:
            return self.model, X
        steps, last = unwrap(self.model)
        return last, transform(steps, X)

    def feature_names(self, X: Any) -> list[str]:
        """Names of the features behind the encoder."""
        if self.encoder is None or self.takes_raw_rows:
            return [str(name) for name in getattr(X, "columns", range(X.shape[1]))]
        return [str(name) for name in self.encoder.get_feature_names_out()]


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


def groups_behind(model: Any, X: Any, d: int, sensors: Any) -> Any:
    """Groups among the d features that the last step of a pipeline gets.

    A column of the table in no group is one by itself, with all its features.
    """
    from noiseproof.groups import column_groups, feature_names, features_behind

    columns = [str(name) for name in feature_names(model, X)]
    features = features_behind(model, columns, d)
    return column_groups(features, columns, sensors, rest=True)


def give_groups(estimator: Any, groups: Any) -> bool:
    """Give groups to the part that takes them: a model, its attack or its noise.

    Returns whether there is one.
    """
    from noiseproof.noise import as_noise

    known = estimator.get_params(deep=False)
    if known.get("noise") is not None:
        estimator.set_params(noise=as_noise(known["noise"]))
    members = {str(n): groups[g].tolist() for g, n in enumerate(groups.names)}
    for part in (estimator, known.get("attack"), getattr(estimator, "noise", None)):
        if part is not None and "groups" in part.get_params(deep=False):
            part.set_params(groups=members)
            return True
    return False


class InGroups(Pipeline):
    """A pipeline that finds at each fit what the sensors have become behind it."""

    def __init__(self, steps: Any, sensors: Any = None):
        super().__init__(steps)
        self.sensors = sensors

    def fit(self, X: Any, y: Any = None, **params: Any) -> Any:
        """Fit the steps before, give the last one its groups, and fit it."""
        d = Pipeline(self.steps[:-1]).fit_transform(X).shape[1]
        give_groups(self[-1], groups_behind(self, X, d, self.sensors))
        return super().fit(X, y, **params)
