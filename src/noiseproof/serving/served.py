"""A fitted model together with a summary of its training table."""

from __future__ import annotations

import warnings
from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from sklearn.utils.metaestimators import available_if

from noiseproof._docs import shared_docs
from noiseproof._pipelines import has_intervals, intervals_of, why_no_intervals
from noiseproof._private import _safe_indexing
from noiseproof._rows import density
from noiseproof.serving.absence import sample_size, with_costs
from noiseproof.serving.arrivals import NO_ROWS, RowsError, arranged
from noiseproof.serving.cells import is_missing, shortened, unmasked
from noiseproof.serving.columns import Column, Reading, summarised
from noiseproof.serving.contracts import contract_of, schema_of
from noiseproof.serving.encoders import kinds_of, remembered_columns
from noiseproof.serving.forms import assembled, form_of
from noiseproof.serving.notes import notes_on
from noiseproof.tables import Note

_HARDLY, _FEW = 0.1, 0.25  # of the columns of training
_NAMELESS = "was fitted without feature names"  # a warning of scikit-learn


@shared_docs
class Arrived(NamedTuple):
    """Rows after `Served.read`; its other methods take them without reading again.

    Parameters
    ----------
    X : array, data frame or sparse matrix of shape (n_samples, n_columns)
        The rows in the form on which the model was trained.
    notes : list of Note
        How the rows differ from the training table.
    missing : array of bool of shape (n_samples, n_columns)
        Which values the model gets as missing.

    {See Also: Served}
    """

    X: Any
    notes: list[Note]
    missing: NDArray[np.bool_]


@shared_docs
class Served:
    """A fitted model that takes rows as they arrive in production.

    A scikit-learn model needs a table like the one it was trained on: the same columns,
    in the same order, with the same types. `Served` takes pandas and polars data
    frames, dictionaries of columns, lists of records (one dictionary is one row) and
    arrays, and converts them to such a table. Columns may come in any order. Values
    count as missing if their column is absent, if they cannot be read, or if they are
    words that did not occur in training. Extra columns are ignored. `check` reports all
    this. A table that has hardly any column of the training table is refused.

    Only a summary of the training table is kept, and none of its rows: the names,
    kinds, words and ranges of the columns, and how often their values were missing.

    Parameters
    ----------
    model : estimator
        A fitted model with `predict`. It should accept missing values, as
        `AverageOverMissing` does. A model that refuses them still gets its columns in
        order.
    reference : table, array or sparse matrix of shape (n_samples, n_columns)
        The training table, without the target: a data frame of pandas or polars, an
        Arrow table, or an array. If the model knows the names of its columns, the table
        may have others as well. For a sparse matrix only the number of columns is kept.
    target : str, default=None
        Name of the target. New tables may have a column of this name, which is ignored.

    Attributes
    ----------
    columns : list of Column
        The summary of the training table.
    form : {"array", "pandas", "polars", "sparse"}
        The form in which the model gets its rows.
    classes_ : array of shape (n_classes,)
        Class labels, if the model is a classifier.

    {See Also: AverageOverMissing, recommend, save}

    Examples
    --------
    >>> import pandas as pd
    >>> from noiseproof import AverageOverMissing
    >>> from noiseproof.serving import Served
    >>> X = pd.DataFrame({"dose": [1.0, 2.0, 8.0, 9.0], "age": [40, 30, 35, 45]})
    >>> model = AverageOverMissing().fit(X, ["low", "low", "high", "high"])
    >>> served = Served(model, X)
    >>> served.predict([{"age": 41, "dose": "8.5"}, {"dose": 1.5, "ward": "B"}])
    array(['high', 'low'], dtype='<U4')
    >>> (note,) = served.check({"age": 41, "dose": "much"})
    >>> note.kind, note.columns
    ('unreadable', ['dose'])
    >>> note.finding
    "1 of 1 values cannot be read and count as missing, such as 'much'"
    """

    def __init__(self, model: Any, reference: Any, *, target: str | None = None):
        if not hasattr(model, "predict"):
            raise TypeError(f"The model has no method predict: {type(model).__name__}.")
        self.model = model
        self.target = target
        self.form = "sparse"
        self.columns: list[Column] = []
        reference = _as_table(reference)
        shape = getattr(reference, "shape", None) or np.shape(reference)
        if len(shape) != 2 or 0 in shape:
            raise ValueError(
                "reference must be a table with rows and columns: a data frame, an "
                f"array or a sparse matrix; got {type(reference).__name__}."
            )
        self.width = int(shape[1])
        if density(reference) is None:
            self._summarise(reference)

    @classmethod
    def remembered(cls, model: Any, target: str | None = None) -> Served | None:
        """Serve a model whose training table is no longer available.

        Parameters
        ----------
        model : estimator
            A fitted pipeline that begins with a `TableEncoder`, also inside
            `AverageOverMissing`.
        target : str, default=None
            Name of the target.

        Returns
        -------
        served : Served or None
            The served model, with the names, kinds and words of columns that the
            encoder knows, but without ranges and costs. None if the model has no such
            encoder.
        """
        columns = remembered_columns(model)
        if columns is None:
            return None
        served = cls.__new__(cls)
        served.model, served.target, served.form = model, target, "pandas"
        served.width, served.columns = len(columns), columns
        return served

    def _summarise(self, reference: Any) -> None:
        self.form = form_of(reference)
        columns = _known(self.model, _columns(reference), self.target)
        told = kinds_of(self.model)
        self.columns = [
            summarised(label, column, told.get(str(label))) for label, column in columns
        ]
        self.width = len(columns)
        n = len(columns[0][1])
        places = np.linspace(0, n - 1, sample_size(n, self.width)).astype(int)
        sample = [
            column.read(_safe_indexing(values, places)).values
            for column, (_, values) in zip(self.columns, columns, strict=True)
        ]
        sample = self._tried(sample)
        self.columns = with_costs(self.model, self.columns, sample, self._assembled)

    def _tried(self, sample: list[Any]) -> list[Any]:
        """The sample, or its complete rows if the model refuses missing values."""
        try:
            self._try(sample)
            return sample
        except Exception as error:  # whatever a model of theirs raises
            whole = ~np.any([is_missing(part) for part in sample], axis=0)
            if whole.all() or not whole.any():
                words = " ".join(str(error).split()).rstrip(".")
                raise ValueError(
                    "The model cannot predict the reference; pass the table on which "
                    f"it was trained. Its error is: {words}."
                ) from error
        return self._tried([part[whole] for part in sample])

    def _try(self, sample: list[Any]) -> None:
        with warnings.catch_warnings(record=True) as said:
            warnings.simplefilter("always")
            self.model.predict(self._assembled(sample))
        if any(_NAMELESS in str(warning.message) for warning in said):
            self.form = "array"  # names are for those who ask, not for the model
            self.model.predict(self._assembled(sample))

    def _assembled(self, values: Sequence[Any]) -> Any:
        return assembled(self.form, self.columns, values)

    @property
    def classes_(self) -> Any:
        """Class labels of the model."""
        return self.model.classes_

    @property
    def names(self) -> list[str]:
        """Names of the columns of the training table."""
        return [column.name for column in self.columns]

    def predict(
        self, rows: Any, *, interval: float | None = None, strict: bool = False
    ) -> Any:
        """Predict classes or targets, optionally with intervals.

        Parameters
        ----------
        rows : data frame, dict, list of dict, array or Arrived
            Rows as they arrive.
        interval : float, default=None
            Coverage of prediction intervals, such as 0.9, if the model has
            `predict_interval`.
        strict : bool, default=False
            Whether to refuse rows that differ from the training table.

        Returns
        -------
        predictions : array of shape (n_samples,)
            Predictions of the model.
        intervals : array of shape (n_samples, 2)
            Lower and upper ends. Only returned if `interval` is given.
        """
        if interval is None:
            return self.model.predict(self._rows(rows, strict))
        if not 0 < interval < 1:
            raise RowsError(
                f"interval must be a number between 0 and 1; got {interval!r}."
            )
        if not has_intervals(self.model):
            raise RowsError(why_no_intervals(self.model))
        X = self._rows(rows, strict)
        predictions = self.model.predict(X)
        try:
            return predictions, intervals_of(self.model, X, interval)
        except ValueError as error:  # such as too few calibration rows
            raise RowsError(str(error)) from error

    @available_if(lambda self: hasattr(self.model, "predict_proba"))
    def predict_proba(self, rows: Any, *, strict: bool = False) -> Any:
        """Predict probabilities of the classes.

        Parameters
        ----------
        rows : data frame, dict, list of dict, array or Arrived
            Rows as they arrive.
        strict : bool, default=False
            Whether to refuse rows that differ from the training table.

        Returns
        -------
        probabilities : array of shape (n_samples, n_classes)
            One column per class, in the order of `classes_`.
        """
        return self.model.predict_proba(self._rows(rows, strict))

    def check(self, rows: Any) -> list[Note]:
        """Report how rows differ from the training table.

        Parameters
        ----------
        rows : data frame, dict, list of dict, array or Arrived
            Rows as they arrive.

        Returns
        -------
        notes : list of Note
            Each note has a `kind`, the `columns`, a `finding` in words, and the number
            of `values`. The kinds are "absent", "extra", "unreadable", "unseen" (words
            that did not occur in training), "out of range" (outside the range of
            training by more than half of its width), and "missing" (more often than in
            training).
        """
        return self.read(rows).notes

    def read(self, rows: Any, *, extra_removed: bool = False) -> Arrived:
        """Read rows once, to pass them to several of the other methods.

        Parameters
        ----------
        rows : data frame, dict, list of dict, array or Arrived
            Rows as they arrive.
        extra_removed : bool, default=False
            Whether extra columns have been removed from the rows before, as MLflow
            does. Then they cannot show that this is another table, so at least a
            quarter of the training columns must be present.

        Returns
        -------
        arrived : Arrived
            The rows as the model gets them, and notes on them.
        """
        if isinstance(rows, Arrived):
            names = [str(name) for name in getattr(rows.X, "columns", self.names)]
            if rows.missing.shape[1] != len(self.columns) or names != self.names:
                raise RowsError(
                    "The rows were read for another model; pass them as they arrived."
                )
            return rows
        if self.form == "sparse":
            return self._read_sparse(rows)
        given, n = arranged(rows, self.names)
        there = [column for column in self.columns if column.name in given]
        known = {self.target, *self.names}
        extra = [name for name in given if name not in known]
        self._refuse_others(len(there), extra, extra_removed)
        if not n:
            raise RowsError(NO_ROWS)
        readings = list(self._readings(given, n))
        notes = list(notes_on(self.columns, readings, given, extra))
        X = self._assembled([reading.values for reading in readings])
        return Arrived(X, notes, np.column_stack([r.missing for r in readings]))

    def _readings(self, given: dict[str, Any], n: int) -> Iterator[Reading]:
        """Read each column of training; one that is absent is missing everywhere."""
        for column in self.columns:
            yield column.read(given.get(column.name, [None] * n))

    def _refuse_others(self, there: int, extra: list[str], removed: bool) -> None:
        """Raise an error if hardly any column of the training table is there."""
        share, few = there / len(self.columns), len(extra) <= there and not removed
        if share >= _FEW or (share >= _HARDLY and few):
            return
        found = f"only {there}" if there else "none"
        raise RowsError(
            f"The rows do not belong to this model: of its {len(self.columns)} columns "
            f"{found} {'is' if there < 2 else 'are'} there. The model was trained on "
            f"{_quoted(self.names)}{f'; got {_quoted(extra)}' if extra else ''}."
        )

    def _read_sparse(self, rows: Any) -> Arrived:
        """Check rows for a model that was trained on a sparse matrix."""
        shape = np.shape(rows)
        if len(shape) != 2 or shape[1] != self.width:
            raise RowsError(
                f"The model was trained on a sparse matrix with {self.width} columns; "
                f"pass such a matrix or an array instead of {type(rows).__name__}"
                f"{f' of shape {shape}' if len(shape) == 2 else ''}."
            )
        return Arrived(rows, [], np.zeros((shape[0], 0), dtype=bool))

    def _rows(self, rows: Any, strict: bool) -> Any:
        """The rows as the model gets them, after checking them."""
        arrived = self.read(rows)
        if strict and arrived.notes:
            found = [f"{_quoted(n.columns)}: {n.finding}" for n in arrived.notes]
            raise RowsError(
                f"The rows differ from the training table. {'; '.join(found)}."
            )
        self._refuse_missing(arrived.missing)
        return arrived.X

    def _refuse_missing(self, missing: NDArray[np.bool_]) -> None:
        """Raise an error if values are missing that the model needs."""
        needed = [not column.may_be_missing for column in self.columns]
        gone = missing & np.array(needed, dtype=bool)
        names = [c.name for c, part in zip(self.columns, gone.T, strict=True)
                 if part.any()]  # fmt: skip
        if names:
            raise RowsError(
                f"{type(self.model).__name__} refuses missing values, and "
                f"{gone.any(axis=1).sum()} of {len(gone)} rows lack {_quoted(names)}. "
                "Serve AverageOverMissing(FrozenEstimator(model)) instead, fitted on "
                "the training table."
            )

    def contract(self) -> dict[str, dict[str, Any]]:
        """Describe the columns that the model takes.

        Returns
        -------
        contract : dict of str to dict
            For each column its `kind`; the `words` of a category or the `range` of
            training; whether it `may_be_missing`; its `missing_rate` in training; and
            its `absence_cost`, the cost if the whole column is missing. The cost is
            measured on a sample of the training rows, without labels. For a classifier
            with probabilities it is the fall of the mean largest probability, which is
            the fall of the accuracy if probabilities are calibrated. For a regressor it
            is the root mean squared change of the prediction. It is None if the model
            refuses missing values, or has no probabilities.
        """
        return contract_of(self.columns)

    def json_schema(self) -> dict[str, Any]:
        """Describe a record as JSON Schema (draft 2020-12).

        `check` has no notes on the values of a valid record. No column is required, and
        each may be null if the model accepts missing values in it. Extra columns are
        allowed.

        Returns
        -------
        schema : dict
            Schema of an object with a property for each column.
        """
        return schema_of(self.columns)

    def __repr__(self) -> str:
        return f"Served({self.model!r}, {self.width} columns)"


def _as_table(reference: Any) -> Any:
    """A lazy frame of polars or an Arrow table as a data frame."""
    if hasattr(reference, "collect"):
        return reference.collect()
    if hasattr(reference, "column_names") and hasattr(reference, "to_pandas"):
        return reference.to_pandas()
    return reference


def _columns(table: Any) -> list[tuple[Any, Any]]:
    """Labels and columns of a table; columns of an array are named x0, x1, ..."""
    if hasattr(table, "items"):
        return list(table.items())
    if hasattr(table, "iter_columns"):
        return list(zip(table.columns, table.iter_columns(), strict=True))
    table = unmasked(table)
    return [(f"x{j}", column) for j, column in enumerate(table.T)]


def _known(
    model: Any, columns: list[tuple[Any, Any]], target: str | None
) -> list[tuple[Any, Any]]:
    """The columns that the model was fitted on, in that order."""
    names = getattr(model, "feature_names_in_", None)
    found = {str(label): (label, column) for label, column in columns}
    if len(found) < len(columns):
        raise ValueError("Two columns of reference have the same name; rename one.")
    if names is None:
        return [pair for name, pair in found.items() if name != target]
    absent = [str(name) for name in names if str(name) not in found]
    if absent:
        raise ValueError(
            f"reference lacks the column{'s' * (len(absent) > 1)} {_quoted(absent)}, "
            "on which the model was fitted; pass the training table."
        )
    return [found[str(name)] for name in names]


def _quoted(names: Sequence[str], most: int = 5) -> str:
    more = f" and {len(names) - most} more" if len(names) > most else ""
    return ", ".join(repr(shortened(name)) for name in names[:most]) + more
