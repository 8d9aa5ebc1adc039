"""Saving and loading of models."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable
from functools import cache
from pathlib import Path
from typing import Any
from zipfile import ZIP_DEFLATED

from noiseproof._version import __version__
from noiseproof.io.atomic import atomic_write
from noiseproof.io.container import FileFormatError, pack, unpack

_PARTS = (
    "noiseproof.evaluation.scorers.PerturbedScorer",
    "noiseproof._marginal.online.OnlineState",
    "noiseproof._invariant.structured.token_deletion.TokenDeletion",
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

    from noiseproof._invariant.structured import PROBLEMS
    from noiseproof.attacks import ATTACKS
    from noiseproof.conditionals import CONDITIONALS, PARTS
    from noiseproof.estimators import ESTIMATORS
    from noiseproof.noise import NOISES, Missing

    registries = (ESTIMATORS, NOISES, ATTACKS, PROBLEMS, CONDITIONALS)
    members = [member for registry in registries for member in registry.values()]
    members += [Missing, *PARTS]
    scores = [get_scorer(name)._score_func for name in get_scorer_names()]
    return frozenset(map(type_name, members + scores)) | frozenset(_PARTS)


def type_name(member: Any) -> str:
    """Module and name, as skops writes them."""
    return (
        member if isinstance(member, str) else f"{member.__module__}.{member.__name__}"
    )


PathLike = str | os.PathLike[str]


def save(
    model: Any,
    path: PathLike,
    *,
    notes: dict[str, Any] | None = None,
    trusted: Iterable[Any] = (),
) -> None:
    """Save a model so that `load` can read it without running code from the file.

    The file is written whole or not at all: a crash leaves the old one in place. It
    holds arrays and JSON, as skops writes them, the version of noiseproof and a
    checksum. Fitted attributes come back bit by bit.

    Parameters
    ----------
    model : estimator
        Any of ours, a scikit-learn pipeline or search around it, or a plain
        scikit-learn model; fitted or not. A noise or an attack can be saved as well.
    path : str or path
        The file to create or to replace, such as `model.npf`.
    notes : dict, default=None
        What `read_notes` shall tell later; anything that JSON can hold.
    trusted : list of types or of their full names, default=()
        Types beside our own and scikit-learn's that the model holds, and that `load`
        will be told to trust.

    Raises
    ------
    TypeError
        If the model holds what `load` would refuse, such as a function of one's own.

    Examples
    --------
    >>> import os, tempfile
    >>> import noiseproof
    >>> path = os.path.join(tempfile.mkdtemp(), "noise.npf")
    >>> noiseproof.save(noiseproof.noise.Dropout(0.25), path)
    >>> noiseproof.load(path)
    Dropout(rate=0.25)
    """
    sio = _skops()
    name = type(model).__name__
    try:
        payload = sio.dumps(model, compression=ZIP_DEFLATED)
        found = set(sio.get_untrusted_types(data=payload))
    except Exception as error:  # what a part of the model raises when it is asked
        raise TypeError(f"{name} cannot be saved: {_first_line(error)}") from error
    refused = found - _allowed(trusted)
    if refused:
        raise TypeError(
            f"{name} cannot be saved: it holds {_listed(refused)}, whose code a file "
            "does not carry; use types and functions of noiseproof or scikit-learn."
        )
    header = {"noiseproof": __version__, "notes": notes or {}}
    data = pack(header, payload)
    with atomic_write(path) as file:
        file.write(data)


def load(path: PathLike, *, trusted: Iterable[Any] = ()) -> Any:
    """Load what `save` has written; no code from the file is run.

    Parameters
    ----------
    path : str or path
        The file.
    trusted : list of types or of their full names, default=()
        Types beside our own and scikit-learn's that the file may hold. Name only
        types whose code is harmless whatever attributes a stranger gives them.

    Returns
    -------
    model : estimator
        As it was saved.

    Raises
    ------
    FileFormatError
        A `ValueError`: the file is no saved model, is damaged, comes from a newer
        version or holds types that are not trusted.
    """
    sio = _skops()
    name = os.fspath(path)
    _, payload = unpack(Path(path).read_bytes(), name)
    found = set(_guarded(name, sio.get_untrusted_types, data=payload))
    refused = found - _allowed(trusted)
    if refused:
        raise FileFormatError(
            f"{name} was not loaded: it holds {_listed(refused)}, which load does not "
            "trust."
        )
    return _guarded(name, sio.loads, payload, trusted=sorted(found))


def read_notes(path: PathLike) -> dict[str, Any]:
    """What was noted when the file was saved, without loading the model.

    Parameters
    ----------
    path : str or path
        The file.

    Returns
    -------
    notes : dict
        As given to `save`.
    """
    header, _ = unpack(Path(path).read_bytes(), os.fspath(path))
    notes = header.get("notes")
    return notes if isinstance(notes, dict) else {}


def _skops() -> Any:
    # imported at the first use: it reads all of scikit-learn, for a second
    try:
        import skops.io
    except ImportError as error:
        raise ImportError(
            "Saving and loading models needs skops: pip install 'noiseproof[io]'."
        ) from error
    return skops.io


def _allowed(trusted: Iterable[Any]) -> frozenset[str]:
    return trusted_types() | {type_name(member) for member in trusted}


def _guarded(name: str, read: Callable[..., Any], *args: Any, **options: Any) -> Any:
    """What a reader of skops answers; a forged file can make it fail in any way."""
    try:
        return read(*args, **options)
    except Exception as error:
        raise FileFormatError(
            f"{name} holds no model that can be read: {_first_line(error)}"
        ) from error


def _listed(names: Iterable[str]) -> str:
    names = sorted(names)
    more = f" and {len(names) - 3} more" if len(names) > 3 else ""
    return ", ".join(names[:3]) + more


def _first_line(error: BaseException) -> str:
    text = str(error).strip().splitlines()
    return text[0] if text else type(error).__name__
