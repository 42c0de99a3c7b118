"""Which passes are looked at, where the first step comes from, and what b moves."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import pytest

import dualgap as dg
import transcriptions as source
from dualgap.drive.proof_schedule import due, glance
from dualgap.errors import NoSolverError, NotCertifiedWarning
from dualgap.fitting.reading import read
from dualgap.solvers.textbook.trials import first_length, tried_length

X, Y, LABELS = source.data(60, 4)


def problem_of(matrix: Any, y: Any, **keywords: Any) -> Any:
    reading = read(matrix, y, **keywords)
    return reading.terms.problem(reading.table.design, reading.targets())


def quiet(matrix: Any, y: Any, **keywords: Any) -> Any:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", NotCertifiedWarning)
        return dg.fit(matrix, y, **keywords)


def large() -> tuple[Any, Any]:
    random = np.random.default_rng(0)
    matrix = random.standard_normal((1100, 1000)) / 30.0
    return matrix, np.where(matrix[:, 0] + 0.05 * random.standard_normal(1100) > 0, 1, -1)


def test_proofs_come_at_squares_and_small_problems_are_always_looked_at() -> None:
    problem = problem_of(X, LABELS, loss="hinge", lam=0.1)
    assert [k for k in range(1, 30) if due(problem, k)] == [1, 4, 9, 16, 25]
    assert all(glance(problem, k)[0] for k in range(1, 30))


def test_passes_over_large_data_are_looked_at_now_and_then_and_at_the_end() -> None:
    matrix, y = large()
    found = quiet(matrix, y, loss="hinge", lam=1e-3, solver="pegasos", max_iter=11)
    assert found.n_iter == 11
    assert [record.iteration for record in found.trace] == [0, 1, 4, 9, 11]
    assert found.gap < np.inf and found.certificate.recheck(matrix, y).bound == pytest.approx(found.bound)


def test_who_watches_sees_every_pass() -> None:
    matrix, y = large()
    seen: list[int] = []
    asked: dict[str, Any] = {"loss": "hinge", "lam": 1e-3, "solver": "pegasos", "max_iter": 6}
    watched = quiet(matrix, y, callback=lambda record: seen.append(record.iteration), **asked)
    ruled = quiet(matrix, y, stop=dg.stopping.Iterations(6), **asked)
    assert seen == [0, 1, 2, 3, 4, 5, 6]
    assert len(ruled.trace) == len(watched.trace) == 7


def test_a_run_that_leaves_all_numbers_between_two_looks_says_so() -> None:
    matrix, y = large()
    solver = dg.solvers.StochasticGradient(1e6, order="given")
    found = quiet(matrix, 1.0 * y, loss="squared", lam=1e-3, solver=solver, max_iter=30)
    assert "too long" in found.status and np.isfinite(found.objective)


def test_trials_lengthen_a_step_where_slopes_are_bounded_and_only_there() -> None:
    long = X.copy()
    long[3] *= 100.0
    hinge = problem_of(long, LABELS, loss="hinge", lam=1e-3)
    squared = problem_of(long, Y, loss="squared", lam=1e-3)
    assert tried_length(hinge) > 10.0 * first_length(hinge)
    assert tried_length(squared) <= first_length(squared)
    few = problem_of(X[:5], Y[:5], loss="absolute", lam=0.1)
    assert tried_length(few) == first_length(few)


@pytest.mark.parametrize("lam", [0.1, 1e-9])
def test_the_automatic_step_falls_as_it_says(lam: float) -> None:
    problem = problem_of(X, LABELS, loss="hinge", lam=lam)
    first, n = tried_length(problem), 1000.0
    length = dg.steps.Automatic().schedule(problem)
    for k in (1, 10, 1000):
        slow, fast = first / (1.0 + k / n) ** 0.75, first / (1.0 + 2.0 * lam * first * k)
        assert length(k) == pytest.approx(fast if lam > 1e-3 else slow)


def test_the_intercept_takes_its_share_of_the_step() -> None:
    solver = dg.solvers.StochasticSubgradient(0.1, order="given", intercept_share=0.25)
    found = quiet(X, LABELS, loss="hinge", lam=0.1, solver=solver, max_iter=1, tol=0.0)
    w, b = np.zeros(4), 0.0
    for x, y in zip(X, LABELS, strict=True):
        slope = -y if y * (x @ w + b) < 1.0 else 0.0
        w, b = w - 0.1 * (slope * x + 0.2 * w), b - 0.25 * 0.1 * slope
    np.testing.assert_allclose(
        found.trace[1].objective, np.mean(np.maximum(1.0 - LABELS * (X @ w + b), 0.0)) + 0.1 * w @ w
    )
    with pytest.raises(NoSolverError, match="negative"):
        quiet(X, LABELS, loss="hinge", lam=0.1, solver=dg.solvers.StochasticSubgradient(intercept_share=-1.0))


def test_a_step_beyond_two_over_the_curvature_is_named_though_nothing_ran_away() -> None:
    random = np.random.default_rng(0)
    matrix = random.standard_normal((200, 5))
    y = np.where(matrix @ [1.0, -2.0, 0.0, 0.0, 3.0] + random.standard_normal(200) > 0, 1, -1)
    solver = dg.solvers.ProximalGradient(50.0)
    found = quiet(matrix, y, loss="logistic", penalty="l1", lam=0.01, solver=solver, max_iter=200)
    assert found.trace[-1].objective <= found.trace[0].objective
    assert not found.converged and "beyond 2/L" in found.status
    named = float(found.status.split("1/L = ")[1].split()[0])
    best = quiet(
        matrix, y, loss="logistic", penalty="l1", lam=0.01, solver=dg.solvers.ProximalGradient(named)
    )
    assert best.converged


def test_one_long_row_is_named() -> None:
    long = X.copy()
    long[3] *= 300.0
    found = quiet(long, Y, loss="squared", lam=0.01, solver="stochastic_gradient", max_iter=5)
    assert "longest row" in found.status or "differ in size" in found.status
