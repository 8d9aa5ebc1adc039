"""An ensemble with certificates for any model: a feature affects a single vote."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from numbers import Integral
from typing import Any, ClassVar, NamedTuple, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import (
    BaseEstimator,
    MetaEstimatorMixin,
    clone,
    is_classifier,
    is_regressor,
)
from sklearn.metrics import accuracy_score, r2_score
from sklearn.utils import check_random_state, get_tags
from sklearn.utils.metaestimators import available_if
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.parallel import Parallel, delayed
from sklearn.utils.validation import check_is_fitted

from noiseproof._docs import shared_docs
from noiseproof._pipelines import takes_nan
from noiseproof._private import HasMethods, Interval, StrOptions, check_parameters
from noiseproof._rows import as_dense, missing_entries, read, read_training
from noiseproof.estimators.dealing import (
    Columns,
    deal,
    given,
    likeness,
    middle,
    separation,
    strides,
    tenths,
)
from noiseproof.estimators.dropout_logistic import DropoutLogisticRegression
from noiseproof.estimators.meta import passed_weights
from noiseproof.estimators.voting import (
    ABSTAINS,
    Places,
    RunOff,
    Tally,
    interval,
    majority,
    median,
    median_budgets,
    pairwise,
    rankings,
)
from noiseproof.groups import Groups

Array = NDArray[np.float64]

_WIDE = 2_000  # with more groups than this, not all pairs of them are compared
_RANKED: dict[str, Callable[[Places], Tally]] = {
    "pairwise": pairwise,
    "run-off": RunOff.of,
}


class VoteCertificates(NamedTuple):
    """Certificates of `PartitionEnsemble.certify_votes`, one for each row."""

    budget: Array  # changing fewer features than this never changes the prediction
    deletion_budget: Array  # nor does making fewer features than this missing (NaN)
    unit: str  # what the budgets count: "features" or "groups"
    prediction: NDArray[Any]  # the result of `predict`


def _classifies(self: Any) -> bool:
    return bool(is_classifier(self))


@shared_docs
class PartitionEnsemble(MetaEstimatorMixin, BaseEstimator):
    """Split the features into parts, fit a model on each part, and let them vote.

    Every feature belongs to one part, so changing a feature changes at most one vote.
    Therefore the votes for a row prove how many features must change before the
    prediction can change. The proof holds for any base model, such as trees. See
    `certify_votes` and `noiseproof.evaluation.certify`.

    **Classification.** The class with the most votes is predicted. Ties are resolved in
    favour of the class that comes first in `classes_`, which is also predicted if no
    part votes. With `vote="pairwise"` each part ranks all classes by its probabilities.
    The score of a class is the number of parts that prefer it to its strongest rival,
    and the class with the highest score is predicted. With three or more classes this
    can be accurate even if each part alone is not, and it gives stronger certificates.
    With `vote="run-off"` there is a second round between the two classes with the most
    votes, in which every part votes for the one that it ranks higher.

    **Regression.** The median of the parts' predictions is predicted. For an even
    number of predictions, every number between the two middle ones is a median. Of
    these, the number nearest to the median of the training targets is taken. If no part
    votes, the median of the training targets is predicted. So the prediction can only
    leave an interval if half of the parts leave it.

    **Partition.** Each feature has a score, the share of its variance that lies between
    the classes (η², which ranks features as the F statistic does), computed on the
    training values that are not missing. The score of a group is the sum of the scores
    of its members. For a regressor the deciles of the targets serve as classes.
    Features are assigned to parts in rounds, those with the highest scores first, and
    in each round every part gets one. Each round keeps redundant features in different
    parts: it minimises the sum of squared correlations between a feature and those that
    its part already has. With more than 2,000 features or groups correlations are not
    computed. Then the part with the lowest total score gets the best feature of a
    round, which is the same if features have nothing in common but the class. The
    numbers of features (or groups) of two parts differ by at most one, and their total
    scores by at most the highest single score.

    Parameters
    ----------
    estimator : classifier or regressor, default=None
        The estimator to fit on each part. None means logistic regression without noise.
    n_parts : int, default=5
        Number of parts, at most one for each feature (or group). With more parts,
        predictions withstand more changes, but each part sees fewer features. An odd
        number avoids ties between two classes.
    {groups}
        All features of a group are put into the same part, and certificates count
        groups.
    vote : {"majority", "pairwise", "run-off"}, default="majority"
        For classifiers: how votes are counted. For "pairwise" and "run-off" parts rank
        the classes, so the estimator needs `predict_proba`. With two classes there is
        no difference.
    partition : {"balanced", "strides"} or array-like of int, default="balanced"
        How features are assigned to parts. "balanced" balances the parts as described
        above. "strides" puts feature j into part j mod `n_parts`, so that each part of
        an image is a coarse image. An array of shape (n_features,) gives the part of
        each feature, and `n_parts` is not used.
    on_missing : {"abstain", "estimator"}, default="abstain"
        What a part does for a row in which some of its values are missing (NaN). With
        "abstain" it does not vote. So a deletion takes away a vote but cannot give it
        to another class, which allows stronger certificates for deletions. With
        "estimator" the part votes, if its estimator accepts NaN. Certificates then
        treat a deletion like an arbitrary change. A part whose values are all missing
        always abstains. A part is fitted on the rows on which it votes.
    n_jobs : int or None, default=None
        Number of parts that are fitted in parallel.
    random_state : int, RandomState instance or None, default=None
        Seed of the estimators' parameters named `random_state`. None leaves them as
        they are.

    Attributes
    ----------
    parts_ : list of arrays of int
        Column numbers of the features of each part.
    estimators_ : list of models
        The fitted estimator of each part.
    {classes_}
        Only for classifiers.
    middle_ : float
        Median of the training targets. Only for regressors.

    See Also
    --------
    noiseproof.evaluation.certify : Computes certificates from the votes.
    noiseproof.evaluation.certified_scorer : Scores certified accuracy in a search.
    noiseproof.evaluation.conformal_sets : Calibrates prediction sets and intervals.

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
        "vote": [StrOptions({"majority", *_RANKED})],
        "partition": [StrOptions({"balanced", "strides"}), "array-like"],
        "on_missing": [StrOptions({"abstain", "estimator"})],
        "n_jobs": [Integral, None],
        "random_state": ["random_state"],
    }

    def __init__(
        self,
        estimator: Any = None,
        n_parts: int = 5,
        groups: Any = None,
        *,
        vote: str = "majority",
        partition: Any = "balanced",
        on_missing: str = "abstain",
        n_jobs: int | None = None,
        random_state: Any = None,
    ):
        self.estimator = estimator
        self.n_parts = n_parts
        self.groups = groups
        self.vote = vote
        self.partition = partition
        self.on_missing = on_missing
        self.n_jobs = n_jobs
        self.random_state = random_state

    def _base(self) -> Any:
        if self.estimator is None:
            return DropoutLogisticRegression(None)
        return self.estimator

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Assign the features to parts, and fit a clone of the estimator on each part.

        {(X, y, sample_weight) -> self}
        """
        check_parameters(self)
        base = self._base()
        self._check_base(base)
        X, y = read_training(self, X, y, y_numeric=is_regressor(base))
        sample_weight = passed_weights(base, sample_weight, X)
        labels = self._read_targets(y, sample_weight)
        part = self._part_of_each(X, labels, sample_weight)
        self.parts_ = [np.flatnonzero(part == p) for p in range(part.max() + 1)]
        self.estimators_ = self._fit_parts(base, X, y, sample_weight)
        return self

    def _check_base(self, base: Any) -> None:
        name = type(base).__name__
        if not (is_classifier(base) or is_regressor(base)):
            raise TypeError(
                f"PartitionEnsemble needs a classifier or a regressor; {name} is "
                "neither."
            )
        if self.vote == "majority":
            return
        if is_regressor(base):
            raise TypeError(
                f"vote={self.vote!r} is for classifiers, but {name} is a regressor, "
                "for which the median of the parts is predicted; use vote='majority'."
            )
        if not hasattr(base, "predict_proba"):
            raise TypeError(
                f"vote={self.vote!r} needs predict_proba, which {name} does not have; "
                "use vote='majority'."
            )

    def _read_targets(self, y: Any, weights: Array | None) -> Columns:
        """The classes by which features are scored: for regressors, deciles of y."""
        if is_regressor(self):
            self.middle_ = middle(y, weights)
            return tenths(y, weights)
        try:
            check_classification_targets(y)
        except ValueError as error:
            raise ValueError(
                f"{error} To predict a quantity pass a regressor, such as "
                "PartitionEnsemble(DropoutRidge())."
            ) from None
        self.classes_, labels = np.unique(y, return_inverse=True)
        return labels

    def _part_of_each(self, X: Any, labels: Columns, weights: Array | None) -> Columns:
        """The number of the part that each feature belongs to."""
        names = getattr(self, "feature_names_in_", [f"x{j}" for j in range(X.shape[1])])
        group = Groups.read(self.groups, list(names)).labels(X.shape[1])
        if not isinstance(self.partition, str):
            return given(self.partition, group)
        n = group.max() + 1
        n_parts = min(self.n_parts, n)
        if self.partition == "strides":
            return strides(n, n_parts)[group]
        scores = np.bincount(group, separation(X, labels, weights)).astype(np.float64)
        alike = None if n > _WIDE else likeness(X, group, weights)
        return deal(scores, n_parts, alike)[group]

    def _fit_parts(self, base: Any, X: Any, y: Any, weights: Any) -> list[Any]:
        """A fitted model for each part."""
        models = self._unfitted(base, len(self.parts_))
        fitted: list[Any] = Parallel(n_jobs=self.n_jobs, prefer="threads")(
            delayed(self._fit_part)(p, model, X, y, weights)
            for p, model in enumerate(models)
        )
        return fitted

    def _unfitted(self, base: Any, n: int) -> list[Any]:
        """Clones of the estimator, with different seeds if `random_state` is given."""
        models = [clone(base) for _ in range(n)]
        if self.random_state is None:
            return models
        rng = check_random_state(self.random_state)
        seeds = [name for name in base.get_params() if name.endswith("random_state")]
        for model in models:
            model.set_params(**{name: int(rng.randint(2**31)) for name in seeds})
        return models

    def _fit_part(self, p: int, model: Any, X: Any, y: Any, weights: Any) -> Any:
        """Fit the model of a part on its columns and on the rows that it votes on."""
        own, votes = self._part(p, model, X)
        if not votes.all():
            own, y = own[votes], y[votes]
            weights = None if weights is None else weights[votes]
        least = min(2, len(self.classes_)) if is_classifier(self) else 1
        if len(np.unique(y)) < least:
            raise ValueError(
                f"Part {p}, of {len(self.parts_[p])} features, has only {len(y)} "
                "training rows without missing values"
                + (", of fewer than 2 classes" if least > 1 else "")
                + "; impute missing values first, increase n_parts, or use "
                "on_missing='estimator'."
            )
        options = {} if weights is None else {"sample_weight": weights}
        return model.fit(own, y, **options)

    def _part(self, p: int, model: Any, X: Any) -> tuple[Any, NDArray[np.bool_]]:
        """The columns of a part, and on which rows it votes."""
        own = X[:, self.parts_[p]]
        if not get_tags(model).input_tags.sparse:
            own = as_dense(own)
        gone = np.asarray(missing_entries(own).sum(axis=1)).ravel()
        return own, gone < (own.shape[1] if self._reads_missing(model) else 1)

    def _reads_missing(self, model: Any) -> bool:
        """Whether a part votes even if some of its values are missing."""
        return self.on_missing == "estimator" and takes_nan(model)

    def votes(self, X: Any) -> NDArray[Any]:
        """Predict with each part.

        Parameters
        ----------
        {X}

        Returns
        -------
        votes : array of shape (n_samples, n_parts)
            For classifiers, indices of the predicted classes in `classes_`, and -1
            where a part abstains. For regressors, predictions, and NaN where a part
            abstains.
        """
        X = self._read(X)
        shape = X.shape[0], len(self.parts_)
        if is_regressor(self):
            answers = np.full(shape, np.nan)
            for p, rows, said in self._answers(X, "predict"):
                answers[rows, p] = said
            return answers
        found = np.full(shape, ABSTAINS, dtype=np.intp)
        for p, rows, said in self._answers(X, "predict"):
            found[rows, p] = np.searchsorted(self.classes_, said)
        return found

    def _rankings(self, X: Any) -> Places:
        """The rank of each class by the probabilities of each part."""
        X, k = self._read(X), len(self.classes_)
        shape = X.shape[0], len(self.parts_), k
        places = np.full(shape, ABSTAINS, dtype=np.int16)
        for p, rows, said in self._answers(X, "predict_proba"):
            chances = np.full((len(rows), k), -1.0)  # stays for classes it never saw
            known = np.searchsorted(self.classes_, self.estimators_[p].classes_)
            chances[:, known] = said
            places[rows, p] = rankings(chances)
        return places

    def _read(self, X: Any) -> Any:
        check_is_fitted(self)
        return read(self, X, reset=False)

    def _answers(self, X: Any, method: str) -> Iterator[tuple[int, Any, Any]]:
        """For each part, the rows that it votes on and its predictions for them."""
        for p, model in enumerate(self.estimators_):
            own, votes = self._part(p, model, X)
            rows = np.flatnonzero(votes)
            if len(rows):
                own = own if votes.all() else own[rows]
                yield p, rows, getattr(model, method)(own)

    def _tally(self, X: Any) -> Tally:
        """The scores of the classes, from which the winner and its proofs follow."""
        check_is_fitted(self)
        if self.vote == "majority":
            return majority(self.votes(X), len(self.classes_))
        return _RANKED[self.vote](self._rankings(X))

    def predict(self, X: Any) -> Any:
        """Predict the class that wins the vote, or the median of the parts.

        {(X) -> predictions}
        """
        check_is_fitted(self)
        if is_regressor(self):
            return median(self.votes(X), self.middle_)
        return self.classes_[self._tally(X).winner[:, 0]]

    @available_if(_classifies)
    @shared_docs
    def predict_proba(self, X: Any) -> Array:
        """Predict the share of the votes for each class.

        All classes have the same share if no part votes.

        {(X) -> probabilities}
        """
        counts = self._tally(X).worth
        counts[counts.sum(axis=1) == 0] = 1
        return counts / counts.sum(axis=1, keepdims=True)

    def score(self, X: Any, y: Any, sample_weight: Any = None) -> float:
        """Accuracy of a classifier, R² of a regressor.

        {(X, y, sample_weight) -> score}
        """
        measure = accuracy_score if is_classifier(self) else r2_score
        return float(measure(y, self.predict(X), sample_weight=sample_weight))

    def certify_votes(
        self,
        X: Any,
        y: ArrayLike | None = None,
        tolerance: ArrayLike | None = None,
    ) -> VoteCertificates:
        """Certify how many features must change before each prediction can change.

        Changing features of k parts changes at most k votes. The proofs are in
        `docs/proofs.md`.

        Parameters
        ----------
        {X}
        y : array-like of shape (n_samples,), default=None
            For regressors: the true values. None means the predictions.
        tolerance : float or array-like of shape (n_samples,), default=None
            For regressors, which require it: budgets count the features that must
            change before the prediction leaves [y - tolerance, y + tolerance]. They are
            0 if the prediction is outside already.

        Returns
        -------
        certificates : VoteCertificates
            `budget` for arbitrary changes, `deletion_budget` for values that become
            missing (NaN), which is at least as high, their `unit`, and the
            `prediction`.
        """
        if is_regressor(self):
            return self._certify_median(X, y, tolerance)
        if tolerance is not None:
            raise ValueError(
                "tolerance is for regressors, but this is a classifier; leave it out."
            )
        tally = self._tally(X)
        prediction = self.classes_[tally.winner[:, 0]]
        silent = ~tally.worth.any(axis=1)
        return self._certificates(
            tally.changes(), tally.deletions(), silent, prediction
        )

    def _certify_median(
        self, X: Any, y: ArrayLike | None, tolerance: ArrayLike | None
    ) -> VoteCertificates:
        """Budgets up to which the median stays within the tolerance."""
        if tolerance is None:
            raise ValueError(
                "Certificates of a regressor need a tolerance; pass how far from y a "
                "prediction may be."
            )
        answers = self.votes(X)
        prediction = median(answers, self.middle_)
        low, high = interval(prediction if y is None else y, tolerance, len(answers))
        budgets = median_budgets(answers, self.middle_, low, high)
        silent = np.isnan(answers).all(axis=1)
        return self._certificates(*budgets, silent, prediction)

    def _certificates(
        self, changes: Array, deletions: Array, silent: Any, prediction: Any
    ) -> VoteCertificates:
        if any(map(self._reads_missing, self.estimators_)):
            # a part may predict anything if a value is missing, but a part that
            # abstains will not vote because more values are missing
            deletions = np.where(silent, deletions, changes)
        unit = "features" if self.groups is None else "groups"
        return VoteCertificates(changes, deletions, unit, prediction)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        of_base = get_tags(self._base())
        tags.estimator_type = of_base.estimator_type
        tags.classifier_tags = of_base.classifier_tags
        tags.regressor_tags = of_base.regressor_tags
        for kind in (tags.classifier_tags, tags.regressor_tags):
            if kind is not None:
                kind.poor_score = True  # two features are two parts, which often tie
        tags.target_tags.required = True
        tags.input_tags.sparse = True
        tags.input_tags.allow_nan = True
        return tags
