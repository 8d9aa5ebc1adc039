"""A pipeline that translates groups and rates of columns into those of features."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from sklearn.base import clone
from sklearn.impute import SimpleImputer
from sklearn.pipeline import Pipeline

from noiseproof._pipelines import takes_nan
from noiseproof.groups import Groups, column_groups, feature_names, features_behind
from noiseproof.noise import Dropout, as_noise


class ColumnPipeline(Pipeline):
    """A pipeline that is given groups and dropout rates by column of the raw table.

    The last step needs them by encoded feature. A text column becomes as many features
    as it has values in the training rows. So groups and rates are translated in `fit`,
    after the steps before the last one are fitted.
    """

    def __init__(self, steps: Any, groups: Any = None):
        super().__init__(steps)
        self.groups = groups

    @classmethod
    def of(cls, encoder: Any, estimator: Any, groups: Any) -> ColumnPipeline:
        """Encoder and estimator in a pipeline; zeros replace NaN if necessary."""
        steps = [("table", clone(encoder)), ("model", clone(estimator))]
        if not takes_nan(estimator):
            zeros = SimpleImputer(strategy="constant", fill_value=0.0)
            steps.insert(1, ("missing", zeros))
        return cls(steps, groups)

    def encoded(self, X: Any) -> Any:
        """Fit all steps but the last; returns X as the last step receives it."""
        return Pipeline(self.steps[:-1]).fit_transform(X)

    def fit(self, X: Any, y: Any = None) -> ColumnPipeline:
        """Fit the encoder, pass groups and rates to the last step, and fit it."""
        Z, last = self.encoded(X), self[-1]
        columns = [str(name) for name in feature_names(None, X)]
        features = features_behind(self, columns, Z.shape[1])
        rates = getattr(last, "noise", None)
        if isinstance(rates, Mapping):
            unknown = [name for name in rates if name not in columns]
            if unknown:
                raise ValueError(f"noise: there is no column {unknown[0]!r}.")
            each = [rates.get(feature.column, 0.0) for feature in features]
            last.set_params(noise=Dropout(each))
        groups = column_groups(features, columns, self.groups, rest=True)
        votes = hasattr(last, "certify_votes")  # one vote per text column
        if self.groups is not None or (votes and len(groups) < len(features)):
            _give(last, groups)
        last.fit(Z, y)
        return self

    def plain(self) -> Pipeline:
        """The same steps as a plain scikit-learn pipeline, which can be saved."""
        return Pipeline(self.steps)


def check_groups(estimator: Any, groups: Any) -> None:
    """Refuse groups before any work if no part of the estimator accepts them."""
    if groups is None or _give(clone(estimator), Groups.packed({"any": [0]})):
        return
    raise ValueError(
        f"{type(estimator).__name__} as it is cannot be trained for groups: use "
        "dropout noise, such as 0.2, an estimator that takes groups, such as "
        "RobustLPClassifier (robust-lp), or the attack FeatureDeletion (deletion)."
    )


def _give(estimator: Any, groups: Groups) -> bool:
    """Pass groups to the part that accepts them: the model, its attack or its noise.

    Returns whether there is such a part.
    """
    known = estimator.get_params(deep=False)
    if known.get("noise") is not None:
        estimator.set_params(noise=as_noise(known["noise"]))
    members = {str(n): groups[g].tolist() for g, n in enumerate(groups.names)}
    for part in (estimator, known.get("attack"), getattr(estimator, "noise", None)):
        if part is not None and "groups" in part.get_params(deep=False):
            part.set_params(groups=members)
            return True
    return False
