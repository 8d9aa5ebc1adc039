"""What must not change an answer, for every public function on rows.

The members of the registries are found there, and the functions in the public modules
`evaluation` and `bounds`: a new one fails a test until it is listed here. Two kinds:

- *By row* (noise: `variance`, `cgf`; attacks: `worst`, `margin_drop`, `candidates`;
  conditionals: `mean`, `draws`; `certify`, `conformal_sets`, `linear_view`,
  `value_of_cells`): what a row gets depends on that row alone.
- *Of a table* (`robustness_curve`, `feature_fragility`, `perturbed_scorer`, `contest`,
  `interval_coverage`, `missing_cost`, `acquisition_curve`, `pac_bayes_risk`,
  `online_to_batch_risk`): one answer for all rows.

Both keep their answer for other containers and precisions, for rows and columns in
another order (the answers follow), and for any `n_jobs`; none changes its input.
Exceptions are skipped with the reason: random perturbations are drawn in the order of
rows and columns.
"""

import inspect
import pickle
from dataclasses import dataclass
from functools import cache
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pytest
import scipy.sparse as sp
from allowed_sets import ALLOWED, D
from sklearn.base import BaseEstimator, ClassifierMixin, clone

import noiseproof
from noiseproof import bounds, evaluation
from noiseproof._rows import contain
from noiseproof.attacks import ATTACKS, FeatureDeletion
from noiseproof.conditionals import CONDITIONALS, Donors
from noiseproof.evaluation import PERTURBATIONS
from noiseproof.noise import NOISES

N = 24
NAMES = [f"sensor_{j}" for j in range(D)]
STRAIGHT = np.arange(D)
LEVELS = np.linspace(0.1, 0.4, D)


class Linear(ClassifierMixin, BaseEstimator):
    """Ridge regression of indicators of the classes; a missing value adds nothing."""

    def fit(self, X, y):
        Z = _dense(X)
        self.classes_ = np.unique(y)
        targets = np.equal.outer(np.asarray(y), self.classes_) - 1 / 3
        self.coef_ = np.linalg.solve(Z.T @ Z + np.eye(D), Z.T @ targets).T
        self.intercept_ = np.linspace(0.0, 0.1, len(self.classes_))
        return self

    def decision_function(self, X):
        return _dense(X) @ self.coef_.T + self.intercept_

    def predict_proba(self, X):
        scores = np.exp(self.decision_function(X))
        return scores / scores.sum(axis=1, keepdims=True)

    def predict(self, X):
        return self.classes_[self.decision_function(X).argmax(axis=1)]

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = tags.input_tags.sparse = True
        return tags


def _dense(X):
    return np.nan_to_num((X.toarray() if sp.issparse(X) else np.asarray(X)) * 1.0)


@cache
def _data():
    """Training rows, their classes, and new rows: short decimals, many zeros."""
    rng = np.random.default_rng(0)
    X = np.round(8 * rng.gamma(1.0, size=(80 + N, D))) / 8
    X[rng.random(X.shape) < 0.3] = 0.0
    y = (X @ rng.normal(size=(D, 3)) + rng.normal(size=(80 + N, 3))).argmax(axis=1)
    for part in (X, y):
        part.flags.writeable = False
    return X[:80], y[:80], X[80:], y[80:]


def _model(order=STRAIGHT):
    X, y, *_ = _data()
    return Linear().fit(X[:, order], y)


@dataclass(frozen=True)
class Function:
    """A function of rows X, labels y and the order in which columns of X stand.

    A function by row gives a list with an array for each row, and puts columns back in
    their order. `keywords` are what it can be told in addition.
    """

    call: Any
    sparse: bool = True
    holes: bool = False  # whether it is tried on rows with missing values
    moves_rows: bool = True  # whether rows may come in another order
    moves_columns: bool = True
    jobs: bool = False
    table: Any = None  # the same call, with its answer as a table of the kind of X

    def __call__(self, X, y, order=STRAIGHT, **keywords):
        return self.call(X, y, order, **keywords)


def _noises():
    for name, law in NOISES.items():
        noise = law().at(LEVELS)

        def variance(X, y, order, noise=noise):
            return list(noise.at(LEVELS[order]).variance(X)[:, np.argsort(order)])

        def cgf(X, y, order, noise=noise):
            return list(noise.at(LEVELS[order]).cgf(X, 0.5)[:, np.argsort(order)])

        yield f"variance-{name}", Function(variance, sparse=False)
        yield f"cgf-{name}", Function(cgf, sparse=False)


def _attacks():
    for name in ATTACKS:
        attack = ALLOWED[name].attack
        # others name columns in their parameters, or take them for pixels
        alike = attack.smallest_change is not None

        def worst(X, y, order, attack=attack):
            model = _model(order)
            return attack.worst(X, y, model.coef_, model.intercept_)

        def rows(X, y, order, worst=worst):
            return list(_dense(worst(X, y, order))[:, np.argsort(order)])

        def drop(X, y, order, attack=attack):
            model = _model(order)
            return list(attack.margin_drop(X, y, model.coef_, model.intercept_))

        def copies(X, y, order, attack=attack):
            ways, origin = attack.copies(X)
            return [_dense(ways)[origin == i] for i in range(len(y))]

        yield f"worst-{name}", Function(rows, moves_columns=alike, table=worst)
        yield f"margin_drop-{name}", Function(drop, moves_columns=alike)
        if attack.is_finite:
            yield f"candidates-{name}", Function(copies, moves_columns=False)


def _conditionals():
    for name, law in CONDITIONALS.items():

        @cache
        def fitted(order, law=law):
            X = _data()[0][:, order]
            return law().fit(pd.DataFrame(X, columns=np.array(NAMES)[list(order)]))

        def mean(X, y, order, fitted=fitted):
            return fitted(tuple(order)).mean(X)

        def filled(X, y, order, mean=mean):
            return list(np.asarray(mean(X, y, order))[:, np.argsort(order)])

        def draws(X, y, order, fitted=fitted):
            return fitted(tuple(order)).draws(X).rows

        def weighted(X, y, order, fitted=fitted):
            rows, weights, origin = fitted(tuple(order)).draws(X)
            rows = np.asarray(rows)[:, np.argsort(order)]
            both = np.column_stack([rows, weights])
            return [both[origin == i] for i in range(len(y))]

        options = {"sparse": False, "holes": True}
        yield f"mean-{name}", Function(filled, table=mean, **options)
        yield f"draws-{name}", Function(weighted, table=draws, **options)


def _of_evaluation_by_row():
    for name, attack in ATTACKS.items():
        if attack.smallest_change is None:
            continue

        def certify(X, y, order, attack=ALLOWED[name].attack, n_jobs=None):
            found = evaluation.certify(
                _model(order), X, y, attack=attack, n_jobs=n_jobs
            )
            return list(np.column_stack([found.budget, found.prediction]))

        yield f"certify-{name}", Function(certify, jobs=True)
    for score in ("lac", "aps"):

        def sets(X, y, order, score=score):
            known, labels, *_ = _data()
            found = evaluation.conformal_sets(
                *(_model(order), known[:, order], labels),
                **{"conformity_score": score, "random_state": 0, "coverage": 0.7},
            )
            return list(found.predict(X))

        options = {"sparse": False, "holes": True}
        yield f"conformal_sets-{score}", Function(sets, **options)

    def view(X, y, order):
        found = evaluation.linear_view(_model(order))
        return list(found.scores(found.rows(X)))

    yield "linear_view", Function(view)

    def worth(X, y, order):
        found = evaluation.value_of_cells(_averages(tuple(order)), X)
        return list(found[:, np.argsort(order)])

    yield "value_of_cells", Function(worth, sparse=False, holes=True)


class _Averages:
    """A linear model, averaged over the draws of a conditional."""

    def __init__(self, order):
        X = _data()[0][:, order]
        frame = pd.DataFrame(X, columns=np.array(NAMES)[list(order)])
        self.linear, self.conditional_ = _model(list(order)), Donors().fit(frame)
        self.classes_ = self.linear.classes_

    def predict(self, X):
        return self.classes_[self.predict_proba(X).argmax(axis=1)]

    def predict_proba(self, X):
        rows, weights, origin = self.conditional_.draws(X, 20)
        answers = weights[:, None] * self.linear.predict_proba(rows)
        starts = np.searchsorted(origin, np.arange(X.shape[0]))
        return np.add.reduceat(answers, starts, axis=0)


_averages = cache(_Averages)


def _of_costs():
    def cost(X, y, order):
        known, labels, *_ = _data()
        found = evaluation.missing_cost(
            *(_averages(tuple(order)), X), calibration=(known[:, order], labels)
        )
        columns = np.array(list(found.by_column.values())).ravel()
        return np.array([*found.score, *found.complete_score, *found.cost, *columns])

    def curve(X, y, order):
        gone = np.random.default_rng(4).random(np.shape(X)) < 0.5
        known = contain(X, "nan").without(gone)
        found = evaluation.acquisition_curve(
            *(_averages(tuple(order)), known, X, y), n_steps=4, scoring="log_loss"
        )
        return found.scores

    random = {"moves_rows": False, "moves_columns": False, "sparse": False}
    yield "missing_cost", Function(cost, holes=True, **random)
    yield "acquisition_curve", Function(curve, **random)


def _of_tables():
    perturbations = {name: (name, 0.3) for name in PERTURBATIONS}
    perturbations |= {"noise": (NOISES["gaussian"](), 0.3)}
    perturbations |= {"attack": (FeatureDeletion(), 2)}
    perturbations["delete_count"] = ("delete_count", 2)
    for name, (perturb, level) in perturbations.items():
        random = name != "attack"
        groups = [[0, 1, 2], [3, 4]] if name.endswith("groups") else None
        options = {"groups": groups, "random_state": 0, "n_repeats": 3}
        fixed = {"sparse": not random, "moves_rows": not random}
        fixed |= {"moves_columns": not random}

        def curve(X, y, order, n_jobs=None, at=(perturb, [0, level]), options=options):
            options = options | {"n_jobs": n_jobs, "progress": False}
            return evaluation.robustness_curve(_model(order), X, y, *at, **options).mean

        def scorer(X, y, order, at=(perturb, level), options=options):
            return evaluation.perturbed_scorer(*at, **options)(_model(order), X, y)

        yield f"robustness_curve-{name}", Function(curve, jobs=True, **fixed)
        yield f"perturbed_scorer-{name}", Function(scorer, **fixed)

    def contest(X, y, order, n_jobs=None):
        contenders = {"one": Linear(), "other": Linear()}
        found = evaluation.contest(
            *(contenders, X, y, FeatureDeletion(), 2),
            **{"cv": 2, "random_state": 0, "n_jobs": n_jobs, "progress": False},
        )
        return np.array([found.clean, found.perturbed])

    # folds are dealt out in the order of rows
    yield "contest", Function(contest, jobs=True, moves_rows=False)
    for fate in ("zero", "nan"):
        for scoring in ("accuracy", "neg_log_loss"):  # by scores, and by predicting

            def fragility(X, y, order, n_jobs=None, fate=fate, scoring=scoring):
                names = {} if hasattr(X, "columns") else {"groups": _named(order)}
                found = evaluation.feature_fragility(
                    *(_model(order), X, y),
                    **{"deleted_as": fate, "scoring": scoring, "n_jobs": n_jobs},
                    **{"progress": False} | names,
                )
                cost = dict(zip(found.names, found.cost, strict=True))
                return np.array([cost[name] for name in NAMES])

            # of a sparse matrix a missing entry is not stored: it is zero
            yield (
                f"feature_fragility-{fate}-{scoring}",
                Function(fragility, jobs=True, sparse=fate == "zero"),
            )

    def pac_bayes(X, y, order):
        coef = _model(order).coef_[0] / 8
        found = bounds.pac_bayes_risk(coef, X / 16, np.where(y == 0, 1, -1), budget=1)
        return np.array([found.risk, found.explicit])

    def online(X, y, order):
        values = 1 + LEVELS[order]
        return bounds.online_to_batch_risk(
            0.01, X / 64, budget=1, values=values, margin=90.0
        )

    yield "pac_bayes_risk", Function(pac_bayes)
    yield "online_to_batch_risk", Function(online)


def _of_intervals():
    def covered(X, y, order):
        found = evaluation.interval_coverage(
            _Widths(order), X, LEVELS[y], levels=[0, 0.5], random_state=0
        )
        return np.vstack([found.covered, found.width])

    random = {"moves_rows": False, "moves_columns": False, "sparse": False}
    yield "interval_coverage", Function(covered, **random)


class _Widths:
    """A model whose intervals are the wider, the more is missing."""

    def __init__(self, order):
        self.order = order

    def predict(self, X):
        return np.nan_to_num(np.asarray(X, dtype=float)[:, self.order[0]])

    def predict_interval(self, X, coverage=0.9):
        half = 1 + np.isnan(np.asarray(X, dtype=float)).sum(axis=1)
        return np.stack([self.predict(X) - half, self.predict(X) + half], axis=1)


def _named(order):
    return {NAMES[j]: [place] for place, j in enumerate(order)}


BY_ROW = {
    name: function
    for part in (_noises, _attacks, _conditionals, _of_evaluation_by_row)
    for name, function in part()
}
OF_TABLES = dict(_of_tables()) | dict(_of_intervals()) | dict(_of_costs())
FUNCTIONS = BY_ROW | OF_TABLES
# of numbers, not of rows
NUMBERS = {"kl_inverse", "corruption_margin"}

by_row = pytest.mark.parametrize("name", BY_ROW)
every_function = pytest.mark.parametrize("name", FUNCTIONS)


def _new(name):
    """New rows and their classes, some with missing values if the function likes."""
    *_, X, y = _data()
    if FUNCTIONS[name].holes:
        rng = np.random.default_rng(1)
        X = np.where(rng.random(X.shape) < 0.3, np.nan, X)
        X[0] = np.nan
    return X, y


@cache
def _expected(name):
    return FUNCTIONS[name](*_new(name))


def _assert_same(found, expected, tol=1e-9):
    if isinstance(expected, list):
        assert len(found) == len(expected)
        for one, other in zip(found, expected, strict=True):
            np.testing.assert_allclose(one, other, rtol=tol, atol=tol)
    else:
        np.testing.assert_allclose(found, expected, rtol=tol, atol=tol)


def test_every_public_function_of_rows_is_listed():
    public = {
        name
        for room in (evaluation, bounds)
        for name in room.__all__
        if inspect.isfunction(getattr(room, name)) or name == "perturbed_scorer"
    }
    assert public - NUMBERS == {name.partition("-")[0] for name in FUNCTIONS} - {
        "variance",
        "cgf",
        "worst",
        "margin_drop",
        "candidates",
        "mean",
        "draws",
    }


@by_row
def test_a_row_alone_is_answered_as_in_a_batch(name):
    X, y = _new(name)
    alone = [FUNCTIONS[name](X[i : i + 1], y[i : i + 1])[0] for i in range(len(y))]
    _assert_same(alone, _expected(name))


@every_function
def test_the_order_of_rows_does_not_matter(name):
    if not FUNCTIONS[name].moves_rows:
        pytest.skip("random numbers are drawn, or folds dealt out, in the rows' order")
    X, y = _new(name)
    order = np.random.default_rng(2).permutation(len(y))
    expected = _expected(name)
    if name in BY_ROW:
        expected = [expected[i] for i in order]
    _assert_same(FUNCTIONS[name](X[order], y[order]), expected)


@every_function
def test_the_order_of_columns_does_not_matter(name):
    if not FUNCTIONS[name].moves_columns:
        pytest.skip("columns are pixels, or random numbers are drawn in their order")
    X, y = _new(name)
    order = np.random.default_rng(3).permutation(D)
    _assert_same(FUNCTIONS[name](X[:, order], y, order), _expected(name))


def _shuffled(X):
    """A pandas frame with labels of its own."""
    return pd.DataFrame(X, columns=NAMES, index=[f"row {7 * i % N}" for i in range(N)])


CONTAINERS = {
    "csr": sp.csr_array,
    "csc": sp.csc_matrix,
    "pandas": _shuffled,
    "polars": lambda X: pl.DataFrame(X, schema=NAMES),
}


@pytest.mark.parametrize("container", CONTAINERS)
@every_function
def test_the_container_does_not_matter(name, container):
    if container.startswith("cs") and not FUNCTIONS[name].sparse:
        pytest.skip("zeros count, or random numbers are drawn for stored entries only")
    X, y = _new(name)
    _assert_same(FUNCTIONS[name](CONTAINERS[container](X), y), _expected(name), 1e-7)


@pytest.mark.parametrize("container", ["pandas", "polars"])
@pytest.mark.parametrize("name", [n for n in BY_ROW if BY_ROW[n].table is not None])
def test_a_frame_is_answered_by_a_frame_with_its_names(name, container):
    X, y = _new(name)
    frame = CONTAINERS[container](X)
    found = FUNCTIONS[name].table(frame, y, STRAIGHT)
    assert type(found) is type(frame)
    assert list(found.columns) == NAMES
    if container == "pandas":
        assert list(dict.fromkeys(found.index)) == list(frame.index)


@pytest.mark.parametrize("container", ["array", *CONTAINERS])
@pytest.mark.parametrize("name", NOISES)
def test_noise_depends_on_the_seed_and_not_on_the_container(name, container):
    """Noise is drawn in the order of the rows; of sparse rows for stored entries."""
    X, _ = _new("linear_view")
    noise = NOISES[name]().at(LEVELS)
    store = CONTAINERS.get(container, np.copy)
    if container.startswith("cs"):
        if noise.is_additive:
            pytest.skip("it would fill a sparse matrix")
        expected = noise.sample(sp.csr_array(X), 0).toarray()
    else:
        expected = noise.sample(X, 0)
    given = store(X)
    found = noise.sample(given, 0)
    np.testing.assert_array_equal(_dense(found), expected)
    np.testing.assert_array_equal(_dense(given), X)
    if container != "csc":  # drawn row by row, it comes back as CSR
        assert type(found) is type(given)
    if hasattr(given, "columns"):
        assert list(found.columns) == NAMES
    if hasattr(given, "index"):
        assert list(found.index) == list(given.index)


@every_function
def test_float32_gives_nearly_the_same(name):
    X, y = _new(name)
    _assert_same(FUNCTIONS[name](X.astype(np.float32), y), _expected(name), 1e-5)


@pytest.mark.parametrize("name", [n for n in FUNCTIONS if FUNCTIONS[n].jobs])
def test_the_number_of_jobs_does_not_matter(name):
    X, y = _new(name)
    _assert_same(FUNCTIONS[name](X, y, n_jobs=2), _expected(name), 0)


def _bytes(X, y):
    """All that X and y hold; a sparse matrix may note that it is sorted."""
    parts = [X.data, X.indices, X.indptr] if sp.issparse(X) else [X]
    return pickle.dumps([*parts, y])


@pytest.mark.parametrize("container", ["array", *CONTAINERS])
@every_function
def test_inputs_are_not_modified(name, container):
    if container.startswith("cs") and not FUNCTIONS[name].sparse:
        pytest.skip("zeros count, or random numbers are drawn for stored entries only")
    X, y = _new(name)
    X, y = CONTAINERS.get(container, np.copy)(X.copy()), y.copy()
    before = _bytes(X, y)
    FUNCTIONS[name](X, y)
    assert _bytes(X, y) == before


@pytest.mark.parametrize("name", CONDITIONALS)
def test_a_saved_conditional_answers_as_before(name, tmp_path):
    X, _ = _new(f"mean-{name}")
    law = CONDITIONALS[name]().fit(_data()[0])
    noiseproof.save(law, tmp_path / "law.npf")
    again = noiseproof.load(tmp_path / "law.npf")
    np.testing.assert_array_equal(again.mean(X), law.mean(X))
    for one, other in zip(again.draws(X), law.draws(X), strict=True):
        np.testing.assert_array_equal(one, other)


@pytest.mark.parametrize("name", CONDITIONALS)
def test_the_order_of_training_rows_does_not_matter(name):
    X, _ = _new(f"mean-{name}")
    known = _data()[0].copy()
    known[np.random.default_rng(5).random(known.shape) < 0.1] = np.nan
    order = np.random.default_rng(4).permutation(len(known))
    one, other = (CONDITIONALS[name]().fit(rows) for rows in (known, known[order]))
    np.testing.assert_allclose(one.mean(X), other.mean(X), rtol=1e-9)


@pytest.mark.parametrize("name", CONDITIONALS)
def test_parameters_are_not_modified(name):
    law = CONDITIONALS[name]()
    before = clone(law).get_params()
    assert law.fit(_data()[0]).get_params() == before
