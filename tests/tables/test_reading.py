"""Every format gives the same rows, and what cannot be read gets a sentence."""

from __future__ import annotations

import gzip
import io
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp

from dualgap.errors import DataError
from dualgap.tables.columns import Dates, Numbers, Words
from dualgap.tables.prepare import default_target, values_of
from dualgap.tables.sources import read_rows

FRAME = pd.DataFrame(
    {
        "âge": [31.5, np.nan, 40.0, 28.25],
        "prix, €": [1, 2, 3, 4],
        "région": ["Nord", "Sud", None, 'dit "Est"'],
        "actif": [True, False, True, True],
    }
)


def write(form: str, path: Path) -> Path:
    if form == "parquet":
        FRAME.to_parquet(path)
    elif form == "feather":
        FRAME.to_feather(path)
    elif form == "tab":
        FRAME.to_csv(path, index=False, sep="\t")
    elif form == "semicolon":
        FRAME.to_csv(path, index=False, sep=";", decimal=",")
    elif form == "gzip":
        path.write_bytes(gzip.compress(FRAME.to_csv(index=False).encode()))
    else:
        encoding = {"csv": "utf-8", "bom": "utf-8-sig", "windows": "cp1252", "utf16": "utf-16"}[form]
        FRAME.to_csv(path, index=False, encoding=encoding)
    return path


FORMS = ["csv", "bom", "windows", "utf16", "gzip", "tab", "semicolon", "parquet", "feather"]


@pytest.mark.parametrize("form", FORMS)
def test_every_format_gives_the_same_columns(form: str, tmp_path: Path) -> None:
    raw = read_rows(str(write(form, tmp_path / "rows")))
    assert raw.names == tuple(FRAME.columns)
    age, price, region, active = (raw.column(name) for name in raw.names)
    assert isinstance(age, Numbers) and np.array_equal(age.values, FRAME["âge"], equal_nan=True)
    assert isinstance(price, Numbers) and price.values.tolist() == [1, 2, 3, 4]
    assert isinstance(region, Words)
    assert [region.levels[k] if k >= 0 else None for k in region.codes] == ["Nord", "Sud", None, 'dit "Est"']
    assert isinstance(active, Numbers) and active.boolean and active.values.tolist() == [1, 0, 1, 1]


def test_a_stream_of_arrow_batches(tmp_path: Path) -> None:
    arrow = pytest.importorskip("pyarrow", reason="pyarrow is not installed")
    table = arrow.Table.from_pandas(FRAME)
    stream = io.BytesIO()
    with arrow.ipc.new_stream(stream, table.schema) as writer:
        writer.write_table(table)
    (tmp_path / "rows.arrows").write_bytes(stream.getvalue())
    assert read_rows(str(tmp_path / "rows.arrows")).names == tuple(FRAME.columns)


def test_standard_input(monkeypatch: pytest.MonkeyPatch) -> None:
    content = io.TextIOWrapper(io.BytesIO(b"a,b\n1,2\n3,4\n"))
    monkeypatch.setattr("sys.stdin", content)
    raw = read_rows("-")
    assert raw.source == "standard input" and raw.names == ("a", "b") and raw.n == 2


def test_numbers_without_a_header_get_names(tmp_path: Path) -> None:
    (tmp_path / "rows.csv").write_text("1,2\n3,4\n")
    raw = read_rows(str(tmp_path / "rows.csv"))
    assert raw.names == ("x0", "x1") and raw.n == 2
    assert "no header" in raw.notes[0]


def test_arrays(tmp_path: Path) -> None:
    X, y = np.arange(6.0).reshape(3, 2), np.array([1, 0, 1])
    np.save(tmp_path / "x.npy", X)
    np.savez(tmp_path / "both.npz", X=X, y=y)
    sp.save_npz(tmp_path / "sparse.npz", sp.csr_array(X))
    assert np.array_equal(read_rows(str(tmp_path / "x.npy")).matrix, X)
    both = read_rows(str(tmp_path / "both.npz"))
    assert both.target_name == "y" and values_of(both.column("y")).tolist() == [1, 0, 1]
    assert np.array_equal(read_rows(str(tmp_path / "sparse.npz")).matrix.toarray(), X)
    np.save(tmp_path / "objects.npy", np.array([{"a": 1}], dtype=object), allow_pickle=True)
    with pytest.raises(DataError, match="cannot be read as an array"):
        read_rows(str(tmp_path / "objects.npy"))


def test_libsvm_counts_from_one_or_from_zero(tmp_path: Path) -> None:
    (tmp_path / "one.txt").write_text("1 1:0.5 3:2\n-1 2:1\n")
    raw = read_rows(str(tmp_path / "one.txt"))
    assert raw.names == ("x1", "x2", "x3") and raw.zeros_elsewhere
    assert raw.matrix.toarray().tolist() == [[0.5, 0, 2], [0, 1, 0]]
    (tmp_path / "zero.txt").write_text("1 0:0.5\n-1 1:1\n")
    assert read_rows(str(tmp_path / "zero.txt")).names == ("x0", "x1")


@pytest.mark.parametrize("name", ["breast_cancer", "diabetes", "digits", "iris", "wine"])
def test_data_sets_that_ship(name: str) -> None:
    from dualgap.tables.sources import SHIPPED

    raw = read_rows(name)
    known = SHIPPED[name]
    assert (raw.n, len(raw.names)) == (known.rows, known.columns)
    assert default_target(raw) == known.target


@pytest.mark.parametrize(
    ("content", "said"),
    [
        (b"", "is empty"),
        (b"a,b\n", "no rows"),
        (b"a,b\n1,2\n1,2,3\n", "line 3"),
        (b"\x00\x01\x02binary", "not text"),
        (b"PAR1garbage", "cannot be read"),
        (b"ARROW1garbage", "cannot be read"),
        (b"\x93NUMPYgarbage", "cannot be read"),
        (b"PKgarbage", "not an npz"),
        (b"\x1f\x8bgarbage", "damaged gzip"),
    ],
)
def test_what_cannot_be_read_gets_a_sentence(content: bytes, said: str, tmp_path: Path) -> None:
    path = tmp_path / "rows"
    path.write_bytes(content)
    with pytest.raises(DataError, match=said):
        read_rows(str(path))


def test_a_file_that_is_not_there(tmp_path: Path) -> None:
    (tmp_path / "houses.csv").write_text("a\n1\n")
    with pytest.raises(DataError, match=r"Did you mean 'houses\.csv'"):
        read_rows(str(tmp_path / "house.csv"))
    with pytest.raises(DataError, match="is a folder"):
        read_rows(str(tmp_path))


def test_dates_are_told_from_words(tmp_path: Path) -> None:
    (tmp_path / "rows.csv").write_text("when,what\n2024-01-03,2024\n2024-02-04 10:00,b\n,c\n")
    raw = read_rows(str(tmp_path / "rows.csv"))
    assert isinstance(raw.column("when"), Dates)
    assert isinstance(raw.column("what"), Words)
