from __future__ import annotations

import numpy as np
import pytest

from dualgap import losses, penalties
from dualgap.problem.precondition import precondition
from dualgap.solvers import normal_equations
from dualgap.solvers.closed_form import ClosedForm
from random_problems import Recipe, relative_gap, run

RECIPES = {
    "tall": Recipe(150, 8),
    "wide": Recipe(40, 60, weighted=True),
    "square": Recipe(60, 60, kind="integer", intercept=False),
    "duplicate": Recipe(50, 30, kind="duplicate", share=1e-6),
    "collinear": Recipe(30, 80, kind="collinear", share=1e-3),
    "scaled": Recipe(40, 60, kind="scaled", share=1e-6),
    "free": Recipe(40, 60, free=3),
    "sparse": Recipe(80, 50, kind="sparse", share=0.01),
}


@pytest.mark.parametrize("name", RECIPES)
def test_ridge_is_solved_to_rounding(name: str) -> None:
    problem = RECIPES[name].build(losses.Squared(), penalties.L2())
    outcome = run(problem, ClosedForm(), 1e-13)
    # nothing is left that more steps could take off
    assert outcome.bounds.gap <= 2.0 * outcome.bounds.rounding
    assert relative_gap(problem, outcome) <= 4e-13


@pytest.mark.parametrize(
    "recipe", [Recipe(150, 8), Recipe(40, 60), Recipe(50, 30, kind="duplicate")], ids=str
)
def test_least_squares_without_a_penalty(recipe: Recipe) -> None:
    problem = recipe.build(losses.Squared(), penalties.Unpenalised())
    outcome = run(problem, ClosedForm(), 1e-12)
    assert relative_gap(problem, outcome) <= 1e-12
    array = problem.design.toarray()
    fitted = np.linalg.lstsq(array, problem.y, rcond=None)[0]
    np.testing.assert_allclose(array @ outcome.bounds.w, array @ fitted, atol=1e-9)


def test_ridge_is_the_textbook_formula() -> None:
    problem = Recipe(70, 5, intercept=False, share=0.3).build(losses.Squared(), penalties.L2())
    array, strength = problem.design.toarray(), problem.regulariser.strength  # type: ignore[union-attr]
    system = array.T @ (problem.a[:, None] * array) + strength * np.eye(5)
    expected = np.linalg.solve(system, array.T @ (problem.a * problem.y))
    np.testing.assert_allclose(run(problem, ClosedForm()).bounds.w, expected, rtol=1e-10)


@pytest.mark.parametrize("share", [0.1, 1e-4])
def test_conjugate_gradients_where_nothing_can_be_factored(
    share: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(normal_equations, "LARGEST", 10)
    problem = Recipe(90, 60, kind="sparse", share=share).build(losses.Squared(), penalties.L2())
    assert relative_gap(problem, run(problem, ClosedForm(), 1e-10)) <= 1e-10


def test_both_sides_give_one_answer() -> None:
    problem = precondition(Recipe(45, 30).build(losses.Squared(), penalties.L2())).problem
    design, ridge = problem.design, np.full(problem.p, 0.3)
    ridge[-1] = 0.0
    point = normal_equations.ModelPoint(
        np.zeros(problem.p), -problem.slope(np.zeros(problem.n)), np.zeros(problem.p)
    )
    steps = [
        kind(design, ridge).factored(2.0 * problem.a).step(point, 1e-12)
        for kind in (normal_equations.Primal, normal_equations.Dual, normal_equations.Gradients)
    ]
    np.testing.assert_allclose(steps[1], steps[0], atol=1e-9)
    np.testing.assert_allclose(steps[2], steps[0], atol=1e-9)


def test_reasons_for_refusing() -> None:
    hinge = Recipe().build(losses.Hinge(), penalties.L2())
    lasso = Recipe().build(losses.Squared(), penalties.L1())
    norm = Recipe().build(losses.Squared(), penalties.L2Norm())
    assert ClosedForm().missing(hinge) == ("the loss is not quadratic",)
    assert ClosedForm().missing(lasso) == ("the penalty is not quadratic",)
    assert ClosedForm().missing(norm) == ("the penalty is not separable",)
    assert not ClosedForm().missing(Recipe(free=2).build(losses.Squared(), penalties.L2()))
