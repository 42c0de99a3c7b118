"""The sigmoid loss: a smooth stand-in for zero_one, minimised locally and not said to be more."""

from __future__ import annotations

import numpy as np
import pytest

import dualgap as dg
from dualgap.arrays import Matrix, Vector
from dualgap.errors import NotCertifiedWarning


def overlapping(n: int, p: int) -> tuple[Matrix, Vector]:
    rng = np.random.default_rng(1)
    y = np.where(np.arange(n) % 2 == 0, 1.0, -1.0)
    X = rng.standard_normal((n, p))
    X[:, 0] += 1.28 * y
    return X, y


@pytest.mark.parametrize("keywords", [
    {"penalty": "l2", "lam": 0.01}, {"penalty": "l1", "lam": 0.01}, {"penalty": "l1", "budget": 1.0},
    {"penalty": "linf", "lam": 0.01}, {"penalty": "l0", "budget": 1}, {"penalty": "l0_l2(0.1)", "lam": 0.02},
    {"penalty": "lp(0.5)", "lam": 0.01}, {"penalty": "bridge(0.5)", "budget": 1.0},
], ids=str)  # fmt: skip
def test_local_minimum_with_an_honest_status(keywords: dict[str, object]) -> None:
    X, y = overlapping(60, 3)
    with pytest.warns(NotCertifiedWarning):
        found = dg.fit(X, y, loss="sigmoid(4)", **keywords)  # type: ignore[arg-type]
    assert "not proven optimal" in found.status and found.solver == "local_descent"
    assert 0.0 < found.bound <= found.objective <= 0.3
    problem = found.terms.problem(dg.fitting.reading.read_table(X).design, y)
    w = np.append(found.coef, found.intercept)
    rng = np.random.default_rng(0)
    live = np.append(found.coef != 0.0, True)
    for _ in range(200):
        near = problem.regulariser.feasible(w + 1e-4 * live * rng.normal(size=4))
        assert problem.primal(near) >= found.objective - 1e-9


def test_half_the_errors_bound_it() -> None:
    X, y = overlapping(60, 3)
    errors = dg.fit(X, y, loss="zero_one", penalty="none")
    with pytest.warns(NotCertifiedWarning):
        found = dg.fit(X, y, loss="sigmoid(4)", penalty="l2", lam=1e-6)
    assert found.bound <= 0.5 * errors.objective + 1e-12
    assert found.objective <= errors.objective * 1.05


def test_one_weight_against_a_grid() -> None:
    X, y = overlapping(40, 1)
    with pytest.warns(NotCertifiedWarning):
        found = dg.fit(X, y, loss="sigmoid(4)", penalty="l2", lam=0.02, fit_intercept=False)
    axis = np.linspace(-6.0, 6.0, 4001)
    values = (1.0 / (1.0 + np.exp(4.0 * y[:, None] * X * axis))).mean(axis=0) + 0.02 * axis**2
    assert found.objective == pytest.approx(values.min(), abs=1e-5)


@pytest.mark.parametrize("steepness", [0.5, 4.0])
def test_derivatives(steepness: float) -> None:
    loss = dg.losses.Sigmoid(steepness)
    y, z = np.repeat([1.0, -1.0], 50), np.linspace(-3.0, 3.0, 100)
    h = 1e-5
    slope = (loss.value(y, z + h) - loss.value(y, z - h)) / (2 * h)
    np.testing.assert_allclose(loss.derivative(y, z), slope, atol=1e-8)
    bend = (loss.derivative(y, z + h) - loss.derivative(y, z - h)) / (2 * h)
    np.testing.assert_allclose(loss.second_derivative(y, z), bend, atol=1e-7)
    assert np.abs(bend).max() <= loss.curvature * (1 + 1e-6)
    assert np.all(loss.value(y, z) >= 0.5 * dg.losses.ZeroOne().value(y, z) - 1e-15)
    with pytest.raises(dg.errors.DataError):
        dg.losses.Sigmoid(0.0)
