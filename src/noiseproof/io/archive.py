"""Checks of skops archives from untrusted sources, before anything is built from them.

skops makes sure that only trusted types are built. It does not make sure that reading
ends, that a small file stays small in memory, or that the nodes of a compiled tree are
valid.
"""

from __future__ import annotations

import io
import json
from typing import Any
from zipfile import ZipFile

import numpy as np

from noiseproof._private import SCHEMA, SkopsNode, grown_nodes, grown_tree
from noiseproof._unpacking import check_array, check_unpacked
from noiseproof.io.compiled import depth_of, fits

_DESCRIPTION = 2**23  # bytes that a description may unpack to in any case
_DEPTH = 200  # levels of JSON; each object has two
_BRACKET = 20  # bytes for each bracket of the description; skops needs more than 50


def check_archive(payload: bytes) -> None:
    """Refuse an archive that unpacks to far too many bytes, parts or levels."""
    packed = len(payload)
    with ZipFile(io.BytesIO(payload)) as archive:
        sizes = {info.filename: info.file_size for info in archive.infolist()}
        total = sizes.get(SCHEMA, 0)
        check_unpacked(total, packed, "description", _DESCRIPTION)
        check_unpacked(sum(info.file_size for info in archive.infolist()), packed)
        text = archive.read(SCHEMA)
        if text.count(b"{") + text.count(b"[") > 1000 + len(text) / _BRACKET:
            raise ValueError("its description has too many parts for its length.")
        description = _Description(json.loads(text))
        del text
        for kind, name in description.files:  # a file counts as often as it is read
            total += sizes.get(name, 0)
            check_unpacked(total, packed)
            if kind == "dense":
                check_array(archive, name)
            elif kind == "sparse":
                with ZipFile(io.BytesIO(archive.read(name))) as parts:
                    total += sum(info.file_size for info in parts.infolist())
                check_unpacked(total, packed)
        for tree in description.trees:
            _check_grown(archive, tree)


def _check_grown(archive: ZipFile, node: Any) -> None:
    """Refuse a tree of scikit-learn with invalid nodes, before it is built.

    Its compiled part uses sizes, children and features without checking them.
    """
    try:
        numbers, files = grown_tree(node)
        classes, nodes, values = (
            np.load(io.BytesIO(archive.read(name)), allow_pickle=False)
            for name in files
        )
    except (KeyError, TypeError, ValueError, IndexError) as error:
        raise ValueError("a tree is not described as scikit-learn's are.") from error
    d, outputs, count, depth = numbers
    good = (
        all(type(n) is int and n >= 0 for n in numbers)
        and fits(classes, (outputs,), np.intp)
        and outputs > 0
        and classes.min() > 0
        and nodes.dtype == grown_nodes()
        and nodes.shape == (count,)
        and fits(values, (count, outputs, int(classes.max())), np.float64)
        and depth_of(nodes, d) == depth
    )
    if not good:
        raise ValueError("the nodes of a tree do not fit together.")


class _Description:
    """The tree of objects that skops would build, walked through once.

    skops writes an object in full wherever it occurs. A forged file, in which one
    occurrence is shorter than another, could make it walk in circles, or along an
    exponential number of paths.
    """

    def __init__(self, tree: Any):
        self.files: list[tuple[str | None, str]] = []
        self.trees: list[Any] = []
        self._shapes: dict[Any, int] = {}
        self._known: dict[Any, int] = {}
        self._shape(tree, 0)

    def _shape(self, node: Any, depth: int) -> int:
        """A number for the node and everything below it, equal for equal nodes."""
        if depth > _DEPTH:
            raise ValueError(f"its description is more than {_DEPTH} levels deep.")
        if isinstance(node, dict):
            return self._shape_of_object(node, SkopsNode.of(node), depth)
        key: Any = node
        if isinstance(node, list):
            key = (list, *(self._shape(part, depth + 1) for part in node))
        return self._shapes.setdefault(key, len(self._shapes))

    def _shape_of_object(self, node: Any, read: SkopsNode, depth: int) -> int:
        below = read.below.items()
        key = (dict, *((name, self._shape(part, depth + 1)) for name, part in below))
        if read.kind == "tree":
            self.trees.append(node)
        if read.file is not None:
            self.files.append((read.kind, read.file))
        shape = self._shapes.setdefault(key, len(self._shapes))
        if read.id and self._known.setdefault(read.id, shape) != shape:
            raise ValueError("its description gives one object twice, in two ways.")
        return shape
