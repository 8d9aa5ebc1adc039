"""InvariantSVC as a user meets it."""

import pickle

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st
from invariant_problems import deletions, minimum, table
from odd_rows import out_of_range, stored_twice, with_stored_zeros
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning, NotFittedError
from sklearn.metrics.pairwise import rbf_kernel
from sklearn.svm import SVC
from threadpoolctl import threadpool_info, threadpool_limits

from noiseproof import InvariantSVC
from noiseproof._invariant import Candidates, make_costs
from noiseproof.attacks import ATTACKS, Attack, FeatureDeletion
from noiseproof.structured import TokenDeletion

SOLVERS = ["column_generation", "bundle", "pegasos"]


class Mirror(Attack):
    """Rows may be seen from behind; some twice."""

    def candidates(self, x):
        ways = [x, x[::-1]] if x[0] > 0 else [x, x[::-1], x / 2]
        return np.stack(ways)


def mirrored(X):
    ways = [Mirror().candidates(x) for x in X]
    return Candidates(np.array([len(w) for w in ways]), np.vstack(ways))


def zero_one(k):
    return make_costs(None, None, np.arange(k), None)


def uniform(n):
    return np.full(n, 1 / n)


def check_optimum(model, optimum):
    assert model.objective_ >= optimum * (1 - 1e-6)
    assert model.objective_ - model.gap_ <= optimum * (1 + 1e-6)
    assert 0 <= model.gap_ <= model.tol * model.objective_


@pytest.mark.parametrize("solver", SOLVERS)
@pytest.mark.parametrize("k", [2, 3])
def test_without_an_attack_it_is_crammer_and_singers(k, solver, rng):
    X, y = table(rng, k=k)
    tol = 0.02 if solver == "pegasos" else 1e-6
    model = InvariantSVC(alpha=0.1, solver=solver, tol=tol, random_state=0).fit(X, y)
    alone = Candidates(np.ones(len(X), dtype=int), X)
    check_optimum(model, minimum(alone, y, zero_one(k), uniform(len(X)), 0.1))


@pytest.mark.parametrize("solver", SOLVERS)
@pytest.mark.parametrize("container", [np.asarray, sp.csr_array, sp.csr_matrix])
def test_deletion_agrees_with_cvxpy_over_all_deletions(container, solver, rng):
    X, y = table(rng)
    tol = 0.02 if solver == "pegasos" else 1e-6
    model = InvariantSVC(
        FeatureDeletion(2), alpha=0.1, solver=solver, tol=tol, random_state=0
    ).fit(container(X), y)
    check_optimum(model, minimum(deletions(X, 2), y, zero_one(3), uniform(25), 0.1))


@pytest.mark.parametrize(
    "kernel", ["linear", "rbf", rbf_kernel], ids=["linear", "rbf", "callable"]
)
def test_listed_transforms_agree_with_cvxpy(kernel, rng):
    X, y = table(rng)
    listed = mirrored(X)
    model = InvariantSVC(Mirror(), kernel=kernel, gamma=0.25, alpha=0.1, tol=1e-6)
    model.fit(X, y)
    factor = None
    if kernel != "linear":
        K = rbf_kernel(listed.X, gamma=0.25)
        factor = np.linalg.cholesky(K + 1e-9 * np.eye(len(K)))
    optimum = minimum(listed, y, zero_one(3), uniform(25), 0.1, factor)
    assert model.objective_ == pytest.approx(optimum, rel=5e-6)


@pytest.mark.parametrize("container", [np.asarray, sp.csr_array])
def test_candidates_need_not_be_kept(container, rng):
    X, y = table(rng)
    models = [InvariantSVC(Mirror(), cache_size=size, tol=1e-6) for size in (0, 1000)]
    one, other = (model.fit(container(X), y) for model in models)
    assert one.objective_ == pytest.approx(other.objective_, rel=2e-6)


@pytest.mark.parametrize("gamma", ["scale", "auto", 0.3])
@pytest.mark.parametrize("container", [np.asarray, sp.csr_array])
def test_two_classes_are_scikit_learns_machine(container, gamma, rng):
    """With a constant kernel feature's worth of difference: SVC has an intercept."""
    X, y = table(rng, n=60, k=2)
    y = (X[:, 0] + 0.5 * rng.normal(size=60) > 0).astype(int)
    both, labels = np.vstack([X, -X]), np.r_[y, 1 - y]  # then SVC's intercept is zero

    def odd(A, B):  # a kernel under which f(-x) = -f(x)
        g = {"scale": 1 / (4 * both.var()), "auto": 0.25}.get(gamma, gamma)
        return rbf_kernel(A, B, gamma=g) - rbf_kernel(A, -B, gamma=g)

    svc = SVC(kernel=odd, C=0.5, tol=1e-6).fit(both, labels)
    ours = InvariantSVC(kernel=odd, alpha=2 / (0.5 * 120), tol=1e-7).fit(both, labels)
    np.testing.assert_allclose(
        ours.decision_function(X), svc.decision_function(X), atol=2e-3
    )
    plain = InvariantSVC(kernel="rbf", gamma=gamma).fit(container(X), y)
    g = {"scale": 1 / (4 * X.var()), "auto": 0.25}.get(gamma, gamma)
    explicit = InvariantSVC(kernel="rbf", gamma=g).fit(X, y)
    np.testing.assert_allclose(
        plain.decision_function(container(X)), explicit.decision_function(X), atol=1e-6
    )


def test_linear_models_show_their_weights(rng):
    X, y = table(rng)
    model = InvariantSVC(FeatureDeletion(1)).fit(X, y)
    np.testing.assert_allclose(model.decision_function(X), X @ model.coef_.T)
    assert not model.intercept_.any()
    two = InvariantSVC().fit(X, y > 0)
    assert two.coef_.shape == (1, 4)
    np.testing.assert_allclose(two.decision_function(X), X @ two.coef_[0])
    assert (two.predict(X) == (two.decision_function(X) > 0)).all()


@pytest.mark.parametrize("solver", ["column_generation", "pegasos"])
def test_kernel_models_show_their_support(solver, rng):
    X, y = table(rng)
    model = InvariantSVC(Mirror(), kernel="rbf", gamma=0.5, solver=solver, tol=0.05)
    model.fit(X, y)
    K = rbf_kernel(X, model.support_vectors_, gamma=0.5)
    np.testing.assert_allclose(model.decision_function(X), K @ model.dual_coef_)
    assert len(model.support_) == len(model.dual_coef_) == model.n_support_.sum()
    for row, vector in zip(model.support_, model.support_vectors_, strict=True):
        assert (np.abs(Mirror().candidates(X[row]) - vector).sum(axis=1) == 0).any()
    np.testing.assert_array_equal(np.bincount(y[model.support_]), model.n_support_)
    # a row's coefficients pull its own class up by as much as its rivals down
    np.testing.assert_allclose(model.dual_coef_.sum(axis=1), 0, atol=1e-12)
    model.set_params(kernel="linear").fit(X, y)
    assert not hasattr(model, "support_vectors_")


@pytest.mark.parametrize("solver", SOLVERS)
def test_rows_that_do_not_support_do_not_matter(solver, rng):
    X, y = table(rng, n=40)
    tol = 0.02 if solver == "pegasos" else 1e-6
    model = InvariantSVC(alpha=0.1, solver=solver, tol=tol, random_state=0).fit(X, y)
    counts = np.zeros(40)
    counts[model.support_] = 1.0
    assert set(np.bincount(y[model.support_])) == set(model.n_support_)
    scores = X @ model.coef_.T
    margins = scores[np.arange(40), y] - np.where(
        np.eye(3)[y] == 1, -np.inf, scores
    ).max(axis=1)
    assert counts[margins < 1 - 0.2].all()
    if solver != "pegasos":  # which counts the rows it has ever moved for
        assert not counts[margins > 1 + 0.2].any()


@settings(max_examples=10, deadline=None, derandomize=True, database=None)
@given(seed=st.integers(0, 10**6), budget=st.integers(0, 3))
def test_lemma_2_the_objective_bounds_the_attacked_error(seed, budget):
    X, y = table(np.random.default_rng(seed))
    attack = FeatureDeletion(budget)
    model = InvariantSVC(attack).fit(X, y)
    attacked = attack.worst(X, y, model.coef_)
    assert np.mean(model.predict(attacked) != y) <= model.objective_


@settings(max_examples=10, deadline=None, derandomize=True, database=None)
@given(seed=st.integers(0, 10**6))
def test_a_stronger_attack_costs_more(seed):
    X, y = table(np.random.default_rng(seed))
    costs = [
        InvariantSVC(FeatureDeletion(b), tol=1e-6).fit(X, y).objective_
        for b in range(4)
    ]
    assert (np.diff(costs) >= -1e-6 * np.array(costs[1:])).all()


@pytest.mark.parametrize("kernel", ["linear", "rbf"])
def test_weights_are_copies_and_order_is_nothing(kernel, rng):
    X, y = table(rng)
    counts = np.maximum(rng.integers(0, 4, size=25), np.arange(25) < 3)
    model = InvariantSVC(Mirror(), kernel=kernel)
    weighted = clone(model).fit(X, y, sample_weight=counts)
    twice = rng.permutation(np.repeat(np.arange(25), counts))
    repeated = clone(model).fit(X[twice], y[twice])
    assert weighted.objective_ == repeated.objective_
    np.testing.assert_array_equal(
        weighted.decision_function(X), repeated.decision_function(X)
    )


def test_costs_by_class_and_by_transform(rng):
    """A transform that costs nothing might as well not be there."""
    X, y = table(rng)
    names = np.array(["a", "b", "c"])[y]
    free = InvariantSVC(
        Mirror(), label_cost=lambda own, other, s: (own != other) - 100.0 * (s > 0)
    )
    plain = InvariantSVC()
    a, b = (m.set_params(tol=1e-6).fit(X, names) for m in (free, plain))
    assert a.objective_ == pytest.approx(b.objective_, rel=3e-6)
    cost = 1.0 - np.eye(3)
    cost[0] *= 10  # "a" must not be missed
    careful = InvariantSVC(label_cost=cost, alpha=0.1).fit(X, names)
    missed = [np.mean(m.predict(X[y == 0]) != "a") for m in (careful, plain)]
    assert missed[0] <= missed[1]
    scaled = InvariantSVC(margin_scale=np.full((3, 3), 2.0), alpha=0.04, tol=1e-6)
    same = InvariantSVC(alpha=0.01, tol=1e-6)  # f/2 does what f did
    one, other = scaled.fit(X, y), same.fit(X, y)
    assert one.objective_ == pytest.approx(other.objective_, rel=3e-6)
    np.testing.assert_allclose(2 * one.coef_, other.coef_, atol=0.02)


@pytest.mark.parametrize("attack", ATTACKS.values(), ids=list(ATTACKS))
def test_every_attack_trains(attack, rng):
    X, y = table(rng, d=4)
    attack = attack()
    model = InvariantSVC(attack).fit(X, y)
    worst = attack.worst(X, y, model.coef_)
    scores = worst @ model.coef_.T
    margins = scores - scores[np.arange(25), y][:, None] + 1.0 - np.eye(3)[y]
    norm2 = (model.coef_**2).sum()
    value = margins.max(axis=1).mean() + 0.005 * norm2
    assert model.objective_ == pytest.approx(value)
    assert model.gap_ <= 1e-3 * model.objective_
    if attack.is_finite:
        InvariantSVC(attack, kernel="rbf").fit(X, y)


def test_missing_is_zero(rng):
    X, y = table(rng)
    holes = X.copy()
    holes[3, 1] = holes[7, 2] = np.nan
    for kernel in ("linear", "rbf"):
        model = InvariantSVC(kernel=kernel, gamma=1.0)
        one, other = (
            clone(model).fit(holes, y),
            clone(model).fit(np.nan_to_num(holes), y),
        )
        np.testing.assert_allclose(
            one.decision_function(holes), other.decision_function(np.nan_to_num(holes))
        )
        assert one.missing_in_training_.tolist() == [False, True, True, False]
    with pytest.raises(ValueError, match="in feature 'b', and missing='error'"):
        InvariantSVC(missing="error").fit(
            pd.DataFrame(holes[:5], columns=list("abcd")), y[:5]
        )
    model = InvariantSVC(missing="warn").fit(X, y)
    with pytest.warns(UserWarning, match="Never missing in training"):
        model.predict(holes)


def test_float32_stays(rng):
    X, y = table(rng)
    model = InvariantSVC(FeatureDeletion(1)).fit(X.astype(np.float32), y)
    assert model.coef_.dtype == np.float32
    wide = InvariantSVC(FeatureDeletion(1)).fit(X, y)
    np.testing.assert_allclose(model.coef_, wide.coef_, atol=0.02)


def test_pickle_and_clone(rng):
    X, y = table(rng)
    model = InvariantSVC(Mirror(), kernel="rbf").fit(X, y)
    again = pickle.loads(pickle.dumps(model))
    np.testing.assert_array_equal(
        again.decision_function(X), model.decision_function(X)
    )
    assert not hasattr(clone(model), "dual_coef_")


def test_too_few_iterations_warn(rng):
    X, y = table(rng)
    with pytest.warns(ConvergenceWarning, match="after 2 iterations, before its gap"):
        model = InvariantSVC(max_iter=2, tol=1e-9).fit(X, y)
    assert model.gap_ > 1e-9 * model.objective_


def test_verbose_prints_a_line_per_step(rng, capsys):
    model = InvariantSVC(verbose=1).fit(*table(rng))
    lines = capsys.readouterr().out.splitlines()
    assert len(lines) == model.n_iter_
    assert lines[0].startswith("[InvariantSVC] step    1  objective")


@pytest.mark.parametrize(
    ("parameters", "sentence"),
    [
        ({"kernel": "rbf", "solver": "bundle"}, "'bundle' needs kernel='linear'"),
        (
            {"kernel": "rbf", "attack": FeatureDeletion()},
            "needs an attack that lists its candidates, and FeatureDeletion does not",
        ),
        ({"attack": "deletion"}, "'attack' parameter"),
        ({"attack": FeatureDeletion(-1)}, "budget must lie between 0 and"),
        ({"alpha": 0}, "'alpha' parameter"),
        ({"gamma": -1.0}, "'gamma' parameter"),
        ({"kernel": "poly"}, "'kernel' parameter"),
        ({"solver": "smo"}, "'solver' parameter"),
        ({"tol": 0.0}, "'tol' parameter"),
        ({"label_cost": np.ones((2, 2))}, "label_cost must have shape"),
        ({"margin_scale": -np.ones((3, 3))}, "margin_scale must not be negative"),
    ],
)
def test_bad_parameters_give_one_sentence(parameters, sentence, rng):
    with pytest.raises(ValueError, match=sentence) as caught:
        InvariantSVC().set_params(**parameters).fit(*table(rng))
    assert "\n" not in str(caught.value)


def test_bad_data_give_one_sentence(rng):
    X, y = table(rng)
    with pytest.raises(ValueError, match="only 1 class"):
        InvariantSVC().fit(X, np.zeros(25))
    with pytest.raises(ValueError, match="zero"):
        InvariantSVC().fit(X, y, sample_weight=np.zeros(25))


@pytest.mark.parametrize("kernel", ["linear", "rbf"])
def test_entries_stored_twice_are_summed(kernel, rng):
    X, y = table(rng)
    model = InvariantSVC(Mirror(), kernel=kernel).fit(sp.csr_matrix(X), y)
    again = clone(model).fit(stored_twice(X), y)
    scores = model.decision_function(X)
    np.testing.assert_array_equal(again.decision_function(X), scores)
    np.testing.assert_allclose(model.decision_function(stored_twice(X)), scores)


@pytest.mark.parametrize("kernel", ["linear", "rbf"])
def test_bad_columns_are_refused(kernel, rng):
    X, y = table(rng)
    model = InvariantSVC(kernel=kernel).fit(X, y)
    for method in (model.predict, lambda X: clone(model).fit(X, y)):
        with pytest.raises(ValueError, match="column index outside 0 to 3"):
            method(out_of_range(X))


@pytest.mark.parametrize("attack", [None, Mirror(), FeatureDeletion(1)], ids=str)
@pytest.mark.parametrize("size", [1e-3, 1000])
def test_zeros_that_are_stored_change_nothing(size, attack, rng):
    X, y = table(rng, n=30, d=6)
    X[rng.random(X.shape) < 0.5] = 0.0
    X[10:15], y[10:15] = X[0], y[0]  # equal rows are one
    plain, full = sp.csr_matrix(X), with_stored_zeros(X)
    mixed = sp.vstack([full[:10], plain[10:]], format="csr")
    model = InvariantSVC(attack, cache_size=size)
    fits = [clone(model).fit(rows, y) for rows in (plain, full, mixed)]
    for other in fits[1:]:
        np.testing.assert_array_equal(fits[0].coef_, other.coef_)
        np.testing.assert_array_equal(fits[0].support_, other.support_)


def test_missing_entries_and_zeros_are_equal_rows(rng):
    X, y = table(rng)
    X[5] = X[6] = [1.0, 0.0, 2.0, 0.0]
    y[5] = y[6] = 0
    holes = sp.csr_matrix(np.where(X == 0, np.nan, X))
    one, other = (InvariantSVC().fit(rows, y) for rows in (sp.csr_matrix(X), holes))
    np.testing.assert_array_equal(one.coef_, other.coef_)


class Broken(Attack):
    """Works for a while."""

    def __init__(self, error=ValueError, rounds=2):
        self.error = error
        self.rounds = rounds

    def worst(self, X, y, coef, intercept=None):
        self.left_ = getattr(self, "left_", self.rounds) - 1
        if self.left_ < 0:
            raise self.error("broken")
        return X


@pytest.mark.parametrize("error", [ValueError, KeyboardInterrupt])
def test_a_fit_that_ends_badly_leaves_blas_as_it_was(error, rng):
    def threads():
        return [lib["num_threads"] for lib in threadpool_info()]

    with threadpool_limits(2, user_api="blas"):
        before = threads()
        with pytest.raises(error, match="broken"):
            InvariantSVC(Broken(error), tol=1e-9).fit(*table(rng))
        assert threads() == before


@pytest.mark.parametrize("kernel", ["linear", "rbf"])
def test_a_fit_that_ends_badly_leaves_no_model(kernel, rng):
    X, y = table(rng)
    model = InvariantSVC(kernel=kernel).fit(X, y).set_params(label_cost=np.eye(2))
    with pytest.raises(ValueError, match="label_cost must have shape"):
        model.fit(X[:, :2], y)
    with pytest.raises(NotFittedError):
        model.predict(X[:, :2])
    model = InvariantSVC(kernel=kernel, missing="error").fit(X, y)
    with pytest.raises(ValueError, match="missing='error'"):
        model.fit(np.where(X > 2, np.nan, X), np.where(y > 0, "a", "b"))
    with pytest.raises(NotFittedError):
        model.predict(X)


def test_kernels_of_the_wrong_shape_give_one_sentence(rng):
    X, y = table(rng)
    for kernel in (lambda A, B: np.ones(len(B)), lambda A, B: np.ones((len(A), 1))):
        with pytest.raises(ValueError, match=r"kernel must return a matrix of shape"):
            InvariantSVC(kernel=kernel).fit(X, y)


def test_an_attack_on_sequences_is_refused(rng):
    with pytest.raises(TypeError, match="the rows of a table have none"):
        InvariantSVC(TokenDeletion()).fit(*table(rng))
