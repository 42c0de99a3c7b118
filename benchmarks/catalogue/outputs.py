"""Several outputs and several quantiles: l21 beside scikit-learn, quantiles that do not cross beside a conic
solver, and the whole process over the quantiles beside linear programs at some of them.

scikit-learn's MultiTaskLasso has half of our λ.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np

import dualgap as dg
from benchmarks.catalogue.counts import columns
from benchmarks.catalogue.task import Task
from benchmarks.cells import Cell
from benchmarks.rivals import TOLERANCES, Ladder

RATIO = 20.0  # of the strength at which all weights are zero
LEVELS = (0.1, 0.5, 0.9)
SOME = 9  # quantiles at which the whole process is judged, and each peer solves


def cells() -> Iterator[Cell]:
    """Every problem with the ratio that must be reached."""
    made: tuple[tuple[str, Callable[[int], Task], tuple[str, ...], float], ...] = (
        ("squared+l21 1000x2000, 10 outputs", partial(_priced, 1000, 2000, 10), ("scikit-learn",), 1.0),
        ("squared+l21 20000x100, 5 outputs", partial(_priced, 20_000, 100, 5), ("scikit-learn",), 1.0),
        ("squared+l2 20000x100, 10 outputs", partial(_ridge, 20_000, 100, 10), ("scikit-learn",), 1.0),
        ("3 quantiles, none crossing 2000x10", partial(_quantiles, 2000, 10), ("piqp", "clarabel"), 1.0),
        ("quantile process 1000x10", partial(_process, 1000, 10), ("highs",), 1.0),
    )
    for name, make, peers, must in made:
        yield Cell(name, make, peers, must)  # type: ignore[arg-type]


def _table(n: int, p: int, m: int, seed: int) -> tuple[Any, Any]:
    """Twenty columns have weights, in all outputs."""
    rng = np.random.default_rng(seed)
    X, W = np.asfortranarray(columns(max(n, p + 1), p, rng)[:n]), np.zeros((p, m))
    W[rng.choice(p, 20, replace=False)] = rng.standard_normal((20, m))
    return X, X @ W + rng.standard_normal((n, m))


def _priced(n: int, p: int, m: int, seed: int) -> Task:
    X, Y = _table(n, p, m, seed)
    pull = np.linalg.norm((X - X.mean(axis=0)).T @ (Y - Y.mean(axis=0)), axis=1)
    lam = 2.0 * float(pull.max()) / n / RATIO

    def objective(W: Any, b: Any) -> float:
        r = X @ np.asarray(W).T + b - Y
        return float((r * r).sum() / n + lam * np.linalg.norm(W, axis=0).sum())

    def solve(tol: float) -> tuple[Any, Any]:
        from sklearn.linear_model import MultiTaskLasso

        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            model = MultiTaskLasso(alpha=lam / 2.0, tol=tol, max_iter=100_000).fit(X, Y)
        return model.coef_, model.intercept_

    asked = {"loss": "squared", "penalty": "l21", "lam": lam}
    return Task(X, Y, asked, objective, {"scikit-learn": partial(_rungs, solve)})


def _ridge(n: int, p: int, m: int, seed: int) -> Task:
    X, Y = _table(n, p, m, seed)

    def objective(W: Any, b: Any) -> float:
        r = X @ np.asarray(W).T + b - Y
        return float((r * r).sum() / n + np.square(W).sum() / n)

    def solve() -> tuple[Any, Any]:
        from sklearn.linear_model import Ridge

        model = Ridge(alpha=1.0).fit(X, Y)
        return model.coef_, model.intercept_

    asked = {"loss": "squared", "penalty": "l2", "lam": 1.0 / n}
    return Task(X, Y, asked, objective, {"scikit-learn": lambda: [("cholesky", solve)]})


def _rungs(solve: Callable[[float], tuple[Any, Any]]) -> Ladder:
    return [(f"tol {tol:g}", partial(solve, tol)) for tol in TOLERANCES[1:]]


def _rows(n: int, p: int, seed: int) -> tuple[Any, np.ndarray]:
    """Noise that is wider where the first column is large."""
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, p))
    return X, X @ rng.standard_normal(p) + (1.0 + 0.5 * np.abs(X[:, 0])) * rng.standard_t(4, n)


def _check(levels: Any, X: Any, y: np.ndarray, W: Any, b: Any) -> float:
    r = y[:, None] - X @ np.asarray(W).T - np.asarray(b)
    return float(np.maximum(levels * r, (np.asarray(levels) - 1.0) * r).mean(axis=0).sum())


def _quantiles(n: int, p: int, seed: int) -> Task:
    X, y = _rows(n, p, seed)

    def solve(name: str, tol: float) -> tuple[Any, Any]:
        import cvxpy as cp

        W, b = cp.Variable((len(LEVELS), p)), cp.Variable(len(LEVELS))
        z = [X @ W[k] + b[k] for k in range(len(LEVELS))]
        each = [cp.sum(cp.maximum(q * (y - z[k]), (q - 1.0) * (y - z[k]))) for k, q in enumerate(LEVELS)]
        apart = [z[k + 1] - z[k] >= 0.0 for k in range(len(LEVELS) - 1)]
        keys = ("eps_abs", "eps_rel") if name == "PIQP" else ("tol_gap_abs", "tol_gap_rel", "tol_feas")
        cp.Problem(cp.Minimize(sum(each) / n), apart).solve(solver=name, **dict.fromkeys(keys, tol))
        return W.value, b.value

    def ladder(name: str) -> Ladder:
        import cvxpy

        if name not in cvxpy.installed_solvers():
            raise ImportError(name)
        return [(f"{name.lower()} {tol:g}", partial(solve, name, tol)) for tol in (1e-6, 1e-8)]

    asked = {"loss": f"quantiles({', '.join(map(str, LEVELS))})", "penalty": "none"}
    peers = {name.lower(): partial(ladder, name) for name in ("PIQP", "CLARABEL")}
    return Task(X, y, asked, partial(_check, LEVELS, X, y), peers)


@dataclass(frozen=True)
class Process(Task):
    """The whole path over the quantiles, judged at some of them."""

    levels: tuple[float, ...] = ()

    def _solve(self) -> tuple[Any, ...]:
        path: Any = dg.path(self.X, self.y, loss="quantile", over="quantile")
        found = [path.solution(quantile=q) for q in self.levels]
        worst = max(one.relative_gap for one in found)
        return np.array([s.coef for s in found]), np.array([s.intercept for s in found]), worst, "path"


def _process(n: int, p: int, seed: int) -> Task:
    X, y = _rows(n, p, seed)
    levels = tuple(float(q) for q in np.random.default_rng(seed + 1).uniform(0.02, 0.98, SOME))

    def solve() -> tuple[Any, Any]:
        from sklearn.linear_model import QuantileRegressor

        models = [QuantileRegressor(quantile=q, alpha=0.0, solver="highs").fit(X, y) for q in levels]
        return np.array([m.coef_ for m in models]), np.array([m.intercept_ for m in models])

    judge, peers = partial(_check, levels, X, y), {"highs": lambda: [("each quantile", solve)]}
    return Process(X, y, {}, judge, peers, levels)
