"""The view scores rows as the model itself does, whoever made it."""

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.decomposition import PCA
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis
from sklearn.ensemble import (
    BaggingClassifier,
    RandomForestClassifier,
    VotingClassifier,
)
from sklearn.exceptions import NotFittedError
from sklearn.linear_model import (
    LinearRegression,
    LogisticRegression,
    Perceptron,
    RidgeClassifier,
    SGDClassifier,
)
from sklearn.model_selection import FixedThresholdClassifier, GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import (
    FunctionTransformer,
    MaxAbsScaler,
    MinMaxScaler,
    RobustScaler,
    StandardScaler,
)
from sklearn.svm import SVC, LinearSVC

from noiseproof import (
    AverageOverMissing,
    CorruptedCopies,
    DropoutLogisticRegression,
    DropoutSVC,
    RobustPerceptron,
)
from noiseproof.evaluation import linear_view

MODELS = [
    LogisticRegression(),
    LinearSVC(random_state=0),
    SGDClassifier(random_state=0),
    RidgeClassifier(),
    Perceptron(random_state=0),
    LinearDiscriminantAnalysis(),
    DropoutSVC(0.3),
    DropoutLogisticRegression(0.3),
]
STEPS = [
    [StandardScaler()],
    [StandardScaler(with_mean=False)],
    [StandardScaler(with_std=False)],
    [MinMaxScaler((-1, 2))],
    [MaxAbsScaler()],
    [RobustScaler()],
    [RobustScaler(with_centering=False, with_scaling=False)],
    ["passthrough"],
    [FunctionTransformer()],
    [MinMaxScaler(), make_pipeline(StandardScaler(), "passthrough")],
]


def data(rng, classes, n=60, d=5):
    X = rng.normal(2.0, size=(n, d)) * rng.uniform(0.5, 3, size=d)
    y = ((X - X.mean(axis=0)) @ rng.normal(size=(d, classes))).argmax(axis=1)
    return X, np.array(["a", "b", "c", "d"])[y]


def predict(view, X):
    return view.classes[view.scores(view.rows(X)).argmax(axis=1)]


@pytest.mark.parametrize("classes", [2, 4])
@pytest.mark.parametrize("model", MODELS, ids=lambda m: type(m).__name__)
def test_scores_are_the_models_own(model, classes, rng):
    X, y = data(rng, classes)
    model.fit(X, y)
    view = linear_view(model)
    scores = view.scores(view.rows(X))
    assert scores.shape == (len(X), classes)
    own = model.decision_function(X)
    mine = scores[:, 1] - scores[:, 0] if classes == 2 else scores
    np.testing.assert_allclose(mine, own, atol=1e-9)
    np.testing.assert_array_equal(predict(view, X), model.predict(X))


@pytest.mark.parametrize("steps", STEPS, ids=str)
def test_scalers_are_folded_in(steps, rng):
    X, y = data(rng, 3)
    model = make_pipeline(*steps, LogisticRegression()).fit(X, y)
    fresh = rng.normal(1.0, size=(20, 5))
    before, after = linear_view(model), linear_view(model, "model")
    own = model.decision_function(fresh)
    np.testing.assert_allclose(
        before.rows(fresh) @ before.coef.T + before.intercept, own
    )
    np.testing.assert_allclose(after.scores(after.rows(fresh)), own)
    np.testing.assert_allclose(after.coef, model[-1].coef_)


@pytest.mark.parametrize("space", ["input", "model"])
def test_a_missing_feature_adds_nothing_behind_a_scaler(space, rng):
    X, y = data(rng, 3)
    model = make_pipeline(StandardScaler(), DropoutSVC(0.2)).fit(X, y)
    X[rng.random(X.shape) < 0.3] = np.nan
    view = linear_view(model, space)
    rows = view.rows(X)
    np.testing.assert_allclose(view.scores(rows), model.decision_function(X))
    bare = view.intercepts(rows)
    if space == "model":
        np.testing.assert_allclose(bare, np.tile(model[-1].intercept_, (len(X), 1)))
    else:
        zeros = np.where(np.isnan(X), np.nan, 0.0)
        np.testing.assert_allclose(bare, model.decision_function(zeros))


def test_sparse_rows_stay_sparse(rng):
    X, y = data(rng, 3)
    X = sp.csr_array(X * (rng.random(X.shape) < 0.4))
    model = make_pipeline(MaxAbsScaler(), DropoutSVC(0.2)).fit(X, y)
    X.data[::7] = np.nan
    for space in ("input", "model"):
        view = linear_view(model, space)
        rows = view.rows(X.tocsc())
        assert sp.issparse(rows)
        np.testing.assert_allclose(view.scores(rows), model.decision_function(X))


def test_searches_wrappers_and_robust_models_are_understood(rng):
    X, y = data(rng, 2)
    search = GridSearchCV(
        make_pipeline(StandardScaler(), LogisticRegression()),
        {"logisticregression__C": [0.1, 1]},
    )
    copies = CorruptedCopies(make_pipeline(StandardScaler(), LinearSVC()), 0.2)
    for model in (search, copies, RobustPerceptron(C=1.0), SVC(kernel="linear")):
        model.fit(X, y)
        np.testing.assert_array_equal(predict(linear_view(model), X), model.predict(X))


@pytest.mark.parametrize(
    ("model", "sentence"),
    [
        (
            RandomForestClassifier(3),
            r"RandomForestClassifier is not a linear classifier \(it has no coef_\). "
            "PartitionEnsemble can certify any model",
        ),
        (LinearRegression(), r"not a linear classifier \(it has no classes_\)"),
        (
            VotingClassifier([("one", LogisticRegression())]),
            r"A blend \(VotingClassifier\) is not a linear classifier",
        ),
        (SVC(), "SVC is not a linear classifier"),
        (SVC(kernel="linear"), "no score per class.*one against one"),
        (BaggingClassifier(LogisticRegression(), 2), "BaggingClassifier is not"),
        (make_pipeline(PCA(2), LogisticRegression()), "step PCA before"),
        (make_pipeline(MinMaxScaler(clip=True), LogisticRegression()), "MinMaxScaler"),
        (make_pipeline(FunctionTransformer(np.abs), LogisticRegression()), "Function"),
    ],
)
def test_what_is_not_linear_is_refused_in_one_sentence(model, sentence, rng):
    X, y = data(rng, 3)
    model.fit(X, np.unique(y, return_inverse=True)[1])
    with pytest.raises(TypeError, match=sentence):
        linear_view(model)


def test_a_threshold_of_its_own_is_refused(rng):
    X, y = data(rng, 2)
    model = FixedThresholdClassifier(LogisticRegression(), threshold=0.9).fit(
        X, y == "a"
    )
    with pytest.raises(TypeError, match="FixedThresholdClassifier is not a linear"):
        linear_view(model)


def test_bad_input_gets_one_sentence(rng):
    X, y = data(rng, 2)
    model = LogisticRegression()
    with pytest.raises(NotFittedError):
        linear_view(model)
    with pytest.raises(NotFittedError):
        linear_view(make_pipeline(StandardScaler(), model))
    view = linear_view(model.fit(X, y))
    with pytest.raises(ValueError, match="'input' or 'model'"):
        linear_view(model, space="raw")
    with pytest.raises(ValueError, match="X has 4 features"):
        view.rows(X[:, :4])
    with pytest.raises(ValueError, match="not one of the model's classes"):
        view.encode(["a", "z"])
    with pytest.raises(TypeError, match="does not predict the class with the largest"):
        view.agreed(view.rows(X), model.predict(-X))


@pytest.mark.parametrize("space", ["input", "model"])
def test_indicator_columns_are_no_features(space, rng):
    """They would be counted as features that an adversary may delete."""
    y = rng.integers(2, size=400)
    X = rng.normal(size=(400, 5)) + 0.3 * y[:, None]
    X[rng.random(400) < np.array([0.02, 0.9])[y], 2:] = np.nan
    model = AverageOverMissing(LogisticRegression(), random_state=0).fit(X, y)
    assert model.treatments_.complete == "averaged with indicators"
    for one in (model, make_pipeline(StandardScaler(), model).fit(X, y)):
        with pytest.raises(TypeError, match="adds indicator columns for missing val"):
            linear_view(one, space=space)
