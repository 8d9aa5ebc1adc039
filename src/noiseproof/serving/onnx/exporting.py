"""Export of fitted models to ONNX files, which are tried before they are written."""

from __future__ import annotations

from importlib.util import find_spec
from typing import Any

import numpy as np
from sklearn.base import is_classifier
from sklearn.utils.validation import check_is_fitted

from noiseproof._atomic import PathLike, atomic_write, check_output
from noiseproof._conformal import Calibration
from noiseproof._contents import kept_rows, parts, replaced
from noiseproof._docs import shared_docs
from noiseproof._version import __version__
from noiseproof.estimators import shares

_NEEDED = ("onnx", "skl2onnx", "onnxruntime")
_APART = 1e-4  # of answers, in units of the largest
_FEW, _LEAF = 0.02, 0.1  # share of rows at a threshold of a tree, and how far apart
_LARGEST = 2**31 - 1  # bytes of a message of protobuf
_ABOUT = {"missing_values": 'NaN in numbers, "" in text'}


@shared_docs
def to_onnx(model: Any, path: PathLike, *, dtype: str = "float32") -> None:
    """Write a model to an ONNX file, with its averages over missing values.

    The graph takes rows with missing values and answers as the model does in Python:
    finding the donors of a row, correcting them, drawing from a Gaussian and averaging
    all happen inside of it, so any ONNX runtime can serve it. Rows without missing
    values get what the model inside predicts.

    A model that was fitted on an array takes one input `X` of shape (n, n_features), in
    which NaN marks a missing value. A model that was fitted on a data frame takes one
    input of shape (n, 1) for each column, by its name: numbers as float64 with NaN for
    missing values, text with "" for missing values. Classifiers give `label` and
    `probabilities`, or `scores` if the model has no probabilities. Regressors give
    `prediction`. If a column has one of these names, the output is `output_label` and
    so on.

    Before the file is written, onnxruntime answers some rows with the graph, and they
    are compared with what the model says.

    Parameters
    ----------
    model : estimator
        A fitted model: `AverageOverMissing` with `Donors` or `JointGaussian`, around
        any model that skl2onnx can convert; a linear model of this package; a pipeline
        or blend of these, as `recommend` finds it; a model in a `FrozenEstimator` or a
        search.
    path : str or path
        The file to create or to replace, such as `model.onnx`. It is written whole or
        not at all. With `Donors`, support vectors or nearest neighbours it contains
        training rows.
    dtype : {"float32", "float64"}, default="float32"
        The type of `X`. The graph answers as the model does for an array of this type.

    Raises
    ------
    TypeError, ValueError
        If the model cannot be converted, or if the graph would answer differently.

    {See Also: save, as_sklearn, AverageOverMissing}

    Examples
    --------
    >>> import os, tempfile
    >>> import numpy as np
    >>> import onnxruntime
    >>> from sklearn.datasets import load_wine
    >>> from sklearn.ensemble import HistGradientBoostingClassifier
    >>> from noiseproof import AverageOverMissing, to_onnx
    >>> X, y = load_wine(return_X_y=True)
    >>> trees = HistGradientBoostingClassifier(max_iter=20)
    >>> model = AverageOverMissing(trees, "donors").fit(X, y)
    >>> path = os.path.join(tempfile.mkdtemp(), "wine.onnx")
    >>> to_onnx(model, path)
    >>> session = onnxruntime.InferenceSession(path)
    >>> row = X[:1].astype(np.float32)
    >>> row[0, 6:] = np.nan
    >>> label, probabilities = session.run(None, {"X": row})
    >>> bool(np.allclose(probabilities, model.predict_proba(row), atol=1e-5))
    True
    """
    _check_needs()
    if dtype not in ("float32", "float64"):
        raise ValueError(f"dtype must be 'float32' or 'float64'; got {dtype!r}.")
    check_output(path)
    from noiseproof.serving.onnx.inputs import opened

    model = opened(model)
    check_is_fitted(model)
    if isinstance(getattr(model, "classes_", None), list):
        raise TypeError(
            f"{type(model).__name__} predicts several targets at once, which to_onnx "
            "cannot write; train one model for each target."
        )
    content = _content(model, np.dtype(dtype))
    with atomic_write(path) as file:
        file.write(content)


def _check_needs() -> None:
    missing = [name for name in _NEEDED if find_spec(name) is None]
    if missing:
        raise ImportError(
            f"to_onnx needs {' and '.join(missing)}: pip install 'noiseproof[onnx]'."
        )


def _content(model: Any, dtype: Any) -> bytes:
    """The bytes of a graph that answers as the model does."""
    import onnx

    from noiseproof.serving.onnx.foreign import session_of
    from noiseproof.serving.onnx.graph import Graph
    from noiseproof.serving.onnx.inputs import declared
    from noiseproof.serving.onnx.models import method_of, translate
    from noiseproof.serving.onnx.trials import fed, trial

    graph, method = Graph(), method_of(model)
    rows = declared(graph, model, dtype)
    answer = translate(model, rows, method)
    table, wanted = trial(model, rows, method)
    proto = graph.model(_outputs(model, answer, method, wanted, rows))
    proto.producer_name, proto.producer_version = "noiseproof", __version__
    about = {"contains_training_rows": "yes" if _keeps_rows(model) else "no"}
    onnx.helper.set_model_props(proto, _ABOUT | about)
    if proto.ByteSize() > _LARGEST:
        raise ValueError(
            "The ONNX file would exceed 2 GB, the limit of its format; use a smaller "
            "max_rows of Donors, or a smaller model."
        )
    onnx.checker.check_model(proto)
    content: bytes = proto.SerializeToString(deterministic=True)
    found = session_of(content).run(None, fed(table, rows))[-1]
    if method == "decision_function":  # averages of scores far from zero are rounded
        found, wanted = shares(found), shares(wanted)
    few = _FEW if b"TreeEnsemble" in content else 0.0
    _check_answers(found, wanted, few, type(model).__name__)
    return content


def _keeps_rows(model: Any) -> bool:
    """Whether training rows are in the graph, which has no prediction intervals."""
    calibrations = (p for p in parts(model) if isinstance(p, Calibration))
    return kept_rows(replaced(model, {id(p): None for p in calibrations})) is not None


def _outputs(
    model: Any, answer: Any, method: str, wanted: Any, rows: Any
) -> dict[str, Any]:
    """Names, tensors and shapes of what the graph gives."""
    values, shape = answer.values.cast(rows.dtype), [None, *wanted.shape[1:]]
    if wanted.ndim == 1:
        values = values.squeeze(1)

    def free(name: str) -> str:
        return f"output_{name}" if name in (rows.names or ()) else name

    if not is_classifier(model):
        return {free("prediction"): (values, shape)}
    classes = np.asarray(model.classes_)
    if np.can_cast(classes.dtype, np.int64):
        classes = classes.astype(np.int64)
    label = values.graph.constant(classes).take(answer.places)
    name = "probabilities" if method == "predict_proba" else "scores"
    return {free("label"): (label, [None]), free(name): (values, shape)}


def _check_answers(found: Any, wanted: Any, few: float, name: str) -> None:
    """Refuse a graph that answers differently from the model.

    A few rows may lie at a threshold of a tree, and fall on its other side.
    """
    unit = max(1.0, float(np.abs(wanted).max()))
    apart = np.abs(found - wanted).reshape(len(wanted), -1).max(axis=1) / unit
    allowed = np.quantile(apart, 1 - few, method="lower") <= _APART
    if not (allowed and apart.max() <= (_LEAF if few else _APART)):
        raise ValueError(
            f"The graph of {name} answers up to {np.max(apart):.2g} apart from the "
            "model, so it was not written: skl2onnx converts a part of it differently, "
            "or in single precision, where scaled features or dtype='float64' help."
        )
