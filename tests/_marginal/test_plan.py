"""Facts in, plan out: every rule of a fit as a line of a table."""

from dataclasses import replace

import numpy as np
import pytest
import scipy.sparse as sp

from noiseproof import DropoutLogisticRegression, DropoutSVC
from noiseproof._marginal import Facts, Plan, Problem, make_loss
from noiseproof._rows import as_design
from noiseproof.noise import Dropout, Gaussian

# books: 2,000 sparse rows of 5,000 features, two classes, the hinge loss under noise
TEXT = Facts(
    n_rows=2000,
    n_features=5000,
    n_parameters=5001,
    n_classes=1,
    n_stored=200_000,
    is_sparse=True,
    is_kinked=True,
    is_hinge=True,
    has_majorizer=True,
    n_cores=2,
)
TABLE = replace(
    TEXT,
    n_rows=500,
    n_features=20,
    n_parameters=21,
    n_stored=10_000,
    is_sparse=False,
    is_kinked=False,
    is_hinge=False,
)
TALL = replace(TABLE, n_rows=1_000_000, n_stored=20_000_000)
NEWS = replace(TEXT, n_rows=10_000, n_features=30_000, n_classes=20, n_stored=1_500_000)
BLOCKS = replace(NEWS, where="blocks", block_rows=2000)
DEVICE = replace(TALL, where="device", n_classes=10)


@pytest.mark.parametrize(
    ("facts", "solver", "expected"),
    [
        pytest.param(TEXT, "newton", {"algorithm": "newton", "in_stages": True,
            "start": "constant", "dual": "no", "majorize": True, "look_again": True,
            "limit_blas": False}, id="text"),
        pytest.param(replace(TEXT, noise_scale=0.0), "newton",
            {"dual": "solve", "is_noisy": False}, id="no-noise"),
        pytest.param(replace(TEXT, noise_scale=0.01), "newton",
            {"dual": "start", "is_noisy": True}, id="little-noise"),
        pytest.param(replace(TEXT, noise_scale=0.01, is_warm=True), "newton",
            {"dual": "no", "start": "given"}, id="little-noise-from-weights"),
        pytest.param(replace(TEXT, noise_scale=0.0), "lbfgs",
            {"dual": "no", "algorithm": "lbfgs", "in_stages": True}, id="lbfgs"),
        pytest.param(replace(TEXT, noise_scale=0.0, n_rows=300_000), "newton",
            {"dual": "no"}, id="too-tall-for-the-dual"),
        pytest.param(TABLE, "newton", {"algorithm": "factored", "start": "constant",
            "in_stages": False}, id="few-features"),
        pytest.param(TABLE, "irls", {"algorithm": "irls"}, id="irls"),
        pytest.param(replace(TABLE, n_parameters=33), "newton",
            {"algorithm": "newton"}, id="more-features"),
        pytest.param(replace(TABLE, is_kinked=True), "newton",
            {"algorithm": "newton"}, id="few-features-and-a-kink"),
        pytest.param(TALL, "newton", {"start": "sample"}, id="tall"),
        pytest.param(TALL, "lbfgs", {"start": "constant"}, id="tall-lbfgs"),
        pytest.param(replace(TALL, is_convex=False), "newton",
            {"start": "constant", "is_convex": False}, id="tall-not-convex"),
        pytest.param(replace(TALL, is_mixed=True), "newton",
            {"start": "constant"}, id="tall-with-unlabelled-rows"),
        pytest.param(NEWS, "newton", {"group_size": 4, "side_by_side": 2, "threads": 1,
            "limit_blas": True}, id="many-classes"),
        pytest.param(replace(NEWS, is_heard=True), "newton",
            {"side_by_side": 1, "threads": None}, id="many-classes-heard"),
        pytest.param(replace(NEWS, n_cores=1), "newton",
            {"side_by_side": 1, "limit_blas": False}, id="one-core"),
        pytest.param(replace(NEWS, n_features=10**7), "newton",
            {"side_by_side": 1}, id="no-room-for-two-groups"),
        pytest.param(replace(NEWS, is_sparse=False), "newton",
            {"side_by_side": 1, "limit_blas": False}, id="dense"),
        pytest.param(BLOCKS, "newton", {"group_size": 69, "look_again": False,
            "limit_blas": True, "keeps_steps": True, "side_by_side": 1}, id="blocks"),
        pytest.param(replace(BLOCKS, n_parameters=5, is_kinked=False), "newton",
            {"algorithm": "factored", "start": "constant"}, id="narrow-blocks"),
        pytest.param(replace(BLOCKS, n_parameters=100), "newton",
            {"algorithm": "factored", "in_stages": True}, id="blocks-and-a-kink"),
        pytest.param(replace(BLOCKS, n_parameters=101), "newton",
            {"algorithm": "newton"}, id="wide-blocks"),
        pytest.param(DEVICE, "newton", {"algorithm": "newton", "group_size": 10,
            "start": "constant", "keeps_steps": False}, id="device"),
        pytest.param(replace(TABLE, needs_moments=False), "newton",
            {"look_again": False}, id="cumulants"),
        pytest.param(replace(TABLE, needs_moments=False, n_parameters=65), "newton",
            {"algorithm": "factored"}, id="cumulants-of-dense-rows"),
        pytest.param(replace(TEXT, needs_moments=False, is_kinked=False,
            n_parameters=65), "newton", {"algorithm": "newton"},
            id="cumulants-of-sparse-rows"),
    ],
)  # fmt: skip
def test_facts_decide(facts, solver, expected):
    plan = Plan.of(facts, solver)
    assert {name: getattr(plan, name) for name in expected} == expected


@pytest.mark.parametrize("store", [np.asarray, sp.csr_array])
@pytest.mark.parametrize(
    ("noise", "scale"), [(Dropout(0.5), 1.0), (Dropout(0.0), 0.0), (Gaussian(), np.inf)]
)
def test_facts_of_a_problem(store, noise, scale, rng):
    X = rng.normal(size=(30, 4)) * (rng.random((30, 4)) < 0.5)
    loss = make_loss("hinge", "variational")
    problem = Problem(
        as_design(store(X)), np.ones((3, 30)), np.ones(30), noise, loss, True
    )
    facts = Facts.of(problem, is_warm=True, is_heard=False)
    assert (facts.n_rows, facts.n_features, facts.n_parameters) == (30, 4, 5)
    assert facts.n_classes == 3
    assert facts.n_stored == (120 if store is np.asarray else np.count_nonzero(X))
    assert facts.is_sparse == (store is sp.csr_array)
    assert facts.where == "memory"
    assert facts.noise_scale == scale
    assert facts.is_kinked
    assert facts.is_hinge
    assert facts.is_warm
    assert not facts.is_mixed


def test_a_difference_of_losses_is_not_convex_and_has_no_majoriser(rng):
    rows = as_design(rng.normal(size=(30, 4)))
    parts = rows, np.ones((1, 30)), np.ones(30), Dropout(0.5)
    problem = Problem(
        *parts,
        make_loss("logistic", "variational"),
        True,
        unlabeled=[rows],
        unlabeled_weight=0.4,
    )
    facts = Facts.of(problem, is_warm=False, is_heard=False)
    assert facts.is_mixed
    assert not facts.is_convex
    assert not facts.has_majorizer


def test_a_fit_makes_one_plan(rng, monkeypatch):
    """What is decided is decided before the first pass, once for all classes."""
    made = []
    of = Plan.of.__func__
    monkeypatch.setattr(Plan, "of", classmethod(lambda *a: made.append(a) or of(*a)))
    X, y = rng.normal(size=(200, 50)), rng.integers(0, 9, 200)
    DropoutSVC().fit(X, y)
    DropoutLogisticRegression().fit(sp.csr_array(X), y)
    assert len(made) == 2
