"""The algorithms as the sources write them, a few lines each, and small data to run them on."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from dualgap.arrays import Matrix, Vector

Slope = Callable[[Vector], Vector]


def data(n: int = 40, p: int = 4, seed: int = 0) -> tuple[Matrix, Vector, Vector]:
    """X, numbers, and labels that no plane separates."""
    random = np.random.default_rng(seed)
    X = random.standard_normal((n, p))
    y = X @ np.arange(1.0, p + 1.0) + 0.5 + random.standard_normal(n)
    return X, y, np.where(y + 2.0 * random.standard_normal(n) > 0.5, 1.0, -1.0)


def with_ones(X: Matrix) -> Matrix:
    return np.column_stack([X, np.ones(len(X))])


def ridge(w: Vector, lam: float) -> Vector:
    """Slope of λ‖w‖², the intercept, which is last, left alone."""
    return 2.0 * lam * np.append(w[:-1], 0.0)


def squared_slope(X: Matrix, y: Vector, lam: float) -> Slope:
    Z = with_ones(X)
    return lambda w: 2.0 * Z.T @ (Z @ w - y) / len(y) + ridge(w, lam)


def logistic_slope(X: Matrix, y: Vector, lam: float) -> Slope:
    Z = with_ones(X)
    return lambda w: -Z.T @ (y / (1.0 + np.exp(y * (Z @ w)))) / len(y) + ridge(w, lam)


def hinge_slope(X: Matrix, y: Vector, lam: float) -> Slope:
    """Algorithm 23 with the sign put right: −y x where y(w·x + b) < 1."""
    Z = with_ones(X)
    return lambda w: -Z.T @ (y * (y * (Z @ w) < 1.0)) / len(y) + ridge(w, lam)


def gradient_descent(slope: Slope, p: int, step: Callable[[int], float]) -> Iterator[Vector]:
    """Algorithm 22; with a subgradient Algorithm 23."""
    w, k = np.zeros(p), 0
    while True:
        k += 1
        w = w - step(k) * slope(w)
        yield w


def momentum(slope: Slope, p: int, step: float, gamma: float) -> Iterator[Vector]:
    w, d = np.zeros(p), np.zeros(p)
    while True:
        d = gamma * d + step * slope(w)
        w = w - d
        yield w


def nesterov(slope: Slope, p: int, step: float, gamma: float) -> Iterator[Vector]:
    w, d = np.zeros(p), np.zeros(p)
    while True:
        d = gamma * d + step * slope(w - gamma * d)
        w = w - d
        yield w


def pegasos(X: Matrix, y: Vector, strength: float, rows: Any) -> Iterator[Vector]:
    """004: w ← w − η_t(λ'w − y x) if y f(x) < 1, else w ← w − η_t λ' w, η_t = 1/(λ't)."""
    w, b = np.zeros(X.shape[1]), 0.0
    for t, i in enumerate(rows, start=1):
        eta, wrong = 1.0 / (strength * t), y[i] * (w @ X[i] + b) < 1.0
        w = w - eta * strength * w + eta * wrong * y[i] * X[i]
        b = b + eta * wrong * y[i]
        yield np.append(w, b)


def stochastic_ascent(X: Matrix, y: Vector, eta: Callable[[int], float], rows: Any) -> Iterator[Vector]:
    """004, logistic with y in {0, 1}: w ← w + η (y − 1/(1 + e^(−w·x))) x."""
    Z, w = with_ones(X), np.zeros(X.shape[1] + 1)
    for k, i in enumerate(rows, start=1):
        w = w + eta(k) * (y[i] - 1.0 / (1.0 + np.exp(-w @ Z[i]))) * Z[i]
        yield w


def perceptron(X: Matrix, y: Vector, alpha: float, passes: int) -> Iterator[Vector]:
    """004 with the slip put right: w ← w + α y x on a mistake; after every pass."""
    Z, w = with_ones(X), np.zeros(X.shape[1] + 1)
    for _ in range(passes):
        for i in range(len(Z)):
            if y[i] * (w @ Z[i]) <= 0.0:
                w = w + alpha * y[i] * Z[i]
        yield w


def ista(X: Matrix, y: Vector, lam: float, step: float) -> Iterator[Vector]:
    Z, w = with_ones(X), np.zeros(X.shape[1] + 1)
    price = np.append(np.full(X.shape[1], lam), 0.0)
    while True:
        v = w - step * 2.0 * Z.T @ (Z @ w - y) / len(y)
        w = np.sign(v) * np.maximum(np.abs(v) - step * price, 0.0)
        yield w


def fista(X: Matrix, y: Vector, lam: float, step: float) -> Iterator[Vector]:
    Z, w, t = with_ones(X), np.zeros(X.shape[1] + 1), 1.0
    price, v = np.append(np.full(X.shape[1], lam), 0.0), w
    while True:
        u = v - step * 2.0 * Z.T @ (Z @ v - y) / len(y)
        new = np.sign(u) * np.maximum(np.abs(u) - step * price, 0.0)
        grown = (1.0 + np.sqrt(1.0 + 4.0 * t * t)) / 2.0
        v, w, t = new + (t - 1.0) / grown * (new - w), new, grown
        yield w


def projected(X: Matrix, y: Vector, length: float, step: float) -> Iterator[Vector]:
    """Onto ‖w‖₂ ≤ length, the intercept free."""
    Z, w = with_ones(X), np.zeros(X.shape[1] + 1)
    while True:
        w = w - step * 2.0 * Z.T @ (Z @ w - y) / len(y)
        w = np.append(w[:-1] * min(1.0, length / np.linalg.norm(w[:-1])), w[-1])
        yield w
