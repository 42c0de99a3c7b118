"""Every convex loss with every penalty, in both forms, inside bounds and constraints: as cvxpy finds it."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import pytest
from scipy.stats import norm

import dualgap as dg
from dualgap.losses import Loss
from dualgap.traits import Trait

cp = pytest.importorskip("cvxpy")

N, P = 40, 4
RNG = np.random.default_rng(3)
X = RNG.normal(size=(N, P)) + 0.2
SCORES = X @ np.array([0.8, -0.6, 0.3, -0.1]) + 0.4 * RNG.normal(size=N)
A = np.array([[1.0, 1.0, 1.0, 1.0], [1.0, -1.0, 0.0, 0.0], [0.0, 1.0, 2.0, 0.0]])
LOWER, UPPER = np.array([0.25, -np.inf, -0.5]), np.array([0.25, 0.1, 0.4])
SETS: dict[str, dict[str, Any]] = {
    "nonnegative": {"bounds": "nonnegative"},
    "box": {"bounds": ([-0.1, -np.inf, 0.05, -0.2], [0.3, 0.1, None, 0.4])},
    "rows": {"constraints": (A, LOWER, UPPER)},
    "rows in a box": {"bounds": (-0.3, 0.5), "constraints": (A, LOWER, UPPER)},
}
STRENGTHS: dict[str, tuple[dict[str, float], ...]] = {
    "none": ({},),
    "l1": ({"lam": 0.05}, {"budget": 0.5}),
    "l2": ({"lam": 0.05}, {"budget": 0.2}),
    "elastic_net(0.5)": ({"lam": 0.05}, {"budget": 0.6}),
    "linf": ({"lam": 0.05}, {"budget": 0.25}),
    "l2_norm": ({"lam": 0.05}, {"budget": 0.4}),
    "lp(3)": ({"lam": 0.05}, {"budget": 0.35}),
    "group_lasso": ({"lam": 0.03}, {"budget": 0.7}),
    "sparse_group(0.5)": ({"lam": 0.03}, {"budget": 0.7}),
    "slope(0.1)": ({"lam": 0.02}, {"budget": 1.4}),
}
GROUPS = [0, 0, 1, 1]
PRICES = np.array([norm.ppf(1.0 - k * 0.1 / (2 * P)) for k in range(1, P + 1)])  # those of slope(0.1)
LOSSES = [cls() for cls in dg.losses.CATALOGUE.values() if Trait.CONVEX in cls().traits]


def targets(loss: Loss) -> Any:
    """What the loss is for."""
    if Trait.CLASSIFICATION in loss.traits:
        return np.where(SCORES > 0.0, 1.0, -1.0)
    if loss.name == "binomial":
        return 1.0 / (1.0 + np.exp(-SCORES))
    if loss.name in ("poisson", "gamma", "tweedie"):
        return np.round(np.exp(SCORES), 1) + 0.1
    return SCORES


def losses_of(loss: Loss, y: Any, z: Any) -> Any:
    """The loss, row by row, in cvxpy's words."""
    r, m = z - y, cp.multiply(y, z)
    over = cp.pos(cp.abs(r) - getattr(loss, "epsilon", 0.0))
    entropy = np.where(y > 0, y * np.log(np.where(y > 0, y, 1.0)), 0.0)
    power = getattr(loss, "p", 1.5)
    words = {
        "squared": lambda: cp.square(r),
        "absolute": lambda: cp.abs(r),
        "quantile": lambda: cp.maximum(-loss.q * r, (1 - loss.q) * r),  # type: ignore[attr-defined]
        "huber": lambda: cp.huber(r, loss.delta),  # type: ignore[attr-defined]
        "epsilon_insensitive": lambda: over,
        "squared_epsilon_insensitive": lambda: cp.square(over),
        "hinge": lambda: cp.pos(1 - m),
        "squared_hinge": lambda: cp.square(cp.pos(1 - m)),
        "perceptron": lambda: cp.pos(-m),
        "logistic": lambda: cp.logistic(-m),
        "exponential": lambda: cp.exp(-m),
        "poisson": lambda: cp.exp(z) - m - y + entropy,
        "gamma": lambda: cp.multiply(y, cp.exp(-z)) + z - np.log(np.where(y > 0, y, 1.0)) - 1,
        "tweedie": lambda: (
            y ** (2 - power) / ((1 - power) * (2 - power))
            - cp.multiply(y / (1 - power), cp.exp((1 - power) * z))
            + cp.exp((2 - power) * z) / (2 - power)
        ),
        "binomial": lambda: cp.logistic(z) - m + entropy + (1 - y) * np.log(1 - y),
    }
    return words[loss.name]()


def sizes(w: Any) -> dict[str, Any]:
    """The penalties."""
    grouped = np.sqrt(2.0) * (cp.norm2(w[:2]) + cp.norm2(w[2:]))
    return {
        "none": 0.0,
        "l1": cp.norm1(w),
        "l2": cp.sum_squares(w),
        "elastic_net(0.5)": cp.norm1(w) + 0.5 * cp.sum_squares(w),
        "linf": cp.norm_inf(w),
        "l2_norm": cp.norm2(w),
        "lp(3)": cp.pnorm(w, 3),
        "group_lasso": grouped,
        "sparse_group(0.5)": 0.5 * cp.norm1(w) + 0.5 * grouped,
        "slope(0.1)": sum(
            float(PRICES[k] - PRICES[k + 1] if k + 1 < P else PRICES[k]) * cp.sum_largest(cp.abs(w), k + 1)
            for k in range(P)
        ),
    }


def groups_of(penalty: str) -> dict[str, Any]:
    """The keyword that penalties of groups need."""
    return {"groups": GROUPS} if "group" in penalty else {}


def conic(loss: Loss, penalty: str, strength: dict[str, float], held: dict[str, Any]) -> float:
    """The optimum as Clarabel finds it."""
    y, w, b = targets(loss), cp.Variable(P), cp.Variable()
    size = sizes(w)[penalty]
    rules: list[Any] = [size <= strength["budget"]] if "budget" in strength else []
    low, high = np.full(P, -np.inf), np.full(P, np.inf)
    if held.get("bounds") == "nonnegative":
        low = np.zeros(P)
    elif "bounds" in held:
        sides = [np.broadcast_to(np.array(side, dtype=float), P) for side in held["bounds"]]
        low, high = (
            np.where(np.isnan(sides[0]), -np.inf, sides[0]),
            np.where(np.isnan(sides[1]), np.inf, sides[1]),
        )
    rules += [w[j] >= low[j] for j in np.flatnonzero(np.isfinite(low))]
    rules += [w[j] <= high[j] for j in np.flatnonzero(np.isfinite(high))]
    if "constraints" in held:
        rows, lower, upper = held["constraints"]
        rules += [rows[k] @ w >= lower[k] for k in np.flatnonzero(np.isfinite(lower))]
        rules += [rows[k] @ w <= upper[k] for k in np.flatnonzero(np.isfinite(upper))]
    value = cp.sum(losses_of(loss, y, X @ w + b)) / N + strength.get("lam", 0.0) * size
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        found = cp.Problem(cp.Minimize(value), rules).solve(
            solver="CLARABEL", tol_gap_abs=1e-10, tol_gap_rel=1e-10
        )
    return float(found)


@pytest.mark.parametrize("loss", LOSSES, ids=str)
def test_as_a_conic_solver_finds_it(loss: Loss) -> None:
    """Every pair of loss and penalty, in a set and a form that take turns."""
    for k, (penalty, forms) in enumerate(STRENGTHS.items()):
        turn = k + LOSSES.index(loss)
        held, strength = list(SETS.values())[turn % len(SETS)], forms[(turn // 2) % len(forms)]
        found = dg.fit(X, targets(loss), loss=loss, penalty=penalty, **strength, **held, **groups_of(penalty))
        best = conic(loss, penalty, strength, held)
        case = f"{penalty} {strength} {held}"
        assert found.converged and found.relative_gap <= 1e-6, case
        assert found.bound <= best + 1e-6 * max(abs(best), 1e-2), case
        assert found.objective >= best - 1e-6 * max(abs(best), 1e-2), case


@pytest.mark.parametrize("name", SETS)
@pytest.mark.parametrize("loss", LOSSES, ids=str)
def test_both_forms_are_proven_and_kept(loss: Loss, name: str) -> None:
    held, y = SETS[name], targets(loss)
    for penalty, forms in STRENGTHS.items():
        for strength in forms:
            found = dg.fit(X, y, loss=loss, penalty=penalty, **strength, **held, **groups_of(penalty))
            assert found.converged, f"{penalty} {strength}"
            again = found.certificate.recheck(X, y)
            assert again.objective == found.objective
            assert again.bound >= found.bound - 1e-9 * abs(found.objective)
            if found.terms.bounds is not None:
                assert found.terms.bounds.holds(found.coef)
            if found.terms.constraints is not None:
                off = np.maximum(LOWER - A @ found.coef, A @ found.coef - UPPER).max()
                assert off <= found.certificate.violation + 1e-16 and found.certificate.violation <= 1e-9
