"""Each engine of coordinate descent alone, on every column, from nothing: it ends at an optimal point."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

from dualgap import losses, penalties
from dualgap.arrays import Index, Vector
from dualgap.losses import Loss
from dualgap.penalties import Penalised
from dualgap.penalties.separable import Separable
from dualgap.problem.precondition import precondition
from dualgap.problem.problem import Problem
from dualgap.solvers.lasso.gram_engine import GramEngine
from dualgap.solvers.lasso.priced_point import PricedPoint
from dualgap.solvers.lasso.sweep_engine import SweepEngine
from random_problems import Recipe

RECIPES = {
    "tall": Recipe(150, 60),
    "wide": Recipe(40, 90, weighted=True, share=0.05),
    "duplicate": Recipe(60, 80, kind="duplicate", share=0.01),
    "scaled": Recipe(40, 60, kind="scaled", share=0.01),
    "free": Recipe(90, 60, free=2),
    "sparse": Recipe(120, 200, kind="sparse", share=0.05),
}
Improve = Callable[[Index, Vector], None]


def sweeps(point: PricedPoint) -> Improve:
    return SweepEngine(point, 1e-9).improve


def gram(point: PricedPoint) -> Improve:
    return GramEngine(point).improve


def violation(problem: Problem, engine: Callable[[PricedPoint], Improve], rounds: int = 60) -> float:
    """How far from optimal the engine ends, in prices."""
    working = precondition(problem).problem
    point = PricedPoint(working, working.null_weights)
    improve, left = engine(point), np.inf
    for _ in range(rounds):
        _, correlation = point.dual()
        residual = correlation - point.ridge * point.w
        left = min(left, point.violation(residual))
        if left <= 1e-9:
            break
        improve(np.flatnonzero(point.price > 0.0), residual)
    return left


@pytest.mark.parametrize("engine", [sweeps, gram])
@pytest.mark.parametrize("name", RECIPES)
@pytest.mark.parametrize("loss", [losses.Squared(), losses.Logistic(), losses.SquaredHinge()], ids=str)
def test_smooth_losses(loss: Loss, name: str, engine: Callable[[PricedPoint], Improve]) -> None:
    assert violation(RECIPES[name].build(loss, penalties.L1()), engine) <= 1e-7


@pytest.mark.parametrize("engine", [sweeps, gram])
def test_a_price_a_ridge_both_or_neither(engine: Callable[[PricedPoint], Improve]) -> None:
    problem = Recipe(150, 120, weighted=True).build(losses.Squared(), penalties.ElasticNet(0.5))
    elastic = problem.regulariser.gauge.elastic
    assert elastic is not None and not problem.regulariser.constrained
    l1, l2 = elastic.l1.copy(), elastic.l2.copy()
    l1[::3] = 0.0
    l2[1::3] = 0.0
    l2[:6:3] = 0.0
    mixed = problem.with_regulariser(Penalised(Separable(l1, l2), problem.regulariser.strength))
    assert violation(mixed, engine) <= 1e-7


def test_a_matrix_of_sparse_columns_has_its_turn_after_as_many_sweeps_as_it_costs() -> None:
    """The more columns it has, the later; many slow rounds do not bring it forward."""
    problem = precondition(RECIPES["sparse"].build(losses.SquaredHinge(), penalties.L1())).problem
    engine = GramEngine(PricedPoint(problem, np.zeros(problem.p)))
    few, many = np.arange(10), np.arange(150)
    needed = [
        next(swept for swept in 10.0 ** np.arange(20) if engine.affordable(columns, 100, 9, swept))
        for columns in (few, many)
    ]
    assert needed[0] < needed[1]
    assert not engine.affordable(many, 10_000, 5_000, 0.1 * needed[1])
