"""Descriptions that several docstrings share, each written once.

In the docstring of a class or function that is marked `@shared_docs`, or of a method of
such a class, these lines stand for what is written below:

    {noise, C, tol}          the descriptions of these parameters or attributes
    {single coef_}           the description of `coef_` for a single target
    {(X, y) -> self}         the sections Parameters and Returns
    {References: Teo 2008}   the section References

Defaults come from the signature. An indented line that follows adds to a description.
"""

from __future__ import annotations

import re
from inspect import Parameter, isclass, isfunction, signature
from textwrap import indent
from typing import Any, TypeVar

T = TypeVar("T")

_DESCRIPTIONS = """
noise : float, "auto", dict, Noise or None
    The corruption to train for. Pass a number to set the dropout rate yourself,
    a dictionary to give named features a rate of their own, or an object of
    `noiseproof.noise` for another kind of noise. "auto" chooses a dropout rate
    from the numbers of rows and features. None trains without noise.
C : float
    Weight of the loss against the penalty: the larger, the less regularised.
fit_intercept : bool
    Whether to fit an intercept, which noise and attacks leave alone.
solver : {"newton", "lbfgs", "irls"}
    Algorithm to minimise the objective. All of them reach the same minimum;
    "irls" is the algorithm of the papers.
tol : float
    Relative accuracy of the objective. The solver stops when one more Newton
    step could lower the objective by less than `tol` times its value.
certified tol : float
    Relative gap between the objective and a proven lower bound at which to stop.
max_iter : int
    Maximum number of iterations. A `ConvergenceWarning` says if it is too small.
warm_start : bool
    Whether to start from the solution of the previous fit.
class_weight : dict, "balanced" or None
    Weight of the rows of each class. "balanced" gives all classes the same total.
unlabeled_weight : float
    Weight of a row of `X_unlabeled` in the noising penalty, relative to a
    labelled row: α in Wager et al. 2013.
missing : {"allow", "warn", "error"}
    How to treat missing values (NaN) in X. A missing feature adds nothing to the
    score. Pass "warn" to be warned about features that were never missing in
    training, or "error" to refuse missing values.
verbose : int
    Whether to print one line per iteration.
budget : float
    N, the total value of the features that may be deleted from each row. None
    means a tenth of the value of all features.
feature_values : array-like of shape (n_features,), "mutual_info" or None
    v_j, what it costs the adversary to delete a feature (or a group, if there
    are groups). None means 1 each. "mutual_info" computes
    `noiseproof.mutual_info_values` from the training data.
groups : mapping, list of lists or array-like of labels
    Features that fail together, such as those of one sensor: a dictionary from
    names to lists of features, a list of such lists, or one label per feature.
    A feature in no group is a group of its own.
margin : float
    γ, the margin that is asked for after deletions worth the whole budget.
alpha : float
    α, the strength of the penalty; 1 / (C n) in terms of scikit-learn's `SVC`.
attack : Attack
    What may happen to a row, from `noiseproof.attacks` or a class of your own.
    None leaves the rows as they are.
single coef_ : array of shape (n_features,)
    Weights.
single intercept_ : float
    Intercept.
single objective_ : float
    Minimum of the objective.
coef_ : array of shape (1, n_features) or (n_classes, n_features)
    Weights, a single row for two classes.
intercept_ : array of shape (1,) or (n_classes,)
    Intercepts.
classes_ : array of shape (n_classes,)
    Class labels.
objective_ : float or array of shape (n_classes,)
    Minimum of the objective, one for each one-vs-rest problem.
n_iter_ : int
    Number of iterations.
noise_ : Noise
    The noise that was trained for, with all rates filled in.
missing_in_training_ : array of bool of shape (n_features,)
    Which features were missing in some training row.
n_cuts_ : int
    Pairs (s, y') of a transform and an answer that were added to the problem.
feature_values_ : array of shape (n_features,) or (n_groups,)
    The feature values that were used.
budget_ : float
    The budget that was used.
estimator_ : estimator
    The fitted estimator.
X : array-like or sparse matrix of shape (n_samples, n_features)
    Rows of features. NaN marks a missing value, if the model takes them.
y : array-like of shape (n_samples,)
    Target of each row.
sample_weight : array-like of shape (n_samples,)
    Weight of each row: a row of weight 2 counts as two rows.
classes : array-like
    All class labels that will ever come; needed in the first call.
self : object
    The fitted estimator.
predictions : array of shape (n_samples,)
    Predicted targets.
scores : array of shape (n_samples,) or (n_samples, n_classes)
    Scores of the fitted estimator.
probabilities : array of shape (n_samples, n_classes)
    One column per class, in the order of `classes_`.
score : float
    Accuracy of a classifier, R² of a regressor.
shape : tuple of 2 ints
    Height and width of the images. None means square images.
folder : path
    The data folder. None means the one that the environment variable
    `NOISEPROOF_DATA` names.
"""
_SHARED = dict(re.findall(r"^(\w[\w ]*) : (.+\n(?: +.+\n)+)", _DESCRIPTIONS, re.M))
_REFERENCES = {
    "Chen 2014": """N. Chen, J. Zhu, J. Chen and B. Zhang, "Dropout training for support
vector machines", AAAI Conference on Artificial Intelligence, 2014.""",
    "DeCoste 2002": """D. DeCoste and B. Schölkopf, "Training invariant support vector
machines", Machine Learning 46, 2002.""",
    "Dekel 2008": """O. Dekel and O. Shamir, "Learning to classify with missing and
corrupted features", International Conference on Machine Learning, 2008.""",
    "Maaten 2013": """L. van der Maaten, M. Chen, S. Tyree and K. Weinberger, "Learning
with marginalized corrupted features", International Conference on Machine Learning,
2013.""",
    "Teo 2008": """C. H. Teo, A. Globerson, S. Roweis and A. Smola, "Convex learning
with invariances", Advances in Neural Information Processing Systems, 2008.""",
    "Wager 2013": """S. Wager, S. Wang and P. Liang, "Dropout training as adaptive
regularization", Advances in Neural Information Processing Systems, 2013.""",
}
_LINE = re.compile(r"^( *)\{(References: )?\(?(\w[\w, ]*?)(?:\) -> (\w+))?\}$", re.M)


def shared_docs(thing: T) -> T:
    """Fill in what lines in braces stand for; without docstrings (-OO) do nothing."""
    methods = filter(isfunction, vars(thing).values()) if isclass(thing) else ()
    for one in filter(lambda one: one.__doc__, (thing, *methods)):
        one.__doc__ = _filled(one)
    return thing


def _filled(thing: Any) -> str:
    """The docstring of a class or function with its shared descriptions."""
    defaults = {p.name: p.default for p in signature(thing).parameters.values()}

    def described(key: str) -> str:
        kind, text = _SHARED[key].split("\n", 1)
        name = key.split()[-1]
        if name in defaults and defaults[name] is not Parameter.empty:
            kind += ", default=" + repr(defaults[name]).replace("'", '"')
        return f"{name} : {kind}\n{text}"

    def fill(line: re.Match[str]) -> str:
        margin, cited, names, returned = line.groups()
        if cited:
            text = "\n".join(_REFERENCES[key] + "\n" for key in names.split(", "))
            return indent(f"References\n----------\n{text}", margin)[:-1]
        text = "".join(map(described, names.split(", ")))
        if returned:
            text = f"Parameters\n----------\n{text}\n"
            text += f"Returns\n-------\n{described(returned)}"
        return indent(text, margin)[:-1]

    return _LINE.sub(fill, thing.__doc__)
