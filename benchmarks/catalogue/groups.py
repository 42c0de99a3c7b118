"""Groups of columns and sorted prices, beside adelie, skglm and a conic solver.

Our λ is of mean loss + λ Σ √|g| ‖w_g‖, the squared loss without ½: adelie and skglm have half of that λ
there, and the same λ for the logistic and poisson losses.
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

SIZE = 5  # columns of a group
RATIO = 20.0  # of the strength at which all weights are zero
CELLS = (  # loss, penalty, rows and columns, peers, what must be reached
    ("squared", "group_lasso", (1000, 5000), ("adelie", "skglm"), 1.0),
    ("squared", "group_lasso", (20_000, 200), ("adelie", "skglm"), 1.0),
    ("logistic", "group_lasso", (2000, 1000), ("adelie",), 1.0),
    ("poisson", "group_lasso", (2000, 500), ("adelie", "conic"), 1.0),
    ("quantile(0.5)", "group_lasso", (1000, 200), ("conic",), 10.0),
    ("hinge", "group_lasso", (1000, 200), ("conic",), 10.0),
    ("squared", "sparse_group(0.5)", (1000, 1000), ("conic",), 10.0),
    ("squared", "slope(0.1)", (500, 2000), ("skglm",), 1.0),
)


def cells() -> Iterator[Cell]:
    """Every problem with the ratio that must be reached."""
    for loss, penalty, size, peers, must in CELLS:
        make: Callable[[int], Task] = partial(task, loss, penalty, size)
        yield Cell(f"{loss}+{penalty} {size[0]}x{size[1]}", make, peers, must)  # type: ignore[arg-type]


def task(loss: str, penalty: str, size: tuple[int, int], seed: int) -> Task:
    """Ten groups have weights."""
    rng = np.random.default_rng(seed)
    n, p = size
    X, w = columns(max(n, p + 1), p, rng)[:n], np.zeros(p)
    X = np.asfortranarray(X)
    for g in rng.choice(p // SIZE, 10, replace=False):
        w[g * SIZE : (g + 1) * SIZE] = rng.standard_normal(SIZE)
    z = X @ w
    if loss == "poisson":
        y = rng.poisson(np.exp(0.1 * z)).astype(float)
    elif loss in ("logistic", "hinge"):
        y = np.where(z + rng.standard_normal(n) > 0.0, 1.0, -1.0)
    else:
        y = z + rng.standard_normal(n)
    known = (loss, penalty, _strength(loss, penalty, X, y), X, y)
    asked: dict[str, Any] = {"loss": loss, "penalty": penalty, "lam": known[2]}
    if "group" in penalty:
        asked["groups"] = np.arange(p) // SIZE
    peers = {peer: partial(globals()[f"_{peer}"], *known) for peer in ("adelie", "skglm", "conic")}
    return Task(X, y, asked, partial(_objective, *known), peers)


def _strength(loss: str, penalty: str, X: np.ndarray, y: np.ndarray) -> float:
    """A share of about the strength at which all weights are zero, from slopes at w = 0."""
    half = {"logistic": 0.5, "hinge": 1.0, "poisson": 1.0}.get(loss, 2.0 if loss == "squared" else 0.5)
    slope = np.sign(y - np.median(y)) if loss.startswith("quantile") else y - y.mean()
    pull = half * np.abs(X.T @ slope) / len(y)
    if "group" in penalty:
        return float(np.linalg.norm(pull.reshape(-1, SIZE), axis=1).max()) / SIZE**0.5 / RATIO
    return float((np.cumsum(np.sort(pull)[::-1]) / np.cumsum(_prices(len(pull)))).max()) / RATIO


def _prices(p: int) -> np.ndarray:
    from scipy.special import ndtri

    return np.asarray(-ndtri(np.arange(1, p + 1) * 0.1 / (2 * p)))


def _objective(loss: str, penalty: str, lam: float, X: Any, y: np.ndarray, w: Any, b: Any) -> float:
    w = np.asarray(w).ravel()
    z = X @ w + float(np.ravel(b)[0])
    rows = {
        "squared": lambda: (z - y) ** 2,
        "logistic": lambda: np.logaddexp(0.0, -y * z),
        "poisson": lambda: np.exp(z) - y * z - y + y * np.log(np.where(y > 0.0, y, 1.0)),
        "hinge": lambda: np.maximum(1.0 - y * z, 0.0),
        "quantile(0.5)": lambda: 0.5 * np.abs(z - y),
    }[loss]()
    if penalty.startswith("slope"):
        size = float(_prices(len(w)) @ np.sort(np.abs(w))[::-1])
    else:
        size = SIZE**0.5 * float(np.linalg.norm(w.reshape(-1, SIZE), axis=1).sum())
        if penalty != "group_lasso":
            size = 0.5 * float(np.abs(w).sum()) + 0.5 * size
    return float(rows.mean()) + lam * size


def _adelie(loss: str, penalty: str, lam: float, X: Any, y: np.ndarray) -> Ladder:
    import adelie as ad

    p = X.shape[1]
    family = {
        "squared": lambda: ad.glm.gaussian(y),
        "logistic": lambda: ad.glm.binomial((y > 0.0).astype(float)),
        "poisson": lambda: ad.glm.poisson(y),
    }[loss]
    last = lam / 2.0 if loss == "squared" else lam

    def solve(tol: float) -> tuple[Any, Any]:
        state = ad.grpnet(
            X,
            family(),
            groups=np.arange(0, p, SIZE),
            lmda_path=[last],
            tol=tol,
            irls_tol=tol,
            early_exit=False,
            progress_bar=False,
            n_threads=1,
        )
        return state.betas[-1].toarray().ravel(), state.intercepts[-1]

    return [(f"{tol:g}", partial(solve, tol)) for tol in TOLERANCES]


def _skglm(loss: str, penalty: str, lam: float, X: Any, y: np.ndarray) -> Ladder:
    from skglm.datafits import Quadratic, QuadraticGroup
    from skglm.penalties import SLOPE, WeightedGroupL2
    from skglm.solvers import FISTA, GroupBCD
    from skglm.utils.data import grp_converter
    from skglm.utils.jit_compilation import compiled_clone

    p = X.shape[1]
    centre, level = X.mean(axis=0), float(y.mean())
    inner, target = np.asfortranarray(X - centre), y - level

    def solve(tol: float) -> tuple[Any, Any]:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            if penalty.startswith("slope"):
                price = compiled_clone(SLOPE(lam / 2.0 * _prices(p)))
                fit = compiled_clone(Quadratic())
                fit.initialize(inner, target)
                w = FISTA(max_iter=100_000, tol=tol).solve(inner, target, fit, price)[0]
            else:
                indices, starts = grp_converter(SIZE, p)
                weights = np.full(p // SIZE, SIZE**0.5)
                price = compiled_clone(WeightedGroupL2(lam / 2.0, weights, starts, indices))
                fit = compiled_clone(QuadraticGroup(starts, indices))
                w = GroupBCD(max_iter=1000, tol=tol).solve(inner, target, fit, price)[0]
        return w, level - float(centre @ w)

    return [(f"{tol:g}", partial(solve, tol)) for tol in TOLERANCES]


def _conic(loss: str, penalty: str, lam: float, X: Any, y: np.ndarray) -> Ladder:
    import cvxpy as cp

    n, p = X.shape

    def solve(tol: float) -> tuple[Any, Any]:
        w, b = cp.Variable(p), cp.Variable()
        z = X @ w + b
        risk = {
            "squared": lambda: cp.sum_squares(z - y),
            "poisson": lambda: cp.sum(cp.exp(z) - cp.multiply(y, z)),
            "hinge": lambda: cp.sum(cp.pos(1 - cp.multiply(y, z))),
            "quantile(0.5)": lambda: 0.5 * cp.norm(z - y, 1),
        }[loss]()
        size = SIZE**0.5 * cp.sum(cp.norm(cp.reshape(w, (p // SIZE, SIZE), order="C"), 2, axis=1))
        if penalty != "group_lasso":
            size = 0.5 * cp.norm(w, 1) + 0.5 * size
        limits = {name: tol for name in ("tol_gap_abs", "tol_gap_rel", "tol_feas")}
        cp.Problem(cp.Minimize(risk / n + lam * size)).solve(solver="CLARABEL", **limits)
        return w.value, b.value

    return [(f"clarabel {tol:g}", partial(solve, tol)) for tol in (1e-6, 1e-8)]
