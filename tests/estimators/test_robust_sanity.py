"""The sanity check of Dekel and Shamir, section 4."""

import numpy as np
import pytest
from sklearn.svm import SVC

from noiseproof import RobustLPClassifier
from noiseproof.datasets import make_leaky_labels


@pytest.mark.slow
def test_leaky_labels_over_100_repetitions():
    """The paper: 0 and 0 with one leak deleted, 0.477 and 0.22 with both."""
    values = np.r_[np.ones(20), 10, 10]
    errors = np.zeros((100, 2, 2))
    for seed in range(100):
        X, y = make_leaky_labels(random_state=seed)
        models = (
            SVC(kernel="linear"),
            RobustLPClassifier(20, feature_values=values, C=3.0),
        )
        for k, model in enumerate(models):
            model.fit(X[:500], y[:500])
            test = X[500:].copy()
            for n_deleted in (1, 2):
                test[:, 19 + n_deleted] = 0.0
                errors[seed, k, n_deleted - 1] = 1 - model.score(test, y[500:])
    svm, program = errors.mean(axis=0)
    np.testing.assert_allclose([svm[0], program[0]], 0, atol=1e-3)
    assert 0.42 < svm[1] < 0.5
    assert 0.2 < program[1] < 0.23
