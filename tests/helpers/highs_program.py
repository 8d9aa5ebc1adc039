"""The robust linear program given to HiGHS: a witness of the own solver."""

import highspy
import numpy as np
import scipy.sparse as sp

from noiseproof._deletion import RobustLPResult


def highs(problem, stop, state=None, method="ipm"):
    """Solve the reduced program of `interior`, with variables for stored pairs only.

    The multipliers of its constraints are p_ik and q_ikg.
    """
    d, (sides, n), m = problem.X.shape[1], problem.slopes.shape, len(_row_of(problem))
    solver = highspy.Highs()
    solver.setOptionValue("output_flag", False)
    solver.setOptionValue("solver", method)
    solver.setOptionValue("run_crossover", "off")  # the gap needs no vertex
    solver.passModel(_model(problem))
    solver.run()
    solution = solver.getSolution()
    column, dual = np.array(solution.col_value), np.array(solution.row_dual)
    if len(column) < d + 1 or len(dual) < sides * n:
        column, dual = np.zeros(d + 1), np.zeros(sides * (n + m))
    b = float(column[d])
    p = dual[: sides * n].reshape(sides, n) / problem.weights
    q = dual[sides * n :].reshape(sides, m) / problem.weights[_row_of(problem)]
    w = np.clip(column[:d], -problem.C, problem.C)
    value, bound = problem.value(w, b), problem.lower_bound(p, q)
    info = solver.getInfo()
    steps = info.ipm_iteration_count + max(info.simplex_iteration_count, 0)
    done = value - bound <= stop.tol * max(value, 1e-3 * problem.unit)
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


def _row_of(problem):
    """The row of each pair."""
    return np.repeat(
        np.arange(len(problem.y)), np.diff(problem.pairs.indptr.astype(int))
    )


def _constraints(problem):
    X, (_, v, place) = problem.X.astype(np.float64), problem.pairs
    (n, d), m, row = X.shape, len(v), _row_of(problem)
    pair = np.arange(X.nnz) if place is None else place.astype(int)
    scores = sp.csr_array((X.data, (pair, X.indices)), shape=(m, d))
    own_row = sp.csr_array((np.ones(m), (row, np.arange(m))), shape=(n, m))
    eye = sp.eye_array(n)
    losses, rents = [], []
    for k, slope in enumerate(problem.slopes):
        blank = [None] * len(problem.slopes)
        budget, lost, value, gain = list(blank), list(blank), list(blank), list(blank)
        budget[k], lost[k] = -problem.limit * eye, -own_row
        value[k], gain[k] = sp.csr_array(own_row.T * v[:, None]), sp.eye_array(m)
        losses.append([X * slope[:, None], slope[:, None], eye, *budget, *lost])
        rents.append([scores * -slope[row][:, None], None, None, *value, *gain])
    matrix = sp.block_array([*losses, *rents], format="csc")
    floor = np.tile(-problem.price * v, len(problem.slopes))
    return matrix, np.concatenate([problem.offsets(0.0).ravel(), floor])
