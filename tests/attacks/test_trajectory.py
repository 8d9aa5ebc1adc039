"""Trajectory against a fine grid of t."""

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st

from noiseproof.attacks import Trajectory
from noiseproof.attacks.trajectory import lowest_points

GRID = np.linspace(-1, 1, 4001)


@given(
    seed=st.integers(0, 10_000),
    degree=st.integers(1, 6),
    vanishing=st.sampled_from([1.0, 1e-5, 1e-10, 1e-14, 0.0]),
    n_vanishing=st.integers(0, 3),
)
@settings(max_examples=80, deadline=None)
def test_lowest_points_of_polynomials(seed, degree, vanishing, n_vanishing):
    """The highest powers may be missing, or nearly so."""
    powers = np.random.default_rng(seed).normal(size=(degree + 1, 30))
    powers[len(powers) - n_vanishing :] *= vanishing
    t, value = lowest_points(powers)
    assert (np.abs(t) <= 1).all()
    exact = [np.polynomial.Polynomial(p)(s) for p, s in zip(powers.T, t, strict=True)]
    np.testing.assert_allclose(value, exact, atol=1e-12)
    on_grid = np.polynomial.polynomial.polyval(GRID, powers).min(axis=1)
    assert (value <= on_grid + 1e-12).all()


def curves(x):
    return np.stack([np.sin(x), x**2, np.cos(x) - 1])


@pytest.mark.parametrize("n_classes", [2, 4])
@pytest.mark.parametrize("kind", ["called", "matrices", "sparse matrices"])
def test_worst_place_on_the_curve(kind, n_classes, rng):
    X, coef = rng.normal(size=(6, 5)), rng.normal(size=(n_classes, 5))
    y, b = rng.integers(n_classes, size=6), rng.normal(size=n_classes)
    maps = rng.normal(size=(3, 5, 5))
    tangents = {
        "called": curves,
        "matrices": maps,
        "sparse matrices": [sp.csc_matrix(M) for M in maps],
    }[kind]
    attack = Trajectory(degree=3, span=0.8, tangents=tangents)
    worst = attack.worst(X, y, coef, b)
    for x, label, changed in zip(X, y, worst, strict=True):
        lines = curves(x) if kind == "called" else maps @ x
        rows = x + sum(np.outer((0.8 * GRID) ** p, lines[p - 1]) for p in (1, 2, 3))
        scores = np.vstack([rows, changed]) @ coef.T + b
        margins = scores[:, label] - np.delete(scores, label, axis=1).max(axis=1)
        assert margins[-1] <= margins[:-1].min() + 1e-12
        assert margins[-1] >= margins[:-1].min() - 1e-4
        assert np.linalg.norm(rows - changed, axis=1).min() < 1e-2


def test_a_delayed_signal():
    """Within a smooth signal, a delay by t places is what its name says."""
    places = np.arange(200.0)
    x = np.sin(places / 20)
    attack = Trajectory(degree=2, span=1.0)
    worst = attack.worst(x[None], [1], np.eye(200)[100])[0]
    t = 1.0 if np.sin(99 / 20) < np.sin(101 / 20) else -1.0
    np.testing.assert_allclose(worst[5:-5], np.sin((places - t) / 20)[5:-5], atol=1e-3)


def test_sparse_rows_stay_sparse():
    X = sp.csr_array(([1.0], ([0], [500])), shape=(1, 1000))
    worst = Trajectory().worst(X, [1], np.arange(1000.0))
    assert worst.nnz <= 5


@pytest.mark.parametrize(
    ("parameters", "sentence"),
    [
        ({"degree": 0}, "degree must be a whole number, at least 1; got 0"),
        ({"degree": 1.5}, "degree must be a whole number"),
        ({"span": -1.0}, "span must be finite and not negative; got -1.0"),
        ({"span": np.nan}, "span must be finite"),
        ({"tangents": np.ones((2, 3, 4))}, r"2 matrices of shape \(3, 3\)"),
        ({"tangents": np.ones((1, 3, 3))}, r"2 matrices of shape \(3, 3\)"),
        ({"tangents": lambda x: x}, r"shape \(2, 3\), one row for each power of t"),
    ],
)
def test_bad_parameters_give_one_sentence(parameters, sentence):
    with pytest.raises(ValueError, match=sentence):
        Trajectory(**parameters).worst(np.ones((1, 3)), [1], np.ones(3))
