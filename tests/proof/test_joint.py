"""Several classes at once: both values against exact arithmetic, every charge, the flows between classes."""

from __future__ import annotations

import itertools
import math
from dataclasses import replace
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

import dualgap as dg
from dualgap.arrays import Vector
from dualgap.design.dense import Dense
from dualgap.fitting.joint_problem import joint_problem
from dualgap.fitting.objective import Objective
from dualgap.losses import Hinge, Logistic
from dualgap.losses.base import divergence
from dualgap.multinomial.problem import MultinomialProblem
from dualgap.penalties import CATALOGUE, Penalised
from dualgap.proof.balance import Balanced
from dualgap.proof.check import Checked
from dualgap.proof.joint import (
    _against_columns,
    _checked,
    _circulating,
    _correlations,
    _feasible,
    _scores,
    _softmax,
    _values,
    _way,
    check_joint,
)
from exact.arithmetic import as_real, rational, real
from exact.optimum import optimum
from exact.statement import Statement as Exact
from exact.statement import parse
from proof.made import AWAY, FAINT, FEW, LEAST, SLACK, U, close, fractions, gamma, number


def joint(X: Any, own: Any, classes: int, penalty: str = "l2", **asked: Any) -> tuple[Any, Exact]:
    """The problem as the kernel sees it, and exactly."""
    X, own = np.asarray(X, dtype=float), np.asarray(own)
    n, p = X.shape
    s = np.asarray(asked.get("s", np.ones(n)), dtype=float)
    factors = np.asarray(asked.get("factors", np.ones(p)), dtype=float)
    intercept = asked.get("intercept", True)
    name, t = parse(penalty)
    kind = CATALOGUE[name](float(t)) if "(" in penalty else CATALOGUE[name]()
    lam, budget = asked.get("lam"), asked.get("budget")
    terms = Objective(Logistic(), kind, lam, budget, intercept, s, factors, np.ones(p))
    exact = Exact(
        X=tuple(tuple(row) for row in X.tolist()),
        y=tuple(float(k) for k in own),
        s=tuple(fractions(s)),
        loss=("logistic", Fraction(0)),
        penalty=(name, t),
        lam=None if lam is None else rational(lam),
        budget=None if budget is None else rational(budget),
        intercept=intercept,
        factors=tuple(fractions(factors)),
        scale=(Fraction(1),) * p,
        classes=classes,
    )
    return joint_problem(terms, Dense(X), own.astype(float), classes), exact


def parts(exact: Exact, w: Any) -> tuple[list[Fraction], list[Fraction]]:
    """Weights class after class, and intercepts."""
    table = [
        [v if isinstance(v, Fraction) else rational(v) for v in row]
        for row in np.reshape(w, (exact.classes, -1))
    ]
    if not exact.intercept:
        return [v for row in table for v in row], [Fraction(0)] * exact.classes
    return [v for row in table for v in row[:-1]], [row[-1] for row in table]


def primal(exact: Exact, w: Any) -> Any:
    return number(exact.value(*parts(exact, w)))


def drawn(rng: np.random.Generator, k: int) -> tuple[Any, Exact]:
    n, p, classes = 6, int(rng.integers(1, 3)), 3 + k % 2
    X = rng.normal(size=(n, p)) + (2.0 ** float(rng.integers(10, 40)) if k % 5 == 4 else 0.0)
    own = np.array([0, 1, 2, 0, 1, int(rng.integers(classes))])  # a class may have no row
    penalty = ("l2", "l1", "elastic_net(0.5)", "l2_norm", "none")[k % 5]
    asked: dict[str, Any] = {"intercept": bool(k % 3)}
    if penalty != "none":
        asked["lam" if k % 4 else "budget"] = float(10.0 ** rng.uniform(-2, 0))
    if k % 2:
        asked["s"] = rng.uniform(0.2, 3.0, n)
    if penalty in ("l2", "l1") and k % 7 == 3:
        asked["factors"] = [0.0] + [1.0] * (p - 1)
    return joint(X, own, classes, penalty, **asked)


def slopes(problem: Any, w: Vector) -> Any:
    with np.errstate(all="ignore"):
        return problem.slope(problem.predict(w))


@pytest.mark.parametrize("k", range(40))
def test_no_claim_is_false(k: int) -> None:
    """Weights anywhere, θ from there, scaled, shaken, or from nowhere."""
    rng = np.random.default_rng(k)
    problem, exact = drawn(rng, k)
    w = rng.normal(size=problem.p) * float(rng.choice([0.0, 0.3, 2.0]))
    points = [w, *(w + rng.normal(size=len(w)) * size for size in (1e-6, 0.1, 1.0)), np.zeros_like(w)]
    theta = slopes(problem, w)
    shaken = theta + rng.normal(size=theta.shape) * 10.0 ** rng.uniform(-16, -3)
    for point in (theta, 0.7 * theta, shaken, rng.normal(size=theta.shape), slopes(problem, points[3])):
        for tolerance in (0.0, 1e-3):
            found = check_joint(problem, w, point, tolerance, 1.0)
            assert found.primal >= primal(exact, found.w) and 0.0 <= found.dual <= found.primal
            assert exact.within(parts(exact, found.w)[0]) and found.moved == (found.w is not w)
            for other in points:
                if exact.within(parts(exact, other)[0]):
                    assert as_real(rational(found.dual)) <= primal(exact, other)


@pytest.mark.parametrize("far", [0.0, 2.0**30])
@pytest.mark.parametrize("intercept", [False, True])
def test_a_good_point_is_proven_good(intercept: bool, far: float) -> None:
    rng = np.random.default_rng(3)
    X, own = rng.normal(size=(6, 2)), np.array([0, 1, 2, 0, 1, 2])
    problem, exact = joint(X, own, 3, "l2", lam=0.05, intercept=intercept)
    best = optimum(exact, [])
    assert best.settled
    table = np.array([[float(v) for v in best.w[2 * c : 2 * c + 2]] for c in range(3)])
    if intercept:
        table = np.column_stack([table, [float(v) + far / 1e3 for v in best.b]])
    w = table.ravel()
    found = check_joint(problem, w, slopes(problem, w), 0.0, 1.0)
    lowest = number(best.value)
    assert found.primal >= primal(exact, w) and found.dual <= lowest
    assert found.gap <= 1e-12 and found.dual >= lowest - 1e-12


def test_next_to_nothing_is_left_where_next_to_nothing_is_lost() -> None:
    """Rows that are as good as certain: the gap is small beside an objective that is tiny itself."""
    rng = np.random.default_rng(4)
    X = np.eye(3)[np.arange(9) % 3] + 0.01 * rng.normal(size=(9, 3))
    problem, _ = joint(X, np.arange(9) % 3, 3, "none", intercept=False)
    table = 18.0 * np.eye(3)
    theta = slopes(problem, table.ravel())
    found = check_joint(problem, table.ravel(), theta, 0.0, 1.0)
    assert found.primal < 1e-6
    problem, _ = joint(X, np.arange(9) % 3, 3, "l2", lam=1e-12, intercept=False)
    found = check_joint(problem, table.ravel(), theta, 0.0, 1.0)
    assert found.rounding <= 1e-9 * found.primal


# --- scores and values --------------------------------------------------------------------------------------


@pytest.mark.parametrize("exact", [False, True])
@pytest.mark.parametrize("intercept", [False, True])
def test_scores_count_from_the_own_class_and_know_their_error(intercept: bool, exact: bool) -> None:
    """Also where all scores are huge and their differences small."""
    rng = np.random.default_rng(5)
    own = np.array([0, 1, 2, 1, 0])
    for common in (0.0, 1e9, 1e15):
        X = rng.normal(size=(5, 3)) / 3.0
        problem, _ = joint(X, own, 3, intercept=intercept, lam=1.0)
        table = rng.normal(size=(3, 3 + intercept)) + common * np.array(
            [1.0, 0.7, -0.3, 0.1][: 3 + intercept]
        )
        z, error = _scores(problem, table.ravel(), own, exact=exact)
        scores = [
            [
                sum(
                    (rational(x) * rational(v) for x, v in zip(row, line[:3], strict=True)),
                    rational(line[3]) if intercept else Fraction(0),
                )
                for line in table
            ]
            for row in X
        ]
        for i, c in itertools.product(range(5), range(3)):
            true = scores[i][c] - scores[i][own[i]]
            assert abs(true - rational(z[i, c])) <= rational(error)
        assert not z[np.arange(5), own].any()
        size = float(max(np.abs(line[:3]) @ np.abs(X).max(axis=0) for line in table))
        most = max(problem.rows.times(line[:3], exact=exact)[2] for line in table)
        assert 2.0 * most + 4.0 * U * np.abs(z).max() <= error
        assert error <= 2.0 * most + 4.001 * U * np.abs(z).max() + 64.0 * U * U * (size + abs(common))


def test_scores_by_hand() -> None:
    """What is rounded of a sum and of a product is kept beside it, and its own rounding is charged."""
    problem, _ = joint([[1.0 + 2.0**-30]], [0], 3, intercept=True, lam=1.0)
    table = np.array([[1.0 + 2.0**-30, 2.0**60], [1.0, 2.0**60 + 2.0**9], [0.0, 2.0**60]])
    z, error = _scores(problem, table.ravel(), np.array([0]), exact=True)
    high = (1 + Fraction(1, 2**30)) ** 2
    assert z[0, 0] == 0.0
    for c, true in ((1, 2**9 + 1 + Fraction(1, 2**30) - high), (2, -high)):
        assert abs(rational(z[0, c]) - true) <= rational(error)
    ones, _ = joint([[1.0]], [0], 3, intercept=True, lam=1.0)
    z, error = _scores(
        ones, np.array([100.0, 2.0**60, 101.0, 2.0**60, 99.0, 2.0**60]), np.array([0]), exact=True
    )
    assert z.tolist() == [[0.0, 1.0, -1.0]] and error == close(4.0 * U * (1.0 + 2.0 * 101.0), rel=1e-12)
    below = -np.array([100.0, 2.0**60, 101.0, 2.0**60, 99.0, 2.0**60])  # all that is rounded is below zero
    assert _scores(ones, below, np.array([0]), exact=True)[1] == error
    z, error = _scores(ones, np.array([1.0, 0.0, 3.0, 0.0, 2.0**70, 0.0]), np.array([0]), exact=True)
    assert z[0, 2] == 2.0**70 - 1.0 and error == close(4.0 * U * 2.0**70, rel=1e-9)
    faint, _ = joint([[1.0]], [0], 3, intercept=False, lam=1.0)
    z, error = _scores(faint, np.array([1e-30, 3e-30, 0.0]), np.array([0]), exact=True)
    assert z[0, 1] == close(2e-30, rel=1e-15) and error == close(4.0 * U * 2e-30, rel=1e-9)


@pytest.mark.parametrize("error", [0.0, 1e-9, 0.5, 8.0])
def test_values_are_from_above_for_all_scores_in_reach(error: float) -> None:
    own = np.array([0, 1, 2, 0, 1, 2])
    problem, _ = joint(np.zeros((6, 1)), own, 3, "l2", lam=0.5, s=[1.0, 2.0, 3.0, 1.0, 1.0, 1.0])
    z = np.array([[0, -2, -3], [5, 0, 4.5], [-800, -750, 0], [0, 900, 1], [-14.0, 0, -13.5], [-20, -20, 0.0]])
    w = np.array([0.5, 1.0, -2.0, 1.0, 0.0, 1.0])
    found, width = _values(problem, w, z, error)
    priced, doubt = problem.regulariser.priced(w)

    def risk(scores: Any) -> Any:
        rows = [sum(real.exp(real.mpf(float(v))) for v in row) for row in scores]
        return sum(real.mpf(float(a)) * real.log(r) for a, r in zip(problem.a, rows, strict=True))

    far = z + error
    far[np.arange(6), own] = 0.0
    near = z - error
    near[np.arange(6), own] = 0.0
    assert risk(far) + priced <= found and risk(near) + priced >= found - width
    losses = np.array([float(real.log(sum(real.exp(real.mpf(float(v))) for v in row))) for row in z])
    plain = float(problem.a @ losses) * (1.0 + FEW)
    spread = float(problem.a @ np.minimum(1.0, 2.0 * losses * math.exp(error))) * error * (1.0 + FEW)
    lost = FEW * (plain + spread + priced) + doubt + 8.0 * LEAST * (18 + 6)
    assert found == close(plain + spread + priced + lost, rel=1e-14)
    assert width == close(2.0 * (spread + lost), rel=1e-9)


@pytest.mark.parametrize("error", [0.0, 1e-9, 0.5])
def test_values_of_the_joint_hinge_are_from_above(error: float) -> None:
    own = np.array([0, 1, 2, 0])
    plain, _ = joint(np.zeros((4, 1)), own, 3, "l2", lam=0.5, s=[1.0, 2.0, 3.0, 1.0])
    problem = replace(plain, loss=Hinge())
    z = np.array([[0.0, -2.0, -3.0], [5.0, 0.0, 4.5], [-1.0, -0.25, 0.0], [0.0, -1.0, -1.0]])
    w = np.array([0.5, 1.0, -2.0, 1.0, 0.0, 1.0])
    found, width = _values(problem, w, z, error)
    priced, doubt = problem.regulariser.priced(w)
    risk = float(problem.a @ [0.0, 6.0, 0.75, 0.0]) * (1.0 + FEW)
    spread = error * (1.0 + FEW)
    lost = FEW * (risk + spread + priced) + doubt + 8.0 * LEAST * (12 + 6)
    assert found == close(risk + spread + priced + lost, rel=1e-14)
    assert width == close(2.0 * (spread + lost), rel=1e-9)


def test_values_that_are_small_keep_their_digits() -> None:
    problem, _ = joint(np.zeros((1, 1)), [0], 3, "none", intercept=False)
    found, _ = _values(problem, np.zeros(3), np.array([[0.0, -40.0, -50.0]]), 0.0)
    assert found == close((math.exp(-40) + math.exp(-50)) * (1.0 + 2.0 * FEW), rel=1e-14)
    found, _ = _values(problem, np.zeros(3), np.array([[0.0, 1.0, 2.0]]), 600.0)  # an error beyond all else
    risk = math.log(1.0 + math.exp(1) + math.exp(2)) * (1.0 + FEW)
    spread = 600.0 * (1.0 + FEW)
    assert found == close(risk + spread + FEW * (risk + spread), rel=2e-15)


def test_values_that_underflow() -> None:
    problem, _ = joint(np.zeros((2, 1)), [0, 1], 3, "none", intercept=False)
    z = np.array([[0.0, -800.0, -900.0], [-1e300, 0.0, -746.0]])
    assert _values(problem, np.zeros(3), z, 0.0) == (8.0 * LEAST * 9, 16.0 * LEAST * 9)


def test_the_softmax_and_the_correlations() -> None:
    z = np.array([[0.0, 1.0, 2.0], [1000.0, 0.0, -1000.0]])
    model, depth = _softmax(z)
    assert np.exp(-depth[0]) == close(model[0], rel=1e-14) and depth[1].tolist() == [0.0, 1000.0, 2000.0]
    assert model[0] == close(
        [float(real.exp(k) / sum(real.exp(j) for j in range(3))) for k in range(3)], rel=1e-15
    )
    assert model[1].tolist() == [1.0, 0.0, 0.0]
    rng = np.random.default_rng(6)
    X, theta = rng.normal(size=(5, 2)), rng.normal(size=(5, 3))
    for intercept, exact in itertools.product((False, True), (False, True)):
        problem, _ = joint(X, [0, 1, 2, 0, 1], 3, lam=1.0, intercept=intercept)
        v, reach = _correlations(problem, theta, 0.25, exact=exact)
        for c in range(3):
            value, error = problem.rows.against(np.ascontiguousarray(theta[:, c]), exact=exact)
            here = slice(c * (2 + intercept), c * (2 + intercept) + 2)
            assert np.array_equal(v[here], value)
            assert np.array_equal(reach[here], error + 0.25 * np.abs(X).max(axis=0))
        if intercept:
            assert not v[2::3].any() and not reach[2::3].any()
        assert len(v) == len(reach) == 3 * (2 + intercept)


# --- dual points --------------------------------------------------------------------------------------------


def test_a_feasible_point_is_in_its_domain() -> None:
    """What is owed to other classes, at most the row's weight; what is not a number owes nothing."""
    own = np.array([0, 1, 2, 0])
    problem, _ = joint(np.ones((4, 1)), own, 3, "l2", lam=1.0, intercept=False)
    theta = np.array([[9.0, -0.05, -0.1], [-0.2, 9.0, -0.2], [0.3, -0.1, 0.0], [9.0, 0.0, 0.0]])
    phi, slack = _feasible(problem, theta, own, exact=False)
    assert not slack.any()
    assert phi[0].tolist() == [0.0, 0.05, 0.1] and phi[2].tolist() == [0.0, 0.1, 0.0] and not phi[3].any()
    assert phi[1, 0] == phi[1, 2] == close(0.125 * (1.0 - 2.0 * FEW) / (1.0 + FEW), rel=1e-15)
    for bad in (np.nan, np.inf, -np.inf):
        broken = theta.copy()
        broken[0, 1] = bad
        if bad != np.inf:  # ∞ owes nothing
            assert not _quiet(problem, broken, own)[0].any()
    assert _quiet(problem, np.asfortranarray(theta), own)[0].flags.c_contiguous
    edge = np.zeros((4, 3))
    edge[0, 1] = -0.25 * (1.0 - 2.0 * FEW) / (1.0 + FEW)
    assert _quiet(problem, edge * (1.0 - 4.0 * U), own)[0][0, 1] == -edge[0, 1] * (1.0 - 4.0 * U)


def _quiet(problem: Any, theta: Any, own: Any, exact: bool = False) -> Any:
    with np.errstate(all="ignore"):
        return _feasible(problem, theta, own, exact=exact)


def flows(phi: Any, own: Any) -> list[Fraction]:
    """Σ_i θ_ik of every class."""
    classes = phi.shape[1]
    out = [Fraction(0)] * classes
    for row, k in zip(phi, own, strict=True):
        for c in range(classes):
            out[c] -= rational(row[c])
            out[int(k)] += rational(row[c])
    return out


@pytest.mark.parametrize("seed", range(12))
def test_what_flows_out_flows_back(seed: int) -> None:
    rng = np.random.default_rng(seed)
    n, classes = 12, int(rng.integers(3, 6))
    own = rng.integers(0, classes - (seed % 3 == 0), n)  # a class may have no row
    phi = rng.random((n, classes)) * 10.0 ** rng.uniform(-12, 0, (n, classes))
    phi[np.arange(n), own] = 0.0
    found = _circulating(phi, own)
    assert flows(found, own) == [0] * classes
    assert np.all(found <= phi) and np.all(found >= 0.0)
    problem, _ = joint(rng.normal(size=(n, 1)), own, classes, lam=0.1)
    w = rng.normal(size=problem.p)
    w.reshape(classes, -1)[:, -1] = 0.0
    theta = slopes(problem, w)
    settled, slack = _feasible(problem, theta, own, exact=False)
    assert flows(settled, own) == [0] * classes and not slack.any()


def test_flows_by_hand() -> None:
    own = np.array([0, 0, 1, 2])
    phi = np.array([[0.0, 4.0, 1.0], [0.0, 2.0, 0.0], [3.0, 0.0, 1.0], [1.0, 1.0, 0.0]])
    found = _circulating(phi, own)  # the first class gives 7, gets 4; the second gets 3 too much
    assert flows(found, own) == [0, 0, 0]
    assert found[:, 1].sum() == 4.0 and np.array_equal(found[2:], phi[2:]) and found[0, 2] == 1.0
    assert found[0, 1] + found[1, 1] == 3.0 and found[0, 1] <= 4.0 and found[1, 1] <= 2.0
    balanced = np.array([[0.0, 1.0], [0.0, 0.5], [1.5, 0.0]])
    assert np.array_equal(_circulating(balanced, np.array([0, 0, 1])), balanced)
    around = np.array([[0.0, 1.0, 0.0], [0.0, 0.0, 3.0], [0.0, 0.0, 0.0]])  # 0 → 1 → 2, and no way back
    assert not _circulating(around, np.array([0, 1, 2])).any()
    ring = np.array([[0.0, 2.0, 0.0], [0.0, 0.0, 5.0], [3.0, 0.0, 0.0]])
    assert _circulating(ring, np.array([0, 1, 2])).tolist() == [
        [0.0, 2.0, 0.0],
        [0.0, 0.0, 2.0],
        [2.0, 0.0, 0.0],
    ]
    nobody = np.array([[0.0, 1.0, 2.0], [3.0, 0.0, 4.0], [1.0, 0.0, 8.0], [0.0, 2.0, 16.0]])
    empty = _circulating(nobody, np.array([0, 1, 1, 0]))  # the third class has no row: nothing may flow there
    assert not empty[:, 2].any() and flows(empty, [0, 1, 1, 0]) == [0, 0, 0]
    assert empty[:, 0].sum() == empty[:, 1].sum() == 3.0
    last = np.array([[0.0, 1.0, 2.0**-52], [1.0, 0.0, 0.0]])  # the smallest part there is
    assert _circulating(last, np.array([0, 1])).tolist() == [[0.0, 1.0, 0.0], [1.0, 0.0, 0.0]]
    large = np.array([[0.0, 2.0**40, 1.0], [2.0**40, 0.0, 0.5], [1.0, 2.0, 0.0]])
    several = _circulating(large, np.array([0, 1, 2]))
    assert flows(several, [0, 1, 2]) == [0, 0, 0] and several[0, 1] >= 2.0**40 - 2.0


def test_the_shortest_way_along_flows() -> None:
    flow = np.zeros((5, 5), dtype=np.int64)
    for giver, taker in ((0, 1), (1, 2), (2, 3), (0, 4), (4, 3), (3, 0)):
        flow[giver, taker] = 1
    assert _way(flow, np.array([1, 0, 0, -1, 0])) == [0, 4, 3]
    assert _way(flow, np.array([1, 0, -1, 0, 0])) == [0, 1, 2]
    assert _way(flow, np.array([1, 0, 2, -3, 0])) == [2, 3]
    assert _way(flow, np.array([-1, 1, 0, 0, 0])) == [1, 2, 3, 0]
    with pytest.raises(AssertionError):
        _way(flow, np.array([1, 0, 0, 0, 0]))  # nobody lacks: it ends all the same
    around = np.array([[0, 1, 0], [0, 0, 1], [0, 1, 0]])
    with pytest.raises(AssertionError):
        _way(around, np.array([1, 0, 0]))  # nor does it go round for ever


def test_only_an_intercept_asks_for_flows_to_be_settled() -> None:
    own = np.array([0, 1, 2])
    theta = np.array([[0.1, -0.1, 0.0], [0.0, 0.1, -0.1], [0.0, 0.0, 0.0]])
    problem, _ = joint(np.ones((3, 1)), own, 3, lam=0.1)
    phi, slack = _feasible(problem, theta, own, exact=False)
    assert phi.shape == slack.shape == (3, 3) and not phi.any() and not slack.any()
    free, _ = joint(np.ones((3, 1)), own, 3, lam=0.1, intercept=False)
    phi, slack = _feasible(free, theta, own, exact=False)
    assert phi.tolist() == [[0.0, 0.1, 0.0], [0.0, 0.0, 0.1], [0.0, 0.0, 0.0]] and not slack.any()


@pytest.mark.parametrize("exact", [False, True])
@pytest.mark.parametrize("intercept", [False, True])
def test_free_columns_are_balanced_class_by_class(intercept: bool, exact: bool) -> None:
    rng = np.random.default_rng(8)
    n, own = 9, np.arange(9) % 3
    X = rng.normal(size=(n, 2))
    problem, _ = joint(
        X, own, 3, "l2", lam=0.1, factors=[0.0, 1.0], intercept=intercept, s=rng.uniform(1, 2, n)
    )
    theta = problem.feasible(slopes(problem, 0.2 * rng.normal(size=problem.p)))[0]
    with np.errstate(all="ignore"):
        phi, slack = _feasible(problem, theta, own, exact=exact)
    assert phi.any() and slack.any() and not phi[np.arange(n), own].any()
    assert np.all(slack <= phi) and np.all((phi + slack).sum(axis=1) <= problem.a * (1.0 - 2.0 * FEW))
    full = -phi
    full[np.arange(n), own] = phi.sum(axis=1)
    for column in [X[:, 0], *([np.ones(n)] if intercept else [])]:
        for c in range(3):
            assert abs(column @ full[:, c]) <= np.abs(column).max() * slack.sum() + 1e-16
    assert (abs(full.sum(axis=0)).max() < 1e-12) == intercept


def test_bounds_leave_a_row_its_weight() -> None:
    """Each entry an even part of what its row has left, and columns that are open prove nothing."""
    seen: list[Any] = []

    def spy(A: Any, theta: Any, bounds: Any, *, exact: bool) -> Balanced:
        seen.append((A, theta, bounds, exact))
        open_ = np.array([0] if len(seen) == 2 else [], dtype=np.intp)
        return Balanced(theta * 0.5, theta * 0.125, open_, np.zeros(len(open_)))

    own = np.array([0, 2, 1, 1])
    X = np.array([[3.0, 1.0], [5.0, 1.0], [7.0, 1.0], [9.0, 1.0]])
    problem, _ = joint(X, own, 3, "l2", lam=0.1, factors=[0.0, 1.0], s=[1.0, 1.0, 1.0, 1.0])
    nearly = 0.25 * (1.0 - 16.0 * FEW)
    phi = np.array([[0.0, 0.125, 0.0625], [0.0, 0.0625, 0.0], [0.25, 0.0, 0.0], [nearly, 0.0, 0.0]])
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("dualgap.proof.joint.orthogonal", spy)
        full, slack = _against_columns(problem, phi, own, exact=True)
        nothing = _against_columns(problem, phi, own, exact=False)
        patch.setattr("dualgap.proof.joint.orthogonal", lambda *_, **__: None)
        lost = _against_columns(problem, phi, own, exact=False)
    A, theta, (lower, upper), exact = seen[0]
    assert exact and not seen[1][3]
    assert np.array_equal(full, 0.5 * phi) and np.array_equal(slack, 0.125 * phi)
    assert not np.any(nothing) and not np.any(lost)
    entries = [(0, 1), (0, 2), (1, 0), (1, 1), (2, 0), (2, 2), (3, 0), (3, 2)]
    assert theta.tolist() == [phi[at] for at in entries] and not lower.any()
    left = np.array([0.25 - 0.1875, 0.25 - 0.1875, 0.25 - 0.0625, 0.25 - 0.0625])
    assert (upper - theta)[:4] == close(left / 3.0, rel=1e-12)
    assert np.array_equal(upper[4:6], theta[4:6])
    assert upper[7] == close(0.25 * 13.0 * FEW / 3.0, rel=0.01)
    room = 0.25 * (1.0 - 2.0 * FEW) - 0.0625 * (1.0 + FEW)
    assert upper[3] <= 0.0625 + room / 3.0 * (1.0 - 0.5 * FEW)
    columns = np.column_stack([np.ones(4), X[:, 0]])
    for row, (i, c) in enumerate(entries):
        for k in range(2):
            side = (own[i] == k) - float(c == k)
            assert A[row, 2 * k : 2 * k + 2].tolist() == (side * columns[i]).tolist()
    assert A.shape == (8, 4)


# --- the sum of the terms -----------------------------------------------------------------------------------


class Priced(Penalised):
    """A penalty whose every answer is given; what it is asked is kept."""

    def __init__(self, gauge: Any, priced: tuple[float, float], bracket: tuple[float, float]) -> None:
        super().__init__(gauge, 1.0)
        object.__setattr__(self, "answers", (priced, bracket))
        object.__setattr__(self, "asked", [])

    def priced(self, w: Vector) -> tuple[float, float]:
        return self.answers[0]  # type: ignore[attr-defined, no-any-return]

    def fenchel_young(self, w: Vector, v: Vector, reach: Vector) -> tuple[float, float]:
        self.asked.append((w, v, reach))  # type: ignore[attr-defined]
        return self.answers[1]  # type: ignore[attr-defined, no-any-return]


def staged(priced: tuple[float, float], bracket: tuple[float, float]) -> tuple[Any, Vector, Any]:
    rng = np.random.default_rng(9)
    own = np.array([0, 1, 2, 1, 0])
    problem, _ = joint(rng.normal(size=(5, 2)), own, 3, lam=1.0, intercept=False, s=[1.0, 2.0, 3.0, 4.0, 5.0])
    told = Priced(problem.regulariser.gauge, priced, bracket)
    fields = (problem.design, problem.y, problem.a, problem.loss, told, False, 3)
    return MultinomialProblem(*fields), rng.normal(size=6), rng.normal(size=(5, 3)) * 0.02


def spelt(
    problem: Any, w: Vector, phi: Any, slack: Any, exact: bool, more: float = 0.0
) -> tuple[float, float, float, Vector]:
    """Objective, rounding, gap and reach as the module's text says, number by number."""
    own, a = problem.y.astype(int), problem.a
    z, error = _scores(problem, w, own, exact=exact)
    error += more
    objective, width = _values(problem, w, z, error)
    (_, _), (bracket, excess) = problem.regulariser.answers
    terms, loose = [], []
    for i, k in enumerate(own):
        top = max(z[i])
        model = [math.exp(v - top) / math.fsum(math.exp(u - top) for u in z[i]) for v in z[i]]
        share = [phi[i, c] / a[i] * AWAY for c in range(3)]
        step = [slack[i, c] / a[i] + 16.0 * U * share[c] for c in range(3)]
        share[k] = 1.0 - math.fsum(share)
        logs = [math.log(s) if s else math.log(LEAST) for s in share]
        depth = [top - v + math.log(math.fsum(math.exp(u - top) for u in z[i])) for v in z[i]]
        slope = [abs(x + d) for x, d in zip(logs, depth, strict=True)]
        terms.append(
            math.fsum(s * (t - math.log(m)) - s + m for s, t, m in zip(share, logs, model, strict=True))
        )
        moved = math.fsum(d * (s + slope[k] + 2.0) for d, s in zip(step, slope, strict=True))
        apart = math.fsum(abs(m - s) for m, s in zip(model, share, strict=True))
        loose.append(moved + gamma(5) * slope[k] + error * (apart + error))
    full = -phi
    full[np.arange(5), own] = phi.sum(axis=1)
    v, reach = _correlations(
        problem, full, gamma(3) * phi.sum() * (1.0 + FEW) + slack.sum() * (1.0 + FEW), exact=exact
    )
    along = float(np.abs(w) @ np.abs(v))
    rounding = width + float(a @ loose) + SLACK * (objective + bracket + along) + excess * objective
    return objective, rounding, float(a @ terms) + bracket + rounding, reach


@pytest.mark.parametrize("exact", [False, True])
@pytest.mark.parametrize("slack", [0.0, 0.125])
@pytest.mark.parametrize(
    ("priced", "bracket"),
    [((0.0, 0.0), (0.0, 0.0)), ((0.25, 1e-13), (0.125, 0.03125)), ((0.25, 1e-13), (0.125, 1e-14))],
)
def test_the_sum_of_the_terms_and_its_charges(priced: Any, bracket: Any, slack: float, exact: bool) -> None:
    problem, w, theta = staged(priced, bracket)
    own = problem.y.astype(int)
    phi, none = _feasible(problem, theta, own, exact=exact)
    moved = none if not slack else slack * phi
    with pytest.MonkeyPatch.context() as patch, np.errstate(all="ignore"):
        patch.setattr("dualgap.proof.joint._feasible", lambda *_, **__: (phi, moved))
        found = _checked(problem, w, theta, exact=exact)
    primal, rounding, gap, reach = spelt(problem, w, phi, moved, exact)
    assert found.primal == close(primal, rel=1e-14)
    assert found.rounding == close(rounding, rel=1e-9)
    assert found.gap == close(gap, rel=1e-11)
    asked, v, told = problem.regulariser.asked[-1]
    assert asked is w and found.correlation is v and found.reach is told
    assert told == close(reach, rel=1e-13)
    assert np.array_equal(found.theta.sum(axis=1).round(12), np.zeros(5))
    assert np.array_equal(found.theta[np.arange(5), own], phi.sum(axis=1)) and found.w is w
    assert found.width == close(_values(problem, w, *_scores(problem, w, own, exact=exact))[1], rel=1e-14)


def test_scores_that_are_off_cost_their_slopes_and_their_square() -> None:
    problem, w, theta = staged((50.0, 0.0), (0.0, 0.0))
    own = problem.y.astype(int)
    phi, slack = _feasible(problem, theta, own, exact=False)
    for more in (1e-3, 0.5):

        def off(*given: Any, exact: bool, more: float = more) -> Any:
            z, error = _scores(*given, exact=exact)
            return z, error + more

        with pytest.MonkeyPatch.context() as patch, np.errstate(all="ignore"):
            patch.setattr("dualgap.proof.joint._scores", off)
            found = _checked(problem, w, theta, exact=False)
        primal, rounding, gap, _ = spelt(problem, w, phi, slack, False, more)
        assert (found.primal, found.rounding, found.gap) == close((primal, rounding, gap), rel=1e-11)


def test_what_is_wanted_by_default() -> None:
    """No gap is small enough, and nothing is known of the objective without columns."""
    problem, _ = joint(np.eye(3), np.arange(3), 3, "l2", lam=1e-12, intercept=False)
    w = 18.0 * np.eye(3).ravel()
    theta = 0.5 * slopes(problem, w)
    plain = check_joint(problem, w, theta, np.inf)
    enough = plain.rounding / (0.125 * plain.primal)
    assert plain.primal < 1e-6 and plain.gap > enough * plain.primal

    def rounding(*asked: float) -> float:
        return check_joint(problem, w, theta, *asked).rounding

    assert rounding() == rounding(0.0) == rounding(0.9 * enough) < rounding(1.1 * enough) == plain.rounding


def test_models_that_underflow_are_as_far_as_they_are() -> None:
    """A share where the model is e^−1000: the gap is what exact arithmetic says, not infinite, not less."""
    problem, exact = joint([[1.0]], [0], 3, "l2", lam=1e-9, intercept=False)
    w = np.array([1000.0, 0.0, 0.0])
    theta = np.array([[0.5, -0.25, -0.25]])
    found = check_joint(problem, w, theta, 0.0, 1.0)
    value = 0.5 * (1000.0 + math.log(0.25)) + 0.5 * math.log(0.5)
    assert found.dual == 0.0 and found.primal >= primal(exact, w)
    assert found.gap == found.primal
    direct = _checked_gap(problem, w, theta)
    bracket, _ = problem.regulariser.fenchel_young(w, np.array([0.5, -0.25, -0.25]), np.zeros(3))
    assert direct - bracket == close(value, rel=1e-6)


def _checked_gap(problem: Any, w: Vector, theta: Any) -> float:
    seen: list[Checked] = []
    with pytest.MonkeyPatch.context() as patch, np.errstate(all="ignore"):
        patch.setattr("dualgap.proof.joint.told", lambda found: seen.append(found) or found)
        _checked(problem, w, theta, exact=False)
    return float(seen[0].dual)


def test_shares_are_no_nearer_to_nothing_than_they_are() -> None:
    """A quotient is moved away from 0 by more than it is rounded; the own class has what is left."""
    problem, w, theta = staged((0.0, 0.0), (0.0, 0.0))
    own = problem.y.astype(int)
    phi, _ = _feasible(problem, theta, own, exact=False)
    seen: list[Any] = []

    def spy(*given: Any) -> Any:
        seen.append(given)
        return divergence(*given)

    with pytest.MonkeyPatch.context() as patch, np.errstate(all="ignore"):
        patch.setattr("dualgap.proof.joint.divergence", spy)
        _checked(problem, w, theta, exact=False)
    ((share, model, depth),) = seen
    expected = phi / problem.a[:, None] * AWAY
    expected[np.arange(5), own] = 1.0 - expected.sum(axis=1)
    assert np.array_equal(share, expected)
    z, _ = _scores(problem, w, own, exact=False)
    assert np.array_equal(model, _softmax(z)[0]) and np.array_equal(depth, _softmax(z)[1])


def test_when_more_digits_are_spent_and_what_is_kept() -> None:
    problem, w, theta = staged((0.0, 0.0), (0.0, 0.0))
    digits: list[bool] = []
    times = problem.rows.times

    def watched(coef: Vector, *, exact: bool = False) -> Any:
        digits.append(exact)
        return times(coef, exact=exact)

    def spent(*asked: float) -> int:
        digits.clear()
        check_joint(problem, w, theta, *asked)
        assert digits == [False] * 3 + [True] * (len(digits) - 3)
        return len(digits) // 3

    problem.rows.times = watched
    plain = check_joint(problem, w, theta, np.inf, 1.0)
    better = check_joint(problem, w, theta, 0.0, 1.0)
    assert better.rounding < plain.rounding and better.primal <= plain.primal and better.width == plain.width
    enough = plain.rounding / (0.125 * plain.primal)
    assert plain.gap > 100.0 * enough * plain.primal
    assert spent() == spent(0.0) == spent(0.9 * enough) == 2 and spent(1.1 * enough) == 1
    # 1e-4 of the null objective counts too
    assert spent(0.01 * enough, 99.0 * plain.primal / 1e-4) == 2
    assert spent(0.01 * enough, 101.0 * plain.primal / 1e-4) == 1


def test_rows_whose_weight_underflows_leave_nothing_known() -> None:
    problem, _ = joint(np.eye(3), [0, 1, 2], 3, "l2", lam=0.1, intercept=False)
    for share, some in ((FAINT, True), (0.99 * FAINT, False), (0.0, False)):
        few = replace(problem, a=np.array([0.5, 0.5, share]))
        found = check_joint(few, np.zeros(9), np.zeros((3, 3)))
        assert (found.primal < np.inf) == some and found.dual == 0.0


def test_weights_that_break_the_budget_are_told() -> None:
    problem, exact = joint(np.eye(3), [0, 1, 2], 3, "l2", budget=1.0)
    w = np.full(12, 2.0)
    found = check_joint(problem, w, np.zeros((3, 3)))
    assert found.moved and exact.within(parts(exact, found.w)[0]) and found.primal >= primal(exact, found.w)
    inner = np.full(12, 0.1)
    found = check_joint(problem, inner, np.zeros((3, 3)))
    assert not found.moved and found.w is inner


@pytest.mark.parametrize("bad", [np.nan, np.inf, 1e300])
def test_what_is_no_number_proves_nothing(bad: float) -> None:
    for intercept, budget in itertools.product((False, True), (None, 1.0)):
        asked = {"lam": 0.1} if budget is None else {"budget": budget}
        problem, exact = joint(np.eye(3), [0, 1, 2], 3, "l2", intercept=intercept, **asked)
        w = np.zeros(problem.p)
        theta = slopes(problem, w)
        w[0] = bad
        found = check_joint(problem, w, theta)
        assert 0.0 <= found.dual <= found.primal and found.dual <= primal(exact, np.zeros(problem.p))
        broken = theta.copy()
        broken[0, 1] = bad
        found = check_joint(problem, np.zeros(problem.p), broken)
        assert 0.0 <= found.dual <= primal(exact, np.zeros(problem.p))


def test_a_processor_that_flushes_small_numbers_to_zero_leaves_a_proof() -> None:
    """Some libraries tell it so, for the whole process, when imported; 2⁻¹⁰⁷⁴ has no logarithm then."""
    torch = pytest.importorskip("torch")
    from sklearn.datasets import load_digits

    X, y = load_digits(return_X_y=True)
    found = dg.fit(X / 16.0, y, loss="logistic", penalty="l2", lam=1e-6)
    if not torch.set_flush_denormal(True):
        pytest.skip("this processor cannot be told to")
    try:
        again = found.certificate.recheck(X / 16.0, y)
    finally:
        torch.set_flush_denormal(False)
    assert again.bound == pytest.approx(found.bound, rel=1e-9) and again.gap <= 2e-6 * again.objective
