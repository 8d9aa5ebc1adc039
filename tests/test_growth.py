"""A new part is a class and a line in a registry: nothing else has to know of it."""

import numpy as np
import pytest

from noiseproof import DropoutLogisticRegression, DropoutRidgeClassifier
from noiseproof._marginal import LOSSES, SOLVERS, Solution
from noiseproof._marginal.losses.logistic import LogisticVariational
from noiseproof._rows import DESIGNS
from noiseproof.noise import NOISES, Cumulants, Noise, VarianceLaw


@pytest.fixture
def data(rng):
    X = rng.normal(size=(60, 4))
    return X, (X @ [1.0, -1.0, 0.5, 0.0] > 0).astype(int)


def test_a_noise(data, monkeypatch):
    class Coin(Noise):
        """x ± scale, with equal probability."""

        level_name = "scale"
        is_additive = True

        def __init__(self, scale=1.0):
            self.scale = scale

        def variance_law(self):
            return VarianceLaw(self.level**2, 0.0, power=2)

        def cumulants(self, x, t):
            s, u = self.level, self.level * t
            value, slope = t * x + np.log(np.cosh(u)), x + s * np.tanh(u)
            return Cumulants(value, slope, (s / np.cosh(u)) ** 2)

        def _sample_entries(self, x, rng):
            return x + self.level * rng.choice([-1.0, 1.0], size=x.shape)

    monkeypatch.setitem(NOISES, "coin", Coin)
    for expectation in ("variational", "jensen"):
        model = DropoutLogisticRegression(Coin(0.5), expectation=expectation)
        assert model.fit(*data).score(*data) > 0.8
    assert np.unique(np.abs(Coin(0.5).sample(data[0], 0) - data[0]).round(9)) == [0.5]


def test_a_loss(data, monkeypatch):
    class Doubled(LogisticVariational):
        """Twice the logistic loss, which is C twice as large."""

        has_majorizer = False

        def value(self, y, m, v):
            return 2 * super().value(y, m, v)

        def slopes(self, y, m, v):
            slopes = super().slopes(y, m, v)
            return type(slopes)(*(2 * part for part in slopes))

        def curvatures(self, y, m, v):
            curvatures = super().curvatures(y, m, v)
            return type(curvatures)(*(2 * part for part in curvatures))

    monkeypatch.setitem(LOSSES, ("logistic", "toy"), Doubled)
    toy = DropoutLogisticRegression(expectation="toy", tol=1e-10).fit(*data)
    same = DropoutLogisticRegression(C=2.0, tol=1e-10).fit(*data)
    np.testing.assert_allclose(toy.coef_, same.coef_, rtol=1e-4)
    DropoutLogisticRegression(expectation="toy").fit(*data, X_unlabeled=data[0])
    with pytest.raises(ValueError, match="majoriser, which Doubled does not have"):
        DropoutLogisticRegression(expectation="toy", solver="irls").fit(*data)


def test_a_storage(data, monkeypatch):
    used = []

    class Columns(DESIGNS["dense"]):
        """Arrays in Fortran's order."""

        @classmethod
        def holds(cls, X):
            return isinstance(X, np.ndarray) and X.flags.f_contiguous

        def pullback(self, A, B, S, power):
            used.append(A.shape)
            return super().pullback(A, B, S, power)

    X, y = data
    monkeypatch.setitem(DESIGNS, "columns", Columns)
    there = DropoutLogisticRegression(solver="lbfgs").fit(np.asfortranarray(X), y)
    assert used
    used.clear()
    same = DropoutLogisticRegression(solver="lbfgs").fit(X, y)
    assert not used
    np.testing.assert_allclose(there.coef_, same.coef_, rtol=1e-6)


def test_a_solver(data, monkeypatch):
    def halfway(start, stop):
        """One step of the majoriser, half its length."""
        matrix = start.expansion(np.ones(start.shape[0], dtype=bool)).matrix
        steps = np.linalg.solve(matrix, start.gradient[:, :, None])[:, :, 0]
        return Solution(start.at(start.theta - 0.5 * steps), 1, True)

    halfway.needs_majorizer = True
    monkeypatch.setitem(SOLVERS, "halfway", halfway)
    half = DropoutRidgeClassifier(solver="halfway").fit(*data)
    whole = DropoutRidgeClassifier(tol=1e-12).fit(*data)
    np.testing.assert_allclose(2 * half.coef_, whole.coef_, rtol=1e-6)
    model = DropoutLogisticRegression(expectation="jensen", solver="halfway")
    with pytest.raises(ValueError, match="solver='halfway' needs a loss with a quad"):
        model.fit(*data)
