"""Loops as machine code in files: compiled by Numba, loaded by LLVM alone.

To import Numba, and to make it ready for the loops of its own cache, takes every
process half a second, more than many a fit; LLVM alone takes a tenth of that. So the
loops that fits of sparse data need are kept as object files, and only a process that
has to compile one imports Numba.

A file lies beside the source, or else in the user's cache folder. Its name depends on
all that its content does: the source, the processor, the kinds of arguments.
"""

from __future__ import annotations

import ctypes
import hashlib
import os
import struct
import threading
from collections.abc import Callable
from functools import cache
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np

_ENTRY = "loop"
_DIGEST = 32  # bytes in front of the code, by which a damaged file is known
_lock = threading.Lock()


class Loops:
    """The `standalone` loops of a module.

    Parameters
    ----------
    module : str
        Its name. It is imported only if a loop has to be compiled.
    """

    def __init__(self, module: str):
        self._module = module
        self._ready: dict[tuple[Any, ...], Callable[..., None]] = {}

    def run(self, name: str, *arguments: Any) -> None:
        """Call a loop with arrays, whole numbers, or tuples: of these, it sees lengths.

        A loop returns nothing.
        """
        kinds: list[Any] = [name]
        words = []
        for argument in arguments:
            if isinstance(argument, np.ndarray):
                kinds.append(
                    (argument.dtype.char, argument.ndim, argument.flags.c_contiguous)
                )
                words.append(id(argument))
            elif isinstance(argument, tuple):
                kinds.append(len(argument))
            else:
                kinds.append("i")
                words.append(argument)
        called = tuple(kinds)
        loop = self._ready.get(called) or self._prepare(called, len(words))
        loop(*words)

    def _prepare(self, called: tuple[Any, ...], n_words: int) -> Callable[..., None]:
        with _lock:
            if called not in self._ready:
                self._ready[called] = _loaded(self._code(called), n_words)
            return self._ready[called]

    def _code(self, called: tuple[Any, ...]) -> bytes:
        described = f"{_sources()} {_processor()} {self._module} {called}"
        digest = hashlib.sha256(described.encode()).hexdigest()
        file = f"{called[0]}-{digest[:24]}.o"
        for folder in _folders():
            if code := _read(folder / file):
                return code
        code = self._compile(*called)
        for folder in _folders():
            if _write(folder / file, code):
                break
        return code

    def _compile(self, name: str, *kinds: Any) -> bytes:
        from noiseproof._rows.compiling import machine_code

        loop = getattr(import_module(self._module), name)
        return machine_code(loop, kinds, _machine(), _ENTRY)


@cache
def _llvm() -> Any:
    import llvmlite.binding as llvm

    llvm.initialize_native_target()
    llvm.initialize_native_asmprinter()
    return llvm


def _machine() -> Any:
    llvm = _llvm()
    return llvm.Target.from_triple(llvm.get_process_triple()).create_target_machine(
        cpu=llvm.get_host_cpu_name(),
        features=llvm.get_host_cpu_features().flatten(),
        opt=3,
        codemodel="jitdefault",
        jit=True,
    )


@cache
def _processor() -> str:
    llvm = _llvm()
    features = llvm.get_host_cpu_features().flatten()
    return f"{llvm.get_process_triple()} {llvm.get_host_cpu_name()} {features}"


@cache
def _sources() -> str:
    """A digest of all loops and of what compiles them."""
    here = Path(__file__).parent
    files = [
        *sorted(here.parent.rglob("*kernels.py")),
        *(here / name for name in ("compiling.py", "lanes.py", "machine_code.py")),
    ]
    digest = hashlib.sha256()
    for file in files:
        digest.update(file.read_bytes())
    return digest.hexdigest()


@cache
def _folders() -> list[Path]:
    """Where files may lie, the first that can be written first."""
    given = os.environ.get("NUMBA_CACHE_DIR")
    if given:
        return [Path(given)]
    folders = [Path(__file__).parent / "__pycache__"]
    home = os.environ.get("XDG_CACHE_HOME") or os.environ.get("LOCALAPPDATA")
    home = home or os.path.expanduser("~/.cache")
    return [*folders, Path(home) / "noiseproof"]


def _read(file: Path) -> bytes | None:
    """The code in a file, or None if there is none or it is damaged."""
    try:
        content = file.read_bytes()
    except OSError:
        return None
    digest, code = content[:_DIGEST], content[_DIGEST:]
    return code if hashlib.sha256(code).digest() == digest else None


def _write(file: Path, code: bytes) -> bool:
    """Write at once, so that other processes see all of a file or nothing."""
    try:
        file.parent.mkdir(parents=True, exist_ok=True)
        unfinished = file.with_suffix(f".{os.getpid()}")
        unfinished.write_bytes(hashlib.sha256(code).digest() + code)
        unfinished.replace(file)
    except OSError:
        return False
    return True


_engines: list[Any] = []  # own the code


def _loaded(code: bytes, n_words: int) -> Callable[..., None]:
    """The function of an object file, to be called with words."""
    llvm = _llvm()
    engine = llvm.create_mcjit_compiler(llvm.parse_assembly(""), _machine())
    engine.add_object_file(llvm.ObjectFileRef.from_data(code))
    engine.finalize_object()
    _engines.append(engine)
    entry = ctypes.CFUNCTYPE(ctypes.c_int, *[ctypes.c_void_p] * 3)
    function = entry(engine.get_function_address(_ENTRY))
    block = struct.Struct(f"{n_words}q")
    nowhere = (ctypes.c_int64 * 2)()  # for the result and errors that loops do not have

    def run(*words: int) -> None:
        if function(nowhere, nowhere, block.pack(*words)):
            raise SystemError("A compiled loop failed.")

    return run
