"""Best subset with every other convex loss: equal to fitting every subset by the convex solvers."""

from __future__ import annotations

import numpy as np
import pytest

import dualgap as dg
from brute_force import Subsets, best_fit
from cases import LOSSES, taken
from dualgap.arrays import Matrix, Vector
from dualgap.errors import NotCertifiedWarning
from dualgap.losses import Logistic, Loss
from dualgap.traits import Trait

ATTAINED = [loss for loss in LOSSES if loss.name not in ("perceptron", "squared")]
HEURISTICS = ("greedy_forward", "greedy_backward", "hard_thresholding")


def draw(loss: Loss, seed: int, n: int = 24, p: int = 5) -> tuple[Matrix, Vector, Vector]:
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, p)) + (seed % 2) * rng.normal(size=(n, 1))
    y = X[:, 0] - X[:, 2] + rng.normal(size=n)
    if seed % 3 == 1:
        X[:, 3] = X[:, 2] - X[:, 1]
    if seed % 3 == 2:
        X, y = np.round(X), np.round(y)
    if Trait.CLASSIFICATION in loss.traits:
        y = np.where(y + 1.5 * rng.normal(size=n) > 0, 1.0, -1.0)
    return X, taken(loss, y), rng.integers(1, 4, n).astype(float)


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("loss", ATTAINED, ids=str)
def test_equal_to_fitting_every_subset(loss: Loss, seed: int) -> None:
    X, y, weights = draw(loss, seed)
    ridge, intercept = (0.0, 0.0, 0.1)[(seed + len(loss.name)) % 3], (seed + len(loss.name)) % 4 > 0
    price = (0.0, 0.04)[(seed + len(loss.name)) % 2] * (1.0 if Trait.CLASSIFICATION in loss.traits else 2.0)
    limit = 99 if price else 2
    strength = {"lam": price} if price else {"budget": limit}
    best = best_fit(X, y, weights, loss, Subsets(price, limit, ridge * (price or 1.0), intercept))
    found = dg.fit(
        X, y, loss=loss, penalty=f"l0_l2({ridge})" if ridge else "l0", fit_intercept=intercept,
        sample_weight=weights, **strength,
    )  # fmt: skip
    scale = max(best, 1e-4 * found.facts["null"])
    assert found.objective == pytest.approx(best, abs=2e-6 * scale)
    assert found.converged and found.bound <= best + 1e-8 * scale


@pytest.mark.parametrize("solver", HEURISTICS)
@pytest.mark.parametrize("loss", ["logistic", "absolute"])
def test_heuristics_are_between_the_bound_and_the_start(loss: str, solver: str) -> None:
    rng = np.random.default_rng(0)
    X = rng.normal(size=(80, 10))
    y = X[:, 0] - 2.0 * X[:, 4] + rng.normal(size=80)
    y = np.sign(y) if loss == "logistic" else y
    exact = dg.fit(X, y, loss=loss, penalty="l0", budget=3)
    good = dg.fit(X, y, loss=loss, penalty="l0", budget=3, solver=solver, tol=1e9)
    assert good.bound <= exact.objective * (1 + 1e-9) and good.objective >= exact.objective * (1 - 1e-7)
    assert good.objective <= 0.9 * good.facts["null"] and good.n_nonzero <= 3
    assert (good.solver == solver and "not proven" in good.status) or good.converged


def test_separable_classes_have_a_bound_of_zero() -> None:
    rng = np.random.default_rng(0)
    X = rng.normal(size=(30, 6))
    y = np.sign(X[:, 1] + 0.2)
    found = dg.fit(X, y, loss="logistic", penalty="l0", budget=2, tol=1.0, max_time=5.0)
    assert 0.0 <= found.bound <= found.objective < 1e-2 and found.coef[1] > 0.0


def test_bounds_only_rise_and_limits_are_kept() -> None:
    rng = np.random.default_rng(3)
    X = rng.normal(size=(60, 15))
    y = np.sign(X[:, 0] - X[:, 3] + 2.0 * rng.normal(size=60))
    exact = dg.fit(X, y, loss="logistic", penalty="l0", budget=4)
    bounds = [record.bound for record in exact.trace]
    assert bounds == sorted(bounds) and exact.converged
    with pytest.warns(NotCertifiedWarning, match="iteration limit"):
        short = dg.fit(X, y, loss="logistic", penalty="l0", budget=4, max_iter=2)
    assert short.bound <= exact.objective * (1 + 1e-9) and short.n_iter == 2


def test_a_recheck_searches_again() -> None:
    rng = np.random.default_rng(1)
    X = rng.normal(size=(50, 6))
    labels = np.where(X[:, 0] + rng.normal(size=50) > 0, "yes", "no")
    found = dg.fit(X, labels, loss="logistic", penalty="l0_l2(0.05)", budget=2)
    again = found.certificate.recheck(X, labels)
    assert again.objective == pytest.approx(found.objective, rel=1e-12)
    assert again.bound == pytest.approx(found.bound, rel=1e-5)
    other = found.certificate.recheck(X[::-1], labels)
    assert other.objective > found.objective


def test_more_than_two_classes() -> None:
    rng = np.random.default_rng(1)
    centres = np.array([[0, 0, 0], [3, 0, 0], [0, 3, 0]])
    y = np.repeat([0, 1, 2], 30)
    X = centres[y] + rng.normal(size=(90, 3))
    found = dg.fit(X, y, loss="squared_hinge", penalty="l0", budget=2)
    assert found.converged and found.coef.shape == (3, 3) and not found.coef[:, 2].any()
    assert found.certificate.gap <= 1e-6 * found.objective
    assert found.certificate.recheck(X, y).bound == pytest.approx(found.bound, rel=1e-5)


@pytest.mark.parametrize("loss", ["hinge", "logistic"])
@pytest.mark.parametrize("seed", range(1, 6))
def test_room_for_all_where_the_fit_of_all_columns_fails(seed: int, loss: str) -> None:
    """Two columns that agree but for rounding: weights of 1e10 and no end, while one alone separates."""
    x = np.random.default_rng(seed).normal(size=5)
    X, y = np.column_stack([1e6 + 3.0 * x / 7.0, x]), np.where(x < x.max(), 1.0, -1.0)
    found = dg.fit(X, y, loss=loss, penalty="l0", budget=2)
    assert found.converged and found.objective < 1e-9


def test_room_for_all_and_no_finite_minimiser() -> None:
    """Rows that the last column separates from the others: the infimum, and its proof."""
    x, z = np.array([0, -1, 1, -1, 1, 0, 0, 1]), np.array([1, -1, 0, 1, 0, -1, 0, 1])
    y, weights = np.array([1, -1, 1, 1, -1, -1, -1, 1]), np.array([2, 2, 1, 1, 3, 2, 2, 2])
    X = np.column_stack([3.0 * x / 7.0, x, z])
    firm = z == 0
    best = best_fit(X[firm][:, 1:2], y[firm] + 0.0, weights[firm], Logistic(), Subsets(intercept=False))
    found = dg.fit(X, y, loss="logistic", penalty="l0", budget=3, fit_intercept=False, sample_weight=weights)
    assert found.converged
    assert found.objective == pytest.approx(best * weights[firm].sum() / weights.sum(), rel=1e-5)
