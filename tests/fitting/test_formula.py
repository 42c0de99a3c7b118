"""Formulas make the columns that they say, and make them again for other rows."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

import dualgap as dg
from dualgap.errors import DataError

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
    with pytest.raises(DataError, match="cannot be used"):
        dg.fit("mpg ~ horsepower", FRAME, loss="squared", lam=1.0)
    with pytest.raises(DataError, match="what is predicted"):
        dg.fit("power + weight", FRAME, loss="squared", lam=1.0)
    with pytest.raises(DataError, match="give a data frame"):
        dg.fit("mpg ~ power", FRAME.to_numpy(), loss="squared", lam=1.0)
    with pytest.raises(DataError, match="1 rows have a missing value"):
        dg.fit(
            "mpg ~ power", FRAME.assign(power=FRAME["power"].where(FRAME.index > 0)), loss="squared", lam=1.0
        )
