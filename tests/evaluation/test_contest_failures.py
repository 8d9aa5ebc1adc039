"""A contender that cannot be judged is left out, with the reason."""

import numpy as np
from sklearn.linear_model import LogisticRegression
from sklearn.svm import SVC

from noiseproof.evaluation import contest


def test_a_contender_without_probabilities_does_not_end_a_contest_by_log_loss(rng):
    X = rng.normal(size=(60, 3))
    y = (X[:, 0] > 0).astype(int)
    result = contest(
        {"kernel": SVC(), "linear": LogisticRegression()}, X, y, "delete", 0.3,
        scoring="neg_log_loss", cv=2, n_repeats=1,
    )  # fmt: skip
    assert result.contenders == ("linear",)
    assert "predict_proba" in result.failed["kernel"]
    assert np.isfinite(result.perturbed).all()
