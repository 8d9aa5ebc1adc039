"""Training on the files of a table with Dask, on one machine or many."""

from __future__ import annotations

import time
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
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


def train_on_cluster(
    address: str,
    files: list[Path],
    estimator: Any,
    target: str | None,
    drop: list[str],
    scale: str,
) -> tuple[Any, dict[str, Any], dict[str, Any]]:
    """Fit an estimator behind an encoder; the pipeline, its summary, and notes.

    Each file is read by the worker that keeps its rows, again if they are lost. The
    encoder is fitted here, on rows that are drawn from all files alike.
    """
    from sklearn.pipeline import Pipeline

    from noiseproof.tables import TableEncoder

    if not getattr(estimator, "fits_blocks", False):
        raise typer.BadParameter(
            f"--cluster cannot train {type(estimator).__name__}: use one of the "
            "dropout models, such as --model dropout-logistic."
        )
    start = time.perf_counter()
    with _connected(address) as client:
        tables = [client.submit(_read, f, target, drop, pure=False) for f in files]
        share = client.submit(_rows, tables).result()
        rows = client.gather(
            [client.submit(_drawn, t, min(1.0, _SAMPLE / share)) for t in tables]
        )
        encoder = TableEncoder(scale).fit(_stacked([X for X, *_ in rows]))
        X, y = _blocks(encoder, tables, rows)
        del tables
        estimator.fit(X, y)
        score = _score(estimator, X, y)
    pipeline = Pipeline([("table", encoder), ("model", estimator)])
    _, name, first = rows[0]
    summary = {
        "rows": share,
        "columns": len(getattr(encoder, "feature_names_in_", [])) or X.shape[1],
        "features": int(estimator.n_features_in_),
        "target": name,
        "scoring": "accuracy" if hasattr(estimator, "classes_") else "r2",
        "training_score": score,
        "seconds": round(time.perf_counter() - start, 3),
    }
    return pipeline, summary, {"target": name, "first_index": first}


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


def _read(path: Path, target: str | None, drop: list[str]) -> Any:
    """One file of the table, as a worker reads it."""
    from dataclasses import replace

    from noiseproof.tables import TableError, read_table

    table = read_table(path, target)
    if table.y is None:
        raise TableError(f"{path}: say which column is the target (--target).")
    missing = [name for name in drop if name not in table.names]
    if missing:
        raise TableError(f"{path} has no column {missing[0]!r} to drop.")
    return replace(table, X=table.X.drop(columns=drop)) if drop else table


def _rows(tables: list[Any]) -> int:
    return sum(table.X.shape[0] for table in tables)


def _drawn(table: Any, share: float) -> tuple[Any, Any, Any]:
    """Some rows of a file, and what is known of its target."""
    n = table.X.shape[0]
    kept = np.linspace(0, n - 1, max(1, int(share * n))).astype(int)
    X = table.X.iloc[kept] if hasattr(table.X, "iloc") else table.X[kept]
    return X, table.target, table.first_index


def _stacked(parts: list[Any]) -> Any:
    from noiseproof._rows import stack

    if not hasattr(parts[0], "iloc"):
        return stack(parts)
    import pandas as pd

    return pd.concat(parts, ignore_index=True)


def _blocks(encoder: Any, tables: list[Any], rows: list[Any]) -> tuple[Any, Any]:
    """The encoded files and their targets as Dask arrays of unknown chunk sizes."""
    import dask
    import dask.array as da

    few = encoder.transform(rows[0][0][:2])
    encode = dask.delayed(encoder.transform, pure=False)
    parts = [dask.delayed(table) for table in tables]
    X = [
        da.from_delayed(encode(part.X), (np.nan, few.shape[1]), meta=few[:0])
        for part in parts
    ]
    y = [da.from_delayed(part.y, (np.nan,), dtype=object) for part in parts]
    return (
        da.concatenate(X, allow_unknown_chunksizes=True),
        da.concatenate(y, allow_unknown_chunksizes=True),
    )


def _score(estimator: Any, X: Any, y: Any) -> float:
    """Accuracy, or R², on the rows of training."""
    predicted = estimator.predict(X)
    if hasattr(estimator, "classes_"):
        return float((predicted == y).mean())
    y = y.astype(float)
    return float(1 - ((predicted - y) ** 2).sum() / ((y - y.mean()) ** 2).sum())
