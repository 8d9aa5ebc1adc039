"""A toy member for each registry, as somebody else would write it.

With `-p toy_members` pytest registers them before it collects, so the contract tests
run on them, though no test knows their names, and leaves all other tests out. Tests
that run on a known member of the same kind, but not on the toy, are an error.
"""

import numpy as np
import pytest

from noiseproof._marginal.losses import LOSSES
from noiseproof._marginal.losses.logistic import LogisticVariational
from noiseproof.attacks import ATTACKS, Attack
from noiseproof.attacks.translation import Translation
from noiseproof.noise import NOISES, Cumulants, Noise, VarianceLaw


class Coin(Noise):
    """x ± scale, with equal probability."""

    level_name = "scale"
    is_additive = True

    def __init__(self, scale=1.0):
        self.scale = scale

    def variance_law(self):
        return VarianceLaw(self.level**2, 0.0, power=2)

    def cumulants(self, x, t):
        s, u = self.level, self.level * t
        log_cosh = np.logaddexp(u, -u) - np.log(2)
        slope = x + s * np.tanh(u)
        return Cumulants(t * x + log_cosh, slope, s**2 * (1 - np.tanh(u) ** 2) + 0 * x)

    def _sample_entries(self, x, rng):
        return x + self.level * rng.choice([-1.0, 1.0], size=x.shape)


class Nudge(Translation):
    """Each feature may move by up to `width`: known by its worst case only."""

    level_name = "width"

    def __init__(self, width=0.3):
        self.width = width

    def moves(self, directions):
        return self.width * np.sign(directions)

    def check(self, n_features):
        self._legal(self.width)


class Swap(Attack):
    """Two neighbours may change places: known by its candidates."""

    def candidates(self, x):
        x = np.asarray(x, dtype=np.float64)
        ways = np.tile(x, (len(x), 1))
        for j in range(len(x) - 1):
            ways[j + 1, [j, j + 1]] = x[[j + 1, j]]
        return ways


class Doubled(LogisticVariational):
    """Twice the logistic loss, which is C twice as large."""

    def value(self, y, m, v):
        return 2 * super().value(y, m, v)

    def slopes(self, y, m, v):
        slopes = super().slopes(y, m, v)
        return type(slopes)(*(2 * part for part in slopes))

    def curvatures(self, y, m, v):
        curvatures = super().curvatures(y, m, v)
        return type(curvatures)(*(2 * part for part in curvatures))


def pytest_configure():
    NOISES["coin"] = Coin
    ATTACKS["nudge"], ATTACKS["swap"] = Nudge, Swap
    LOSSES["doubled", "toy"] = Doubled


def pytest_collection_modifyitems(items):
    kept = []
    for toy, known in (
        ("coin", "laplace"),
        ("nudge", "image-scale"),
        ("swap", "image-scale"),
        ("doubled", "quadratic"),
    ):
        of_toy = [item for item in items if toy in _case(item)]
        of_known = {item.originalname for item in items if known in _case(item)}
        left_out = of_known - {item.originalname for item in of_toy}
        if left_out or not of_toy:
            raise pytest.UsageError(f"Tests of {known} do not run on {toy}: {left_out}")
        kept += of_toy
    items[:] = kept


def _case(item):
    """What a test stands for in brackets after its name."""
    return item.callspec.id if hasattr(item, "callspec") else ""
