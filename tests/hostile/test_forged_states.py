"""Every fitted attribute of every type that a file may hold, forged in many ways.

Whatever is not refused must not matter: the loaded model answers as the honest one.
"""

import copy

import numpy as np
import pandas as pd
import pytest
from forged import refusal, write_forged
from problems import dataset
from sklearn.ensemble import IsolationForest
from sklearn.pipeline import make_pipeline
from sklearn.tree import DecisionTreeClassifier

import noiseproof
from noiseproof import (
    AverageOverMissing,
    InvariantSVC,
    PartitionEnsemble,
    ReducedModels,
    StructuredSVM,
)
from noiseproof.attacks import ATTACKS
from noiseproof.conditionals import CONDITIONALS, Donors, JointGaussian
from noiseproof.estimators import ESTIMATORS
from noiseproof.io import FileFormatError
from noiseproof.io.checks import CHECKS, type_name
from noiseproof.noise import NOISES
from noiseproof.serving import Served
from noiseproof.structured import PROBLEMS, LinearChain
from noiseproof.tables import TableEncoder


@pytest.mark.parametrize(
    "registry", [ESTIMATORS, CONDITIONALS, NOISES, ATTACKS, PROBLEMS]
)
def test_whatever_is_registered_has_a_check(registry):
    assert {type_name(kind) for kind in registry.values()} <= CHECKS.keys()


def rows_with_holes(rng, X):
    return np.where(rng.random(X.shape) < 0.3, np.nan, X)


def fitted(name, rng):
    """A fitted model, and what it answers to the same question at any time."""
    if name == "chain":
        Y = [rng.integers(0, 2, 5) for _ in range(6)]
        X = [np.eye(2)[y] for y in Y]
        return StructuredSVM(LinearChain()).fit(X, Y), X, "predict"
    if name == "served":
        table = pd.DataFrame({"n": [1.0, 2.0, None] * 5, "t": ["a", "b", "a"] * 5})
        model = make_pipeline(TableEncoder(), noiseproof.DropoutLogisticRegression())
        return Served(model.fit(table, [0, 1, 0] * 5), table), table, "predict"
    if name == "encoder":
        table = pd.DataFrame({"n": [1.0, 2.0, None], "t": ["a", "b", "a"]})
        return TableEncoder().fit(table), table, "transform"
    model = {
        **{key: kind() for key, kind in ESTIMATORS.items()},
        "donors": Donors(n_donors=3),
        "gaussian": JointGaussian(),
        "factors": JointGaussian(rank=2),
        "averaged donors": AverageOverMissing(conditional="donors"),
        "averaged tree": AverageOverMissing(DecisionTreeClassifier()),
        "pairwise": PartitionEnsemble(vote="pairwise", n_parts=3),
        "kernel": InvariantSVC(kernel="rbf"),
    }[name]
    X, y = dataset(ESTIMATORS.get(name, noiseproof.DropoutSVC)(), rng, classes=3)
    model.fit(X, y)
    if name in ("donors", "gaussian", "factors"):
        return model, rows_with_holes(rng, X), "mean"
    holes = name.startswith(("average", "reduced", "partition", "pairwise"))
    X = rows_with_holes(rng, X) if holes else X
    model.predict(X)  # ReducedModels fits what it needs
    return model, X, "predict"


MODELS = [*ESTIMATORS, "donors", "gaussian", "factors", "averaged donors"]
MODELS += ["averaged tree", "pairwise", "kernel", "chain", "encoder", "served"]


def forgeries(value):
    """Other values in its place, none of which an honest fit would have kept."""
    yield from (None, "text", -1, 10**12, [], {})
    if isinstance(value, np.ndarray):
        yield value[:-1]
        yield value[:0]
        yield value[None]
        yield np.concatenate([value, value[:1]])
        yield value.astype(object) if value.dtype != object else np.zeros(len(value))
    elif isinstance(value, list):
        yield value[:-1]
        yield value + value[-1:]
        yield tuple(value)
    elif isinstance(value, dict):
        yield {"none": None}
        yield dict(list(value.items())[:-1])


def places(model):
    """The model and the parts of ours that it is made of."""
    yield model
    yield from getattr(model, "columns", ())
    for name in ("cells_", "regression_", "conditional_", "problem_", "_state"):
        if hasattr(getattr(model, name, None), "__dict__"):
            yield from places(getattr(model, name))


@pytest.mark.whole
@pytest.mark.parametrize("name", MODELS)
def test_forged_attributes_are_refused_or_do_not_matter(name, rng, tmp_path):
    model, X, method = fitted(name, rng)
    honest = getattr(model, method)(X)
    path, refused = tmp_path / "forged.npf", 0
    for place in places(model):
        own = [n for n in vars(place) if n.endswith("_") or n.startswith("_")]
        own = own if hasattr(place, "get_params") else list(vars(place))
        for attribute in own:
            value = vars(place)[attribute]
            for forged in forgeries(value):
                if same(forged, value) or is_legal(place, attribute, forged):
                    continue
                vars(place)[attribute] = forged
                write_forged(model, path)
                try:
                    back = noiseproof.load(path)
                except FileFormatError:
                    refused += 1
                    continue
                finally:
                    vars(place)[attribute] = value
                where = f"{type(place).__name__}.{attribute} = {forged!r}"
                try:
                    answer = getattr(back, method)(X)
                except Exception as error:
                    raise AssertionError(where) from error
                assert same(answer, honest), where
    assert refused


def is_legal(place, attribute, forged):
    """Whether an honest fit might have kept it: fewer rows, or one of them twice."""
    if attribute == "linear_":
        return forged is None  # draws are another way to the same average
    if attribute in ("words", "target"):  # other words, or another target
        twice = type(forged) is list and len(set(forged)) < len(forged)
        return type(forged) is (list if attribute == "words" else str) and not twice
    rows = isinstance(place, Donors) and attribute == "rows_"
    return rows and np.ndim(forged) == 2 and len(forged) > 1 and forged.dtype != object


def same(one, other):
    if type(one) is not type(other):
        return False
    if isinstance(one, list | tuple):
        return len(one) == len(other) and all(map(same, one, other))
    if isinstance(one, np.ndarray) and one.dtype.kind == "f" == other.dtype.kind:
        return np.array_equal(one, other, equal_nan=True)
    return bool(np.array_equal(one, other))


def test_an_ensemble_whose_votes_share_a_feature(rng, tmp_path):
    """It would certify a budget of 2 where one change flips the prediction."""
    X, y = rng.normal(size=(40, 3)), np.arange(40) % 2
    model = PartitionEnsemble(DecisionTreeClassifier(), n_parts=3).fit(X, y)
    model.parts_ = [np.array([0]), np.array([0]), np.array([0])]
    assert "parts_ of its PartitionEnsemble" in refusal(model, tmp_path)


def test_groups_that_have_two_votes(rng, tmp_path):
    X, y = rng.normal(size=(40, 4)), np.arange(40) % 2
    model = PartitionEnsemble(n_parts=2, groups=[[0, 1], [2, 3]]).fit(X, y)
    model.parts_ = [np.array([0, 2]), np.array([1, 3])]
    assert "groups of its PartitionEnsemble" in refusal(model, tmp_path)


def test_voters_of_two_kinds(rng, tmp_path):
    """Only one of them would answer where cells are missing."""
    X, y = rng.normal(size=(40, 2)), np.arange(40) % 2
    model = PartitionEnsemble(n_parts=2, on_missing="estimator").fit(X, y)
    model.estimators_[1] = DecisionTreeClassifier().fit(X[:, :1], y)
    assert "estimators_ of its PartitionEnsemble" in refusal(model, tmp_path)


def test_parameters_are_checked(rng, tmp_path):
    X, y = rng.normal(size=(40, 2)), np.arange(40) % 2
    model = AverageOverMissing(conditional="joint-gaussian").fit(X, y)
    model.n_draws = 10**12  # 7 TiB for a row
    assert "n_draws of its AverageOverMissing" in refusal(model, tmp_path)
    model.n_draws = 0
    assert "'n_draws' parameter of AverageOverMissing" in refusal(model, tmp_path)
    model._parameter_constraints = {}
    assert "_parameter_constraints" in refusal(model, tmp_path)


def test_words_that_training_did_not_have(rng, tmp_path):
    table = pd.DataFrame({"n": rng.normal(size=9), "t": ["a", "b", "c"] * 3})
    model = Donors(n_donors=3).fit(table)
    model.rows_[0, 1] = 7.0
    assert "rows_ of its Donors" in refusal(model, tmp_path)


def test_covariances_that_cannot_be(rng, tmp_path):
    model = JointGaussian().fit(rng.normal(size=(40, 2)))
    model.regression_.covariance[:] = [[1.0, 5.0], [5.0, 1.0]]
    assert "covariance of its FullRegression" in refusal(model, tmp_path)


def test_models_of_other_patterns(rng, tmp_path):
    X, y = rng.normal(size=(40, 3)), np.arange(40) % 2
    model = ReducedModels().fit(X, y)
    model.predict([[np.nan, 0.0, 0.0]])
    honest = copy.deepcopy(model.models_)
    for key in ("11", "01x", "001", 7):
        model.models_ = {key: honest["011"]}
        assert "models_ of its ReducedModels" in refusal(model, tmp_path)


def test_isolation_trees_that_look_beyond_their_columns(rng, tmp_path):
    """They are shown rows unchecked."""
    X = rng.normal(size=(40, 4))
    model = IsolationForest(n_estimators=2, max_features=2).fit(X)
    for shown in (1, 3):
        forged = copy.deepcopy(model)
        forged.estimators_features_ = [np.arange(shown)] * 2
        assert "of its IsolationForest" in refusal(forged, tmp_path)
    model._max_features = 4
    assert "of its IsolationForest" in refusal(model, tmp_path)
