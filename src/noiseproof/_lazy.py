"""Names that are imported when first used, to keep `import noiseproof` light."""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module
from typing import Any


def lazily(package: str, homes: dict[str, str]) -> Callable[[str], Any]:
    """A module's `__getattr__` that finds each name in its home.

    Parameters
    ----------
    package : str
        The module's own name.
    homes : dict
        Module of each name, relative to the package (a dot more: beside it); a name
        that is its own home is a module.
    """

    def find(name: str) -> Any:
        if name not in homes:
            raise AttributeError(f"module {package!r} has no attribute {name!r}")
        home = import_module(f".{homes[name]}", package)
        return home if name == homes[name] else getattr(home, name)

    return find
