"""How loops are compiled: once, for all modules named `kernels`.

Compiled code is kept beside its source or in the user's cache folder. Where neither can
be written (a read-only installation without a home) it is compiled in every process.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numba

ANY_ORDER = frozenset({"contract", "reassoc"})  # sums may use vector instructions


def compiled(loop: Callable[..., Any], fastmath: Any = False) -> Any:
    """A loop over plain arrays as machine code that holds no lock."""
    fastmath = set(fastmath) if fastmath else False
    options = {"nogil": True, "error_model": "numpy", "fastmath": fastmath}
    try:
        return numba.njit(cache=True, **options)(loop)
    except RuntimeError as error:
        if "cannot cache" not in str(error):
            raise
        return numba.njit(**options)(loop)


def compiled_in_any_order(loop: Callable[..., Any]) -> Any:
    """The same where sums may be taken in any order."""
    return compiled(loop, ANY_ORDER)
