"""Training on transformed copies, of all rows or of the support vectors."""

import numpy as np
import pytest
import scipy.sparse as sp
import sklearn
from odd_rows import out_of_range, stored_twice, with_stored_zeros
from sklearn.base import clone
from sklearn.datasets import load_digits
from sklearn.exceptions import NotFittedError
from sklearn.linear_model import Ridge
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import MaxAbsScaler
from sklearn.svm import SVC, LinearSVC

from noiseproof import VirtualExamples, VirtualSupportVectors
from noiseproof.attacks import Attack, FeatureDeletion, ImageShift

both = pytest.mark.parametrize("cls", [VirtualExamples, VirtualSupportVectors])
CLASSIFIER = SVC(gamma=0.5, tol=1e-8)


class Negate(Attack):
    """A row may change its sign; a blank one cannot."""

    def candidates(self, x):
        return np.stack([x, -x]) if x.any() else x[None]


def copies(X):
    """The candidates of `Negate`, written apart from it."""
    rows = [[x, -x] if x.any() else [x] for x in X]
    return np.vstack(rows), np.repeat(np.arange(len(X)), [len(r) for r in rows])


@pytest.fixture
def data(rng):
    X = rng.normal(size=(40, 3))
    X[::7] = 0
    return X, (np.abs(X).sum(axis=1) + rng.normal(size=40) > 2).astype(int)


@pytest.mark.parametrize("sparse", [False, True])
def test_all_copies(sparse, data):
    X, y = data
    weights = np.linspace(0.1, 2, len(y))
    Z, origin = copies(X)
    by_hand = clone(CLASSIFIER).fit(Z, y[origin], sample_weight=weights[origin])
    model = VirtualExamples(CLASSIFIER, Negate())
    model.fit(sp.csr_matrix(X) if sparse else X, y, sample_weight=weights)
    scores = model.decision_function(sp.csr_matrix(X) if sparse else X)
    np.testing.assert_allclose(scores, by_hand.decision_function(X), atol=1e-5)
    assert len(model.estimator_.support_) > len(y)


def test_copies_of_support_vectors(data):
    X, y = data
    first = clone(CLASSIFIER).fit(X, y)
    Z, origin = copies(X[first.support_])
    second = clone(CLASSIFIER).fit(Z, y[first.support_][origin])
    model = VirtualSupportVectors(CLASSIFIER, Negate()).fit(X, y)
    np.testing.assert_array_equal(model.support_, first.support_)
    np.testing.assert_allclose(model.decision_function(X), second.decision_function(X))
    everything = VirtualExamples(CLASSIFIER, Negate()).fit(X, y)
    assert model.estimator_.shape_fit_[0] < everything.estimator_.shape_fit_[0]


def test_rows_without_weight_are_no_support_vectors(data):
    X, y = data
    weights = np.repeat([0.0, 1.0], [10, 30])
    model = VirtualSupportVectors(CLASSIFIER, Negate())
    model.fit(X, y, sample_weight=weights)
    assert model.support_.min() >= 10
    rest = clone(model).fit(X[10:], y[10:])
    np.testing.assert_array_equal(model.support_ - 10, rest.support_)
    np.testing.assert_allclose(
        model.decision_function(X), rest.decision_function(X), atol=1e-6
    )


@both
def test_without_an_attack_it_is_a_plain_fit(cls, data):
    X, y = data
    plain = clone(CLASSIFIER).fit(X, y)
    model = cls(CLASSIFIER).fit(X, y)
    np.testing.assert_array_equal(
        model.decision_function(X), plain.decision_function(X)
    )
    assert cls().fit(X, y).score(X, y) > 0.5


@both
def test_shifted_digits_need_virtual_examples(cls):
    X, y = load_digits(return_X_y=True)
    shifted = ImageShift().all_candidates(X[200:500])[:, 1]
    plain = SVC().fit(X[:200], y[:200])
    model = cls(SVC(), ImageShift()).fit(X[:200], y[:200])
    assert model.score(shifted, y[200:500]) > plain.score(shifted, y[200:500]) + 0.2


def test_any_estimator_will_do(data):
    X, y = data
    model = VirtualExamples(Ridge(), Negate()).fit(X, y)
    Z, origin = copies(X)
    np.testing.assert_allclose(model.predict(X), Ridge().fit(Z, y[origin]).predict(X))
    assert not hasattr(model, "decision_function")
    assert not hasattr(model, "classes_")


@both
def test_search_over_the_attack(cls):
    X, y = load_digits(return_X_y=True)
    grid = {"attack__pixels": [0.5, 1.0], "estimator__C": [1.0]}
    search = GridSearchCV(cls(SVC(), ImageShift()), grid, cv=2).fit(X[:100], y[:100])
    assert search.best_estimator_.attack.pixels in (0.5, 1.0)


@both
def test_sample_weight_is_routed(cls, data):
    X, y = data
    weights = np.linspace(0.1, 2, len(y))
    with sklearn.config_context(enable_metadata_routing=True):
        routed = cls(CLASSIFIER, Negate()).set_fit_request(sample_weight=True)
        pipeline = make_pipeline(MaxAbsScaler(), routed)
        pipeline.fit(X, y, sample_weight=weights)
    scaled = MaxAbsScaler().fit_transform(X)
    by_hand = cls(CLASSIFIER, Negate()).fit(scaled, y, sample_weight=weights)
    np.testing.assert_allclose(
        pipeline.decision_function(X), by_hand.decision_function(scaled)
    )


@both
def test_bad_input_gives_one_sentence(cls, data):
    X, y = data
    with pytest.raises(ValueError, match="FeatureDeletion does not; use Inv"):
        cls(attack=FeatureDeletion()).fit(X, y)
    with pytest.raises(ValueError, match="'attack' parameter"):
        cls(attack="shift").fit(X, y)
    with pytest.raises(ValueError, match="not square images"):
        cls(attack=ImageShift()).fit(X, y)


class Unweighted(SVC):
    """An SVM that takes no weights."""

    def fit(self, X, y):
        return super().fit(X, y)


@both
def test_weights_for_an_estimator_without(cls, data):
    with pytest.raises(TypeError, match="Unweighted does not accept sample_weight"):
        cls(Unweighted()).fit(*data, sample_weight=np.ones(40))


def test_support_vectors_are_needed(data):
    with pytest.raises(TypeError, match="support_ after fit, such as SVC; LinearSVC"):
        VirtualSupportVectors(LinearSVC()).fit(*data)


@both
@pytest.mark.parametrize("attack", [None, Negate()], ids=str)
@pytest.mark.parametrize("store", [stored_twice, with_stored_zeros])
def test_how_rows_are_stored_changes_nothing(store, attack, cls, data):
    X, y = data
    model = cls(CLASSIFIER, attack).fit(sp.csr_matrix(X), y)
    scores = model.decision_function(sp.csr_matrix(X))
    np.testing.assert_array_equal(model.decision_function(store(X)), scores)
    assert model.score(store(X), y) == model.score(X, y)
    again = clone(model).fit(store(X), y)
    np.testing.assert_array_equal(again.decision_function(X), scores)


@both
def test_the_estimator_sees_no_stored_zeros(cls, data):
    class Picky(SVC):
        def fit(self, X, y):
            assert X.data.all()
            return super().fit(X, y)

    X, y = data
    cls(Picky(), Negate()).fit(with_stored_zeros(X), y)


@both
def test_bad_columns_are_refused(cls, data):
    X, y = data
    X = np.where(X == 0, 1.0, X)
    model = cls(CLASSIFIER, Negate()).fit(sp.csr_matrix(X), y)
    methods = [model.predict, model.decision_function, lambda X: model.score(X, y)]
    for method in [*methods, lambda X: clone(model).fit(X, y)]:
        with pytest.raises(ValueError, match="column index outside 0 to 2"):
            method(out_of_range(X))


@both
def test_a_fit_that_ends_badly_leaves_no_model(cls, data):
    X, y = data
    model = cls(SVC(C=-1.0))
    with pytest.raises(ValueError, match="'C' parameter"):
        model.fit(X, y)
    with pytest.raises(NotFittedError):
        model.predict(X)
