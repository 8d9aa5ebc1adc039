"""Served models in MLflow, logged with their contract and loaded without running code.

MLflow keeps the `.npf` file as it is, and calls `_load_pyfunc` of this module to load
it.
"""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from noiseproof._atomic import PathLike
from noiseproof._docs import shared_docs
from noiseproof._version import __version__
from noiseproof.io.model import load, save
from noiseproof.serving import RowsError, Served, answer_columns

_FILE = "model.npf"


@shared_docs
def save_mlflow(served: Served, path: PathLike, **options: Any) -> None:
    """Save a served model as a folder that MLflow can load and serve.

    The model has MLflow's `python_function` flavour. Every column in its signature is
    optional and may have any type, because `Served` reads whatever arrives. The JSON
    Schema of the columns is in the metadata of the model. Predictions are a data frame
    with a column `prediction` and, for classifiers, one column of probabilities for
    each class. With the parameter `interval` there are columns `lower` and `upper`. The
    parameter `strict` refuses rows that differ from the training table.

    Parameters
    ----------
    served : Served
        The model, with a summary of its training table.
    path : str or path
        The folder to create.
    **options : dict
        Passed on to `mlflow.pyfunc.save_model`, such as `pip_requirements`, which are
        noiseproof alone by default.

    {See Also: Served, save}

    Examples
    --------
    >>> import noiseproof
    >>> def publish(model, X_train, folder):  # needs mlflow
    ...     served = noiseproof.serving.Served(model, X_train)
    ...     noiseproof.io.save_mlflow(served, folder)
    """
    with _described(served) as described:
        _mlflow().pyfunc.save_model(path, **(described | options))


@shared_docs
def log_mlflow(served: Served, name: str = "model", **options: Any) -> Any:
    """Log a served model to the active run of MLflow.

    This is `save_mlflow` for MLflow's tracking server.

    Parameters
    ----------
    served : Served
        The model, with a summary of its training table.
    name : str, default="model"
        Name of the model in the run.
    **options : dict
        Passed on to `mlflow.pyfunc.log_model`, such as `registered_model_name`.

    Returns
    -------
    info : mlflow.models.model.ModelInfo
        MLflow's description of the logged model; `info.model_uri` is its address.

    {See Also: Served, save}

    Examples
    --------
    >>> import noiseproof
    >>> def publish(model, X_train):  # needs mlflow
    ...     served = noiseproof.serving.Served(model, X_train)
    ...     return noiseproof.io.log_mlflow(served, registered_model_name="wards")
    """
    with _described(served) as described:
        return _mlflow().pyfunc.log_model(name=name, **(described | options))


@contextmanager
def _described(served: Served) -> Iterator[dict[str, Any]]:
    """Give the arguments of MLflow's functions, with the model in a temporary file."""
    if not isinstance(served, Served):
        raise TypeError(
            f"MLflow needs a served model, not a {type(served).__name__}: pass "
            "noiseproof.serving.Served(model, training_table)."
        )
    if served.form == "sparse":
        raise ValueError(
            "The model was trained on a sparse matrix, whose columns have no names for "
            "MLflow's signature; log a model that was trained on a table with names."
        )
    _mlflow()  # what is lacking is said first
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / _FILE
        save(served, file)
        yield {
            "loader_module": __name__,
            "data_path": str(file),
            "signature": _signature(served),
            "metadata": {"json_schema": served.json_schema()},
            "pip_requirements": [f"noiseproof[cli]=={__version__}"],
        }


def _signature(served: Served) -> Any:
    from mlflow.models import ModelSignature
    from mlflow.types.schema import AnyType, ColSpec, ParamSchema, ParamSpec, Schema

    # typed columns would make MLflow refuse a cell that Served reads as missing
    columns = [ColSpec(AnyType(), name, required=False) for name in served.names]
    options = [
        ParamSpec("interval", "double", None),
        ParamSpec("strict", "boolean", False),
    ]
    return ModelSignature(inputs=Schema(columns), params=ParamSchema(options))


def _load_pyfunc(path: str) -> _Answering:
    """Load the model; MLflow calls this function by its name."""
    return _Answering(load(path))


class _Answering:
    """A served model with the `predict` that MLflow calls."""

    def __init__(self, served: Served):
        self.served = served

    def predict(self, rows: Any, params: dict[str, Any] | None = None) -> Any:
        """Predictions as a data frame, with a row for each row."""
        import pandas as pd
        from mlflow.exceptions import MlflowException

        options = {k: v for k, v in (params or {}).items() if v is not None}
        try:
            arrived = self.served.read(rows, extra_removed=True)
            return pd.DataFrame(answer_columns(self.served, arrived, **options))
        except RowsError as error:  # MLflow's server hides the words of other errors
            raise MlflowException.invalid_parameter_value(str(error)) from error


def _mlflow() -> Any:
    try:
        import mlflow.pyfunc
    except ImportError as error:
        raise ImportError(
            "Models for MLflow need mlflow: pip install 'noiseproof[mlflow]'."
        ) from error
    return mlflow
