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
    with pytest.raises(
        DataError, match=r"'size' of next\.csv holds 'large' in row 1, where the fit had numbers"
    ):
        encode(recipe, size="large")
    whole = prepared(kind=list("abcabc")).recipe
    with pytest.raises(DataError, match=r"'kind' of next\.csv has no value in row 5, and none was missing"):
        encode(whole)


def test_levels_that_read_as_numbers_in_the_next_file() -> None:
    recipe = prepared(kind=["1", "2", "x", "x", "x", "x"]).recipe
    assert recipe.names[1:3] == ("kind=1", "kind=2")
    matrix = encode(recipe, kind=[1, 2, 1, 1, 2, 2])
    assert matrix[:, 1].tolist() == [1, 0, 1, 1, 0, 0]


def test_slips_and_dates_to_predict_are_refused_with_advice() -> None:
    with pytest.raises(DataError, match=r"'size' holds numbers, but 'oops' in row 2.*--na 'oops'"):
        prepared(size=["1", "oops", "3", "4", "5", "6"])
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


def days(n: int, form: str = "%Y-%m-%d") -> list[str]:
    return [day.strftime(form) for day in pd.date_range("2023-11-20", periods=n, freq="37h")]


def dated(when: object, n: int) -> Prepared:
    y = np.random.default_rng(0).normal(size=n)
    return prepare(from_frame(pd.DataFrame({"when": when, "y": y}), "rows"), Wishes("y"))


@pytest.mark.parametrize(
    "form", ["%Y-%m-%d", "%d.%m.%Y", "%m/%d/%Y", "%Y/%m/%d %H:%M", "%d/%m/%Y %I:%M:%S %p", "typed"]
)
def test_dates_become_year_month_weekday_and_days(form: str) -> None:
    n = 300
    stamps = pd.date_range("2023-11-20", periods=n, freq="37h")
    text = stamps if form == "typed" else days(n, form)
    found = dated(text, n)
    recipe = found.recipe
    assert "when year" in recipe.names and "when days since 2023-11-20" in recipe.names
    assert len(recipe.names) == 1 + 11 + 6 + 1
    at = stamps if form == "typed" or "M" in form else stamps.normalize()
    column = {name: np.asarray(found.X)[:, j] for j, name in enumerate(recipe.names)}
    assert np.array_equal(column["when year"], at.year)
    exact = (at - pd.Timestamp("2023-11-20")) / pd.Timedelta(days=1)
    assert np.allclose(column["when days since 2023-11-20"], exact, atol=1 / 1440 if "M" in form else 1e-12)
    for k, day in enumerate(("Mon", "Tue", "Wed", "Thu", "Fri", "Sat", "Sun")):
        if f"when weekday={day}" in column:
            assert np.array_equal(column[f"when weekday={day}"], at.day_of_week == k)
    assert np.array_equal(column["when month=Feb"], at.month == 2)
    assert any("'when' holds dates" in note and "days since 2023-11-20" in note for note in found.notes)
    last = pd.DataFrame({"when": text[-3:], "y": 0.0})
    again = repeat(from_frame(last, "next"), recipe)
    assert np.array_equal(np.asarray(again.X), np.asarray(found.X)[-3:])


def test_the_order_of_day_and_month_is_that_of_the_fit() -> None:
    recipe = dated([f"{d}/{1 + d % 12}/2024" for d in range(1, 29)], 28).recipe
    known = recipe.encode(from_frame(pd.DataFrame({"when": ["3/4/2024"]}), "next")).matrix[0]
    assert dict(zip(recipe.names, known, strict=True))["when month"] == 4
    with pytest.raises(
        DataError, match=r"'4/25/2024' in row 1, where the fit had dates \(day, month, year\)"
    ):
        recipe.encode(from_frame(pd.DataFrame({"when": ["4/25/2024"]}), "next"))
    assert any("which is a guess" in note for note in dated(["3/4/2024", "5/4/2024", "5/6/2024"], 3).notes)


def test_few_dates_are_numbers_and_gaps_are_filled() -> None:
    found = dated([*days(9), None], 10)
    assert found.recipe.names == ("when month", "when weekday", "when days since 2023-11-20")
    assert np.isfinite(found.X).all()
    with pytest.raises(
        DataError, match=r"'when' holds dates, but 'soon' in row 10: mend it, say --na 'soon'"
    ):
        dated([*days(9), "soon"], 10)


@pytest.mark.parametrize(
    ("cells", "values"),
    [
        (["1,234.00 €", "950.50 €", "2,000,000.25 €", "-3 €"], [1234, 950.5, 2000000.25, -3]),
        (["1.234,00 €", "950,50 €", "2.000.000,25 €", "−3 €"], [1234, 950.5, 2000000.25, -3]),
        (["12.3 %", "7%", "0 %", "100.0 %"], [12.3, 7, 0, 100]),
        (["$1,234", "$ 12", "$7.5", "-$3"], [1234, 12, 7.5, -3]),
        (["1 234,5", "12,25", "7", "1\u202f000\u202f000"], [1234.5, 12.25, 7, 1e6]),
        (["CHF 1'234.50", "CHF 12", "CHF 7", "CHF 1"], [1234.5, 12, 7, 1]),
        (["1,5", "2,25", "3,125", "4"], [1.5, 2.25, 3.125, 4]),
        (["1,500", "2,250", "3", "4"], [1500, 2250, 3, 4]),
    ],
)
def test_numbers_as_people_write_them(cells: list[str], values: list[float]) -> None:
    frame = pd.DataFrame({"x": cells * 3, "y": np.arange(12.0) ** 2})
    found = prepare(from_frame(frame, "rows"), Wishes("y"))
    assert found.recipe.names == ("x",) and found.X[:4, 0].tolist() == values
    assert any("'x' holds numbers" in note and "is read as" in note for note in found.notes)
    target = prepare(from_frame(frame.rename(columns={"x": "y", "y": "x"}), "rows"), Wishes("y"))
    assert target.y[:4].tolist() == values
    one = repeat(
        from_frame(frame.iloc[:1], "next"), found.recipe
    )  # one cell does not tell the sign: the fit does
    assert one.X[0, 0] == values[0]


@pytest.mark.parametrize(
    "cells", [["12 %", "0.5"], ["3 €", "3 $"], ["10.0.0.1", "192.168.100.200"], ["1-2", "3-4"]]
)
def test_what_is_no_column_of_numbers_stays_words(cells: list[str]) -> None:
    from dualgap.tables.columns import Words

    column = from_frame(pd.DataFrame({"x": cells}), "rows").column("x")
    assert isinstance(column, Words)


def test_the_cell_that_is_no_number_is_named() -> None:
    frame = pd.DataFrame({"x": [73.0, 50.0, 12.0, 9.0, 8.0], "y": [1.0, 2.0, 3.0, 4.0, 7.0]})
    recipe = prepare(from_frame(frame, "rows"), Wishes("y")).recipe
    with pytest.raises(DataError, match="'x' of next holds 'fünfzig' in row 2, where the fit had numbers"):
        recipe.encode(from_frame(pd.DataFrame({"x": ["73.0", "fünfzig", "12"]}), "next"))


def test_ten_rows_have_identifiers_and_comments_too() -> None:
    comments = ["fine", "as ever", "late", "fine", "broken", "see above", "no", "ask", "old", "new one"]
    table = pd.DataFrame(
        {
            "name": [f"person {k}" for k in range(10)],
            "comment": comments,
            "size": np.arange(10.0) ** 2,
            "kind": list("aabbccaabb"),
            "y": np.arange(10.0),
        }
    )
    found = prepare(from_frame(table, "rows"), Wishes("y"))
    assert found.recipe.names == ("size", "kind=b", "kind=c")
    assert [name for name, _ in found.recipe.left_out] == ["name", "comment"]


def test_two_columns_of_one_name_are_told(tmp_path: Path) -> None:
    (tmp_path / "rows.csv").write_text("a,b,a,y\n1,2,3,4\n2,1,5,6\n7,1,2,1\n")
    found = prepare(read_rows(str(tmp_path / "rows.csv")), Wishes("y"))
    assert found.recipe.names == ("a", "b", "a.1")
    assert any("2 columns are called 'a'" in note for note in found.notes)


def test_a_lone_level_beside_gaps_is_said_as_one() -> None:
    table = pd.DataFrame({"x": ["a", None, "a", None, "a", "a"], "y": np.arange(6.0)})
    found = prepare(from_frame(table, "rows"), Wishes("y"))
    assert found.recipe.names == ("x=(missing)",) and "1 levels" not in " ".join(found.notes)
