"""Files as they come: words, dates, gaps, sorted, changed, broken. The right answer, or where to look."""

from __future__ import annotations

from decimal import Decimal
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.dataset
import pyarrow.parquet
import pytest

import dualgap as dg
from dualgap.errors import DataError, UnboundedError
from streaming.rows import drawn, parquet, small_blocks

__all__ = ["small_blocks"]


def mixed(n: int = 3000) -> Any:
    """Numbers with gaps, words, a flag, dates."""
    rng = np.random.default_rng(0)
    frame = pd.DataFrame({"size": rng.normal(10.0, 2.0, n), "town": rng.choice(["Bern", "Chur", "Genf"], n)})
    frame["new"] = rng.random(n) < 0.3
    frame["sold"] = pd.Timestamp("2024-01-01") + pd.to_timedelta(rng.integers(0, 700, n), unit="D")
    frame["price"] = 3.0 * frame["size"] + 5.0 * (frame["town"] == "Chur") + frame["new"] + rng.normal(size=n)
    frame.loc[frame.index % 17 == 3, "size"] = np.nan
    return frame


@pytest.mark.usefixtures("small_blocks")
def test_words_gaps_flags_and_dates_are_read_as_by_the_command(tmp_path: Path) -> None:
    frame = mixed()
    frame[:1500].to_parquet(tmp_path / "a.parquet", row_group_size=300)
    frame[1500:].to_parquet(tmp_path / "b.parquet", row_group_size=300)
    rows = dg.dataset(str(tmp_path / "*.parquet"), target="price")
    names = rows.names or ()
    assert {"new", "size"} <= set(names) and sum(name.startswith("town=") for name in names) == 2
    found = dg.fit(rows, loss="squared", penalty="l2", lam=0.01)
    assert found.converged and found.recipe is not None
    X = np.concatenate([np.array(block.X) for block in rows.source.blocks()])
    assert not np.isnan(X).any() and X.shape == (3000, len(rows.names or ()))
    whole = dg.fit(X, frame["price"].to_numpy(), loss="squared", penalty="l2", lam=0.01)
    assert found.objective >= whole.bound and whole.objective >= found.bound
    head = found.predict(frame.drop(columns="price")[:20])
    assert np.allclose(head, found.predict(rows)[:20])


@pytest.mark.usefixtures("small_blocks")
@pytest.mark.parametrize("loss", ["logistic", "hinge"])
def test_a_file_sorted_by_label_with_a_rare_class(loss: str, tmp_path: Path) -> None:
    X, _, labels = drawn(5000)
    order = np.argsort(labels, kind="stable")
    keep = np.concatenate([order[labels[order] == 0], order[labels[order] == 1][:40]])
    frame = pd.DataFrame(X[keep], columns=[f"x{j}" for j in range(5)])
    frame["label"] = np.where(labels[keep] == 1, "yes", "no")
    frame.to_parquet(tmp_path / "sorted.parquet", row_group_size=250)
    found = dg.fit(dg.dataset(tmp_path / "sorted.parquet", target="label"), loss=loss, penalty="l2", lam=0.01)
    whole = dg.fit(X[keep], frame["label"].to_numpy(), loss=loss, penalty="l2", lam=0.01)
    assert found.converged and list(found.classes) == ["no", "yes"]
    assert found.objective >= whole.bound and whole.objective >= found.bound


def written(folder: Path, frames: list[Any]) -> str:
    folder.mkdir(exist_ok=True)
    for k, frame in enumerate(frames):
        frame.to_parquet(folder / f"part{k}.parquet", row_group_size=100)
    return str(folder / "*.parquet")


def numbers(n: int, seed: int = 0) -> Any:
    X, y, _ = drawn(n, seed)
    return pd.DataFrame(X, columns=[f"x{j}" for j in range(5)]).assign(y=y)


@pytest.mark.usefixtures("small_blocks")
@pytest.mark.parametrize("loss", ["squared", "huber", "absolute"])
def test_a_nan_is_named_by_file_column_and_row(loss: str, tmp_path: Path) -> None:
    import pyarrow as pa
    import pyarrow.parquet as pq

    frames = [numbers(400, seed) for seed in range(3)]
    frames[2].loc[345, "x3"] = np.nan
    for k, frame in enumerate(frames):  # a NaN, not a gap
        table = pa.table({name: frame[name].to_numpy() for name in frame.columns})
        pq.write_table(table, tmp_path / f"part{k}.parquet", row_group_size=100)
    with pytest.raises(DataError, match=r"column 'x3', row 346 of .*part2\.parquet"):
        dg.fit(dg.dataset(str(tmp_path / "*.parquet"), target="y"), loss=loss, penalty="l2", lam=0.1)


def test_a_column_that_one_file_lacks_is_named(tmp_path: Path) -> None:
    pattern = written(tmp_path, [numbers(200), numbers(200).drop(columns="x1")])
    with pytest.raises(DataError, match=r"part1\.parquet has no column 'x1'"):
        dg.dataset(pattern, target="y")


def test_a_file_that_changes_between_scans_is_noticed(tmp_path: Path) -> None:
    rows = dg.dataset(written(tmp_path, [numbers(200), numbers(200)]), target="y")
    numbers(250).to_parquet(tmp_path / "part1.parquet")
    with pytest.raises(DataError, match=r"part1\.parquet changed"):
        dg.fit(rows, loss="squared", penalty="l2", lam=0.1)


def test_an_empty_row_group_is_no_matter(tmp_path: Path) -> None:
    rows = dg.dataset(written(tmp_path, [numbers(200), numbers(10)[:0], numbers(100)]), target="y")
    assert rows.shape == (300, 5)
    assert dg.fit(rows, loss="squared", penalty="l2", lam=0.1).converged


@pytest.mark.parametrize(
    ("target", "loss", "said"),
    [
        ("same", "logistic", "one class only"),
        ("y", "logistic", "continuous|different values"),
        ("word", "squared", "numbers"),
    ],
)
def test_targets_that_make_no_sense(target: str, loss: str, said: str, tmp_path: Path) -> None:
    frame = numbers(300).assign(same=1, word="a")
    rows = dg.dataset(written(tmp_path, [frame]), target=target, columns=["x0", "x1"])
    with pytest.raises(DataError, match=said):
        dg.fit(rows, loss=loss, penalty="l2", lam=0.1)


def test_what_cannot_be_a_data_set(tmp_path: Path) -> None:
    with pytest.raises(DataError, match="No file matches"):
        dg.dataset(str(tmp_path / "*.parquet"), target="y")
    with pytest.raises(DataError, match="no file"):
        dg.dataset(tmp_path / "none.parquet", target="y")
    with pytest.raises(DataError, match="Say which column"):
        dg.dataset(written(tmp_path, [numbers(10)]))
    with pytest.raises(DataError, match="no column 'z'"):
        dg.dataset(written(tmp_path, [numbers(10)]), target="z")
    with pytest.raises(DataError, match="list of files is empty"):
        dg.dataset([], target="y")
    with pytest.raises(DataError, match="data frame is in memory"):
        dg.dataset(numbers(10), np.ones(10))
    X, y = np.ones((3, 1)), np.ones(3)
    for rows, target, weights, words in (
        (X[:0], y[:0], None, "nothing to fit"),
        (X[:, :0], y, None, "nothing to fit"),
        (X + 1j, y, None, "Complex"),
        (X, y + 1j, None, "Complex"),
        (X, y, np.ones(2), "weights must be a number for each"),
        (X, y, ["a", "b", "c"], "weights must be numbers"),
        (X, y[:2], None, "same rows"),
    ):
        with pytest.raises(DataError, match=words):
            dg.dataset(rows, target, weights=weights)
    with pytest.raises(DataError, match="Complex"):
        dg.dataset(lambda: iter([(X, y + 1j)]))
    with pytest.raises(DataError, match="no rows"):
        dg.fit(dg.dataset(lambda: iter([(X[:0], y[:0])])), loss="squared", penalty="l2", lam=0.1)
    with pytest.raises(DataError, match="its own target"):
        dg.fit(dg.dataset(np.ones((3, 1)), np.ones(3)), np.ones(3), loss="squared", penalty="none")

    calls = []

    def shrinking() -> Any:
        calls.append(1)
        yield (
            np.ones((5 + 5 // len(calls), 2)) * np.arange(5 + 5 // len(calls))[:, None],
            np.arange(5 + 5 // len(calls)),
        )

    with pytest.raises(DataError, match="must be the same"):
        dg.fit(dg.dataset(shrinking), loss="squared", penalty="l2", lam=0.1)


def test_a_target_that_the_loss_does_not_take_is_named_by_its_place(tmp_path: Path) -> None:
    X, y, _ = drawn(400)
    y = np.abs(y)
    y[300] = -2.0
    named = r"poisson loss needs .*; the target is -2 in row 101 of .*b\.parquet"
    with pytest.raises(DataError, match=named):
        dg.fit(parquet(X, y, tmp_path), loss="poisson", penalty="l2", lam=0.1)


def test_a_gap_in_a_late_file_is_filled_as_one_in_the_first(tmp_path: Path) -> None:
    """The head of the first file alone said that all of them were numbers."""
    frames = [numbers(200).assign(x1=pd.array(numbers(200)["x1"], dtype="Float64")) for _ in range(3)]
    frames[2].loc[150, "x1"] = pd.NA
    late, early = written(tmp_path / "late", frames), written(tmp_path / "early", frames[::-1])
    asked: dict[str, Any] = {"loss": "squared", "penalty": "l2", "lam": 0.1}
    first, second = (dg.fit(dg.dataset(one, target="y"), **asked) for one in (late, early))
    assert first.converged and first.objective == pytest.approx(second.objective)


@pytest.mark.parametrize("loss", ["squared", "huber", "absolute"])
def test_targets_and_weights_that_do_not_count_are_told(loss: str, tmp_path: Path) -> None:
    frame = numbers(300).assign(none=0.0)
    rows = dg.dataset(written(tmp_path, [frame]), target="y", weights="none")
    with pytest.raises(DataError, match="weights are zero"):
        dg.fit(rows, loss=loss, penalty="l2", lam=0.1)
    frame.loc[77, "y"] = np.nan
    rows = dg.dataset(written(tmp_path, [frame]), target="y", columns=["x0", "x1"])
    with pytest.raises(DataError, match=r"target is nan in row 78 of .*part0\.parquet"):
        dg.fit(rows, loss=loss, penalty="l2", lam=0.1)


def test_decimals_are_numbers_and_lists_are_no_column(tmp_path: Path) -> None:
    frame = numbers(300)
    cents = frame.assign(x1=[Decimal(f"{value:.2f}") for value in frame["x1"]])
    rounded = frame.assign(x1=frame["x1"].round(2))
    asked: dict[str, Any] = {"loss": "squared", "penalty": "l2", "lam": 0.1}
    exact = dg.fit(dg.dataset(written(tmp_path, [rounded]), target="y"), **asked).objective
    words = pd.Series(["a", "b"] * 150)
    for table in (cents, cents.assign(kind=words)):
        found = dg.fit(dg.dataset(written(tmp_path, [table]), target="y"), **asked)
        assert len(found.coef) == 5 + (table is not cents) and found.converged
    assert dg.fit(dg.dataset(written(tmp_path, [cents]), target="y"), **asked).objective == exact
    with pytest.raises(DataError, match=r"'x1' of .*part0\.parquet holds list"):
        dg.dataset(written(tmp_path, [frame.assign(x1=[[1, 2]] * 300)]), target="y")


def test_words_among_numbers_are_named_with_their_file(tmp_path: Path) -> None:
    numbers(50).to_csv(tmp_path / "a.csv", index=False)
    frame = numbers(50).astype({"x1": object})
    frame.loc[40, "x1"] = "oops"
    frame.to_csv(tmp_path / "b.csv", index=False)
    with pytest.raises(DataError, match=r"'x1' holds numbers.*'oops'.*b\.csv"):
        dg.dataset(str(tmp_path / "*.csv"), target="y")


def test_a_filter_and_folders_of_a_pyarrow_data_set_count(tmp_path: Path) -> None:
    frame = numbers(400).assign(part=np.repeat([1, 2], 200))
    asked: dict[str, Any] = {"loss": "huber", "penalty": "l2", "lam": 0.1}
    pyarrow.dataset.write_dataset(
        pa.table(frame), tmp_path, format="parquet", partitioning=["part"], partitioning_flavor="hive"
    )
    whole = pyarrow.dataset.dataset(tmp_path, partitioning="hive")
    chosen = whole.filter(pyarrow.dataset.field("x0") > 0.0)
    for rows, kept in ((whole, frame), (chosen, frame[frame["x0"] > 0.0])):
        found = dg.fit(dg.dataset(rows, target="y"), **asked)
        own = dg.fit(kept.drop(columns="y"), kept["y"], **asked)
        assert found.names is not None and "part" in found.names
        assert found.objective == pytest.approx(own.objective, rel=1e-6)


@pytest.mark.parametrize("loss", ["squared", "absolute", "poisson"])
def test_a_row_or_two_and_blocks_without_rows(loss: str) -> None:
    """What is proven of them in memory is proven of them in blocks."""
    rng = np.random.default_rng(3)
    X, y = rng.normal(size=(12, 2)), rng.poisson(3.0, size=12) + 1.0
    asked: dict[str, Any] = {"loss": loss, "penalty": "l2", "lam": 0.1, "fit_intercept": False}
    for n in (1, 2, 12):
        blocks = [(X[:0], y[:0]), (X[:n], y[:n]), (X[:0], y[:0])]
        found = dg.fit(dg.dataset(lambda blocks=blocks: iter(blocks)), **asked)
        whole = dg.fit(X[:n], y[:n], **asked)
        assert found.converged and found.objective >= whole.bound and whole.objective >= found.bound


def test_counts_that_are_all_zero_have_no_intercept() -> None:
    X = np.random.default_rng(4).normal(size=(40, 3))
    with pytest.raises(UnboundedError, match="every target is 0"):
        dg.fit(dg.dataset(X, np.zeros(40)), loss="poisson", penalty="l2", lam=0.1)
    asked: dict[str, Any] = {"loss": "poisson", "penalty": "l2", "lam": 0.1, "fit_intercept": False}
    assert dg.fit(dg.dataset(X, np.zeros(40)), **asked).converged


@pytest.mark.parametrize("loss", ["squared", "huber(1.35)", "logistic"])
def test_folds_without_rows_that_count_are_told(loss: str) -> None:
    """Rows go to folds by runs, so that few rows are all in the first."""
    rng = np.random.default_rng(6)
    X = rng.normal(size=(200, 2))
    y = np.where(X[:, 0] > 0.0, 1.0, -1.0) if loss == "logistic" else X[:, 0]
    for n, heavy in ((40, 40), (100, 100), (200, 60)):
        weights = np.where(np.arange(n) < heavy, 1.0, 0.0)
        with pytest.raises(DataError, match=r"too few rows|No row"):
            dg.cross_validate(dg.dataset(X[:n], y[:n], weights=weights), loss=loss, penalty="l2", cv=3)


def test_several_targets_are_for_rows_in_memory(tmp_path: Path) -> None:
    rng = np.random.default_rng(5)
    X, Y = rng.normal(size=(20, 3)), rng.normal(size=(20, 2))
    np.save(tmp_path / "X.npy", X)
    np.save(tmp_path / "Y.npy", Y)
    pd.DataFrame(np.column_stack([X, Y]), columns=list("abcuv")).to_csv(tmp_path / "rows.csv", index=False)
    several: list[Any] = [
        lambda: dg.dataset(X, Y),
        lambda: dg.dataset((str(tmp_path / "X.npy"), str(tmp_path / "Y.npy"))),
        lambda: dg.fit(dg.dataset(lambda: iter([(X, Y)])), loss="squared", lam=1.0),
        lambda: dg.dataset(str(tmp_path / "rows.csv"), target="u,v"),
        lambda: dg.dataset(str(tmp_path / "rows.csv"), target=["u", "v"]),  # type: ignore[arg-type]
    ]
    for make in several:
        with pytest.raises(DataError, match="2 targets, and rows in blocks have one: fit them one by one"):
            make()
    for single in (Y[:, :1], Y[:, 0]):
        assert dg.fit(dg.dataset(X, single), loss="squared", lam=1.0).coef.shape == (3,)


def test_text_whose_later_rows_are_wider_than_the_first_ones(tmp_path: Path) -> None:
    """Arrow takes what its first block of text holds for the kind of a column."""
    frame = pd.concat([numbers(3000)] * 8, ignore_index=True)
    whole = frame["x1"].round().astype(int).astype(object)
    whole[23_990] = 2.5
    late = pd.Series(np.where(np.arange(24_000) < 23_000, np.nan, 1.0))
    frame = frame.assign(x1=whole, x2=late)
    frame.to_csv(tmp_path / "a.csv", index=False)
    rows = dg.dataset(tmp_path / "a.csv", target="y", columns=["x0", "x1", "x2"])
    found = dg.fit(rows, loss="huber", penalty="l2", lam=0.01)
    X = frame[["x0", "x1", "x2"]].fillna(1.0).to_numpy(dtype=float)
    own = dg.fit(X, frame["y"].to_numpy(), loss="huber", penalty="l2", lam=0.01)
    assert found.converged and found.objective >= own.bound and own.objective >= found.bound
    assert np.array_equal(found.predict(rows), found.predict(X))
    whole[23_995] = "oops"
    frame.assign(x1=whole).to_csv(tmp_path / "a.csv", index=False)
    with pytest.raises(DataError, match=r"Column 'x1' of .*a\.csv holds numbers, and 'oops' after row \d{5}"):
        dg.dataset(tmp_path / "a.csv", target="y", columns=["x0", "x1"])


@pytest.mark.usefixtures("small_blocks")
@pytest.mark.parametrize("loss", ["logistic", "hinge", "squared"])
def test_a_number_whose_square_is_none_is_named(loss: str, tmp_path: Path) -> None:
    X, y, labels = drawn(3000)
    X[2900, 2] = 1e200
    rows = parquet(X, y if loss == "squared" else labels, tmp_path)
    with pytest.raises(DataError, match=r"1e\+200 in column 'x2', row 1401 of .*b\.parquet"):
        dg.fit(rows, loss=loss, penalty="l2", lam=0.01)


def test_a_label_that_is_missing_is_named_by_its_row(tmp_path: Path) -> None:
    X, _, labels = drawn(500)
    words = np.where(labels == 1, "yes", "no").astype(object)
    words[432] = None
    with pytest.raises(DataError, match=r"no label in row 183 of .*b\.parquet"):
        dg.fit(parquet(X, words, tmp_path), loss="logistic", penalty="l2", lam=0.01)


def test_names_that_cannot_be_meant(tmp_path: Path) -> None:
    pattern = written(tmp_path / "one", [numbers(50)])
    assert dg.dataset(pattern, target="y", columns="x1").names == ("x1",)
    with pytest.raises(DataError, match="predicted from itself"):
        dg.dataset(pattern, target="y", columns=["x1", "y"])
    with pytest.raises(DataError, match="no column 'z' to leave out"):
        dg.dataset(pattern, target="y", drop=["z"])
    twice = pa.Table.from_arrays([pa.array(np.arange(9.0))] * 3, names=["a", "a", "y"])
    pyarrow.parquet.write_table(twice, tmp_path / "twice.parquet")
    with pytest.raises(DataError, match=r"twice\.parquet has two columns named 'a'"):
        dg.dataset(tmp_path / "twice.parquet", target="y")
    (tmp_path / "above").mkdir()
    written(tmp_path / "above" / "below", [numbers(50)])
    with pytest.raises(DataError, match="those in folders below"):
        dg.dataset(tmp_path / "above", target="y")
    with pytest.raises(DataError, match="must have rows and columns"):
        dg.dataset(np.ones(9), np.ones(9))


def test_functions_that_give_no_blocks_of_numbers() -> None:
    X, y = np.ones((6, 2)), np.arange(6.0)
    once = iter([(X, y)])
    for make, words in (
        (lambda: None, "gave NoneType"),
        (
            lambda: [(X.astype(str).tolist(), y), (np.array([["a", "b"]]), y[:1])],
            "X of block 1 holds what is no",
        ),
        (lambda: [(X[:, 0], y)], "X of block 0 has the shape"),
        (lambda: [(X, y, None), (X, y, y)], "Block 1 has weights, unlike the first"),
        (lambda: once, "fresh iterator"),
    ):
        with pytest.raises(DataError, match=words):
            dg.fit(dg.dataset(make), loss="squared", penalty="l2", lam=0.1)


def test_dask_collections_that_need_a_word_or_none() -> None:
    array, frames = pytest.importorskip("dask.array"), pytest.importorskip("dask.dataframe")
    X, _, labels = drawn(2000)
    cut = array.from_array(X, chunks=(300, 2))
    weight = np.arange(2000) % 3
    asked: dict[str, Any] = {"loss": "logistic", "penalty": "l2", "lam": 0.01, "sample_weight": weight}
    found, whole = (dg.fit(one, labels, **asked) for one in (cut, X))
    assert found.objective >= whole.bound and whole.objective >= found.bound
    with pytest.raises(DataError, match="X has 2000 rows, y 1999"):
        dg.dataset(cut, array.from_array(labels[:-1], chunks=300))
    frame = frames.from_pandas(numbers(200).assign(word="a"), npartitions=3)
    for given, words in (
        ({"target": "z"}, "no column 'z'"),
        ({"target": "y"}, "Column 'word' of the Dask frame"),
        ({"target": "y", "weights": "z"}, "no column 'z'"),
    ):
        with pytest.raises(DataError, match=words):
            dg.dataset(frame, **given)
    with pytest.raises(DataError, match="Dask series"):
        dg.dataset(frame[["x0", "x1"]], np.ones(200))
