"""Seeds, and a place on the path for the helpers that tests share."""

import os

# Tests run side by side, where threads would only wait for each other: of OpenMP, which
# reads this when it is loaded, and of BLAS (below)
os.environ.setdefault("OMP_NUM_THREADS", "1")

import numpy as np
import pytest
from threadpoolctl import threadpool_limits


@pytest.fixture(autouse=True, scope="session")
def _one_blas_thread():
    with threadpool_limits(1, user_api="blas"):
        yield


@pytest.fixture
def rng():
    return np.random.default_rng(20140)
