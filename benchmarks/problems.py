"""The problems of the benchmark: generators, and the cells with the strengths that peers are compared at."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import scipy.sparse as sp


@dataclass
class Problem:
    """One problem in the library's convention: mean loss + lam·h, or mean loss with h ≤ budget."""

    X: Any
    y: np.ndarray
    loss: str
    penalty: str
    lam: float | None = None
    budget: float | None = None
    fit_intercept: bool = False

    @property
    def strength(self) -> dict[str, float]:
        """The strength as a keyword."""
        return {"lam": self.lam} if self.lam is not None else {"budget": self.budget}  # type: ignore[dict-item]


@dataclass
class Cell:
    """A problem family with the peers that can do it and the ratio that must be reached."""

    name: str
    make: Callable[[int], Problem]
    rivals: tuple[str, ...]
    must: float
    quick: bool = False
    tags: set[str] = field(default_factory=set)


def dense_classes(n: int, p: int, seed: int) -> tuple[np.ndarray, np.ndarray]:
    """Correlated columns, a linear rule, noise, and a tenth of the labels flipped."""
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, p)) + rng.standard_normal((n, 5)) @ (rng.standard_normal((5, p)) * 0.5)
    X /= X.std(axis=0)
    score = X @ (rng.standard_normal(p) / np.sqrt(p))
    y = np.sign(score + score.std() * rng.standard_normal(n))
    y[rng.random(n) < 0.1] *= -1
    y[y == 0] = 1
    return np.ascontiguousarray(X), y


def text_classes(n: int, p: int, seed: int, words: int = 80) -> tuple[sp.csr_array, np.ndarray]:
    """Zipf-distributed words, tf-idf weights, rows of unit length."""
    rng = np.random.default_rng(seed)
    share = 1.0 / (np.arange(1, p + 1) + 20.0)
    cumulative = np.cumsum(share / share.sum())
    length = rng.poisson(words, n) + 5
    rows = np.repeat(np.arange(n), length)
    columns = np.minimum(np.searchsorted(cumulative, rng.random(int(length.sum()))), p - 1)
    counts = sp.coo_array((np.ones(len(rows)), (rows, columns)), shape=(n, p)).tocsr()
    counts.sum_duplicates()
    counts.data = 1.0 + np.log(counts.data)
    seen = np.bincount(counts.indices, minlength=p)
    counts.data *= (np.log(n / (1.0 + seen)) + 1.0)[counts.indices]
    norms = np.sqrt(np.asarray(counts.power(2).sum(axis=1)).ravel())
    X = sp.csr_array(sp.diags_array(1.0 / norms) @ counts)
    X.sort_indices()
    X = sp.csr_array((X.data, X.indices.astype(np.int32), X.indptr.astype(np.int32)), shape=X.shape)
    score = X @ (rng.standard_normal(p) * (rng.random(p) < 0.1))
    score = (score - score.mean()) / score.std()
    y = np.sign(score + 0.3 * rng.standard_normal(n))
    y[rng.random(n) < 0.05] *= -1
    y[y == 0] = 1
    return X, y


def heavy_regression(n: int, p: int, seed: int) -> tuple[np.ndarray, np.ndarray]:
    """Ten true columns, noise with infinite variance."""
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, p))
    w = np.zeros(p)
    w[: min(10, p)] = rng.standard_normal(min(10, p))
    return X, X @ w + 1.0 + rng.standard_t(2, n)


def sparse_signal(
    n: int, p: int, seed: int, true: int = 100, rho: float = 0.5
) -> tuple[np.ndarray, np.ndarray]:
    """Neighbouring columns correlated, `true` of them in the signal, signal-to-noise 3."""
    rng = np.random.default_rng(seed)
    noise = rng.standard_normal((n, p))
    X = np.empty((n, p), order="F")
    X[:, 0] = noise[:, 0]
    for j in range(1, p):
        X[:, j] = rho * X[:, j - 1] + np.sqrt(1 - rho * rho) * noise[:, j]
    w = np.zeros(p)
    w[rng.choice(p, true, replace=False)] = rng.standard_normal(true)
    signal = X @ w
    error = rng.standard_normal(n)
    return X, signal + error * np.linalg.norm(signal) / np.linalg.norm(error) / 3.0


def sparse_regression(n: int, p: int, seed: int) -> tuple[sp.csc_array, np.ndarray]:
    """About twenty entries a column, hundred true columns."""
    rng = np.random.default_rng(seed)
    X = sp.csc_array(sp.random_array((n, p), density=1e-3, rng=rng, data_sampler=rng.standard_normal))
    w = np.zeros(p)
    w[rng.choice(p, 100, replace=False)] = rng.standard_normal(100) * 3
    signal = X @ w
    return X, signal + rng.standard_normal(n) * signal.std() / 3.0


def slope_at_zero(loss: str, y: np.ndarray) -> np.ndarray:
    """θ at w = 0 without an intercept: −L'(y, 0)/n."""
    n = len(y)
    name = loss.split("(")[0]
    if name == "squared":
        return 2 * y / n
    if name == "huber":
        delta = float(loss[6:-1])
        return 2 * np.clip(y, -delta, delta) / n
    if name in ("absolute", "epsilon_insensitive"):
        return np.sign(y) / n
    if name == "quantile":
        q = float(loss[9:-1])
        return np.where(y > 0, q, q - 1.0) / n
    return {"logistic": 0.5, "squared_hinge": 2.0, "hinge": 1.0, "exponential": 1.0}[name] * y / n


def largest(X: Any, y: np.ndarray, loss: str, penalty: str = "l1") -> float:
    """The λ at which w = 0 becomes optimal (for l2, a scale of the same kind)."""
    v = np.abs(np.asarray(X.T @ slope_at_zero(loss, y)).ravel())
    if penalty in ("l1", "elastic_net(0.5)"):
        return float(v.max())
    if penalty == "linf":
        return float(v.sum())
    if penalty == "l2":
        return float(np.linalg.norm(v)) / 2
    q = {"l2_norm": 2.0, "lp(1.5)": 3.0, "lp(3)": 1.5}[penalty]
    return float(np.linalg.norm(v, q))


def penalty_value(penalty: str, w: np.ndarray) -> float:
    """h(w)."""
    size = np.abs(w)
    if penalty == "l1":
        return float(size.sum())
    if penalty == "l2":
        return float(w @ w)
    if penalty == "l2_norm":
        return float(np.linalg.norm(w))
    if penalty == "linf":
        return float(size.max())
    if penalty.startswith("elastic_net"):
        return float(size.sum() + float(penalty[12:-1]) * (w @ w))
    order = float(penalty[3:-1])
    return float((size**order).sum() ** (1 / order))


def ridge_size(X: np.ndarray, y: np.ndarray, penalty: str) -> float:
    """A budget that binds: a share of h at a lightly penalised least-squares fit."""
    n, p = X.shape
    centred, target = X - X.mean(axis=0), y - y.mean()
    if p <= n:
        w = np.linalg.solve(centred.T @ centred + 0.01 * n * np.eye(p), centred.T @ target)
    else:
        w = centred.T @ np.linalg.solve(centred @ centred.T + 0.01 * n * np.eye(n), target)
    return (0.5 if n > p else 0.3) * penalty_value(penalty, w)


CLASSIFICATION = {"hinge", "squared_hinge", "logistic", "exponential"}


def _data(loss: str, n: int, p: int, seed: int) -> tuple[np.ndarray, np.ndarray]:
    return dense_classes(n, p, seed) if loss in CLASSIFICATION else heavy_regression(n, p, seed)


def _peers_C(C: float, n: int) -> float:
    """½‖w‖² + C' Σ loss as mean loss + λ‖w‖²."""
    return 1.0 / (2.0 * C * n)


def cells() -> Iterator[Cell]:  # noqa: C901 - a table, row after row
    """Every row of the table."""
    conic = ("cvxpy_clarabel",)

    def hinge_dense(C: float, intercept: bool) -> Callable[[int], Problem]:
        def make(seed: int) -> Problem:
            X, y = dense_classes(50_000, 100, seed)
            return Problem(X, y, "hinge", "l2", lam=_peers_C(C, len(y)), fit_intercept=intercept)

        return make

    svm = ("liblinear", "snapml")
    yield Cell("hinge+l2 dense 50000x100 C'=1", hinge_dense(1.0, False), svm, 30, quick=False)
    yield Cell("hinge+l2 dense 50000x100 C'=1, intercept", hinge_dense(1.0, True), svm, 30)
    yield Cell("hinge+l2 dense 50000x100 C'=0.01", hinge_dense(0.01, False), svm, 2, quick=True)

    def text(loss: str, C: float, penalty: str = "l2") -> Callable[[int], Problem]:
        def make(seed: int) -> Problem:
            X, y = text_classes(20_000, 50_000, seed)
            lam = _peers_C(C, len(y)) if penalty == "l2" else 1.0 / (C * len(y))
            return Problem(X, y, loss, penalty, lam=lam)

        return make

    for C in (1.0, 10.0):
        yield Cell(f"hinge+l2 text 20000x50000 C'={C:g}", text("hinge", C), svm, 1.2, quick=C == 1)
    for loss in ("absolute", "quantile(0.5)", "quantile(0.9)"):
        for n, p, must in ((2000, 500, 15), (20_000, 50, 15), (100_000, 20, 20)):
            yield Cell(
                f"{loss}+l1 {n}x{p}",
                lambda seed, n=n, p=p, loss=loss: _penalised(loss, "l1", n, p, seed, 1 / 20),
                ("highs", "skglm"),
                must,
                quick=loss == "quantile(0.9)" and n == 20_000,
            )
    for n, p, must in ((2000, 500, 15), (20_000, 50, 30)):
        yield Cell(
            f"hinge+l1 {n}x{p}",
            lambda seed, n=n, p=p: _penalised("hinge", "l1", n, p, seed, 1 / 20),
            ("cvxpy_clarabel", "highs"),
            must,
        )
    for loss, n, p, must in (
        ("absolute", 5000, 50, 10),
        ("absolute", 20_000, 50, 30),
        ("epsilon_insensitive(0.1)", 20_000, 100, 30),
    ):
        yield Cell(
            f"{loss}+l2 {n}x{p}",
            lambda seed, n=n, p=p, loss=loss: _with_lam(loss, "l2", n, p, seed, _peers_C(1.0, n)),
            ("cvxpy_piqp", "cvxpy_clarabel", "liblinear"),
            must,
            quick=n == 5000,
        )

    def lasso(divide: float) -> Callable[[int], Problem]:
        def make(seed: int) -> Problem:
            X, y = sparse_signal(1000, 10_000, seed)
            Xc, yc = X - X.mean(axis=0), y - y.mean()
            return Problem(X, y, "squared", "l1", lam=largest(Xc, yc, "squared") / divide, fit_intercept=True)

        return make

    quadratic = ("skglm", "celer", "adelie", "sklearn")
    yield Cell("lasso dense 1000x10000 lmax/20", lasso(20), quadratic, 1.2, quick=True)
    yield Cell("lasso dense 1000x10000 lmax/100", lasso(100), quadratic, 1.2)

    def lasso_sparse(seed: int) -> Problem:
        X, y = sparse_regression(20_000, 100_000, seed)
        return Problem(
            X, y, "squared", "l1", lam=largest(X, y - y.mean(), "squared") / 20, fit_intercept=True
        )

    yield Cell("lasso sparse 20000x100000 lmax/20", lasso_sparse, quadratic, 1)

    def elastic(seed: int) -> Problem:
        X, y = sparse_signal(1000, 5000, seed)
        lam = largest(X - X.mean(axis=0), y - y.mean(), "squared") / 50
        return Problem(X, y, "squared", "elastic_net(0.5)", lam=lam, fit_intercept=True)

    yield Cell("elastic net dense 1000x5000 lmax/50", elastic, quadratic, 1)

    def dense_l2(loss: str) -> Callable[[int], Problem]:
        def make(seed: int) -> Problem:
            X, y = dense_classes(50_000, 100, seed)
            return Problem(X, y, loss, "l2", lam=_peers_C(1.0, len(y)))

        return make

    yield Cell(
        "logistic+l2 dense 50000x100", dense_l2("logistic"), ("snapml", "glum", "sklearn"), 1, quick=True
    )
    yield Cell("logistic+l2 text", text("logistic", 1.0), ("snapml", "sklearn", "liblinear"), 1)

    def wide_l1(loss: str) -> Callable[[int], Problem]:
        def make(seed: int) -> Problem:
            X, y = dense_classes(2000, 5000, seed)
            return Problem(X, y, loss, "l1", lam=largest(X, y, loss) / 20)

        return make

    logit = ("snapml", "liblinear", "skglm", "celer")
    yield Cell("logistic+l1 dense 2000x5000 lmax/20", wide_l1("logistic"), logit, 1)
    for C in (1.0, 10.0):
        yield Cell(f"logistic+l1 text C'={C:g}", text("logistic", C, "l1"), logit, 1, quick=C == 1)
    yield Cell("squared_hinge+l2 dense 50000x100", dense_l2("squared_hinge"), ("liblinear",), 1)
    yield Cell("squared_hinge+l2 text", text("squared_hinge", 1.0), ("liblinear",), 1)
    yield Cell("squared_hinge+l1 dense 2000x5000", wide_l1("squared_hinge"), ("liblinear",), 2)
    yield Cell("squared_hinge+l1 text", text("squared_hinge", 1.0, "l1"), ("liblinear",), 1)
    yield Cell(
        "huber(0.2)+l1 2000x1000",
        lambda seed: _penalised("huber(0.2)", "l1", 2000, 1000, seed, 1 / 20),
        ("skglm",),
        1,
    )
    yield Cell(
        "huber(0.2)+l2 2000x1000",
        lambda seed: _with_lam("huber(0.2)", "l2", 2000, 1000, seed, 0.01),
        ("skglm",),
        1,
    )
    for n, p in ((20_000, 500), (500, 20_000)):
        yield Cell(
            f"squared+l2 {n}x{p}", lambda seed, n=n, p=p: _ridge(n, p, seed), ("sklearn",), 1, quick=n == 500
        )
    yield from _conic_cells(conic)


def _penalised(loss: str, penalty: str, n: int, p: int, seed: int, share: float) -> Problem:
    X, y = _data(loss, n, p, seed)
    return Problem(X, y, loss, penalty, lam=share * largest(X, y, loss, penalty))


def _with_lam(loss: str, penalty: str, n: int, p: int, seed: int, lam: float) -> Problem:
    X, y = _data(loss, n, p, seed)
    return Problem(X, y, loss, penalty, lam=lam)


def _ridge(n: int, p: int, seed: int) -> Problem:
    X, y = heavy_regression(n, p, seed)
    return Problem(X, y, "squared", "l2", lam=1.0 / n)


def _constrained(loss: str, penalty: str, n: int, p: int, seed: int) -> Problem:
    X, y = _data(loss, n, p, seed)
    return Problem(X, y, loss, penalty, budget=ridge_size(X, y, penalty), fit_intercept=True)


def _conic_cells(conic: tuple[str, ...]) -> Iterator[Cell]:
    losses = ("logistic", "squared", "hinge", "absolute")
    sizes = ((2000, 100), (100, 1000), (20_000, 100))
    for penalty in ("l1", "l2", "elastic_net(0.5)", "linf", "l2_norm", "lp(1.5)", "lp(3)"):
        for loss in losses:
            for n, p in sizes:
                must = 15.0 if penalty in ("l1", "l2", "elastic_net(0.5)") else 20.0 if n > p else 4.0
                yield Cell(
                    f"{loss} s.t. {penalty} {n}x{p}",
                    lambda seed, n=n, p=p, loss=loss, penalty=penalty: _constrained(
                        loss, penalty, n, p, seed
                    ),
                    conic,
                    must,
                    quick=(penalty, loss, n) in {("l1", "logistic", 2000), ("lp(1.5)", "hinge", 2000)},
                )
                if penalty in ("linf", "l2_norm", "lp(1.5)", "lp(3)"):
                    yield Cell(
                        f"{loss}+{penalty} {n}x{p}",
                        lambda seed, n=n, p=p, loss=loss, penalty=penalty: _penalised(
                            loss, penalty, n, p, seed, 0.1
                        ),
                        conic,
                        must,
                        quick=(penalty, loss, n) == ("linf", "absolute", 100),
                    )
    for penalty in ("l1", "l2"):
        yield Cell(
            f"exponential+{penalty} 2000x100",
            lambda seed, penalty=penalty: _penalised("exponential", penalty, 2000, 100, seed, 0.01),
            conic,
            20,
        )
