"""IBM's Snap ML, by coordinate descent."""

from __future__ import annotations

import numpy as np
from benchopt import BaseSolver
from snapml import LogisticRegression, SupportVectorMachine


class Solver(BaseSolver):
    name = "snapml"
    parameters = {"n_jobs": [2]}
    requirements = ["pip::snapml"]
    sampling_strategy = "tolerance"

    def skip(self, X, y, loss, rate, C):
        return bool(rate), "knows no noise"

    def set_objective(self, X, y, loss, rate, C):
        kind = {"logistic": LogisticRegression, "hinge": SupportVectorMachine}[loss]
        self.X, self.y = X, y
        self.options = {"regularizer": 1 / C, "fit_intercept": False}
        self.options |= {"n_jobs": self.n_jobs, "max_iter": 100_000}
        self.kind = kind

    def run(self, tolerance):
        self.model = self.kind(tol=max(tolerance, 1e-13), **self.options)
        self.model.fit(self.X, self.y)

    def get_result(self):
        return dict(w=np.ravel(self.model.coef_).astype(float))
