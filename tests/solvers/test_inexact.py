"""Sparse systems without a dense factor, against dense ones; and data on raw scales."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp

import dualgap as dg
from dualgap.arrays import Vector
from dualgap.design import WithOnes
from dualgap.design.compressed import Compressed
from dualgap.solvers.augmented_lagrangian.system import NewtonSystem
from dualgap.solvers.augmented_lagrangian.weights import WeightCurve
from dualgap.solvers.interior_point.inexact import FINE, Inexact, Left, SparseLines


def sparse(n: int, p: int, seed: int, density: float = 0.05) -> sp.csr_array:
    rng = np.random.default_rng(seed)
    return sp.csr_array(sp.random_array((n, p), density=density, rng=rng, data_sampler=rng.standard_normal))


@pytest.mark.parametrize("rows", [True, False])
@pytest.mark.parametrize("spread", [1.0, 6.0, 12.0])  # decades of the weights: diagonal, few lines, all lines
def test_solves_as_a_dense_factor_does(rows: bool, spread: float) -> None:
    rng = np.random.default_rng(7)
    X = sparse(900, 800, 1)
    lines = SparseLines(WithOnes(Compressed(X)), rows=rows)
    array = np.column_stack([X.toarray(), np.ones(900)])
    across = array.T if rows else array
    np.testing.assert_allclose(lines.across.toarray(), across)
    weight = 10.0 ** rng.uniform(-spread, 0.0, across.shape[1])
    base = 10.0 ** rng.uniform(-0.5 * spread, 0.0, len(across))
    matrix = (across * weight) @ across.T + np.diag(base)

    def apply(x: Vector) -> Vector:
        return np.asarray(matrix @ x)

    inexact = Inexact(lines)
    inexact.accuracy = FINE
    inexact.take(Left(apply, base, weight))
    right = rng.normal(size=(len(across), 2)) * np.sqrt(matrix.diagonal())[:, None]
    found = inexact.solve(right)
    unit = np.sqrt(matrix.diagonal())[:, None]
    assert np.linalg.norm((matrix @ found - right) / unit) <= 2.0 * FINE * np.linalg.norm(right / unit)


def test_rows_on_a_kink_are_solved_with_few_products() -> None:
    """Late in a run the base of a row on a kink is 1e-20 of its diagonal: not to be divided by."""
    rng = np.random.default_rng(11)
    order, heavy, tight = 900, 450, 440
    lines = SparseLines(Compressed(sparse(1200, order, 5, density=0.01)), rows=True)
    weight = np.where(np.arange(1200) < heavy, 1e11, 1e-10) * 10.0 ** rng.uniform(-1.0, 1.0, 1200)
    base = np.where(np.arange(order) < tight, 1e-8, 1e8) * 10.0 ** rng.uniform(-2.0, 2.0, order)
    products = [0]

    def apply(x: Vector) -> Vector:
        products[0] += 1
        return np.asarray(lines.across @ (weight * (lines.lines @ x)) + base * x)

    inexact = Inexact(lines)
    inexact.accuracy = 1e-8
    inexact.take(Left(apply, base, weight))
    inexact.solve(rng.normal(size=order) * np.sqrt(base + lines.square_across @ weight))
    assert products[0] <= 200  # more than 300 where it is divided by


@pytest.mark.parametrize("shape", [(700, 600), (600, 900)])
@pytest.mark.parametrize(
    ("loss", "penalty", "strength"),
    [
        ("absolute", "l1", {"lam": 0.002}),
        ("quantile(0.9)", "linf", {"budget": 0.3}),
        ("hinge", "elastic_net(0.5)", {"lam": 0.01}),
        ("logistic", "linf", {"lam": 0.1}),
        ("huber(1.35)", "l1", {"budget": 2.0}),
        ("squared_hinge", "l2", {"budget": 1.0}),
    ],
)
def test_proven_without_a_dense_factor(
    shape: tuple[int, int],
    loss: str,
    penalty: str,
    strength: dict[str, Any],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    X = sparse(*shape, seed=3, density=0.01)
    rng = np.random.default_rng(4)
    y = X @ (rng.normal(size=shape[1]) * (rng.random(shape[1]) < 0.1)) + 0.3 * rng.normal(size=shape[0])
    if loss in ("hinge", "logistic", "squared_hinge"):
        y = np.where(y > 0.0, 1.0, -1.0)
    taken: list[Inexact] = []
    begin = Inexact.__init__

    def noted(self: Inexact, lines: SparseLines) -> None:
        taken.append(self)
        begin(self, lines)

    monkeypatch.setattr(Inexact, "__init__", noted)
    inexact = dg.fit(X, y, loss=loss, penalty=penalty, solver="interior_point", **strength)
    assert inexact.converged and taken
    dense = dg.fit(X.toarray(), y, loss=loss, penalty=penalty, **strength)
    assert dense.converged
    assert abs(inexact.objective - dense.objective) <= 2e-6 * abs(dense.objective)


@pytest.mark.parametrize("loss", ["exponential", "logistic", "absolute"])
def test_columns_of_raw_scales_under_one_largest_weight(loss: str) -> None:
    # weights may differ by 1e8, and with them what the elimination multiplies by
    rng = np.random.default_rng(190)
    X = rng.normal(size=(60, 400)) * 10.0 ** rng.uniform(-4.0, 4.0, 400)
    y = np.where(X @ (rng.normal(size=400) / np.abs(X).max(axis=0)) > 0.0, 1.0, -1.0)
    lam = 1e-3 * float(np.abs(X.T @ y).max()) / 60
    solution = dg.fit(X, y, loss=loss, penalty="linf", lam=lam, solver="interior_point")
    assert solution.converged


@pytest.mark.parametrize("shape", [(2500, 1200), (1300, 2600)])
@pytest.mark.parametrize("sign", [0.0, 1.0])
@pytest.mark.parametrize("stiff", [1.0, 1e6])  # gradients alone, and with a factor in 4-byte numbers
def test_newton_systems_of_multipliers_without_a_dense_factor(
    shape: tuple[int, int], sign: float, stiff: float
) -> None:
    (n, p), rng = shape, np.random.default_rng(5)
    X = sparse(n, p, 6, density=0.004)
    curvature = stiff * np.where(rng.random(n) < 0.7, rng.uniform(0.5, 2.0, n), 0.0)
    rank_one = 0.1 * rng.normal(size=p) if sign else None
    penalty = WeightCurve(np.zeros(p), rng.uniform(0.5, 2.0, p), rank_one, None, np.zeros(p))
    right = rng.normal(size=p)
    x = NewtonSystem(Compressed(X), curvature, penalty, 1e-3).solve(right, np.zeros(p, dtype=bool))
    product = X.T @ (curvature * (X @ x)) + penalty.times(x) + 1e-3 * x
    unit = np.sqrt(X.power(2).T @ curvature + penalty.diagonal)
    assert np.linalg.norm((product - right) / unit) <= 2e-3 * np.linalg.norm(right / unit)


def test_many_sweeps_over_sparse_rows_are_more_than_an_interior_point_without_its_factor() -> None:
    """It was reckoned as if each step took a dense factor; sweeps took 10 s where it took one."""
    X, y = abs(sparse(6000, 1500, 3, 0.004)), np.random.default_rng(0).standard_normal(6000)
    for lam, first in ((1e-3, "dual_coordinate_ascent"), (1e-5, "interior_point")):
        told = str(dg.explain(X, y, loss="absolute", penalty="l2", lam=lam)).splitlines()
        assert told[1].split()[0] == first
