"""Several targets in one command: fitted, chosen, followed, kept, checked and predicted."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

import dualgap as dg
from dualgap.cli import console
from dualgap.cli.main import main


@pytest.fixture
def table(tmp_path: Path) -> Path:
    """Three targets, one with a gap; a column of words and one of nothing."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(80, 4))
    Y = X[:, :2] @ rng.normal(size=(2, 3)) + 0.3 * rng.normal(size=(80, 3))
    frame = pd.DataFrame(np.column_stack([X, Y]), columns=list("abcduvw"))
    frame["colour"] = rng.choice(["red", "green"], 80)
    frame.loc[3, "v"] = np.nan
    frame.to_csv(tmp_path / "rows.csv", index=False)
    return tmp_path / "rows.csv"


def run(capsys: pytest.CaptureFixture[str], *words: Any) -> tuple[int, str, str]:
    code = main([str(word) for word in words])
    said = capsys.readouterr()
    return code, said.out, said.err


@pytest.mark.parametrize("penalty", ["l2", "l21", "l21_l2(0.5)"])
def test_fit_verify_predict_and_export(penalty: str, table: Path, capsys: pytest.CaptureFixture[str]) -> None:
    model = table.parent / "model.json"
    asked = ("--target", "u,v, w", "--penalty", penalty, "--lam", 0.1, "--out", model)
    code, out, err = run(capsys, "fit", table, *asked)
    assert code == console.OK, err
    assert "5 columns to predict 'u', 'v', 'w' from" in out and "without 'u' or 'v' or 'w'" in out
    assert "output 'v'" in out
    assert run(capsys, "verify", model, table)[0] == console.OK
    _, out, _ = run(capsys, "predict", model, table)
    header, *rows = out.splitlines()
    assert header == "prediction u,prediction v,prediction w" and len(rows) == 80
    X, Y, recipe = dg.tables.read(str(table), target="u,v,w")
    assert Y.shape == (79, 3) and recipe.target == "u,v,w"
    found = dg.load(model)
    assert found.outputs == ("u", "v", "w")
    again = dg.fit(X, Y, loss="squared", penalty=penalty, lam=0.1, standardize=True)
    np.testing.assert_allclose(found.coef, again.coef, atol=1e-9)
    assert run(capsys, "export", model, table.parent / "model.py")[0] == console.OK
    _, out, _ = run(capsys, "effect", model, table, "a")
    assert "prediction u" in out and "prediction w" in out


def test_strengths_are_chosen_and_rows_held_out(table: Path, capsys: pytest.CaptureFixture[str]) -> None:
    asked = ("--target", "u,v", "--drop", "w")
    code, out, err = run(capsys, "cv", table, *asked, "--penalty", "l21", "--points", 6)
    assert code == console.OK, err
    assert "held out" in out and "5 folds" in out
    code, out, err = run(capsys, "fit", table, *asked, "--lam", 0.1, "--hold-out", 0.2)
    assert code == console.OK, err
    assert "R2 u 0." in out and "16 test rows" in out


def test_a_path_is_written_and_drawn(table: Path, capsys: pytest.CaptureFixture[str]) -> None:
    pytest.importorskip("matplotlib")
    points, picture = table.parent / "points.csv", table.parent / "points.png"
    asked = ("--target", "u,v", "--penalty", "l21", "--points", 5, "--out", points, "--plot", picture)
    code, _, err = run(capsys, "path", table, *asked)
    assert code == console.OK, err
    head = points.read_text().splitlines()[0].split(",")
    assert "u: a" in head and "v: b" in head and head[-2:] == ["intercept u", "intercept v"]
    assert picture.stat().st_size > 1000
    X, Y, _ = dg.tables.read(str(table), target="u,v")
    path: Any = dg.path(X, Y, loss="squared", penalty="l21", n_lams=4)
    assert [ax.get_title() for ax in path.plot(titles=["u", "v"]).axes[:2]] == ["u", "v"]
    with pytest.raises(dg.errors.DataError, match="titles has 1 entries"):
        path.plot(titles=["u"])


def test_what_is_of_one_target_says_so_first(table: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for more in (("--report", table.parent / "page.html"), ("--intervals", 0.9)):
        code, out, err = run(capsys, "fit", table, "--target", "u,v", "--lam", 1, *more)
        assert (code, out) == (console.USAGE, "") and "--target names 2: name one, or leave" in err
    code, _, err = run(capsys, "fit", table, table, "--target", "u,v", "--lam", 1)
    assert code == console.USAGE and "read in blocks have one target" in err
    code, _, err = run(capsys, "fit", table, "--target", "u,nothing", "--lam", 1)
    assert code == console.BAD_INPUT and "has no column 'nothing'" in err
    model = table.parent / "model.json"
    run(capsys, "fit", table, "--target", "u,v", "--lam", 1, "--out", model)
    code, _, err = run(capsys, "compare", model, model, table)
    assert code == console.BAD_INPUT and "A comparison is of one output, and this fit has 2" in err
