"""Best subsets of columns, which are few enough here to solve each one exactly."""

from __future__ import annotations

import itertools
import math
from dataclasses import replace
from fractions import Fraction
from typing import Any

import numpy as np

import dualgap as dg
from exact.arithmetic import rational
from exact.draws import Array, Rng
from exact.judge import Question, Verdict, apart, finite, show
from exact.optimum import optimum
from exact.statement import Statement, as_values, below, stated
from exact.trial import Trial, attempt


def run(rng: Rng) -> Trial:
    """A fit with penalty l0, on columns of which two are often nearly equal."""
    n, p = int(rng.integers(4, 11)), int(rng.integers(2, 6))
    X = rng.normal(size=(n, p)) if rng.random() < 0.7 else rng.integers(-3, 4, size=(n, p)).astype(float)
    d = rng.normal(size=n)
    y = X @ rng.normal(size=p) + rng.normal(size=n)
    kind = str(rng.choice(["plain", "twins", "offset", "equal"]))
    if kind == "twins":
        X[:, 1] = X[:, 0] + 2.0 ** -int(rng.integers(25, 50)) * d
        y = d + 0.3 * rng.normal(size=n)
    elif kind == "equal":
        X[:, 1] = X[:, 0]
    elif kind == "offset":
        X, y = X + 2.0 ** int(rng.integers(5, 30)), y + 2.0 ** int(rng.integers(5, 30))
    keywords: dict[str, Any] = {"loss": "squared", "penalty": "l0"}
    if rng.random() < 0.7:
        keywords["budget"] = int(rng.integers(1, p + 1))
    else:
        keywords["lam"] = float(10.0 ** rng.uniform(-3, 0))
    if rng.random() < 0.3:
        keywords["fit_intercept"] = False
    return chosen(X, y, keywords, kind)


def chosen(X: Array, y: Array, keywords: dict[str, Any], kind: str) -> Trial:
    """One fit, judged."""
    trial = Trial(kind=f"subset: {kind}", asked=(X, y, keywords))
    solution = attempt(trial, lambda: dg.fit(X, y, **keywords, max_time=2.0))
    if solution is None:
        return trial
    trial.state = "proven" if solution.converged else "not proven"
    plain = {name: value for name, value in keywords.items() if name in ("loss", "fit_intercept")}
    statement = Question(X, y, {**plain, "penalty": "none"}).statements[0]
    if not finite(solution.coef, solution.intercept):
        trial.verdict.claim("subset NaN", False, f"{solution.coef!r}")
        return trial
    w, b = as_values(solution.coef), rational(solution.intercept)
    price = rational(keywords.get("lam", 0.0))
    used = sum(1 for v in w if v)
    if "budget" in keywords:
        trial.verdict.claim("subset budget", used <= keywords["budget"], f"{used} columns are used")
    exact = statement.risk(w, b) + price * used
    objective, bound = float(solution.objective), float(solution.bound)
    holds = not below(stated(objective), exact)
    words = f"objective {objective!r}, the weights have {show(exact)}"
    trial.verdict.claim("subset objective", holds, words, apart(objective, exact))
    _judge_bound(trial.verdict, statement, bound, price, int(keywords.get("budget") or X.shape[1]))
    trial.verdict.claim("subset order", bound <= objective, f"bound {bound!r} above {objective!r}")
    return trial


def _judge_bound(verdict: Verdict, statement: Statement, bound: float, price: Fraction, most: int) -> None:
    if bound == -math.inf:
        return
    least: Fraction | None = None
    for size in range(most + 1):
        if price == 0 and size < most:
            continue  # more columns never do worse
        for columns in itertools.combinations(range(statement.p), size):
            value = _least(statement, columns) + price * size
            least = value if least is None or value < least else least
    assert least is not None
    holds = not below(least, stated(bound))
    verdict.claim("subset bound", holds, f"bound {bound!r}, a subset has {show(least)}", apart(bound, least))


def _least(statement: Statement, columns: tuple[int, ...]) -> Fraction:
    """The least risk with these columns."""
    if not columns and not statement.intercept:
        value = statement.risk([Fraction(0)] * statement.p, Fraction(0))
        assert isinstance(value, Fraction)
        return value
    rows = tuple(tuple(row[j] for j in columns) for row in statement.X)
    few = (Fraction(1),) * len(columns)
    found = optimum(replace(statement, X=rows, factors=few, scale=few), [])
    assert isinstance(found.value, Fraction)
    return found.value


def twins() -> Trial:
    """Two columns equal to 2^-36, of which the difference explains the targets."""
    rng = np.random.default_rng(0)
    g, d, z, noise = rng.normal(size=(4, 10))
    X = np.column_stack([g, g + 2.0**-36 * d, z])
    return chosen(X, d + 0.1 * noise, {"loss": "squared", "penalty": "l0", "budget": 2}, "twins")
