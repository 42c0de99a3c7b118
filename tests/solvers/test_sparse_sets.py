"""Smooth losses with an l1 part over sparse columns, of which few count, or many."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp

import dualgap as dg
from dualgap.arrays import Vector

N, P = 400, 900
LOSSES = ("poisson", "gamma", "tweedie(1.5)", "binomial", "logistic", "huber", "squared_hinge")


def drawn(loss: str) -> tuple[sp.csc_array, Vector]:
    rng = np.random.default_rng(len(loss))
    X = sp.csc_array(sp.random_array((N, P), density=0.02, rng=rng, data_sampler=rng.standard_normal))
    z = 0.5 + X @ np.where(np.arange(P) % 90 == 0, 1.0, 0.0)
    y = {
        "poisson": lambda: rng.poisson(np.exp(z)).astype(float),
        "tweedie(1.5)": lambda: rng.poisson(np.exp(z)).astype(float),
        "gamma": lambda: rng.gamma(2.0, np.exp(z)),
        "binomial": lambda: rng.binomial(4, 1.0 / (1.0 + np.exp(-z))) / 4.0,
        "huber": lambda: z + rng.standard_t(3, size=N),
    }.get(loss, lambda: np.where(rng.random(N) < 1.0 / (1.0 + np.exp(-z)), 1.0, -1.0))()
    return X, y


def same(X: Any, y: Vector, **asked: Any) -> None:
    """The same objective as of the filled table, and proven."""
    found, filled = dg.fit(X, y, **asked), dg.fit(X.toarray() + 0.0, y, **asked)
    assert found.converged and filled.converged
    assert found.objective == pytest.approx(filled.objective, rel=2e-6)
    assert found.bound <= filled.objective and filled.bound <= found.objective


@pytest.mark.parametrize("loss", LOSSES)
@pytest.mark.parametrize("lam", [0.05, 0.02, 2e-3])
def test_every_smooth_loss(loss: str, lam: float) -> None:
    same(*drawn(loss), loss=loss, penalty="l1", lam=lam)


@pytest.mark.parametrize(
    "more",
    [
        {"fit_intercept": False},
        {"offset": np.linspace(-1.0, 1.0, N)},
        {"sample_weight": np.random.default_rng(1).exponential(size=N)},
        {"penalty_factors": np.geomspace(0.1, 10.0, P)},
        {"penalty_factors": np.where(np.arange(P) == 7, 0.0, 1.0)},
        {"penalty": "elastic_net(0.3)"},
        {"lam": 100.0},
        {"tol": 1e-10},
    ],
    ids=lambda more: next(iter(more)),
)
@pytest.mark.parametrize("kind", [sp.csr_array, sp.csc_array])
def test_whatever_is_asked(more: dict[str, Any], kind: Any) -> None:
    X, y = drawn("poisson")
    same(kind(X), y, **{"loss": "poisson", "penalty": "l1", "lam": 0.03, **more})


def test_columns_that_are_empty_constant_or_alike() -> None:
    X, y = drawn("logistic")
    odd = sp.csc_array(
        sp.hstack([X, sp.csc_array((N, 2)), np.full((N, 1), 3.0), X[:, :90], 1e6 * X[:, 90:91]])
    )
    same(odd, y, loss="logistic", penalty="l1", lam=0.01)


def test_a_weight_without_which_rows_have_no_end() -> None:
    """One column tells the classes of its rows apart: only its price keeps its weight finite."""
    X = sp.csc_array(np.eye(60)[:, :3])
    y = np.where(np.arange(60) == 0, 50.0, 0.0)
    same(X, y, loss="poisson", penalty="l1", lam=1e-3)
