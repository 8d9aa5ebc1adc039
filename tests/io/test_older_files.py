"""Files that a released version has saved can be read, and predict the same.

`python tests/io/test_older_files.py` adds the files of the installed version. Only
estimators of this package are kept, since a file with others is restored by the
installed version of their library.
"""

import json
from pathlib import Path

import numpy as np
import pytest
from sklearn.datasets import load_wine

import noiseproof
from noiseproof import (
    AverageOverMissing,
    DropoutLogisticRegression,
    DropoutRidge,
    DropoutSVC,
    InvariantSVC,
    PartitionEnsemble,
    RobustLPClassifier,
    RobustPerceptron,
)
from noiseproof.attacks import NormBall
from noiseproof.noise import Gaussian

SAVED = Path(__file__).parent / "saved"
MODELS = {
    "average": AverageOverMissing(DropoutLogisticRegression(0.1), random_state=0),
    "invariant": InvariantSVC(NormBall(0.1)),
    "logistic": DropoutLogisticRegression(0.3),
    "partition": PartitionEnsemble(DropoutSVC(0.1), n_parts=3),
    "perceptron": RobustPerceptron(budget=2),
    "ridge": DropoutRidge(0.2),
    "robust-lp": RobustLPClassifier(budget=2),
    "svc": DropoutSVC(Gaussian(0.5)),
}


def rows():
    """Training rows, and rows to predict, a third of whose values are missing."""
    X, y = load_wine(return_X_y=True)
    X = (X - X.mean(axis=0)) / X.std(axis=0)
    new = X[1::9].copy()
    new[np.random.default_rng(0).random(new.shape) < 0.3] = np.nan
    return X[::3], y[::3], new


def predicted(model, X):
    """Predictions for rows with missing values, or with zeros in their place."""
    X = X if isinstance(model, AverageOverMissing) else np.nan_to_num(X)
    ask = getattr(model, "predict_proba", getattr(model, "decision_function", None))
    return (ask or model.predict)(X)


def older():
    return sorted(path.name for path in SAVED.glob("*") if path.is_dir())


@pytest.mark.parametrize("name", MODELS)
@pytest.mark.parametrize("version", older())
def test_older_files_predict_the_same(version, name):
    folder = SAVED / version
    expected = json.loads((folder / f"{name}.json").read_text(encoding="utf-8"))
    model = noiseproof.load(folder / f"{name}.npf")
    np.testing.assert_allclose(predicted(model, rows()[2]), expected, atol=1e-6)


def test_this_version_has_its_files_once_it_is_released():
    release = noiseproof.__version__
    assert release in older() or not release.replace(".", "").isdigit()


if __name__ == "__main__":
    X, y, new = rows()
    folder = SAVED / noiseproof.__version__
    folder.mkdir(parents=True)
    for name, model in MODELS.items():
        model.fit(X, y)
        noiseproof.save(model, folder / f"{name}.npf")
        found = json.dumps(predicted(model, new).round(9).tolist())
        (folder / f"{name}.json").write_text(found + "\n", encoding="utf-8")
