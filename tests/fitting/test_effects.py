"""What a column does: the mean prediction when it is set, by hand and by `solution.effect`."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from sklearn.datasets import load_diabetes, load_iris

import dualgap as dg
from dualgap.errors import DataError

RNG = np.random.default_rng(3)
FRAME = pd.DataFrame(
    {
        "power": RNG.normal(100, 20, 80),
        "doors": RNG.choice([2, 4, 5], 80),
        "kind": RNG.choice(["van", "car", "bus"], 80),
        "day": pd.date_range("2021-01-01", periods=80),
    }
)
MPG = 40 - 0.1 * FRAME["power"] + (FRAME["kind"] == "van") + RNG.normal(0, 1, 80)


def _by_hand(solution: dg.Solution, X: pd.DataFrame, column: str, value: object) -> float:
    return float(np.mean(solution.predict(X.assign(**{column: value}))))


@pytest.mark.parametrize("column", ["power", "doors", "kind"])
def test_the_mean_prediction_is_that_of_rows_that_are_changed(column: str) -> None:
    solution = dg.fit(FRAME, MPG, loss="squared", lam=0.1, standardize=True)
    found = solution.effect(column, points=4)
    for value, mean in found:
        assert np.isclose(mean[0], _by_hand(solution, FRAME, column, value), rtol=1e-9)
    assert np.all(found.low <= found.high)
    assert bool(found.slope) == (column != "kind")


def test_a_formula_bends_a_column() -> None:
    rows = FRAME.assign(mpg=MPG)
    solution = dg.fit("mpg ~ poly(power, 2) * kind + C(doors)", rows, loss="squared", lam=0.01)
    for column in ("power", "doors", "kind"):
        for value, mean in solution.effect(column, points=5):
            assert np.isclose(mean[0], _by_hand(solution, rows, column, value), rtol=1e-9)
    assert not solution.effect("doors").slope  # its numbers are levels
    h = 1e-3
    up, down = (solution.predict(rows.assign(power=rows["power"] + k * h)) for k in (1, -1))
    assert np.isclose(solution.effect("power").slope[0], np.mean(up - down) / (2 * h), rtol=1e-4)


def test_numbers_means_and_classes() -> None:
    X, y = load_diabetes(return_X_y=True, as_frame=True, scaled=False)
    line = dg.fit(X, y, loss="squared", lam=1.0)
    assert np.isclose(line.effect("bmi").slope[0], line.coef[2], rtol=1e-6)
    rates = dg.fit(X, y, loss="poisson", lam=0.1, standardize=True)
    step = rates.effect("sex").mean[:, 0]
    assert np.isclose(step[1] / step[0], np.exp(rates.coef[1]))
    odds = dg.fit(X, y > 140, loss="logistic", lam=0.01, standardize=True)
    assert odds.effect("bmi").outcomes == ("P(True)",)
    assert np.isclose(
        odds.effect("bmi", points=3).mean[1, 0],
        odds.predict_proba(X.assign(bmi=odds.effect("bmi", points=3).values[1]))[:, 1].mean(),
    )
    flowers, kinds = load_iris(return_X_y=True)
    many = dg.fit(flowers, kinds, loss="logistic", lam=0.01).effect(2)
    assert many.mean.shape[1] == 3 and np.allclose(many.mean.sum(axis=1), 1.0)
    machine = dg.fit(flowers[:100], kinds[:100], loss="hinge", lam=0.01).effect("x1")
    assert machine.outcomes == ("score of 1",)


def test_dates_files_and_pages(tmp_path: Path) -> None:
    solution = dg.fit(FRAME, MPG, loss="squared", lam=0.1)
    days = solution.effect("day", points=6)
    assert len(days) == 6 and not days.slope and "2021-01-01" in str(days)
    assert next(iter(days.frame().columns)) == "day"
    again = dg.load(solution.save(tmp_path / "model.json"))
    with pytest.raises(DataError, match="rows of the fit are not kept"):
        again.effect("power")
    same = again.effect("power", data=(FRAME, MPG))
    np.testing.assert_allclose(same.mean, solution.effect("power").mean)
    with pytest.raises(DataError, match="used no column 'colour'"):
        solution.effect("colour")
    page = dg.report.write(solution, tmp_path / "page.html", data=(FRAME, MPG)).read_text(encoding="utf-8")
    assert "What the columns do" in page and "Mean prediction at each kind" in page


def test_the_command(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    from dualgap.cli.main import main

    rows, model = tmp_path / "rows.csv", tmp_path / "model.json"
    FRAME.assign(mpg=MPG).to_csv(rows, index=False)
    formula = ["--formula", "mpg ~ poly(power, 2) + kind", "--lam", "0.1"]
    assert main(["fit", str(rows), *formula, "--out", str(model)]) == 0
    capsys.readouterr()
    assert main(["effect", str(model), str(rows), "power", "kind", "--points", "3"]) == 0
    told = capsys.readouterr().out
    assert "where power rises by one" in told and "van" in told
    assert main(["effect", str(model), str(rows), "day"]) == 3
    assert main(["effect", str(model), str(rows), "power", "--points", "1"]) == 2
    capsys.readouterr()
    assert main(["compare", str(model), str(model), str(rows), "--effect", "kind"]) == 0
    assert "mean prediction at values of kind" in capsys.readouterr().out
    picture = tmp_path / "picture.svg"
    assert main(["effect", str(model), str(rows), "--plot", str(picture)]) == 0 and picture.exists()
