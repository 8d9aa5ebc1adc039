"""Loops as machine code in files: compiled by Numba, loaded by LLVM alone.

To import Numba, and to make it ready for the loops of its own cache, takes every
process half a second, more than many a fit; LLVM alone takes a tenth of that. So the
loops that fits of sparse data need are kept as object files, and only a process that
has to compile one imports Numba.

A file lies beside the source, or else in the user's cache folder. Its name depends on
all that its content does: the sources, the processor, the versions, the kinds of
arguments.
"""

from __future__ import annotations

import ctypes
import hashlib
import os
import struct
import threading
from collections.abc import Callable
from functools import cache, cached_property
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np

from noiseproof._atomic import atomic_write

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
                    (argument.dtype, argument.ndim, argument.flags.c_contiguous)
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
        described = f"{self._sources} {_computer()} {called}"
        digest = hashlib.sha256(described.encode()).hexdigest()
        name = f"{called[0]}-{digest[:24]}.o"
        # without sources to compare nobody could tell whether a file is up to date
        files = [folder / name for folder in _folders()] if self._sources else []
        for file in files:
            if code := _read(file):
                return code
        code = self._compile(*called)
        any(_write(file, code) for file in files)  # the first that can be written
        return code

    @cached_property
    def _sources(self) -> str:
        """A digest of the loops and what compiles them; empty where only .pyc are."""
        here = Path(__file__).parent
        own = here.parents[1].joinpath(*self._module.split(".")).with_suffix(".py")
        names = ("kernels", "lanes", "compiling", "machine_code")
        digest = hashlib.sha256()
        try:
            for file in (own, *(here / f"{name}.py" for name in names)):
                digest.update(file.read_bytes())
        except OSError:
            return ""
        return digest.hexdigest()

    def _compile(self, name: str, *kinds: Any) -> bytes:
        from noiseproof._rows.compiling import object_code

        loop = getattr(import_module(self._module), name)
        return object_code(loop, kinds, _machine(), _ENTRY)


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
def _computer() -> str:
    """The processor, and what else code depends on.

    A version of llvmlite goes with one of Numba, and loops know the size of the header
    of Python's objects.
    """
    import llvmlite

    llvm = _llvm()
    features = llvm.get_host_cpu_features().flatten()
    processor = f"{llvm.get_process_triple()} {llvm.get_host_cpu_name()} {features}"
    options = sorted(item for item in os.environ.items() if item[0][:6] == "NUMBA_")
    return f"{processor} {llvmlite.__version__} {object.__basicsize__} {options}"


def _folders() -> list[Path]:
    """Folders for files, the preferred one first."""
    given = os.environ.get("NUMBA_CACHE_DIR")
    if given:
        return [Path(given)]
    home = os.environ.get("XDG_CACHE_HOME") or os.environ.get("LOCALAPPDATA")
    folders = [
        Path(__file__).parent / "__pycache__",
        Path(home or os.path.expanduser("~/.cache")) / "noiseproof",
    ]
    # a user without a home has none, rather than one below any working directory
    return [folder for folder in folders if folder.is_absolute()]


def _read(file: Path) -> bytes | None:
    """The code in a file, or None if there is none or it is damaged."""
    try:
        content = file.read_bytes()
    except OSError:
        return None
    digest, code = content[:_DIGEST], content[_DIGEST:]
    return code if hashlib.sha256(code).digest() == digest else None


def _write(file: Path, code: bytes) -> bool:
    """Whether the code could be written to a file."""
    try:
        file.parent.mkdir(parents=True, exist_ok=True)
        with atomic_write(file) as opened:
            opened.write(hashlib.sha256(code).digest() + code)
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
    nowhere = (ctypes.c_int64 * 2)()  # a result and errors, which loops do not have

    def run(*words: int) -> None:
        if function(nowhere, nowhere, block.pack(*words)):
            raise SystemError("A compiled loop failed.")

    return run
