"""Proofs for any classifier: each feature has a say in one vote only."""

from __future__ import annotations

from collections.abc import Iterator
from numbers import Integral
from typing import Any, ClassVar, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import linear_sum_assignment
from sklearn.base import (
    BaseEstimator,
    ClassifierMixin,
    MetaEstimatorMixin,
    clone,
    is_classifier,
)
from sklearn.utils import check_random_state, get_tags
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.parallel import Parallel, delayed
from sklearn.utils.validation import check_is_fitted, validate_data

from noiseproof._docs import shared_docs
from noiseproof._private import HasMethods, Interval, StrOptions, check_parameters
from noiseproof._rows import (
    READ,
    DenseBlock,
    as_dense,
    as_design,
    canonical,
    has_missing,
    missing_entries,
    read_training,
    values,
    with_values,
    zero_missing,
)
from noiseproof.estimators.dropout_logistic import DropoutLogisticRegression
from noiseproof.estimators.meta import passed_weights
from noiseproof.groups import Groups

Array = NDArray[np.float64]
Columns = NDArray[np.intp]

ABSTAINS = -1  # in place of the number of a class
_WIDE = 2_000  # groups of which not all pairs are compared


class VoteCertificates(NamedTuple):
    """What `PartitionEnsemble.certify_votes` has proven, one number a row."""

    budget: Array  # no change of fewer features changes the prediction
    deletion_budget: Array  # no deletion (NaN) of fewer features does
    unit: str  # "features" or "groups": what is counted
    prediction: NDArray[Any]  # class labels, as `predict` gives them


@shared_docs
class PartitionEnsemble(MetaEstimatorMixin, ClassifierMixin, BaseEstimator):
    """Split the features into parts, fit a classifier on each, and let them vote.

    A feature belongs to one part, so whatever happens to it changes one vote at most.
    From the votes of a row follows a proof, for trees as for any other classifier, of
    how many features must change before the prediction can: see `certify_votes` and
    `noiseproof.evaluation.certify`.

    **The vote.** The class with the most votes wins; of several, the one that comes
    first in `classes_`. If nobody votes, that is the first class of all. With
    `vote="pairwise"` each part ranks all classes by its probabilities; a class is worth
    the number of parts that prefer it to its strongest rival, and the largest wins.
    With three classes or more this is often right where each part alone is often wrong,
    and proves more.

    **The parts.** A feature's score is the share of its variance that lies between the
    classes (η², which ranks features as the F statistic does), of the training cells
    that are not missing; the score of a group is the sum of its members'. The best
    come first, and are dealt like cards, one for each part in every round, so that
    they have as little as possible in common with what the part holds: the sum of
    squared correlations is the least that a round can have. (If features have nothing
    but the class in common, so that the part with the lowest total gets the best card,
    and this is how more than 2,000 features or groups are dealt.) Parts have equally
    many features (groups), give or take one, and their totals differ by no more than
    the highest single score.

    Parameters
    ----------
    estimator : classifier, default=None
        What to fit on each part; None means plain logistic regression.
    n_parts : int, default=5
        Number of parts. More parts can outvote more changes, but each knows less. An
        odd number avoids ties of two classes. At most one part per feature (group) is
        made.
    {groups}
        A group stays in one part, and certificates count groups.
    random_state : int, RandomState instance or None, default=None
        Seed of the estimators that take one; None leaves their own.
    on_missing : {"abstain", "estimator"}, default="abstain"
        What a part does in a row where some of its cells are missing (NaN). With
        "abstain" it does not vote, so that a deletion costs a vote and cannot give it
        to a rival. With "estimator" the estimator decides, if it accepts NaN: nothing
        is proven then that does not hold for arbitrary changes. A part whose cells are
        all missing abstains in any case. It learns from the rows on which it votes.
    n_jobs : int or None, default=None
        How many parts are fitted at a time.
    vote : {"majority", "pairwise"}, default="majority"
        Whether each part has one vote, or ranks the classes, for which the estimator
        needs `predict_proba`. With two classes there is no difference.

    Attributes
    ----------
    parts_ : list of arrays of int
        Column numbers of each part.
    estimators_ : list of classifiers
        Fitted, one per part.
    {classes_}

    See Also
    --------
    noiseproof.evaluation.certify : Certificates from the votes.
    noiseproof.evaluation.conformal_sets : Sets that contain the true answer.

    References
    ----------
    Z. Hammoudeh and D. Lowd, "Provable robustness against a union of ℓ0 adversarial
    attacks", AAAI Conference on Artificial Intelligence, 2024.

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> from sklearn.tree import DecisionTreeClassifier
    >>> from noiseproof import PartitionEnsemble
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> tree = DecisionTreeClassifier(max_depth=3)
    >>> model = PartitionEnsemble(tree, 9, random_state=0).fit(X[::2], y[::2])
    >>> round(model.score(X[1::2], y[1::2]), 2)
    0.94
    >>> certified = model.certify_votes(X[1:8:2])
    >>> certified.budget, certified.deletion_budget
    (array([5., 2., 1., 1.]), array([inf,  3.,  2.,  2.]))
    """

    _parameter_constraints: ClassVar[dict[str, Any]] = {
        "estimator": [HasMethods(["fit", "predict"]), None],
        "n_parts": [Interval(Integral, 1, None, closed="left")],
        "groups": "no_validation",
        "random_state": ["random_state"],
        "on_missing": [StrOptions({"abstain", "estimator"})],
        "n_jobs": [Integral, None],
        "vote": [StrOptions({"majority", "pairwise"})],
    }

    def __init__(
        self,
        estimator: Any = None,
        n_parts: int = 5,
        groups: Any = None,
        random_state: Any = None,
        on_missing: str = "abstain",
        n_jobs: int | None = None,
        vote: str = "majority",
    ):
        self.estimator = estimator
        self.n_parts = n_parts
        self.groups = groups
        self.random_state = random_state
        self.on_missing = on_missing
        self.n_jobs = n_jobs
        self.vote = vote

    def _base(self) -> Any:
        if self.estimator is None:
            return DropoutLogisticRegression(None)
        return self.estimator

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Deal the features to parts, and fit a clone of the estimator on each.

        {(X, y, sample_weight) -> self}
        """
        check_parameters(self)
        base = self._base()
        if not is_classifier(base):
            raise TypeError(
                f"PartitionEnsemble needs a classifier; {type(base).__name__} is not "
                "one."
            )
        if self.vote == "pairwise" and not hasattr(base, "predict_proba"):
            raise TypeError(
                f"vote='pairwise' needs predict_proba, which {type(base).__name__} "
                "does not have; use vote='majority'."
            )
        X, y = read_training(self, X, y)
        check_classification_targets(y)
        self.classes_, labels = np.unique(y, return_inverse=True)
        sample_weight = passed_weights(base, sample_weight, X)
        names = getattr(self, "feature_names_in_", [f"x{j}" for j in range(X.shape[1])])
        group = Groups.read(self.groups, list(names)).labels(X.shape[1])
        worth = separation(X, labels, sample_weight)
        scores = np.bincount(group, worth).astype(np.float64)
        alike = None if len(scores) > _WIDE else likeness(X, group, sample_weight)
        part = deal(scores, min(self.n_parts, len(scores)), alike)[group]
        self.parts_ = [np.flatnonzero(part == p) for p in range(part.max() + 1)]
        models = self._unfitted(base, len(self.parts_))
        self.estimators_ = Parallel(n_jobs=self.n_jobs, prefer="threads")(
            delayed(self._fit_part)(p, model, X, y, sample_weight)
            for p, model in enumerate(models)
        )
        return self

    def _unfitted(self, base: Any, n: int) -> list[Any]:
        """Clones of the estimator, each with a seed of its own if there is one."""
        models = [clone(base) for _ in range(n)]
        if self.random_state is None:
            return models
        rng = check_random_state(self.random_state)
        seeds = [name for name in base.get_params() if name.endswith("random_state")]
        for model in models:
            model.set_params(**{name: int(rng.randint(2**31)) for name in seeds})
        return models

    def _fit_part(self, p: int, model: Any, X: Any, y: Any, weights: Any) -> Any:
        """The model, fitted on a part's columns and on the rows it can vote on."""
        own, votes = self._part(p, model, X)
        if not votes.all():
            own, y = own[votes], y[votes]
            weights = None if weights is None else weights[votes]
        if len(np.unique(y)) < min(2, len(self.classes_)):
            raise ValueError(
                f"Part {p}, of {len(self.parts_[p])} features, has only {len(y)} "
                "training rows without missing cells, of fewer than 2 classes: impute "
                "cells before, take more parts, or use on_missing='estimator'."
            )
        options = {} if weights is None else {"sample_weight": weights}
        return model.fit(own, y, **options)

    def _part(self, p: int, model: Any, X: Any) -> tuple[Any, NDArray[np.bool_]]:
        """The columns of a part as its model reads them, and where it votes."""
        own = X[:, self.parts_[p]]
        if not get_tags(model).input_tags.sparse:
            own = as_dense(own)
        gone = np.asarray(missing_entries(own).sum(axis=1)).ravel()
        return own, gone < (own.shape[1] if self._reads_missing(model) else 1)

    def _reads_missing(self, model: Any) -> bool:
        """Whether a part votes though some of its cells are missing."""
        allowed = get_tags(model).input_tags.allow_nan
        return bool(self.on_missing == "estimator" and allowed)

    def votes(self, X: Any) -> NDArray[np.intp]:
        """What each part says.

        Parameters
        ----------
        {X}

        Returns
        -------
        votes : array of int of shape (n_samples, n_parts)
            Numbers of classes in `classes_`; -1 where a part abstains.
        """
        X = self._read(X)
        found = np.full((X.shape[0], len(self.parts_)), ABSTAINS, dtype=np.intp)
        for p, rows, said in self._answers(X, "predict"):
            found[rows, p] = np.searchsorted(self.classes_, said)
        return found

    def _read(self, X: Any) -> Any:
        check_is_fitted(self)
        return canonical(validate_data(self, X, reset=False, **READ))

    def _answers(self, X: Any, method: str) -> Iterator[tuple[int, Any, Any]]:
        """Each part, the rows that it votes on, and what it answers for them."""
        for p, model in enumerate(self.estimators_):
            own, votes = self._part(p, model, X)
            rows = np.flatnonzero(votes)
            if len(rows):
                own = own if votes.all() else own[rows]
                yield p, rows, getattr(model, method)(own)

    def _counts(self, X: Any) -> NDArray[np.intp]:
        """What each class is worth to the parts, (n_samples, n_classes)."""
        check_is_fitted(self)
        k = len(self.classes_)
        if self.vote == "majority":
            votes = self.votes(X)
            return np.stack([(votes == c).sum(axis=1) for c in range(k)]).T
        X = self._read(X)
        preferred = np.zeros((X.shape[0], k, k), dtype=np.intp)
        for p, rows, said in self._answers(X, "predict_proba"):
            chances = np.full((len(rows), k), -1.0)  # of a class it has never met
            known = np.searchsorted(self.classes_, self.estimators_[p].classes_)
            chances[:, known] = said
            preferred[rows] += preferences(chances)
        return preferred.min(axis=2)

    def predict(self, X: Any) -> Any:
        """The class with the most votes; of several the first in `classes_`.

        {(X) -> predictions}
        """
        winner = self._counts(X).argmax(axis=1)
        return self.classes_[winner]

    def predict_proba(self, X: Any) -> Array:
        """Share of the votes for each class; equal shares where no part votes.

        {(X) -> probabilities}
        """
        counts = self._counts(X)
        counts[counts.sum(axis=1) == 0] = 1
        return counts / counts.sum(axis=1, keepdims=True)

    def certify_votes(self, X: Any) -> VoteCertificates:
        """Find how many features must change before each prediction can.

        Whoever changes features of k parts decides k votes and no more. The proofs are
        in `docs/proofs.md`.

        Parameters
        ----------
        {X}

        Returns
        -------
        certificates : VoteCertificates
            `budget` for arbitrary changes, `deletion_budget` for cells that become NaN
            (at least as high), their `unit`, and the `prediction`.
        """
        counts = self._counts(X)
        budget = budget_of_changes(counts)
        deletion = budget_of_abstentions(counts)
        if any(map(self._reads_missing, self.estimators_)):
            # a part without one of its cells may say anything, but none speaks up anew
            deletion = np.where(counts.any(axis=1), budget, np.inf)
        unit = "features" if self.groups is None else "groups"
        prediction = self.classes_[counts.argmax(axis=1)]
        return VoteCertificates(budget, deletion, unit, prediction)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        tags.input_tags.allow_nan = True
        tags.classifier_tags.poor_score = True  # of two features, one part each: ties
        return tags


def separation(X: Any, labels: NDArray[np.intp], weights: Array | None) -> Array:
    """η² of each feature: the share of its variance that lies between the classes."""
    weights = np.ones(len(labels)) if weights is None else weights
    member = np.eye(labels.max() + 1)[labels] * weights[:, None]
    there = np.tile(member.sum(axis=0), (X.shape[1], 1))
    if has_missing(X):
        there -= np.asarray(missing_entries(X).T @ member)
    X = zero_missing(X).astype(np.float64)
    sums = np.asarray(X.T @ member)
    squares = np.asarray(with_values(X, values(X) ** 2).T @ weights)
    n = np.maximum(there.sum(axis=1), np.finfo(float).tiny)
    shift = sums.sum(axis=1) ** 2 / n
    between = (sums**2 / np.maximum(there, np.finfo(float).tiny)).sum(axis=1) - shift
    total = squares - shift
    varied = total > 1e-12 * squares  # what is left of a constant is rounding
    return np.where(varied, between / np.where(varied, total, 1.0), 0.0).clip(0, 1)


def likeness(X: Any, group: Columns, weights: Array | None) -> Array:
    """Squared correlations of the features of two groups, summed, for all pairs."""
    weights = np.ones(X.shape[0]) if weights is None else weights
    weights = weights / weights.sum()
    X = zero_missing(X).astype(np.float64)

    def products(block: DenseBlock) -> list[Array]:
        return [(block.x * weights[block.rows, None]).T @ block.x]

    mean, (gram,) = np.asarray(X.T @ weights), as_design(X).total(products)
    covariance = gram - np.outer(mean, mean)
    variance = covariance.diagonal()
    varied = variance > 1e-12 * gram.diagonal()  # else what is left is rounding
    scale = np.sqrt(np.where(varied, 1 / np.where(varied, variance, 1.0), 0.0))
    squared = (covariance * np.outer(scale, scale)) ** 2
    member = np.eye(group.max() + 1)[group]
    found = member.T @ np.nan_to_num(squared, posinf=0.0) @ member  # of huge numbers
    return np.round(found, 9)  # the order of adding must not decide


def deal(scores: Array, n_parts: int, alike: Array | None = None) -> Columns:
    """Deal what is scored to parts in rounds, so that parts hold different things.

    Equal scores are taken in their order. `alike` says what two groups have in common;
    None stands for the product of their scores: then the part with the lowest total
    gets the best of a round. Gives the part of each group.
    """
    scores = np.round(scores, 12)  # the order of adding must not decide
    order = np.argsort(-scores, kind="stable")
    part, total = np.empty(len(scores), dtype=np.intp), np.zeros(n_parts)
    shared = np.zeros((n_parts, 0 if alike is None else len(scores)))
    for first in range(0, len(order), n_parts):
        hand = order[first : first + n_parts]
        if alike is None:
            parts = np.argsort(total, kind="stable")[: len(hand)]
        else:
            parts = linear_sum_assignment(shared[:, hand].T)[1]
            shared[parts] += alike[hand]
        part[hand] = parts
        total[parts] += scores[hand]
    return part


def preferences(chances: Array) -> NDArray[np.bool_]:
    """Whether each class is likelier than each other, or as likely and comes first.

    From chances (n_samples, n_classes); True for a class and itself.
    """
    one, other = chances[:, :, None], chances[:, None, :]
    first = np.tri(chances.shape[1], dtype=bool).T
    return np.asarray((one > other) | ((one == other) & first))


def leads(counts: NDArray[np.intp]) -> Array:
    """Votes that each rival must gain on the winner to take its place.

    Rival r beats the winner w if it has more votes, or as many and comes first, so it
    must gain votes(w) - votes(r), and one more if w comes first: at least 1; `inf`
    stands for the winner itself. What a class is worth in pairwise comparisons takes
    the place of its votes: there, too, one part changes each number by 1 at most, and
    a part that falls silent raises none.
    """
    winner = counts.argmax(axis=1)[:, None]
    first = winner < np.arange(counts.shape[1])
    found = np.take_along_axis(counts, winner, axis=1) - counts + first
    lead = found.astype(np.float64)
    np.put_along_axis(lead, winner, np.inf, axis=1)
    return lead


def budget_of_changes(counts: NDArray[np.intp]) -> Array:
    """The smallest number of votes whose change changes the winner.

    A vote taken from the winner and given to a rival gains 2, every other change of
    one vote at most 1, and there are always enough votes of the winner's to take. In
    pairwise comparisons it is a lower bound. It is `inf` for a single class.
    """
    return np.ceil(leads(counts).min(axis=1) / 2)


def budget_of_abstentions(counts: NDArray[np.intp]) -> Array:
    """The smallest number of votes whose loss changes the winner, `inf` if none does.

    A vote of the winner's that is lost gains 1 on it, and no other loss gains anything;
    a rival that must gain more than the winner has votes can never win. In pairwise
    comparisons it is a lower bound.
    """
    lead = leads(counts)
    within = lead <= counts.max(axis=1, keepdims=True)
    return np.where(within, lead, np.inf).min(axis=1)
