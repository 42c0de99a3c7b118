"""The command as a stranger uses it: a CSV file in, a proven model out, and sentences when it cannot be."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

import dualgap as dg
from dualgap.cli import console
from dualgap.cli.main import VERBS, main
from dualgap.files import store


@pytest.fixture
def houses(tmp_path: Path) -> Path:
    """Mixed types, gaps, accents, commas and quotes."""
    rng = np.random.default_rng(5)
    n = 120
    size, region = rng.normal(80, 20, n).round(1), rng.choice(["Île", "Nord", "Sud, Est"], n)
    price = 3 * size + 40 * (region == "Nord") + rng.normal(0, 5, n)
    frame = pd.DataFrame(
        {
            "numéro": [f"n° {i}" for i in range(n)],
            "surface, m²": np.where(np.arange(n) % 9 == 0, np.nan, size),
            "région": region,
            "ascenseur": rng.random(n) < 0.5,
            "prix": price.round(2),
            "vendu": np.where(price > price.mean(), "oui", "non"),
        }
    )
    path = tmp_path / "maisons à vendre.csv"
    frame.to_csv(path, index=False, encoding="utf-8-sig")
    return path


def run(capsys: pytest.CaptureFixture[str], *arguments: Any) -> tuple[int, str, str]:
    code = main([str(one) for one in arguments])
    said = capsys.readouterr()
    return code, said.out, said.err


def fitted(houses: Path, capsys: pytest.CaptureFixture[str], *more: Any) -> Path:
    model = houses.parent / "model.json"
    arguments = ("--target", "prix", "--drop", "vendu", "--lam", 0.01, "--out", model, "--force", *more)
    code, _, error = run(capsys, "fit", houses, *arguments)
    assert code == console.OK, error
    return model


def test_fit_verify_predict(houses: Path, capsys: pytest.CaptureFixture[str]) -> None:
    model = houses.parent / "model.json"
    code, out, err = run(capsys, "fit", houses, "--target", "prix", "--drop", "vendu", "--out", model)
    assert (code, err) == (console.OK, "")
    for words in (
        "so the loss is squared",
        "reference is",
        "the mean,",
        "'numéro' is left out",
        "5-fold cross-validation",
        "proven bound",
        "surface, m²",
    ):
        assert words in out
    code, out, _ = run(capsys, "verify", model, houses)
    assert code == console.OK and "verified" in out
    code, out, _ = run(capsys, "predict", model, houses)
    found = [float(line) for line in out.splitlines()[1:]]
    solution = dg.load(model)
    assert np.array_equal(found, solution.predict(pd.read_csv(houses)))


def test_several_quantiles(houses: Path, capsys: pytest.CaptureFixture[str]) -> None:
    model, asked = (
        houses.parent / "quantiles.json",
        ("--target", "prix", "--drop", "vendu", "--penalty", "none"),
    )
    loss = "quantiles(0.1,0.5,0.9)"
    code, out, err = run(capsys, "fit", houses, *asked, "--loss", loss, "--out", model)
    assert code == console.OK, err
    assert "none crosses another on any row" in out and "quantile(0.9)" in out
    assert run(capsys, "verify", model, houses)[0] == console.OK
    _, out, _ = run(capsys, "predict", model, houses)
    header, *rows = out.splitlines()
    assert header == "prediction quantile(0.1),prediction quantile(0.5),prediction quantile(0.9)"
    low, middle, high = (float(cell) for cell in rows[1].split(","))
    assert low <= middle <= high
    code, _, err = run(capsys, "fit", houses, *asked, "--loss", loss, "--report", "page.html")
    assert code == console.USAGE and "leave --report out" in err
    code, _, err = run(capsys, "fit", houses, "--target", "prix,vendu", "--lam", 1)
    assert code == console.BAD_INPUT and "'vendu' holds words; several targets at once are numbers" in err


def test_two_values_are_classes(houses: Path, capsys: pytest.CaptureFixture[str]) -> None:
    model = houses.parent / "model.json"
    arguments = ("--target", "vendu", "--drop", "prix", "--C", 1, "--out", model)
    code, out, _ = run(capsys, "fit", houses, *arguments)
    assert code == console.OK and "'non', 'oui'): classes, so the loss is logistic" in out
    code, out, _ = run(capsys, "predict", model, houses, "--proba", "--scores")
    lines = out.splitlines()
    assert lines[0] == "prediction,score,probability non,probability oui"
    assert len(lines) == 121 and lines[1].split(",")[0] in ("oui", "non")


def test_verify_catches_what_was_changed(houses: Path, capsys: pytest.CaptureFixture[str]) -> None:
    model = fitted(houses, capsys)
    frame = pd.read_csv(houses)
    other = houses.parent / "other.csv"

    frame[frame.columns[::-1]].to_csv(other, index=False)
    assert run(capsys, "verify", model, other)[0] == console.OK, "the order of the columns is no change"

    swapped = frame.rename(columns={"prix": "surface, m²", "surface, m²": "prix"})
    swapped.to_csv(other, index=False)
    code, out, _ = run(capsys, "verify", model, other)
    assert code == console.NOT_PROVEN and "fingerprint differs" in out

    changed = frame.copy()
    changed.loc[7, "prix"] += 1e-6
    changed.to_csv(other, index=False)
    code, out, _ = run(capsys, "verify", model, other)
    assert code == console.NOT_PROVEN and "fingerprint differs" in out and "optimal" in out

    frame.head(100).to_csv(other, index=False)
    code, out, _ = run(capsys, "verify", model, other)
    assert code == console.NOT_PROVEN and "120 rows" in out and "above the best possible" in out

    document = json.loads(model.read_text())
    document["answer"]["coef"][0] *= 1 + 1e-4
    model.write_text(json.dumps(document))
    code, _, err = run(capsys, "verify", model, houses)
    assert code == console.BAD_INPUT and "changed since it was written" in err
    document["checksum"] = store.checksum(document)
    model.write_text(json.dumps(document))
    code, out, _ = run(capsys, "verify", model, houses)
    assert code == console.NOT_PROVEN and "NO: the objective is" in out


def test_verify_says_which_rows_count_and_what_is_proven(
    houses: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    frame = pd.read_csv(houses)
    frame["poids"] = np.arange(120) % 4
    frame.to_csv(houses, index=False)
    model = fitted(houses, capsys, "--weights", "poids")
    code, out, _ = run(capsys, "verify", model, houses)
    assert code == console.OK and "90 of 120 rows count (weight > 0), with weights from 1 to 3" in out
    assert "columns with a weight, proven within" in out
    found = json.loads(run(capsys, "verify", model, houses, "--json")[1])
    assert (found["rows"], found["rows_that_count"]) == (120, 90) and found["relative_gap"] <= 1e-6
    document = json.loads(model.read_text())
    document["answer"]["relative_gap"] = 0.0
    document["checksum"] = store.checksum(document)
    model.write_text(json.dumps(document))
    code, out, _ = run(capsys, "verify", model, houses)
    assert code == console.NOT_PROVEN and "objective and bound of the model are a relative" in out


@pytest.mark.parametrize("edit", ["fill", "target", "levels", "reference", "missing"])
def test_an_edited_recipe_makes_other_columns(
    edit: str, houses: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    model = fitted(houses, capsys)
    document = json.loads(model.read_text())
    recipe = document["recipe"]
    numbers, words = (next(r for r in recipe["rules"] if key in r) for key in ("fill", "levels"))
    if edit == "fill":
        numbers["fill"] += 1.0
    elif edit == "target":
        recipe["target"] = "ascenseur"
    elif edit == "missing":
        recipe["missing"] = "drop"
    elif edit == "levels":
        words["levels"] = words["levels"][::-1]
    else:
        words["reference"] = "Ouest"
    document["checksum"] = store.checksum(document)
    model.write_text(json.dumps(document))
    code, out, err = run(capsys, "verify", model, houses)
    assert code != console.OK and "verified:" not in out and "Traceback" not in err


def test_json_is_one_object(houses: Path, capsys: pytest.CaptureFixture[str]) -> None:
    code, out, _ = run(capsys, "fit", houses, "--target", "prix", "--lam", 0.1, "--json")
    found = json.loads(out)
    assert code == console.OK and found["converged"] and found["relative_gap"] <= 1e-6
    assert len(found["coef"]) == len(found["names"]) and any("reference" in note for note in found["notes"])
    model = fitted(houses, capsys)
    found = json.loads(run(capsys, "verify", model, houses, "--json")[1])
    assert found["verified"] and found["objections"] == []
    found = json.loads(run(capsys, "predict", model, houses, "--json")[1])
    assert len(found["prediction"]) == 120


def test_path_and_cv(houses: Path, capsys: pytest.CaptureFixture[str]) -> None:
    table = houses.parent / "path.csv"
    code, out, _ = run(capsys, "path", houses, "--target", "prix", "--penalty", "l2", "--out", table)
    assert code == console.OK and "exact" in out
    points = pd.read_csv(table)
    assert "ascenseur" in points and points["lam"].is_monotonic_decreasing
    model = houses.parent / "cv.json"
    arguments = ("--target", "prix", "--rule", "1se", "--points", 20, "--out", model)
    code, out, _ = run(capsys, "cv", houses, *arguments)
    assert code == console.OK and "chosen" in out
    assert dg.load(model).names is not None


def test_explain_datasets_and_export(houses: Path, capsys: pytest.CaptureFixture[str]) -> None:
    code, out, _ = run(capsys, "explain", "iris", "--penalty", "l1", "--json")
    assert code == console.OK and json.loads(out)["chosen"]
    code, out, _ = run(capsys, "datasets")
    assert code == console.OK and "breast_cancer" in out
    model = fitted(houses, capsys)
    query = houses.parent / "model.sql"
    assert run(capsys, "export", model, query)[0] == console.OK
    assert '"région"' in query.read_text(encoding="utf-8")


def test_rows_with_gaps_that_the_fit_dropped_get_no_prediction(
    houses: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    model = fitted(houses, capsys, "--missing", "drop")
    code, out, err = run(capsys, "predict", model, houses)
    lines = out.splitlines()
    assert code == console.OK and len(lines) == 121 and "14 rows have a missing value" in err
    assert not lines[1].strip('"') and float(lines[2])
    assert run(capsys, "verify", model, houses)[0] == console.OK


def test_a_model_that_was_saved_in_python(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(30, 3)), rng.normal(size=30)
    dg.fit(X, y, loss="squared", lam=0.1).save(tmp_path / "m.json", data=(X, y))
    np.savez(tmp_path / "rows.npz", X=X, y=y)
    assert run(capsys, "verify", tmp_path / "m.json", tmp_path / "rows.npz")[0] == console.OK
    np.savez(tmp_path / "narrow.npz", X=X[:, :2], y=y)
    code, _, err = run(capsys, "predict", tmp_path / "m.json", tmp_path / "narrow.npz")
    assert code == console.BAD_INPUT and "3 nameless columns" in err


@pytest.mark.parametrize(
    ("arguments", "code", "said"),
    [
        (("fit", "nothing.csv", "--target", "y"), console.BAD_INPUT, "There is no file 'nothing.csv'"),
        (("fit", "{houses}"), console.USAGE, "--target COLUMN"),
        (("fit", "{houses}", "--target", "price"), console.BAD_INPUT, "no column 'price'"),
        (
            ("fit", "{houses}", "--target", "prix", "--loss", "mse"),
            console.USAGE,
            "Did you mean 'squared'",
        ),
        (("fit", "{houses}", "--target", "prix", "--missing", "refuse"), console.BAD_INPUT, "in row 1"),
        (("fit", "{houses}", "--target", "vendu", "--loss", "squared", "--lam", "1"), 3, "needs numbers"),
        (("fit", "{houses}", "--target", "vendu", "--penalty", "none"), console.NO_ANSWER, "separat"),
        (("fit", "iris", "--lam", "1", "--solver", "closed_form"), console.NO_ANSWER, "closed_form"),
        (("predict", "{houses}", "{houses}"), console.BAD_INPUT, "not a dualgap model file"),
        (("figures", "nonsense"), (console.USAGE, console.NOT_INSTALLED), ""),
    ],
)
def test_what_goes_wrong_is_one_sentence(
    arguments: tuple[str, ...],
    code: Any,
    said: str,
    houses: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    found, _, err = run(capsys, *(one.format(houses=houses) for one in arguments))
    assert found in (code if isinstance(code, tuple) else (code,))
    assert said in err and err.startswith("dualgap: ") and "Traceback" not in err


def test_a_fit_that_is_not_proven_says_so(capsys: pytest.CaptureFixture[str]) -> None:
    arguments = ("--penalty", "l1", "--lam", "1e-6", "--tol", "0", "--max-time", "0.01")
    code, out, err = run(capsys, "fit", "breast_cancer", *arguments)
    assert code == console.NOT_PROVEN and "relative duality gap" in err and "NOT below" in out


def test_usage(capsys: pytest.CaptureFixture[str]) -> None:
    for wrong in (["nonsense"], ["fit"], ["fit", "iris", "--lam", "1", "--C", "1"]):
        with pytest.raises(SystemExit) as stop:
            main(wrong)
        assert stop.value.code == console.USAGE
    assert main([]) == console.USAGE
    capsys.readouterr()
    for verb in VERBS:
        with pytest.raises(SystemExit) as stop:
            main([verb, "--help"])
        assert stop.value.code == 0
        assert "exit codes" in capsys.readouterr().out


@pytest.mark.parametrize(
    "wrong",
    [
        ("fit", "iris", "--lam", "-1"),
        ("fit", "iris", "--C", "0"),
        ("fit", "iris", "--penalty", "lasso"),
        ("fit", "iris", "--penalty", "none", "--lam", "1"),
        ("fit", "iris", "--lam", "1", "--solver", "newtn"),
        ("fit", "iris", "--lam", "1", "--tol", "-1"),
        ("fit", "iris", "--lam", "1", "--max-time", "0"),
        ("fit", "iris", "--lam", "1", "--format", "xls"),
        ("fit", "iris", "--lam", "1", "--multiclass", "ovr"),
        ("fit", "iris", "--cv", "1"),
        ("fit", "iris", "--lam", "1", "--hold-out", "1.5"),
        ("cv", "iris", "--folds", "1"),
        ("cv", "iris", "--score", "acuracy"),
        ("cv", "iris", "--points", "0"),
        ("path", "iris", "--plot", "x.foo"),
        ("export", "nothing.json", "x.exe"),
    ],
    ids=" ".join,
)
def test_wrong_usage_is_said_before_anything_is_read(
    wrong: tuple[str, ...], capsys: pytest.CaptureFixture[str]
) -> None:
    code, out, err = run(capsys, *wrong)
    assert (code, out) == (console.USAGE, "") and err.startswith("dualgap: ") and err.count("\n") == 1


@pytest.mark.parametrize("encoding", ["cp1252", "ascii", "latin-1", "cp437"])
def test_a_console_that_is_not_utf_8(houses: Path, encoding: str) -> None:
    frame = pd.read_csv(houses).rename(columns={"ascenseur": "лифт ≤ 3"})
    frame.to_csv(houses, index=False)
    page, model = houses.parent / "page.html", houses.parent / "m.json"
    told = ["--target", "prix", "--lam", "0.1", "--out", str(model), "--report", str(page)]
    for more in ([], ["--json", "--force"]):
        done = subprocess.run(
            [sys.executable, "-m", "dualgap", "fit", str(houses), *told, *more],
            capture_output=True,
            check=False,
            env={**os.environ, "PYTHONIOENCODING": encoding, "PYTHONUTF8": "0"},
        )
        assert done.returncode == console.OK and not done.stderr, done.stderr
        assert dg.load(model).names is not None and page.is_file()
        said = done.stdout.decode(encoding)
    assert "лифт ≤ 3" in json.loads(said)["names"]


def test_help_loads_nothing_heavy() -> None:
    program = (
        "import sys\nfrom dualgap.cli.main import main\n"
        "for words in (['--help'], ['fit', '--help'], ['verify', '--help']):\n"
        "    try: main(words)\n    except SystemExit: pass\n"
        "heavy = {'numpy', 'scipy', 'numba', 'sklearn', 'pandas'} & set(sys.modules)\n"
        "sys.exit(', '.join(heavy) or 0)"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


def test_the_installed_command_and_a_closed_pipe() -> None:
    line = f"{sys.executable} -m dualgap datasets | head -n 1"
    done = subprocess.run(line, shell=True, capture_output=True, text=True, check=False)
    assert "breast_cancer" in done.stdout and "Traceback" not in done.stderr


def test_planes_between_three_classes_without_any_error(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    rng = np.random.default_rng(1)
    centres = np.array([[0.0, 9.0], [9.0, -5.0], [-9.0, -5.0]])
    which = np.arange(30) % 3
    points = centres[which] + rng.normal(size=(30, 2))
    frame = pd.DataFrame(
        {"a": points[:, 0], "b": points[:, 1], "tree": np.array(["ash", "elm", "oak"])[which]}
    )
    frame.to_csv(tmp_path / "trees.csv", index=False)
    model = tmp_path / "m.json"
    arguments = ("--target", "tree", "--loss", "hinge", "--C", "inf", "--out", model)
    assert run(capsys, "fit", tmp_path / "trees.csv", *arguments)[0] == console.OK
    assert run(capsys, "verify", model, tmp_path / "trees.csv")[0] == console.OK
    frame.loc[0, "a"] += 0.5
    frame.to_csv(tmp_path / "trees.csv", index=False)
    assert run(capsys, "verify", model, tmp_path / "trees.csv")[0] == console.NOT_PROVEN


def test_a_sparse_file(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    rng = np.random.default_rng(2)
    lines = []
    for _ in range(60):
        columns = np.sort(rng.choice(np.arange(1, 41), 5, replace=False))
        values = rng.normal(size=5)
        label = 1 if values.sum() > 0 else -1
        lines.append(f"{label} " + " ".join(f"{j}:{v:.4f}" for j, v in zip(columns, values, strict=True)))
    (tmp_path / "rows.svm").write_text("\n".join(lines) + "\n")
    model = tmp_path / "m.json"
    arguments = ("--penalty", "l1", "--lam", 0.01, "--loss", "squared_hinge", "--out", model)
    assert run(capsys, "fit", tmp_path / "rows.svm", *arguments)[0] == console.OK
    assert run(capsys, "verify", model, tmp_path / "rows.svm")[0] == console.OK
    (tmp_path / "next.svm").write_text("1 3:1.0\n")
    code, out, _ = run(capsys, "predict", model, tmp_path / "next.svm")
    assert code == console.OK and out.splitlines()[1] in ("-1", "1")


def test_dates_money_and_percent_go_all_the_way(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    rng = np.random.default_rng(3)
    n = 150
    when = pd.date_range("2022-12-28", periods=n, freq="61h")
    price, rate = rng.normal(2500, 600, n).round(2), rng.uniform(0, 40, n).round(1)
    frame = pd.DataFrame(
        {
            "sold": when.strftime("%d.%m.%Y"),
            "price": [f"{value:,.2f} €" for value in price],
            "rate": [f"{value} %" for value in rate],
            "profit": (0.1 * price - 2 * rate + 5 * (when.month == 7) + rng.normal(size=n)).round(3),
        }
    )
    rows, model = tmp_path / "sales.csv", tmp_path / "m.json"
    frame.to_csv(rows, index=False)
    code, out, err = run(capsys, "fit", rows, "--target", "profit", "--lam", 1e-4, "--out", model)
    assert (code, err) == (console.OK, "")
    for words in (
        "'sold' holds dates (such as '28.12.2022', read as day, month, year",
        "€' is read as",
        "sold year",
    ):
        assert words in out
    assert run(capsys, "verify", model, rows)[0] == console.OK
    solution = dg.load(model)
    assert solution.names is not None and "price" in solution.names and "sold month=Jul" in solution.names
    expected = solution.predict(frame)
    code, out, _ = run(capsys, "predict", model, rows)
    assert np.array_equal([float(line) for line in out.splitlines()[1:]], expected)
    source = tmp_path / "model.py"
    assert run(capsys, "export", model, source)[0] == console.OK
    exported: dict[str, Any] = {}
    exec(source.read_text("utf-8"), exported)
    assert np.allclose([exported["predict"](row) for row in frame.to_dict("records")], expected, rtol=1e-12)
    code, _, err = run(capsys, "export", model, tmp_path / "model.sql")
    assert code == console.BAD_INPUT and "export to .py" in err
    document = json.loads(model.read_text())
    next(rule for rule in document["recipe"]["rules"] if rule.get("part") == "days")["since"] = "2022-02-31"
    document["checksum"] = store.checksum(document)
    model.write_text(json.dumps(document))
    code, _, err = run(capsys, "verify", model, rows)
    assert code == console.BAD_INPUT and "since should be a day" in err


def told(tmp_path: Path, capsys: pytest.CaptureFixture[str], frame: pd.DataFrame) -> tuple[int, str, str]:
    path = tmp_path / "rows.csv"
    frame.to_csv(path, index=False)
    return run(capsys, "fit", path, "--target", "y", "--lam", 0.1)


def test_a_constant_target_and_a_single_row(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    code, _, err = told(tmp_path, capsys, pd.DataFrame({"x": np.arange(8.0), "y": 3.0}))
    assert code == console.BAD_INPUT and "'y' is 3 in every row: there is nothing to predict" in err
    code, _, err = told(tmp_path, capsys, pd.DataFrame({"x": [1.5], "y": [3.0]}))
    assert code == console.BAD_INPUT and "rows.csv has one row" in err


def test_more_columns_than_rows_is_told(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    rng = np.random.default_rng(0)
    frame = pd.DataFrame(rng.normal(size=(6, 9)), columns=[*(f"x{j}" for j in range(8)), "y"])
    code, out, _ = told(tmp_path, capsys, frame)
    assert code == console.OK and "careful: with 8 columns and 6 rows" in out


@pytest.mark.parametrize(
    ("y", "offered"), [([0, 1, 3, 2, 0, 5], True), ([1990, 1991, 1995, 1992, 1993, 1994], False)]
)
def test_counts_are_offered_their_loss(
    y: list[int], offered: bool, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    from dualgap.losses import CATALOGUE

    _, out, _ = told(tmp_path, capsys, pd.DataFrame({"x": [1.0, 2.5, 3.0, 1.0, 0.5, 4.0], "y": y}))
    assert ("--loss poisson" in out) == (offered and "poisson" in CATALOGUE)
