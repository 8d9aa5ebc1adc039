"""What `save` wrote `load` reads: all of scikit-learn's models, bare and in others."""

import numpy as np
import pytest
from every_model import AROUND, every_class, fitted, instance

import noiseproof

# of scikit-learn's own models, about few rows, few iterations and deprecated classes
pytestmark = pytest.mark.filterwarnings("ignore")


def agrees(model, X, path):
    """Whether it comes back with equal answers, or is refused in one sentence."""
    path.write_bytes(b"what was there")
    try:
        noiseproof.save(model, path)
    except TypeError as refusal:
        sentence = str(refusal)
    else:
        sentence = None
    if sentence is not None:
        assert "\n" not in sentence
        assert path.read_bytes() == b"what was there"
        return False
    back = noiseproof.load(path)
    for method in ("predict", "predict_proba", "decision_function"):
        if hasattr(model, method):
            ours, theirs = (getattr(m, method)(X) for m in (model, back))
            np.testing.assert_array_equal(ours, theirs)
    return True


def round_trips(kind, name, around, rng, path):
    model = AROUND[around](instance(every_class(kind)[name]))
    found = fitted(model, rng)
    return None if found is None else agrees(*found, path)


FEW = [
    ("classifier", "DecisionTreeClassifier", ["partition", "chain", "vote", "stack"]),
    ("classifier", "ExtraTreesClassifier", ["averaged", "copies"]),
    ("classifier", "KNeighborsClassifier", ["bare", "averaged", "pipeline"]),
    ("classifier", "MLPClassifier", ["averaged by a Gaussian"]),
    ("classifier", "SVC", ["bare", "reduced"]),
    ("regressor", "DecisionTreeRegressor", ["bagging", "boosting", "search"]),
    ("regressor", "GaussianProcessRegressor", ["bare"]),
    ("regressor", "TweedieRegressor", ["bare"]),
]


@pytest.mark.parametrize(("kind", "name", "around"), FEW)
def test_some_models(kind, name, around, rng, tmp_path):
    for outer in around:
        assert round_trips(kind, name, outer, rng, tmp_path / "m.npf"), outer


PAIRS = [(kind, around) for kind in ("classifier", "regressor") for around in AROUND]


@pytest.mark.whole
@pytest.mark.parametrize(("kind", "around"), PAIRS)
def test_all_models(kind, around, rng, tmp_path):
    path = tmp_path / "model.npf"
    names = every_class(kind)
    found = {name: round_trips(kind, name, around, rng, path) for name in names}
    assert not [name for name, saved in found.items() if saved is False]
    unfit = [name for name, saved in found.items() if saved is None]
    assert len(unfit) < len(found) / 2, unfit
    if around == "bare":
        assert not unfit
