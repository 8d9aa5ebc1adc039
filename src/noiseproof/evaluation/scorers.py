"""Scorers that tune a model for the noise to come."""

from __future__ import annotations

from typing import Any

from sklearn.base import BaseEstimator

from noiseproof._docs import shared_docs
from noiseproof.evaluation.curves import robustness_curve


@shared_docs
class PerturbedScorer(BaseEstimator):
    """A scorer for `GridSearchCV` that perturbs the rows held out.

    So a grid search picks the parameters that are best once features die. The rows it
    trains on stay clean. With the default seed, all candidates of a search lose
    the same features of the same rows. A scorer can be cloned and pickled.

    Parameters
    ----------
    {perturb, level, scoring, groups, n_repeats, any random_state}
        None draws anew at each call, so that candidates also differ by chance.
    {deleted_as, space}

    {See Also: contest, robustness_curve}

    Examples
    --------
    >>> from sklearn.datasets import load_digits
    >>> from sklearn.model_selection import GridSearchCV
    >>> from noiseproof import DropoutSVC
    >>> from noiseproof.evaluation import perturbed_scorer
    >>> X, y = load_digits(return_X_y=True)
    >>> search = GridSearchCV(
    ...     DropoutSVC(C=10.0),
    ...     {"noise": [0.01, 0.1, 0.9]},
    ...     scoring=perturbed_scorer("delete", 0.5),
    ...     cv=3,
    ... )
    >>> search.fit(X / 16, y).best_params_
    {'noise': 0.1}
    """

    def __init__(
        self,
        perturb: Any,
        level: float,
        scoring: Any = "accuracy",
        *,
        groups: Any = None,
        n_repeats: int = 1,
        random_state: Any = 0,
        deleted_as: str = "zero",
        space: str = "input",
    ):
        self.perturb = perturb
        self.level = level
        self.scoring = scoring
        self.groups = groups
        self.n_repeats = n_repeats
        self.random_state = random_state
        self.deleted_as = deleted_as
        self.space = space

    def __call__(self, estimator: Any, X: Any, y: Any) -> float:
        """Mean score of a fitted estimator on X, perturbed.

        Parameters
        ----------
        estimator : model
            A fitted model with `predict`.
        {held out X, true y}

        Returns
        -------
        score : float
            Mean over the repeats.
        """
        curve = robustness_curve(
            {"model": estimator},
            *(X, y, self.perturb, [self.level]),
            groups=self.groups,
            scoring=self.scoring,
            n_repeats=self.n_repeats,
            random_state=self.random_state,
            deleted_as=self.deleted_as,
            space=self.space,
            progress=False,
        )
        return float(curve.mean[0, 0])


perturbed_scorer = PerturbedScorer  # called like scikit-learn's make_scorer
