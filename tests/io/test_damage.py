"""Damaged, foreign and forged files: one sentence, and no code is run."""

import io
import json
import pickle
import random
import re
import sys
import zipfile

import numpy as np
import pytest
import skops.io
from same import assert_same

import noiseproof
from noiseproof import DropoutSVC
from noiseproof.io import FileFormatError
from noiseproof.io.model import MAGIC, pack, unpack

pytestmark = pytest.mark.whole

DEEDS = ("os.system", "subprocess.Popen", "os.posix_spawn", "os.exec", "os.fork")
DEEDS += ("pickle.find_class", "socket.connect", "shutil.rmtree", "os.remove")
WITNESSED, WATCHING = [], [False]


def _watch(event, arguments):
    """Remember what no reader of a file should do."""
    writes = event == "open" and re.search("[wax+]", str(arguments[1] or ""))
    if WATCHING[0] and (writes or event in DEEDS):
        WITNESSED.append((event, arguments))


sys.addaudithook(_watch)


@pytest.fixture(scope="module")
def model():
    X = np.random.default_rng(0).normal(size=(20, 3))
    return DropoutSVC(noise=0.2).fit(X, X[:, 0] > 0)


@pytest.fixture(scope="module")
def saved(model, tmp_path_factory):
    path = tmp_path_factory.mktemp("io") / "model.npf"
    noiseproof.save(model, path)
    return path.read_bytes()


@pytest.fixture
def read(tmp_path):
    """Load bytes from a file, watched: the model, or the one sentence."""
    path = tmp_path / "file.npf"

    def load(data, **options):
        path.write_bytes(data)
        WATCHING[0] = True
        try:
            return noiseproof.load(path, **options)
        except FileFormatError as error:
            message = str(error)
            assert message.startswith(str(path))
            assert "\n" not in message
            return message.removeprefix(f"{path} ")
        finally:
            WATCHING[0] = False
            assert not WITNESSED

    return load


def mutated(data, dice):
    """One random damage: a flip, a cut, an insertion, a loss or a swap."""
    data, where = bytearray(data), dice.randrange(len(data))
    kind = dice.choice(["flip", "flip", "cut", "insert", "lose", "byte", "repeat"])
    length = dice.choice([1, 1, 2, 8, 100])
    if kind == "flip":
        data[where] ^= 1 << dice.randrange(8)
    elif kind == "cut":
        del data[where:]
    elif kind == "insert":
        data[where:where] = dice.randbytes(length)
    elif kind == "lose":
        del data[where : where + length]
    elif kind == "byte":
        data[where] = dice.choice([0, 255, dice.randrange(256)])
    else:
        data[where:where] = data[where : where + length]
    return bytes(data)


def test_fuzzed_files(read, saved, model):
    """Any damage is noticed by the container, before anything else is looked at."""
    dice = random.Random(1)
    for turn in range(6000):
        data = mutated(saved, dice)
        if data == saved:
            assert_same(read(data), model)
        elif turn % 10 == 0:
            assert isinstance(read(data), str)
        else:  # the first thing that load does, without the file
            with pytest.raises(FileFormatError):
                unpack(data, "file")


def test_fuzzed_payloads(read, saved, model):
    """Damage behind a right checksum: zip notices it, or it does not matter."""
    dice = random.Random(2)
    header, payload = unpack(saved, "")
    answers = [read(pack(header, mutated(payload, dice))) for _ in range(3000)]
    for answer in answers:
        if not isinstance(answer, str):
            assert_same(answer, model)
    assert {isinstance(answer, str) for answer in answers} == {True, False}


def test_fuzzed_trees(read, saved):
    """Forged content, right to the last checksum: read or refused, never run."""
    dice = random.Random(3)
    header, payload = unpack(saved, "")
    answers = [read(pack(header, _forged(payload, dice))) for _ in range(1000)]
    texts = {answer for answer in answers if isinstance(answer, str)}
    assert any("does not trust" in text for text in texts)
    assert any("no model that can be read" in text for text in texts)


NAMES = (
    "os posix system builtins eval exec subprocess Popen pickle loads operator partial "
    "methodcaller functools FunctionNode ObjectNode ReduceNode MethodNode TypeNode "
    "ConstructorFromReduceNode OperatorFuncNode PartialNode JsonNode DictNode ListNode "
    "CachedNode NdArrayNode"
)


def _forged(payload, dice):
    """The archive with some entries of its tree replaced, or some text damaged."""
    source = zipfile.ZipFile(io.BytesIO(payload))
    files = {name: source.read(name) for name in source.namelist()}
    tree = json.loads(files["schema.json"])
    for _ in range(dice.randint(1, 3)):
        nodes = list(_nodes(tree))
        node = dice.choice(nodes)
        key = dice.choice(list(node))
        node[key] = dice.choice([*NAMES.split(), None, 0, -1, [], {}])
    files["schema.json"] = json.dumps(tree).encode()
    if dice.random() < 0.3:
        name = dice.choice(sorted(files))
        files[name] = mutated(files[name], dice)
    target = io.BytesIO()
    with zipfile.ZipFile(target, "w") as archive:
        for name, content in files.items():
            archive.writestr(name, content)
    return target.getvalue()


def _nodes(tree):
    """All dictionaries of the tree that describe an object."""
    parts = tree.values() if isinstance(tree, dict) else tree
    if isinstance(tree, dict) and "__class__" in tree:
        yield tree
    for part in parts:
        if isinstance(part, dict | list):
            yield from _nodes(part)


class Bomb:
    """Does something when it is made from its state."""

    def __setstate__(self, state):
        WITNESSED.append("bomb")


def test_planted_code_is_refused(read, saved):
    header, _ = unpack(saved, "")
    bomb = Bomb()
    bomb.fuse = 1
    answer = read(pack(header, skops.io.dumps(bomb)))
    assert re.fullmatch(
        r"was not loaded: it contains .*Bomb, which .* not trust\.", answer
    )
    inside = DropoutSVC(noise=bomb)
    assert "Bomb" in read(pack(header, skops.io.dumps(inside)))


def test_a_planted_call_is_refused(read, saved):
    header, _ = unpack(saved, "")
    arguments = zipfile.ZipFile(io.BytesIO(skops.io.dumps(("true",))))
    call = {
        "__class__": "system",
        "__module__": "posix",
        "__loader__": "ConstructorFromReduceNode",
        "content": json.loads(arguments.read("schema.json")),
        "protocol": skops.io._protocol.PROTOCOL,
    }
    target = io.BytesIO()
    with zipfile.ZipFile(target, "w") as archive:
        archive.writestr("schema.json", json.dumps(call))
    assert "posix.system" in read(pack(header, target.getvalue()))


@pytest.mark.parametrize(
    ("data", "words"),
    [
        (b"", "is empty, not a saved model."),
        (b"\x89N", "is incomplete: it has only 2 bytes."),
        (b"PK\x03\x04 a zip file", "is not a model saved by noiseproof."),
        (pickle.dumps({"a": 1}), "is not a model saved by noiseproof."),
        (MAGIC + b"\x02\x00" + bytes(40), "has format 2, but this version of"),
        (pack({}, b""), "contains no model that can be read: "),
        (pack([], b""), "has a broken header."),
    ],
    ids=["empty", "two-bytes", "zip", "pickle", "newer", "hollow", "list"],
)
def test_foreign_files_get_one_sentence(data, words, read):
    assert read(data).startswith(words)


def test_cut_and_altered_files_get_one_sentence(read, saved):
    n = len(saved)
    assert read(saved[:-1]) == f"is incomplete: it has {n - 1} of {n} bytes."
    assert read(saved[:-1] + b"?") == "is damaged: its checksum is wrong."
    assert read(saved.replace(b"\r\n", b"\n", 1)).startswith("is not a model")
