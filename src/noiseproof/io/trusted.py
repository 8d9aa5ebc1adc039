"""The types that a saved model may hold beside those that skops trusts by itself."""

from __future__ import annotations

from functools import cache
from typing import Any

_PARTS = (
    "noiseproof.evaluation.scorers.PerturbedScorer",
    "noiseproof.solvers.online.OnlineState",
    "noiseproof.structured.token_deletion.TokenDeletion",
    "noiseproof.tables.encoder.TableEncoder",
    "numpy.dtype",
    "sklearn.calibration._CalibratedClassifier",
    "sklearn.calibration._SigmoidCalibration",
    "sklearn.metrics._scorer._PassthroughScorer",
    "sklearn.metrics._scorer._Scorer",
    "sklearn.model_selection._split.KFold",
    "sklearn.model_selection._split.StratifiedKFold",
)


@cache
def trusted_types() -> frozenset[str]:
    """Full names of the members of our registries, of their parts, and of scores."""
    from sklearn.metrics import get_scorer, get_scorer_names

    from noiseproof.attacks import ATTACKS
    from noiseproof.estimators import ESTIMATORS
    from noiseproof.noise import NOISES
    from noiseproof.structured import PROBLEMS

    registries = (ESTIMATORS, NOISES, ATTACKS, PROBLEMS)
    members = [member for registry in registries for member in registry.values()]
    scores = [get_scorer(name)._score_func for name in get_scorer_names()]
    return frozenset(map(type_name, members + scores)) | frozenset(_PARTS)


def type_name(member: Any) -> str:
    """Module and name, as skops writes them."""
    return (
        member if isinstance(member, str) else f"{member.__module__}.{member.__name__}"
    )
