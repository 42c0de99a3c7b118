"""Rows one at a time for the joint hinge: the same optimum as the other solver's, whatever the rows are."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given
from hypothesis import strategies as st

import dualgap as dg
from dualgap.multinomial.hinge_ascent import onto_simplices

ASKED: dict[str, Any] = {"loss": "hinge", "penalty": "l2", "multiclass": "crammer_singer"}


def rows(seed: int, n: int, p: int, classes: int) -> tuple[Any, Any]:
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, p)) + rng.normal(size=p)
    z = 2.0 * X @ rng.normal(size=(p, classes)) + rng.gumbel(size=(n, classes))
    y = z.argmax(axis=1)
    y[:classes] = np.arange(classes)
    return X, y


@pytest.mark.parametrize("intercept", [True, False])
@pytest.mark.parametrize("lam", [1.0, 1e-2, 1e-4])
@pytest.mark.parametrize("seed", [0, 1])
def test_both_solvers_agree(seed: int, lam: float, intercept: bool) -> None:
    X, y = rows(seed, 90, 6, 4)
    weight = np.random.default_rng(seed).integers(0, 4, len(y)).astype(float)
    asked = {**ASKED, "lam": lam, "fit_intercept": intercept, "sample_weight": weight, "tol": 1e-7}
    one = dg.fit(X, y, solver="joint_hinge_ascent", **asked)
    other = dg.fit(X, y, solver="joint_hinge_lagrangian", **asked)
    assert one.solver == "joint_hinge_ascent" and one.relative_gap <= 1e-7
    assert max(one.bound, other.bound) <= min(one.objective, other.objective)
    again = one.certificate.recheck(X, y)
    assert again.gap <= 1.01e-7 * again.objective


@pytest.mark.parametrize("factors", [[0.0, 1.0, 2.0, 1.0, 0.5], [1.0] * 5])
def test_sparse_rows_free_columns_and_empty_rows(factors: list[float]) -> None:
    X, y = rows(3, 80, 5, 3)
    X[np.random.default_rng(3).random(X.shape) < 0.6] = 0.0
    X[10:14] = 0.0
    asked = {**ASKED, "lam": 1e-3, "penalty_factors": factors, "solver": "joint_hinge_ascent", "tol": 1e-6}
    dense, sparse = dg.fit(X, y, **asked), dg.fit(sp.csr_array(X), y, **asked)
    assert dense.converged and sparse.converged
    assert max(dense.bound, sparse.bound) <= min(dense.objective, sparse.objective)


def test_rows_without_any_signal_end_at_zero() -> None:
    rng = np.random.default_rng(5)
    X, y = rng.normal(size=(300, 2)), np.arange(300) % 12
    found = dg.fit(X, y, lam=1.0, max_iter=60, **ASKED)
    assert found.converged and found.objective == pytest.approx(1.0, abs=1e-6)


def test_other_penalties_are_for_the_other_solver() -> None:
    X, y = rows(0, 40, 3, 3)
    with pytest.raises(dg.errors.NoSolverError, match="not l2"):
        dg.fit(X, y, **{**ASKED, "penalty": "l1"}, lam=0.1, solver="joint_hinge_ascent")
    with pytest.raises(dg.errors.NoSolverError, match="constraint"):
        dg.fit(X, y, budget=1.0, solver="joint_hinge_ascent", **ASKED)


@given(st.integers(0, 10_000), st.integers(1, 6), st.floats(-8, 8))
def test_nearest_shares(seed: int, classes: int, scale: float) -> None:
    rng = np.random.default_rng(seed)
    wanted = rng.normal(size=(5, classes)) * 10.0**scale
    found = onto_simplices(wanted)
    size = 1.0 + np.abs(wanted).max()
    assert found.min() >= 0.0 and np.abs(found.sum(axis=1) - 1.0).max() <= 1e-13 * size
    # the nearest point: what is left of the way is no further along any other point of the simplex
    for corner in np.eye(classes):
        inwards = ((wanted - found) * (corner - found)).sum(axis=1)
        assert inwards.max() <= 1e-12 * size**2
