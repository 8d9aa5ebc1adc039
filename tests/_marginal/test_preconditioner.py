"""The preconditioner inverts what it says it does."""

import numpy as np
import pytest
import scipy.sparse as sp
from problems import problem

from noiseproof._marginal.conjugate_gradient import Preconditioner
from noiseproof.noise import Dropout


@pytest.mark.parametrize("rows", [3, 20], ids=["woodbury", "direct"])
@pytest.mark.parametrize("container", [np.asarray, sp.csr_array])
def test_it_inverts_diagonal_plus_stiff_rows(rows, container, rng):
    D = rng.uniform(0.5, 2.0, size=(2, 7))
    U = 30 * rng.normal(size=(rows, 7))
    diagonal = D.copy()
    diagonal[0] += (U**2).sum(axis=0)
    R = rng.normal(size=(2, 7))
    preconditioner = Preconditioner(diagonal, [container(U), None])
    Z = preconditioner.solve(R)
    # what the stiff rows leave of a large diagonal has lost digits to cancellation
    np.testing.assert_allclose((np.diag(D[0]) + U.T @ U) @ Z[0], R[0], atol=1e-6)
    np.testing.assert_allclose(D[1] * Z[1], R[1])
    np.testing.assert_array_equal(preconditioner.restrict([0]).solve(R[:1]), Z[:1])
    np.testing.assert_array_equal(
        preconditioner.restrict([False, True]).solve(R[1:]), Z[1:]
    )


@pytest.mark.parametrize("design", ["dense", "csr"])
def test_rows_near_a_kink_are_found(design, rng):
    """A row on the hinge's kink, where the rounded loss has curvature 1 / (4 ε)."""
    objective, theta, (X, y, weights) = problem(
        ("hinge", "gaussian"), Dropout(0.0), rng, design=design
    )
    epsilon = 1e-6
    theta[:, -1] = 0.0
    theta[:, -1] = y[:, 4] - theta[:, :-1] @ X[4]
    hessian = objective.smoothed(epsilon).at(theta).hessian()
    for k in range(len(y)):
        stiff = hessian.stiff_rows()[k]
        stiff = stiff.toarray() if sp.issparse(stiff) else stiff
        curvature = weights[4] / (np.sqrt(2 * np.pi) * epsilon)
        expected = np.sqrt(curvature) * np.append(X[4], 1.0)
        np.testing.assert_allclose(stiff, expected[None, :], rtol=1e-6)
