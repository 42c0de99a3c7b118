"""Many points at once: what `check` says of each alone, but for rounding, and never more than is true."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pytest

from dualgap.arrays import Matrix, Vector
from dualgap.design.dense import Dense
from dualgap.design.intercept import WithOnes
from dualgap.losses import Loss
from dualgap.penalties import Penalised
from dualgap.penalties.separable import Separable
from dualgap.proof.balance import zero_sum
from dualgap.proof.check import _sums, check, check_many
from dualgap.proof.statement import Statement
from dualgap.traits import Trait
from exact.arithmetic import as_real, rational
from exact.optimum import optimum
from proof.made import (
    AWAY,
    CONVEX,
    FAINT,
    FEW,
    LEAST,
    SLACK,
    U,
    close,
    gamma,
    labelled,
    loss_of,
    made,
    targets,
)

LAMS = np.array([0.03, 0.2, 1.0])


def quietly(problem: Any, gauge: Separable, lams: Vector, weights: Matrix, thetas: Matrix) -> Any:
    with np.errstate(all="ignore"):
        return check_many(problem, gauge, lams, weights, thetas)


@pytest.mark.parametrize("penalty", ["l1", "l2", "elastic_net(0.5)"])
@pytest.mark.parametrize("loss", CONVEX)
def test_what_is_said_of_many_is_true_of_each(loss: str, penalty: str) -> None:
    """Both values as real numbers, and within rounding those of the check of one."""
    rng = np.random.default_rng([len(loss), len(penalty)])
    for intercept in (False, True):
        n, p = 6, 2
        X = rng.normal(size=(n, p))
        y = targets(loss, X[:, 0] + rng.normal(size=n))
        y = np.where(np.arange(n) % 2 == 0, 1.0, -1.0) if labelled(loss) else y
        s = rng.uniform(0.5, 2.0, n)
        ones = [made(X, y, loss, penalty, lam=float(lam), s=s, intercept=intercept) for lam in LAMS]
        problem = ones[0].problem
        bests = [optimum(one.exact, []) for one in ones]
        weights = np.array(
            [[float(v) for v in ([*best.w, best.b] if intercept else best.w)] for best in bests]
        )
        weights[1] += 0.1 * rng.normal(size=weights.shape[1])
        thetas = np.array([-problem.a * problem.loss.derivative(y, problem.predict(w)) for w in weights])
        thetas[2] += 0.01 * rng.normal(size=n)
        if intercept:  # which of several ways it is balanced in is not what is compared here
            thetas = np.array([zero_sum(np.clip(row, *problem.dual_bounds_inside())) for row in thetas])
        primals, duals = quietly(problem, problem.regulariser.gauge, LAMS, weights, thetas)
        for one, best, w, theta, primal, dual in zip(
            ones, bests, weights, thetas, primals, duals, strict=True
        ):
            lowest = one.primal([*best.w, best.b] if intercept else best.w)
            assert primal >= one.primal(w) and 0.0 <= dual <= primal and as_real(rational(dual)) <= lowest
            alone = check(one.problem, w, theta, np.inf, 1.0)
            assert primal == pytest.approx(alone.primal, rel=1e-12, abs=1e-300)
            assert dual == pytest.approx(alone.dual, rel=1e-11, abs=1e-11 * alone.primal)


# --- every charge -------------------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class Told(Loss):
    """A loss whose every answer is given, a row for each point."""

    values: Matrix
    low: Matrix
    high: Matrix
    given: Matrix
    kink: Matrix
    asked: list[Any] = field(default_factory=list)
    name = "told"
    declared = Trait.PIECEWISE_LINEAR
    translates = False

    def value(self, y: Vector, z: Vector) -> Vector:
        return self.values

    def derivative(self, y: Vector, z: Vector) -> Vector:
        return np.where(z < self.kink, self.low, self.high)

    def conjugate(self, y: Vector, u: Vector) -> Vector:
        raise NotImplementedError

    def domain(self, y: Vector) -> tuple[Vector, Vector]:
        return np.full(len(y), -np.inf), np.full(len(y), np.inf)

    def fenchel_young(self, y: Vector, z: Vector, u: Vector) -> Vector:
        self.asked.append(u)
        return np.asarray(self.given + 0.0 * u)


class Moved(Told):
    """The same, of what is left once the target is taken away."""

    translates = True


def setting(intercept: bool, translates: bool, **given: Any) -> tuple[Statement, Separable, Matrix, Matrix]:
    """Two points of four rows and three columns; what is not given is zero."""
    rng = np.random.default_rng(1)
    X, y = rng.normal(size=(4, 3)), rng.normal(size=4)
    a = np.array([0.1, 0.2, 0.3, 0.4])
    weights = given.get("weights", rng.normal(size=(2, 3 + intercept)))
    theta = rng.normal(size=(2, 4))
    theta = given.get("theta", 1.0) * (theta - theta.mean(axis=1)[:, None])
    l1, l2 = given.get("l1", np.ones(3)), given.get("l2", np.zeros(3))
    gauge = Separable(np.append(l1, [0.0] * intercept), np.append(l2, [0.0] * intercept))
    answers = {
        key: np.broadcast_to(np.asarray(given.get(key, 0.0)), (2, 4))
        for key in ("values", "low", "high", "given")
    }
    base = weights[:, -1:] * intercept - y * translates
    kink = np.asarray(weights[:, :3] @ X.T + base)
    loss = (Moved if translates else Told)(**answers, kink=kink)
    design: Any = WithOnes(Dense(X)) if intercept else Dense(X)
    problem = Statement(design, y, a, loss, Penalised(gauge, 1.0), intercept)
    return problem, gauge, weights, theta


def spelt(
    problem: Any, gauge: Separable, lam: float, w: Vector, theta: Vector, k: int
) -> tuple[float, float]:
    """Objective and gap of one point as the module's text says, number by number."""
    loss, a, p = problem.loss, problem.a.tolist(), problem.rows.p
    coef, level = (w[:p], float(w[p])) if problem.intercept else (w, 0.0)
    base = np.array([level - y if loss.translates else level for y in problem.y])
    value, errors = problem.rows.times_many(coef[None])
    error = float(errors[0]) + 4.0 * U * float(np.abs(value).max() + np.abs(base).max())
    few = 1.0 + FEW
    low, high = loss.low[k] - FEW * np.abs(loss.low[k]), loss.high[k] + FEW * np.abs(loss.high[k])
    risk = few * math.fsum(x * v for x, v in zip(a, loss.values[k], strict=True))
    spread = few * math.fsum(x * error * max(abs(s), abs(t)) for x, s, t in zip(a, low, high, strict=True))
    size = gauge.value(w)
    lost = FEW * (risk + spread + lam * size) + lam * gauge.doubt(w, size) + 8.0 * LEAST * (len(a) + len(w))
    primal = risk + spread + lam * size + lost
    v, reach = problem.rows.against_many(theta[None])
    v, reach = (np.append(part[0], [0.0] * problem.intercept) for part in (v, reach))
    u = [-(t / x) * AWAY for t, x in zip(theta, a, strict=True)]
    apart = [max(abs(s - x), abs(t - x)) + FAINT for s, t, x in zip(low, high, u, strict=True)]
    bracket, excess = gauge.fenchel_young(w, v, reach, lam)
    along = float(np.abs(w) @ np.abs(v))
    gap = few * math.fsum(x * t for x, t in zip(a, loss.given[k], strict=True)) + bracket
    gap += bracket * gamma(len(w)) + 2.0 * (spread + lost)
    gap += few * math.fsum(x * error * d for x, d in zip(a, apart, strict=True))
    return primal, gap + SLACK * (primal + bracket + along) + excess * primal


SMALL = np.full((2, 3), 1e-9)
CASES: dict[str, dict[str, Any]] = {
    "value": {"values": [[5.0, 7.0, 11.0, 13.0], [1.0, 2.0, 3.0, 4.0]], "theta": 1e-9},
    "slopes": {
        "values": 1.0,
        "low": [[-3e9, -5e9, 0.0, 2e9], [-3e9] * 4],
        "high": [-2e9, 7e9, 1e9, 9e9],
        "theta": 1e-9,
    },
    "far": {"values": 1.0, "low": -1.0, "high": 1.0, "theta": 1e9, "l1": np.full(3, 1e12), "l2": np.zeros(3)},
    "terms": {"values": 99.0, "given": [[1.0, 2.0, 3.0, 4.0], [9.0, 8.0, 7.0, 6.0]]},
    "spread": {"low": -3e9, "high": 5e9, "theta": 1e-9},
    "bowl": {"values": 30.0, "l1": np.array([0.0, 0.5, 0.0]), "l2": np.array([2.0, 1.0, 1.0])},
    "price": {"values": 1e-3, "l1": np.full(3, 1e6), "theta": 1e-9},
    "excess": {"values": 99.0, "l1": np.full(3, 9.0), "theta": 1.0},
}


@pytest.mark.parametrize("translates", [False, True])
@pytest.mark.parametrize("intercept", [False, True])
@pytest.mark.parametrize("name", CASES)
def test_the_sum_of_the_terms_and_its_charges(name: str, intercept: bool, translates: bool) -> None:
    problem, gauge, weights, thetas = setting(intercept, translates, **CASES[name])
    lams = np.array([0.5, 2.0])
    if name in ("value", "slopes", "price", "far", "spread"):  # so that charges are all there is
        weights = weights * np.append(np.full(3, 1e-9 if name != "far" else 0.0), [1.0] * intercept)
        problem, gauge, weights, thetas = setting(
            intercept, translates, **{**CASES[name], "weights": weights}
        )
    primals, duals = quietly(problem, gauge, lams, weights, thetas)
    for k in range(2):
        theta = thetas[k]
        if intercept:
            theta = zero_sum(theta)
        primal, gap = spelt(problem, gauge, float(lams[k]), weights[k], theta, k)
        assert primals[k] == close(primal, rel=3e-15)
        assert primals[k] - duals[k] == close(min(gap, primal), rel=1e-14 if gap > 0.1 * primal else 2e-3)
        assert np.array_equal(problem.loss.asked[0][k], -(theta / problem.a) * AWAY)  # type: ignore[attr-defined]
    assert duals.any() or name == "spread"


@pytest.mark.parametrize("intercept", [False, True])
def test_weights_along_their_prices_are_charged(intercept: bool) -> None:
    """v = 2 λ l2 w: the bracket is nothing, and what w·v is off by is as much as what the penalty is."""
    problem, gauge, weights, _ = setting(intercept, False, l1=np.zeros(3), l2=np.array([1.0, 2.0, 0.5]))
    lams = np.array([0.5, 2.0])
    slopes = [2.0 * lam * gauge.l2[:3] * w[:3] for lam, w in zip(lams, weights, strict=True)]
    system = np.vstack([problem.rows.matrix.T, np.ones(4)])  # and Σθ = 0
    thetas = np.array([zero_sum(np.linalg.solve(system, np.append(v, 0.0))) for v in slopes])
    primals, duals = quietly(problem, gauge, lams, weights, thetas)
    for k in range(2):
        primal, gap = spelt(problem, gauge, float(lams[k]), weights[k], thetas[k], k)
        assert 14.0 * FEW * primal < gap < 1e-10 * primal
        assert primals[k] - duals[k] == close(gap, rel=2e-3)


def test_theta_is_balanced_where_there_is_an_intercept() -> None:
    one = made(np.zeros((3, 1)), [1.0, 2.0, 4.0], "squared", "l2", lam=1.0)
    theta = 2.0 * one.problem.a * one.problem.y  # the slopes at 0, which no intercept leaves as they are
    _, duals = quietly(one.problem, one.problem.regulariser.gauge, np.ones(1), np.zeros((1, 2)), theta[None])
    assert duals[0] <= one.primal([0.0, 7.0 / 3.0])
    best = np.array([[0.0, 7.0 / 3.0]])
    _, duals = quietly(
        one.problem, one.problem.regulariser.gauge, np.ones(1), best, theta[None] - theta.mean()
    )
    assert duals[0] == close(float(one.primal(best[0])), rel=1e-12)


def test_what_underflows_is_charged() -> None:
    problem, gauge, weights, thetas = setting(False, False)
    primals, _ = quietly(problem, gauge, LAMS[:2], 0.0 * weights, 0.0 * thetas)
    assert primals.tolist() == close(
        (8.0 * LEAST * 7 + LAMS[:2] * gauge.doubt(weights[0], 0.0)).tolist(), rel=0.05
    )


def test_a_slope_that_underflows_is_charged() -> None:
    """Predictions so large that a slope below all numbers would count: FAINT of their error is charged."""
    flat = np.zeros((1, 1))
    loss = Told(flat + 2.0**-140, flat, flat, flat, flat + 2.0**900)
    gauge = Separable(np.ones(1), np.zeros(1))
    problem = Statement(
        Dense(np.full((1, 1), 2.0**1000)), np.zeros(1), np.ones(1), loss, Penalised(gauge, 1.0), False
    )
    w, lam = np.full(1, 2.0**-100), 2.0**-900
    primals, duals = quietly(problem, gauge, np.array([lam]), w[None], flat)
    primal, gap = spelt(problem, gauge, lam, w, np.zeros(1), 0)
    assert primals[0] == close(primal, rel=1e-12) and primals[0] - duals[0] == close(gap, rel=1e-9)
    assert 2.0**-152 < gap < 2.0**-145


@pytest.mark.parametrize("wide", [1.0, 1e5])
def test_far_predictions_are_charged_their_rounding(wide: float) -> None:
    """The largest prediction and the largest b − y, of this point and no other."""
    problem, gauge, weights, thetas = setting(True, True, values=1.0, low=-1e6, high=1e6, theta=1e-12)
    weights = weights * 1e-12
    weights[0, -1], weights[1, 0] = wide, wide
    primals, _ = quietly(problem, gauge, np.full(2, 1e-12), weights, thetas)
    for k in range(2):
        assert primals[k] == close(spelt(problem, gauge, 1e-12, weights[k], thetas[k], k)[0], rel=1e-13)


def test_prices_that_underflow_prove_nothing() -> None:
    y = np.array([1e-150, 2e-150])
    one = made(1e-155 * np.eye(2), y, "squared", "l1", lam=1.0, factors=[0.5, 1.0], intercept=False)
    for lam, some in ((2.0 * FAINT, True), (1.99 * FAINT, False)):
        gauge = one.problem.regulariser.gauge
        _, duals = quietly(one.problem, gauge, np.array([lam]), np.zeros((1, 2)), y[None])
        assert bool(duals[0] > 0.0) == some


@pytest.mark.parametrize("bad", [np.nan, np.inf, 1e300])
def test_what_is_no_number_proves_nothing(bad: float) -> None:
    for intercept in (False, True):
        one = made(np.eye(3), [1.0, 2.0, 4.0], "squared", "l2", lam=1.0, intercept=intercept)
        weights, thetas = np.zeros((2, 3 + intercept)), np.zeros((2, 3))
        weights[0, 0] = bad
        thetas[1, 0] = bad
        primals, duals = quietly(one.problem, one.problem.regulariser.gauge, np.ones(2), weights, thetas)
        assert np.all(primals == primals) and np.all(duals >= 0.0) and np.all(duals <= primals)
        assert primals[0] >= 1e300 and duals[0] == 0.0
        assert primals[1] >= 7.0 and duals[1] <= one.primal(np.zeros(3 + intercept))


def test_a_gap_without_end_proves_nothing() -> None:
    """A square that overflows, and a v beyond its price: objective and gap are both infinite."""
    one = made([[1e200]], [1.0], "squared", "l1", lam=0.1, intercept=False)
    gauge = one.problem.regulariser.gauge
    primals, duals = quietly(one.problem, gauge, np.full(1, 0.1), np.ones((1, 1)), np.ones((1, 1)))
    assert primals.tolist() == [np.inf] and duals.tolist() == [0.0]


def test_rows_whose_weight_underflows_leave_nothing_known() -> None:
    for share, some in ((FAINT, True), (0.99 * FAINT, False), (0.0, False)):
        one = made(
            [[1.0], [2.0]], [1.0, 2.0], "squared", "l2", lam=0.1, a=np.array([1.0, share]), intercept=False
        )
        gauge = one.problem.regulariser.gauge
        primals, duals = quietly(
            one.problem, gauge, np.array([0.1]), np.array([[0.5]]), np.array([[0.1, 0.0]])
        )
        assert (primals[0] < np.inf) == some and (duals[0] > 0.0) == some


def test_a_bound_that_is_nothing_is_zero() -> None:
    one = made([[1.0]], [1.0], "squared", "l2", lam=1.0, intercept=False)
    gauge = one.problem.regulariser.gauge
    primals, duals = quietly(
        one.problem, gauge, np.ones(2), np.array([[0.0], [9.0]]), np.array([[-5.0], [1.0]])
    )
    assert duals.tolist() == [0.0, close(0.5, rel=1e-9)] and primals[1] == close(64.0 + 81.0, rel=1e-12)


def test_sums_over_many_rows_are_made_in_pairs() -> None:
    """200,000 rows: however the matrices lie in memory, no sum loses more than it is charged."""
    rng = np.random.default_rng(2)
    n = 200_000
    X = rng.random((n, 2))
    loss, a = loss_of("squared"), np.full(n, 1.0 / n)
    gauge = Separable(np.ones(2), np.zeros(2))
    problem = Statement(Dense(X), np.zeros(n), a, loss, Penalised(gauge, 1.0), False)
    weights = rng.normal(size=(4, 2))
    primals, _ = quietly(problem, gauge, np.full(4, 1e-12), weights, np.zeros((4, n)))
    for w, primal in zip(weights, primals, strict=True):
        t = X @ w
        _, error = problem.rows.times_many(w[None])
        risk = math.fsum(a * t * t)
        spread = 2.0 * (float(error[0]) + 4.0 * U * np.abs(t).max()) * float(a @ np.abs(t))
        assert risk * (1.0 + 1.6 * FEW) + spread <= primal <= risk * (1.0 + 2.5 * FEW) + 1.01 * spread + 1e-11


def test_sums_over_many_columns_are_charged_their_order() -> None:
    p, y = 3000, 6.0
    gauge = Separable(np.zeros(p), np.full(p, 1.0))
    flat = made(np.zeros((1, p)), [y], "squared", "l2", lam=1.0, intercept=False)
    weights = np.full((1, p), 0.1)
    primals, duals = quietly(flat.problem, gauge, np.ones(1), weights, np.array([[2.0 * y]]))
    bracket = p * 0.01
    doubt = (2.0**-46 + p * 2.0**-52) * bracket
    spread = 2.0 * y * 4.0 * U * y
    lost = FEW * (y * y + bracket) + doubt
    expected = bracket * gamma(p) + 2.0 * (spread + lost) + SLACK * (y * y + 2.0 * bracket)
    assert primals[0] - duals[0] - bracket == close(expected, rel=0.02)
    assert gamma(p) * bracket > 0.1 * expected


def test_a_sum_from_above() -> None:
    assert _sums(np.array([[1.0, 2.0], [3.0, 5.0]])).tolist() == [3.0 * (1.0 + FEW), 8.0 * (1.0 + FEW)]
