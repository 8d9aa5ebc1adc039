"""Good citizens of scikit-learn: searches, routing, copies, callbacks, warm starts."""

import pickle
import re

import numpy as np
import pytest
import sklearn
from problems import dataset, kind, marginal_models
from sklearn.base import clone, is_regressor
from sklearn.exceptions import ConvergenceWarning
from sklearn.metrics import get_scorer
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import MaxAbsScaler

from noiseproof import DropoutLogisticRegression, DropoutSVC
from noiseproof.noise import Dropout, Gaussian

every_model = pytest.mark.parametrize("model", marginal_models())
every_classifier = pytest.mark.parametrize("model", marginal_models("classifier"))


@every_model
def test_constructor_needs_no_arguments_and_only_stores(model):
    default = type(model)()
    assert default.noise == 0.5
    noise = Gaussian(0.3)
    assert type(model)(noise).noise is noise
    assert vars(default).keys() == default.get_params(deep=False).keys()


@every_model
def test_clone_and_pickle(model, rng):
    X, y = dataset(model, rng)
    model = clone(model).set_params(noise=Dropout(0.3), C=0.5)
    fitted = clone(model).fit(X, y)
    again = pickle.loads(pickle.dumps(fitted))
    np.testing.assert_array_equal(again.predict(X), fitted.predict(X))
    assert clone(fitted).get_params()["noise__rate"] == 0.3
    assert not hasattr(clone(fitted), "coef_")
    assert clone(model).noise is not model.noise


@every_model
def test_same_fit_twice_is_the_same(model, rng):
    X, y = dataset(model, rng)
    one, other = clone(model).fit(X, y), clone(model).fit(X, y)
    np.testing.assert_array_equal(one.coef_, other.coef_)


@pytest.mark.parametrize("noise", [0.5, None, Dropout(0.2)], ids=str)
@every_model
def test_search_over_the_level_of_noise(model, noise, rng):
    X, y = dataset(model, rng)
    model = clone(model).set_params(noise=noise)
    search = GridSearchCV(model, {"noise__rate": [0.1, 0.4]}, cv=2).fit(X, y)
    best = search.best_params_["noise__rate"]
    assert search.best_estimator_.noise.rate == best
    by_hand = clone(model).set_params(noise=Dropout(best)).fit(X, y)
    np.testing.assert_allclose(search.best_estimator_.coef_, by_hand.coef_)
    scores = search.cv_results_["mean_test_score"]
    assert scores[0] != scores[1] or kind(model) == "classifier"
    assert model.noise is noise  # the search leaves its template alone


def test_search_over_the_scale_of_another_noise(rng):
    model = DropoutSVC(Gaussian(1.0))
    X, y = dataset(model, rng)
    search = GridSearchCV(model, {"noise__scale": [0.1, 2.0]}, cv=2).fit(X, y)
    assert isinstance(search.best_estimator_.noise, Gaussian)


def test_search_over_noises(rng):
    model = DropoutSVC()
    X, y = dataset(model, rng)
    grid = {"noise": [None, 0.3, Gaussian(0.2)], "C": [0.1, 1.0]}
    search = GridSearchCV(model, grid, cv=2).fit(X, y)
    assert len(search.cv_results_["params"]) == 6


@every_model
def test_sample_weight_is_routed(model, rng):
    X, y = dataset(model, rng)
    weights = rng.integers(0, 3, size=len(y)).astype(float)
    weights[:10] = 1.0
    with sklearn.config_context(enable_metadata_routing=True):
        routed = clone(model).set_fit_request(sample_weight=True)
        pipeline = make_pipeline(MaxAbsScaler(), routed)
        pipeline.fit(X, y, sample_weight=weights)
        last = routed.__class__.__name__.lower()
        grid = {f"{last}__C": [0.5]}
        # with a scorer, since a pipeline has no score request in scikit-learn 1.7
        scorer = get_scorer("r2" if is_regressor(model) else "accuracy")
        scorer = scorer.set_score_request(sample_weight=True)
        search = GridSearchCV(pipeline, grid, scoring=scorer, cv=2)
        search.fit(X, y, sample_weight=weights)
        scaled = MaxAbsScaler().fit_transform(X)
        routed.set_score_request(sample_weight=True)
        alone = GridSearchCV(routed, {"C": [0.5]}, cv=2)
        alone.fit(scaled, y, sample_weight=weights)
    by_hand = clone(model).fit(scaled, y, sample_weight=weights)
    np.testing.assert_allclose(pipeline[-1].coef_, by_hand.coef_)
    by_hand = clone(model).set_params(C=0.5).fit(scaled, y, sample_weight=weights)
    np.testing.assert_allclose(search.best_estimator_[-1].coef_, by_hand.coef_)
    np.testing.assert_allclose(alone.best_estimator_.coef_, by_hand.coef_)
    ignored = clone(model).fit(scaled, y)
    assert np.abs(ignored.coef_ - pipeline[-1].coef_).max() > 1e-3


@every_model
def test_warm_start_starts_at_the_last_solution(model, rng):
    X, y = dataset(model, rng, n=80, classes=3)
    model = clone(model).set_params(warm_start=True, tol=1e-8)
    cold = model.fit(X, y).n_iter_
    objective = np.copy(model.objective_)
    warm = model.fit(X, y).n_iter_
    assert warm <= max(2, cold // 3)
    np.testing.assert_allclose(model.objective_, objective, rtol=1e-7)


@every_model
def test_warm_start_survives_another_shape(model, rng):
    model = clone(model).set_params(warm_start=True)
    model.fit(*dataset(model, rng, d=5))
    X, y = dataset(model, rng, d=3)
    fresh = clone(model).fit(X, y)
    np.testing.assert_allclose(model.fit(X, y).coef_, fresh.coef_)


@every_classifier
def test_refit_forgets_the_classes(model, rng):
    X, y = dataset(model, rng, classes=3)
    model = clone(model).fit(X, y)
    model.fit(X, y > 0)
    assert list(model.classes_) == [False, True]
    assert model.coef_.shape == (1, X.shape[1])
    assert isinstance(model.objective_, float)


@pytest.mark.parametrize("expectation", ["variational", "jensen", "taylor", "gaussian"])
@pytest.mark.parametrize("classes", [2, 3])
def test_probabilities(classes, expectation, rng):
    model = DropoutLogisticRegression(expectation=expectation)
    X, y = dataset(model, rng, classes=classes)
    model.fit(X, y)
    p = model.predict_proba(X)
    assert p.shape == (len(X), classes)
    np.testing.assert_allclose(p.sum(axis=1), 1.0)
    assert p.min() >= 0
    np.testing.assert_array_equal(model.classes_[p.argmax(axis=1)], model.predict(X))
    np.testing.assert_allclose(np.exp(model.predict_log_proba(X)), p)


def test_probabilities_far_from_all_classes(rng):
    """Where every score is hugely negative the answer is still a distribution."""
    model = DropoutLogisticRegression()
    model.fit(*dataset(model, rng, classes=3))
    model.coef_ = np.full_like(model.coef_, -1e4)
    p = model.predict_proba(np.ones((1, 5)))
    np.testing.assert_allclose(p, 1 / 3)


@every_model
def test_too_few_iterations_warn_once(model, rng):
    X, y = dataset(model, rng, n=80)
    model = clone(model).set_params(max_iter=1, tol=1e-13, solver="lbfgs")
    with pytest.warns(ConvergenceWarning, match="stopped after 1 iterations") as caught:
        model.fit(X, y)
    assert len(caught) == 1
    assert model.n_iter_ == 1


class Listener:
    """What scikit-learn 1.9 asks of a callback."""

    def __init__(self, stop_after=None):
        self.stop_after = stop_after
        self.heard = []

    def setup(self, estimator, context):
        self.heard.append("setup")

    def teardown(self, estimator, context):
        self.heard.append("teardown")

    def on_fit_task_begin(self, estimator, context, *, X=None, y=None):
        self.heard.append(f"begin {context.task_name}")

    def on_fit_task_end(self, estimator, context, *, X=None, y=None):
        self.heard.append(f"end {context.task_name}")
        return self.heard.count("end step") == self.stop_after


callbacks = pytest.mark.skipif(
    not hasattr(DropoutSVC, "set_callbacks"), reason="scikit-learn before 1.9"
)


@callbacks
@every_model
def test_callbacks_hear_every_step(model, rng):
    listener = Listener()
    X, y = dataset(model, rng)
    model = clone(model).set_callbacks(listener).fit(X, y)
    heard = listener.heard
    assert heard[0] == "setup"
    assert heard[-1] == "teardown"
    assert heard.count("end step") == heard.count("begin step") == model.n_iter_
    assert heard.count("begin fit") == heard.count("end fit") == 1
    silent = clone(model).fit(X, y)
    np.testing.assert_array_equal(silent.coef_, model.coef_)


@callbacks
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@every_model
def test_callbacks_can_stop_the_fit(model, rng):
    X, y = dataset(model, rng)
    listener = Listener(stop_after=1)
    model = clone(model).set_params(tol=1e-12).set_callbacks(listener).fit(X, y)
    assert listener.heard.count("end step") == 1
    assert model.n_iter_ == 1
    assert np.isfinite(model.coef_).all()


@every_model
def test_verbose_prints_a_line_per_step(model, rng, capsys):
    X, y = dataset(model, rng)
    model = clone(model).set_params(verbose=1).fit(X, y)
    lines = capsys.readouterr().out.splitlines()
    assert len(lines) == model.n_iter_
    pattern = (
        rf"\[{type(model).__name__}\] step +\d+  objective [-\d.e+]+  gap [\d.e+-]+"
    )
    assert all(re.fullmatch(pattern, line) for line in lines)
    last = float(lines[-1].split("objective")[1].split()[0])
    assert last == pytest.approx(model.objective_, rel=1e-5)


@every_model
def test_quiet_by_default(model, rng, capsys):
    clone(model).fit(*dataset(model, rng))
    assert capsys.readouterr() == ("", "")
