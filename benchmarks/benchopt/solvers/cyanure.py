"""Cyanure: variance-reduced gradient descent, accelerated."""

from __future__ import annotations

import warnings

import numpy as np
from benchopt import BaseSolver
from cyanure.estimators import Classifier


class Solver(BaseSolver):
    name = "cyanure"
    requirements = ["pip::cyanure"]
    sampling_strategy = "tolerance"

    def skip(self, X, y, loss, rate, C):
        if rate:
            return True, "knows no noise"
        return loss == "hinge", "smooths the hinge loss"

    def set_objective(self, X, y, loss, rate, C):
        self.X, self.y = X, y
        self.options = {"loss": loss, "penalty": "l2", "fit_intercept": False}
        self.options |= {"lambda_1": 1 / (C * len(y)), "max_iter": 100_000}
        self.options |= {"verbose": False}

    def run(self, tolerance):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            self.model = Classifier(tol=max(tolerance, 1e-13), **self.options)
            self.model.fit(self.X, self.y)

    def get_result(self):
        return dict(w=np.ravel(self.model.coef_).astype(float))
