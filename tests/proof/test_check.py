"""One problem: both values against exact arithmetic, every charge of rounding by itself, and forged points."""

from __future__ import annotations

import itertools
import math
from dataclasses import dataclass, field, replace
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

from dualgap.arrays import Vector
from dualgap.design.dense import Dense
from dualgap.design.intercept import WithOnes
from dualgap.losses import Loss, Squared
from dualgap.penalties import Penalised
from dualgap.penalties.norm import Norm
from dualgap.penalties.separable import Separable
from dualgap.proof.balance import Balanced
from dualgap.proof.check import Checked, _box, _feasible, check, inside, searched, slopes, told
from dualgap.proof.statement import Statement
from dualgap.traits import Trait
from exact.arithmetic import as_real, rational, real
from exact.optimum import optimum
from proof.made import CONVEX, Made, labelled, loss_of, made

U, FEW, LEAST, FAINT = 2.0**-53, 2.0**-46, 2.0**-1074, 2.0**-1000
SLACK = 4.0 * FEW
AWAY = 1.0 + 8.0 * U


# --- what is claimed, against exact arithmetic --------------------------------------------------------------

PENALTIES = ("none", "l1", "l2", "elastic_net(0.5)", "l2_norm", "linf", "lp(1.5)", "lp(3)")


def drawn(rng: np.random.Generator, loss: str, penalty: str, form: str) -> Made:
    """A tiny problem: weights or not, an intercept or not, sometimes far from zero, sometimes of odd sizes."""
    n, p = int(rng.integers(2, 7)), int(rng.integers(1, 4))
    X = rng.normal(size=(n, p))
    y = (
        np.where(rng.random(n) < 0.5, 1.0, -1.0)
        if labelled(loss)
        else X @ rng.normal(size=p) + rng.normal(size=n)
    )
    draw = rng.random()
    if draw < 0.15:
        X = X + 2.0 ** float(rng.integers(20, 40))
    elif draw < 0.3 and not labelled(loss):
        y = y + 2.0 ** float(rng.integers(20, 40))
    elif draw < 0.4:
        X = X * 10.0 ** rng.uniform(-6, 6, p)
    asked: dict[str, Any] = {"intercept": bool(rng.random() < 0.5)}
    if rng.random() < 0.5:
        asked["s"] = rng.uniform(0.1, 3.0, n)
    if penalty.startswith(("l1", "l2", "elastic")) and penalty != "l2_norm" and rng.random() < 0.4:
        asked["factors"] = rng.choice([0.0, 0.5, 1.0], p)
    if rng.random() < 0.3:
        asked["scale"] = rng.uniform(0.3, 3.0, p)
    if penalty != "none":
        asked[form] = float(10.0 ** rng.uniform(-2, 0))
    return made(X, y, loss, penalty, **asked)


def duals(rng: np.random.Generator, one: Made, w: Any) -> Vector:
    """−a L' at the weights, as it is, scaled, unbalanced by a little, beyond its domain, or anything."""
    problem = one.problem
    with np.errstate(all="ignore"):
        theta = -problem.a * problem.loss.derivative(problem.y, problem.predict(w))
    draw = int(rng.integers(5))
    if draw == 1:
        theta = theta * rng.uniform(0.0, 1.2)
    elif draw == 2:
        theta = theta + rng.normal(size=len(theta)) * 10.0 ** rng.uniform(-16, -3)
    elif draw == 3:
        theta = rng.normal(size=len(theta)) * 10.0 ** rng.uniform(-3, 1)
    elif draw == 4:
        theta = np.sign(theta) * 2.0 * np.abs(theta).max()
    return np.asarray(theta)


def judged(one: Made, found: Checked, better: list[Any]) -> None:
    """P(w) ≤ primal, and dual ≤ P(w') for all w' known, in the box if there is one. No tolerance."""
    assert found.primal >= one.primal(found.w) or found.primal == np.inf
    assert found.dual <= found.primal
    for w in better:
        if found.box is None or all(abs(v) <= b for v, b in zip(w, found.box, strict=True)):
            assert as_real(rational(found.dual)) <= one.primal(w)


def competitors(one: Made, w: Any, rng: np.random.Generator) -> list[Any]:
    """The best weights known, and some around them and around w."""
    start = one.parts(w)
    best = optimum(one.exact, [start])
    found = [[*best.w, best.b] if one.exact.intercept else list(best.w)]
    for centre in (found[0], [rational(v) for v in w]):
        for size in (1e-9, 1e-3):
            step = rng.normal(size=len(centre)) * size
            found.append([a + rational(b) for a, b in zip(centre, step, strict=True)])
    return [v for v in found if one.exact.within(one.parts(v)[0])]


@pytest.mark.parametrize("penalty", PENALTIES)
@pytest.mark.parametrize("loss", CONVEX)
def test_no_claim_is_false(loss: str, penalty: str) -> None:
    rng = np.random.default_rng([len(loss), len(penalty), ord(loss[0]), ord(penalty[1])])
    for form in ("lam", "budget"):
        one = drawn(rng, loss, penalty, form)
        w = np.asarray(rng.normal(size=one.width) * float(rng.choice([0.0, 0.3, 1.0])))
        if rng.random() < 0.7:  # near the optimum
            best = optimum(one.exact, [one.parts(w)])
            w = np.array([float(v) for v in ([*best.w, best.b] if one.exact.intercept else best.w)])
        better = competitors(one, w, rng)
        for _ in range(3):
            theta = duals(rng, one, w)
            for tolerance in (0.0, 1e-3):
                found = check(one.problem, w, theta, tolerance, one.problem.null)
                judged(one, found, better)
                if form == "budget":
                    assert one.exact.within(one.parts(found.w)[0])
                    assert found.moved == (found.w is not w)


@pytest.mark.parametrize("loss", ["squared", "huber(1.35)", "squared_hinge", "logistic", "exponential"])
@pytest.mark.parametrize("penalty", ["l2", "elastic_net(0.5)", "l1"])
def test_good_points_are_proven_good(loss: str, penalty: str) -> None:
    """At an optimum rounded to floats, with θ from there, next to nothing is left of the gap."""
    rng = np.random.default_rng(7)
    for k in range(3):
        n, p = 6, 2
        X = rng.normal(size=(n, p)) + (2.0**30 if k == 2 else 0.0)
        y = np.where(np.arange(n) % 2 == 0, 1.0, -1.0) if labelled(loss) else rng.normal(size=n)
        one = made(X, y, loss, penalty, lam=0.1, intercept=k != 1)
        best = optimum(one.exact, [])
        w = np.array([float(v) for v in ([*best.w, best.b] if one.exact.intercept else best.w)])
        t, _ = one.problem.misses(w, exact=True)
        theta = -one.problem.a * one.problem.loss.derivative(one.problem.centre, t)
        found = check(one.problem, w, theta, 0.0, 1.0)
        judged(one, found, [[*best.w, best.b] if one.exact.intercept else best.w])
        assert found.gap <= (1e-11 if k < 2 else 1e-5) * max(found.primal, 1.0)


# --- the sum of terms, on numbers that are told apart -------------------------------------------------------


@dataclass(frozen=True, eq=False)
class Told(Loss):
    """A loss whose every answer is given; what it is asked is kept."""

    values: Vector
    low: Vector
    high: Vector
    given: Vector
    kink: Vector
    asked: list[Any] = field(default_factory=list)
    slope: float = 0.0
    name = "told"
    declared = Trait.PIECEWISE_LINEAR

    def value(self, y: Vector, z: Vector) -> Vector:
        self.asked.append(("value", y, z))
        return self.values

    def derivative(self, y: Vector, z: Vector) -> Vector:
        return np.where(z < self.kink, self.low, self.high)

    def conjugate(self, y: Vector, u: Vector) -> Vector:
        raise NotImplementedError

    def domain(self, y: Vector) -> tuple[Vector, Vector]:
        return np.full(len(y), -np.inf), np.full(len(y), np.inf)

    def fenchel_young(self, y: Vector, z: Vector, u: Vector) -> Vector:
        self.asked.append(("terms", y, z, u))
        return self.given + self.slope * u


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


class Watched(Statement):
    """A statement that remembers in how many digits it was asked."""

    digits: list[bool] = []  # noqa: RUF012

    def misses(self, w: Vector, *, exact: bool = False) -> tuple[Vector, Any]:
        self.digits.append(exact)
        return super().misses(w, exact=exact)


def stage(
    loss: Loss | None = None,
    priced: tuple[float, float] = (0.0, 0.0),
    bracket: tuple[float, float] = (0.0, 0.0),
    intercept: bool = False,
) -> tuple[Watched, Vector, Vector]:
    """Four rows and three columns, none free, with the loss and the penalty that are told."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(4, 3))
    a = np.array([0.1, 0.2, 0.3, 0.4])
    w = np.append(rng.normal(size=3), [0.5] * intercept)
    theta = rng.normal(size=4)
    flat = np.zeros(4)
    loss = Told(flat, flat, flat, flat, flat) if loss is None else loss
    gauge = Separable(np.append(np.ones(3), [0.0] * intercept), np.zeros(3 + intercept))
    design: Any = WithOnes(Dense(X)) if intercept else Dense(X)
    problem = Watched(design, rng.normal(size=4), a, loss, Priced(gauge, priced, bracket), intercept)
    problem.digits.clear()
    return problem, w, theta


def spelt(problem: Any, w: Vector, theta: Vector, exact: bool) -> tuple[float, float, float]:
    """Objective, rounding and gap as the module's text says, number by number."""
    loss, a = problem.loss, problem.a.tolist()
    t, error = problem.misses(w, exact=exact)
    errors = np.broadcast_to(error, len(a)).tolist()
    v, reach = problem.rows.against(theta, exact=exact)
    (priced, doubt), (bracket, excess) = problem.regulariser.answers
    few = 1.0 + FEW
    risk = few * math.fsum(x * r for x, r in zip(a, loss.values.tolist(), strict=True))
    ends = list(
        zip(
            (loss.low - FEW * abs(loss.low)).tolist(),
            (loss.high + FEW * abs(loss.high)).tolist(),
            strict=True,
        )
    )
    steep = [max(abs(low), abs(high)) for low, high in ends]
    spread = few * math.fsum(x * e * s for x, e, s in zip(a, errors, steep, strict=True))
    under = 8.0 * LEAST * (len(a) + len(w)) if any(steep) else 0.0
    lost = FEW * (risk + spread + priced) + doubt + under
    objective = risk + spread + priced + lost
    u = [-(x / y) * AWAY for x, y in zip(theta.tolist(), a, strict=True)]
    apart = [max(abs(low - x), abs(high - x)) for (low, high), x in zip(ends, u, strict=True)]
    away = few * math.fsum(x * e * s for x, e, s in zip(a, errors, apart, strict=True))
    along = math.fsum(
        abs(x) * (abs(y) + z) for x, y, z in zip(w.tolist(), v.tolist(), reach.tolist(), strict=False)
    )
    rounding = 2.0 * (spread + lost) + away + SLACK * (objective + bracket + along) + excess * objective
    gap = few * math.fsum(x * y for x, y in zip(a, loss.given.tolist(), strict=True)) + bracket + rounding
    return objective, rounding, gap


TERMS = {
    "nothing": {},
    "value": {"values": [5.0, 7.0, 11.0, 13.0]},
    "slopes": {"low": [-3.0, -5.0, 0.0, 2.0], "high": [-2.0, 7.0, 1.0, 9.0]},
    "terms": {"values": [99.0] * 4, "given": [1.0, 2.0, 3.0, 4.0]},
    "priced": {"priced": (3.0, 0.0)},
    "doubt": {"priced": (3.0, 0.125)},
    "bracket": {"values": [99.0] * 4, "bracket": (2.0, 0.0)},
    "excess": {"values": [99.0] * 4, "bracket": (0.0, 0.25)},
    "all": {
        "values": [50.0, 70.0, 11.0, 13.0],
        "low": [-3.0, -5.0, 0.0, 2.0],
        "high": [-2.0, 7.0, 1.0, 9.0],
        "given": [1.0, 2.0, 3.0, 4.0],
        "priced": (3.0, 1e-12),
        "bracket": (2.0, 1e-13),
    },
}


@pytest.mark.parametrize("exact", [False, True])
@pytest.mark.parametrize("intercept", [False, True])
@pytest.mark.parametrize("name", TERMS)
def test_the_sum_of_the_terms_and_its_charges(name: str, intercept: bool, exact: bool) -> None:
    given: dict[str, Any] = dict(TERMS[name])
    plain, w, theta = stage(intercept=intercept)
    t, _ = plain.misses(w, exact=exact)
    answers = {key: np.array(given.get(key, [0.0] * 4)) for key in ("values", "low", "high", "given")}
    loss = Told(**answers, kink=t)
    problem, w, theta = stage(
        loss, given.get("priced", (0.0, 0.0)), given.get("bracket", (0.0, 0.0)), intercept
    )
    if intercept:
        theta = theta - theta.mean()
    theta = _feasible(problem, theta, exact=False).theta
    primal, rounding, gap = spelt(problem, w, theta, exact)
    problem.digits.clear()
    found = check(problem, w, theta, 0.0 if exact else 1e9, 1.0)
    assert problem.digits == ([False, True] if exact and name != "nothing" else [False])
    if exact:  # the better half of both
        assert found.primal <= primal * (1.0 + 1e-15)
        found = check(problem, w, theta, 0.0, 0.0) if name == "nothing" else _exactly(problem, w, theta)
    assert found.primal == pytest.approx(primal, rel=1e-13)
    if name not in ("nothing", "slopes", "priced", "doubt", "value"):
        assert found.gap == pytest.approx(gap, rel=1e-12)
    elif primal:
        assert found.gap == pytest.approx(min(gap, primal), rel=1e-2)
    assert found.rounding == pytest.approx(rounding, rel=1e-9)
    assert found.box is None and not found.moved
    (asked_w, v, reach), *_ = problem.regulariser.asked[-1:]
    assert asked_w is w
    truth = problem.rows.against(theta, exact=exact)
    pad = [0.0] * intercept
    assert np.array_equal(v, np.append(truth[0], pad)) and np.array_equal(reach, np.append(truth[1], pad))
    assert np.array_equal(found.correlation, v) and np.array_equal(found.reach, reach)
    _, y, z, u = next(one for one in reversed(loss.asked) if one[0] == "terms")
    assert np.array_equal(u, -(theta / problem.a) * AWAY) and np.array_equal(z, t) and y is problem.centre


def _exactly(problem: Any, w: Vector, theta: Vector) -> Checked:
    from dualgap.proof.check import _checked

    with np.errstate(all="ignore"):
        return _checked(problem, w, theta, 0.0, 0.0, exact=True)
