"""The verbs that write pages: fit, path, cv and report."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

from dualgap.cli import console
from dualgap.cli.main import main


@pytest.fixture
def houses(tmp_path: Path) -> Path:
    """Words, gaps, accents and signs that mean something to a browser."""
    rng = np.random.default_rng(5)
    n = 120
    size, region = rng.normal(80, 20, n).round(1), rng.choice(["Île", "<Nord>", "Sud, Est"], n)
    frame = pd.DataFrame(
        {
            "surface <m²>": np.where(np.arange(n) % 9 == 0, np.nan, size),
            "région": region,
            "ascenseur": rng.random(n) < 0.5,
            "prix": (3 * size + 40 * (region == "<Nord>") + rng.normal(0, 5, n)).round(2),
        }
    )
    path = tmp_path / "maisons.csv"
    frame.to_csv(path, index=False)
    return path


def run(capsys: pytest.CaptureFixture[str], *arguments: Any) -> tuple[int, str, str]:
    code = main([str(one) for one in arguments])
    said = capsys.readouterr()
    return code, said.out, said.err


def page(houses: Path) -> Path:
    return houses.parent / "page.html"


def test_fit_and_report(houses: Path, capsys: pytest.CaptureFixture[str]) -> None:
    model, out = houses.parent / "model.json", page(houses)
    told = ("--target", "prix", "--lam", 0.01, "--out", model, "--report", out)
    code, said, error = run(capsys, "fit", houses, *told)
    assert (code, error) == (console.OK, "") and f"page written to {out}" in said
    text = out.read_text("utf-8")
    for words in (
        "surface &lt;m²&gt;",
        "région=Sud, Est",
        "reference",
        "Decided on the way",
        "stands in for",
    ):
        assert words in text
    assert "<Nord>" not in text and "Along the path" not in text
    code, _, _ = run(capsys, "report", model, houses, "--out", out, "--force")
    assert code == console.OK and "How well it predicts" in out.read_text("utf-8")
    assert "rows of the fit" in out.read_text("utf-8")
    code, _, _ = run(capsys, "report", model, "--out", out, "--force")
    assert code == console.OK and "How well it predicts" not in out.read_text("utf-8")


def test_a_fit_that_chose_its_strength_shows_the_search(
    houses: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    code, said, _ = run(capsys, "fit", houses, "--target", "prix", "--report", page(houses), "--json")
    assert code == console.OK and json.loads(said)["report"] == str(page(houses))
    text = page(houses).read_text("utf-8")
    assert (
        "Cross-validation" in text
        and "Along the path" in text
        and "rows held out by cross-validation" in text
    )


def test_cv(houses: Path, capsys: pytest.CaptureFixture[str]) -> None:
    told = ("--target", "prix", "--penalty", "l1", "--points", 12, "--folds", 3, "--report", page(houses))
    code, said, _ = run(capsys, "cv", houses, *told)
    assert code == console.OK and "page written" in said
    text = page(houses).read_text("utf-8")
    assert "3 folds" in text and "(chosen)" in text and 'id="strength"' in text


def test_path_with_rows_held_out(houses: Path, capsys: pytest.CaptureFixture[str]) -> None:
    told = ("--target", "prix", "--report", page(houses), "--force")
    code, said, _ = run(capsys, "path", houses, *told, "--hold-out", 0.25)
    assert code == console.OK and "30 rows held out to test on, 90 left to fit" in said
    text = page(houses).read_text("utf-8")
    assert "the least loss on the test rows" in text and "surface &lt;m²&gt;" in text
    code, said, _ = run(capsys, "path", houses, *told, "--test", houses)
    assert code == console.OK and "120 rows to test on" in said
    code, _, error = run(capsys, "path", houses, *told, "--hold-out", 1.5)
    assert code == console.USAGE and "strictly between 0 and 1" in error


def test_a_page_that_cannot_be_written_is_refused_first(
    houses: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    nowhere = houses.parent / "nowhere" / "page.html"
    code, out, error = run(capsys, "fit", houses, "--target", "prix", "--report", nowhere)
    assert code == console.USAGE and "cannot be written there" in error and out == ""
