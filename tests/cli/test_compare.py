"""Models side by side on the rows of a file."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

import dualgap as dg
from dualgap.cli import console
from dualgap.cli.main import main


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Path:
    """Two models of other columns of the same rows, one of classes, and rows that none has seen."""
    monkeypatch.chdir(tmp_path)
    rng = np.random.default_rng(0)
    frame = pd.DataFrame(rng.normal(size=(160, 3)), columns=list("abc")).assign(k=rng.choice(["u", "v"], 160))
    frame["y"] = 2 * frame["a"] - frame["b"] + (frame["k"] == "u") + rng.normal(size=160)
    frame["label"] = np.where(frame["y"] > 0, "yes", "no")
    frame[:100].to_csv("fit.csv", index=False)
    frame[100:].to_csv("new.csv", index=False)
    told = ["fit", "fit.csv", "--lam", "0.01", "--out"]
    assert main([*told, "all.json", "--target", "y", "--drop", "label"]) == 0
    assert (
        main([*told, "less.json", "--target", "y", "--drop", "label", "--drop", "a", "--loss", "absolute"])
        == 0
    )
    assert main([*told, "class.json", "--target", "label", "--drop", "y"]) == 0
    assert main([*told, "hinge.json", "--target", "label", "--drop", "y", "--loss", "hinge"]) == 0
    capsys.readouterr()
    return tmp_path


def run(capsys: pytest.CaptureFixture[str], *arguments: Any) -> tuple[int, str, str]:
    code = main(["compare", *(str(one) for one in arguments)])
    said = capsys.readouterr()
    return code, said.out, said.err


def test_errors_differences_and_weights(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    code, out, _ = run(capsys, "all.json", "less.json", "new.csv", "--json", "--report", "page.html")
    assert code == console.OK
    found, rows = json.loads(out), pd.read_csv("new.csv")
    one, two = (
        np.abs(dg.load(name).predict(rows) - rows["y"].to_numpy()) for name in ("all.json", "less.json")
    )
    (cost,) = [row for row in found["mean ± standard error"] if row["name"] == "absolute error"]
    assert float(cost["all.json"].split(" ±")[0]) == pytest.approx(one.mean(), rel=1e-4)
    (pair,) = [row for row in found["differences row by row"] if row["name"].startswith("absolute error")]
    mean, error = map(float, pair["mean ± standard error"].split(" ± "))
    assert mean == pytest.approx((two - one).mean(), rel=1e-4)
    assert error == pytest.approx((two - one).std(ddof=1) / np.sqrt(60), rel=0.06)
    assert pair["rows better, worse"] == f"{(two < one).sum()}, {(two > one).sum()}"
    weights = {row["name"]: row for row in found["weights"]}
    assert weights["a"]["less.json"] == "" and float(weights["a"]["all.json"]) == pytest.approx(2, abs=0.4)
    assert "Differences row by row" in Path("page.html").read_text("utf-8")


def test_classes_and_rows_of_the_fit(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    code, out, _ = run(capsys, "class.json", "hinge.json", "fit.csv")
    assert code == console.OK and "share of wrong rows" in out and "log loss" not in out
    assert "class.json was fitted on these very rows, which flatters it" in out


def test_rows_that_all_fits_held_out_and_which_is_better(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    told = ["fit", "fit.csv", "--target", "y", "--drop", "label", "--lam", "0.01", "--hold-out", "0.4"]
    assert main([*told, "--out", "some.json"]) == 0
    assert main([*told, "--out", "without.json", "--drop", "a"]) == 0
    assert main([*told, "--out", "same.json", "--penalty", "l1"]) == 0
    capsys.readouterr()
    models = ("some.json", "without.json", "same.json")
    code, out, _ = run(capsys, *models, "fit.csv", "--hold-out", "0.4", "--json", "--report", "page.html")
    found = json.loads(out)
    assert code == console.OK
    order = np.random.default_rng(0).permutation(100)
    rows = pd.read_csv("fit.csv").iloc[np.sort(order[:40])]
    error = (dg.load("some.json").predict(rows) - rows["y"].to_numpy()) ** 2
    assert float(found["mean ± standard error"][0]["some.json"].split(" ±")[0]) == pytest.approx(
        error.mean(), rel=1e-4
    )
    clear, close = found["verdicts"]
    assert clear.startswith("by squared error some.json is better than without.json by ")
    assert close.startswith("by squared error these rows do not tell same.json from some.json: ")
    page = Path("page.html").read_text("utf-8")
    assert "40 of 100 rows, those that all fits held out" in page
    assert "Which is better" in page and "By squared error some.json is better" in page
    assert page.count(">Weights<") + page.count(">weights<") == 1, "a heading, said once"
    assert run(capsys, *models, "fit.csv", "--hold-out", "1.5")[0] == console.USAGE


def test_a_common_loss_is_what_models_are_judged_by(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    told = ["fit", "fit.csv", "--target", "y", "--drop", "label", "--loss", "quantile(0.9)", "--out"]
    assert main([*told, "high.json", "--lam", "0.01"]) == 0
    assert main([*told, "flat.json", "--lam", "10"]) == 0
    capsys.readouterr()
    found = json.loads(run(capsys, "high.json", "flat.json", "new.csv", "--json")[1])
    (cost, *_) = found["mean ± standard error"]
    rows = pd.read_csv("new.csv")
    miss = rows["y"].to_numpy() - dg.load("high.json").predict(rows)
    assert cost["name"] == "quantile(0.9) loss"
    assert float(cost["high.json"].split(" ±")[0]) == pytest.approx(
        np.maximum(0.9 * miss, -0.1 * miss).mean(), rel=1e-4
    )
    assert found["verdicts"][0].startswith("by quantile(0.9) loss high.json is better than flat.json by ")


def test_what_cannot_be_compared(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    code, _, err = run(capsys, "all.json", "class.json", "new.csv")
    assert code == console.BAD_INPUT and "they cannot be compared" in err
    assert run(capsys, "all.json", "new.csv")[0] == console.USAGE
    code, _, err = run(capsys, "all.json", "less.json", "new.csv", "--report", "less.json", "--force")
    assert code == console.USAGE and "name another file to write to" in err
