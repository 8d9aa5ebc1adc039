"""A file says whether it contains training rows, and need not contain any."""

import io
from zipfile import ZipFile

import numpy as np
import pytest
from every_model import every_class, instance
from sklearn.base import clone
from sklearn.ensemble import RandomForestClassifier
from sklearn.gaussian_process import GaussianProcessClassifier
from sklearn.impute import KNNImputer
from sklearn.linear_model import LogisticRegression
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline
from sklearn.svm import SVC, LinearSVC

import noiseproof
from noiseproof import AverageOverMissing, InvariantSVC, ReducedModels
from noiseproof._contents import kept_rows
from noiseproof.estimators import ESTIMATORS
from noiseproof.io import read_notes
from noiseproof.io.model import pack, unpack

MODELS = {
    "donors": (
        AverageOverMissing(LogisticRegression(), "donors", n_calibration=0),
        "rows_ of its Do",
    ),
    "kept aside": (
        AverageOverMissing(LogisticRegression(), "donors"),
        "rows of its Calibration",
    ),
    "patterns": (ReducedModels(LogisticRegression()), "rows_ of its Reduced"),
    "neighbours": (KNeighborsClassifier(), "_fit_X of its KN"),
    "imputer": (make_pipeline(KNNImputer(), LogisticRegression()), "_fit_X of its KN"),
    "kernels": (SVC(), "support_vectors_ of its SVC"),
    "our kernels": (InvariantSVC(kernel="rbf"), "support_vectors_ of its Inv"),
    "process": (GaussianProcessClassifier(), "X_train_ of its _Binary"),
    "Gaussian": (AverageOverMissing(LogisticRegression(), "joint-gaussian"), None),
    "linear": (LinearSVC(), None),
    "our weights": (InvariantSVC(), None),
    "trees": (RandomForestClassifier(3), None),
}


def holds_rows(path, X):
    """Whether an array of a file has a row of X in it, cell after cell."""
    _, payload = unpack(path.read_bytes(), "file")
    rows, d = {row.tobytes() for row in X}, X.shape[1]
    with ZipFile(io.BytesIO(payload)) as archive:
        for name in archive.namelist():
            if not name.endswith(".npy"):
                continue
            array = np.load(io.BytesIO(archive.read(name)), allow_pickle=False)
            if array.dtype != np.float64 or array.size < d:
                continue
            for cells in (array.ravel(), array.ravel(order="F")):
                windows = np.lib.stride_tricks.sliding_window_view(cells, d)
                if any(window.tobytes() in rows for window in windows):
                    return True
    return False


@pytest.mark.parametrize("name", MODELS)
def test_files_say_so_and_may_be_refused(name, rng, tmp_path):
    model, where = MODELS[name]
    path, X = tmp_path / "model.npf", rng.normal(size=(40, 3))
    path.write_bytes(b"what was there")
    model = clone(model).fit(X, (X[:, 0] > 0).astype(int))
    assert bool(kept_rows(model)) == bool(where)
    if where:
        with pytest.raises(ValueError, match=f"it contains rows .*, as {where}"):
            noiseproof.save(model, path, rows=False)
        assert path.read_bytes() == b"what was there"
        noiseproof.save(model, path)
    else:
        noiseproof.save(model, path, rows=False)
    assert read_notes(path)["training_rows"] == holds_rows(path, X) == bool(where)
    noiseproof.save(clone(model), path, rows=False)
    assert not read_notes(path)["training_rows"]


def test_notes_cannot_say_otherwise_and_old_files_say_nothing(rng, tmp_path):
    path, X = tmp_path / "model.npf", rng.normal(size=(40, 3))
    model = SVC().fit(X, X[:, 0] > 0)
    noiseproof.save(model, path, notes={"training_rows": False})
    assert read_notes(path) == {"training_rows": True}
    header, payload = unpack(path.read_bytes(), "file")
    del header["training_rows"]
    path.write_bytes(pack(header | {"notes": {"by": "Ada"}}, payload))
    assert read_notes(path) == {"by": "Ada"}


@pytest.mark.parametrize("name", ESTIMATORS)
def test_our_estimators_say_what_they_hold(name, rng, tmp_path):
    """By looking for training rows among all numbers of the file."""
    from problems import dataset

    model = ESTIMATORS[name]()
    X, y = dataset(model, rng)
    if not isinstance(X, np.ndarray):
        pytest.skip("rows are sequences")
    path = tmp_path / "model.npf"
    noiseproof.save(model.fit(X, y), path)
    assert holds_rows(path, X) <= read_notes(path)["training_rows"]


# the mean of a cluster of one row is that row, which nobody has asked to keep
MEANS = {"BisectingKMeans", "KMeans", "MeanShift", "MiniBatchKMeans"}


@pytest.mark.whole
@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("kind", ["classifier", "regressor", "cluster", "transformer"])
def test_models_of_scikit_learn_say_what_they_hold(kind, rng, tmp_path):
    path, wrong, asked = tmp_path / "model.npf", [], 0
    X = np.abs(rng.normal(size=(40, 4)))
    y = X[:, 2] if kind == "regressor" else (X[:, 0] > X[:, 1]).astype(int)
    for name in every_class(kind).keys() - MEANS:
        try:
            model = instance(every_class(kind)[name]).fit(
                X, X[:, 2] if kind == "regressor" else y
            )
            noiseproof.save(model, path)
        except Exception:
            continue
        asked += 1
        if holds_rows(path, X) != read_notes(path)["training_rows"]:
            wrong.append((name, kept_rows(model)))
    assert not wrong
    assert asked >= len(every_class(kind)) / 2
