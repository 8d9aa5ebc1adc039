"""The mathematics once more, naively, and minima by other people's solvers.

For a noise or loss whose formula is not here its own one stands in: the contract tests
hold that one to samples and differences, so sums over rows can be compared with it.
"""

import warnings

import cvxpy as cp
import numpy as np
from scipy.optimize import minimize
from scipy.stats import norm

from noiseproof._marginal.cumulant import CumulantLoss
from noiseproof._marginal.losses import LOSSES, expectations
from noiseproof.noise import NOISES

_NODES, _NODE_WEIGHTS = np.polynomial.hermite_e.hermegauss(120)
_NODE_WEIGHTS = _NODE_WEIGHTS / _NODE_WEIGHTS.sum()


class _Formulas(dict):
    """Formulas by name, and a function that makes those that are not listed."""

    def __init__(self, otherwise, formulas):
        super().__init__(formulas)
        self._otherwise = otherwise

    def __missing__(self, name):
        return self._otherwise(name)


def _plain(name):
    return LOSSES[name, expectations(name)[0]]().plain


def _variance(name):
    def variance(level, x):
        constant, scale, power = NOISES[name]().at(level).variance_law()
        return constant + scale * x**power

    return variance


def _cgf(name):
    return lambda level, x, t: NOISES[name]().at(level).cumulants(x, t).value


def _row(key):
    loss = LOSSES[key]()
    if isinstance(loss, CumulantLoss):
        return lambda y, m, v, K: loss.value(K(loss.slope(y))) + loss.linear(y) * m
    return lambda y, m, v, K: loss.value(y, m, v)


TEXTBOOK = _Formulas(
    _plain,
    {
        "hinge": lambda y, score: np.maximum(0, 1 - y * score),
        "logistic": lambda y, score: np.logaddexp(0, -y * score),
        "quadratic": lambda y, score: 0.5 * (y - score) ** 2,
        "exponential": lambda y, score: np.exp(-y * score),
        "poisson": lambda y, score: np.exp(score) - y * score,
    },
)

VARIANCE = _Formulas(
    _variance,
    {
        "dropout": lambda q, x: q / (1 - q) * x**2,
        "gaussian": lambda s, x: s**2 + 0 * x,
        "laplace": lambda s, x: 2 * s**2 + 0 * x,
        "poisson": lambda s, x: s * x,
    },
)

CGF = _Formulas(
    _cgf,
    {
        "dropout": lambda q, x, t: np.log(q + (1 - q) * np.exp(t * x / (1 - q))),
        "gaussian": lambda s, x, t: t * x + s**2 * t**2 / 2,
        "laplace": lambda s, x, t: t * x - np.log(1 - s**2 * t**2),
        "poisson": lambda s, x, t: x / s * (np.exp(s * t) - 1),
    },
)


def _hinge_gaussian(y, m, v, K):
    z, sigma = 1 - y * m, np.sqrt(v)
    return z * norm.cdf(z / sigma) + sigma * norm.pdf(z / sigma)


def _logistic_gaussian(y, m, v, K):
    scores = m[..., None] + np.sqrt(v)[..., None] * _NODES
    return np.logaddexp(0, -y[..., None] * scores) @ _NODE_WEIGHTS


def _sigmoid_variance(m):
    return 0.25 / np.cosh(m / 2) ** 2


# The table of DESIGN.md section 2; K is a function of the slope c
ROW = _Formulas(
    _row,
    {
        ("hinge", "variational"): lambda y, m, v, K: (
            0.5 * (1 - y * m + np.sqrt((1 - y * m) ** 2 + v))
        ),
        ("hinge", "gaussian"): _hinge_gaussian,
        ("logistic", "variational"): lambda y, m, v, K: (
            np.log(2 * np.cosh(np.sqrt(m**2 + v) / 2)) - y * m / 2
        ),
        ("logistic", "jensen"): lambda y, m, v, K: np.log(1 + np.exp(K(-y))),
        ("logistic", "taylor"): lambda y, m, v, K: (
            np.log(1 + np.exp(-y * m)) + _sigmoid_variance(m) * v / 2
        ),
        ("logistic", "gaussian"): _logistic_gaussian,
        ("quadratic", "exact"): lambda y, m, v, K: ((m - y) ** 2 + v) / 2,
        ("exponential", "exact"): lambda y, m, v, K: np.exp(K(-y)),
        ("poisson", "exact"): lambda y, m, v, K: np.exp(K(np.ones_like(y))) - y * m,
        ("poisson", "taylor"): lambda y, m, v, K: np.exp(m) * (1 + v / 2) - y * m,
    },
)


def name_of(noise):
    return next(name for name, law in NOISES.items() if type(noise) is law)


def _grouped(noise, X, w):
    """Score of each row by group, and the level of each group."""
    labels, level = noise.group_labels(X.shape[1]), np.asarray(noise.level)
    member = labels[:, None] == np.arange(labels.max() + 1)
    return (X * w) @ member, np.broadcast_to(level, X.shape[1])[member.argmax(axis=0)]


def row_losses(key, noise, X, y, w, b, extra_variance=0.0):
    """Expected loss of each row, entry by entry and dense."""
    name, level = name_of(noise), np.asarray(noise.level)
    if noise.group_labels(X.shape[1]) is not None:
        # the score of a group is a feature of weight 1 that is lost by itself
        scores, q = _grouped(noise, X, w)
        v = VARIANCE[name](q, scores).sum(axis=1) + extra_variance
        return ROW[key](
            *(y, X @ w + b, v),
            lambda c: c * b + CGF[name](q, scores, c[:, None]).sum(axis=1),
        )
    v = VARIANCE[name](level, X) @ w**2 + extra_variance

    def K(c):
        return c * b + CGF[name](level, X, c[:, None] * w).sum(axis=1)

    return ROW[key](y, X @ w + b, v, K)


def objective(key, noise, X, y, c, theta, fit_intercept, extra_variance=0.0):
    """½ ‖w‖² + Σ c_i E[loss_i] for one class."""
    w, b = (theta[:-1], theta[-1]) if fit_intercept else (theta, 0.0)
    return 0.5 * w @ w + c @ row_losses(key, noise, X, y, w, b, extra_variance)


def minimum(key, noise, X, y, c, fit_intercept):
    """Smallest objective, by CLARABEL where the loss is conic, else by BFGS."""
    conic = key in CONIC_ROW and name_of(noise) in CONIC_CGF
    solve = _conic if conic else _smooth
    return solve(key, noise, X, y, c, fit_intercept)


def _smooth(key, noise, X, y, c, fit_intercept):
    def value(theta):
        return objective(key, noise, X, y, c, theta, fit_intercept)

    rng = np.random.default_rng(0)
    starts = 0.1 * rng.normal(size=(2, X.shape[1] + fit_intercept))
    # central differences are good to 1e-10, so the value is good to far more
    runs = [minimize(value, start, method="BFGS", jac="3-point") for start in starts]
    best, other = sorted(run.fun for run in runs)
    assert other - best <= 1e-9 * abs(best), "the reference itself is in doubt"
    return best


# DCP expressions of log E exp(t x~), t affine in w
CONIC_CGF = {
    "dropout": lambda q, x, t: (
        np.log(q) + cp.logistic(cp.multiply(x / (1 - q), t) + np.log(1 / q - 1))
    ),
    "gaussian": lambda s, x, t: cp.multiply(x, t) + cp.square(cp.multiply(s, t)) / 2,
    "laplace": lambda s, x, t: (
        cp.multiply(x, t) - cp.log(1 - cp.square(cp.multiply(s, t)))
    ),
    "poisson": lambda s, x, t: cp.multiply(x / s, cp.exp(cp.multiply(s, t)) - 1),
}


def _conic_hinge(y, m, deviations, K):
    z = 1 - cp.multiply(y, m)
    return (z + cp.norm(cp.hstack([z[:, None], deviations]), axis=1)) / 2, []


def _conic_logistic(y, m, deviations, K):
    # log(2 cosh(s/2)) grows with s >= 0, so s may be any number above the norm
    s = cp.Variable(len(y))
    above = s >= cp.norm(cp.hstack([m[:, None], deviations]), axis=1)
    return cp.logistic(s) - s / 2 - cp.multiply(y, m) / 2, [above]


CONIC_ROW = {
    ("hinge", "variational"): _conic_hinge,
    ("logistic", "variational"): _conic_logistic,
    ("logistic", "jensen"): lambda y, m, deviations, K: (cp.logistic(K(-y)), []),
    ("quadratic", "exact"): lambda y, m, deviations, K: (
        (cp.square(m - y) + cp.sum(cp.square(deviations), axis=1)) / 2,
        [],
    ),
    ("exponential", "exact"): lambda y, m, deviations, K: (cp.exp(K(-y)), []),
    ("poisson", "exact"): lambda y, m, deviations, K: (
        cp.exp(K(np.ones_like(y))) - cp.multiply(y, m),
        [],
    ),
}


def _conic(key, noise, X, y, c, fit_intercept):
    n, d = X.shape
    name, level = name_of(noise), np.broadcast_to(noise.level, (n, d))
    w, b = cp.Variable(d), cp.Variable()
    m = X @ w + b
    deviations = np.sqrt(VARIANCE[name](level, X)) @ cp.diag(w)
    labels = noise.group_labels(d)
    if labels is not None:
        member = (labels[:, None] == np.arange(labels.max() + 1)).astype(float)
        level = level[:, member.argmax(axis=0)]
        scores = (X @ cp.diag(w)) @ member
        deviations = cp.multiply(np.sqrt(level / (1 - level)), scores)

    def K(signs):
        if labels is not None:
            t = np.diag(signs) @ scores
            return signs * b + cp.sum(CONIC_CGF[name](level, 1.0, t), axis=1)
        t = np.outer(signs, np.ones(d)) @ cp.diag(w)
        return signs * b + cp.sum(CONIC_CGF[name](level, X, t), axis=1)

    rows, constraints = CONIC_ROW[key](y, m, deviations, K)
    if not fit_intercept:
        constraints = [*constraints, b == 0]
    size = (
        c.sum()
    )  # the solver's tolerances are partly absolute: give it a value near 1
    goal = cp.Minimize(cp.sum_squares(w) / (2 * size) + (c / size) @ rows)
    return size * solve_conic(cp.Problem(goal, constraints))


def clean_svm(X, y, c):
    """½ ‖w‖² + Σ c_i max(0, 1 - y_i (w·x_i + b)), an exact quadratic program."""
    w, b = cp.Variable(X.shape[1]), cp.Variable()
    hinge = cp.pos(1 - cp.multiply(y, X @ w + b))
    size = c.sum()
    goal = cp.Minimize(cp.sum_squares(w) / (2 * size) + (c / size) @ hinge)
    return size * solve_conic(cp.Problem(goal))


def solve_conic(problem):
    """Optimal value by CLARABEL, as accurate as it gets."""
    accuracy = dict.fromkeys(("tol_gap_abs", "tol_gap_rel", "tol_feas"), 1e-10)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)  # it may not get quite there
        return problem.solve(solver="CLARABEL", **accuracy)
