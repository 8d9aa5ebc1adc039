"""SciPy's L-BFGS, scaled by the diagonal of the Hessian at the start."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy.optimize import Bounds
from scipy.optimize import minimize as scipy_minimize

from noiseproof._marginal.conjugate_gradient import newton_gain
from noiseproof._marginal.objective import Objective, Solution
from noiseproof._marginal.plan import Plan
from noiseproof._rows import Array
from noiseproof._stop import Stop

_CHECK = 0.25  # the suboptimality is measured when the gradient's norm² fell by this
# Measuring takes about ten passes, so it is not done before the gain that the scaled
# gradient predicts is below this multiple of the tolerance. That saves a quarter of the
# time on books and kitchen
_NEAR = 100.0


def lbfgs(start: Objective, plan: Plan, stop: Stop) -> Solution:
    """Run one L-BFGS on the sum over all classes, so that a pass serves all of them."""
    run = _Run(start, plan, stop)
    outcome = scipy_minimize(
        run.evaluate,
        (start.theta * run.scale).ravel(),
        jac=True,
        method="L-BFGS-B",
        bounds=run.bounds(),
        callback=run.after_step,
        options={
            "maxiter": stop.max_iter,
            "maxfun": 20 * stop.max_iter,
            "maxcor": 20,
            "ftol": 0.0,
            "gtol": 0.0,
        },
    )
    point = run.point_at(outcome.x)
    converged = run.reached or (not run.stopped and run.measure(point))
    return Solution(point, max(1, outcome.nit), converged, run.stopped)


class _Run:
    """The state of one minimisation between SciPy's calls."""

    def __init__(self, start: Objective, plan: Plan, stop: Stop):
        self.plan, self.stop = plan, stop
        self.latest = start
        # the penalty gives each weight some curvature, but the intercept has none where
        # a kinked loss is flat; there its first step is as long as the kink is wide,
        # since a line search from far beyond the kinks would fail
        diagonal = np.abs(start.hessian().diagonal)
        least = np.full_like(diagonal, 1e-8 * np.median(diagonal))
        if plan.in_stages:
            least = np.maximum(least, np.abs(start.gradient) / start.loss.kink_width)
        floor = np.where(start.penalized, 1.0, least)
        self.scale = np.sqrt(np.maximum(diagonal, floor))
        self.steps = 0
        self.reached = self.stopped = False
        self.norm2_at_check = np.inf

    def point_at(self, x: Array) -> Objective:
        theta = x.reshape(self.latest.shape) / self.scale
        if not np.array_equal(theta, self.latest.theta):
            self.latest = self.latest.at(theta)
        return self.latest

    def evaluate(self, x: Array) -> tuple[float, Array]:
        point = self.point_at(x)
        return float(point.value.sum()), (point.gradient / self.scale).ravel()

    def bounds(self) -> Bounds | None:
        """Return a box slightly inside the one in which the objective is finite."""
        if np.all(np.isinf(self.latest.bound)):
            return None
        limit = np.full(self.latest.shape, np.inf)
        d = self.latest.shape[1] - self.latest.fit_intercept
        limit[:, :d] = (1 - 1e-6) * np.asarray(self.latest.bound)
        box = (limit * self.scale).ravel()
        return Bounds(-box, box)

    def after_step(self, intermediate_result: Any) -> None:
        point = self.point_at(intermediate_result.x)
        self.steps += 1
        gradient2 = np.sum((point.gradient / self.scale) ** 2, axis=1)
        norm2 = float(gradient2.sum())
        relative = 0.5 * gradient2 / point.size
        near = np.all(relative <= _NEAR * self.stop.tol)
        if near and norm2 <= _CHECK * self.norm2_at_check:
            self.norm2_at_check = norm2
            self.reached = self.measure(point)
        self.stopped = self.stop.tell(self.steps, point.value, relative, point.theta)
        if self.reached or self.stopped:
            raise StopIteration

    def measure(self, point: Objective) -> bool:
        left = newton_gain(point, self.plan.is_convex)
        return bool(point.is_small(left, self.stop.tol).all())
