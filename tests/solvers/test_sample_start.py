"""Tall tables under a price: a start on some of the rows leads to the same answer, whatever they are like."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import dualgap as dg
from dualgap.arrays import Matrix, Vector

N, P = 30_000, 30  # rows enough for a sample
LOSSES = (
    "poisson",
    "gamma",
    "tweedie(1.5)",
    "binomial",
    "logistic",
    "huber",
    "squared_hinge",
    "squared_epsilon_insensitive",
)


def drawn(loss: str) -> tuple[Matrix, Vector]:
    rng = np.random.default_rng(len(loss))
    X = rng.standard_normal((N, P)) @ (np.eye(P) + 0.5 * np.eye(P, k=1))
    z = 0.5 + X @ np.where(np.arange(P) % 3 == 0, 0.1, 0.0)
    y = {
        "poisson": lambda: rng.poisson(np.exp(z)).astype(float),
        "tweedie(1.5)": lambda: rng.poisson(np.exp(z)).astype(float),
        "gamma": lambda: rng.gamma(2.0, np.exp(z)),
        "binomial": lambda: rng.binomial(4, 1.0 / (1.0 + np.exp(-z))) / 4.0,
        "huber": lambda: z + rng.standard_t(3, size=N),
        "squared_epsilon_insensitive": lambda: z + rng.standard_normal(N),
    }.get(loss, lambda: np.where(rng.random(N) < 1.0 / (1.0 + np.exp(-z)), 1.0, -1.0))()
    return X, y


def same(X: Matrix, y: Vector, **asked: Any) -> None:
    """The same objective as by the solver in good coordinates, and proven."""
    found, named = dg.fit(X, y, **asked), dg.fit(X, y, solver="coordinate_descent", **asked)
    assert found.converged and found.solver == "coordinate_descent"
    assert found.objective == pytest.approx(named.objective, rel=2e-6)
    assert found.bound <= named.objective


@pytest.mark.parametrize("loss", LOSSES)
@pytest.mark.parametrize("lam", [0.05, 1e-4])
def test_every_smooth_loss(loss: str, lam: float) -> None:
    same(*drawn(loss), loss=loss, penalty="l1", lam=lam)


@pytest.mark.parametrize(
    "more",
    [
        {"fit_intercept": False},
        {"offset": np.linspace(-1.0, 1.0, N)},
        {"sample_weight": np.random.default_rng(1).exponential(size=N)},
        {"sample_weight": np.where(np.arange(N) % 192 < 32, 0.0, 1.0)},
        {"penalty_factors": np.geomspace(0.1, 10.0, P)},
        {"standardize": True},
        {"penalty": "elastic_net(0.3)"},
        {"lam": 100.0},
    ],
    ids=lambda more: next(iter(more)),
)
@pytest.mark.parametrize("order", ["C", "F"])
def test_whatever_is_asked(more: dict[str, Any], order: str) -> None:
    X, y = drawn("poisson")
    table = np.asfortranarray(X) if order == "F" else X
    same(table, y, **{"loss": "poisson", "penalty": "l1", "lam": 0.01, **more})


@pytest.mark.parametrize("loss", ["poisson", "logistic"])
def test_rows_that_are_not_like_each_other(loss: str) -> None:
    """In order of the targets; and all that counts among few of the rows."""
    X, y = drawn(loss)
    order = np.argsort(y)
    same(X[order], y[order], loss=loss, penalty="l1", lam=0.01)
    rare = np.full(N, -1.0 if loss == "logistic" else 0.0)
    rare[70:90] = 1.0
    X[70:90, :5] += 3.0
    same(X, rare, loss=loss, penalty="l1", lam=1e-3)
