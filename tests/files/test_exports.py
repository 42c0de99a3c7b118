"""ONNX, SQL and Python say what the solution says, to 1e-12 of the sizes that are added."""

from __future__ import annotations

import dataclasses
import runpy
import sqlite3
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from numpy.typing import NDArray

import dualgap as dg
from dualgap.errors import DataError
from dualgap.tables.frames import from_frame
from dualgap.tables.learn import Wishes
from dualgap.tables.prepare import prepare
from saved_models import NUMBERS, X, solved

KINDS = ["weighted quantile", "two classes", "jointly", "against the rest", "hard margin", "no intercept"]


def assert_close(found: Any, solution: dg.Solution, rows: NDArray[np.float64]) -> None:
    exact = solution.decision_function(rows)
    table, level = np.atleast_2d(solution.coef), np.atleast_1d(solution.intercept)
    sizes = (np.abs(rows) @ np.abs(table).T + np.abs(level)).reshape(exact.shape)
    assert np.all(np.abs(np.asarray(found).reshape(exact.shape) - exact) <= 1e-12 * sizes)


@pytest.mark.parametrize("name", KINDS)
def test_onnx(name: str, tmp_path: Path) -> None:
    pytest.importorskip("onnx", reason="the package onnx is not installed")
    runtime = pytest.importorskip("onnxruntime", reason="the package onnxruntime is not installed")
    solution, _ = solved(name)
    session = runtime.InferenceSession(
        str(solution.export(tmp_path / "m.onnx")), providers=["CPUExecutionProvider"]
    )
    (score,) = session.run(["score"], {"X": X})
    assert score.dtype == np.float64
    assert_close(score, solution, X)


@pytest.mark.parametrize("loss", ["squared", "poisson", "quantiles(0.2, 0.8)"])
def test_all_outputs(loss: str, tmp_path: Path) -> None:
    """A list in Python, a column each in SQL and ONNX; names that differ by capitals alone stay apart."""
    several = pd.DataFrame({"u": np.abs(NUMBERS), "U": np.abs(X[:, 0])})
    target: Any = several["u"] if loss.startswith("quantiles") else several
    solution = dg.fit(X, target, loss=loss, penalty="l1", lam=0.01)
    expected = solution.predict(X)
    module = runpy.run_path(str(solution.export(tmp_path / "m.py")))
    assert module["OUTPUTS"] == list(solution.outputs or ())
    np.testing.assert_allclose(
        [module["predict"](row) for row in X.tolist()], expected, rtol=1e-12, atol=1e-13
    )
    frame = pd.DataFrame(X, columns=["x0", "x1", "x2", "x3"])
    if loss != "poisson":  # SQLite may come without EXP
        found = query(solution, frame, tmp_path / "m.sql")
        assert len(found[0].keys()) == 6
        np.testing.assert_allclose([tuple(row)[4:] for row in found], expected, rtol=1e-12, atol=1e-13)
    pytest.importorskip("onnx", reason="the package onnx is not installed")
    runtime = pytest.importorskip("onnxruntime", reason="the package onnxruntime is not installed")
    session = runtime.InferenceSession(
        str(solution.export(tmp_path / "m.onnx")), providers=["CPUExecutionProvider"]
    )
    found = session.run(["mean" if loss == "poisson" else "score"], {"X": X})[0]
    np.testing.assert_allclose(found, expected, rtol=1e-12, atol=1e-13)


def mixed() -> tuple[dg.Solution, pd.DataFrame, NDArray[np.float64]]:
    """A model of a file with awkward names, words, gaps and truth values."""
    rng = np.random.default_rng(2)
    frame = pd.DataFrame(
        {
            "size, m²": np.where(rng.random(40) < 0.2, np.nan, X[:, 0]),
            'ki"nd; DROP TABLE data --': rng.choice(["o'hara", "b", 'c"', None], 40),
            "open": X[:, 2] > 0,
            "y": NUMBERS,
        }
    )
    made = prepare(from_frame(frame, "rows"), Wishes("y"))
    solution = dg.fit(made.X, made.y, loss="squared", lam=0.01)
    bare = dataclasses.replace(solution, names=made.recipe.names, recipe=made.recipe)
    return bare, frame, made.X


def query(solution: dg.Solution, frame: pd.DataFrame, path: Path) -> list[sqlite3.Row]:
    solution.export(path, table='da"ta')
    connection = sqlite3.connect(":memory:")
    connection.row_factory = sqlite3.Row
    names = ", ".join('"' + name.replace('"', '""') + '"' for name in frame.columns)
    connection.execute(f'CREATE TABLE "da""ta" ({names})')
    rows = [
        [None if v is None or v != v else v for v in row] for row in frame.astype(object).to_numpy().tolist()
    ]
    connection.executemany(f'INSERT INTO "da""ta" VALUES ({", ".join("?" * len(frame.columns))})', rows)
    found = connection.execute(path.read_text(encoding="utf-8")).fetchall()
    connection.close()
    return found


def test_sql_with_words_and_gaps(tmp_path: Path) -> None:
    solution, frame, encoded = mixed()
    found = query(solution, frame, tmp_path / "m.sql")
    bare = dataclasses.replace(solution, names=None, recipe=None)
    assert_close([row["prediction"] for row in found], bare, encoded)


@pytest.mark.parametrize("name", ["two classes", "jointly", "against the rest"])
def test_sql_of_classes(name: str, tmp_path: Path) -> None:
    solution, _ = solved(name)
    frame = pd.DataFrame(X, columns=["x0", "x1", "x2", "x3"])
    found = query(solution, frame, tmp_path / "m.sql")
    assert [row["prediction"] for row in found] == solution.predict(X).tolist()
    assert solution.classes is not None
    titles = ["score"] if solution.coef.ndim == 1 else [f"score {c}" for c in solution.classes.tolist()]
    assert_close([[row[title] for title in titles] for row in found], solution, X)


def test_sql_of_more_columns_than_an_expression_may_be_deep(tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    wide = rng.normal(size=(20, 1500))
    solution = dg.fit(wide, rng.normal(size=20), loss="squared", lam=1.0)
    solution.export(tmp_path / "m.sql")
    text = (tmp_path / "m.sql").read_text()
    values = ", ".join(f"{value!r} AS x{j}" for j, value in enumerate(wide[0].tolist()))
    connection = sqlite3.connect(":memory:")
    sql = text.replace("SELECT *,", "SELECT", 1).replace('FROM "data"', f"FROM (SELECT {values})")
    (found,) = connection.execute(sql).fetchone()
    connection.close()
    assert_close([found], solution, wide[:1])


def test_onnx_takes_the_columns_of_the_file(tmp_path: Path) -> None:
    pytest.importorskip("onnx", reason="the package onnx is not installed")
    runtime = pytest.importorskip("onnxruntime", reason="the package onnxruntime is not installed")
    solution, frame, rows = mixed()
    path = str(solution.export(tmp_path / "m.onnx"))
    session = runtime.InferenceSession(path, providers=["CPUExecutionProvider"])
    given: dict[str, Any] = {}
    for column in session.get_inputs():
        values = frame[column.name]
        words = column.type == "tensor(string)"
        made = values.astype(object).where(values.notna(), "") if words else values.astype(float)
        given[column.name] = made.to_numpy(dtype=object if words else np.float64)[:, None]
    (score,) = session.run(["score"], given)
    assert score.dtype == np.float64
    assert_close(score, solution, rows)


def test_python_with_words_and_gaps(tmp_path: Path) -> None:
    solution, frame, encoded = mixed()
    made = runpy.run_path(str(solution.export(tmp_path / "m.py")))
    rows = frame.drop(columns="y").to_dict("records")
    bare = dataclasses.replace(solution, names=None, recipe=None)
    assert_close([made["predict"](row) for row in rows], bare, encoded)
    assert made["COLUMNS"] == list(frame.columns[:3])


@pytest.mark.parametrize("name", KINDS)
def test_python_of_every_kind(name: str, tmp_path: Path) -> None:
    solution, _ = solved(name)
    made = runpy.run_path(str(solution.export(tmp_path / "m.py")))
    assert_close([made["scores"](row) for row in X.tolist()], solution, X)
    if solution.classes is not None:
        assert [made["predict"](row) for row in X.tolist()] == solution.predict(X).tolist()


def test_names_cannot_become_code(tmp_path: Path) -> None:
    name = '""" + __import__("os").abort() + """\n\\'
    frame = pd.DataFrame({name: X[:, 0], "\u2028{0}": X[:, 1]})
    solution = dg.fit(frame, NUMBERS, loss="squared", lam=0.1)
    made = runpy.run_path(str(solution.export(tmp_path / "m.py")))
    found = [made["predict"](row) for row in frame.to_dict("records")]
    assert_close(found, dataclasses.replace(solution, names=None), X[:, :2])


def test_an_ending_that_is_not_known(tmp_path: Path) -> None:
    with pytest.raises(DataError, match=r"ends in \.onnx, \.py, \.sql, not 'm\.exe'"):
        solved("two classes")[0].export(tmp_path / "m.exe")
    odd = dg.fit(pd.DataFrame({"a\x00": X[:, 0]}), NUMBERS, loss="squared", lam=0.1)
    with pytest.raises(DataError, match="cannot be the name"):
        odd.export(tmp_path / "m.sql")
