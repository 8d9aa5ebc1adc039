"""Models that a stranger has forged: refused in one sentence, never a crash."""

import copy
import hashlib
import io
import json
import struct
import subprocess
import sys
import zipfile

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
import skops.io
from forged import refusal
from problems import dataset
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC, SVR, NuSVC, OneClassSVM

import noiseproof
from noiseproof import InvariantSVC
from noiseproof.estimators import ESTIMATORS
from noiseproof.io.model import MAGIC, pack
from noiseproof.tables import TableEncoder

pytestmark = pytest.mark.whole


def fitted(name, rng, classes=2):
    model = ESTIMATORS[name]()
    X, y = dataset(model, rng, classes=classes)
    return model.fit(X, y)


LINEAR = [name for name in ESTIMATORS if name.startswith(("dropout", "robust"))]


@pytest.mark.parametrize("nested", [False, True])
@pytest.mark.parametrize("name", LINEAR)
def test_arrays_that_disagree(name, nested, rng, tmp_path):
    model = fitted(name, rng)
    forgeries = {
        "n_features_in_": 2_000_000,
        "coef_": np.asarray(model.coef_)[..., :-1],
        "intercept_": np.zeros(7),
    }
    if hasattr(model, "classes_"):
        forgeries["classes_"] = np.arange(5)
    for attribute, value in forgeries.items():
        forged = copy.deepcopy(model)
        setattr(forged, attribute, value)
        whole = make_pipeline(StandardScaler(), forged) if nested else forged
        sentence = refusal(whole, tmp_path)
        assert sentence.endswith(
            f"of its {type(model).__name__} does not fit the rest."
        )


@pytest.mark.parametrize("name", LINEAR)
def test_objects_where_numbers_belong(name, rng, tmp_path):
    model = fitted(name, rng)
    model.coef_ = np.asarray(model.coef_).astype(object)
    assert "coef_" in refusal(model, tmp_path)


@pytest.mark.parametrize("value", [-1, 2.5, "4", None, [4]])
def test_numbers_of_features_that_are_none(value, rng, tmp_path):
    model = fitted("dropout-sgd", rng)
    model.n_features_in_ = value
    assert "n_features_in_" in refusal(model, tmp_path)


@pytest.mark.parametrize("part", ["w", "b", "scale_w", "scale_b", "lag_w", "lag_b"])
@pytest.mark.parametrize("classes", [2, 3])
def test_what_an_online_model_goes_on_with(part, classes, rng, tmp_path):
    model = fitted("dropout-sgd", rng, classes)
    right = getattr(model._state, part)
    for wrong in (
        right[:, :-1],
        right[:, :, None],
        right.astype("f4"),
        None,
        right[:0],
    ):
        forged = copy.deepcopy(model)
        setattr(forged._state, part, wrong)
        assert "does not fit" in refusal(forged, tmp_path)
    del model.n_features_in_
    assert "n_features_in_" in refusal(model, tmp_path)


def test_an_online_model_without_a_part(rng, tmp_path):
    model = fitted("dropout-sgd", rng)
    del model._state.lag_w
    assert "lag_w of its OnlineState" in refusal(model, tmp_path)
    model = fitted("dropout-sgd", rng)
    model._state.t = "soon"
    assert "t of its OnlineState" in refusal(model, tmp_path)


def test_the_state_of_a_perceptron(rng, tmp_path):
    model = fitted("robust-perceptron", rng)
    right = model._state
    for wrong in (right[:1], right[:, :, :-1], right.astype(int), right.astype(object)):
        model._state = wrong
        assert "_state" in refusal(model, tmp_path)
    model = fitted("robust-perceptron", rng)
    for name in ("feature_values_", "missing_in_training_"):
        forged = copy.deepcopy(model)
        setattr(forged, name, np.ones(2))
        assert name in refusal(forged, tmp_path)


def test_a_kernel_machine_of_ours(rng, tmp_path):
    X, y = dataset(InvariantSVC(), rng)
    model = InvariantSVC(kernel="rbf").fit(X, y)
    for name in ("support_vectors_", "dual_coef_"):
        forged = copy.deepcopy(model)
        setattr(forged, name, getattr(model, name)[:-1])
        assert "does not fit" in refusal(forged, tmp_path)


LIBSVM = {
    "SVC": SVC(),
    "NuSVC": NuSVC(nu=0.1),
    "SVR": SVR(),
    "OneClassSVM": OneClassSVM(),
    "precomputed": SVC(kernel="precomputed"),
    "sparse": SVC(kernel="linear"),
}


@pytest.mark.parametrize("name", LIBSVM)
def test_support_vector_machines_of_scikit_learn(name, rng, tmp_path):
    X, y = rng.normal(size=(40, 3)), np.arange(40) % 3
    X = X @ X.T if name == "precomputed" else X
    X = sp.csr_matrix(X) if name == "sparse" else X
    model = LIBSVM[name].fit(X, y)
    noiseproof.save(model, tmp_path / "honest.npf")
    honest = noiseproof.load(tmp_path / "honest.npf")
    np.testing.assert_array_equal(honest.predict(X), model.predict(X))
    forgeries = {
        "_n_support": [np.array([9999, 1, 1], "i4"), np.array([-5, 50, 0], "i4"), 3],
        "support_": [np.full(len(model.support_), 10**9, "i4")[:-1], None],
        "_intercept_": [np.zeros(0), np.zeros(99)],
        "_dual_coef_": [np.zeros((1, 1)), np.zeros((99, 99)), None],
        "_probA": [np.zeros(99)],
        "support_vectors_": [np.zeros((2, 2)), np.zeros((40, 900)), None],
        "n_features_in_": [10**6],
    }
    if name == "precomputed":
        forgeries["support_"].append(np.full(len(model.support_), 10**9, "i4"))
    for attribute, values in forgeries.items():
        for value in values:
            forged = copy.deepcopy(model)
            forged.__dict__[attribute] = value
            assert "does not fit" in refusal(forged, tmp_path), (attribute, value)


def test_sparse_parts_with_indices_out_of_bounds(rng, tmp_path):
    X = sp.csr_matrix(rng.normal(size=(40, 3)))
    model = SVC(kernel="linear").fit(X, np.arange(40) % 2)
    model.support_vectors_.indices[0] = 10**6
    assert "column index outside" in refusal(model, tmp_path)


# Small files that would hang, or take all memory


def archive(schema, files=()):
    """An archive around a description of one's own."""
    target = io.BytesIO()
    with zipfile.ZipFile(target, "w", zipfile.ZIP_DEFLATED) as zipped:
        text = schema if isinstance(schema, bytes) else json.dumps(schema).encode()
        zipped.writestr("schema.json", text)
        for name, content in files:
            zipped.writestr(name, content)
    return target.getvalue()


def node(loader, **rest):
    kind = {"ListNode": "list", "NdArrayNode": "ndarray"}[loader]
    module = "numpy" if kind == "ndarray" else "builtins"
    own = {"__class__": kind, "__module__": module, "__loader__": loader}
    return own | {"protocol": skops.io._protocol.PROTOCOL} | rest


def doubled(depth):
    """Two references to the level below at each level."""
    tree = node("ListNode", content=[], __id__=1)
    for i in range(2, depth):
        again = {"__id__": i - 1, **node("ListNode", content=[])}
        tree = node("ListNode", content=[tree, again], __id__=i)
    return tree


def deep(depth):
    tree = node("ListNode", content=[])
    for _ in range(depth):
        tree = node("ListNode", content=[tree])
    return tree


def array(shape, data=b""):
    head = io.BytesIO()
    description = {"descr": "<f8", "fortran_order": False, "shape": shape}
    np.lib.format.write_array_header_1_0(head, description)
    return head.getvalue() + data


ARRAY = node("NdArrayNode", type="numpy", file="a.npy")
SPARSE = {
    **node("NdArrayNode", type="scipy", file="a.npz"),
    **{"__loader__": "SparseMatrixNode", "__class__": "csr_matrix"},
    "__module__": "scipy.sparse._csr",
}
LONG_JSON = b'{"a":' * 20_000 + b"1" + b"}" * 20_000
TRAPS = {
    "doubling": (
        lambda: archive(doubled(60)),
        "gives one object twice, in two ways",
    ),
    "circle": (
        lambda: archive(
            node("ListNode", content=[node("ListNode", content=[], __id__=1)], __id__=1)
        ),
        "gives one object twice, in two ways",
    ),
    "blanks": (lambda: archive(b" " * 2**28 + b"{}"), "its description would unpack"),
    "brackets": (
        lambda: archive(b"[" + b"[]," * 2**21 + b"[]]"),
        "too many parts for its length",
    ),
    "deep": (lambda: archive(deep(150)), "levels deep"),
    "too-deep": (lambda: archive(LONG_JSON + b" " * 2**22), "recursion depth"),
    "gigabytes": (
        lambda: archive(ARRAY, [("a.npy", array((2**25,), bytes(2**28)))]),
        "its content would unpack",
    ),
    "thousand-times": (
        lambda: archive(
            node("ListNode", content=[ARRAY | {"__id__": i} for i in range(1, 1000)]),
            [("a.npy", array((2**20,), bytes(2**23)))],
        ),
        "its content would unpack",
    ),
    "sparse": (
        lambda: archive(
            SPARSE,
            [("a.npz", archive({}, [("data.npy", array((2**25,), bytes(2**28)))]))],
        ),
        "its content would unpack",
    ),
    **{
        f"shape-{i}": (
            lambda shape=shape: archive(ARRAY, [("a.npy", array(shape, bytes(80)))]),
            "is not as long as it says",
        )
        for i, shape in enumerate([(10**12,), (2, 3), (0, 10**15, 5)])
    },
}

CODE = """
import json, resource, sys
resource.setrlimit(resource.RLIMIT_CPU, (60, 60))
import noiseproof, skops.io
from noiseproof.io import FileFormatError
answers = []
for path in sys.argv[1:]:
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    try:
        noiseproof.load(path)
    except FileFormatError as error:
        taken = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before
        answers.append([str(error), taken / 1024])
print(json.dumps(answers))
"""


@pytest.fixture(scope="module")
def answers(tmp_path_factory):
    """What a process of its own says of each trap, and how many MB it took."""
    folder = tmp_path_factory.mktemp("traps")
    paths = [folder / f"{name}.npf" for name in TRAPS]
    for path, (make, _) in zip(paths, TRAPS.values(), strict=True):
        path.write_bytes(pack({}, make()))
        assert path.stat().st_size < 4 * 2**20
    header = b"[" * 100_000 + b"]" * 100_000
    body = struct.pack("<8sHIQ", MAGIC, 1, len(header), 0) + header
    paths.append(folder / "header.npf")
    paths[-1].write_bytes(body + hashlib.sha256(body).digest())
    command = [sys.executable, "-c", CODE, *paths]
    done = subprocess.run(command, capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout)
    return {path.stem: answer for path, answer in zip(paths, found, strict=True)}


@pytest.mark.skipif(sys.platform != "linux", reason="limits and memory as on Linux")
@pytest.mark.parametrize("name", [*TRAPS, "header"])
def test_small_files_that_would_hang_or_take_all_memory(name, answers):
    sentence, megabytes = answers[name]
    words = "has a broken header" if name == "header" else TRAPS[name][1]
    assert words in sentence
    assert "\n" not in sentence
    assert megabytes < 150


def test_models_that_compress_very_well_can_be_loaded(rng, tmp_path):
    """Many features of which few were ever seen: all zeros, and real."""
    model = fitted("dropout-ridge", rng)
    model.n_features_in_ = 10_000_000
    model.coef_ = np.zeros(model.n_features_in_)
    del model.missing_in_training_
    path = tmp_path / "zeros.npf"
    noiseproof.save(model, path)
    np.testing.assert_array_equal(noiseproof.load(path).coef_, model.coef_)


def test_many_texts_and_long_searches_can_be_loaded(tmp_path):
    names = [f"name {i}" for i in range(5_000)]
    table = pd.DataFrame({"t": names * 2, "n": 1.0})
    encoder = TableEncoder().fit(table)
    noiseproof.save(encoder, tmp_path / "texts.npf")
    back = noiseproof.load(tmp_path / "texts.npf")
    assert back.get_feature_names_out()[-1] == encoder.get_feature_names_out()[-1]
