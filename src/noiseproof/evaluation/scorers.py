"""Scorers that tune a model for expected perturbations, or for certified accuracy."""

from __future__ import annotations

from typing import Any

from sklearn.base import BaseEstimator

from noiseproof._docs import shared_docs
from noiseproof.evaluation.certificates import certify
from noiseproof.evaluation.curves import robustness_curve


@shared_docs
class PerturbedScorer(BaseEstimator):
    """A scorer for `GridSearchCV` that perturbs the held-out rows.

    With it, a grid search picks the parameters that are best when features are missing,
    noisy or attacked. Training rows stay as they are. With the default seed, all
    candidates of a search lose the same features of the same rows. A scorer can be
    cloned and pickled.

    Parameters
    ----------
    {perturb, level, scoring, groups, n_repeats, any random_state}
        With None, each call draws anew, so that candidates also differ by chance.
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
        scoring: Any = None,
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
        """Compute the mean score of a fitted estimator on perturbed X.

        Parameters
        ----------
        estimator : model
            A fitted model with `predict`.
        {held out X, true y}

        Returns
        -------
        score : float
            Mean score over the repeats.
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


@shared_docs
class CertifiedScorer(BaseEstimator):
    """A scorer for `GridSearchCV`: the certified accuracy at a budget.

    With it, a grid search picks the parameters with the highest certified accuracy on
    held-out rows, such as the partition and the vote of a `PartitionEnsemble`. It works
    for every model that `certify` accepts. If the score is at least 0.5, half of the
    rows are predicted correctly after every change within the budget.

    Parameters
    ----------
    budget : float
        Total value of the features that may be changed or deleted.
    missing : bool, default=False
        For a voting ensemble: whether features go missing instead of being set to other
        values.
    {tolerance, space}

    {See Also: certify, PartitionEnsemble}

    Examples
    --------
    >>> from sklearn.datasets import load_digits
    >>> from sklearn.model_selection import GridSearchCV
    >>> from noiseproof import PartitionEnsemble
    >>> from noiseproof.evaluation import certified_scorer
    >>> X, y = load_digits(return_X_y=True)
    >>> search = GridSearchCV(
    ...     PartitionEnsemble(n_parts=11),
    ...     {"vote": ["majority", "pairwise", "run-off"]},
    ...     scoring=certified_scorer(2),
    ...     cv=2,
    ... )
    >>> search.fit(X / 16, y).best_params_
    {'vote': 'pairwise'}
    """

    def __init__(
        self,
        budget: float,
        *,
        missing: bool = False,
        tolerance: Any = None,
        space: str = "input",
    ):
        self.budget = budget
        self.missing = missing
        self.tolerance = tolerance
        self.space = space

    def __call__(self, estimator: Any, X: Any, y: Any) -> float:
        """Compute the certified accuracy of a fitted estimator on X.

        Parameters
        ----------
        estimator : model
            A fitted model that `certify` accepts.
        {held out X, true y}

        Returns
        -------
        score : float
            Share of rows that are correct, and stay so within the budget.
        """
        found = certify(estimator, X, y, space=self.space, tolerance=self.tolerance)
        return float(found.accuracy_at(self.budget, missing=self.missing))


certified_scorer = CertifiedScorer
