"""Seeds, and a place on the path for the helpers that tests share."""

import numpy as np
import pytest


@pytest.fixture
def rng():
    return np.random.default_rng(20140)
