"""Training on the files of a table with Dask, on one machine or many."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Annotated, Any

import numpy as np
import typer

Files = Annotated[
    list[Path],
    typer.Argument(
        metavar="DATA...",
        help="Table: CSV, TSV, Parquet, svmlight or NPZ. With --cluster it may be in "
        "several files.",
    ),
]
ClusterOption = Annotated[
    str | None,
    typer.Option(
        "--cluster",
        help="Train with Dask, on more rows than fit in memory: the address of a "
        "scheduler, such as tcp://10.0.0.1:8786, or local.",
    ),
]

_SAMPLE = 100_000  # rows from all files by which columns are scaled and encoded


def only_file(files: list[Path], cluster: str | None) -> Path:
    """The first of the files, which must be the only one if there is no cluster."""
    if cluster is None and len(files) > 1:
        raise typer.BadParameter(
            f"{len(files)} files are one table only with --cluster, such as "
            "--cluster local."
        )
    return files[0]


def check_fits_blocks(estimator: Any) -> None:
    """Refuse what needs all rows at once, in one sentence."""
    if not getattr(estimator, "fits_blocks", False):
        raise typer.BadParameter(
            f"--cluster cannot train {type(estimator).__name__}: use one of the "
            "dropout models, such as --model dropout-logistic."
        )


class Parts:
    """A table in files that the workers of a cluster read, one block for each file.

    They are read three times, since tables that stayed would take the memory of the
    blocks made of them: to draw rows, to train, and for the score. `sample` is a table
    of rows drawn from all files alike, for what needs them here: the encoder and the
    choice of parameters; `rows` is their number in all files.
    """

    def __init__(self, client: Any, files: list[Path], read: Callable[[Path], Any]):
        self._files, self._read = files, read
        tables = [client.submit(read, file, pure=False) for file in files]
        self._targets = [client.submit(getattr, t, "y", pure=False) for t in tables]
        self.rows = sum(client.gather([client.submit(len, y) for y in self._targets]))
        share = min(1.0, _SAMPLE / self.rows)
        self.sample = _stacked(
            client.gather([client.submit(_drawn, t, share) for t in tables])
        )

    def fit(self, pipeline: Any) -> float:
        """Fit the last step of a fitted pipeline again, on all rows; its score.

        That is the accuracy, or R², on the rows of training.
        """
        estimator = pipeline[-1]
        X, y = self._blocks(pipeline[0])
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
        read = dask.delayed(self._read, pure=False)
        encode = dask.delayed(encoder.transform, pure=False)
        shape = (np.nan, few.shape[1])
        X = [
            da.from_delayed(encode(read(file).X), shape, meta=few[:0])
            for file in self._files
        ]
        targets = map(dask.delayed, self._targets)
        y = [da.from_delayed(part, (np.nan,), dtype=object) for part in targets]
        return (
            da.concatenate(X, allow_unknown_chunksizes=True),
            da.concatenate(y, allow_unknown_chunksizes=True),
        )


@contextmanager
def spread(
    address: str | None, files: list[Path], read: Callable[[Path], Any]
) -> Iterator[Parts | None]:
    """The files as a table on a cluster, which also spreads contests; None without."""
    if address is None:
        yield None
        return
    from joblib import parallel_config

    with _connected(address) as client:
        parts = Parts(client, files, read)
        with parallel_config(backend="dask"):
            yield parts


@contextmanager
def _connected(address: str) -> Iterator[Any]:
    """A client of the cluster, or one sentence about why there is none."""
    try:
        from distributed import Client, LocalCluster
    except ImportError:
        raise typer.BadParameter(
            "--cluster needs Dask: pip install 'noiseproof[dask]'."
        ) from None
    if address == "local":
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ResourceWarning)  # sockets that it tried
            cluster = LocalCluster(dashboard_address=":0")
        with cluster, Client(cluster) as client:
            yield client
        return
    try:
        client = Client(address, timeout=10)
    except (OSError, ValueError, TimeoutError) as error:
        raise typer.BadParameter(
            f"--cluster {address}: no Dask scheduler answers there ({error})."
        ) from error
    with client:
        yield client


def _drawn(table: Any, share: float) -> Any:
    """Some rows of a table, as far from each other as can be."""
    n = table.X.shape[0]
    kept = np.linspace(0, n - 1, max(1, int(share * n))).astype(int)
    X = table.X.iloc[kept] if hasattr(table.X, "iloc") else table.X[kept]
    return replace(table, X=X, y=table.y[kept])


def _stacked(tables: list[Any]) -> Any:
    """The rows of several tables as those of one."""
    import scipy.sparse as sp

    parts = [table.X for table in tables]
    if hasattr(parts[0], "iloc"):
        import pandas as pd

        X = pd.concat(parts, ignore_index=True)
    elif sp.issparse(parts[0]):
        X = sp.vstack(parts, format="csr")
    else:
        X = np.concatenate(parts)
    return replace(tables[0], X=X, y=np.concatenate([table.y for table in tables]))
