"""Run long enough, every deterministic solver finds the certified optimum; the stochastic ones come near."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import pytest

import dualgap as dg
import transcriptions as source
from dualgap.errors import NoSolverError

X, Y, LABELS = source.data(60, 4)


def above(solver: Any, *, relative: bool = True, max_iter: int | None = None, **keywords: Any) -> float:
    """How far the objective ends above the proven optimum."""
    y = LABELS if "hinge" in keywords["loss"] or keywords["loss"] in ("logistic", "exponential") else Y
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", dg.errors.NotCertifiedWarning)
        found = dg.fit(X, y, solver=solver, max_iter=max_iter, **keywords)
    best = dg.fit(X, y, tol=1e-9, **keywords)
    assert found.objective >= best.bound * (1 - 1e-12)
    return (found.objective - best.bound) / (abs(best.objective) if relative else 1.0)


SMOOTH = [
    "squared",
    "huber(1)",
    "squared_epsilon_insensitive(0.2)",
    "squared_hinge",
    "logistic",
    "exponential",
]
KINKS = ["absolute", "quantile(0.8)", "epsilon_insensitive(0.2)", "hinge"]
BALLS = [
    ("l1", 2.0),
    ("l2", 3.0),
    ("l2_norm", 1.5),
    ("linf", 1.0),
    ("elastic_net(0.5)", 2.0),
    ("lp(1.5)", 2.0),
    ("lp(3)", 1.0),
]


@pytest.mark.parametrize("loss", SMOOTH)
@pytest.mark.parametrize("solver", ["gradient_descent", "momentum", "nesterov"])
def test_smooth_with_ridge(solver: str, loss: str) -> None:
    assert above(solver, loss=loss, penalty="l2", lam=0.1) <= 1e-6


@pytest.mark.parametrize("loss", SMOOTH)
@pytest.mark.parametrize("penalty", ["l1", "linf", "elastic_net(0.5)", "lp(1.5)"])
@pytest.mark.parametrize("accelerated", [True, False])
def test_proximal_gradient(loss: str, penalty: str, accelerated: bool) -> None:
    solver = dg.solvers.ProximalGradient(accelerated=accelerated)
    assert above(solver, loss=loss, penalty=penalty, lam=0.05) <= 1e-6


@pytest.mark.parametrize(("penalty", "budget"), BALLS)
@pytest.mark.parametrize("loss", ["squared", "logistic"])
def test_projected_gradient_onto_every_ball(loss: str, penalty: str, budget: float) -> None:
    assert above("projected_gradient", loss=loss, penalty=penalty, budget=budget) <= 1e-6


@pytest.mark.parametrize("loss", KINKS)
@pytest.mark.parametrize("penalty", ["l1", "l2", "linf", "l2_norm"])
def test_subgradient_keeps_the_best(loss: str, penalty: str) -> None:
    assert above("subgradient", loss=loss, penalty=penalty, lam=0.1, max_iter=3000) <= 5e-3


def test_projected_subgradient() -> None:
    assert above("projected_gradient", loss="hinge", penalty="l1", budget=1.0, max_iter=3000) <= 2e-3


@pytest.mark.parametrize("averaged", [False, True])
@pytest.mark.parametrize("order", ["shuffled", "uniform"])
def test_stochastic_gradient(order: Any, averaged: bool) -> None:
    solver = dg.solvers.StochasticGradient(order=order, averaged=averaged)
    for loss in ("squared", "logistic"):
        assert above(solver, loss=loss, penalty="l2", lam=0.1, max_iter=500) <= 2e-2


@pytest.mark.parametrize("loss", ["absolute", "hinge"])
def test_stochastic_subgradient(loss: str) -> None:
    for penalty in ("l1", "elastic_net(0.5)"):
        assert above("stochastic_subgradient", loss=loss, penalty=penalty, lam=0.1, max_iter=500) <= 1e-2


def test_pegasos_is_within_its_bound() -> None:
    """F(mean of w) − F* ≤ G²(1 + log T)/(2λ'T), G the longest subgradient; no intercept, as in the proof."""
    lam, passes = 0.05, 50
    strength, steps = 2.0 * lam, passes * len(X)
    longest = float(np.sqrt((X * X).sum(axis=1)).max())
    bound = (2.0 * longest) ** 2 * (1.0 + np.log(steps)) / (2.0 * strength * steps)
    solver = dg.solvers.Pegasos(averaged=True)
    asked: dict[str, Any] = {"loss": "hinge", "penalty": "l2", "lam": lam, "fit_intercept": False}
    assert above(solver, relative=False, max_iter=passes, **asked) <= bound


@pytest.mark.parametrize("side", ["primal", "dual"])
@pytest.mark.parametrize("loss", [*KINKS, "squared", "huber(1)", "squared_hinge"])
def test_quadratic_program(loss: str, side: Any) -> None:
    solver = dg.solvers.QuadraticProgram(side)
    for penalty in ("l1", "l2", "elastic_net(0.5)", "linf"):
        assert above(solver, loss=loss, penalty=penalty, lam=0.1) <= 2e-6
    for penalty in ("l1", "linf"):
        assert above(solver, loss=loss, penalty=penalty, budget=1.0) <= 2e-6


REFUSED = [
    ("gradient_descent", {"loss": "hinge", "penalty": "l1", "lam": 0.1}, "not smooth.*proximal_gradient"),
    ("gradient_descent", {"loss": "logistic", "penalty": "l2", "budget": 1.0}, "projected_gradient"),
    ("subgradient", {"loss": "hinge", "penalty": "l1", "budget": 1.0}, "projected_gradient"),
    ("proximal_gradient", {"loss": "hinge", "penalty": "l1", "lam": 0.1}, "not smooth"),
    ("projected_gradient", {"loss": "hinge", "penalty": "l1", "lam": 0.1}, "give budget"),
    ("stochastic_gradient", {"loss": "hinge", "penalty": "l2", "lam": 0.1}, "stochastic_subgradient"),
    ("stochastic_subgradient", {"loss": "hinge", "penalty": "linf", "lam": 0.1}, "elastic_net"),
    ("pegasos", {"loss": "hinge", "penalty": "l1", "lam": 0.1}, "no l2 part"),
    ("quadratic_program", {"loss": "logistic", "penalty": "l1", "lam": 0.1}, "not piecewise quadratic"),
    ("quadratic_program", {"loss": "hinge", "penalty": "l2", "budget": 1.0}, "no quadratic program"),
]


@pytest.mark.parametrize(("solver", "asked", "reason"), REFUSED)
def test_each_refuses_with_its_reason(solver: str, asked: dict[str, Any], reason: str) -> None:
    with pytest.raises(NoSolverError, match=reason):
        dg.fit(X, LABELS, solver=solver, **asked)


def test_backtracking_stands_in_for_a_curvature() -> None:
    searching = dg.steps.Backtracking()
    solver = dg.solvers.GradientDescent(searching)
    assert above(solver, loss="logistic", penalty="l2", lam=0.01) <= 1e-6
    with pytest.raises(NoSolverError, match="backtrack"):
        dg.fit(X, Y, loss="squared", penalty="l2", lam=0.1, solver=dg.solvers.StochasticGradient(searching))


def test_a_start_is_where_it_starts() -> None:
    best = dg.fit(X, Y, loss="squared", penalty="l2", lam=0.1, tol=1e-9)
    again = dg.fit(X, Y, loss="squared", penalty="l2", lam=0.1, solver="gradient_descent", warm_start=best)
    assert again.n_iter <= 1
