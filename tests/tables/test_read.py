"""Tables of every format are read alike, and bad ones get one sentence."""

import gzip
import io
import sys
from zipfile import ZipFile

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from sklearn.datasets import dump_svmlight_file

from noiseproof.tables import TableError, read_table

FRAME = pd.DataFrame(
    {
        "a": [1.5, np.nan, 3.0],
        "b": ["x", None, "z"],
        "n": [1, 2, 3],
        "y": ["u", "v", "u"],
    }
)
X = np.array([[0.0, 1.5, 0.0], [2.0, 0.0, 0.0], [0.0, 0.0, 3.0]])
Y = np.array([0, 1, 1])


def written(path, text, encoding="utf-8"):
    path.write_bytes(text.encode(encoding))
    return path


@pytest.mark.parametrize("suffix", [".csv", ".csv.gz", ".tsv", ".parquet", "-semi.csv"])
@pytest.mark.parametrize("target", ["y", -1, "3"])
def test_frames(suffix, target, tmp_path):
    path = tmp_path / f"table{suffix}"
    if suffix == ".parquet":
        FRAME.to_parquet(path)
    else:
        delimiter = {".tsv": "\t", "-semi.csv": ";"}.get(suffix, ",")
        FRAME.to_csv(path, index=False, sep=delimiter)
    table = read_table(path, target)
    assert table.names == ["a", "b", "n"]
    assert table.target == "y"
    np.testing.assert_array_equal(table.y, ["u", "v", "u"])
    np.testing.assert_array_equal(table.X["a"], FRAME["a"])
    assert table.X["b"].isna().tolist() == [False, True, False]
    assert read_table(path).y is None


def test_every_float_is_read_as_it_was_written(rng, tmp_path):
    numbers = np.ldexp(rng.normal(size=1000), rng.integers(-300, 300, 1000))
    pd.DataFrame({"a": numbers}).to_csv(tmp_path / "a.csv", index=False)
    np.testing.assert_array_equal(read_table(tmp_path / "a.csv").X["a"], numbers)


def test_types_of_cells(tmp_path):
    text = 'd,t,q,e,c\n2020-01-01,true,"a,\nb",,007\n,,x,,1\n2021-05-05,false,,,1x\n'
    frame = read_table(written(tmp_path / "t.csv", text)).X
    assert frame["d"].tolist()[::2] == ["2020-01-01", "2021-05-05"]  # text, as written
    np.testing.assert_array_equal(frame["t"], [1.0, np.nan, 0.0])
    assert frame["q"].tolist()[:2] == ["a,\nb", "x"]
    assert frame["e"].isna().all()
    assert frame["c"].tolist() == ["007", "1", "1x"]
    again = read_table(tmp_path / "t.csv", text=["c", "t", "unknown"]).X
    assert again["t"].tolist()[::2] == ["true", "false"]


def test_text_in_parquet(tmp_path):
    frame = pd.DataFrame(
        {"c": [1, 2], "d": pd.to_datetime(["2020-01-01", "2020-01-02"])}
    )
    frame["e"] = pd.Categorical(["p", "q"])
    frame.to_parquet(tmp_path / "t.parquet")
    table = read_table(tmp_path / "t.parquet", text=["c"])
    assert table.X["c"].tolist() == ["1", "2"]
    assert table.X["d"].str.startswith("2020").all()
    assert table.X["e"].tolist() == ["p", "q"]


def test_types_of_pandas_in_parquet(tmp_path):
    """Nullable columns, categories and durations; a named index is no feature."""
    hours = pd.to_timedelta([1, None, 3], unit="h")
    frame = pd.DataFrame(
        {
            "flag": pd.array([True, None, False], dtype="boolean"),
            "count": pd.array([1, None, 3], dtype="Int64"),
            "dose": pd.array([0.5, None, 3], dtype="Float64"),
            "ward": pd.Categorical(["a", None, "b"]),
            "name": pd.array(["x", None, "y"], dtype="string"),
            **{f"wait {unit}": hours.as_unit(unit) for unit in ("s", "ms", "us", "ns")},
        },
        index=pd.Index(["p", "q", "r"], name="patient"),
    )
    frame.to_parquet(tmp_path / "table.parquet")
    found = read_table(tmp_path / "table.parquet").X
    assert list(found) == list(frame)
    for name in frame:
        if name in ("ward", "name"):
            assert found[name].isna().tolist() == [False, True, False]
            assert found[name].dropna().tolist() == frame[name].dropna().tolist()
            continue
        assert found[name].dtype == np.float64
    np.testing.assert_array_equal(found["flag"], [1, np.nan, 0])
    np.testing.assert_array_equal(found["count"], [1, np.nan, 3])
    for unit in ("s", "ms", "us", "ns"):
        np.testing.assert_array_equal(found[f"wait {unit}"], [3600, np.nan, 3 * 3600])


def test_a_column_without_a_name_is_left_out(tmp_path):
    FRAME.to_csv(tmp_path / "t.csv")  # with the index of pandas
    with pytest.warns(UserWarning, match="column without a name is left out"):
        assert read_table(tmp_path / "t.csv", "y").names == ["a", "b", "n"]


@pytest.mark.parametrize("compressed", [False, True])
@pytest.mark.parametrize("zero_based", [True, False])
def test_svmlight(zero_based, compressed, tmp_path):
    path = tmp_path / "t.svm"
    dump_svmlight_file(X, Y, str(path), zero_based=zero_based)
    if compressed:
        data, path = path.read_bytes(), tmp_path / "t.svm.gz"
        path.write_bytes(gzip.compress(data))
    table = read_table(path)
    assert sp.issparse(table.X)
    np.testing.assert_array_equal(table.X.toarray(), X)
    np.testing.assert_array_equal(table.y, Y)
    assert table.y.dtype == np.int64
    assert table.first_index == 1 - zero_based


def test_svmlight_as_it_was_in_training(tmp_path):
    """A new file may lack the first and last features, and have others."""
    path = written(tmp_path / "new.svm", "1 2:5.0\n0 3:1.0 9:7.0\n")
    with pytest.warns(UserWarning, match="beyond the 4 known ones are ignored"):
        table = read_table(path, n_features=4, first_index=0)
    expected = [[0, 0, 5.0, 0], [0, 0, 0, 1.0]]
    np.testing.assert_array_equal(table.X.toarray(), expected)
    table = read_table(written(tmp_path / "one.svm", "1 2:5.0\n"), first_index=1)
    np.testing.assert_array_equal(table.X.toarray(), [[0, 5.0]])
    with pytest.raises(TableError, match="from 0, but the training file from 1"):
        read_table(written(tmp_path / "zero.svm", "1 0:5.0\n"), first_index=1)


def test_one_large_index_does_not_take_all_memory(tmp_path):
    """21 bytes that mention the feature 2,000,000,000."""
    path = written(tmp_path / "t.svm", "1 1:1 2000000000:1\n0 1:2\n")
    with pytest.raises(TableError, match=r"feature 2,000,000,000, but holds only 3"):
        read_table(path)
    with pytest.warns(UserWarning, match="beyond the 5 known ones are ignored"):
        assert read_table(path, n_features=5).X.shape == (2, 5)
    assert read_table(path, n_features=2_000_000_000).X.shape == (2, 2_000_000_000)
    path = written(tmp_path / "u.svm", "1 1:1 1000000:1\n0 1:2\n")
    assert read_table(path).X.shape == (2, 1_000_000)
    parts = {"data": [1.0], "indices": [7], "indptr": [0, 1]}
    np.savez(tmp_path / "t.npz", **parts, shape=[1, 10**12])
    with pytest.raises(TableError, match="but holds only 1 entries"):
        read_table(tmp_path / "t.npz")


@pytest.mark.parametrize("dtype", [np.float32, np.float64, np.int64, bool])
def test_npz(dtype, tmp_path):
    matrix = sp.csr_array(X.astype(dtype))
    np.savez(tmp_path / "dense.npz", X=X.astype(dtype), y=Y)
    parts = {name: getattr(matrix, name) for name in ("data", "indices", "indptr")}
    np.savez(tmp_path / "csr.npz", **parts, shape=matrix.shape, y=Y)
    sp.save_npz(tmp_path / "scipy.npz", matrix)
    sp.save_npz(tmp_path / "csc.npz", matrix.tocsc())
    for name in ("dense", "csr", "scipy", "csc"):
        table = read_table(tmp_path / f"{name}.npz")
        assert sp.issparse(table.X) == (name != "dense")
        dense = table.X.toarray() if sp.issparse(table.X) else table.X
        np.testing.assert_array_equal(dense, X.astype(dtype))
        assert table.X.dtype == (np.float32 if dtype == np.float32 else np.float64)
        assert (table.y is None) == (name in ("scipy", "csc"))


BAD = {
    "empty.csv": (b"", r"is empty\."),
    "names.csv": (b"a,y\n", "has no rows"),
    "short.csv": (
        b"a,b,y\n1,2,0\n3,1\n",
        "row 2 has 2 fields, but there are 3 columns",
    ),
    "long.csv": (
        b"a,b,y\n1,2,0\n3,1,1,9\n",
        "row 2 has 4 fields, but there are 3",
    ),
    "latin.csv": (
        "a,y\né,1\n".encode("latin-1"),
        "is not UTF-8 text: save it as UTF-8",
    ),
    "header.csv": ("é,y\n1,1\n".encode("latin-1"), "is not UTF-8 text"),
    "wide.csv": ("a,y\n1,1\n".encode("utf-16"), "is UTF-16 text: save it as UTF-8"),
    "image.csv": (b"\x89PNG\r\n\x1a\n\0\0", "is not UTF-8 text"),
    "twice.csv": (b"a,a,y\n1,2,3\n", "two columns named 'a'"),
    "infinite.csv": (
        b"a,y\n1,0\ninf,1\n",
        "column 'a' holds an infinite value in row 2",
    ),
    "huge.csv": (b"a,y\n1e999,0\n", "column 'a' holds an infinite value in row 1"),
    "hole.csv": (b"a,y\n1,0\n2,\n3,\n", "'y' is empty in 2 of 3 rows, first in row 2"),
    "gap.csv": (b"a,y\n1,u\n2,\n", "'y' is empty in 1 of 2 rows, first in row 2"),
    "nothing.csv": (b"a,y\n1,\n2,\n", "'y' is empty in 2 of 2 rows"),
    "target-inf.csv": (b"a,y\n1,inf\n2,1\n", "the target 'y' holds an infinite value"),
    "alone.csv": (b"y\n1\n2\n", "has no columns beside the target"),
    "bad.csv.gz": (b"no gzip", "bad.csv.gz"),
    "bad.parquet": (b"PAR1 no", "is not a Parquet file"),
    "bad.npz": (b"PK no", "cannot be read as NPZ"),
    "bad.svm": (b"1 2:x\n", "is not an svmlight file"),
    "latin.svm": (b"\xe9 2:1\n", "is not an svmlight file"),
    "blank.svm": (b"\n\n", "has no rows"),
    "table.xlsx": (b"PK", "the suffix '.xlsx' is unknown; use one of .csv"),
    "table": (b"a", "the suffix '' is unknown"),
}


@pytest.mark.parametrize("name", BAD)
def test_bad_files_get_one_sentence(name, tmp_path):
    content, words = BAD[name]
    (tmp_path / name).write_bytes(content)
    with pytest.raises(TableError, match=words) as caught:
        read_table(tmp_path / name, "y")
    assert "\n" not in str(caught.value)
    assert name in str(caught.value)


SECRET = "Jane Doe, 4 Privet Drive"
UNCLOSED = {
    "last cell": f'a,b\n1,"{SECRET}\n2,x\n3,y\n',
    "first cell": f'a,b\n"{SECRET},1\n2,x\n3,y\n',
    "no cell": f"a,b\n1,{SECRET}\n2,x\n3,y\n",
    "megabytes": f'a,b\n1,"{SECRET}\n' + "2,x\n" * 400_000,
}


@pytest.mark.parametrize("packed", [False, True])
@pytest.mark.parametrize("name", UNCLOSED)
def test_quotes_that_are_not_closed(name, packed, tmp_path):
    """Rows are not swallowed, and the message does not tell what they hold."""
    content = UNCLOSED[name].encode()
    path = tmp_path / ("t.csv.gz" if packed else "t.csv")
    path.write_bytes(gzip.compress(content) if packed else content)
    with pytest.raises(TableError, match="a quote that opens a field is") as caught:
        read_table(path)
    assert "Jane" not in str(caught.value)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize("end", ['"', '"\n', '"\r\n', '\n"\n'])
def test_lines_within_quotes(end, tmp_path):
    path = written(tmp_path / "t.csv", f'a,b\n1,x\n2,"two\nlines{end}')
    assert read_table(path).X["b"].str.strip().tolist() == ["x", "two\nlines"]


def test_npz_files_that_would_take_all_memory(tmp_path):
    """Zeros compress a thousand times, and a header may promise anything."""
    path = tmp_path / "t.npz"
    np.savez_compressed(path, X=np.zeros((2**14, 2**11)))  # 256 MiB
    assert path.stat().st_size < 2**20
    with pytest.raises(TableError, match=r"would unpack from .* out of all proportion"):
        read_table(path)
    head = io.BytesIO()
    about = {"descr": "<f8", "fortran_order": False, "shape": (10**7, 10**5)}
    np.lib.format.write_array_header_1_0(head, about)
    with ZipFile(path, "w") as archive:
        archive.writestr("X.npy", head.getvalue() + bytes(80))
    with pytest.raises(TableError, match="is not as long as it says"):
        read_table(path)


def test_damaged_npz_files_get_one_sentence(tmp_path, rng):
    path = tmp_path / "t.npz"
    np.savez_compressed(path, X=rng.normal(size=(20, 3)), y=np.arange(20))
    whole, refused = path.read_bytes(), 0
    for _ in range(300):
        damaged = bytearray(whole)
        damaged[rng.integers(len(whole))] ^= 1 << int(rng.integers(8))
        path.write_bytes(damaged)
        try:
            read_table(path)
        except TableError:
            refused += 1
    assert refused > 100


def test_bad_targets_get_one_sentence(tmp_path):
    path = written(tmp_path / "t.csv", "height,weight,kind\n1,2,3\n")
    with pytest.raises(TableError, match=r"no column 'heights'; did you mean 'height'"):
        read_table(path, "heights")
    with pytest.raises(
        TableError, match="has 3 columns, so there is none at position 7"
    ):
        read_table(path, "7")
    with pytest.raises(TableError, match=r"none\.csv: there is no such file"):
        read_table(tmp_path / "none.csv")


@pytest.mark.parametrize(
    ("arrays", "words"),
    [
        ({"Z": X}, "needs an array X, or data, indices, indptr and shape; it has Z"),
        ({"X": X, "y": Y[:2]}, "X has 3 rows, but y has 2"),
        ({"X": X[:0]}, "must have rows and columns"),
        ({"X": X.astype(str)}, "X must hold numbers"),
        ({"X": np.array([[np.inf]])}, "X holds an infinite value"),
        ({"X": X, "y": np.eye(3)}, "the target 'y' must be one column"),
        ({"X": np.array([[None]])}, "it holds objects, which only code"),
        (
            {"data": [1.0], "indices": [7], "indptr": [0, 1], "shape": [1, 2]},
            "not a CSR",
        ),
    ],
    ids=[
        "names",
        "lengths",
        "rows",
        "text",
        "infinite",
        "matrix",
        "objects",
        "indices",
    ],
)
def test_bad_arrays_get_one_sentence(arrays, words, tmp_path):
    np.savez(tmp_path / "t.npz", **arrays)
    with pytest.raises(TableError, match=words):
        read_table(tmp_path / "t.npz")


@pytest.mark.parametrize("package", ["pandas", "pyarrow"])
def test_a_missing_package_is_named(package, tmp_path, monkeypatch):
    path = written(tmp_path / "some.csv", "a,y\n1,u\n2,v\n")
    monkeypatch.setitem(sys.modules, package, None)
    with pytest.raises(ImportError, match=r"pip install 'noiseproof\[cli\]'"):
        read_table(path, target="y")
