"""What each registered attack allows, written apart from the library.

For every attack: an instance, random rows that it allows, and whether it allows a row.
An attack that is not listed speaks for itself: it allows its candidates, or what it
does to a row against any model. Rows have 9 features, so that they are images of 3 by 3
pixels too.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest
from scipy import ndimage

from noiseproof.attacks import (
    ATTACKS,
    Ellipsoid,
    FeatureDeletion,
    FeatureScaling,
    ImageRotation,
    ImageScale,
    ImageShear,
    ImageShift,
    NormBall,
    Trajectory,
    Union,
)

D = 9
_ROOT = np.random.default_rng(7).normal(size=(D, 4))
COVARIANCE = _ROOT @ _ROOT.T / 9


@dataclass
class Allowed:
    """An attack, a sampler of allowed rows, a test of rows, and how to disarm it."""

    attack: Any
    sample: Any
    contains: Any
    harmless: dict[str, Any]


def _few_scaled(k, low, high):
    def sample(x, rng):
        chosen = rng.permutation(D)[: rng.integers(k + 1)]
        y = x.copy()
        y[chosen] *= rng.choice([low, high, rng.uniform(low, high)], len(chosen))
        return y

    def contains(x, y):
        changed = np.flatnonzero(x != y)
        factors = y[changed] / x[changed]
        within = (factors >= low - 1e-9) & (factors <= high + 1e-9)
        return len(changed) <= k and within.all()

    return sample, contains


def _in_ball(radius, order):
    def sample(x, rng):
        delta = rng.normal(size=D) * (rng.random(D) < rng.uniform(0.2, 1))
        length = np.linalg.norm(delta, order) or 1.0
        return x + delta * radius * rng.choice([1, rng.random()]) / length

    def contains(x, y):
        return np.linalg.norm(y - x, order) <= radius * (1 + 1e-9)

    return sample, contains


def _in_ellipsoid(x, y):
    delta = y - x
    inverse = np.linalg.pinv(COVARIANCE)
    inside = delta @ inverse @ delta <= 1 + 1e-9
    return inside and np.allclose(COVARIANCE @ inverse @ delta, delta)


def _ellipsoid_sample(x, rng):
    values, vectors = np.linalg.eigh(COVARIANCE)
    z = rng.normal(size=D)
    z *= rng.choice([1, rng.random()]) / np.linalg.norm(z)
    return x + vectors @ (np.sqrt(np.maximum(values, 0)) * z)


def _curve(x, t):
    """The Taylor series of a signal's delay to the third order, at each t."""
    slope, total = x, np.array(x)
    for power, factor in [(1, 1), (2, 2), (3, 6)]:
        padded = np.pad(slope, 1)
        slope = (padded[:-2] - padded[2:]) / 2
        total = total + t**power * slope / factor
    return total


def _on_curve(x, y):
    grid = np.linspace(-1.5, 1.5, 6001)[:, None]
    return np.linalg.norm(_curve(x, grid) - y, axis=1).min() < 2e-3


def image(x, inverse, shift=(0, 0)):
    """The transformed image by SciPy, about the centre of 3 by 3 pixels."""
    inverse, centre = np.asarray(inverse, dtype=float), np.ones(2)
    offset = centre - inverse @ centre - shift
    out = ndimage.affine_transform(
        x.reshape(3, 3), inverse, offset, order=1, mode="grid-constant"
    )
    return out.ravel()


def _listed(ways):
    def sample(x, rng):
        return ways(x)[rng.integers(len(ways(x)))]

    def contains(x, y):
        return any(np.allclose(y, way, atol=1e-9) for way in ways(x))

    return sample, contains


def _shifts(x):
    steps = [(a, b) for a in (-0.7, 0, 0.7) for b in (-0.7, 0, 0.7)]
    return [image(x, np.eye(2), step) for step in steps]


def _turns(x):
    angles = np.deg2rad([0, 20, -20])
    return [image(x, [[np.cos(a), np.sin(a)], [-np.sin(a), np.cos(a)]]) for a in angles]


def _sizes(x):
    return [image(x, np.eye(2) / factor) for factor in (1, 0.7, 1.3)]


def _slants(x):
    amounts = (0, 0.4, -0.4)
    down = [image(x, [[1, a], [0, 1]]) for a in amounts]
    return down + [image(x, [[1, 0], [a, 1]]) for a in amounts]


def _either(first, second):
    def sample(x, rng):
        return first[0](x, rng) if rng.random() < 0.5 else second[0](x, rng)

    return sample, lambda x, y: first[1](x, y) or second[1](x, y)


class _AllowedSets(dict):
    """Allowed sets by name, and those of attacks that are not listed."""

    def __missing__(self, name):
        attack = ATTACKS[name]()
        level = attack.level_name
        harmless = None if level is None else {level: 0}
        if attack.is_finite:
            return Allowed(attack, *_listed(attack.candidates), harmless)

        def sample(x, rng):
            return attack.worst(x[None], [1], rng.normal(size=D))[0]

        return Allowed(attack, sample, lambda x, y: True, harmless)


ALLOWED = _AllowedSets(
    {
        "feature-deletion": Allowed(
            FeatureDeletion(3), *_few_scaled(3, 0.0, 1.0), {"budget": 0}
        ),
        "feature-scaling": Allowed(
            FeatureScaling(3, 0.5, 2.5), *_few_scaled(3, 0.5, 2.5), {"k": 0}
        ),
        "norm-ball": Allowed(NormBall(0.7), *_in_ball(0.7, 2), {"radius": 0}),
        "ellipsoid": Allowed(
            Ellipsoid(COVARIANCE), _ellipsoid_sample, _in_ellipsoid, {"covariance": 0}
        ),
        "trajectory": Allowed(
            Trajectory(degree=3, span=1.5),
            lambda x, rng: _curve(x, rng.uniform(-1.5, 1.5)),
            _on_curve,
            {"span": 0},
        ),
        "image-shift": Allowed(
            ImageShift(0.7, directions=8), *_listed(_shifts), {"pixels": 0}
        ),
        "image-rotation": Allowed(ImageRotation(20), *_listed(_turns), {"degrees": 0}),
        "image-scale": Allowed(ImageScale(0.3), *_listed(_sizes), {"amount": 0}),
        "image-shear": Allowed(ImageShear(0.4), *_listed(_slants), {"amount": 0}),
        "union": Allowed(
            Union([ImageRotation(20), NormBall(0.1, np.inf)]),
            *_either(_listed(_turns), _in_ball(0.1, np.inf)),
            {"attacks": ()},
        ),
    }
)

every_attack = pytest.mark.parametrize("name", list(ATTACKS))
