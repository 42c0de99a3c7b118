"""What is done to the columns, said, and done again to the next file."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from dualgap.errors import DataError
from dualgap.tables.frames import from_frame
from dualgap.tables.learn import Wishes
from dualgap.tables.prepare import Prepared, prepare, repeat
from dualgap.tables.recipe import Recipe
from dualgap.tables.sources import read_rows


def frame() -> pd.DataFrame:
    return pd.DataFrame(
        {
            "size": [1.0, 2.0, np.nan, 4.0, 5.0, 6.0],
            "kind": ["b", "a", "b", "c", None, "b"],
            "open": [True, False, True, True, False, True],
            "same": [3.0] * 6,
            "id": [1, 2, 3, 4, 5, 6],
            "y": [1.0, 2.0, 3.0, 4.0, 5.0, np.nan],
        }
    )


def prepared(missing: str = "mean", **changes: object) -> Prepared:
    return prepare(from_frame(frame().assign(**changes), "rows"), Wishes("y", missing))


def test_columns_are_encoded_as_the_notes_say() -> None:
    found = prepared()
    assert found.recipe.names == ("size", "kind=a", "kind=c", "kind=(missing)", "open", "id")
    assert found.X[:, 0].tolist() == [1, 2, 3, 4, 5]  # the mean of 1, 2, 4, 5 stands in
    assert found.X[:, 1:4].tolist() == [[0, 0, 0], [1, 0, 0], [0, 0, 0], [0, 1, 0], [0, 0, 1]]
    said = "\n".join(found.notes)
    for words in (
        "the mean, 3, stands in",
        "reference is 'b'",
        "'same' is left out",
        "row number",
        "1 row without",
    ):
        assert words in said


def test_the_median_dropping_and_refusing() -> None:
    assert prepared("median").X[2, 0] == 3.0
    dropped = prepared("drop")
    assert dropped.rows.tolist() == [True, True, False, True, False, False]
    assert dropped.recipe.names == ("size", "kind=a", "kind=c", "open", "id")
    with pytest.raises(DataError, match="'y' has no value in row 6"):
        prepared("refuse")
    with pytest.raises(DataError, match="'size' of rows has no value in row 3"):
        prepared("refuse", y=1.0, kind="b")
    with pytest.raises(DataError, match="'kind' has no value in row 5"):
        prepared("refuse", y=1.0, size=np.arange(6.0))
    with pytest.raises(DataError, match="no rule 'maybe'"):
        prepared("maybe")


def test_the_recipe_does_the_same_again_whatever_the_order_of_the_columns() -> None:
    found = prepared()
    shuffled = frame()[["y", "id", "open", "kind", "same", "size"]]
    again = repeat(from_frame(shuffled, "rows"), found.recipe)
    assert np.array_equal(again.X, found.X) and np.array_equal(again.y, found.y)


def encode(recipe: Recipe, unseen: str = "refuse", **changes: object) -> np.ndarray:
    matrix: np.ndarray = recipe.encode(from_frame(frame().assign(**changes), "next.csv"), unseen).matrix
    return matrix


def test_a_next_file_that_does_not_fit() -> None:
    recipe = prepared().recipe
    with pytest.raises(DataError, match=r"'kind' of next\.csv has the level 'z' in row 2"):
        encode(recipe, kind=["b", "z", "b", "c", "b", "b"])
    assert encode(recipe, "reference", kind=["b", "z", "b", "c", "b", "b"])[1, 1:4].tolist() == [0, 0, 0]
    with pytest.raises(DataError, match=r"next\.csv has no column 'size'"):
        recipe.encode(from_frame(frame().drop(columns="size"), "next.csv"))
    with pytest.raises(DataError, match=r"'size' of next\.csv holds 'large', where the fit had numbers"):
        encode(recipe, size="large")
    whole = prepared(kind=list("abcabc")).recipe
    with pytest.raises(DataError, match=r"'kind' of next\.csv has no value in row 5, and none was missing"):
        encode(whole)


def test_levels_that_read_as_numbers_in_the_next_file() -> None:
    recipe = prepared(kind=["1", "2", "x", "x", "x", "x"]).recipe
    assert recipe.names[1:3] == ("kind=1", "kind=2")
    matrix = encode(recipe, kind=[1, 2, 1, 1, 2, 2])
    assert matrix[:, 1].tolist() == [1, 0, 1, 1, 0, 0]


def test_slips_and_dates_are_refused_with_advice() -> None:
    with pytest.raises(DataError, match=r"'size' holds numbers, but 'oops' in row 2.*--na 'oops'"):
        prepared(size=["1", "oops", "3", "4", "5", "6"])
    with pytest.raises(DataError, match=r"'id' holds dates.*--drop 'id'"):
        prepared(id=pd.date_range("2024-01-01", periods=6))
    with pytest.raises(DataError, match="'y' holds dates"):
        prepared(y=pd.date_range("2024-01-01", periods=6))
    with pytest.raises(DataError, match="no column 'z'"):
        prepare(from_frame(frame(), "rows"), Wishes("y", drop=("z",)))


def test_a_word_for_missing(tmp_path: Path) -> None:
    path = tmp_path / "rows.csv"
    path.write_text("a,y\n1,2\n?,3\n3,4\n5,5\n7,6\n9,7\n")
    found = prepare(read_rows(str(path), absent=("?",)), Wishes("y", absent=("?",)))
    assert found.X[:, 0].tolist() == [1, 5, 3, 5, 7, 9]


def test_free_text_is_left_out_and_many_levels_are_kept_sparse() -> None:
    n = 400
    rng = np.random.default_rng(0)
    table = pd.DataFrame(
        {
            "text": [f"word {i}" for i in range(n)],
            "town": rng.choice([f"t{k:02d}" for k in range(80)], n),
            "y": rng.normal(size=n),
        }
    )
    found = prepare(from_frame(table, "rows"), Wishes("y"))
    assert found.recipe.left_out[0][0] == "text" and "free text" in found.recipe.left_out[0][1]
    assert found.recipe.sparse and found.X.shape == (n, 79) and found.X.nnz < n


def test_matrices_with_gaps(tmp_path: Path) -> None:
    X = np.array([[1.0, np.nan, 5.0], [3.0, 4.0, 6.0], [5.0, 8.0, 7.0]])
    np.save(tmp_path / "x.npy", X)
    raw = read_rows(str(tmp_path / "x.npy"))
    assert prepare(raw, Wishes("x2")).X.tolist() == [[1, 6], [3, 4], [5, 8]]
    assert prepare(raw, Wishes("x2", "drop")).rows.tolist() == [False, True, True]
    with pytest.raises(DataError, match=r"'x1' of x\.npy has no value in row 1"):
        prepare(raw, Wishes("x2", "refuse"))


def test_columns_that_a_libsvm_file_does_not_mention_are_zero(tmp_path: Path) -> None:
    (tmp_path / "fit.txt").write_text("1 1:0.5 3:2\n-1 2:1\n")
    (tmp_path / "next.txt").write_text("1 2:4\n")
    recipe = prepare(read_rows(str(tmp_path / "fit.txt")), Wishes("label")).recipe
    assert recipe.encode(read_rows(str(tmp_path / "next.txt"))).matrix.toarray().tolist() == [[0, 4, 0]]


def test_weights_are_a_column_of_their_own() -> None:
    found = prepare(from_frame(frame(), "rows"), Wishes("y"), weights="id")
    assert found.weights is not None and found.weights.tolist() == [1, 2, 3, 4, 5]
    assert "id" not in found.recipe.names
