"""What comes first is measured on rows that the weights have not seen, and the page's lines give it again."""

from __future__ import annotations

import html
import json
import re
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from sklearn.metrics import roc_auc_score

import dualgap as dg
from dualgap.cli import console
from dualgap.cli.main import main
from dualgap.report.headline import headlines
from dualgap.report.subject import Origin, subject


def rows(n: int = 90) -> tuple[pd.DataFrame, Any, Any]:
    rng = np.random.default_rng(1)
    frame = pd.DataFrame(rng.normal(size=(n, 30)), columns=[f"x{j}" for j in range(30)])
    y = frame["x0"] - frame["x1"] + rng.normal(size=n)
    return frame, y.to_numpy(), np.where(y > 0, "yes", "no")


def test_held_out_rows_are_predicted_without_their_fold() -> None:
    frame, y, _ = rows()
    folds = [(np.setdiff1d(np.arange(90), np.arange(k, 90, 3)), np.arange(k, 90, 3)) for k in range(3)]
    search = dg.cross_validate(frame, y, loss="squared", cv=folds, n_lams=8)
    held = search.held_out
    assert held is not None and sorted(held.rows) == list(range(90))
    for k, (train, test) in enumerate(folds):
        own = dg.fit(frame.iloc[train], y[train], loss="squared", lam=search.lam, tol=1e-10)
        assert np.allclose(held.decisions[held.folds == k], own.predict(frame.iloc[test]), atol=1e-4)
    assert "held out" in search.solution.summary()
    about = subject(search, None, (frame, y), None, Origin())
    (first,) = headlines(about)
    order = np.argsort(held.rows)
    residual = y - held.decisions[order]
    assert np.isclose(first.value, 1 - np.mean(residual**2) / np.var(y))
    means = [np.mean(residual[held.folds[order] == k] ** 2) for k in range(3)]
    assert first.spread is not None and np.isclose(
        first.spread, np.std(means, ddof=1) / np.sqrt(3) / np.var(y)
    )
    assert about.fitted is not None and about.fitted.explained is not None
    assert about.fitted.explained > first.value, "the rows of the fit flatter"


def test_classes_and_test_rows() -> None:
    frame, _, y = rows()
    search = dg.cross_validate(frame, y, loss="logistic", cv=5, n_lams=8)
    right, area = headlines(subject(search, None, (frame, y), None, Origin()))
    held = search.held_out
    assert held is not None and right.where == area.where == "rows held out"
    assert np.isclose(area.value, roc_auc_score(y[held.rows] == "yes", held.decisions))
    assert np.isclose(right.value, np.mean((held.decisions > 0) == (y[held.rows] == "yes")))
    solution = dg.fit(frame[:60], y[:60], loss="logistic", lam=0.1)
    about = subject(solution, None, (frame[:60], y[:60]), (frame[60:], y[60:]), Origin())
    right = headlines(about)[0]
    share = np.mean(solution.predict(frame[60:]) == y[60:])
    assert right.where == "test rows" and np.isclose(right.value, share)
    assert right.spread is not None and np.isclose(right.spread, np.sqrt(share * (1 - share) / 30))


def test_every_headline_of_test_rows_has_its_spread() -> None:
    """Of the area and of D² it is near what drawing the test rows again makes."""
    frame, y, label = rows(300)
    counts = np.random.default_rng(3).poisson(np.exp(0.3 * y))
    rng = np.random.default_rng(4)
    for loss, target, name in (("logistic", label, "ROC area"), ("poisson", counts, "D²")):
        solution = dg.fit(frame[:150], target[:150], loss=loss, lam=0.1)
        found = []
        for places in [np.arange(150, 300), *rng.integers(150, 300, (200, 150))]:
            test = frame.iloc[places], target[places]
            about = subject(solution, None, (frame[:150], target[:150]), test, Origin())
            found.append(next(one for one in headlines(about) if one.name == name))
        assert found[0].spread == pytest.approx(np.std([one.value for one in found[1:]]), rel=0.3), name


@pytest.fixture
def file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Words, dates, gaps, weights and two targets."""
    monkeypatch.chdir(tmp_path)
    frame, y, label = rows()
    rng = np.random.default_rng(2)
    made = frame.iloc[:, :3].assign(
        kind=rng.choice(["a", "b", "c"], 90),
        when=pd.date_range("2024-01-05", periods=90).strftime("%d/%m/%Y"),
    )
    made.loc[::7, "x1"] = np.nan
    made.assign(w=rng.integers(1, 4, 90), y=y, label=label).to_csv("rows.csv", index=False)
    made.assign(y=y, label=label, w=1).iloc[:20].to_csv("others.csv", index=False)
    return tmp_path / "rows.csv"


def run(capsys: pytest.CaptureFixture[str], *arguments: Any) -> str:
    assert main([str(one) for one in arguments]) == console.OK
    return capsys.readouterr().out


@pytest.mark.parametrize(
    "more",
    [
        ("--target", "y", "--drop", "label"),
        ("--target", "y", "--drop", "label", "--lam", "0.1", "--weights", "w", "--missing", "median"),
        ("--target", "label", "--drop", "y", "--penalty", "l1", "--cv", "4", "--rule", "1se"),
        ("--target", "label", "--drop", "y", "--loss", "hinge", "--C", "2", "--hold-out", "0.25"),
        ("--target", "y", "--drop", "label", "--hold-out", "0.3", "--weights", "w", "--no-intercept"),
    ],
    ids=" ".join,
)
def test_the_lines_in_python_give_the_same_digits(
    more: tuple[str, ...], file: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    run(capsys, "fit", "rows.csv", *more, "--out", "m.json", "--report", "page.html")
    page = Path("page.html").read_text("utf-8")
    lines = re.search(r"In Python:</p><pre[^>]*>(.*?)</pre>", page, flags=re.DOTALL)
    assert lines is not None
    names: dict[str, Any] = {}
    exec(html.unescape(lines[1]), names)
    model = dg.load("m.json")
    assert np.array_equal(names["solution"].coef, model.coef)
    assert np.array_equal(names["solution"].intercept, model.intercept)
    assert names["recipe"] == model.recipe


def test_the_lines_of_a_path_run(file: Path, capsys: pytest.CaptureFixture[str]) -> None:
    run(capsys, "path", "rows.csv", "--target", "y", "--drop", "label", "--report", "page.html")
    page = Path("page.html").read_text("utf-8")
    lines = re.search(r"In Python:</p><pre[^>]*>(.*?)</pre>", page, flags=re.DOTALL)
    names: dict[str, Any] = {}
    assert lines is not None
    exec(html.unescape(lines[1]), names)
    assert len(names["path"]) > 2


def test_the_terminal_and_the_page_lead_with_rows_not_seen(
    file: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    told = ("rows.csv", "--target", "y", "--drop", "label", "--report", "page.html", "--force")
    out = run(capsys, "fit", *told)
    assert re.search(r"held out +R² [\d.]+ ± [\d.]+; mean squared loss [\d.]+ ± [\d.]+, 5 folds", out)
    assert out.index("held out") < out.index("proven bound")
    page = Path("page.html").read_text("utf-8")
    assert page.index("R², rows held out") < page.index(">certificate<")
    assert "The pictures are of the rows held out: 90 rows." in page
    for more, where in ((("--test", "others.csv"), "20 test rows"), (("--hold-out", "0.2"), "18 test rows")):
        out = run(capsys, "fit", *told, "--lam", "0.1", *more)
        assert re.search(rf"held out +R² [\d.]+ ± [\d.]+; mean squared loss [\d.]+ ± [\d.]+, {where}", out)
        assert f"The pictures are of the test rows: {where[:2]} rows." in Path("page.html").read_text("utf-8")
    out = run(capsys, "fit", *told, "--lam", "0.1")
    assert "held out" not in out
    assert "The pictures are of the rows of the fit" in Path("page.html").read_text("utf-8")
    found = json.loads(run(capsys, "cv", *told, "--json", "--points", 10))
    assert found["held_out"].startswith("R² ")
