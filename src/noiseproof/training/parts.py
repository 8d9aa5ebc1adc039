"""Train on a table in several files, read by the workers of a Dask cluster."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import cached_property
from typing import Any

import numpy as np

from noiseproof._docs import shared_docs
from noiseproof._private import _safe_indexing
from noiseproof._rows import stacked
from noiseproof.tables import Table

_SAMPLE = 100_000  # rows from all files, to which the encoder is fitted


@shared_docs
class TableParts:
    """A table in several files that the workers of a Dask cluster read, a block each.

    Train a pipeline on the `sample`, and then its last step on all rows with `fit`. To
    save memory, tables are not kept: each file is read three times, to draw the sample,
    to train, and for the score.

    Parameters
    ----------
    client : distributed.Client
        A client of the cluster.
    files : list of paths
        The files of the table, at paths that the workers can read.
    read : callable
        Reads a file as a `Table`, such as `read_table` with its options.

    {See Also: train, read_table}

    Examples
    --------
    >>> from functools import partial
    >>> from noiseproof.tables import read_table
    >>> from noiseproof.training import TableParts, train
    >>> def train_all(client, files):
    ...     parts = TableParts(client, files, partial(read_table, target="y"))
    ...     found = train(parts.sample.X, parts.sample.y, cross_validate=False)
    ...     return found.model, parts.fit(found.model)
    """

    def __init__(self, client: Any, files: Sequence[Any], read: Callable[[Any], Table]):
        self.client = client
        self.files = files
        self.read = read

    @cached_property
    def sample(self) -> Table:
        """The same share of rows from each file, for the encoder and for tuning."""
        gather, submit = self.client.gather, self.client.submit
        tables = [submit(self.read, file, pure=False) for file in self.files]
        self._targets = [submit(getattr, t, "y", pure=False) for t in tables]
        sizes = gather([submit(len, y) for y in self._targets])
        self.rows = sum(sizes)  # in all files
        share = min(1.0, _SAMPLE / self.rows)
        return _stacked(gather([submit(_drawn, table, share) for table in tables]))

    def fit(self, pipeline: Any) -> float:
        """Fit the last step of a fitted pipeline again, on the rows of all files.

        Parameters
        ----------
        pipeline : Pipeline
            An encoder and an estimator that accepts Dask arrays.

        Returns
        -------
        score : float
            Accuracy or R² on the training rows.
        """
        encoder, estimator = pipeline[0], pipeline[-1]
        X, y = self._blocks(encoder)
        estimator.fit(X, y)
        predicted = estimator.predict(X)
        if hasattr(estimator, "classes_"):
            return float((predicted == y).mean())
        y = y.astype(float)
        return float(1 - ((predicted - y) ** 2).sum() / ((y - y.mean()) ** 2).sum())

    def _blocks(self, encoder: Any) -> tuple[Any, Any]:
        """The encoded rows and their targets, as Dask arrays of unknown chunk sizes."""
        import dask
        import dask.array as da

        few = encoder.transform(self.sample.X[:2])
        read = dask.delayed(self.read, pure=False)
        encode = dask.delayed(encoder.transform, pure=False)
        shape = (np.nan, few.shape[1])
        X = [
            da.from_delayed(encode(read(file).X), shape, meta=few[:0])
            for file in self.files
        ]
        targets = map(dask.delayed, self._targets)
        y = [da.from_delayed(part, (np.nan,), dtype=object) for part in targets]
        return (
            da.concatenate(X, allow_unknown_chunksizes=True),
            da.concatenate(y, allow_unknown_chunksizes=True),
        )


def _drawn(table: Table, share: float) -> Table:
    """A share of the rows of a table, evenly spaced."""
    n = table.X.shape[0]
    kept = np.linspace(0, n - 1, max(1, int(share * n))).astype(int)
    return replace(table, X=_safe_indexing(table.X, kept), y=np.asarray(table.y)[kept])


def _stacked(tables: list[Any]) -> Table:
    """Several tables as one."""
    X = stacked([table.X for table in tables])
    return replace(tables[0], X=X, y=np.concatenate([table.y for table in tables]))
