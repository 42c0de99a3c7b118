"""The problems of the benchmark: what a problem is, generators of data, and strengths."""

from __future__ import annotations

from dataclasses import dataclass
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


def correlated(
    n: int, p: int, seed: int, rho: float = 0.6, snr: float = 3.0, density: float = 0.2
) -> tuple[np.ndarray, np.ndarray]:
    """As benchopt's `make_correlated_data` draws them: each column is ρ times the one before, and noise."""
    rng = np.random.RandomState(seed)
    X, column = np.empty((n, p), order="F"), rng.randn(n)
    X[:, 0] = column
    for j in range(1, p):
        column = rho * column + np.sqrt(1 - rho * rho) * rng.randn(n)
        X[:, j] = column
    w, true = np.zeros(p), int(density * p)
    w[rng.choice(p, true, replace=False)] = rng.randn(true)
    signal, noise = X @ w, rng.randn(n)
    return X, signal + noise * np.linalg.norm(signal) / np.linalg.norm(noise) / snr


def sparse_regression(n: int, p: int, seed: int) -> tuple[sp.csc_array, np.ndarray]:
    """About twenty entries a column, hundred true columns."""
    rng = np.random.default_rng(seed)
    X = sp.csc_array(sp.random_array((n, p), density=1e-3, rng=rng, data_sampler=rng.standard_normal))
    w = np.zeros(p)
    w[rng.choice(p, 100, replace=False)] = rng.standard_normal(100) * 3
    signal = X @ w
    return X, signal + rng.standard_normal(n) * signal.std() / 3.0


def expression_classes(n: int, p: int, seed: int) -> tuple[np.ndarray, np.ndarray]:
    """Like gene expression: few samples, blocks of co-regulated columns, skewed levels on a log scale."""
    rng = np.random.default_rng(seed)
    blocks = p // 50
    module = rng.integers(blocks, size=p)
    activity = rng.standard_normal((n, blocks))
    level = rng.normal(6.0, 2.0, p) + 0.8 * activity[:, module] + rng.gamma(2.0, 0.4, (n, p))
    X = np.log2(1.0 + np.exp2(np.maximum(level, 0.0)))
    X = (X - X.mean(axis=0)) / X.std(axis=0)
    score = activity[:, :3].sum(axis=1) + rng.standard_normal(n)
    return np.asfortranarray(X), np.where(score > 0, 1.0, -1.0)


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


def data_for(loss: str, n: int, p: int, seed: int) -> tuple[np.ndarray, np.ndarray]:
    """Classes or heavy-tailed targets, as the loss takes them."""
    return dense_classes(n, p, seed) if loss in CLASSIFICATION else heavy_regression(n, p, seed)


def peers_strength(C: float, n: int) -> float:
    """λ with which mean loss + λ‖w‖² is ½‖w‖² + C Σ loss."""
    return 1.0 / (2.0 * C * n)
