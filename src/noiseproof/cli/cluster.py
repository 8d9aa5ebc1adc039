"""Training on the files of a table with Dask, on one machine or many."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated, Any

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


def only_file(files: list[Path], cluster: str | None) -> Path:
    """The first of the files, which must be the only one if there is no cluster."""
    if cluster is None and len(files) > 1:
        raise typer.BadParameter(
            f"{len(files)} files are one table only with --cluster, such as "
            "--cluster local."
        )
    return files[0]


def check_fits_blocks(estimator: Any, cluster: str | None) -> None:
    """Refuse for a cluster what needs all rows at once, in one sentence."""
    if cluster is not None and not getattr(estimator, "fits_blocks", False):
        raise typer.BadParameter(
            f"--cluster cannot train {type(estimator).__name__}: use one of the "
            "dropout models, such as --model dropout-logistic."
        )


@contextmanager
def spread(
    address: str | None, files: list[Path], read: Callable[[Path], Any]
) -> Iterator[Any]:
    """The files as `TableParts` on a cluster, which also spreads contests, or None."""
    if address is None:
        yield None
        return
    from joblib import parallel_config

    from noiseproof.training import TableParts

    with _connected(address) as client, parallel_config(backend="dask"):
        yield TableParts(client, files, read)


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
