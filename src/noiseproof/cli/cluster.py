"""Training on a table in several files with Dask, on one machine or many."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import typer


@contextmanager
def spread(
    address: str | None, files: list[Path], read: Callable[[Path], Any]
) -> Iterator[Any]:
    """Give the files as `TableParts` on a cluster, or None without an address.

    Inside this context, contests use the workers of the cluster, too.
    """
    if address is None:
        yield None
        return
    from joblib import parallel_config

    from noiseproof.training import TableParts

    with _connected(address) as client, parallel_config(backend="dask"):
        yield TableParts(client, files, read)


@contextmanager
def _connected(address: str) -> Iterator[Any]:
    """Connect to a cluster, or start one on this machine."""
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
            f"--cluster {address}: no Dask scheduler answers at this address ({error})."
        ) from error
    with client:
        yield client
