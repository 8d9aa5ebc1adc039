"""Seeds, and a place on the path for the helpers that tests share."""

import numpy as np
import pytest
from threadpoolctl import threadpool_limits


@pytest.fixture(autouse=True, scope="session")
def _one_blas_thread():
    """Tests run side by side; threads of BLAS would only wait for each other."""
    with threadpool_limits(1, user_api="blas"):
        yield


@pytest.fixture
def rng():
    return np.random.default_rng(20140)
