"""Small random problems, and the members of the registries as test parameters."""

from dataclasses import replace

import numpy as np
import pytest

from noiseproof._marginal import Facts, Plan, Problem, minimize
from noiseproof._marginal.losses import LOSSES, expectations
from noiseproof._rows import DESIGNS
from noiseproof.estimators import ESTIMATORS
from noiseproof.noise import NOISES

# designs that hold arrays of NumPy and SciPy
IN_MEMORY = [name for name, cls in DESIGNS.items() if cls.where == "memory"]
LOSS_KEYS = [pytest.param(key, id="-".join(key)) for key in LOSSES]
CONVEX_KEYS = [
    pytest.param(key, id="-".join(key)) for key, loss in LOSSES.items() if loss().convex
]


def noises(d, per_feature=(False, True)):
    """Every noise, at one level for all features and at one for each."""
    levels = {False: 0.3, True: np.linspace(0.1, 0.5, d)}
    return [
        pytest.param(law().at(levels[each]), id=f"{name}-{'each' if each else 'one'}")
        for name, law in NOISES.items()
        for each in per_feature
    ]


def marginal_models(only=None, **parameters):
    """Every estimator with a marginalised loss, once per expectation it offers."""
    found = []
    for name, cls in ESTIMATORS.items():
        if not isinstance(getattr(cls, "_loss", None), str) or only not in (
            None,
            kind(cls()),
        ):
            continue
        if not hasattr(cls(), "expectation"):
            found.append(pytest.param(cls(**parameters), id=name))
            continue
        for word in expectations(cls._loss):
            model = cls(expectation=word, **parameters)
            found.append(pytest.param(model, id=f"{name}-{word}"))
    return found


def kind(model):
    return model.__sklearn_tags__().estimator_type


def loss_key(model):
    """Where the model's loss is registered."""
    return model._loss, getattr(model, "expectation", "exact")


def features(noise, rng, n, d, density=0.7):
    """Features that the noise accepts, some of them zero."""
    X = rng.normal(size=(n, d)) * (rng.random((n, d)) < density)
    return X if accepts_negative(noise) else np.abs(X)


def accepts_negative(noise):
    try:
        noise.check(minimum=-1.0)
    except ValueError:
        return False
    return True


def targets(task, rng, X, k=1):
    """Labels -1 and +1, or counts, that depend on X; a row per class."""
    centred = X - X.mean(axis=0)
    scores = rng.normal(size=(k, X.shape[1])) @ centred.T
    if task == "regression":
        return rng.poisson(np.exp(np.clip(scores, -3, 1.5))).astype(float)
    return np.where(scores + 0.7 * rng.normal(size=scores.shape) > 0, 1.0, -1.0)


def dataset(model, rng, n=40, d=5, classes=2):
    """X >= 0, which suits every noise, and targets that depend on it."""
    X = rng.gamma(1.0, size=(n, d)) * (rng.random((n, d)) < 0.7)
    if kind(model) == "regressor":
        score = (X - 0.7) @ rng.normal(size=d) + 0.5 * rng.normal(size=n)
        return X, rng.poisson(np.exp(np.clip(score, -3, 1.5))).astype(float)
    centred = X - X.mean(axis=0)
    scores = centred @ rng.normal(size=(d, classes)) + rng.normal(size=(n, classes))
    return X, scores.argmax(axis=1)


def as_storage(name, X):
    """X as the design of that name stores it."""
    if name == "csr":
        import scipy.sparse as sp

        return sp.csr_array(X)
    return X


def problem(key, noise, rng, *, design="dense", n=9, d=4, k=2, fit_intercept=True):
    """An objective with its parts, and a θ inside its domain."""
    whole, theta, parts = whole_problem(
        key, noise, rng, design=design, n=n, d=d, k=k, fit_intercept=fit_intercept
    )
    return whole.objective(), theta, parts


def whole_problem(
    key, noise, rng, *, design="dense", n=9, d=4, k=2, fit_intercept=True
):
    """The problem itself, from which an objective and a plan are made."""
    loss = LOSSES[key]()
    X = features(noise, rng, n, d)
    y = targets(loss.task, rng, X, k)
    weights = rng.uniform(0.2, 2.0, size=n)
    whole = Problem(
        DESIGNS[design](as_storage(design, X)), y, weights, noise, loss, fit_intercept
    )
    theta = rng.uniform(-1.2, 1.2, size=whole.shape)
    return whole, theta, (X, y, weights)


def plan_for(whole, solver="newton", **changes):
    """The plan of a problem, with some decisions taken otherwise."""
    facts = Facts.of(whole, is_warm=False, is_heard=False)
    return replace(Plan.of(facts, solver), **changes)


def minimum(whole, stop, solver="newton", **changes):
    """Where a solver ends that starts from nothing."""
    plan = plan_for(whole, solver, **changes)
    return minimize(whole.objective(), np.zeros(whole.shape), plan, stop)
