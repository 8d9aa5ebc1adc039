"""Rows in blocks that Dask keeps on the workers of a cluster or in this process.

The caller knows the numbers of rows and features, but never sees the rows. A pass over
the data is one task per block. The results are added in a fixed order, so that every
run gives the same bits, whichever worker did which task. A block is made by a task of
the user's Dask graph, so a block that is lost with its worker is made again. A worker
also caches intermediate results of a block, which can be recomputed from the arguments
of each task. So only time is lost if a worker fails or Dask spills a block to disk.

Dask is an optional dependency, so it is imported inside functions.
"""

from __future__ import annotations

import sys
import uuid
from collections.abc import Callable
from functools import cached_property, partial, wraps
from itertools import count
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.utils import check_array
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import column_or_1d

from noiseproof._private import client_behind, empty_frame
from noiseproof._rows.base import Array, Design
from noiseproof._rows.matrices import canonical, density, missing_features, values
from noiseproof._rows.reading import as_design, is_lazy, to_free
from noiseproof._rows.threads import alone

_FAN_IN = 8  # results that one task adds up, or the caller at the end
_INLINE = 1 << 20  # an argument of more bytes, over all tasks of a pass, is sent once
_REMEMBERED = 2  # caches per block, for terms that use the same rows in turns
_PATIENCE = 60.0  # seconds to wait for a first worker, or for one to come back
_GLANCE = 5.0  # seconds between two checks of a slow cluster


class ClusterError(RuntimeError):
    """The cluster failed; the steps done so far are kept."""


class Block:
    """Some validated rows on a worker; `options` are passed to `check_array`."""

    def __init__(self, part: Any, options: dict[str, Any]):
        read = check_array(part, ensure_min_samples=0, input_name="X", **options)
        self.X = _settled(canonical(read))
        self.missing = missing_features(self.X)
        self._memories: dict[str, Memory] = {}

    @cached_property
    def design(self) -> Design:
        """The rows as a design, which is created when it is first needed."""
        return as_design(self.X, self.missing is not None)

    def memory(self, owner: str) -> Memory:
        """Return the cache of one owner; those used longest ago are dropped."""
        found = self._memories.pop(owner, None) or Memory()
        while len(self._memories) >= _REMEMBERED:
            del self._memories[next(iter(self._memories))]
        self._memories[owner] = found
        return found

    def __sizeof__(self) -> int:
        return int(values(self.X).nbytes) + sum(
            getattr(self.X, name).nbytes
            for name in ("indices", "indptr")
            if hasattr(self.X, name)
        )

    def __getstate__(self) -> dict[str, Any]:
        """Return the rows only, since the rest can be recomputed."""
        return {"X": self.X, "missing": self.missing}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.X, self.missing = _settled(state["X"]), state["missing"]
        self._memories = {}


def _settled(X: Any) -> Any:
    """Align X in memory, so that arithmetic gives the same bits on every worker.

    Data from the network may start at any address, and NumPy does not use BLAS for
    arrays that are not aligned or not contiguous.
    """
    if density(X) is None:
        return np.require(X, requirements=["A", "F" if X.flags.f_contiguous else "C"])
    for name in ("data", "indices", "indptr"):
        setattr(X, name, np.require(getattr(X, name), requirements="A"))
    return X


class Memory:
    """A cache for the steps of a computation, each of which needs the one before."""

    def __init__(self) -> None:
        self._steps: list[tuple[Any, Any]] = []

    def step(self, level: int, key: Any, make: Callable[[], Any]) -> Any:
        """Return the result for `key`; if it is new, make it and drop deeper levels."""
        steps = self._steps
        if len(steps) <= level or steps[level][0] != key:
            del steps[level:]  # first, so that old and new are not in memory at once
            steps.append((key, make()))
        return steps[level][1]


def _summary(block: Block) -> tuple[Any, ...]:
    with alone():
        extremes = block.design.extremes() if block.X.shape[0] else (0.0, 0.0)
    return block.X.shape, block.X.dtype, block.missing, *extremes


class BlockDesign(Design):
    """A Dask array in chunks of rows, dense or CSR, or a data frame of numbers.

    It has no methods that return one number per row, as these stay with the blocks. A
    `Job` sends work to the blocks instead. `options` are passed to `check_array`.
    """

    where = "blocks"

    def __init__(self, X: Any, options: dict[str, Any]):
        import dask

        load = dask.delayed(partial(Block, options=options), pure=False)
        blocks = dask.persist(*map(load, _parts(X)))
        self._held = [*blocks]
        if (designs := to_free.get()) is not None:
            designs.append(self)
        facts = compute([dask.delayed(_summary, pure=False)(b) for b in blocks])
        shapes, dtypes, missing, lowest, largest = zip(*facts, strict=True)
        kept = [i for i, (n, _) in enumerate(shapes) if n]
        if not kept:
            raise ValueError("Found array with 0 sample(s): every block of X is empty.")
        self._of, self._kept = len(blocks), kept
        self.blocks = [blocks[i] for i in kept]
        self.rows = [shapes[i][0] for i in kept]  # per block that is not empty
        self.shape = (sum(self.rows), shapes[kept[0]][1])
        self.dtype = np.result_type(*(dtypes[i] for i in kept))
        found = [mask for mask in missing if mask is not None]
        self.missing = np.logical_or.reduce(found) if found else None
        self._extremes = min(lowest), max(largest)

    def extremes(self) -> tuple[float, float]:
        return self._extremes

    def full(self, value: float, k: int | None = None) -> Any:
        import dask.array as da

        chunks = ((k,), tuple(self.rows)) if k else (tuple(self.rows),)
        return da.full([sum(sizes) for sizes in chunks], value, chunks=chunks)

    def column(
        self, column: Any, name: str, read: Callable[[Any], Any], dtype: Any
    ) -> Any:
        """Read one value per row into a Dask array with the chunks of X."""
        import dask
        import dask.array as da

        if is_lazy(column):
            parts = _parts(column)
            if len(parts) != self._of:
                raise ValueError(
                    f"{name} has {len(parts)} blocks, but X has {self._of}; rechunk "
                    f"{name} like X, as with {name}.rechunk(X.chunks[0])."
                )
            parts = [parts[i] for i in self._kept]
        else:
            whole = read(column)
            if len(whole) != self.shape[0]:
                raise ValueError(
                    f"X has {self.shape[0]} rows, but {name} has {len(whole)}."
                )
            ends = np.cumsum(self.rows)[:-1]
            parts = [dask.delayed(part, pure=False) for part in np.split(whole, ends)]
        cut = dask.delayed(partial(_column, name=name, read=read), pure=False)
        parts = dask.persist(*map(cut, parts, self.rows))
        self._held += parts
        return da.concatenate(
            [
                da.from_delayed(part, (n,), dtype=dtype)
                for part, n in zip(parts, self.rows, strict=True)
            ]
        )

    def job(self, make: Callable[..., Any], *columns: Any) -> Job:
        """Return a job on the blocks, each with its part of the columns."""
        return Job(self.blocks, list(columns), make, self._held)

    def release(self) -> None:
        """Release the blocks, wherever they are."""
        for future in _futures(self._held):
            future.release()
        self._held.clear()


def _futures(collections: Any) -> list[Any]:
    """Return the futures of some collections that are on a cluster."""
    if "distributed" not in sys.modules:
        return []
    from distributed.client import futures_of

    return list(futures_of(collections))


def check_blocks(X: Any, *, numeric: bool = True) -> Any:
    """Check a collection; return an empty array or frame with its names and dtype."""
    if hasattr(X, "columns"):
        words = [name for name, kind in X.dtypes.items() if kind.kind not in "buif"]
        if words and numeric:
            raise ValueError(
                f"Column {words[0]!r} of X holds no numbers (its dtype is "
                f"{X.dtypes[words[0]]}); drop it or encode it."
            )
        return empty_frame(X)
    if not hasattr(X, "chunks") or X.ndim != 2 or np.isnan(X.shape[1]):
        raise ValueError(
            "X must be a Dask array of two dimensions, with a known number of columns, "
            f"or a Dask data frame; got {X!r}."
        )
    if len(X.chunks[1]) > 1:
        raise ValueError(
            f"X is cut in {len(X.chunks[1])} chunks of columns, but a block must have "
            "whole rows; use X.rechunk({1: -1})."
        )
    return np.empty((0, X.shape[1]), X.dtype)


def _parts(X: Any) -> list[Any]:
    """Return the blocks of rows of a collection as separate delayed objects."""
    if any(future.cancelled() for future in _futures(X)):
        raise ClusterError(
            "The rows were kept by a Dask cluster that is gone; load them again, and "
            "fit again."
        )
    parts = X.to_delayed()
    return list(np.ravel(parts)) if isinstance(parts, np.ndarray) else list(parts)


def _column(part: Any, rows: int, name: str, read: Callable[[Any], Any]) -> Any:
    """Read one value per row of a block, or raise an error."""
    column = read(part)
    if len(column) != rows:
        raise ValueError(
            f"A block of X has {rows} rows, but that of {name} {len(column)}; rechunk "
            f"{name} like X."
        )
    return column


def labels_of(part: Any) -> NDArray[Any]:
    """Read class labels of any dtype."""
    y = column_or_1d(part)
    if y.dtype.kind == "f":
        check_array(y, ensure_2d=False, ensure_min_samples=0, input_name="y")
    return y


def numbers_of(part: Any, name: str) -> Array:
    """Read finite numbers."""
    options: dict[str, Any] = {"ensure_2d": False, "ensure_min_samples": 0}
    y = check_array(column_or_1d(part), dtype=np.float64, input_name=name, **options)
    return np.asarray(y)


def weights_of(part: Any) -> Array:
    """Read finite numbers, none below zero."""
    weights = numbers_of(part, "sample_weight")
    if weights.size and weights.min() < 0:
        raise ValueError("Negative values in data passed to `sample_weight`")
    return weights


def distinct_labels(y: Any) -> NDArray[Any]:
    """Return the sorted distinct labels of all blocks."""
    import dask

    find = dask.delayed(_distinct, pure=False)
    return np.unique(np.concatenate(compute([find(p) for p in y.to_delayed()])))


def _distinct(part: NDArray[Any]) -> NDArray[Any]:
    check_classification_targets(part)
    return np.unique(part)


class Shared:
    """A value that is sent to tasks separately, because it is large."""

    def __init__(self, graph: dict[str, Any]):
        self.graph = graph

    def __reduce__(self) -> Any:
        return Shared, ({},)  # among the arguments it only marks a place


class Job:
    """Requests to all blocks, whose results are added up.

    `columns` are Dask arrays of shape (n,) or (k, n), in chunks of the same rows as the
    blocks. `make` is passed to every task. Whatever is put on the cluster is added to
    `held`, and released with the blocks.
    """

    def __init__(
        self, blocks: list[Any], columns: list[Any], make: Any, held: list[Any]
    ):
        import dask
        from dask.core import flatten

        self._owner = uuid.uuid4().hex
        self._numbers = count()
        columns = [*dask.persist(*columns)]
        tool = dask.persist(dask.delayed(make, pure=False))
        held += [*columns, *tool]
        self._held = held
        self._graph: dict[Any, Any] = {}
        for part in (*blocks, *columns, *tool):
            self._graph.update(part.__dask_graph__())
        keys = [[block.key for block in blocks]]
        keys += [list(flatten(column.__dask_keys__())) for column in columns]
        self._rows = [(*row, tool[0].key) for row in zip(*keys, strict=True)]

    def __len__(self) -> int:
        return len(self._rows)

    def share(self, value: Any, *, keep: bool = False) -> Any:
        """Prepare an array for the tasks of one pass, or of many if `keep`.

        A large array is sent to the cluster only once.
        """
        if value is None or value.nbytes * len(self) <= _INLINE:
            return value
        key = f"shared-{uuid.uuid4().hex}"
        if not keep:
            return Shared({key: value})
        import dask

        (sent,) = dask.persist(dask.delayed(value, name=key))
        return Shared(dict(sent.__dask_graph__()))

    def number(self) -> int:
        """Return a number that is unique within this job."""
        return next(self._numbers)

    def ask(self, work: Callable[..., Any], *question: Any) -> Any:
        """Compute Σ work(design and memory of a block, *columns, make, *question)."""
        answer = total(*self.collect(work, *question, reduce=total))
        return np.require(answer, requirements=["A", "W"])

    def collect(
        self,
        work: Callable[..., Any],
        *question: Any,
        reduce: Callable[..., Any] | None = None,
    ) -> list[Any]:
        """Return the results of the blocks in order, partly added up by `reduce`."""
        graph, pass_id = dict(self._graph), uuid.uuid4().hex
        shared = [word.graph for word in question if isinstance(word, Shared)]
        for part in shared:
            graph.update(part)
        extra = [key for part in shared for key in part]
        call = partial(_at_work, work, self._owner, question)
        keys = [f"block-{pass_id}-{i}" for i in range(len(self))]
        for key, rows in zip(keys, self._rows, strict=True):
            graph[key] = (call, len(extra), *rows, *extra)
        while reduce is not None and len(keys) > _FAN_IN:
            groups = [keys[i : i + _FAN_IN] for i in range(0, len(keys), _FAN_IN)]
            keys = [f"sum-{group[0]}" for group in groups]
            graph |= {k: (reduce, *g) for k, g in zip(keys, groups, strict=True)}
        return _results(graph, keys)


def _at_work(
    work: Callable[..., Any],
    owner: str,
    question: tuple[Any, ...],
    n_shared: int,
    block: Block,
    *rest: Any,
) -> Any:
    """Call `work` on a block, with values that were sent separately in their places."""
    rows, shared = rest[: len(rest) - n_shared], iter(rest[len(rest) - n_shared :])
    words = [next(shared) if isinstance(word, Shared) else word for word in question]
    given = [_settled(x) if isinstance(x, np.ndarray) else x for x in (*rows, *words)]
    with alone():
        return work(block.design, block.memory(owner), *given)


def total(*parts: Array) -> Array:
    """Add the parts, from the first to the last."""
    return sum(parts[1:], parts[0])


def compute(tasks: list[Any]) -> list[Any]:
    """Compute delayed tasks."""
    graph: dict[Any, Any] = {}
    for task in tasks:
        graph.update(task.__dask_graph__())
    return _results(graph, [task.key for task in tasks])


def _results(graph: dict[Any, Any], keys: list[Any]) -> list[Any]:
    """Compute some keys of a graph; give up on a cluster that stays without workers."""
    import dask
    from dask.base import get_scheduler

    get = get_scheduler() or dask.threaded.get
    client = client_behind(get)
    if client is None:
        return list(get(graph, keys))
    from concurrent.futures import CancelledError

    from distributed import KilledWorker
    from distributed.comm import CommClosedError

    try:
        return _gathered(client, client.get(graph, keys, sync=False))
    except KilledWorker as error:
        raise ClusterError(
            "Workers of the Dask cluster died again and again at the same task; give "
            "them more memory or use smaller chunks, and fit again, with "
            "warm_start=True to go on from here."
        ) from error
    except (CancelledError, CommClosedError, OSError) as error:
        raise ClusterError(
            "The connection to the Dask scheduler is lost; connect to a cluster and "
            "fit again, with warm_start=True to go on from here."
        ) from error


def _gathered(client: Any, futures: list[Any]) -> list[Any]:
    from distributed import TimeoutError, wait

    waited = 0.0
    try:
        while waited <= _PATIENCE:
            try:
                wait(futures, timeout=_GLANCE)
                return list(client.gather(futures))
            except TimeoutError:
                waited = 0.0 if client.nthreads() else waited + _GLANCE
    finally:
        for future in futures:
            future.release()
    raise ClusterError(
        f"The Dask cluster has had no worker for {waited:.0f} s; start some and fit "
        "again, with warm_start=True to go on from here."
    )


def by_blocks(method: Callable[..., Any]) -> Callable[..., Any]:
    """Let a method that maps rows to rows accept a Dask collection, lazily.

    It then returns a Dask array with the chunks of X.
    """

    @wraps(method)
    def answer(self: Any, X: Any, *options: Any, **named: Any) -> Any:
        if is_lazy(X) and not options and not named:
            return _mapped(partial(method, self), X)
        return method(self, X, *options, **named)

    return answer


def _mapped(method: Callable[[Any], Any], X: Any) -> Any:
    none = check_blocks(X, numeric=False)
    if hasattr(none, "columns"):
        from dask.dataframe.utils import meta_nonempty

        empty = method(meta_nonempty(none))[:0]
    else:
        empty = method(np.zeros((1, none.shape[1])))[:0]

    def answer(part: Any) -> Any:
        return method(part) if part.shape[0] else empty

    if hasattr(none, "columns"):
        return X.map_partitions(answer, meta=empty)
    chunks = (X.chunks[0], empty.shape[1:])[: empty.ndim]
    gone = 1 if empty.ndim == 1 else None
    return X.map_blocks(
        answer, dtype=empty.dtype, chunks=chunks, drop_axis=gone, meta=empty
    )
