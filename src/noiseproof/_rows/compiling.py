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
import numpy as np
from llvmlite import ir
from numba import types
from numba.core import cgutils
from numba.extending import intrinsic

ANY_ORDER = frozenset({"contract", "reassoc"})  # sums may use vector instructions
_OPTIONS: dict[str, Any] = {"nogil": True, "error_model": "numpy"}
_WORD = ir.IntType(64)


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


def machine_code(
    loop: Any, kinds: Sequence[Any], machine: llvm.TargetMachine, name: str
) -> bytes:
    """An object file with a function `name` that calls a standalone loop.

    The function has three pointers as parameters: to a place for its result and to one
    for errors, none of which it has, and to a block of words. There is a word for each
    kind: for a triple of dtype, number of dimensions and whether it is C-contiguous,
    the address of a NumPy array; for "i" a whole number itself. A kind that is a number
    n stands for a tuple of n floats, of which only the length matters: it has no word.
    """
    wanted = types.Tuple([_numba_type(kind) for kind in kinds])

    @intrinsic
    def arguments(typing, block):
        def build(context, builder, signature, given):
            words, values = given[0], []
            for kind, own in zip(kinds, wanted, strict=True):
                if isinstance(kind, int):
                    zeros = context.get_constant_generic(builder, own, (0.0,) * kind)
                    values.append(zeros)
                    continue
                word = builder.load(words)
                words = builder.gep(words, [_WORD(1)])
                if isinstance(own, types.Array):
                    word = _array(context, builder, own, word)
                values.append(word)
            return context.make_tuple(builder, wanted, values)

        return wanted(block), build

    @numba.cfunc(types.void(types.CPointer(types.int64)), _nrt=False, **_OPTIONS)
    def call(block):
        loop(*arguments(block))

    module = llvm.parse_assembly(call.inspect_llvm())
    # around the function Numba puts one that asks Python to report errors: left out
    module.get_function(call.native_name).linkage = llvm.Linkage.available_externally
    module.get_function(call.native_name.removeprefix("cfunc.")).name = name
    return machine.emit_object(module)


def _numba_type(kind):
    if isinstance(kind, int):
        return types.UniTuple(types.float64, kind)
    if kind == "i":
        return types.int64
    dtype, ndim, contiguous = kind
    return types.Array(
        numba.from_dtype(np.dtype(dtype)), ndim, "C" if contiguous else "A"
    )


def _array(context, builder, kind, address):
    """What Numba must know of the NumPy array at an address.

    After the header of any Python object NumPy has the address of the data, the number
    of dimensions, and addresses of shape and strides: a layout that all extension
    modules compiled for it rely on.
    """

    def word(place, at):
        return builder.load(builder.gep(place, [_WORD(at)]))

    def numbers(address):
        place = builder.inttoptr(address, _WORD.as_pointer())
        return [word(place, axis) for axis in range(kind.ndim)]

    array = context.make_array(kind)(context, builder)
    header = builder.inttoptr(address, _WORD.as_pointer())
    first = object.__basicsize__ // 8
    sizes, steps = numbers(word(header, first + 2)), numbers(word(header, first + 3))
    array.data = builder.inttoptr(word(header, first), array.data.type)
    array.itemsize = _WORD(context.get_abi_sizeof(context.get_data_type(kind.dtype)))
    array.nitems = _WORD(1)
    for size in sizes:
        array.nitems = builder.mul(array.nitems, size)
    array.shape = cgutils.pack_array(builder, sizes)
    array.strides = cgutils.pack_array(builder, steps)
    array.meminfo = cgutils.get_null_value(array.meminfo.type)
    array.parent = cgutils.get_null_value(array.parent.type)
    return array._getvalue()
