"""A new part is a class and a line in a registry: nothing else has to know of it."""

import os
import re
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from toy_members import Coin, Doubled

from noiseproof import DropoutLogisticRegression, DropoutRidgeClassifier
from noiseproof._marginal import LOSSES, SOLVERS, Solution
from noiseproof._rows import DESIGNS
from noiseproof.noise import NOISES

TESTS = Path(__file__).parent
CONTRACTS = [
    TESTS / "noise" / "test_noise_contract.py",
    TESTS / "attacks" / "test_attack_contract.py",
    TESTS / "_marginal" / "test_loss_contract.py",
    TESTS / "test_invariances_of_functions.py",
]


def test_a_member_is_tested_by_being_listed():
    """The contract tests run on toy members, which are registered before collection."""
    command = [sys.executable, "-m", "pytest", "-p", "toy_members", *CONTRACTS]
    path = os.pathsep.join(filter(None, [*sys.path, str(TESTS / "helpers")]))
    run = subprocess.run(
        [*command, "-p", "no:cacheprovider"], capture_output=True, text=True,
        cwd=TESTS.parent, env=os.environ | {"PYTHONPATH": path}, check=False,
    )  # fmt: skip
    assert run.returncode == 0, run.stdout + run.stderr
    assert int(re.search(r"(\d+) passed", run.stdout)[1]) > 60


@pytest.fixture
def data(rng):
    X = rng.normal(size=(60, 4))
    return X, (X @ [1.0, -1.0, 0.5, 0.0] > 0).astype(int)


def test_a_noise(data, monkeypatch):
    monkeypatch.setitem(NOISES, "coin", Coin)
    for expectation in ("variational", "jensen"):
        model = DropoutLogisticRegression(Coin(0.5), expectation=expectation)
        assert model.fit(*data).score(*data) > 0.8
    assert np.unique(np.abs(Coin(0.5).sample(data[0], 0) - data[0]).round(9)) == [0.5]


def test_a_loss(data, monkeypatch):
    class Unmajorized(Doubled):
        has_majorizer = False

    monkeypatch.setitem(LOSSES, ("logistic", "toy"), Unmajorized)
    toy = DropoutLogisticRegression(expectation="toy", tol=1e-10).fit(*data)
    same = DropoutLogisticRegression(C=2.0, tol=1e-10).fit(*data)
    np.testing.assert_allclose(toy.coef_, same.coef_, rtol=1e-4)
    DropoutLogisticRegression(expectation="toy").fit(*data, X_unlabeled=data[0])
    with pytest.raises(ValueError, match="majoriser, which Unmajorized does not have"):
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
    def halfway(start, plan, stop):
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
