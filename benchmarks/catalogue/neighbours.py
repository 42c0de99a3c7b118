"""Differences of neighbours beside celer on running sums and a conic solver.

Our λ is of mean loss + λ h, the squared loss without ½: celer has half of that λ.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

import numpy as np

from benchmarks.catalogue.counts import columns
from benchmarks.catalogue.task import Task
from benchmarks.cells import Cell
from benchmarks.rivals import TOLERANCES, Ladder

RATIO = 20.0  # of the strength at which all differences are zero


def cells() -> Iterator[Cell]:
    """Every problem with the ratio that must be reached."""
    makes: tuple[tuple[str, Callable[[int], Task], tuple[str, ...], float], ...] = (
        ("squared+fused(1) 1000x500", partial(regression, 1), ("celer",), 1.0),
        ("squared+fused(2) 1000x500", partial(regression, 2), ("conic",), 1.0),
        ("squared+fused(1) signal 2000", partial(signal, 1), ("conic",), 0.1),
    )
    for name, make, peers, must in makes:
        yield Cell(name, make, peers, must)  # type: ignore[arg-type]


def regression(order: int, seed: int) -> Task:
    """Twenty pieces of the weights."""
    rng = np.random.default_rng(seed)
    X = columns(1000, 500, rng)
    w = np.repeat(rng.standard_normal(20), 25)
    for _ in range(order - 1):
        w = np.cumsum(w) / 25.0
    z = X @ w
    return _task(order, X, z + 0.3 * z.std() * rng.standard_normal(1000), intercept=True)


def signal(order: int, seed: int) -> Task:
    """Twenty steps in noise, X the identity."""
    rng = np.random.default_rng(seed)
    y = np.repeat(rng.standard_normal(20), 100) + 0.5 * rng.standard_normal(2000)
    return _task(order, np.eye(2000), y, intercept=False)


def _sums(order: int, X: np.ndarray) -> np.ndarray:
    """The columns of the differences: running sums from the right."""
    for first in range(order):
        X = np.column_stack([X[:, :first], np.cumsum(X[:, first:][:, ::-1], axis=1)[:, ::-1]])
    return X


def _task(order: int, X: np.ndarray, y: np.ndarray, *, intercept: bool) -> Task:
    inner = _sums(order, X)
    free = np.column_stack([inner[:, :order], np.ones(len(y))[:, None]] if intercept else [inner[:, :order]])
    rest = y - free @ np.linalg.lstsq(free, y, rcond=None)[0]
    lam = 2.0 * float(np.abs(inner[:, order:].T @ rest).max()) / len(y) / RATIO
    asked = {"loss": "squared", "penalty": f"fused({order})", "lam": lam, "fit_intercept": intercept}
    known = (order, lam, X, y, free, inner[:, order:])
    peers = {"celer": partial(_celer, *known), "conic": partial(_conic, *known)}
    return Task(X, y, asked, partial(_objective, *known[:4]), peers)


def _objective(order: int, lam: float, X: Any, y: Any, w: Any, b: Any) -> float:
    miss = X @ np.ravel(w) + float(np.ravel(b)[0]) - y
    return float((miss**2).mean()) + lam * float(np.abs(np.diff(np.ravel(w), order)).sum())


def _celer(order: int, lam: float, X: Any, y: Any, free: Any, inner: Any) -> Ladder:
    """By hand: the free columns are projected out of the running sums and of y."""
    from celer import Lasso

    def solve(tol: float) -> tuple[Any, Any]:
        basis = np.linalg.qr(free)[0]
        table = np.asfortranarray(inner - basis @ (basis.T @ inner))
        target = y - basis @ (basis.T @ y)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            model = Lasso(alpha=lam / 2.0, tol=tol, fit_intercept=False, max_iter=200)
            beta = model.fit(table, target).coef_
        first = np.linalg.lstsq(free, y - inner @ beta, rcond=None)[0]
        w = np.append(first[:order], beta)
        for start in range(order - 1, -1, -1):
            w[start:] = np.cumsum(w[start:])
        return w, first[-1] if free.shape[1] > order else 0.0

    return [(f"{tol:g}", partial(solve, tol)) for tol in TOLERANCES[1:]]


def _conic(order: int, lam: float, X: Any, y: Any, free: Any, inner: Any) -> Ladder:
    import cvxpy as cp

    def solve(tol: float) -> tuple[Any, Any]:
        w, b = cp.Variable(X.shape[1]), cp.Variable()
        z = X @ w + (b if free.shape[1] > order else 0.0)
        size = cp.norm(cp.diff(w, order), 1)
        limits = {name: tol for name in ("tol_gap_abs", "tol_gap_rel", "tol_feas")}
        problem = cp.Problem(cp.Minimize(cp.sum_squares(z - y) / len(y) + lam * size))
        problem.solve(solver="CLARABEL", **limits)
        return w.value, 0.0 if b.value is None else b.value

    return [(f"clarabel {tol:g}", partial(solve, tol)) for tol in (1e-6, 1e-8)]
