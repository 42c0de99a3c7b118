"""Formulas make the columns that they say, and make them again for other rows."""

from __future__ import annotations

import dataclasses
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import dualgap as dg
from dualgap.cli.main import main
from dualgap.errors import DataError, ModelFileError

pytest.importorskip("formulaic", reason="formulaic is not installed")

RNG = np.random.default_rng(0)
FRAME = pd.DataFrame(
    {
        "mpg": RNG.normal(25, 4, 60),
        "power": RNG.normal(100, 20, 60),
        "weight": RNG.normal(3, 0.5, 60),
        "origin": RNG.choice([1, 2, 3], 60),
        "kind": RNG.choice(["van", "car"], 60),
    }
)


def test_a_formula_makes_its_columns() -> None:
    solution = dg.fit("mpg ~ power + C(origin) + weight:power", FRAME, loss="squared", penalty="none")
    by_hand = np.column_stack(
        [FRAME["power"], FRAME["origin"] == 2, FRAME["origin"] == 3, FRAME["weight"] * FRAME["power"]]
    ).astype(float)
    plain = dg.fit(by_hand, FRAME["mpg"], loss="squared", penalty="none")
    assert solution.names is not None and solution.names[0] == "power" and "C(origin)[T.3]" in solution.names
    order = [0, 1, 2, 3]
    assert np.allclose(solution.coef, plain.coef[order], rtol=1e-6)
    assert np.allclose(solution.predict(FRAME[:5]), plain.predict(by_hand[:5]), rtol=1e-8)
    one = FRAME[FRAME["origin"] == 3].iloc[:1]  # a single level: the fit knows the others
    assert np.allclose(solution.predict(one), solution.predict(FRAME)[one.index])
    assert next(row.column for row in solution.intervals()) == "intercept"


def test_intercepts_functions_and_classes() -> None:
    bare = dg.fit("mpg ~ 0 + power", FRAME, loss="squared", penalty="none")
    assert not bare.terms.fit_intercept and bare.names == ("power",)
    logs = dg.fit("np.log(mpg) ~ power", FRAME, loss="squared", penalty="none")
    assert np.isclose(logs.intercept, np.log(FRAME["mpg"]).mean() - logs.coef[0] * FRAME["power"].mean())
    machine = dg.fit("kind ~ power + weight", FRAME, loss="hinge", lam=0.1)
    assert set(machine.predict(FRAME)) <= {"van", "car"}


def test_what_cannot_be_is_said() -> None:
    with pytest.raises(DataError, match="no column 'horsepower'"):
        dg.fit("mpg ~ horsepower", FRAME, loss="squared", lam=1.0)
    with pytest.raises(DataError, match="what is predicted"):
        dg.fit("power + weight", FRAME, loss="squared", lam=1.0)
    with pytest.raises(DataError, match="give a data frame"):
        dg.fit("mpg ~ power", FRAME.to_numpy(), loss="squared", lam=1.0)
    with pytest.raises(DataError, match="Column 'power' has no value in row 0"):
        dg.fit(
            "mpg ~ power", FRAME.assign(power=FRAME["power"].where(FRAME.index > 0)), loss="squared", lam=1.0
        )


EVERY = (
    "mpg ~ C(origin, contr.sum) + `a b`:kind",
    "log(mpg) ~ 0 + poly(power, 2) + bs(weight, df=4)",
    "mpg ~ cs(power, df=3) + cc(weight, df=3)",
    "mpg ~ center(power) + scale(weight) + {power / weight} + standardize(power) - 1",
    "mpg ~ . - power",
)


@pytest.mark.parametrize("formula", EVERY)
def test_a_model_file_makes_the_columns_again(formula: str, tmp_path: Path) -> None:
    frame = FRAME.assign(**{"a b": FRAME["power"] ** 0.5})
    solution = dg.fit(formula, frame, loss="squared", lam=0.01)
    again = dg.load(solution.save(tmp_path / "model.json"))
    np.testing.assert_array_equal(again.predict(frame[:7]), solution.predict(frame[:7]))
    assert again.recipe is not None and again.recipe.formula == formula
    raw = tmp_path / "rows.csv"
    frame.to_csv(raw, index=False)
    X, y, _ = dg.tables.read(str(raw), recipe=again.recipe)
    rechecked = again.certificate.recheck(X, y)
    assert rechecked.gap <= 1e-6 * rechecked.objective


def test_the_command_takes_formulas(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Whatever columns are called; and `verify` knows rows that were held out, and infinity by its place."""
    odd = {"power": "if", "weight": "a-b", "origin": "exp"}
    rows, model = str(tmp_path / "rows.csv"), str(tmp_path / "model.json")
    FRAME.rename(columns=odd).to_csv(rows, index=False)
    for formula in ("mpg ~ .", "mpg ~ `a-b`:kind + C(`exp`) + log(`a-b`)"):
        fit = ["fit", rows, "--formula", formula, "--lam", "0.1", "--hold-out", "0.2"]
        assert main([*fit, "--out", model, "--force"]) == 0
        assert f"dualgap verify {model} {rows} --hold-out 0.2" in capsys.readouterr().out
        assert main(["verify", model, rows]) == 1
        assert main(["verify", model, rows, "--hold-out", "0.2"]) == 0
        assert main(["predict", model, rows, "--out", str(tmp_path / "p.csv"), "--force"]) == 0
    assert main([*fit, "--target", "mpg"]) == 2
    assert main(["fit", rows, "--formula", "mpg", "--lam", "1"]) == 2
    FRAME.assign(power=FRAME["power"].where(FRAME.index != 4, np.inf)).to_csv(rows, index=False)
    capsys.readouterr()
    for how in (["--formula", "mpg ~ power"], ["--target", "mpg"]):
        assert main(["fit", rows, *how, "--lam", "1"]) == 3
        assert "Column 'power'" in (said := capsys.readouterr().err) and "in row 5" in said
        assert main(["fit", rows, *how, "--lam", "1", "--na", "inf"]) == 0


def test_paths_and_searches_take_formulas() -> None:
    formula, how = "mpg ~ power + C(origin)", dict(loss="squared", standardize=True)
    plain = dg.fit(formula, FRAME, **how, penalty="l1", lam=0.1)
    path = dg.path(formula, FRAME, **how)
    np.testing.assert_allclose(path.solution(lam=0.1).predict(FRAME), plain.predict(FRAME), rtol=1e-5)
    search = dg.cross_validate(formula, FRAME, **how, penalty="l1", progress=False)
    assert search.solution.predict(FRAME[:3]).shape == (3,)


def test_levels_that_the_fit_never_saw() -> None:
    solution = dg.fit("mpg ~ kind + C(origin)", FRAME, loss="squared", lam=0.1)
    with pytest.raises(DataError, match="'kind' of X has the level 'bus' in row 1"):
        solution.predict(FRAME[:1].assign(kind="bus"))
    with pytest.raises(DataError, match="never saw"):
        solution.predict(FRAME[:1].assign(origin=7))


CODE = (
    "__import__('os').getcwd()",
    "power.__class__",
    "(lambda: power)()",
    "np.load('x')",
    "open('x')",
    "np.log.__globals__",
    "[power for power in weight]",
    "9 ** 9 ** 9 ** 9",
    "power ** 1e9",
    "bs(power, df=10**9)",
    "poly(power, 100000)",
    "f'{power}'",
    "power if weight else mpg",
    "center(power, _state=np)",
)


@pytest.mark.parametrize("code", CODE)
def test_a_formula_is_no_code(code: str, tmp_path: Path) -> None:
    """Neither where it is written nor where a model file brings it along."""
    with pytest.raises(DataError):
        dg.fit(f"mpg ~ weight + {{{code}}}", FRAME, loss="squared", lam=1.0)
    solution = dg.fit("mpg ~ {power + 1} + weight", FRAME, loss="squared", lam=1.0)
    assert solution.recipe is not None
    for bad in (code, f"{{{code}}}"):
        parts = dataclasses.replace(solution.recipe.parts, terms=((bad,), ("weight",)))
        forged = dataclasses.replace(solution, recipe=dataclasses.replace(solution.recipe, parts=parts))
        with pytest.raises(ModelFileError):
            dg.load(forged.save(tmp_path / "forged.json"))
    parts = dataclasses.replace(solution.recipe.parts, target=code)
    forged = dataclasses.replace(solution, recipe=dataclasses.replace(solution.recipe, parts=parts))
    with pytest.raises(ModelFileError):
        dg.load(forged.save(tmp_path / "forged.json"))
