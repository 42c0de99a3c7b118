"""Many points at once: what `check` says of each alone, but for rounding, and never more than is true."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import partial
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
from dualgap.proof.check import check
from dualgap.proof.many import _sums, check_many
from dualgap.proof.statement import Statement
from dualgap.traits import Trait
from exact.arithmetic import as_real, rational
from exact.optimum import optimum
from proof.made import CONVEX, labelled, loss_of, made

U, FEW, LEAST, FAINT = 2.0**-53, 2.0**-46, 2.0**-1074, 2.0**-1000
SLACK = 4.0 * FEW
AWAY = 1.0 + 8.0 * U
LAMS = np.array([0.03, 0.2, 1.0])
close = partial(pytest.approx, abs=0.0)


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
        y = np.where(np.arange(n) % 2 == 0, 1.0, -1.0) if labelled(loss) else X[:, 0] + rng.normal(size=n)
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
    along = float(np.abs(w) @ (np.abs(v) + reach))
    gap = few * math.fsum(x * t for x, t in zip(a, loss.given[k], strict=True)) + bracket
    gap += bracket * gamma(len(w)) + 2.0 * (spread + lost)
    gap += few * math.fsum(x * error * d for x, d in zip(a, apart, strict=True))
    return primal, gap + SLACK * (primal + bracket + along) + excess * primal


def gamma(k: float) -> float:
    return k * U / (1.0 - k * U)


SMALL = np.full((2, 3), 1e-9)
CASES: dict[str, dict[str, Any]] = {
    "value": {"values": [[5.0, 7.0, 11.0, 13.0], [1.0, 2.0, 3.0, 4.0]], "theta": 1e-9},
    "slopes": {
        "values": 1.0,
        "low": [[-3e9, -5e9, 0.0, 2e9], [1.0] * 4],
        "high": [-2e9, 7e9, 1e9, 9e9],
        "theta": 1e-9,
    },
    "far": {"values": 1.0, "low": -1.0, "high": 1.0, "theta": 1e9, "l1": np.full(3, 1e12), "l2": np.zeros(3)},
    "terms": {"values": 99.0, "given": [[1.0, 2.0, 3.0, 4.0], [9.0, 8.0, 7.0, 6.0]]},
    "bowl": {"values": 999.0, "l1": np.array([0.0, 0.5, 0.0]), "l2": np.array([2.0, 1.0, 1.0])},
    "price": {"values": 1e-3, "l1": np.full(3, 1e6), "theta": 1e-9},
    "excess": {"values": 99.0, "l1": np.full(3, 9.0), "theta": 1.0},
}


@pytest.mark.parametrize("translates", [False, True])
@pytest.mark.parametrize("intercept", [False, True])
@pytest.mark.parametrize("name", CASES)
def test_the_sum_of_the_terms_and_its_charges(name: str, intercept: bool, translates: bool) -> None:
    problem, gauge, weights, thetas = setting(intercept, translates, **CASES[name])
    lams = np.array([0.5, 2.0])
    if name in ("value", "slopes", "price", "far"):  # so that charges are all there is
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
        assert primals[k] == close(primal, rel=1e-14)
        assert primals[k] - duals[k] == close(min(gap, primal), rel=1e-12 if gap > 1e-3 * primal else 2e-3)
    assert duals.any()


def test_what_underflows_is_charged() -> None:
    problem, gauge, weights, thetas = setting(False, False)
    primals, _ = quietly(problem, gauge, LAMS[:2], 0.0 * weights, 0.0 * thetas)
    assert primals.tolist() == close(
        (8.0 * LEAST * 7 + LAMS[:2] * gauge.doubt(weights[0], 0.0)).tolist(), rel=0.2
    )


def test_a_slope_that_underflows_is_charged() -> None:
    """No price, no loss but one: what is left of the gap is FAINT beside the error."""
    problem, _, _, thetas = setting(False, False, values=1.0, weights=np.full((2, 3), 2.0**980))
    gauge = Separable(np.full(3, 2.0**-900), np.zeros(3))
    primals, duals = quietly(
        problem, gauge, np.full(2, 2.0**-95), weights=np.full((2, 3), 2.0**980), thetas=0.0 * thetas
    )
    primal, gap = spelt(problem, gauge, 2.0**-95, np.full(3, 2.0**980), np.zeros(4), 0)
    assert primals[0] == close(primal, rel=1e-12)
    assert primals[0] - duals[0] == close(min(gap, primal), rel=1e-3)


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
    one = made(np.eye(2), [1.0, 2.0], "squared", "l1", lam=1.0, intercept=False)
    gauge = one.problem.regulariser.gauge
    for lam, some in ((FAINT, True), (0.99 * FAINT, False)):
        _, duals = quietly(
            one.problem, gauge, np.array([lam]), np.zeros((1, 2)), np.array([[1e-305, 1e-305]])
        )
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
    p = 3000
    one = made(np.ones((1, p)), [1.0], "squared", "l2", lam=1.0, intercept=False)
    gauge = Separable(np.zeros(p), np.full(p, 1.0))
    weights = np.full((1, p), 0.1)
    _, duals = quietly(one.problem, gauge, np.ones(1), weights, np.zeros((1, 1)))
    assert duals[0] == 0.0
    X = np.zeros((1, p))
    flat = made(X, [100.0], "squared", "l2", lam=1.0, intercept=False)
    primals, duals = quietly(flat.problem, gauge, np.ones(1), weights, np.zeros((1, 1)))
    theta = np.array([[200.0]])
    primals, duals = quietly(flat.problem, gauge, np.ones(1), weights, theta)
    primal, gap = primals[0], primals[0] - duals[0]
    bracket = p * 0.01
    doubt = (2.0**-46 + p * 2.0**-52) * bracket
    spread = 200.0 * 4.0 * U * 100.0 * (1.0 + FEW)
    lost = FEW * (1e4 + spread + bracket) + doubt
    expected = bracket * (1.0 + gamma(p)) + 2.0 * (spread + lost) + SLACK * (primal + bracket)
    assert gap - bracket == close(expected - bracket + 4.0 * U * 100.0 * 4.0 * U * 100.0, rel=0.02)


def test_a_sum_from_above() -> None:
    assert _sums(np.array([[1.0, 2.0], [3.0, 5.0]])).tolist() == [3.0 * (1.0 + FEW), 8.0 * (1.0 + FEW)]
