"""NormBall and Ellipsoid against dual norms and a cone program."""

import cvxpy as cp
import numpy as np
import pytest
import scipy.sparse as sp

from noiseproof.attacks import Ellipsoid, NormBall


@pytest.mark.parametrize(("order", "dual"), [(1, np.inf), (2, 2), (np.inf, 1)])
def test_drop_is_the_dual_norm(order, dual, rng):
    X, w = rng.normal(size=(4, 7)), rng.normal(size=7)
    y = np.array([1, -1, 1, -1])
    attack = NormBall(0.3, order)
    drop = attack.margin_drop(X, y, w)
    np.testing.assert_allclose(drop, 0.3 * np.linalg.norm(w, dual))
    moved = attack.worst(X, y, w) - X
    np.testing.assert_allclose(np.linalg.norm(moved, order, axis=1), 0.3)


@pytest.mark.parametrize("shape", ["number", "diagonal", "matrix"])
def test_ellipsoid_solves_the_cone_program(shape, rng):
    root = rng.normal(size=(5, 5))
    S = {"number": 0.3, "diagonal": rng.random(5), "matrix": root @ root.T}[shape]
    full = S * np.eye(5) if np.ndim(S) < 2 else S
    w = rng.normal(size=5)
    delta, scaled = cp.Variable(5), cp.Variable(5)
    legal = [delta == np.linalg.cholesky(full) @ scaled, cp.norm(scaled) <= 1]
    best = cp.Problem(cp.Maximize(w @ delta), legal).solve(solver=cp.CLARABEL)
    drop = Ellipsoid(S).margin_drop(np.zeros((1, 5)), [1], w)
    np.testing.assert_allclose(drop, best, rtol=1e-6)


def test_the_unit_ball_is_an_ellipsoid(rng):
    X, y, coef = (
        rng.normal(size=(6, 4)),
        rng.integers(3, size=6),
        rng.normal(size=(3, 4)),
    )
    one, other = NormBall().worst(X, y, coef), Ellipsoid().worst(X, y, coef)
    np.testing.assert_allclose(one, other)


def test_one_entry_moves_in_the_first_norm():
    X = sp.csr_array(np.eye(50)[:10])
    worst = NormBall(2.0, ord=1).worst(X, np.ones(10, int), np.arange(50.0))
    assert worst.nnz == 20
    np.testing.assert_allclose(worst.toarray()[:, -1], -2.0)


def test_a_model_without_weights_moves_nothing():
    X = np.ones((2, 3))
    for attack in (NormBall(), NormBall(ord=1), NormBall(ord=np.inf), Ellipsoid()):
        np.testing.assert_array_equal(attack.worst(X, [1, -1], np.zeros(3)), X)


@pytest.mark.parametrize(
    ("attack", "sentence"),
    [
        (NormBall(-1), "radius must be finite and not negative; got -1"),
        (NormBall(np.inf), "radius must be finite"),
        (NormBall(ord=3), "ord must be 1, 2 or inf; got 3"),
        (Ellipsoid([1.0, 2.0]), r"got shape \(2,\)"),
        (Ellipsoid(-1.0), "positive semidefinite"),
        (Ellipsoid([1.0, -1.0, 1.0]), "positive semidefinite"),
        (Ellipsoid(np.triu(np.ones((3, 3)))), "symmetric"),
        (Ellipsoid(1 - np.eye(3)), "positive semidefinite"),
        (Ellipsoid(np.nan), "finite"),
    ],
)
def test_bad_parameters_give_one_sentence(attack, sentence):
    with pytest.raises(ValueError, match=sentence):
        attack.worst(np.ones((1, 3)), [1], np.ones(3))
    with pytest.raises(ValueError, match=sentence):
        attack.margin_drop(np.ones((1, 3)), [1], np.ones(3))
