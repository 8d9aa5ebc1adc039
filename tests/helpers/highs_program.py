"""The robust linear program given to HiGHS: a witness of the own solver."""

import highspy
import numpy as np
import scipy.sparse as sp

from noiseproof._deletion import RobustLPResult


def highs(problem, stop, state=None, method="ipm"):
    """Solve the reduced program of `interior`, with variables for stored entries only.

    The multipliers of its constraints are p_i and q_ij.
    """
    n, d = problem.X.shape
    solver = highspy.Highs()
    solver.setOptionValue("output_flag", False)
    solver.setOptionValue("solver", method)
    solver.setOptionValue("run_crossover", "off")  # the gap needs no vertex
    solver.passModel(_model(problem))
    solver.run()
    solution = solver.getSolution()
    column, dual = np.array(solution.col_value), np.array(solution.row_dual)
    if len(column) < d + 1 or len(dual) < n:
        column, dual = np.zeros(d + 1), np.zeros(n + problem.X.nnz)
    b = float(column[d])
    p = dual[:n] / problem.weights
    q = dual[n:] / np.repeat(problem.weights, np.diff(problem.X.indptr))
    w = np.clip(column[:d], -problem.C, problem.C)
    value, bound = problem.value(w, b), problem.lower_bound(p, q)
    info = solver.getInfo()
    steps = info.ipm_iteration_count + max(info.simplex_iteration_count, 0)
    done = value - bound <= stop.tol * max(value, 1e-3)
    return RobustLPResult(w, b, p, q, value, bound, max(steps, 1), done)


def _model(problem):
    """Columns w, b, ξ, μ, β; rows the two families of constraints."""
    matrix, lower = _constraints(problem)
    n, d = problem.X.shape
    inf = highspy.kHighsInf
    n_free = d + 1
    lp = highspy.HighsLp()
    lp.num_row_, lp.num_col_ = matrix.shape
    cost = np.zeros(matrix.shape[1])
    cost[n_free : n_free + n] = problem.weights
    least = np.zeros(matrix.shape[1])
    most = np.full(matrix.shape[1], inf)
    least[:d], most[:d] = -problem.C, problem.C
    least[d], most[d] = (-inf, inf) if problem.fit_intercept else (0.0, 0.0)
    lp.col_cost_, lp.col_lower_, lp.col_upper_ = cost, least, most
    lp.row_lower_, lp.row_upper_ = lower, np.full(len(lower), inf)
    lp.a_matrix_.format_ = highspy.MatrixFormat.kColwise
    lp.a_matrix_.start_ = matrix.indptr
    lp.a_matrix_.index_ = matrix.indices
    lp.a_matrix_.value_ = matrix.data
    return lp


def _constraints(problem):
    X, y, v = problem.X.astype(np.float64), problem.y, problem.values
    n, d = X.shape
    nnz = X.nnz
    rows = np.repeat(np.arange(n), np.diff(X.indptr))
    entry = np.arange(nnz)
    signed = X.copy()
    signed.data *= y[rows]
    own_row = sp.csr_array((np.ones(nnz), (rows, entry)), shape=(n, nnz))
    pull = sp.csr_array((-signed.data, (entry, X.indices)), shape=(nnz, d))
    value = sp.csr_array((v[X.indices], (entry, rows)), shape=(nnz, n))
    eye = sp.eye_array(n)
    matrix = sp.block_array(
        [
            [signed, y[:, None], eye, -problem.limit * eye, -own_row],
            [pull, None, None, value, sp.eye_array(nnz)],
        ],
        format="csc",
    )
    lower = np.concatenate([np.full(n, problem.base), -problem.price * v[X.indices]])
    return matrix, lower
