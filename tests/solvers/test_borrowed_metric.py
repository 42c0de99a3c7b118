"""Tall tables under a ridge, by the matrix of some rows: the answer is that of Newton in good coordinates."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import dualgap as dg
from dualgap.arrays import Matrix, Vector

LOSSES = ("poisson", "gamma", "tweedie(1.5)", "binomial", "logistic")


def drawn(loss: str, n: int, p: int, order: str = "F") -> tuple[Matrix, Vector]:
    rng = np.random.default_rng(n + p)
    X = rng.standard_normal((n, p)) @ (np.eye(p) + 0.5 * np.eye(p, k=1))
    mean = np.exp(0.5 + X @ (0.2 * rng.standard_normal(p)) / np.sqrt(p))
    y = {
        "gamma": lambda: rng.gamma(2.0, mean),
        "binomial": lambda: rng.binomial(4, mean / (1.0 + mean)) / 4.0,
        "logistic": lambda: np.where(rng.random(n) < mean / (1.0 + mean), 1.0, -1.0),
    }.get(loss, lambda: rng.poisson(mean).astype(float))()
    return np.asarray(X, order=order), y


def both(X: Matrix, y: Vector, solver: str = "newton", **asked: Any) -> None:
    """The same objective as by name, which goes by good coordinates; and proven."""
    found, named = dg.fit(X, y, **asked), dg.fit(X, y, solver=solver, **asked)
    assert found.converged and found.solver == solver
    assert found.objective == pytest.approx(named.objective, rel=2e-6)
    assert found.bound <= named.objective


@pytest.mark.parametrize("loss", LOSSES)
@pytest.mark.parametrize("shape", [(20_000, 60), (4000, 300), (1500, 700), (70, 3)])
def test_every_loss_that_bends(loss: str, shape: tuple[int, int]) -> None:
    both(*drawn(loss, *shape), loss=loss, penalty="l2", lam=1e-3)


@pytest.mark.parametrize(
    "more",
    [
        {"fit_intercept": False},
        {"offset": np.linspace(-1.0, 1.0, 20_000)},
        {"sample_weight": np.random.default_rng(1).exponential(size=20_000)},
        {"penalty_factors": np.geomspace(0.1, 10.0, 60)},
        {"standardize": True},
        {"lam": 1e-9},
        {"lam": 10.0},
    ],
    ids=lambda more: next(iter(more)),
)
@pytest.mark.parametrize("order", ["C", "F"])
def test_whatever_is_asked(more: dict[str, Any], order: str) -> None:
    X, y = drawn("poisson", 20_000, 60, order)
    both(X, y, **{"loss": "poisson", "penalty": "l2", "lam": 1e-3, **more})


@pytest.mark.parametrize("away", [10.0, 1e3, 1e6])
def test_columns_far_from_zero(away: float) -> None:
    """Where centring loses the digits, others take over."""
    X, y = drawn("gamma", 20_000, 60)
    both(X + away, y, loss="gamma", penalty="l2", lam=1e-3)


def test_rows_that_a_sample_does_not_know() -> None:
    """Columns that are zero but in a few neighbouring rows, and rows in the order of their targets."""
    X, y = drawn("poisson", 20_000, 60)
    X[:, 50:] = 0.0
    for j in range(50, 60):
        X[300 * j : 300 * j + 7, j] = 3.0
    both(X, y, loss="poisson", penalty="l2", lam=1e-4)
    order = np.argsort(y, kind="stable")
    both(np.asfortranarray(X[order]), y[order], loss="poisson", penalty="l2", lam=1e-4)


@pytest.mark.parametrize("loss", LOSSES)
@pytest.mark.parametrize("penalty", ["l2", "l1", "elastic_net(0.5)"])
@pytest.mark.parametrize(
    "bounds", ["nonnegative", (-0.02, 0.02), (-np.inf, 0.01)], ids=["signs", "box", "from above"]
)
def test_within_bounds(loss: str, penalty: str, bounds: Any) -> None:
    X, y = drawn(loss, 6000, 40)
    both(X, y, solver="box_newton", loss=loss, penalty=penalty, lam=1e-3, bounds=bounds)


def test_within_bounds_whatever_is_asked() -> None:
    X, y = drawn("poisson", 6000, 40)
    asked: dict[str, Any] = {"loss": "poisson", "penalty": "l2", "lam": 1e-3, "bounds": "nonnegative"}
    for more in (
        {"fit_intercept": False},
        {"offset": np.linspace(-1.0, 1.0, 6000)},
        {"standardize": True},
        {"lam": 1e-8},
        {"bounds": (np.full(40, 0.01), np.full(40, 0.05))},  # zero is outside
    ):
        both(X, y, solver="box_newton", **{**asked, **more})
    both(X + 1e5, y, solver="box_newton", **asked)
