"""scikit-learn: liblinear, and the solvers of its logistic regression."""

from __future__ import annotations

import warnings

from benchopt import BaseSolver
from sklearn.linear_model import LogisticRegression
from sklearn.svm import LinearSVC


class Solver(BaseSolver):
    name = "scikit-learn"
    parameters = {"solver": ["liblinear", "lbfgs", "newton-cg", "newton-cholesky"]}
    sampling_strategy = "tolerance"

    def skip(self, X, y, loss, rate, C):
        if rate:
            return True, "knows no noise"
        if loss == "hinge" and self.solver != "liblinear":
            return True, "has no hinge loss"
        if self.solver == "newton-cholesky" and X.shape[1] > 1000:
            return True, "forms a matrix of features by features"
        return False, None

    def set_objective(self, X, y, loss, rate, C):
        self.X, self.y = X, y
        options = {"C": C, "fit_intercept": False, "max_iter": 100_000}
        if loss == "hinge":
            self.model = LinearSVC(loss="hinge", random_state=0, **options)
        else:
            self.model = LogisticRegression(solver=self.solver, **options)

    def run(self, tolerance):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            self.model.set_params(tol=max(tolerance, 1e-13)).fit(self.X, self.y)

    def get_result(self):
        return dict(w=self.model.coef_[0].astype(float))
