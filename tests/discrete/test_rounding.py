"""What rounding hides is not denied: bounds hold in exact arithmetic, for data that depend up to rounding."""

from __future__ import annotations

import itertools
import warnings
from typing import Any

import numpy as np
import pytest
from scipy.optimize import linprog

import dualgap as dg
from brute_force import Subsets, best_fit, best_squares
from dualgap.arrays import Matrix, Vector
from dualgap.discrete import integers as exact
from dualgap.discrete.subset.relaxation import Branch, Relaxation
from dualgap.discrete.subset.selection import selection
from dualgap.errors import NotCertifiedWarning
from dualgap.fitting.names import loss_named
from dualgap.fitting.reading import read
from exact_planes import fewest_errors


def fit(X: Any, y: Vector, **keywords: Any) -> dg.Solution:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", NotCertifiedWarning)
        return dg.fit(X, y, **keywords)


def nearly_dependent(seed: int) -> tuple[Matrix, Vector, Vector, bool]:
    """Few rows; copies, multiples and sums of columns that are exact but for rounding, ties and weights."""
    rng = np.random.default_rng(seed)
    n, p = int(rng.integers(3, 9)), int(rng.integers(1, 5))
    kinds = [rng.normal(size=(n, p)), rng.integers(-2, 3, (n, p)) / 1.0, rng.integers(-3, 4, (n, p)) / 7.0]
    X = [*kinds, np.round(kinds[0], 1)][int(rng.integers(4))]
    if p > 1:
        a, b = rng.permutation(p)[:2]
        x = X[:, b]
        steps = 1.0 + 1e-16 * rng.integers(-3, 4, n)
        forms = [
            x,
            3.0 * x / 7.0,
            x * steps,
            x + 1e-17 * rng.normal(size=n),
            0.1 * x + 0.3,
            0.3 * X.sum(axis=1),
        ]
        X[:, a] = forms[int(rng.integers(6))]
    if rng.random() < 0.3 and n > 4:
        X[:2] = X[2:4]
    if rng.random() < 0.2:
        X[0] = X[1] * (1.0 + 3e-16)
    y = np.where(rng.random(n) < 0.5, 1.0, -1.0)
    y[:2] = 1.0, -1.0
    weights = [np.ones(n), rng.integers(1, 4, n) / 1.0, rng.random(n) + 0.01][int(rng.integers(3))]
    return X, y, weights, bool(rng.random() < 0.7)


@pytest.mark.parametrize("solver", ["arrangement", "hitting_set"])
@pytest.mark.parametrize("block", range(6))
def test_the_bound_is_that_of_exact_arithmetic(block: int, solver: str) -> None:
    for seed in range(20 * block, 20 * block + 20):
        X, y, weights, intercept = nearly_dependent(seed)
        best = fewest_errors(X, y, weights, intercept=intercept)
        asked: dict[str, Any] = {"fit_intercept": intercept, "sample_weight": weights}
        found = fit(X, y, loss="zero_one", penalty="none", solver=solver, **asked)
        assert found.bound <= best + 1e-9, seed
        assert found.bound >= min(best, found.objective) * (1 - 1e-6) - 1e-9, seed
        sigmoid = fit(X, y, loss="sigmoid", penalty="none", max_iter=1, **asked)
        assert sigmoid.bound <= 0.5 * best + 1e-9, seed


@pytest.mark.parametrize("seed", range(0, 40, 2))
def test_the_bound_with_a_count_of_columns(seed: int) -> None:
    X, y, weights, intercept = nearly_dependent(seed)
    n, p = X.shape
    if n > 6:
        X, y, weights, n = X[:6], y[:6], weights[:6], 6
    errors = {
        chosen: fewest_errors(X[:, list(chosen)], y, weights, intercept=intercept)
        for size in range(p + 1)
        for chosen in itertools.combinations(range(p), size)
    }
    asked: dict[str, Any] = {"loss": "zero_one", "fit_intercept": intercept, "sample_weight": weights}
    kept = fit(X, y, penalty="l0", budget=1, **asked)
    assert kept.bound <= min(e for c, e in errors.items() if len(c) <= 1) + 1e-9
    paid = fit(X, y, penalty="l0", lam=0.06, **asked)
    assert paid.bound <= min(e + 0.06 * len(c) for c, e in errors.items()) + 1e-9


def test_a_multiple_that_differs_by_rounding_alone() -> None:
    """x and 3x/7 are told apart by exact arithmetic, not by predictions: the answer says so."""
    x = np.array([0.1, 1.3, -1.3, -2.3, -0.7, 0.4, 1.4, 0.9])
    X = np.column_stack([3.0 * x / 7.0, x])
    y = np.array([1.0, -1.0, -1.0, -1.0, 1.0, 1.0, -1.0, 1.0])
    best = fewest_errors(X, y, np.ones(8), intercept=True)
    with pytest.warns(NotCertifiedWarning, match="rounding"):
        found = dg.fit(X, y, loss="zero_one", penalty="none")
    alone = dg.fit(X[:, 1:], y, loss="zero_one", penalty="none")
    assert found.bound == pytest.approx(best, abs=1e-12) and best < alone.objective
    assert found.objective <= alone.objective * (1 + 1e-12) and alone.converged
    twice = dg.fit(np.column_stack([x, 2.0 * x]), y, loss="zero_one", penalty="none")
    assert twice.converged and twice.objective == pytest.approx(alone.objective, abs=1e-12)


@pytest.mark.parametrize("seed", range(30))
def test_infeasible_subsets_in_integers(seed: int) -> None:
    rng = np.random.default_rng(seed)
    rows = rng.integers(-3, 4, (int(rng.integers(2, 9)), int(rng.integers(1, 4))))
    subset, u = exact.infeasible(rows.astype(object))
    if subset is None:
        assert np.all(rows @ u > 0.0)
        return
    found = linprog(np.zeros(rows.shape[1]), -rows[subset], -np.ones(len(subset)), bounds=(None, None))
    assert found.status == 2
    for drop in range(len(subset)):
        fewer = np.delete(subset, drop)
        assert exact.infeasible(rows[fewer].astype(object))[0] is None or not len(fewer)


@pytest.mark.parametrize("seed", range(12))
def test_a_frame_loses_nothing(seed: int) -> None:
    rng = np.random.default_rng(seed)
    table = np.column_stack([rng.normal(size=(9, 3)) * 10.0 ** rng.integers(-8, 9, 3), np.ones(9)])
    table = np.column_stack([table, 3.0 * table[:, 0] / 7.0, 2.0 * table[:, 1]])
    found = exact.frame(table)
    assert found.table.shape[1] == 5  # the multiple by two depends on its column, that by 3/7 does not
    sizes = np.linalg.svd(found.table, compute_uv=False)
    assert sizes[-1] > 1e-3 * sizes[0]
    assert np.array_equal(exact.independent(found.rows), np.arange(5))
    side = found.table[:, 0]
    seen = table @ found.weights(np.eye(5)[0])
    assert np.allclose(seen, side, atol=1e-9 * np.abs(side).max() + 1e-12)


def thin(seed: int, n: int, p: int) -> tuple[Matrix, Vector]:
    """Two columns that differ by 1e-7: the data tell them apart, their Gram matrix does not."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, p))
    X[:, 0] = X[:, 1] + 1e-7 * rng.normal(size=n)
    return X, 1e7 * (X[:, 0] - X[:, 1]) + 0.3 * X[:, p - 1] + 0.1 * rng.normal(size=n)


@pytest.mark.parametrize("asked", [{"budget": 2}, {"lam": 0.05}])
@pytest.mark.parametrize("seed", range(4))
def test_squares_of_columns_that_nearly_agree(seed: int, asked: dict[str, float]) -> None:
    X, y = thin(seed, 12, 4)
    rule = Subsets(asked.get("lam", 0.0), int(asked.get("budget", 99)))
    best = best_squares(X, y, np.ones(12), rule)
    found = dg.fit(X, y, loss="squared", penalty="l0", **asked)
    assert found.objective == pytest.approx(best, rel=1e-6) and found.converged
    assert found.bound <= best * (1 + 1e-7) and np.all(found.coef[:2] != 0.0)
    quick = fit(X, y, loss="squared", penalty="l0", solver="hard_thresholding", **asked)
    assert quick.bound <= best * (1 + 1e-7)


def test_many_sets_with_columns_that_nearly_agree() -> None:
    X, y = thin(0, 80, 40)
    found = dg.fit(X, y, loss="squared", penalty="l0", budget=6)
    assert found.converged and np.all(found.coef[:2] != 0.0)


def test_columns_that_differ_by_rounding_alone() -> None:
    """A set does better in exact arithmetic, by weights that no floats are near enough to: it is said."""
    rng = np.random.default_rng(1)
    x, d = rng.normal(size=(2, 12))
    X = np.column_stack([x, x + 2.0**-51 * d])
    with pytest.warns(NotCertifiedWarning, match="but for rounding"):
        found = dg.fit(X, d, loss="squared", penalty="l0", budget=2)
    assert not found.converged and 0.0 < found.bound < found.objective


@pytest.mark.parametrize("name", ["logistic", "hinge", "absolute"])
def test_other_losses_of_columns_that_nearly_agree(name: str) -> None:
    loss = loss_named(name)
    for seed in range(3):
        X, y = thin(seed, 9, 3)
        if name != "absolute":
            y = np.where(y > np.median(y), 1.0, -1.0)
            y[:3] = -y[:3]
        best = best_fit(X, y, np.ones(9), loss, Subsets(0.05))
        found = fit(X, y, loss=loss, penalty="l0", lam=0.05)
        assert found.bound <= best * (1 + 1e-6), seed


def test_a_column_of_one_row() -> None:
    """Its row is fitted exactly, and rounding is all that is left of the dual point there."""
    X, y = np.array([[0.0], [0.0], [1.0]]), np.array([2.0433410161240677, 0.31868440952346927, 0.2])
    for penalty, strength in (("none", {}), ("l0", {"budget": 1})):
        found = dg.fit(X, y, loss="squared", penalty=penalty, sample_weight=[1, 2, 1], **strength)
        assert found.converged and found.bound == pytest.approx(found.objective, rel=1e-9)


@pytest.mark.parametrize("name", ["absolute", "quantile(0.3)", "hinge", "epsilon_insensitive(0.2)"])
def test_vertices_against_linear_programming(name: str) -> None:
    rng = np.random.default_rng(len(name))
    X, y = rng.normal(size=(40, 6)), rng.normal(size=40)
    if name == "hinge":
        y = np.where(y + X[:, 0] > 0.0, 1.0, -1.0)
    reading = read(X, y, loss=name, penalty="l0", budget=3, fit_intercept=False)
    problem = reading.terms.problem(reading.table.design, y)
    relaxation = Relaxation(problem, selection(problem))
    terms, vertex = problem.loss.terms(y), None
    for size in range(6, 0, -1):
        live = np.arange(size)
        got = relaxation.solve(Branch(live[:0], live, size), np.zeros(6), np.inf, vertex)
        assert got.vertex is not None
        vertex = got.vertex
        # least Σ t, t ≥ slope·(x·w − kink) for either slope of every kink
        count = terms.kink.shape[1]
        cost = np.concatenate([np.zeros(size), np.repeat(problem.a, count)])
        rows, right = [], []
        for i, k in itertools.product(range(40), range(count)):
            for slope in (terms.lower[i, k], terms.upper[i, k]):
                above = np.zeros(40 * count)
                above[i * count + k] = -1.0
                rows.append(np.concatenate([slope * X[i, :size], above]))
                right.append(slope * terms.kink[i, k])
        best = linprog(cost, np.array(rows), np.array(right), bounds=(None, None)).fun
        assert got.bound == pytest.approx(best, abs=1e-9) and got.value == pytest.approx(best, abs=1e-9)
