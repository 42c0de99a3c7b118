from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp

import dualgap as dg
from dualgap import losses, penalties
from dualgap.drive.solver import Iterate
from dualgap.losses import Loss
from dualgap.problem.precondition import precondition
from dualgap.solvers import normal_equations
from dualgap.solvers.closed_form import ClosedForm
from dualgap.solvers.newton import Newton
from random_problems import Recipe, relative_gap, run

SMOOTH: list[Loss] = [
    losses.Squared(),
    losses.Logistic(),
    losses.Huber(0.5),
    losses.SquaredHinge(),
    losses.SquaredEpsilonInsensitive(0.3),
    losses.Exponential(),
]
RECIPES = {
    "tall": Recipe(120, 8),
    "wide": Recipe(40, 60, weighted=True),
    "slight": Recipe(50, 50, share=1e-6, intercept=False),
    "duplicate": Recipe(60, 40, kind="duplicate", share=1e-5),
    "scaled": Recipe(40, 60, kind="scaled", share=1e-5),
    "free": Recipe(60, 30, free=2),
    "sparse": Recipe(80, 50, kind="sparse", share=0.01),
}


@pytest.mark.parametrize("name", RECIPES)
@pytest.mark.parametrize("loss", SMOOTH, ids=str)
def test_smooth_losses_with_a_ridge(loss: Loss, name: str) -> None:
    problem = RECIPES[name].build(loss, penalties.L2())
    assert relative_gap(problem, run(problem, Newton())) <= 1e-9


@pytest.mark.parametrize("loss", SMOOTH, ids=str)
@pytest.mark.parametrize("recipe", [Recipe(150, 6), Recipe(150, 6, intercept=False, weighted=True)], ids=str)
def test_without_a_penalty(loss: Loss, recipe: Recipe) -> None:
    problem = recipe.build(loss, penalties.Unpenalised())
    assert relative_gap(problem, run(problem, Newton())) <= 1e-9


@pytest.mark.parametrize("loss", [losses.Logistic(), losses.SquaredHinge(), losses.Exponential()], ids=str)
def test_conjugate_gradients_where_nothing_can_be_factored(
    loss: Loss, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(normal_equations, "LARGEST", 10)
    problem = Recipe(90, 60, kind="sparse", share=0.02).build(loss, penalties.L2())
    assert relative_gap(problem, run(problem, Newton())) <= 1e-9


def test_one_step_is_the_closed_form_where_the_loss_is_quadratic() -> None:
    problem = precondition(Recipe().build(losses.Squared(), penalties.L2())).problem
    start = Iterate(problem.null_weights)
    step = next(iter(Newton().iterates(problem, start)))
    exact = next(iter(ClosedForm().iterates(problem, start)))
    np.testing.assert_allclose(step.w, exact.w, atol=1e-11)


@pytest.mark.parametrize("loss", [losses.Logistic(), losses.Exponential()], ids=str)
def test_runs_away_and_ends_where_no_minimum_exists(loss: Loss) -> None:
    problem = precondition(Recipe(30, 40).build(loss, penalties.Unpenalised())).problem
    iterates = list(Newton().iterates(problem, Iterate(problem.null_weights)))
    margins = problem.y * problem.design.matvec(iterates[-1].w)
    assert margins.min() > 15.0
    assert len(iterates) < 200


def test_predictions_belong_to_the_weights() -> None:
    problem = precondition(Recipe(50, 20).build(losses.Logistic(), penalties.L2())).problem
    for iterate in Newton().iterates(problem, Iterate(problem.null_weights)):
        assert iterate.prediction is not None
        np.testing.assert_allclose(iterate.prediction, problem.design.matvec(iterate.w), atol=1e-10)


def test_reasons_for_refusing() -> None:
    hinge = Recipe().build(losses.Hinge(), penalties.L2())
    lasso = Recipe().build(losses.Logistic(), penalties.ElasticNet())
    assert Newton().missing(hinge) == ("the loss is not smooth",)
    assert Newton().missing(lasso) == ("the penalty is not quadratic",)
    assert not Newton().missing(Recipe().build(losses.Exponential(), penalties.Unpenalised()))


@pytest.mark.parametrize("seed", [3, 12, 22])
def test_an_old_factor_is_left_where_it_hardly_gets_on(seed: int) -> None:
    """Few curvatures changed, but on raw scales those counted: 500 steps ended short of a proof."""
    rng = np.random.default_rng(seed)
    X = sp.random_array(
        (150, 230), density=0.03, format="csr", rng=rng, data_sampler=rng.standard_exponential
    )
    X = sp.csr_array(X.multiply(10.0 ** rng.uniform(-4.0, 4.0, 230)))
    y = np.where(rng.random(150) < 0.5, 1.0, -1.0)
    found = dg.fit(X, y, loss="squared_hinge", penalty="l2", lam=0.1, solver="newton")
    assert found.converged
    assert found.trace[-1].iteration < 250


@pytest.mark.parametrize(
    ("loss", "more"),
    [
        ("poisson", {}),
        ("poisson", {"offset": True}),
        ("gamma", {"fit_intercept": False}),
        ("tweedie(1.5)", {"sample_weight": True}),
    ],
)
def test_thin_columns_as_they_were_asked(loss: str, more: dict[str, Any]) -> None:
    """Sparse columns of all sizes, too many for a matrix: the answer is that in good coordinates."""
    rng = np.random.default_rng(len(loss))
    n, p = 5200, 5100
    X = sp.random_array((n, p), density=1e-3, rng=rng, data_sampler=rng.standard_normal).tocsc()
    X = sp.csc_array(X.multiply(10.0 ** rng.uniform(-1.0, 0.3, p)[None, :]))
    y = rng.poisson(np.exp(np.clip(X[:, [3]].toarray()[:, 0], -2.0, 2.0) + 0.5)) + (loss == "gamma")
    own = {name: rng.uniform(0.5, 1.5, n) if value is True else value for name, value in more.items()}
    found = dg.fit(X, y.astype(float), loss=loss, penalty="l2", lam=1e-4, **own)
    named = dg.fit(X, y.astype(float), loss=loss, penalty="l2", lam=1e-4, solver="newton", **own)
    assert found.converged and found.solver == "newton"
    assert found.objective == pytest.approx(named.objective, rel=2e-6)
    assert found.bound <= named.objective
