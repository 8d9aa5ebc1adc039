"""Each noise says at which levels a curve is worth a look."""

import pytest

from noiseproof.noise import NOISES


@pytest.mark.parametrize("name", NOISES)
def test_levels_rise_from_zero_and_are_legal(name):
    noise = NOISES[name]()
    levels = noise.default_levels(10)
    assert levels[0] == 0
    assert list(levels) == sorted(set(levels))
    for level in levels:
        noise.at(level).check(10)
