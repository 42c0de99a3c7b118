"""Crammer and Singer's joint hinge: exact values, other solvers, and nothing false from any θ."""

from __future__ import annotations

import warnings
from dataclasses import replace
from fractions import Fraction
from pathlib import Path
from typing import Any

import cvxpy as cp
import numpy as np
import pytest
from sklearn.datasets import load_wine
from sklearn.preprocessing import scale
from sklearn.svm import LinearSVC

import dualgap as dg
from dualgap.proof.joint import _short
from exact.arithmetic import rational
from proof.made import FEW, U

WINE, CULTIVARS = load_wine(return_X_y=True)
WINE = scale(WINE)
ASKED: dict[str, Any] = {"loss": "hinge", "multiclass": "crammer_singer"}


def exact_value(X: Any, y: Any, s: Any, solution: Any, lam: Fraction, penalty: str) -> Fraction:
    """P at the weights, as a real number."""
    W = [[rational(v) for v in row] for row in solution.coef]
    b = [rational(v) for v in solution.intercept]
    weights = [rational(v) for v in s]
    risk = Fraction(0)
    for x, own, share in zip(X, y, weights, strict=True):
        z = [
            sum(rational(v) * w for v, w in zip(x, row, strict=True)) + c for row, c in zip(W, b, strict=True)
        ]
        risk += share * max((0 if k == own else 1) + z[k] - z[own] for k in range(len(z)))
    flat = [abs(w) if penalty == "l1" else w * w for row in W for w in row]
    return risk / sum(weights) + lam * sum(flat)


@pytest.mark.parametrize("penalty", ["l2", "l1"])
@pytest.mark.parametrize("seed", range(6))
def test_no_claim_is_false(penalty: str, seed: int) -> None:
    rng = np.random.default_rng(seed)
    n, p = 12, 2
    X = rng.integers(-3, 4, size=(n, p)) * 2.0 ** float(rng.integers(-3, 4))
    y = np.arange(n) % 3
    s = rng.integers(1, 5, n).astype(float)
    solution = dg.fit(X, y, penalty=penalty, lam=0.25, sample_weight=s, tol=1e-9, max_time=5.0, **ASKED)
    value = exact_value(X, y, s, solution, Fraction(1, 4), penalty)
    assert rational(solution.objective) >= value >= rational(solution.bound)
    assert solution.relative_gap <= 1e-8
    proof = solution.certificate
    for _ in range(6):
        noise = 10.0 ** rng.uniform(-15, 0) * rng.normal(size=proof.theta.shape)
        again = replace(proof, theta=proof.theta * (1.0 + 10.0 ** rng.uniform(-14, 1)) + noise).recheck(X, y)
        assert rational(again.bound) <= value <= rational(again.objective)


@pytest.mark.parametrize("seed", range(20))
def test_the_worst_class_less_its_mean_and_what_may_hide_in_it(seed: int) -> None:
    """For all scores and shares within reach; what a share is off by is at the own class's expense."""
    rng = np.random.default_rng(seed)
    n, classes = 4, 5
    own = rng.integers(0, classes, n)
    mine = np.arange(n), own
    z, share, step = rng.normal(size=(n, classes)), rng.random((n, classes)), rng.random((n, classes))
    z[mine], error = 0.0, 10.0 ** rng.uniform(-12, -2)
    share *= 0.9 / share.sum(axis=1, keepdims=True)
    step *= 10.0 ** rng.uniform(-12, -2)
    step[mine] = share[mine] = 0.0
    share[mine] = 1.0 - share.sum(axis=1)
    terms, loose = _short(z, error, share, step, own)
    ahead = 1.0 + z
    ahead[mine] = 0.0
    behind = ahead.max(axis=1, keepdims=True) - ahead
    wanted = behind.max(axis=1) * (2.0 * step.sum(axis=1) + (classes + 4) * U) + FEW * terms + 2.0 * error
    assert np.all(wanted <= loose) and np.all(loose <= wanted * (1.0 + 1e-6))
    for i in range(n):
        for side in (1, -1):
            moved = [
                rational(v) + side * int(k != own[i]) * rational(error) * int(rng.choice([-1, 1]))
                for k, v in enumerate(z[i])
            ]
            shares = [rational(v) + side * rational(d) for v, d in zip(share[i], step[i], strict=True)]
            shares[own[i]] = 1 - sum(shares[k] for k in range(classes) if k != own[i])
            scores = [int(k != own[i]) + v for k, v in enumerate(moved)]
            short = max(scores) - sum(a * b for a, b in zip(scores, shares, strict=True))
            assert short <= rational(terms[i]) + rational(loose[i])
    plain, nothing = _short(z, 0.0, share, 0.0 * step, own)
    assert np.array_equal(plain, terms) and np.all(nothing <= 1e-13 * (1.0 + behind.max(axis=1)))
    assert np.all(nothing >= behind.max(axis=1) * (classes + 4) * U + 0.9 * FEW * terms)


PENALTIES: dict[str, Any] = {
    "none": lambda W: 0.0,
    "l2": cp.sum_squares,
    "l1": lambda W: cp.sum(cp.abs(W)),
    "elastic_net(0.5)": lambda W: cp.sum(cp.abs(W)) + 0.5 * cp.sum_squares(W),
    "linf": lambda W: cp.max(cp.abs(W)),
    "l2_norm": lambda W: cp.norm(W, "fro"),
}


@pytest.mark.parametrize("intercept", [True, False])
@pytest.mark.parametrize("penalty", PENALTIES)
def test_agrees_with_a_conic_solver(penalty: str, intercept: bool) -> None:
    X, y = WINE[::3, :3], CULTIVARS[::3]
    W, b = cp.Variable((3, 3)), cp.Variable(3)
    z = X @ W.T + (np.ones((len(X), 1)) @ cp.reshape(b, (1, 3), order="C") if intercept else 0.0)
    hot = (y[:, None] == np.arange(3)).astype(float)
    risk = cp.sum(cp.max(1.0 - hot + z, axis=1) - cp.sum(cp.multiply(hot, z), axis=1)) / len(X)
    best = cp.Problem(cp.Minimize(risk + 0.05 * PENALTIES[penalty](W))).solve(solver=cp.CLARABEL)
    strength = {} if penalty == "none" else {"lam": 0.05}
    found = dg.fit(X, y, penalty=penalty, fit_intercept=intercept, **strength, **ASKED)
    assert found.relative_gap <= 1e-6
    assert found.objective == pytest.approx(best, rel=2e-6, abs=1e-7)


def test_agrees_with_liblinear() -> None:
    model = dg.LinearClassifier(
        "hinge", "l2", C=0.1, multiclass="crammer_singer", fit_intercept=False, tol=1e-10
    ).fit(WINE, CULTIVARS)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        peer = LinearSVC(
            C=0.05, multi_class="crammer_singer", fit_intercept=False, tol=1e-9, max_iter=200_000
        ).fit(WINE, CULTIVARS)
    np.testing.assert_allclose(model.coef_, peer.coef_, atol=1e-5)
    np.testing.assert_array_equal(model.predict(WINE), peer.predict(WINE))
    assert not hasattr(model, "predict_proba")


def test_paths_folds_and_files(tmp_path: Path) -> None:
    found = dg.fit(WINE, CULTIVARS, penalty="l1", lam=0.02, **ASKED)
    path = dg.path(WINE, CULTIVARS, penalty="l1", lams=[0.1, 0.02], **ASKED)
    assert path.solution(lam=0.02).objective == pytest.approx(found.objective, rel=3e-6)
    folds = dg.cross_validate(WINE, CULTIVARS, penalty="l2", lams=[1.0, 0.1], cv=3, score="zero_one", **ASKED)
    assert folds.mean.min() <= 0.05
    found.save(tmp_path / "model.json")
    loaded = dg.load(tmp_path / "model.json")
    again = loaded.certificate.recheck(WINE, CULTIVARS)
    assert again.gap <= 1.01e-6 * again.objective
    np.testing.assert_array_equal(loaded.predict(WINE), found.predict(WINE))
    assert "all classes jointly" in str(found.summary())


def test_two_classes_are_one_problem_and_other_losses_are_refused() -> None:
    two = CULTIVARS < 2
    alone = dg.fit(WINE[two], CULTIVARS[two], penalty="l2", lam=0.1, **ASKED)
    assert alone.coef.shape == (13,)
    with pytest.raises(dg.errors.DataError, match=r"crammer_singer.* is a form of the hinge loss"):
        dg.fit(WINE, CULTIVARS, loss="logistic", lam=0.1, multiclass="crammer_singer")
    with pytest.raises(dg.errors.DataError, match="is a form of the logistic loss"):
        dg.fit(WINE, CULTIVARS, loss="hinge", lam=0.1, multiclass="multinomial")
