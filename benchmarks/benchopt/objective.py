"""½ ‖w‖² + C Σ_i E[loss(y_i, w·x~_i)] without intercept, so that peers can follow.

Peers minimise it at rate 0 only. Our curves at other rates show what the same accuracy
costs under noise.
"""

from __future__ import annotations

import numpy as np
from benchopt import BaseObjective

from noiseproof._marginal import Problem, make_loss
from noiseproof._rows import as_design
from noiseproof.noise import Dropout


class Objective(BaseObjective):
    name = "Linear classifier under dropout"
    min_benchopt_version = "1.5"
    requirements = ["pip::noiseproof"]
    parameters = {
        "loss": ["logistic", "hinge"],
        "rate": [0.0, 0.5, 0.9],
        "C": [0.1],
    }
    test_config = {"dataset": {"name": "tall", "rows": 300, "features": 5}}

    def set_data(self, X, y):
        self.X, self.y = X, y

    def get_objective(self):
        return dict(X=self.X, y=self.y, loss=self.loss, rate=self.rate, C=self.C)

    def evaluate_result(self, w):
        problem = Problem(
            as_design(self.X),
            self.y[None, :].astype(float),
            np.full(len(self.y), self.C),
            Dropout(self.rate),
            make_loss(self.loss, "variational"),
            fit_intercept=False,
        )
        return dict(value=float(problem.objective().at(w[None, :]).value[0]))

    def get_one_result(self):
        return dict(w=np.zeros(self.X.shape[1]))
