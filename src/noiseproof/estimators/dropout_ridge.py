"""Ridge regression under noise."""

from __future__ import annotations

from typing import Any

from noiseproof.estimators.marginal import MarginalRegressor


class DropoutRidge(MarginalRegressor):
    """Ridge regression trained on infinitely many corrupted copies of the data.

    Minimises

        ½ ‖w‖² + C Σ_i s_i E[½ (w·x~_i + b - y_i)²]

    where x~ is x after noise: the Gaussian GLM of Wager et al. 2013, exact for every
    noise. Without noise it is ridge regression with alpha = 1 / C.

    Parameters
    ----------
    noise : float, "auto", dict, Noise or None, default=0.5
        What may happen to a feature after training: a number is the rate of
        `noiseproof.noise.Dropout`, "auto" a rate from the numbers of rows and
        features, a dictionary has rates by name, and None means no noise.
    C : float, default=1.0
        Weight of the data against the penalty.
    fit_intercept : bool, default=True
        Whether to fit an intercept, which is neither penalised nor noised.
    solver : {"newton", "lbfgs", "irls"}, default="newton"
        How to minimise. All reach the same optimum; "irls" is the papers' own
        algorithm.
    tol : float, default=1e-6
        Relative accuracy of the objective: the solver stops when what a Newton step
        could still gain is below `tol` times the objective.
    max_iter : int, default=1000
        Steps allowed before a `ConvergenceWarning`.
    warm_start : bool, default=False
        Whether to start from the last solution.
    unlabeled_weight : float, default=0.4
        What a row of `X_unlabeled` counts in the noising penalty against a labelled
        one, the paper's α.
    missing : {"allow", "warn", "error"}, default="allow"
        What to do with NaN in X, which means that the feature is not there and adds
        nothing to the score: allow it, warn where the feature was never missing in
        training, or refuse it.
    verbose : int, default=0
        Whether to print a line per step.

    Attributes
    ----------
    coef_ : array of shape (n_features,)
        Weights.
    intercept_ : float
        Intercept.
    objective_ : float
        The minimised value.
    n_iter_ : int
        Steps taken.
    noise_ : Noise
        The noise that was trained for, with its rate.
    missing_in_training_ : array of bool of shape (n_features,)
        Which features were missing in some training row.

    See Also
    --------
    DropoutPoissonRegressor : For counts.
    DropoutRidgeClassifier : The same loss for classes.
    penalty : The penalty that noise amounts to.

    References
    ----------
    S. Wager, S. Wang and P. Liang, "Dropout training as adaptive regularization",
    Advances in Neural Information Processing Systems, 2013.

    Examples
    --------
    >>> from sklearn.datasets import load_diabetes
    >>> from noiseproof import DropoutRidge
    >>> X, y = load_diabetes(return_X_y=True)
    >>> model = DropoutRidge(noise=0.1, C=100.0).fit(X, y)
    >>> round(model.score(X, y), 2)
    0.51
    """

    _loss = "quadratic"

    def __init__(
        self,
        noise: Any = 0.5,
        *,
        C: float = 1.0,
        fit_intercept: bool = True,
        solver: str = "newton",
        tol: float = 1e-6,
        max_iter: int = 1000,
        warm_start: bool = False,
        unlabeled_weight: float = 0.4,
        missing: str = "allow",
        verbose: int = 0,
    ):
        self.noise = noise
        self.C = C
        self.fit_intercept = fit_intercept
        self.solver = solver
        self.tol = tol
        self.max_iter = max_iter
        self.warm_start = warm_start
        self.unlabeled_weight = unlabeled_weight
        self.missing = missing
        self.verbose = verbose
