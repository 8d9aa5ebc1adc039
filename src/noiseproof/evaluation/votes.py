"""Certificates that a model which votes, as `PartitionEnsemble` does, can prove."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.preprocessing import (
    MaxAbsScaler,
    MinMaxScaler,
    PowerTransformer,
    QuantileTransformer,
    RobustScaler,
    StandardScaler,
)

from noiseproof._pipelines import transform, unwrap
from noiseproof.evaluation.linear import check_space

# what they make of a feature depends on no other, and a missing one stays missing
BY_FEATURE = (
    *(MaxAbsScaler, MinMaxScaler, PowerTransformer, QuantileTransformer),
    *(RobustScaler, StandardScaler),
)


def certified_votes(model: Any, X: Any, space: str, *, plain: bool) -> dict[str, Any]:
    """What the last step's `certify_votes` has proven, as `Certificates` names it."""
    if not plain:
        raise ValueError(
            "The certificates of votes hold for any change of features at a cost of 1 "
            "each; they take neither values nor an attack; groups are those of the "
            "ensemble."
        )
    check_space(space)
    steps, voters = unwrap(model)
    for _, step in steps:
        if space == "input" and not isinstance(step, BY_FEATURE):
            raise TypeError(
                f"The step {type(step).__name__} before the votes may mix features, so "
                "one of them could change several votes; use space='model' to count "
                "features behind it."
            )
    found = voters.certify_votes(transform(steps, X))._asdict()
    return found | {"exact": np.isinf(found["budget"])}
