"""What a Dask cluster costs: against memory, beyond memory, and per pass.

python benchmarks/dask_cluster.py compare 2         # 1,000,000 rows, a block a worker
python benchmarks/dask_cluster.py compare 4         # the same in two blocks a worker
python benchmarks/dask_cluster.py beyond 10000000   # more rows than the workers hold
python benchmarks/dask_cluster.py predict           # 1 to 256 workers, from `compare`

Rows are text-like, with some 57 entries of 20,000 features, in files that each worker
reads by itself. (The file is not named dask.py, since Python would
then take it for Dask in every program of this folder.)
"""

from __future__ import annotations

import gc
import json
import os
import sys
import tempfile
import time
from operator import itemgetter
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse as sp

from noiseproof import DropoutLogisticRegression
from noiseproof._rows import blocks as rows_in_blocks

FEATURES, PER_ROW = 20_000, 60
FOLDER = Path(os.environ.get("NOISEPROOF_BLOCKS", tempfile.gettempdir())) / "np-blocks"
MEASURED = FOLDER / "measured.json"
LIMIT = 0.25  # of the data: what each of the two workers may hold in `beyond`


def block(number: int, n: int) -> tuple[sp.csr_array, np.ndarray]:
    """Text-like rows: Zipf-distributed features with counts."""
    rng = np.random.default_rng([0, number])
    popularity = 1 / np.arange(1, FEATURES + 1) ** 0.8
    edges = np.cumsum(popularity / popularity.sum())
    columns = np.searchsorted(edges, rng.random(n * PER_ROW)).astype(np.int32)
    columns = np.minimum(columns, FEATURES - 1)
    ends = np.arange(0, n * PER_ROW + 1, PER_ROW, dtype=np.int32)
    X = sp.csr_array((np.ones(n * PER_ROW), columns, ends), (n, FEATURES))
    X.sum_duplicates()
    w = np.random.default_rng(0).normal(size=FEATURES)
    return X, X @ w + 3 * rng.normal(size=n) > 0


def write(count: int, n: int) -> list[Path]:
    """Files of n rows each, made once."""
    paths = [FOLDER / f"{n}-{number}.npz" for number in range(count)]
    FOLDER.mkdir(parents=True, exist_ok=True)
    for number, path in enumerate(paths):
        if not path.exists():
            X, y = block(number, n)
            np.savez(path, data=X.data, indices=X.indices, indptr=X.indptr, y=y)
    return paths


def read(path: Path, n: int) -> sp.csr_array:
    with np.load(path) as file:
        return sp.csr_array(
            (file["data"], file["indices"], file["indptr"]), (n, FEATURES)
        )


def labels(path: Path) -> np.ndarray:
    with np.load(path) as file:
        return file["y"]


def collections(paths: list[Path], n: int) -> tuple[Any, Any]:
    """The files as Dask arrays."""
    import dask
    import dask.array as da

    none = sp.csr_array((0, 0))
    X = [
        da.from_delayed(dask.delayed(read)(path, n), (n, FEATURES), meta=none)
        for path in paths
    ]
    y = [da.from_delayed(dask.delayed(labels)(path), (n,), bool) for path in paths]
    return da.concatenate(X), da.concatenate(y)


def model(rows: int) -> DropoutLogisticRegression:
    """The loss keeps its weight against the penalty as rows are added."""
    return DropoutLogisticRegression(0.5, C=1000 / rows)


def timed(fit: Any) -> tuple[float, Any]:
    start = time.perf_counter()
    result = fit()
    return time.perf_counter() - start, result


def memory(what: str) -> float:
    """Memory of this process in GiB: now, VmRSS, or at its peak, VmHWM."""
    lines = Path("/proc/self/status").read_text(encoding="utf-8").splitlines()
    return next(int(line.split()[1]) for line in lines if what in line) / 2**20


def forget_peak() -> float:
    """Let the peak of this process start from what it holds now, which is returned."""
    gc.collect()
    Path("/proc/self/clear_refs").write_text("5", encoding="utf-8")
    return memory("VmRSS")


def listed(peaks: dict[str, float]) -> str:
    return " and ".join(f"{value:.2f}" for value in peaks.values())


class Passes:
    """Counts questions to the blocks, and bytes over the loopback device."""

    def __init__(self) -> None:
        self.count, self.collect = 0, rows_in_blocks.Job.collect

    def __enter__(self) -> Passes:
        def counted(job: Any, *arguments: Any, **options: Any) -> Any:
            self.count += 1
            return self.collect(job, *arguments, **options)

        rows_in_blocks.Job.collect = counted  # type: ignore[method-assign]
        self.start = self._bytes()
        return self

    def __exit__(self, *error: object) -> None:
        self.bytes = self._bytes() - self.start
        rows_in_blocks.Job.collect = self.collect  # type: ignore[method-assign]

    @staticmethod
    def _bytes() -> int:
        lines = Path("/proc/net/dev").read_text(encoding="utf-8").splitlines()
        return next(int(line.split()[1]) for line in lines if "lo:" in line)


def cluster(**options: Any) -> Any:
    from distributed import Client, LocalCluster

    return Client(
        LocalCluster(2, threads_per_worker=1, dashboard_address=":0", **options)
    )


def compare(blocks: int = 2) -> None:
    from dask import persist
    from distributed import wait

    n = 1_000_000
    paths, rows = write(blocks, n // blocks), n // blocks
    X = sp.vstack([read(path, rows) for path in paths]).tocsr()
    y = np.concatenate([labels(path) for path in paths])
    model(n).fit(X[:1000], y[:1000])  # compile
    size = sum(part.nbytes for part in (X.data, X.indices, X.indptr)) / 2**30
    with cluster() as client:
        client.run(model(n).fit, X[:1000], y[:1000])
        before = client.run(forget_peak)
        model(n).fit(*collections(paths, rows))  # from files, for what it holds
        peaks = client.run(memory, "VmHWM")
        lazy = persist(*collections(paths, rows))
        wait(lazy)
        here, there = [], []
        for _ in range(3):  # in turns, since the machine is never the same
            here.append(timed(lambda: model(n).fit(X, y)))
            with Passes() as passes:
                there.append(timed(lambda: model(n).fit(*lazy)))
        chunks = (100, FEATURES), (100,)
        small = [
            part.map_blocks(lambda rows: rows[:100], chunks=few)
            for part, few in zip(lazy, chunks, strict=True)
        ]
        small = persist(*small)
        wait(small)
        with Passes() as light:
            tiny, _ = timed(lambda: model(n).fit(*small))
    (alone, one), (spread, two) = (min(x, key=itemgetter(0)) for x in (here, there))
    each = 1e3 * tiny / light.count
    ratios = [b / a for (a, _), (b, _) in zip(here, there, strict=True)]
    print(f"memory, two threads: {alone:.2f} s, {one.n_iter_} steps")
    print(f"two workers of one thread, {blocks} blocks: {spread:.2f} s, {two.n_iter_} "
          f"steps: {spread / alone:.2f} of memory's time (goal: 1.6); in turns "
          f"{', '.join(f'{ratio:.2f}' for ratio in ratios)}")  # fmt: skip
    print(f"objectives differ by {abs(two.objective_ / one.objective_ - 1):.1e}")
    print(f"{passes.count} passes, {passes.bytes / passes.count / 1e6:.2f} MB over the "
          f"network and {each:.1f} ms of scheduling in each")  # fmt: skip
    held = {worker: peak - before[worker] for worker, peak in peaks.items()}
    print(f"a fit from files adds {listed(held)} GiB at its peak to the workers; their "
          f"blocks have {size / 2:.2f} GiB each: {max(held.values()) / size * 2:.2f} "
          "times as much (goal: 1.5)")  # fmt: skip
    facts = {"passes": passes.count, "seconds": spread, "rows": n, "scheduling": each,
             "blocks": blocks}  # fmt: skip
    MEASURED.write_text(json.dumps(facts), encoding="utf-8")


def beyond(rows: int) -> None:
    n = 100_000
    paths = write(rows // n, n)
    size = sum(path.stat().st_size for path in paths)
    limit = int(LIMIT * size) + (400 << 20)  # and what Python and its modules take
    with cluster(memory_limit=limit, local_directory=str(FOLDER)) as client:
        with Passes() as passes:
            seconds, fitted = timed(lambda: model(rows).fit(*collections(paths, n)))
        peaks = client.run(memory, "VmHWM")
    print(f"{rows:,} rows, {size / 2**30:.1f} GiB in {len(paths)} blocks, on two "
          f"workers of at most {limit / 2**30:.1f} GiB: {seconds:.0f} s, "
          f"{fitted.n_iter_} steps, {passes.count} passes")  # fmt: skip
    print(f"peak of the workers {listed(peaks)} GiB, of the caller and the scheduler "
          f"{memory('VmHWM'):.2f} GiB")  # fmt: skip


def predict() -> None:
    """Seconds for 1e8 and 1e9 rows, from what `compare` measured."""
    facts = json.loads(MEASURED.read_text(encoding="utf-8"))
    per_task = facts["scheduling"] / 1e3 / facts["blocks"]
    passes = facts["passes"]
    work = facts["seconds"] - passes * facts["scheduling"] / 1e3
    per_row = 2 * work / facts["rows"] / passes  # of one thread
    answer = 8 * FEATURES / 1.25e9  # seconds for one answer at 10 Gbit/s
    print("| workers | 1e8 rows | 1e9 rows |\n|---|---|---|")
    for workers in (1, 2, 4, 8, 16, 32, 64, 128, 256):
        cells = []
        for rows in (1e8, 1e9):
            blocks = max(workers, int(rows / 2_500_000))
            compute = rows * per_row / workers
            scheduling = blocks * per_task
            network = (blocks / workers + workers) * answer
            cells.append(f"{passes * (compute + scheduling + network):,.0f} s")
        print(f"| {workers} | {' | '.join(cells)} |")
    print(f"\nAssumptions: one thread per worker, {1e9 * per_row:.0f} ns per row and "
          f"pass, {passes} passes, {1e3 * per_task:.1f} ms of scheduling per task, "
          "blocks of 2,500,000 rows or one per worker, 10 Gbit/s")  # fmt: skip


if __name__ == "__main__":
    command, *rest = sys.argv[1:] or ["compare"]
    {"compare": compare, "beyond": beyond, "predict": predict}[command](*map(int, rest))
