"""Compressed texts are read like plain ones, and bombs and damage get one sentence."""

import bz2
import gzip
import io
import lzma
import subprocess
import sys

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from sklearn.datasets import dump_svmlight_file

from noiseproof import _unpacking
from noiseproof.tables import TableError, read_table

FRAME = pd.DataFrame({"a": [1.5, np.nan, 3.0] * 50, "b": ["x", None, "z"] * 50})


def zstd(data):
    return pa.compress(data, "zstd", asbytes=True)


PACKERS = {
    ".gz": gzip.compress,
    ".bz2": bz2.compress,
    ".xz": lzma.compress,
    ".zst": zstd,
}
every_packer = pytest.mark.parametrize("packer", PACKERS)


def test_every_suffix_is_tested():
    assert PACKERS.keys() == _unpacking.PACKED.keys()


@every_packer
@pytest.mark.parametrize("suffix", [".csv", ".tsv", ".CSV"])
def test_frames(packer, suffix, tmp_path):
    text = FRAME.to_csv(index=False, sep="\t" if suffix == ".tsv" else ",").encode()
    path = tmp_path / f"table{suffix}{packer}"
    path.write_bytes(PACKERS[packer](text))
    plain = read_plain(text, suffix, tmp_path)
    pd.testing.assert_frame_equal(read_table(path).X, plain)


def read_plain(text, suffix, tmp_path):
    (tmp_path / f"plain{suffix}").write_bytes(text)
    return read_table(tmp_path / f"plain{suffix}").X


@every_packer
def test_svmlight(packer, tmp_path):
    X, y = np.eye(5) * np.pi, np.arange(5)
    plain = io.BytesIO()
    dump_svmlight_file(X, y, plain, zero_based=False)
    path = tmp_path / f"table.svm{packer}"
    path.write_bytes(PACKERS[packer](plain.getvalue()))
    table = read_table(path)
    np.testing.assert_array_equal(table.X.toarray(), X)
    np.testing.assert_array_equal(table.y, y)


@pytest.mark.parametrize("packer", [".gz", ".bz2", ".xz"])
def test_files_in_several_streams(packer, tmp_path, monkeypatch):
    """As parallel packers write them; xz may put zeros behind each."""
    monkeypatch.setattr(_unpacking, "_CHUNK", 64)
    text, path = FRAME.to_csv(index=False).encode(), tmp_path / f"table.csv{packer}"
    pad = bytes(128) if packer == ".xz" else b""
    parts = [PACKERS[packer](text[:200]), PACKERS[packer](text[200:])]
    path.write_bytes(pad.join(parts) + pad)
    pd.testing.assert_frame_equal(
        read_table(path).X, read_plain(text, ".csv", tmp_path)
    )


@every_packer
@pytest.mark.parametrize("suffix", [".csv", ".svm"])
def test_bombs(packer, suffix, tmp_path, monkeypatch):
    monkeypatch.setattr(_unpacking, "_SMALL", 2**20)
    line = b"1 1:0 2:0 3:0\n" if suffix == ".svm" else b"0,1,2,3,4,5\n"
    path = tmp_path / f"bomb{suffix}{packer}"
    path.write_bytes(PACKERS[packer](line * 200_000))
    with pytest.raises(TableError, match=r"unpacks from .* out of all proportion; if"):
        read_table(path)
    path.write_bytes(PACKERS[packer](line * 50_000))
    assert read_table(path).X.shape[0] >= 49_999


@every_packer
@pytest.mark.parametrize("suffix", [".csv", ".svm"])
def test_damage_gets_one_sentence(packer, suffix, rng, tmp_path):
    numbers = rng.random(500).tolist()
    text = b"".join(b"%d 1:%r\n" % (i % 2, x) for i, x in enumerate(numbers))
    if suffix == ".csv":
        text = text.replace(b" 1:", b",")
    whole, path = PACKERS[packer](text), tmp_path / f"table{suffix}{packer}"
    cuts = [whole[: len(whole) // 2], whole[: len(whole) - 1], b"no archive"]
    for _ in range(30):
        bad = bytearray(whole)
        bad[rng.integers(len(bad))] ^= 1 << int(rng.integers(8))
        cuts.append(bytes(bad))
    for cut in cuts:
        path.write_bytes(cut)
        try:
            read_table(path)
        except TableError as error:
            sentence = str(error)
        else:  # zstd has no checksum here, and flags of gzip do not matter
            continue
        assert "\n" not in sentence
    path.write_bytes(cuts[0])
    with pytest.raises(TableError, match="cannot be unpacked"):
        read_table(path)


@pytest.mark.whole
@pytest.mark.skipif(sys.platform != "linux", reason="other units of memory")
@every_packer
def test_bombs_take_little_memory(packer, tmp_path):
    """A gigabyte of zeros, stopped long before; streams follow each other."""
    path = tmp_path / f"bomb.csv{packer}"
    path.write_bytes(PACKERS[packer](b"0,1\n" * 2**22) * 2**6)
    code = (
        "import re, sys\n"
        "from pathlib import Path\n"
        "from noiseproof.tables import TableError, read_table\n"
        "try: read_table(sys.argv[1])\n"
        "except TableError as error: print(error)\n"
        # of this process alone: ru_maxrss starts with what its parent took
        "status = Path('/proc/self/status').read_text(encoding='utf-8')\n"
        "print(re.search(r'VmHWM:\\s+(\\d+) kB', status)[1])"
    )
    command = [sys.executable, "-c", code, str(path)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=120)
    sentence, kilobytes = done.stdout.strip().split("\n")
    assert "out of all proportion" in sentence
    unpacked = 2**26 + 256 * path.stat().st_size
    assert int(kilobytes) * 2**10 < 10 * unpacked + 2**28


def test_a_decoder_that_asks_for_much_memory(tmp_path):
    """A file of some bytes may ask for a dictionary of gigabytes."""
    filters = [{"id": lzma.FILTER_LZMA2, "dict_size": 2**29, "preset": 0}]
    path = tmp_path / "table.csv.xz"
    path.write_bytes(lzma.compress(b"a,b\n1,2\n", filters=filters))
    with pytest.raises(TableError, match="Memory usage limit exceeded"):
        read_table(path)


def test_zst_of_svmlight_needs_pyarrow(tmp_path, monkeypatch):
    path = tmp_path / "table.svm.zst"
    path.write_bytes(zstd(b"1 1:1\n"))
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    with pytest.raises(ImportError, match=r"pip install 'noiseproof\[cli\]'"):
        read_table(path)
