"""Counts, amounts and rates: poisson and gamma with l2 and l1, with and without exposure.

Our λ is of mean half deviance + λh: scikit-learn, glum and skglm have the same mean with ½ or none before
the square, adelie half the deviance without what does not depend on w.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

import numpy as np
import scipy.sparse as sp

from benchmarks.catalogue.task import Task
from benchmarks.cells import Cell
from benchmarks.rivals import TOLERANCES, Ladder

PEERS = {"l2": ("sklearn", "glum", "adelie"), "l1": ("adelie", "skglm", "glum")}
SIZES = ((20_000, 100), (2000, 1000), (20_000, 20_000))
STORED = 1e-3  # of a sparse matrix


def cells() -> Iterator[Cell]:
    """Every problem with the ratio that must be reached."""
    for loss in ("poisson", "gamma"):
        for penalty in ("l2", "l1"):
            for size in SIZES:
                yield _cell(loss, penalty, size)
    for penalty in ("l2", "l1"):
        yield _cell("poisson", penalty, SIZES[0], exposed=True)


def _cell(loss: str, penalty: str, size: tuple[int, int], *, exposed: bool = False) -> Cell:
    kind = "sparse " if size[1] >= size[0] else ""
    name = f"{loss}+{penalty} {kind}{size[0]}x{size[1]}" + (", exposure" if exposed else "")
    peers = tuple(peer for peer in PEERS[penalty] if not exposed or peer in ("glum", "adelie"))
    make: Callable[[int], Task] = partial(task, loss, penalty, size, exposed)
    return Cell(name, make, peers, 1.0)  # type: ignore[arg-type]


def columns(n: int, p: int, rng: np.random.Generator) -> Any:
    """Neighbours correlated by a half; sparse where there are as many columns as rows."""
    if p >= n:
        return sp.csc_array(
            sp.random_array((n, p), density=STORED, rng=rng, data_sampler=rng.standard_normal)
        )
    X = rng.standard_normal((n, p))
    for j in range(1, p):
        X[:, j] = 0.5 * X[:, j - 1] + np.sqrt(0.75) * X[:, j]
    return np.asfortranarray(X)


def task(loss: str, penalty: str, size: tuple[int, int], exposed: bool, seed: int) -> Task:
    """Twenty true columns; the mean is e^(Xw + ½), times the exposure where there is one."""
    rng = np.random.default_rng(seed)
    X, w = columns(*size, rng), np.zeros(size[1])
    w[rng.choice(size[1], 20, replace=False)] = 0.1 * rng.standard_normal(20) * (10 if sp.issparse(X) else 1)
    exposure = rng.uniform(0.2, 2.0, size[0]) if exposed else np.ones(size[0])
    mean = np.exp(np.asarray(X @ w).ravel() + 0.5) * exposure
    y = rng.poisson(mean).astype(float) if loss == "poisson" else rng.gamma(2.0, mean / 2.0)
    null = y.sum() / exposure.sum() * exposure
    pull = (y - null if loss == "poisson" else y / y.mean() - 1.0) / size[0]
    lam = float(np.abs(X.T @ pull).max()) / 20 if penalty == "l1" else 1e-3
    offset = np.log(exposure) if exposed else None
    asked = {"loss": loss, "penalty": penalty, "lam": lam} | ({"offset": offset} if exposed else {})
    known = (loss, penalty, lam, X, y, offset)
    peers = {peer: partial(globals()[f"_{peer}"], *known) for peer in ("sklearn", "glum", "adelie", "skglm")}
    return Task(X, y, asked, partial(_objective, *known), peers)


def _objective(  # noqa: PLR0913
    loss: str, penalty: str, lam: float, X: Any, y: np.ndarray, offset: Any, w: Any, b: Any
) -> float:
    w = np.asarray(w).ravel()
    z = np.asarray(X @ w).ravel() + float(np.ravel(b)[0]) + (0.0 if offset is None else offset)
    logs = np.log(np.where(y > 0.0, y, 1.0))
    rows = np.exp(z) - y * z - y + y * logs if loss == "poisson" else y * np.exp(-z) + z - logs - 1.0
    return float(rows.mean()) + lam * float(np.abs(w).sum() if penalty == "l1" else w @ w)


def _sklearn(loss: str, penalty: str, lam: float, X: Any, y: np.ndarray, offset: Any) -> Ladder:
    from sklearn.linear_model import GammaRegressor, PoissonRegressor

    model = PoissonRegressor if loss == "poisson" else GammaRegressor

    def solve(solver: str, tol: float) -> tuple[Any, Any]:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            found = model(alpha=2 * lam, solver=solver, tol=tol, max_iter=10_000).fit(X, y)
        return found.coef_, found.intercept_

    solvers = ("lbfgs",) if X.shape[1] >= X.shape[0] else ("lbfgs", "newton-cholesky")
    return [(f"{s} {tol:g}", partial(solve, s, tol)) for tol in TOLERANCES for s in solvers]


def _glum(loss: str, penalty: str, lam: float, X: Any, y: np.ndarray, offset: Any) -> Ladder:
    from glum import GeneralizedLinearRegressor

    matrix = sp.csc_matrix(X) if sp.issparse(X) else X

    def solve(solver: str, tol: float) -> tuple[Any, Any]:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            found = GeneralizedLinearRegressor(
                family=loss,
                link="log",
                alpha=lam if penalty == "l1" else 2 * lam,
                l1_ratio=float(penalty == "l1"),
                solver=solver,
                gradient_tol=tol,
                max_iter=1000,
            ).fit(matrix, y, offset=offset)
        return found.coef_, found.intercept_

    if sp.issparse(X):
        solvers: tuple[str, ...] = ("lbfgs",) if penalty == "l2" else ()
    else:
        solvers = ("lbfgs", "irls-ls") if penalty == "l2" else ("irls-cd",)
    return [(f"{s} {tol:g}", partial(solve, s, tol)) for tol in TOLERANCES for s in solvers]


def _adelie(loss: str, penalty: str, lam: float, X: Any, y: np.ndarray, offset: Any) -> Ladder:
    import adelie as ad

    if loss != "poisson":
        return []

    def solve(tol: float) -> tuple[Any, Any]:
        matrix = (
            ad.matrix.sparse(sp.csc_matrix(X), method="naive") if sp.issparse(X) else np.asfortranarray(X)
        )
        state = ad.grpnet(
            X=matrix,
            glm=ad.glm.poisson(y=y),
            offsets=offset,
            alpha=float(penalty == "l1"),
            lmda_path=np.array([lam if penalty == "l1" else 2 * lam]),
            tol=tol,
            irls_tol=tol,
            early_exit=False,
            progress_bar=False,
            n_threads=1,
        )
        return state.betas[-1].toarray().ravel(), state.intercepts[-1]

    return [(f"{tol:g}", partial(solve, tol)) for tol in TOLERANCES]


def _skglm(loss: str, penalty: str, lam: float, X: Any, y: np.ndarray, offset: Any) -> Ladder:
    from skglm.datafits import Gamma, Poisson
    from skglm.penalties import L1
    from skglm.solvers import ProxNewton
    from skglm.utils.jit_compilation import compiled_clone

    matrix = sp.csc_matrix(X) if sp.issparse(X) else X
    fit, price = compiled_clone((Poisson if loss == "poisson" else Gamma)()), compiled_clone(L1(lam))

    def solve(tol: float) -> tuple[Any, Any]:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            solver = ProxNewton(tol=tol, fit_intercept=True, max_iter=200)
            w = solver.solve(matrix, y, fit, price)[0]
        return w[:-1], w[-1]

    return [(f"{tol:g}", partial(solve, tol)) for tol in TOLERANCES]
