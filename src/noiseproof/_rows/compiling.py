"""How Numba compiles loops: the same way for all modules named `kernels`.

Numba keeps what it compiled beside the source, or in the user's cache folder. Where
neither can be written (a read-only installation without a home) loops are compiled in
every process.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numba

_ANY_ORDER = {"contract", "reassoc"}  # sums may use vector instructions


def compiled(loop: Callable[..., Any], fastmath: Any = False) -> Any:
    """A loop over plain arrays as machine code that holds no lock."""
    options: dict[str, Any] = {
        "nogil": True,
        "error_model": "numpy",
        "fastmath": fastmath,
    }
    try:
        return numba.njit(cache=True, **options)(loop)
    except RuntimeError as error:
        if "cannot cache" not in str(error):
            raise
        return numba.njit(**options)(loop)


def compiled_in_any_order(loop: Callable[..., Any]) -> Any:
    """The same where sums may be taken in any order."""
    return compiled(loop, _ANY_ORDER)
