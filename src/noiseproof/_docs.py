"""Descriptions that several docstrings share, each written once.

The decorator `@shared_docs` replaces placeholder lines in the docstring of a class (and
of its methods) or of a function by the descriptions in this file:

    {noise, C, tol}          the descriptions of these parameters or attributes
    {single coef_}           the description of `coef_` for a single target
    {(X, y) -> self}         the sections Parameters and Returns
    {See Also: certify}      the section See Also
    {References: Teo 2008}   the section References

Defaults are read from the signature. An indented line after a placeholder extends the
description.
"""

from __future__ import annotations

import re
from inspect import Parameter, isclass, isfunction, signature, unwrap
from textwrap import indent
from typing import Any, TypeVar

T = TypeVar("T")

_DESCRIPTIONS = """
noise : float, "auto", dict, Noise or None
    The noise to train for. A number is the dropout rate of all features, and a
    dictionary gives the dropout rates of named features. "auto" chooses a dropout
    rate from the numbers of rows and features. For other kinds of noise pass an
    object of `noiseproof.noise`. None trains without noise.
C : float
    Inverse of the regularisation strength: larger values regularise less.
fit_intercept : bool
    Whether to fit an intercept. Noise and attacks never change the intercept.
solver : {"newton", "lbfgs", "irls"}
    Algorithm that minimises the objective. All of them reach the same minimum;
    "irls" (iteratively reweighted least squares) is the algorithm of the papers.
tol : float
    Relative accuracy of the objective. The solver stops when one more Newton
    step could lower the objective by less than `tol` times its value.
certified tol : float
    The solver stops when the relative gap between the objective and a proven lower
    bound falls below `tol`.
max_iter : int
    Maximum number of iterations. A `ConvergenceWarning` is issued if it is too small.
warm_start : bool
    Whether to start from the solution of the previous call to `fit`.
class_weight : dict, "balanced" or None
    Weights of the classes. "balanced" gives all classes the same total weight.
unlabeled_weight : float
    Weight of a row of `X_unlabeled` in the noising penalty, relative to a
    labelled row: α in Wager et al. 2013.
missing : {"allow", "warn", "error"}
    How to treat missing values (NaN) in X. "allow" accepts them: a missing feature
    adds nothing to the score. "warn" also warns about missing values of features
    that were never missing in training. "error" raises an error for missing values.
verbose : int
    Whether to print one line per iteration.
budget : float
    N, the budget of the adversary: the values of the features that it deletes from a
    row sum to at most N. None means a tenth of the sum of all feature values.
feature_values : array-like of shape (n_features,), "mutual_info" or None
    v_j, what the deletion of feature j costs of the budget. If there are groups, each
    group has a value. None means 1 each. "mutual_info" computes
    `noiseproof.mutual_info_values` from the training data.
tolerance : float, array-like of shape (n_samples,) or str
    For regressors: a prediction counts as right if it is at most this far from y.
    Pass a number, one number for each row, or a share of y such as "15%".
groups : mapping, list of lists or array-like of labels
    Features that fail together, such as those of one sensor: a dictionary from
    names to lists of features, a list of such lists, or one label per feature.
    A feature in no group is a group of its own.
margin : float
    γ, the margin that each training row should keep when the adversary has spent the
    whole budget.
alpha : float
    α, the strength of the penalty. It corresponds to 1 / (C n) in scikit-learn's
    `SVC`.
attack : Attack
    What may happen to a row: an attack of `noiseproof.attacks` or of a class of your
    own. None leaves the rows as they are.
single coef_ : array of shape (n_features,)
    Weights of the features.
single intercept_ : float
    Intercept.
single objective_ : float
    Minimum of the objective.
coef_ : array of shape (1, n_features) or (n_classes, n_features)
    Weights of the features. With two classes there is a single row.
intercept_ : array of shape (1,) or (n_classes,)
    Intercepts. With two classes there is a single one.
classes_ : array of shape (n_classes,)
    Class labels.
objective_ : float or array of shape (n_classes,)
    Minimum of the objective, one for each one-vs-rest problem.
n_iter_ : int
    Number of iterations.
noise_ : Noise
    The noise used in training. Automatic rates and rates given by feature name are
    replaced by numbers.
missing_in_training_ : array of bool of shape (n_features,)
    Whether each feature was missing in some training row.
n_cuts_ : int
    Number of pairs (s, y'), of a transform and an output, that were added to the
    problem as constraints.
feature_values_ : array of shape (n_features,) or (n_groups,)
    The feature values that were used.
budget_ : float
    The budget that was used.
estimator_ : estimator
    The fitted estimator.
X : array-like or sparse matrix of shape (n_samples, n_features)
    Input data. NaN marks a missing value, for models that accept missing values.
y : array-like of shape (n_samples,)
    Target values.
sample_weight : array-like of shape (n_samples,)
    Weight of each row: a row of weight 2 counts as two rows.
classes : array-like
    All class labels that may occur in any call. Required in the first call.
self : object
    The fitted estimator.
features : array or sparse matrix of shape (n_samples, n_features)
    One column for each number, and one for each value of a text column. NaN marks a
    missing number.
predictions : array of shape (n_samples,)
    Predicted targets.
scores : array of shape (n_samples,) or (n_samples, n_classes)
    Decision function of the fitted estimator.
probabilities : array of shape (n_samples, n_classes)
    Probability of each class, in the order of `classes_`.
score : float
    Accuracy of a classifier, R² of a regressor.
random_state : int, RandomState instance or None
    Seed of the random numbers. Pass an int for the same results in every run.
seed random_state : int
    Seed of all random numbers.
n_jobs : int or None
    Number of threads. None means 1, unless in a `joblib.parallel_config` context.
progress : bool, callable or None
    Whether to show a progress bar. None shows one in a terminal if the work takes more
    than two seconds. A callable is called with the arguments (done, total).
any random_state : int, RandomState, Generator or None
    Seed of the random numbers. Pass an int for the same results in every run.
models : model, dict of str to model, or list of (str, model)
    Fitted models with a `predict` method. If a model from outside scikit-learn
    predicts several numbers per row, these are taken as scores of the classes 0, 1, ...
held out X : array-like, sparse matrix or data frame of shape (n_samples, n_features)
    Rows that were not used in training. Sparse X stays sparse; a data frame is
    passed to the models with its column names and, if possible, its dtypes.
true y : array-like of shape (n_samples,)
    True labels or targets.
perturb : str, Noise, MissingColumns or Attack
    What happens to the features. "delete": each feature of a row is set to zero with
    probability `level`, and the others stay as they are (Chen et al. 2014).
    "delete_count": exactly `level` non-zero features of each row are set to zero, or
    all of them if there are fewer (Dekel and Shamir 2008). "delete_groups": each of
    the `groups` is set to zero as a whole with probability `level`. "missing" and
    "missing_groups": the same as "delete" and "delete_groups", but values become
    missing (NaN), so that the model can tell which ones they are. For a model that
    does not accept NaN they are imputed by the mean of the column in X, or by the most
    frequent value of a text column. In a sparse matrix missing values are removed, and
    so read as zero. "mar" and "mnar": values are missing more often where another
    column is large ("mar"), or where the value itself is large ("mnar"); see
    `noiseproof.noise.Missing`. "outages": columns are missing for many consecutive
    rows; see `noiseproof.noise.Outages`. "missing_columns": a share `level` of the
    columns is missing in all rows, the most relevant columns first; see
    `noiseproof.evaluation.MissingColumns`. A noise object is applied at each level:
    `Missing`, `MissingLike` and `Outages` make values missing in the same way, and
    other noise is applied as `noise.at(level)`. An attack is applied with strength
    `level` (its budget, k, radius, ...). It knows the model, which must be linear. It
    is not random, so it runs once.
level : float
    How strong the perturbation is: a probability, a count, or the level of the noise
    or attack.
scoring : str, scorer or callable
    Name of a scikit-learn metric, or a callable with the arguments (model, X, y). None
    means accuracy for classifiers and R² for regressors.
n_repeats : int
    Number of random draws of the perturbation, for each level or fold.
deleted_as : {"zero", "nan"}
    What a deleted value becomes. "zero": it reads as zero, as from a dead sensor, and
    the model is not told. "nan": it is marked as missing. For a model that does not
    accept NaN it is imputed by the mean of the column in X.
space : {"input", "model"}
    Where the features of a pipeline are deleted. "input": before its first step, as by
    a broken sensor. "model": before its last step; after a scaler, a zero there means
    the average.
confidence : float
    Confidence level of the intervals around the means. The intervals account for the
    random perturbations, not for the choice of the rows.
cv : int, splitter or iterable
    Cross-validation splitter. An int is the number of folds, to which rows are
    assigned at random, stratified by class for classifiers.
ax : matplotlib Axes
    Axes to draw on. None creates a new figure.
ax_ : matplotlib Axes
    The axes of the plot, available after `plot`.
figure_ : matplotlib Figure
    The figure of the axes.
lines_ : list of matplotlib Line2D
    One line per model.
display : object
    This display, with the axes of the plot in `ax_`.
raw X : array-like, sparse matrix or data frame of shape (n_samples, n_columns)
    The raw table. Columns may contain text and missing values.
raw y : array-like of shape (n_samples,)
    Class labels or numbers, depending on `task`.
task : {"classification", "regression"}
    What to predict: classes or numbers. None means `noiseproof.training.task_of(y)`.
encoder : TableEncoder
    Transformer of the columns of the table into features. None means
    `TableEncoder()`.
max_rows : int
    Models are compared on a random sample of at most this many rows.
incomplete X : array or data frame of shape (n_samples, n_features)
    Rows with or without missing values.
ignored y : object
    Ignored; for compatibility with scikit-learn.
delta : float
    Probability that the bound fails.
fixed budget : float
    N, the budget of the adversary: the values of the features that it deletes from a
    row sum to at most N.
values : array-like of shape (n_features,) or (n_groups,)
    v_j, what the deletion of feature j costs of the budget. If there are groups, each
    group has a value. None means 1 each.
box C : float
    Maximum absolute value of a weight.
trusted : list of types or of their full names
    Types to trust, in addition to those of noiseproof and scikit-learn.
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
    "Nadeau 2003": """C. Nadeau and Y. Bengio, "Inference for the generalization error",
Machine Learning 52, 2003.""",
    "Teo 2008": """C. H. Teo, A. Globerson, S. Roweis and A. Smola, "Convex learning
with invariances", Advances in Neural Information Processing Systems, 2008.""",
    "Wager 2013": """S. Wager, S. Wang and P. Liang, "Dropout training as adaptive
regularization", Advances in Neural Information Processing Systems, 2013.""",
    "Zaffran 2023": """M. Zaffran, A. Dieuleveut, J. Josse and Y. Romano, "Conformal
prediction with missing values", International Conference on Machine Learning, 2023.""",
}
_SEE_ALSO = """\
noiseproof.AverageOverMissing : Averages predictions over the missing values.
noiseproof.ConformalRegressor : Adds prediction intervals to any regressor.
noiseproof.InvariantSVC : Trains a support vector machine against an attack.
noiseproof.PartitionEnsemble : Certifies any model, by votes on parts of the features.
noiseproof.RobustLPClassifier : Linear classifier for an adversary who deletes features.
noiseproof.RobustPerceptron : Online classifier trained against feature deletion.
noiseproof.as_sklearn : Converts to a plain scikit-learn model with the same weights.
noiseproof.attacks.Attack : Base class of all attacks.
noiseproof.attacks.Ellipsoid : Moves rows within an ellipsoid.
noiseproof.attacks.FeatureDeletion : Deletes features within a budget.
noiseproof.attacks.FeatureScaling : Scales a few features of each row.
noiseproof.attacks.ImageRotation : Rotates images.
noiseproof.attacks.ImageScale : Shrinks or enlarges images.
noiseproof.attacks.ImageShear : Slants images.
noiseproof.attacks.ImageShift : Moves images by some pixels.
noiseproof.attacks.NormBall : Moves rows within a ball.
noiseproof.attacks.Union : Applies one of several attacks to each row.
noiseproof.attacks.digit_invariances : Applies 20 transforms to images of digits.
noiseproof.bounds.pac_bayes_risk : Bounds the risk of `RobustLPClassifier`.
noiseproof.conditionals.Donors : Imputes missing values from similar training rows.
noiseproof.conditionals.JointGaussian : Imputes them from a joint Gaussian.
noiseproof.evaluation.CertificateDisplay : Plots certified accuracies.
noiseproof.evaluation.FragilityDisplay : Plots what losing each feature costs.
noiseproof.evaluation.RobustnessCurveDisplay : Plots scores under a perturbation.
noiseproof.evaluation.AcquisitionDisplay : Plots the gain from measuring missing values.
noiseproof.evaluation.MissingCostDisplay : Plots what missing values cost.
noiseproof.evaluation.acquisition_curve : Measures missing values one after another.
noiseproof.evaluation.certify : Finds the smallest change that changes a prediction.
noiseproof.evaluation.conformal_sets : Calibrates prediction sets and intervals.
noiseproof.evaluation.contest : Cross-validates models under a perturbation.
noiseproof.evaluation.feature_fragility : Measures what losing each feature costs.
noiseproof.evaluation.interval_coverage : Measures how often intervals contain y.
noiseproof.evaluation.linear_view : Reads the weights of a linear model or pipeline.
noiseproof.evaluation.missing_cost : Estimates what missing values cost, without labels.
noiseproof.evaluation.perturbed_scorer : Makes a scorer for `GridSearchCV`.
noiseproof.evaluation.robustness_curve : Scores fitted models under a perturbation.
noiseproof.evaluation.value_of_cells : Finds which missing value is worth most to know.
noiseproof.io.read_notes : Reads the notes that were saved with a model.
noiseproof.load : Loads a model without running code from the file.
noiseproof.portfolio : Lists the models that `recommend` compares.
noiseproof.recommend : Finds the best of many models for a perturbation.
noiseproof.report.gather : Collects the numbers of a report.
noiseproof.report.render : Writes a report as HTML.
noiseproof.report.write_report : Collects and writes a report.
noiseproof.save : Saves a model to a file.
noiseproof.serving.Served : Serves predictions for rows as they arrive in production.
noiseproof.tables.TableEncoder : Transforms the columns of a table into features.
noiseproof.tables.column_notes : Notes on the columns of a training table.
noiseproof.tables.read_table : Reads a table from a file.
noiseproof.tables.target_note : A note on the target.
noiseproof.to_onnx : Writes a model, averages included, to an ONNX file.
noiseproof.train : Trains and evaluates a model on a raw table.
""".splitlines()
_RELATED = {line.split(" : ")[0].split(".")[-1]: line for line in _SEE_ALSO}
_LINE = re.compile(
    r"^( *)\{(?:(References|See Also): )?\(?(\w[\w, ]*?)(?:\) -> (\w[\w ]*))?\}$", re.M
)


def shared_docs(thing: T) -> T:
    """Replace the placeholders in braces. Without docstrings (-OO) do nothing."""
    members = vars(thing).values() if isclass(thing) else ()
    methods = (
        unwrap(one) if isinstance(one, classmethod) else one  # type: ignore[arg-type]
        for one in members
    )
    for one in filter(lambda one: one.__doc__, (thing, *filter(isfunction, methods))):
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
        margin, section, names, returned = line.groups()
        keys = names.split(", ")
        if section == "References":
            text = "\n\n".join(_REFERENCES[key] for key in keys)
            return indent(f"References\n----------\n{text}", margin)
        if section:
            text = "\n".join(_RELATED[key] for key in keys)
            return indent(f"See Also\n--------\n{text}", margin)
        text = "".join(map(described, keys))
        if returned:
            text = f"Parameters\n----------\n{text}\n"
            text += f"Returns\n-------\n{described(returned)}"
        return indent(text, margin)[:-1]

    return _LINE.sub(fill, thing.__doc__)
