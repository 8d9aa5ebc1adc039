"""Ours, with each of its solvers."""

from __future__ import annotations

import warnings

from benchopt import BaseSolver

from noiseproof import DropoutLogisticRegression, DropoutSVC

MODELS = {"logistic": DropoutLogisticRegression, "hinge": DropoutSVC}


class Solver(BaseSolver):
    name = "noiseproof"
    parameters = {"solver": ["newton"]}  # or "lbfgs", "irls"
    sampling_strategy = "tolerance"

    def set_objective(self, X, y, loss, rate, C):
        self.X, self.y = X, y
        self.model = MODELS[loss](
            rate, C=C, fit_intercept=False, solver=self.solver, max_iter=100_000
        )

    def warm_up(self):  # loads compiled code
        self.run(1.0)

    def run(self, tolerance):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            self.model.set_params(tol=max(tolerance, 1e-13)).fit(self.X, self.y)

    def get_result(self):
        return dict(w=self.model.coef_[0].astype(float))
