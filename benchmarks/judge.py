"""The objective and the duality gap, recomputed in plain NumPy: no library's own word counts."""

from __future__ import annotations

import numpy as np
from scipy.optimize import minimize_scalar
from scipy.special import expit, xlogy

from benchmarks.problems import Problem, penalty_value

BALANCE = 1e-9  # rounding allowed in Σθ = 0 and in the budget, relative
ROUNDING = 1e-14  # allowed in the bounds of the slopes: n · (u / n) is not always u
SMALL = 1e-4  # objectives below this share of the null objective count as zero


def loss_values(loss: str, y: np.ndarray, z: np.ndarray) -> np.ndarray:
    """L(y, z), row by row."""
    name, t = _split(loss)
    r, m = z - y, y * z
    if name == "squared":
        return r**2
    if name == "absolute":
        return np.abs(r)
    if name == "quantile":
        return np.where(r < 0, -t * r, (1 - t) * r)
    if name == "huber":
        return np.where(np.abs(r) <= t, r**2, 2 * t * np.abs(r) - t**2)
    if name == "epsilon_insensitive":
        return np.maximum(np.abs(r) - t, 0)
    if name == "hinge":
        return np.maximum(1 - m, 0)
    if name == "squared_hinge":
        return np.maximum(1 - m, 0) ** 2
    if name == "logistic":
        return np.logaddexp(0, -m)
    return np.exp(-m)


def loss_conjugates(loss: str, y: np.ndarray, u: np.ndarray) -> np.ndarray:
    """L*(y, u) = sup over z of u z − L(y, z), row by row; ∞ outside its domain."""
    name, t = _split(loss)
    lower, upper = _domain(name, t, y)
    s = np.clip(-u * y, 0, None)  # of the losses of margins, at which y = ±1
    if name in ("squared", "huber"):
        value = u * y + u**2 / 4
    elif name in ("absolute", "quantile", "hinge"):
        value = u * y
    elif name == "epsilon_insensitive":
        value = u * y + t * np.abs(u)
    elif name == "squared_hinge":
        value = -s + s**2 / 4
    elif name == "logistic":
        value = xlogy(s, s) + xlogy(1 - s, np.clip(1 - s, 0, None))
    else:
        value = xlogy(s, s) - s
    slack = ROUNDING * np.abs(u)
    return np.where((u >= lower - slack) & (u <= upper + slack), value, np.inf)


def _domain(name: str, t: float, y: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The slopes that the loss has, between these."""
    far = np.full(len(y), np.inf)
    if name in ("hinge", "logistic", "squared_hinge", "exponential"):
        most = 1.0 if name in ("hinge", "logistic") else np.inf
        return np.where(y > 0, -most, 0.0), np.where(y > 0, 0.0, most)
    down, up = {
        "squared": (far, far),
        "huber": (2 * t, 2 * t),
        "quantile": (t, 1 - t),
    }.get(name, (1.0, 1.0))
    return -np.broadcast_to(down, y.shape), np.broadcast_to(up, y.shape)


def _split(name: str) -> tuple[str, float]:
    word, _, rest = name.partition("(")
    return word, float(rest[:-1]) if rest else 0.0


def objective(problem: Problem, w: np.ndarray, b: float) -> float:
    """The objective at (w, b); weights beyond the budget are scaled back to it, which is generous."""
    w = np.asarray(w, float).ravel()
    if problem.budget is not None:
        size = penalty_value(problem.penalty, w)
        if size > problem.budget:
            ratio = problem.budget / size
            w = w * (np.sqrt(ratio) if problem.penalty == "l2" else ratio)
    z = np.asarray(problem.X @ w).ravel() + b
    value = float(loss_values(problem.loss, problem.y, z).mean())
    return value + (problem.lam * penalty_value(problem.penalty, w) if problem.lam is not None else 0.0)


def gap(problem: Problem, w: np.ndarray, b: float, theta: np.ndarray) -> float:
    """(P(w, b) − D(θ)) / max(|P(w, b)|, 1e-4 P(0, best b)); ∞ where θ or w proves nothing.

    With a norm as the penalty D is finite only where the dual norm of Xᵀθ is at most λ; a θ outside by
    rounding is drawn in, since every multiple of it below 1 proves a bound as well.
    """
    if problem.budget is not None and penalty_value(problem.penalty, w) > problem.budget * (1 + BALANCE):
        return float("inf")
    primal = objective(problem, w, b)
    difference = primal - dual(problem, theta)
    scale = abs(primal)
    if scale < SMALL * objective(problem, np.zeros_like(w), 0.0):
        scale = max(scale, SMALL * _null(problem))
    return max(difference, 0.0) / scale


def own_gap(problem: Problem, w: np.ndarray, b: float) -> float:
    """The gap that the slopes at w themselves prove, as peers that have a gap compute it; ∞ at kinks."""
    w = np.asarray(w, float).ravel()
    z = np.asarray(problem.X @ w).ravel() + b
    name, y = _split(problem.loss)[0], problem.y
    if name == "squared":
        theta = 2.0 * (y - z) / len(y)
    elif name == "logistic":
        theta = y * expit(-y * z) / len(y)
    else:
        return float("inf")
    if problem.fit_intercept and name == "squared":
        theta -= theta.mean()
    return gap(problem, w, b, theta)


def dual(problem: Problem, theta: np.ndarray) -> float:
    """D(θ) = −Σ L*(y, −nθ)/n − g*(Xᵀθ), −∞ where θ is not feasible."""
    n = len(problem.y)
    if problem.fit_intercept and abs(theta.sum()) > BALANCE * np.abs(theta).sum():
        return -float("inf")
    v = np.asarray(problem.X.T @ theta).ravel()
    if problem.budget is None and problem.penalty not in ("l2",) and "elastic_net" not in problem.penalty:
        inside = min(1.0, problem.lam / max(dual_norm(problem.penalty, v), 1e-300))
        theta, v = theta * inside, v * inside
    risk = float(loss_conjugates(problem.loss, problem.y, -n * theta).mean())
    return -risk - regulariser_conjugate(problem, v)


def dual_norm(penalty: str, v: np.ndarray) -> float:
    """max of v·w over the weights of norm 1."""
    order = {"l1": np.inf, "linf": 1.0, "l2_norm": 2.0}.get(penalty)
    if order is None:
        power = _split(penalty)[1]
        order = power / (power - 1)
    return float(np.linalg.norm(v, order))


def regulariser_conjugate(problem: Problem, v: np.ndarray) -> float:
    """g*(v): of λh, or of the ball h ≤ budget."""
    name, share = _split(problem.penalty)
    size = np.abs(v)
    if problem.lam is not None:
        if name == "l2":
            return float(v @ v) / (4 * problem.lam)
        if name == "elastic_net":
            return float((np.maximum(size - problem.lam, 0) ** 2).sum()) / (4 * problem.lam * share)
        return 0.0
    assert problem.budget is not None
    if name == "l2":
        return float(np.sqrt(problem.budget) * np.linalg.norm(v))
    if name == "elastic_net":
        return _elastic_support(size, share, problem.budget)
    return problem.budget * dual_norm(problem.penalty, v)


def _elastic_support(size: np.ndarray, share: float, budget: float) -> float:
    """min over μ of μ·budget + Σ (|v| − μ)₊²/(4 μ share); every μ bounds the support function from above."""
    low, high = 0.0, float(size.max())
    if high == 0.0:
        return 0.0
    for _ in range(200):  # the derivative's sign, halved
        mu = 0.5 * (low + high)
        rising = np.maximum(size**2 - mu**2, 0).sum() < 4 * share * budget * mu**2
        low, high = (low, mu) if rising else (mu, high)
    return float(high * budget + (np.maximum(size - high, 0) ** 2).sum() / (4 * high * share))


def _null(problem: Problem) -> float:
    """The objective at w = 0 and the best intercept."""
    y = problem.y

    def risk(b: float) -> float:
        return float(loss_values(problem.loss, y, np.full(len(y), b)).mean())

    return float(minimize_scalar(risk).fun) if problem.fit_intercept else risk(0.0)
