"""Designs: how the data matrix is stored, and nothing else."""

from __future__ import annotations

from typing import Any

import scipy.sparse as sp

from noiseproof.design.base import Array, Design, EntryBlock, RowCurvature
from noiseproof.design.csr import CSRDesign
from noiseproof.design.dense import DenseDesign

DESIGNS: dict[str, type[DenseDesign | CSRDesign]] = {
    "dense": DenseDesign,
    "csr": CSRDesign,
}


def as_design(X: Any, has_missing: bool = False) -> Design:
    """The design that suits the storage of `X`: a NumPy array or a CSR matrix."""
    return DESIGNS["csr" if sp.issparse(X) else "dense"](X, has_missing)


__all__ = ["DESIGNS", "Array", "Design", "EntryBlock", "RowCurvature", "as_design"]
