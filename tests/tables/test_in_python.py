"""The command's columns in Python: a file by dg.tables.read, a frame with words straight into a fit."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

import dualgap as dg
from dualgap.cli import console
from dualgap.cli.main import main
from dualgap.errors import DataError


def table(n: int = 80) -> tuple[pd.DataFrame, Any]:
    rng = np.random.default_rng(0)
    frame = pd.DataFrame(
        {
            "size": rng.normal(size=n),
            "kind": rng.choice(["a", "b", "c"], n),
            "price": [f"{value:,.2f} €" for value in rng.normal(3000, 900, n)],
            "when": pd.date_range("2024-01-01", periods=n, freq="3D"),
            "open": rng.random(n) < 0.5,
        }
    )
    return frame, frame["size"] + (frame["kind"] == "b") + rng.normal(size=n)


def test_a_file_is_read_as_the_command_reads_it(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    frame, y = table()
    path, model = str(tmp_path / "x.csv"), str(tmp_path / "m.json")
    frame.assign(y=y, w=1.5).to_csv(path, index=False)
    told = [
        "--target",
        "y",
        "--drop",
        "open",
        "--weights",
        "w",
        "--lam",
        "0.1",
        "--no-standardise",
        "--out",
        model,
    ]
    assert main(["fit", path, *told]) == console.OK
    X, found, recipe, weights = dg.tables.read(path, target="y", drop=["open"], weights="w")
    solution = dg.fit(X, found, loss="squared", lam=0.1, sample_weight=weights)
    assert recipe == dg.load(model).recipe and np.array_equal(solution.coef, dg.load(model).coef)
    again = dg.tables.read(path, recipe=recipe)
    assert np.array_equal(again[0], X) and np.array_equal(again[1], found)
    with pytest.raises(DataError, match="--target COLUMN"):
        dg.tables.read(path)


def test_a_frame_with_words_goes_straight_into_a_fit(tmp_path: Path) -> None:
    frame, y = table()
    solution = dg.fit(frame, y, loss="squared", lam=0.1)
    assert solution.recipe is not None and "kind=b" in (solution.names or ())
    frame.assign(y=y).to_parquet(tmp_path / "x.parquet")
    X, found, recipe = dg.tables.read(str(tmp_path / "x.parquet"), target="y")
    assert recipe.names == solution.names
    assert np.array_equal(dg.fit(X, found, loss="squared", lam=0.1).coef, solution.coef)
    assert np.allclose(solution.predict(frame.iloc[5:7]), solution.predict(frame)[5:7], rtol=1e-12)
    assert solution.certificate.recheck(frame, y).gap <= solution.gap * (1 + 1e-9) + 1e-15
    assert dg.certify(frame, y, solution).relative_gap <= 1e-6
    solution.save(tmp_path / "m.json", data=(frame, y))
    assert np.array_equal(dg.load(tmp_path / "m.json").predict(frame), solution.predict(frame))
    assert (
        main(["verify", str(tmp_path / "m.json"), str(tmp_path / "x.parquet"), "--target", "y"]) == console.OK
    )


def test_paths_searches_and_estimators_take_it_too() -> None:
    frame, y = table()
    path = dg.path(frame, y, loss="squared", penalty="l1")
    assert path.decision_functions(frame.iloc[:2]).shape == (len(path), 2)
    search = dg.cross_validate(frame, y, loss="squared", n_lams=5)
    assert search.solution.recipe is not None
    model = dg.LinearRegressor(loss="squared", lam=0.1).fit(frame, y)
    assert np.array_equal(model.predict(frame), dg.fit(frame, y, loss="squared", lam=0.1).predict(frame))
    labels = np.where(y > 0, "yes", "no")
    assert dg.LinearClassifier(loss="hinge").fit(frame, labels).score(frame, labels) > 0.5


def test_polars_frames_have_words_too() -> None:
    polars = pytest.importorskip("polars", reason="polars is not installed")
    frame, y = table()
    theirs = polars.from_pandas(frame)
    assert np.array_equal(
        dg.fit(theirs, y.to_numpy(), loss="squared", lam=0.1).coef,
        dg.fit(frame, y, loss="squared", lam=0.1).coef,
    )


def test_what_is_left_out_and_what_is_missing_is_said() -> None:
    frame, y = table()
    named = frame.assign(name=[f"n{i}" for i in range(len(frame))])
    with pytest.warns(UserWarning, match="The column 'name' is left out: its 80 different words"):
        solution = dg.fit(named, y, loss="squared", lam=0.1)
    assert solution.names == dg.fit(frame, y, loss="squared", lam=0.1).names
    frame.loc[3, "size"] = np.nan
    with pytest.raises(DataError, match=r"NaN in column 'size', row 3; impute or drop it"):
        dg.fit(frame, y, loss="squared", lam=0.1)
    with pytest.raises(DataError, match="'kind' of X has the level 'z' in row 1"):
        solution.predict(frame.iloc[:1].assign(kind="z"))
