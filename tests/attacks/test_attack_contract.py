"""What every registered attack, and every user's own, must keep."""

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.base import clone

from noiseproof.attacks import ATTACKS, Attack, LinearModel


class Shift(Attack):
    """A user's own attack: the row may move by one place."""

    def candidates(self, x):
        return np.stack([x, np.roll(x, 1), np.roll(x, -1)])


class Shrink(Attack):
    """A user's own attack that answers `worst` itself."""

    def worst(self, X, y, coef, intercept=None):
        return X * 0.5


@pytest.fixture(params=[*ATTACKS.values(), Shift], ids=lambda a: a.__name__)
def attack(request):
    return request.param()


@pytest.mark.parametrize("k", [1, 4])
def test_drop_is_what_worst_costs(attack, k):
    rng = np.random.default_rng(0)
    X, coef, b = rng.normal(size=(9, 6)), rng.normal(size=(k, 6)), rng.normal(size=k)
    y = rng.choice([-1, 1], 9) if k == 1 else rng.integers(k, size=9)
    model = LinearModel(X, y, coef, b)
    worst = attack.worst(X, y, coef, b)
    lost = model.margins(X, model.label) - model.margins(worst, model.label)
    drop = attack.margin_drop(X, y, coef, b)
    assert (drop >= 0).all()
    np.testing.assert_allclose(drop, lost, atol=1e-12)
    sparse = attack.worst(sp.csr_matrix(X), y, coef, b)
    assert isinstance(sparse, sp.csr_matrix)
    np.testing.assert_allclose(sparse.toarray(), worst)


def test_parameters_are_stored_as_given(attack):
    assert clone(attack).get_params() == attack.get_params()


def test_own_worst_is_enough():
    drop = Shrink().margin_drop(np.array([[2.0, 0.0]]), [1], [1.0, 1.0])
    np.testing.assert_allclose(drop, 1.0)


def test_an_attack_without_ways_says_what_to_write():
    with pytest.raises(NotImplementedError, match="must override worst"):
        Attack().worst(np.ones((1, 2)), [1], [1.0, 1.0])
