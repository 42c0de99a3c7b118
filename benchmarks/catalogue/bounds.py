"""Signs, bounds and constraints: against SciPy and scikit-learn where they state it, else a conic solver."""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from functools import partial
from typing import Any

import numpy as np

from benchmarks.catalogue.counts import columns
from benchmarks.catalogue.task import Task
from benchmarks.cells import Cell
from benchmarks.rivals import TOLERANCES, Ladder

CONIC = ("cvxpy_clarabel",)


def cells() -> Iterator[Cell]:
    """Every problem with the ratio that must be reached."""
    for held, peers in (("nonnegative", ("nnls", "lbfgsb")), ("box", ("lsq_linear", "lbfgsb"))):
        yield _cell("squared", "none", held, (20_000, 100), peers, 1.0)
    yield _cell("logistic", "l2", "box", (20_000, 50), ("lbfgsb",), 1.0)
    yield _cell("squared", "l2", "monotone", (5000, 50), ("glum", *CONIC), 1.0)
    yield _cell("squared", "none", "nonnegative", (500, 2000), ("nnls",), 1.0)
    yield _cell("squared", "l1", "nonnegative", (1000, 5000), ("sklearn",), 1.0)
    for loss in ("squared", "logistic", "absolute", "hinge", "huber(1.35)", "quantile(0.3)"):
        for held in ("nonnegative", "box", "rows"):
            yield _cell(loss, "l1", held, (2000, 100), CONIC, 10.0)


def _cell(
    loss: str, penalty: str, held: str, size: tuple[int, int], peers: tuple[str, ...], must: float
) -> Cell:
    name = f"{loss}+{penalty}, {held} {size[0]}x{size[1]}"
    return Cell(name, partial(task, loss, penalty, held, size), peers, must)  # type: ignore[arg-type]


def task(loss: str, penalty: str, held: str, size: tuple[int, int], seed: int) -> Task:
    """A fifth of the columns are true, of either sign."""
    rng = np.random.default_rng(seed)
    (n, p), wide = size, size[1] > size[0] and penalty == "none"
    X = np.asfortranarray(
        np.abs(columns(p, n, rng).T) if wide else columns(n, p, rng) if p < n else rng.normal(size=size)
    )
    w = rng.standard_normal(p) * (rng.random(p) < 0.2)
    z = X @ (np.abs(w) if wide else w)
    y = z + rng.standard_normal(n) * (1.0 + 0.1 * float(z.std()))
    labels = loss in ("logistic", "hinge")
    y = np.where(y > np.median(y), 1.0, -1.0) if labels else y
    pull = 2.0 * (y - y.mean()) if loss == "squared" else np.sign(y - np.median(y))
    lam = float(np.abs(X.T @ pull).max()) / n / 20 if penalty == "l1" else 1e-3 * (penalty == "l2")
    low, high = (
        (0.0, np.inf) if held == "nonnegative" else (-0.2, 0.2) if held == "box" else (-np.inf, np.inf)
    )
    asked: dict[str, Any] = {"loss": loss, "penalty": penalty, "fit_intercept": penalty != "none"}
    asked |= {"lam": lam} if lam else {}
    rows = {
        "rows": (np.ones((1, p)), 1.0, 1.0),
        "monotone": (np.diff(np.eye(p), axis=0), np.zeros(p - 1), np.full(p - 1, np.inf)),
    }
    asked |= {"constraints": rows[held]} if held in rows else {"bounds": (low, high)}
    known = (loss, penalty, lam, X, y, low, high, held)
    peers = {
        "nnls": partial(_nnls, X, y),
        "lsq_linear": partial(_lsq_linear, X, y, low, high),
        "lbfgsb": partial(_lbfgsb, loss, lam, X, y, low, high),
        "glum": partial(_glum, X, y, lam),
        "sklearn": partial(_sklearn, X, y, lam),
        "cvxpy_clarabel": partial(_conic, *known),
    }
    return Task(X, y, asked, partial(_objective, *known), peers)


def _objective(  # noqa: PLR0913
    loss: str, penalty: str, lam: float, X: Any, y: Any, low: float, high: float, held: str, w: Any, b: Any
) -> float:
    """Infinite outside, but for rounding."""
    import dualgap as dg

    w = np.asarray(w, dtype=float).ravel()
    away = {"rows": lambda: abs(float(w.sum()) - 1.0), "monotone": lambda: float(-np.diff(w).min())}
    off = away[held]() if held in away else float(np.maximum(low - w, w - high).max())
    if off > 1e-5:
        return np.inf
    name, _, rest = loss.partition("(")
    one = dg.losses.CATALOGUE[name](*([float(rest[:-1])] if rest else []))
    value = one.value(y, X @ w + float(np.ravel(b)[0]))
    return float(np.mean(value)) + lam * float(w @ w if penalty == "l2" else np.abs(w).sum())


def _lbfgsb(loss: str, lam: float, X: Any, y: Any, low: float, high: float) -> Ladder:
    """SciPy's, on the Gram matrix where the loss is squared; the logistic one with an intercept."""
    from scipy.optimize import minimize
    from scipy.special import expit

    n, p = X.shape

    def solve(tol: float) -> tuple[Any, Any]:
        if loss == "squared":
            gram, pull = X.T @ X / n, X.T @ y / n

            def both(w: Any) -> tuple[float, Any]:
                image = gram @ w
                return float(w @ image - 2.0 * pull @ w), 2.0 * (image - pull)

            ends = [(low, high)] * p
        else:

            def both(w: Any) -> tuple[float, Any]:
                m = y * (X @ w[:p] + w[p])
                slope = -y * expit(-m) / n
                value = float(np.logaddexp(0.0, -m).mean() + lam * (w[:p] @ w[:p]))
                return value, np.append(X.T @ slope + 2.0 * lam * w[:p], slope.sum())

            ends = [(low, high)] * p + [(-np.inf, np.inf)]
        options = {"ftol": 1e-15, "gtol": tol, "maxiter": 10_000}
        found = minimize(both, np.zeros(len(ends)), jac=True, bounds=ends, method="L-BFGS-B", options=options)
        return found.x[:p], found.x[p] if len(found.x) > p else 0.0

    return [(f"{tol:g}", partial(solve, tol)) for tol in TOLERANCES]


def _glum(X: Any, y: Any, lam: float) -> Ladder:
    from glum import GeneralizedLinearRegressor

    rises = -np.diff(np.eye(X.shape[1]), axis=0)

    def solve(tol: float) -> tuple[Any, Any]:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            found = GeneralizedLinearRegressor(
                family="normal",
                alpha=lam,
                l1_ratio=0.0,
                A_ineq=rises,
                b_ineq=np.zeros(len(rises)),
                gradient_tol=tol,
                max_iter=10_000,
            ).fit(X, y)
        return found.coef_, found.intercept_

    return [(f"{tol:g}", partial(solve, tol)) for tol in TOLERANCES]


def _nnls(X: Any, y: Any) -> Ladder:
    from scipy.optimize import nnls

    return [("nnls", lambda: (nnls(X, y)[0], 0.0))]


def _lsq_linear(X: Any, y: Any, low: float, high: float) -> Ladder:
    from scipy.optimize import lsq_linear

    return [
        (f"{tol:g}", partial(lambda t: (lsq_linear(X, y, (low, high), tol=t).x, 0.0), tol))
        for tol in TOLERANCES
    ]


def _sklearn(X: Any, y: Any, lam: float) -> Ladder:
    from sklearn.linear_model import Lasso

    def solve(tol: float) -> tuple[Any, Any]:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            found = Lasso(alpha=lam / 2, positive=True, tol=tol, max_iter=100_000).fit(X, y)
        return found.coef_, found.intercept_

    return [(f"{tol:g}", partial(solve, tol)) for tol in TOLERANCES]


def _conic(  # noqa: PLR0913
    loss: str, penalty: str, lam: float, X: Any, y: Any, low: float, high: float, held: str
) -> Ladder:
    import cvxpy as cp

    def solve() -> tuple[Any, Any]:
        w, b = cp.Variable(X.shape[1]), cp.Variable()
        z = X @ w + b
        r, m = z - y, cp.multiply(y, z)
        words = {
            "squared": lambda: cp.sum_squares(r),
            "absolute": lambda: cp.norm1(r),
            "quantile(0.3)": lambda: cp.sum(cp.maximum(-0.3 * r, 0.7 * r)),
            "huber(1.35)": lambda: cp.sum(cp.huber(r, 1.35)),
            "hinge": lambda: cp.sum(cp.pos(1 - m)),
            "logistic": lambda: cp.sum(cp.logistic(-m)),
        }
        within = [w >= low] + ([w <= high] if np.isfinite(high) else [])
        rules = {"rows": [cp.sum(w) == 1], "monotone": [cp.diff(w) >= 0]}.get(held, within)
        size = cp.sum_squares(w) if penalty == "l2" else cp.norm1(w)
        cp.Problem(cp.Minimize(words[loss]() / len(y) + lam * size), rules).solve(solver="CLARABEL")
        found = np.clip(w.value, low, high)
        return found, b.value

    return [("clarabel", solve)]
