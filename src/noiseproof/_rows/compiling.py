"""How Numba compiles loops: the same way for all modules named `kernels`.

Numba caches compiled code beside the source, or in the user's cache folder. If neither
is writable (a read-only installation without a home folder), loops are compiled in
every process.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import Any

import numba
from numba.core.compiler_lock import global_compiler_lock

# A process that is forked while another thread compiles would wait forever for that
# thread's lock. So forking waits until nothing is being compiled
if hasattr(os, "register_at_fork"):
    os.register_at_fork(
        before=global_compiler_lock.acquire,
        after_in_parent=global_compiler_lock.release,
        after_in_child=global_compiler_lock.release,
    )

_ANY_ORDER = {"contract", "reassoc"}  # sums may use vector instructions


def compiled(loop: Callable[..., Any], fastmath: Any = False) -> Any:
    """Compile a loop over plain arrays to machine code that releases the GIL."""
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
    """Compile a loop whose sums may be taken in any order."""
    return compiled(loop, _ANY_ORDER)
