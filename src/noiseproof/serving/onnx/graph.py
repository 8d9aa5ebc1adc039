"""ONNX graphs, written as formulas.

A `Tensor` is a value in a graph. Arithmetic and methods on it add nodes, so the steps
of a computation read like NumPy. A node is named by a hash of what it computes:
computing the same twice gives the same tensor, so members of a blend share their work,
and the same model gives the same file.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import onnx
from numpy.typing import NDArray
from onnx import helper, numpy_helper

Array = NDArray[Any]

OPSET, ML_OPSET, IR = 18, 3, 8  # since 2022: old enough for every runtime in use
ML = "ai.onnx.ml"
_INDEX = np.dtype(np.int64)
_TRUTH = np.dtype(bool)


class Tensor:
    """A value of a graph, and the type of its entries."""

    __array_ufunc__ = None  # an array on the left leaves the operation to the tensor

    def __init__(self, graph: Graph, name: str, dtype: Any):
        self.graph, self.name, self.dtype = graph, name, np.dtype(dtype)

    @property
    def is_text(self) -> bool:
        """Whether the entries are text."""
        return self.dtype.kind == "O"

    def op(self, kind: str, *others: Any, dtype: Any = None, **attributes: Any) -> Any:
        """The output of a node whose first input is this tensor."""
        return self.graph.node(
            kind, self, *others, dtype=dtype or self.dtype, **attributes
        )

    def _with(self, kind: str, other: Any, dtype: Any = None) -> Tensor:
        return self.op(kind, self._lifted(other), dtype=dtype)

    def _lifted(self, other: Any) -> Tensor:
        """A number or an array as a tensor of this type."""
        if isinstance(other, Tensor):
            return other
        return self.graph.constant(np.asarray(other, dtype=self.dtype))

    def __add__(self, other: Any) -> Tensor:
        return self._with("Add", other)

    def __sub__(self, other: Any) -> Tensor:
        return self._with("Sub", other)

    def __mul__(self, other: Any) -> Tensor:
        return self._with("Mul", other)

    def __truediv__(self, other: Any) -> Tensor:
        return self._with("Div", other)

    def __matmul__(self, other: Any) -> Tensor:
        return self._with("MatMul", other)

    def __radd__(self, other: Any) -> Tensor:
        return self._lifted(other) + self

    def __rsub__(self, other: Any) -> Tensor:
        return self._lifted(other) - self

    def __rmul__(self, other: Any) -> Tensor:
        return self._lifted(other) * self

    def __rmatmul__(self, other: Any) -> Tensor:
        return self._lifted(other) @ self

    def __neg__(self) -> Tensor:
        return self.op("Neg")

    def __gt__(self, other: Any) -> Tensor:
        return self._with("Greater", other, _TRUTH)

    def __ge__(self, other: Any) -> Tensor:
        return self._with("GreaterOrEqual", other, _TRUTH)

    def __le__(self, other: Any) -> Tensor:
        return self._with("LessOrEqual", other, _TRUTH)

    def equals(self, other: Any) -> Tensor:
        """Whether entries are equal."""
        return self._with("Equal", other, _TRUTH)

    def __and__(self, other: Any) -> Tensor:
        return self._with("And", other)

    def __invert__(self) -> Tensor:
        return self.op("Not")

    def where(self, yes: Any, no: Any) -> Tensor:
        """Entries of `yes` where this tensor is true, of `no` elsewhere."""
        like = yes if isinstance(yes, Tensor) else no
        return self.op("Where", like._lifted(yes), like._lifted(no), dtype=like.dtype)

    def at_least(self, other: Any) -> Tensor:
        """The larger of two entries."""
        return self._with("Max", other)

    def at_most(self, other: Any) -> Tensor:
        """The smaller of two entries."""
        return self._with("Min", other)

    def sum(self, axis: int) -> Tensor:
        """Sums along an axis, which stays, as all reductions here leave it."""
        return self.op("ReduceSum", self.graph.indices(axis), keepdims=1)

    def max(self, axis: int) -> Tensor:
        """Largest entries along an axis."""
        return self.op("ReduceMax", self.graph.indices(axis), keepdims=1)

    def min(self, axis: int) -> Tensor:
        """Smallest entries along an axis."""
        return self.op("ReduceMin", self.graph.indices(axis), keepdims=1)

    def any(self, axis: int) -> Tensor:
        """Whether one is true along an axis, which is dropped."""
        return self.cast(np.int64).max(axis).squeeze(axis) > 0

    def first_largest(self) -> Tensor:
        """Places of the largest entries along the last axis; of several the first."""
        return self.op("ArgMax", axis=-1, keepdims=0, dtype=_INDEX)

    def isnan(self) -> Tensor:
        """Which entries are NaN."""
        return self.op("IsNaN", dtype=_TRUTH)

    def cast(self, dtype: Any) -> Tensor:
        """The entries as another type."""
        if self.dtype == np.dtype(dtype):
            return self
        return self.op("Cast", to=_proto_type(dtype), dtype=dtype)

    def double(self) -> Tensor:
        """The entries in double precision."""
        return self.cast(np.float64)

    def squeeze(self, axis: int) -> Tensor:
        """Without an axis of length one."""
        return self.op("Squeeze", self.graph.indices(axis))

    def insert(self, axis: int) -> Tensor:
        """With one more axis."""
        return self.op("Unsqueeze", self.graph.indices(axis))

    def reshape(self, *shape: int | Tensor) -> Tensor:
        """In another shape, of which -1 is found out."""
        return self.op("Reshape", self.graph.shape(*shape))

    def spread(self, count: Tensor) -> Tensor:
        """A row (1, k), as often as there are rows."""
        return self.op("Expand", self.graph.shape(count, 1))

    def transposed(self) -> Tensor:
        """A stack of matrices, each transposed."""
        return self.op("Transpose", perm=[0, 2, 1])

    def size(self, axis: int) -> Tensor:
        """Length along an axis, as a tensor of length one."""
        return self.op("Shape", start=axis, end=axis + 1, dtype=_INDEX)

    def take(self, places: Any, axis: int = 0) -> Tensor:
        """Entries at some places along an axis."""
        if not isinstance(places, Tensor):
            places = self.graph.constant(np.asarray(places, dtype=np.int64))
        return self.op("Gather", places, axis=axis)

    def first(self, count: Tensor, axis: int = 0) -> Tensor:
        """The first entries along an axis."""
        start = self.graph.indices(0)
        return self.op("Slice", start, count, self.graph.indices(axis))

    def after(self, count: Tensor, axis: int = 0) -> Tensor:
        """All but the first entries along an axis."""
        end = self.graph.indices(np.iinfo(np.int64).max)
        return self.op("Slice", count, end, self.graph.indices(axis))

    def compress(self, kept: Tensor) -> Tensor:
        """The rows for which `kept` is true."""
        return self.op("Compress", kept, axis=0)


class Graph:
    """Nodes, constants and inputs of a model, and of the graphs inside its nodes."""

    def __init__(self) -> None:
        self._constants: dict[str, Any] = {}
        self._inputs: list[Any] = []
        self._scopes: list[dict[str, Any]] = [{}]  # nodes by the names of their outputs

    def input(self, name: str, dtype: Any, width: int) -> Tensor:
        """Rows that are given to the model, (n, width)."""
        given = Tensor(self, name, dtype)
        self._inputs.append(_info(given, [None, width]))
        return given

    def constant(self, values: Any) -> Tensor:
        """An array that is stored in the model, once."""
        values = np.asarray(values)
        if values.dtype.kind in "US":
            values = values.astype(object)
        proto = numpy_helper.from_array(
            np.ascontiguousarray(values).reshape(values.shape)
        )
        proto.name = name = f"constant_{_digest(proto)}"
        self._constants.setdefault(name, proto)
        return Tensor(self, name, values.dtype)

    def indices(self, *values: int) -> Tensor:
        """A list of whole numbers."""
        return self.constant(np.array(values, dtype=np.int64))

    def shape(self, *sizes: int | Tensor) -> Tensor:
        """A shape of numbers, some of which are found out when the model runs."""
        if not any(isinstance(size, Tensor) for size in sizes):
            return self.indices(*sizes)  # type: ignore[arg-type]
        parts = [s if isinstance(s, Tensor) else self.indices(s) for s in sizes]
        return concat(parts, axis=0)

    def node(
        self,
        kind: str,
        *inputs: Tensor,
        dtype: Any,
        domain: str = "",
        n_outputs: int = 1,
        **attributes: Any,
    ) -> Any:
        """The output of a node, or a list of its outputs, each with a type."""
        proto = helper.make_node(
            kind, [value.name for value in inputs], [], domain=domain, **attributes
        )
        depth = len(self._scopes) - 1  # a name means the same at each depth
        proto.name = f"{kind}_{_digest(proto, str(depth))}"
        if not any(proto.name in scope for scope in self._scopes):
            proto.output.extend(f"{proto.name}.{i}" for i in range(n_outputs))
            self._scopes[-1][proto.name] = proto
        dtypes = dtype if isinstance(dtype, list) else [dtype] * n_outputs
        outputs = [
            Tensor(self, f"{proto.name}.{i}", each) for i, each in enumerate(dtypes)
        ]
        return outputs if n_outputs > 1 else outputs[0]

    def scan(
        self,
        step: Callable[..., Sequence[Tensor]],
        states: Sequence[Tensor],
        over: Sequence[Tensor],
        ranks: Sequence[int],
    ) -> list[Tensor]:
        """States after all steps, and what the steps give beside them, stacked.

        A step gets the states and the next entries along the first axis of `over`. What
        it gives has these numbers of axes, which older runtimes do not find out.
        """
        body, dtypes = self._body(step, [*states, *over], ranks)
        found = self.node(
            "Scan",
            *states,
            *over,
            body=body,
            num_scan_inputs=len(over),
            n_outputs=len(dtypes),
            dtype=dtypes,
        )
        return found if len(dtypes) > 1 else [found]

    def branch(
        self,
        condition: Tensor,
        yes: Callable[[], Sequence[Tensor]],
        no: Callable[[], Sequence[Tensor]],
    ) -> list[Tensor]:
        """What one of two functions computes, whichever the condition chooses."""
        (then, dtypes), (otherwise, _) = self._body(yes), self._body(no)
        found = self.node(
            "If",
            condition,
            then_branch=then,
            else_branch=otherwise,
            n_outputs=len(dtypes),
            dtype=dtypes,
        )
        return found if len(dtypes) > 1 else [found]

    def _body(
        self,
        compute: Callable[..., Sequence[Tensor]],
        given: Sequence[Tensor] = (),
        ranks: Sequence[int] | None = None,
    ) -> tuple[Any, list[Any]]:
        """The graph of a function inside a node, and the types of what it gives."""
        depth = len(self._scopes)
        names = [f"given_{depth}_{i}_{value.name}" for i, value in enumerate(given)]
        inner = [
            Tensor(self, name, value.dtype)
            for name, value in zip(names, given, strict=True)
        ]
        self._scopes.append({})
        # a graph may not hand out what it was given, or what lies outside of it
        results = [value.op("Identity") for value in compute(*inner)]
        nodes = list(self._scopes.pop().values())
        shapes = [None] * len(results) if ranks is None else [[None] * r for r in ranks]
        entries = [_info(value, None) for value in inner]
        ends = [_info(*pair) for pair in zip(results, shapes, strict=True)]
        body = helper.make_graph(nodes, f"depth_{depth}", entries, ends)
        return body, [value.dtype for value in results]

    def outside(self, compute: Callable[[], Tensor]) -> Tensor:
        """A tensor computed from constants alone, once, outside of all inner graphs."""
        kept, self._scopes = self._scopes, self._scopes[:1]
        try:
            return compute()
        finally:
            self._scopes = kept

    def inline(self, model: Any, given: dict[str, Tensor], dtypes: list[Any]) -> Any:
        """The outputs of another model, whose nodes become part of this one."""
        content = onnx.GraphProto()
        content.CopyFrom(model.graph)
        content.ClearField("name")  # skl2onnx gives each conversion another one
        key = _digest(content, *(value.name for value in given.values()))
        inner = onnx.compose.add_prefix(model, f"inner_{key}.").graph
        scope = self._scopes[-1]
        for name, value in given.items():
            entry = helper.make_node("Identity", [value.name], [f"inner_{key}.{name}"])
            scope[f"inner_{key}.entry.{name}"] = entry
        for proto in inner.initializer:
            self._constants[proto.name] = proto
        for i, proto in enumerate(inner.node):
            scope[f"inner_{key}.node.{i}"] = proto
        return [
            Tensor(self, output.name, dtype)
            for output, dtype in zip(inner.output, dtypes, strict=True)
        ]

    def model(self, outputs: dict[str, tuple[Tensor, list[Any]]]) -> Any:
        """The model that computes these tensors, with names and shapes for them."""
        infos = []
        for name, (value, shape) in outputs.items():
            end = helper.make_node("Identity", [value.name], [name])
            self._scopes[-1][f"output.{name}"] = end
            infos.append(_info(Tensor(self, name, value.dtype), shape))
        (nodes,) = self._scopes
        constants = list(self._constants.values())
        graph = helper.make_graph(
            list(nodes.values()), "noiseproof", self._inputs, infos, constants
        )
        imports = [helper.make_opsetid("", OPSET), helper.make_opsetid(ML, ML_OPSET)]
        return helper.make_model(graph, opset_imports=imports, ir_version=IR)


def concat(values: Sequence[Tensor], axis: int) -> Tensor:
    """Tensors one behind the other along an axis."""
    if len(values) == 1:
        return values[0]
    return values[0].op("Concat", *values[1:], axis=axis)


def exp(value: Tensor) -> Tensor:
    """Powers of e."""
    return value.op("Exp")


def log(value: Tensor) -> Tensor:
    """Natural logarithms."""
    return value.op("Log")


def sqrt(value: Tensor) -> Tensor:
    """Square roots."""
    return value.op("Sqrt")


def rint(value: Tensor) -> Tensor:
    """The nearest whole numbers; of two, the even one."""
    return value.op("Round")


def sigmoid(value: Tensor) -> Tensor:
    """1 / (1 + e^-x)."""
    return value.op("Sigmoid")


def softmax(value: Tensor) -> Tensor:
    """e^x, by their sum along the last axis."""
    return value.op("Softmax", axis=-1)


def _info(value: Tensor, shape: list[Any] | None) -> Any:
    return helper.make_tensor_value_info(value.name, _proto_type(value.dtype), shape)


def _digest(proto: Any, *more: str) -> str:
    state = hashlib.sha256(proto.SerializeToString(deterministic=True))
    for text in more:
        state.update(text.encode())
    return state.hexdigest()[:16]


def _proto_type(dtype: Any) -> int:
    dtype = np.dtype(dtype)
    if dtype.kind == "O":
        return int(onnx.TensorProto.STRING)
    return int(helper.np_dtype_to_tensor_dtype(dtype))
