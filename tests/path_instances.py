"""Small data for paths: ordinary, and degenerate in every way that has broken a homotopy."""

from __future__ import annotations

import numpy as np

from dualgap.arrays import Matrix, Vector

LOSSES = (
    "squared",
    "absolute",
    "quantile(0.3)",
    "huber(0.7)",
    "epsilon_insensitive(0.5)",
    "squared_epsilon_insensitive(0.5)",
    "hinge",
    "squared_hinge",
)
PENALTIES = ("l1", "l2", "elastic_net(0.5)")
PAIRS = [(loss, penalty) for loss in LOSSES for penalty in PENALTIES]
KINDS = (
    "integers",
    "repeated rows",
    "repeated columns",
    "constant columns",
    "rounded",
    "binary",
    "unbalanced",
    "balanced",
    "wide",
    "two rows",
    "scales",
)


def targets(loss: str, z: Vector, random: np.random.Generator, noise: float = 1.5) -> Vector:
    """Labels or numbers that follow z."""
    if "hinge" in loss or loss in ("logistic", "exponential"):
        y = np.where(z + noise * random.standard_normal(len(z)) > 0, 1.0, -1.0)
        y[:2] = 1.0, -1.0
        return y
    return np.asarray(z + random.standard_t(3, len(z)))


def ordinary(loss: str, n: int, p: int, seed: int) -> tuple[Matrix, Vector]:
    """Columns of different size, some away from zero."""
    random = np.random.default_rng(seed)
    X = random.standard_normal((n, p)) * np.exp(random.uniform(-2.0, 2.0, p)) + random.uniform(-3.0, 3.0, p)
    w = random.standard_normal(p) * (random.random(p) < 0.6) / X.std(axis=0)
    return X, targets(loss, (X - X.mean(axis=0)) @ w + 0.5, random)


def degenerate(kind: str, loss: str, seed: int) -> tuple[Matrix, Vector]:
    """Ties, dependence, one-sidedness."""
    random = np.random.default_rng(seed)
    n, p = int(random.integers(20, 50)), int(random.integers(2, 12))
    if kind == "wide":
        n, p = int(random.integers(8, 20)), int(random.integers(20, 30))
    if kind == "two rows":
        n = 2
    X = random.standard_normal((n, p))
    if kind == "integers":
        X = random.integers(-2, 3, (n, p)).astype(float)
    if kind == "binary":
        X = random.integers(0, 2, (n, p)).astype(float)
    if kind == "rounded":
        X = np.round(X, 1)
    if kind == "repeated columns":
        X[:, p // 2 :] = X[:, : p - p // 2] * random.choice([1.0, -1.0, 2.0])
    if kind == "constant columns":
        X[:, 0], X[:, p - 1] = 3.0, 0.0
    y = targets(loss, X @ (random.standard_normal(p) * (random.random(p) < 0.6)) + 0.5, random)
    return _spoiled(kind, loss, X, y, random)


def _spoiled(
    kind: str, loss: str, X: Matrix, y: Vector, random: np.random.Generator
) -> tuple[Matrix, Vector]:
    n, labels = len(y), "hinge" in loss
    if kind in ("unbalanced", "balanced") and labels:
        y = np.where(np.arange(n) < (max(1, n // 7) if kind == "unbalanced" else n // 2), 1.0, -1.0)
    elif kind == "unbalanced":
        y = np.where(random.random(n) < 0.8, 0.0, y)
    elif kind in ("integers", "binary", "balanced") and not labels:
        y = np.round(y)
    elif kind == "rounded" and not labels:
        y = np.round(y, 1)
    elif kind == "repeated rows":
        half = n // 2
        X[half : 2 * half], y[half : 2 * half] = X[:half], y[:half]
    elif kind == "scales":
        X = X * np.exp(random.uniform(-8.0, 8.0, X.shape[1]))
        y = y if labels else 1e4 + 1e3 * y
    return X, y
