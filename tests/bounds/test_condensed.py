"""A squared loss with constraints on few rows that tell all of it: the same problem, points, and answers."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import dualgap as dg
from dualgap.fitting.reading import read
from dualgap.problem.condensed import Condensed, condensed
from dualgap.problem.precondition import precondition
from dualgap.problem.problem import Problem

RISING = np.diff(np.eye(4), axis=0)


def asked(X: Any, y: Any, *, intercept: bool, a: Any = None) -> Problem:
    rows = (RISING, np.zeros(3), np.full(3, np.inf))
    how: dict[str, Any] = {"fit_intercept": intercept, "sample_weight": a, "constraints": rows}
    reading = read(X, y, loss="squared", penalty="l2", lam=0.1, **how)
    return reading.terms.problem(reading.table.design, reading.targets())


def data(n: int = 60) -> tuple[Any, Any]:
    rng = np.random.default_rng(5)
    X = rng.normal(size=(n, 4)) * [1.0, 30.0, 0.2, 4.0] + [0.0, 5.0, 1.0, -3.0]
    return X, X @ np.array([1.0, -0.1, 2.0, 0.3]) + 3.0 + rng.normal(size=n)


def conjugate(problem: Problem, theta: Any) -> float:
    return float(problem.a @ problem.loss.conjugate(problem.y, -theta[: problem.n] / problem.a))


@pytest.mark.parametrize("intercept", [True, False])
@pytest.mark.parametrize("weighted", [True, False])
def test_values_and_dual_points_are_those_of_all_rows(intercept: bool, weighted: bool) -> None:
    X, y = data()
    rng = np.random.default_rng(6)
    problem = asked(X, y, intercept=intercept, a=rng.uniform(0.5, 2.0, len(y)) if weighted else None)
    few, all_ = condensed(problem), precondition(problem)
    assert isinstance(few, Condensed)
    assert few.problem.n == 5 + intercept and all_.problem.n == 60
    assert few.problem.null == pytest.approx(all_.problem.null)
    for _ in range(3):
        u = rng.normal(size=few.problem.p)
        here, there = few.problem, all_.problem
        z = few.problem.predict(u), there.predict(u)
        assert here.risk(z[0]) == pytest.approx(there.risk(z[1]))
        theta = np.append(-here.a * here.loss.derivative(here.y, z[0]), rng.normal(size=3))
        mapped = few.theta(theta)
        by_hand = all_.theta(
            np.append(-there.a * there.loss.derivative(there.y, z[1]), theta[few.problem.n :])
        )
        np.testing.assert_allclose(mapped, by_hand, atol=1e-10 * np.abs(by_hand).max())
        theta[: here.n] = rng.normal(size=here.n)
        np.testing.assert_allclose(few.working_theta(few.theta(theta)), theta, atol=1e-9)
        whole, part = all_.working_theta(few.theta(theta)), theta
        np.testing.assert_allclose(there.correlation(whole), here.correlation(part), atol=1e-8)
        assert conjugate(there, whole) == pytest.approx(conjugate(here, part), abs=1e-8)


def test_columns_that_repeat_each_other_are_left_to_all_rows() -> None:
    X, y = data()
    X[:, 3] = X[:, 0] + 1e-4 * X[:, 3]
    found = condensed(asked(X, y, intercept=True))
    assert found is None
    exact = X @ np.array([1.0, 2.0, 3.0, 4.0])
    assert condensed(asked(X, exact, intercept=True)) is None
    assert condensed(asked(X[:20], y[:20], intercept=True)) is None


@pytest.mark.parametrize("penalty", ["l2", "l1", "none"])
def test_answers_are_proven_on_the_rows(penalty: str) -> None:
    X, y = data()
    strength: dict[str, Any] = {} if penalty == "none" else {"lam": 0.05}
    rows = (RISING, np.zeros(3), np.full(3, np.inf))
    found = dg.fit(X, y, loss="squared", penalty=penalty, constraints=rows, tol=1e-9, **strength)
    assert found.converged and np.diff(found.coef).min() >= -1e-9
    few = dg.fit(X[:23], y[:23], loss="squared", penalty=penalty, constraints=rows, tol=1e-9, **strength)
    twice = dg.fit(
        np.vstack([X[:23]] * 2),
        np.append(y[:23], y[:23]),
        loss="squared",
        penalty=penalty,
        constraints=rows,
        tol=1e-9,
        **strength,
    )
    assert twice.objective == pytest.approx(few.objective, rel=1e-8)
