"""All uses of private names of other libraries, in one place.

Their authors promise none of this. When a new version of scikit-learn, skops or Dask
breaks something, fix it in this file; a test checks that no other module uses private
names of other libraries.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from io import BytesIO
from types import ModuleType
from typing import Any, NamedTuple
from zipfile import ZIP_STORED, ZipFile

from sklearn.base import BaseEstimator

# Interval and similar classes describe legal parameters; the rest has no public
# counterpart.
from sklearn.utils import _safe_indexing as _safe_indexing
from sklearn.utils._param_validation import HasMethods as HasMethods
from sklearn.utils._param_validation import Interval as Interval
from sklearn.utils._param_validation import StrOptions as StrOptions
from sklearn.utils._param_validation import (
    validate_parameter_constraints as validate_parameter_constraints,
)
from sklearn.utils.validation import _check_feature_names_in as _check_feature_names_in
from sklearn.utils.validation import _check_sample_weight as _check_sample_weight

try:
    from sklearn.callback import CallbackSupportMixin as CallbackSupportMixin
    from sklearn.callback import with_callbacks as with_callbacks

    WRAPPERS = 1  # stack frames that `with_callbacks` adds to a method
except ImportError:  # scikit-learn before 1.9
    WRAPPERS = 0

    class CallbackSupportMixin:  # type: ignore[no-redef]
        """Replace the class of the same name, which came with scikit-learn 1.9."""

    def with_callbacks(method: Callable[..., Any]) -> Callable[..., Any]:
        """Return the method unchanged."""
        return method


# scikit-learn


# raises an error for parameters that violate `_parameter_constraints`
check_parameters = BaseEstimator._validate_params

CALLBACKS = "_skl_callbacks"  # attribute of an estimator that has some


def callback_context(estimator: Any) -> Any:
    """Return the object that reports a fit to the callbacks of an estimator."""
    return estimator._init_callback_context(max_subtasks=None)


def chosen_columns(transformer: Any, name: str) -> list[int]:
    """Return the indices of the columns of one part of a fitted ColumnTransformer."""
    return list(transformer._transformer_to_input_indices[name])


def keep_loss(regressor: Any) -> None:
    """Set the private attribute that `fit` of PoissonRegressor would set."""
    regressor._base_loss = regressor._get_loss()


def metric_functions() -> list[Any]:
    """Return the functions behind the named scorers."""
    from sklearn.metrics import get_scorer, get_scorer_names

    return [get_scorer(name)._score_func for name in get_scorer_names()]


NEIGHBOUR_ROWS = "_fit_X"  # attribute with the training rows of nearest neighbours
CLUSTERED_ROWS = "_raw_data"  # attribute with the training rows of HDBSCAN


class NeighboursState(NamedTuple):
    """The private state of scikit-learn's nearest neighbours: rows and targets."""

    rows: Any
    targets: Any

    @classmethod
    def of(cls, state: Mapping[str, Any]) -> NeighboursState | None:
        """Read it from the attributes of a fitted model; None for other models."""
        rows = state.get(NEIGHBOUR_ROWS)
        return None if rows is None else cls(rows, state.get("_y"))


def without_search_tree(model: Any) -> dict[str, Any]:
    """Return the attributes of nearest neighbours without the compiled search tree."""
    return {name: x for name, x in vars(model).items() if name != "_tree"}


def grow_search_tree(model: Any) -> None:
    """Build the search tree of fitted nearest neighbours, as `fit` does."""
    from sklearn.neighbors import BallTree, KDTree

    method = vars(model).get("_fit_method")
    if method is None:  # not fitted
        return
    if not isinstance(model.effective_metric_, str):
        raise TypeError("the metric must have a name")
    kind = {"kd_tree": KDTree, "ball_tree": BallTree}.get(method)
    model._tree = kind and kind(
        getattr(model, NEIGHBOUR_ROWS),
        model.leaf_size,
        metric=model.effective_metric_,
        **model.effective_metric_params_,
    )


class LibsvmState(NamedTuple):
    """The state that compiled code of SVC, NuSVC, SVR, NuSVR and OneClassSVM reads."""

    n_support: Any
    intercept: Any
    dual_coef: Any
    prob_a: Any
    prob_b: Any

    @classmethod
    def of(cls, state: Mapping[str, Any]) -> LibsvmState | None:
        """Read it from the attributes of a fitted model; None for other models."""
        names = ("_n_support", "_intercept_", "_dual_coef_", "_probA", "_probB")
        return cls(*map(state.get, names)) if names[0] in state else None


def kernel_width(machine: Any) -> float:
    """Return gamma of the kernel of a fitted SVC, NuSVC, SVR or NuSVR, as a number."""
    return float(machine._gamma)


class BoostingState(NamedTuple):
    """The private state of HistGradientBoosting that determines its predictions."""

    predictors: Any
    baseline: Any
    bin_mapper: Any
    preprocessor: Any
    in_fit: Any

    @classmethod
    def of(cls, state: Mapping[str, Any]) -> BoostingState | None:
        """Read it from the attributes of a fitted model; None for other models."""
        names = (
            *("_predictors", "_baseline_prediction", "_bin_mapper"),
            *("_preprocessor", "_in_fit"),
        )
        return cls(*map(state.get, names)) if names[0] in state else None


def columns_of_a_tree(forest: Any) -> Any:
    """Return how many columns each tree of an IsolationForest uses."""
    return vars(forest).get("_max_features")


def is_grown(tree: Any) -> bool:
    """Return whether an object is the compiled part of a single tree."""
    return type(tree).__module__ == "sklearn.tree._tree"


def grown_nodes() -> Any:
    """Return the dtype of the nodes of single trees and of forests."""
    from sklearn.tree._tree import NODE_DTYPE

    return NODE_DTYPE


def boosted_nodes() -> Any:
    """Return the dtype of the nodes of HistGradientBoosting's trees."""
    from sklearn.ensemble._hist_gradient_boosting.common import PREDICTOR_RECORD_DTYPE

    return PREDICTOR_RECORD_DTYPE


# parts of fitted models of scikit-learn, none of which runs code from a file
HARMLESS_PARTS = frozenset({
    "numpy.dtype",
    "scipy.sparse._csc.csc_array",
    "scipy.sparse._csc.csc_matrix",
    "scipy.sparse._csr.csr_array",
    "scipy.sparse._csr.csr_matrix",
    "sklearn._loss.loss.HalfTweedieLoss",
    "sklearn._loss.loss.HalfTweedieLossIdentity",
    "sklearn.calibration._CalibratedClassifier",
    "sklearn.calibration._SigmoidCalibration",
    "sklearn.compose._column_transformer._RemainderColsList",  # until 1.8
    "sklearn.compose._column_transformer.make_column_selector",
    "sklearn.ensemble._hist_gradient_boosting.predictor.TreePredictor",
    *(f"sklearn.feature_selection._univariate_selection.{score}" for score in (
        "chi2", "f_classif", "f_regression", "r_regression",
    )),
    "sklearn.feature_selection._mutual_info.mutual_info_classif",
    "sklearn.feature_selection._mutual_info.mutual_info_regression",
    "sklearn.gaussian_process._gpc._BinaryGaussianProcessClassifierLaplace",
    *(f"sklearn.gaussian_process.kernels.{kernel}" for kernel in (
        "CompoundKernel", "ConstantKernel", "DotProduct", "Exponentiation",
        "ExpSineSquared", "Matern", "PairwiseKernel", "Product", "RBF",
        "RationalQuadratic", "Sum", "WhiteKernel",
    )),
    "sklearn.impute._iterative.IterativeImputer",  # experimental: unknown to skops
    "sklearn.impute._iterative._ImputerTriplet",
    "sklearn.metrics._scorer._CurveScorer",
    "sklearn.metrics._scorer._PassthroughScorer",
    "sklearn.metrics._scorer._Scorer",
    "sklearn.model_selection._split.KFold",
    "sklearn.model_selection._split.StratifiedKFold",
    "sklearn.multiclass._ConstantPredictor",
    "sklearn.neural_network._stochastic_optimizers.AdamOptimizer",
    "sklearn.neural_network._stochastic_optimizers.SGDOptimizer",
    "sklearn.utils._bunch.Bunch",
    "sklearn.utils._metadata_requests.MetadataRequest",
    "sklearn.utils._metadata_requests.MethodMetadataRequest",
    "sklearn.tree._tree.Tree",
})  # fmt: skip


@contextmanager
def without_array_libraries() -> Iterator[None]:
    """Keep scikit-learn's packages from importing torch, CuPy or Dask.

    Listing all estimators, as skops does on import, imports every package of
    scikit-learn. Some of them adapt these libraries and import them, which takes
    seconds if they are installed. In this context, empty modules replace those
    packages.
    """
    adapters = "sklearn.externals.array_api_compat."
    names = {adapters + library for library in ("torch", "cupy", "dask")}
    empty = {name: ModuleType(name) for name in names - set(sys.modules)}
    sys.modules.update(empty)
    try:
        yield
    finally:
        for name in empty:
            del sys.modules[name]


# skops


SCHEMA = "schema.json"  # the file of an archive that describes its objects


class _Archive(ZipFile):
    """An archive whose names are found at once: skops looks for each file's name."""

    def namelist(self) -> Any:
        return self.NameToInfo


def skops_archive(model: Any, compression: int = ZIP_STORED) -> bytes:
    """Write a model as `skops.io.dumps` does, but a forest 5 times faster.

    skops searches a list of all files for each array, and indents the description,
    which Python's fast encoder of JSON cannot do.
    """
    import skops
    from skops.io._utils import SaveContext, get_state

    buffer = BytesIO()
    with _Archive(buffer, "w", compression) as archive:
        context = SaveContext(archive)
        state = get_state(model, context)
        context.clear_memo()
        state |= {"protocol": context.protocol, "_skops_version": skops.__version__}
        archive.writestr(SCHEMA, json.dumps(state))
    return buffer.getvalue()


class SkopsNode(NamedTuple):
    """A node of skops's schema, which describes one object.

    `id` is the same in all descriptions of one object; `file` holds an array of kind
    "dense" or "sparse"; a node of kind "tree" is a tree of scikit-learn.
    """

    kind: str | None
    id: Any
    file: Any
    below: dict[str, Any]

    @classmethod
    def of(cls, node: dict[str, Any]) -> SkopsNode:
        """Read a node; two objects are equal if their `below` is equal."""
        kinds = {"NdArrayNode": "dense", "SparseMatrixNode": "sparse"}
        kinds |= {"TreeNode": "tree"}
        own = ("__id__", "file")
        below = {name: part for name, part in node.items() if name not in own}
        kind = node.get("__loader__")
        return cls(
            kinds.get(kind) if isinstance(kind, str) else None,
            node.get("__id__"),
            node.get("file"),
            below,
        )


def grown_tree(node: Any) -> tuple[list[Any], list[str]]:
    """Return four numbers of a node of kind "tree", and the files of its arrays.

    The numbers are those of features, outputs and nodes, and the depth. The files hold
    the number of classes of each output, the nodes and their values.
    """
    features, classes, outputs = node["__reduce__"]["args"]["content"]
    state = node["content"]["content"]
    numbers = (features, outputs, state["node_count"], state["max_depth"])
    arrays = (classes, state["nodes"], state["values"])
    return [json.loads(n["content"]) for n in numbers], [a["file"] for a in arrays]


# LightGBM and CatBoost, which cannot restore fitted models from text by public means


_LIGHTGBM = ("_objective", "_best_iteration", "_fitted_with_feature_names")


def lightgbm_facts(model: Any) -> dict[str, Any]:
    """Return attributes of a fitted LightGBM model that its text does not contain."""
    return {name: x for name, x in vars(model).items() if name in _LIGHTGBM}


def finish_lightgbm(
    model: Any, booster: Any, facts: dict[str, Any], classes: Any
) -> None:
    """Give a LightGBM model a booster, and mark it as fitted."""
    from sklearn.preprocessing import LabelEncoder

    for name in set(_LIGHTGBM) & facts.keys():
        if not isinstance(facts[name], str | int | None):
            raise TypeError(f"{name} is of another type")
        setattr(model, name, facts[name])
    booster.best_iteration = model._best_iteration
    model._Booster, model.fitted_ = booster, True
    model._n_features = model._n_features_in = booster.num_feature()
    if classes is not None:
        model._le = LabelEncoder().fit(classes)
        model._classes, model._n_classes = model._le.classes_, len(classes)
        model._class_map = {label: i for i, label in enumerate(model._classes)}


def finish_catboost(model: Any, params: dict[str, Any]) -> None:
    """Give a loaded CatBoost model the parameters of the one that was saved."""
    model._init_params = dict(params)
    model._n_features_in = len(model.feature_names_)


# Dask


def empty_frame(frame: Any) -> Any:
    """Return the empty pandas frame that describes a frame of Dask."""
    return frame._meta


def client_behind(get: Any) -> Any:
    """Return the client of the cluster behind a scheduler, None without one."""
    return getattr(get, "__self__", None)
