"""The stand-in for such an object in a file, and how the two replace each other."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

from noiseproof._contents import parts, replaced
from noiseproof.io.carried import (
    catboost_json,
    lightgbm_text,
    neighbours,
    xgboost_json,
)

State = dict[str, Any]


class Format(NamedTuple):
    """How objects of a class are converted to plain data, and built from it again."""

    write: Callable[[Any], State]
    read: Callable[[str, State], Any]


# by package and class; subclasses have code of their own and are not carried
FORMATS = {
    f"{package}.{name}": Format(module.write, module.read)
    for package, module in {
        "lightgbm": lightgbm_text,
        "xgboost": xgboost_json,
        "catboost": catboost_json,
        "sklearn": neighbours,
    }.items()
    for name in module.NAMES
}


class Carrier:
    """Plain data in the place of an object."""

    def __init__(self, kind: str, state: State):
        self.kind = kind
        self.state = state

    def restored(self) -> Any:
        """The object, if it is of a known kind and what is known about it is sound."""
        if self.kind not in FORMATS:
            raise ValueError(
                f"{self.kind} is not a kind of object that a file may contain."
            )
        package, _, name = self.kind.partition(".")
        try:
            return FORMATS[self.kind].read(name, self.state)
        except ImportError as error:
            raise ImportError(f"{name} needs {package}: install it.") from error
        except (KeyError, TypeError, AttributeError, IndexError) as error:
            raise ValueError(f"its {name} is not described as it should be.") from error


def carry(model: Any) -> Any:
    """The model with carriers in place of such objects; itself if it has none."""
    found = {
        id(part): Carrier(kind, FORMATS[kind].write(part))
        for part in parts(model)
        if (kind := _kind(type(part))) in FORMATS
    }
    return replaced(model, found)


def restore(model: Any) -> Any:
    """The model with objects in place of carriers; itself if it has none."""
    found = {
        id(part): part.restored() for part in parts(model) if type(part) is Carrier
    }
    return replaced(model, found)


def _kind(cls: type) -> str:
    return f"{cls.__module__.partition('.')[0]}.{cls.__qualname__}"
