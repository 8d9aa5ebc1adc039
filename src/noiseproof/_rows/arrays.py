"""Arrays of torch and CuPy, on any device, behind NumPy's functions.

Losses, objectives and solvers are written with NumPy's functions, which other arrays
can override (`__array_ufunc__`, `__array_function__`). `DeviceArray` overrides them
with the functions of the library that holds its data. So every formula is written once,
and NumPy's own arrays behave as always. Data leaves the device only through `host`,
which solvers call where they make decisions, for one number per class.
"""

from __future__ import annotations

import operator
from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import special
from scipy.linalg import cho_factor, cho_solve

_LIBRARIES = ("torch", "cupy", "cupyx")

_OPERATORS: dict[str, Callable[..., Any]] = {
    "add": operator.add,
    "subtract": operator.sub,
    "multiply": operator.mul,
    "divide": operator.truediv,
    "power": operator.pow,
    "negative": operator.neg,
    "absolute": operator.abs,
    "matmul": operator.matmul,
    "greater": operator.gt,
    "greater_equal": operator.ge,
    "less": operator.lt,
    "less_equal": operator.le,
    "equal": operator.eq,
    "not_equal": operator.ne,
    "bitwise_and": operator.and_,
    "bitwise_or": operator.or_,
    "invert": operator.invert,
}
_IN_PLACE: dict[str, Callable[..., Any]] = {
    "add": operator.iadd,
    "subtract": operator.isub,
    "multiply": operator.imul,
    "divide": operator.itruediv,
    "bitwise_and": operator.iand,
    "bitwise_or": operator.ior,
}


def is_foreign(X: Any) -> bool:
    """Return whether X is an array or a sparse matrix of torch or CuPy."""
    return type(X).__module__.partition(".")[0] in _LIBRARIES


def namespace(x: Any) -> Any:
    """Return the array API namespace of an array's library."""
    try:
        from array_api_compat import array_namespace
    except ImportError as error:
        raise ImportError(
            "Arrays of torch and CuPy need array-api-compat; install it with "
            "pip install 'noiseproof[gpu]'."
        ) from error
    return array_namespace(x)


def device_of(x: Any) -> Any:
    """Return the device of an array."""
    from array_api_compat import device

    return device(x)


def host(x: Any) -> Any:
    """Copy an array from any device to NumPy; return NumPy's arrays unchanged."""
    if isinstance(x, np.ndarray):  # first, since solvers call this in every step
        return x
    if isinstance(x, DeviceArray):
        x = x.raw
    if not is_foreign(x):
        return x
    from array_api_compat import to_device

    return np.asarray(to_device(x.detach() if hasattr(x, "detach") else x, "cpu"))


def given(x: Any) -> Any:
    """Return the array of the user's library behind a `DeviceArray`."""
    return x.raw if isinstance(x, DeviceArray) else x


def chosen(classes: Any, winners: Any) -> Any:
    """Return the class of each row; a NumPy array if classes are not numbers."""
    classes = host(classes)
    if classes.dtype.kind not in "biuf":
        return classes[host(winners)]
    if isinstance(winners, DeviceArray):
        return winners.wrap(winners.like(classes.copy()))[winners]
    return classes[winners]


def contiguous(x: Any) -> Any:
    """Return x in C order, which compiled loops need; unchanged on a device."""
    return x if isinstance(x, DeviceArray) else np.ascontiguousarray(x)


def factorized(matrix: Any) -> Callable[[Any], Any]:
    """Return a solver for a positive definite matrix, which is overwritten."""
    if not isinstance(matrix, DeviceArray):
        factor = cho_factor(matrix, overwrite_a=True)
        return lambda r: np.asarray(cho_solve(factor, r))
    linalg, n = matrix.xp.linalg, len(matrix)
    one = matrix.xp.eye(n, dtype=matrix.raw.dtype, device=device_of(matrix.raw))
    root = matrix.wrap(linalg.solve(linalg.cholesky(matrix.raw), one))
    return lambda r: root.T @ (root @ r)


class DeviceArray(np.lib.mixins.NDArrayOperatorsMixin):
    """An array of another library that NumPy's functions understand."""

    __slots__ = ("raw", "xp")

    def __init__(self, raw: Any, xp: Any = None):
        self.raw = raw  # a torch.Tensor or a cupy.ndarray
        self.xp = namespace(raw) if xp is None else xp

    def __array__(self, *_: Any, **__: Any) -> Any:
        raise TypeError("an array on a device becomes one of NumPy only by host()")

    def __array_ufunc__(
        self, ufunc: Any, method: str, *inputs: Any, out: Any = None
    ) -> Any:
        name = ufunc.__name__
        if method != "__call__" or (out and name not in _IN_PLACE):
            raise TypeError(f"np.{name} is not known on a device in this form")
        if out:
            _IN_PLACE[name](out[0].raw, self.like(inputs[1]))
            return out[0]
        if name in _OPERATORS:
            return self.wrap(_OPERATORS[name](*map(self.like, inputs)))
        arguments = [self.like(x, scalars=True) for x in inputs]
        return self.wrap(getattr(self.xp, name)(*arguments))

    def __array_function__(
        self, function: Any, types: Any, arguments: Any, options: Any
    ) -> Any:
        if function.__name__ not in _FUNCTIONS:
            raise TypeError(f"np.{function.__name__} is not known on a device")
        return _FUNCTIONS[function.__name__](self, *arguments, **options)

    # the two most frequent operators, without the detour through NumPy
    def __mul__(self, other: Any) -> Any:
        return self.wrap(self.raw * self.like(other))

    def __add__(self, other: Any) -> Any:
        return self.wrap(self.raw + self.like(other))

    def wrap(self, raw: Any) -> DeviceArray:
        """Wrap an array of the library."""
        return DeviceArray(raw, self.xp)

    def like(self, x: Any, scalars: bool = False) -> Any:
        """Convert an operand to this library and device, and numbers if `scalars`."""
        if isinstance(x, DeviceArray):
            return x.raw
        if isinstance(x, np.ndarray) and x.ndim:
            return self._upload(x)
        x = x.item() if isinstance(x, np.generic | np.ndarray) else x
        if scalars:  # filled on the device, without a transfer
            return self.xp.full((), x, dtype=self.raw.dtype, device=device_of(self.raw))
        return x

    def _upload(self, x: NDArray[Any]) -> Any:
        x = x if x.flags.writeable and x.flags.c_contiguous else x.copy(order="C")
        return self.xp.asarray(x, device=device_of(self.raw))

    def __getitem__(self, key: Any) -> DeviceArray:
        return self.wrap(self.raw[self._key(key)])

    def __setitem__(self, key: Any, value: Any) -> None:
        self.raw[self._key(key)] = self.like(value)

    def _key(self, key: Any) -> Any:
        if isinstance(key, tuple):
            return tuple(self._key(part) for part in key)
        if isinstance(key, np.ndarray):
            return self._upload(np.flatnonzero(key) if key.dtype == bool else key)
        return key.raw if isinstance(key, DeviceArray) else key

    @property
    def shape(self) -> tuple[int, ...]:
        return tuple(self.raw.shape)

    @property
    def ndim(self) -> int:
        return self.raw.ndim

    @property
    def size(self) -> int:
        return int(np.prod(self.shape))

    @property
    def dtype(self) -> np.dtype[Any]:
        return np.dtype(str(self.raw.dtype).rpartition(".")[2])

    @property
    def T(self) -> DeviceArray:  # noqa: N802
        return self.wrap(self.raw.T)

    def __len__(self) -> int:
        return self.shape[0]

    def __iter__(self) -> Any:
        return (self[i] for i in range(len(self)))

    def __bool__(self) -> bool:
        return bool(self.raw)

    def __float__(self) -> float:
        return float(self.raw)

    def _reduce(self, name: str, axis: Any = None, **options: Any) -> DeviceArray:
        return self.wrap(getattr(self.xp, name)(self.raw, axis=axis, **options))

    def sum(self, axis: Any = None, keepdims: bool = False) -> DeviceArray:
        return self._reduce("sum", axis, keepdims=keepdims)

    def mean(self, axis: Any = None, keepdims: bool = False) -> DeviceArray:
        return self._reduce("mean", axis, keepdims=keepdims)

    def max(self, axis: Any = None, initial: float | None = None) -> DeviceArray:
        found = self._reduce("max", axis)
        return found if initial is None else np.maximum(found, initial)  # type: ignore

    def any(self, axis: Any = None) -> DeviceArray:
        return self.wrap(self.xp.any(self.raw != 0, axis=axis))

    def all(self, axis: Any = None) -> DeviceArray:
        return self.wrap(self.xp.all(self.raw != 0, axis=axis))

    def argmax(self, axis: Any = None) -> DeviceArray:
        return self._reduce("argmax", axis)

    def copy(self) -> DeviceArray:
        return self.wrap(self.xp.asarray(self.raw, copy=True))

    def astype(self, dtype: Any) -> DeviceArray:
        """Cast to a dtype, which NumPy or the library names."""
        own = dtype if "torch" in str(dtype) else getattr(self.xp, np.dtype(dtype).name)
        return self.wrap(self.xp.astype(self.raw, own, copy=False))


def _expit(own: DeviceArray, x: Any) -> Any:
    xp = own.xp
    small = xp.exp(-xp.abs(x))
    return xp.where(x >= 0, 1 / (1 + small), small / (1 + small))


def _ndtr(own: DeviceArray, x: Any) -> Any:
    return 0.5 * _special(own).erfc(x * -(0.5**0.5))


def _exprel(own: DeviceArray, x: Any) -> Any:
    xp = own.xp
    safe = xp.where(x == 0, xp.ones_like(x), x)
    return xp.where(x == 0, xp.ones_like(x), xp.expm1(safe) / safe)


def _special(own: DeviceArray) -> Any:
    """Return the special functions, which the array API standard does not have."""
    if "torch" in own.xp.__name__:
        return own.xp.special
    import cupyx.scipy.special

    return cupyx.scipy.special


_SPECIAL: dict[str, Callable[..., Any]] = {
    "expit": _expit,
    "ndtr": _ndtr,
    "exprel": _exprel,
}


def _dispatched(name: str) -> Callable[[Any], Any]:
    """Extend a function of SciPy to device arrays.

    SciPy's function is a ufunc, which would call the array's override. But if
    SCIPY_ARRAY_API is set, SciPy looks up the library of its argument, and does not
    know device arrays.
    """
    of_scipy, on_device = getattr(special, name), _SPECIAL[name]

    def function(x: Any) -> Any:
        if isinstance(x, DeviceArray):
            return x.wrap(on_device(x, x.raw))
        return of_scipy(x)

    return function


expit, ndtr, exprel = map(_dispatched, ("expit", "ndtr", "exprel"))


def _joined(own: DeviceArray, parts: Any, axis: int = 0) -> DeviceArray:
    return own.wrap(own.xp.concat([own.like(part) for part in parts], axis=axis))


def _where(own: DeviceArray, condition: Any, x: Any, y: Any) -> DeviceArray:
    arrays = [part for part in (x, y) if isinstance(part, DeviceArray)]
    numbers = arrays[0] if arrays else own
    x, y = (numbers.like(part, scalars=True) for part in (x, y))
    return own.wrap(own.xp.where(own.like(condition), x, y))


def _clip(own: DeviceArray, x: Any, low: float, high: float) -> Any:
    return np.minimum(np.maximum(x, low), high)


def _row_products(own: DeviceArray, pattern: str, A: Any, B: Any) -> DeviceArray:
    if pattern != "kd,kd->k":
        raise TypeError(f"np.einsum({pattern!r}) is not known on a device")
    return (A * B).sum(axis=1)


def _filled(value: float) -> Callable[..., DeviceArray]:
    def fill(own: DeviceArray, x: DeviceArray) -> DeviceArray:
        return own.wrap(own.xp.full_like(x.raw, value))

    return fill


def _broadcast(own: DeviceArray, *arrays: Any) -> list[DeviceArray]:
    raw = own.xp.broadcast_arrays(*(own.like(x) for x in arrays))
    return [own.wrap(part) for part in raw]


# arguments: the array whose override is called, then those of NumPy's function
_FUNCTIONS: dict[str, Callable[..., Any]] = {
    "where": _where,
    "clip": _clip,
    "concatenate": _joined,
    "hstack": lambda own, parts: _joined(own, parts, axis=1),
    "einsum": _row_products,
    "zeros_like": _filled(0.0),
    "empty_like": _filled(0.0),
    "ones_like": _filled(1.0),
    "full_like": lambda own, x, value: _filled(value)(own, x),
    "broadcast_arrays": _broadcast,
    "diag": lambda own, x: own.wrap(own.xp.diag(x.raw)),
    "any": lambda own, x: x.any(),
    "all": lambda own, x: x.all(),
}


def numpy_type(X: Any) -> np.dtype[Any]:
    """Return NumPy's dtype for the entries of X."""
    return np.dtype(str(X.dtype).rpartition(".")[2])


def placed(x: Any, like: Any) -> Any:
    """Move a NumPy array to the library and device of `like`."""
    if not is_foreign(like):
        return x
    from noiseproof._rows.foreign import values

    data = values(like)
    return namespace(data).asarray(x.copy(), device=device_of(data))
