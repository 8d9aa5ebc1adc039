"""How Numba compiles loops: once, for all modules named `kernels`.

Most loops are `compiled` and kept by Numba, beside their source or in the user's cache
folder. Where neither can be written (a read-only installation without a home) they are
compiled in every process. Loops that are `standalone` become machine code that needs no
Numba when it is run; `machine_code` says why, and keeps it.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import llvmlite.binding as llvm
import numba
from llvmlite import ir
from numba import types

ANY_ORDER = frozenset({"contract", "reassoc"})  # sums may use vector instructions
_OPTIONS: dict[str, Any] = {"nogil": True, "error_model": "numpy"}
_WORD = ir.IntType(64)
_ADDRESS = ir.IntType(8).as_pointer()


def compiled(loop: Callable[..., Any], fastmath: Any = False) -> Any:
    """A loop over plain arrays as machine code that holds no lock."""
    options = {**_OPTIONS, "fastmath": set(fastmath) if fastmath else False}
    try:
        return numba.njit(cache=True, **options)(loop)
    except RuntimeError as error:
        if "cannot cache" not in str(error):
            raise
        return numba.njit(**options)(loop)


def compiled_in_any_order(loop: Callable[..., Any]) -> Any:
    """The same where sums may be taken in any order."""
    return compiled(loop, ANY_ORDER)


def standalone(loop: Callable[..., Any]) -> Any:
    """The same without any memory of its own: an allocation does not compile."""
    return numba.njit(_nrt=False, fastmath=set(ANY_ORDER), **_OPTIONS)(loop)


def object_code(
    loop: Any, kinds: Sequence[Any], machine: llvm.TargetMachine, name: str
) -> bytes:
    """An object file with a function `name` that calls a standalone loop.

    The function has three pointers as parameters: to a place for its result and to one
    for errors, none of which it has, and to a block of words. There is a word for each
    kind: for a triple of dtype, number of dimensions and whether it is C-contiguous,
    the address of a NumPy array; for "i" a whole number itself. A kind that is a number
    n stands for a tuple of n floats, of which only the length matters: it has no word.
    """
    signature = tuple(_numba_type(kind) for kind in kinds)
    loop.compile(signature)
    made = loop.overloads[signature].fndesc
    module = llvm.parse_assembly(loop.inspect_llvm(signature))
    # what Numba puts around the loop, for Python and for C, is left out
    for wrapper in made.llvm_cpython_wrapper_name, made.llvm_cfunc_wrapper_name:
        module.get_function(wrapper).linkage = llvm.Linkage.available_externally
    native = module.get_function(made.llvm_func_name)
    module.link_in(llvm.parse_assembly(_call(native, signature, name)))
    return machine.emit_object(module)


def _numba_type(kind):
    if isinstance(kind, int):
        return types.UniTuple(types.float64, kind)
    if kind == "i":
        return types.int64
    dtype, ndim, contiguous = kind
    return types.Array(numba.from_dtype(dtype), ndim, "C" if contiguous else "A")


def _call(native, signature, name):
    """The text of a function that calls a native one with what a block of words says.

    Numba's functions get a place for the result and one for errors, then an array as
    `_array` says, and a tuple number by number.
    """
    module = ir.Module()
    parameters = [_ADDRESS, _ADDRESS, _WORD]
    function = ir.Function(module, ir.FunctionType(ir.IntType(32), parameters), name)
    builder = ir.IRBuilder(function.append_basic_block())
    result, errors, block = function.args
    n_words = sum(not isinstance(kind, types.UniTuple) for kind in signature)
    words = iter(_numbers(builder, block, n_words))
    arguments = [result, errors]
    for kind in signature:
        if isinstance(kind, types.UniTuple):
            arguments += [ir.Constant(ir.DoubleType(), 0.0)] * len(kind)
        elif isinstance(kind, types.Array):
            arguments += _array(builder, kind, next(words))
        else:
            arguments.append(next(words))
    if len(arguments) != len(list(native.arguments)):
        raise SystemError("This version of Numba hands arrays on in another way.")
    kinds = [argument.type for argument in arguments]
    called = ir.Function(module, ir.FunctionType(ir.IntType(32), kinds), native.name)
    builder.ret(builder.call(called, arguments))
    return str(module)


def _array(builder, kind, address):
    """What Numba wants to know of the NumPy array at an address.

    Two pointers to its owners, here none, the number of its items and their size, its
    data, shape and strides. After the header of any Python object NumPy has the address
    of the data, the number of dimensions, and addresses of shape and strides: a layout
    that all extension modules compiled for it rely on.
    """
    header = object.__basicsize__ // 8
    data, _, shape, strides = _numbers(builder, address, header + 4)[header:]
    shape = _numbers(builder, shape, kind.ndim)
    strides = _numbers(builder, strides, kind.ndim)
    n_items = _WORD(1)
    for size in shape:
        n_items = builder.mul(n_items, size)
    item_size = _WORD(kind.dtype.bitwidth // 8)
    none = ir.Constant(_ADDRESS, None)
    data = builder.inttoptr(data, _ADDRESS)
    return [none, none, n_items, item_size, data, *shape, *strides]


def _numbers(builder, address, n):
    """The first words at an address."""
    place = builder.inttoptr(address, _WORD.as_pointer())
    return [builder.load(builder.gep(place, [_WORD(at)])) for at in range(n)]
