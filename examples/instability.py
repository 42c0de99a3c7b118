"""Best subset is unstable: a small change in one column flips the choice, and resampling shows how often.

Three columns, at most two may be used. The first two are nearly the same; which of them is chosen beside the
third hangs on a change of x2 that no plot would show. Ridge regression hardly moves.
"""

from __future__ import annotations

import numpy as np
import pandas as pd

import dualgap as dg

NUDGES = (0.0, 0.03)


def table(nudge: float) -> tuple[pd.DataFrame, np.ndarray]:
    rng = np.random.default_rng(4)
    x1, x3, own, noise = rng.normal(size=(4, 40))
    x2 = x1 + 0.15 * own
    y = 0.6 * x1 + 0.6 * x2 + 2.0 * x3 + 0.5 * noise
    return pd.DataFrame({"x1": x1, "x2": x2 + nudge * noise, "x3": x3}), y


def show(what: str, solution: dg.Solution) -> None:
    weights = ", ".join(f"{w:.1f}" if w else "0" for w in solution.coef)
    print(f"  {what:<18} w = ({weights})   loss {solution.objective:.4f}, gap {solution.gap:.0e}")


def flip() -> None:
    print("At most two of three columns, before and after a small change in x2:")
    for nudge in NUDGES:
        X, y = table(nudge)
        change = np.abs(X["x2"] - table(0.0)[0]["x2"]).mean() / np.abs(X["x2"]).mean()
        show(f"x2 moved by {change:.1%}", dg.fit(X, y, loss="squared", penalty="l0", budget=2))
    print("Ridge regression on the same two tables:")
    for nudge in NUDGES:
        X, y = table(nudge)
        show("", dg.fit(X, y, loss="squared", penalty="l2", lam=0.05))


def frequencies() -> None:
    print("\nThe same fit on 200 bootstrap samples of the rows:")
    X, y = table(0.0)
    print(dg.stability(X, y, loss="squared", penalty="l0", budget=2, resamples=200, random_state=0))


if __name__ == "__main__":
    flip()
    frequencies()
