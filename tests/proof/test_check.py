"""One problem: both values against exact arithmetic, every charge of rounding, and forged points."""

from __future__ import annotations

import itertools
import math
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import pytest

import dualgap as dg
from dualgap.arrays import Vector
from dualgap.design.dense import Dense
from dualgap.design.intercept import WithOnes
from dualgap.losses import Loss, Squared
from dualgap.penalties import Penalised
from dualgap.penalties.norm import Norm
from dualgap.penalties.separable import Separable
from dualgap.proof.balance import Balanced
from dualgap.proof.check import (
    Checked,
    _box,
    _checked,
    _feasible,
    _slopes,
    blurred,
    check,
    coarse,
    inside,
    searched,
    slopes,
    told,
)
from dualgap.proof.statement import Statement
from dualgap.traits import Trait
from exact.arithmetic import as_real, rational, real
from exact.optimum import optimum
from exact.statement import MEANS
from proof.made import (
    AWAY,
    CONVEX,
    FAINT,
    FEW,
    LEAST,
    SLACK,
    Made,
    U,
    close,
    labelled,
    loss_of,
    made,
    targets,
)

# --- what is claimed, against exact arithmetic --------------------------------------------------------------

PENALTIES = ("none", "l1", "l2", "elastic_net(0.5)", "l2_norm", "linf", "lp(1.5)", "lp(3)")


def drawn(rng: np.random.Generator, loss: str, penalty: str, form: str) -> Made:
    """A tiny problem: weights or not, an intercept or not, sometimes far from zero or of odd sizes."""
    n, p = int(rng.integers(2, 7)), int(rng.integers(1, 4))
    X = rng.normal(size=(n, p))
    y = (
        np.where(rng.random(n) < 0.5, 1.0, -1.0)
        if labelled(loss)
        else targets(loss, X @ rng.normal(size=p) + rng.normal(size=n))
    )
    draw = rng.random()
    if draw < 0.15:
        X = X + 2.0 ** float(rng.integers(20, 40))
    elif draw < 0.3 and not labelled(loss) and loss != "binomial":
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
    draw = int(rng.integers(5))
    with np.errstate(all="ignore"):
        theta = -problem.a * problem.loss.derivative(problem.y, problem.predict(w))
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


@pytest.mark.parametrize("many", [30_000, 0])
@pytest.mark.parametrize("penalty", PENALTIES)
@pytest.mark.parametrize("loss", CONVEX)
def test_no_claim_is_false(loss: str, penalty: str, many: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """With the largest number of each column, and with the norm of the table where that has many numbers."""
    monkeypatch.setattr("dualgap.proof.check.MANY", many)
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
                found = check(one.problem, w, theta, tolerance, 1.0)
                judged(one, found, better)
                if form == "budget":
                    assert one.exact.within(one.parts(found.w)[0])
                    assert found.moved == (found.w is not w)


GOOD = ("squared", "huber(1.35)", "squared_hinge", "logistic", "exponential", "poisson", "gamma", "binomial")


@pytest.mark.parametrize("loss", [*GOOD, "tweedie(1.25)", "tweedie(1.5)"])
@pytest.mark.parametrize("penalty", ["l2", "elastic_net(0.5)", "l1"])
def test_good_points_are_proven_good(loss: str, penalty: str) -> None:
    """At an optimum rounded to floats, with θ from there, next to nothing is left of the gap."""
    rng = np.random.default_rng(7)
    for k in range(3):
        n, p = 6, 2
        X = rng.normal(size=(n, p)) + (2.0**30 if k == 2 else 0.0)
        y = (
            np.where(np.arange(n) % 2 == 0, 1.0, -1.0)
            if labelled(loss)
            else targets(loss, rng.normal(size=n))
        )
        one = made(X, y, loss, penalty, lam=0.1, intercept=k != 1)
        best = optimum(one.exact, [])
        w = np.array([float(v) for v in ([*best.w, best.b] if one.exact.intercept else best.w)])
        t, _ = one.problem.misses(w, exact=True)
        theta = -one.problem.a * one.problem.loss.derivative(one.problem.centred[1], t)
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
    """A statement that remembers in how many digits it was asked; None for the norm of the table."""

    digits: list[bool | None] = []  # noqa: RUF012

    def misses(self, w: Vector, *, exact: bool = False, rough: bool = False) -> tuple[Vector, Any]:
        self.digits.append(None if rough else exact)
        return super().misses(w, exact=exact, rough=rough)


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
    _, error = problem.misses(w, exact=exact)
    errors = np.broadcast_to(error, len(a)).tolist()
    v, _ = problem.rows.against(theta, exact=exact)
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
    along = math.fsum(abs(x * y) for x, y in zip(w.tolist(), v.tolist(), strict=False))
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
    nothing = (0.0, 0.0)
    problem, w, theta = stage(loss, given.get("priced", nothing), given.get("bracket", nothing), intercept)
    theta = _feasible(problem, theta - theta.mean(), exact=False).theta
    primal, rounding, gap = spelt(problem, w, theta, exact)
    with np.errstate(all="ignore"):
        found = _checked(problem, w, theta, 0.0, 0.0, exact=exact)
    assert found.primal == close(primal, rel=3e-15)
    assert found.rounding == close(rounding, rel=1e-9)
    assert found.gap == close(min(gap, primal), rel=1e-12 if gap > 1e-3 * primal else 1e-3)
    assert found.box is None and not found.moved and found.w is w
    asked, v, reach = problem.regulariser.asked[0]  # type: ignore[union-attr]
    truth, pad = problem.rows.against(theta, exact=exact), [0.0] * intercept
    assert asked is w
    assert np.array_equal(v, np.append(truth[0], pad)) and np.array_equal(reach, np.append(truth[1], pad))
    assert np.array_equal(found.theta, theta) or not found.theta.any()
    if found.theta.any():
        assert found.correlation is v and found.reach is reach
    _, y, z, u = loss.asked[-1]
    assert np.array_equal(u, -(theta / problem.a) * AWAY) and np.array_equal(z, t)
    assert np.array_equal(y, problem.y)


def test_what_underflows_is_charged() -> None:
    """Numbers so small that squares vanish, and one so large that a slope which vanished would count."""
    faint = np.full(4, 1e-170)
    loss = Told(0.0 * faint, faint, faint, 0.0 * faint, 0.0 * faint)
    problem, w, theta = stage(loss)
    found = check(problem, 0.0 * w, 0.0 * theta, np.inf, 1.0)
    assert found.primal == 8.0 * LEAST * (4 + 3)
    flat = replace(loss, low=0.0 * faint, high=0.0 * faint)
    assert check(replace(problem, loss=flat), w, 0.0 * theta, np.inf, 1.0).primal == 0.0
    least = np.array([0.0, LEAST, 0.0, 0.0])
    for low, high in ((-least, flat.low), (flat.low, least)):  # one row on one side is enough
        t, _ = problem.misses(w)
        bent = replace(flat, low=low, high=high, kink=t)
        assert check(replace(problem, loss=bent), w, 0.0 * theta, np.inf, 1.0).primal >= 8.0 * LEAST * (4 + 3)
    problem, w, theta = stage()
    t, error = problem.misses(w * 2.0**990)
    with np.errstate(all="ignore"):
        found = _checked(problem, w * 2.0**990, 0.0 * theta, 0.0, 0.0, exact=False)
    assert found.rounding == close(error * FAINT, rel=1e-9)
    assert FAINT * 4.0 * U * np.abs(t).max() > LEAST * np.abs(t).max()


@pytest.mark.parametrize("loss", ["exponential", "logistic"])
def test_a_loss_that_underflows_is_not_nothing(loss: str) -> None:
    one = made([[1.0], [2.0]], [1.0, 1.0], loss, "none", intercept=False)
    for size in (700.0, 800.0, 1e4):
        found = check(one.problem, np.array([size]), np.zeros(2), np.inf, 1.0)
        assert found.primal >= one.primal([size]) > 0.0 and found.primal < 1e-3
    flat = made([[1.0], [2.0]], [1.0, 1.0], "hinge", "none", intercept=False)
    assert check(flat.problem, np.array([800.0]), np.zeros(2), np.inf, 1.0).primal == 0.0


# --- free columns -------------------------------------------------------------------------------------------


@pytest.mark.parametrize("exact", [False, True])
def test_what_a_free_column_leaves_open_is_charged(exact: bool) -> None:
    """θ is orthogonal to it only nearly: both ends of where it may be are asked, and v may be off as much."""
    rng = np.random.default_rng(2)
    X, a = rng.normal(size=(5, 2)) * [1.0, 3.0], np.array([0.1, 0.2, 0.3, 0.15, 0.25])
    flat = np.zeros(5)
    for slope in (0.0, 1.0, -1.0):
        loss = Told(flat + 50.0, flat - 1.0, flat + 2.0, flat + 3.0, flat, slope=slope)
        regulariser = Priced(Separable(np.array([0.0, 1.0]), np.zeros(2)), (0.0, 0.0), (0.5, 0.0))
        problem = Statement(Dense(X), flat, a, loss, regulariser, False)
        w = np.array([0.3, -0.2])
        dual = _feasible(problem, rng.normal(size=5), exact=exact)
        assert dual.reach.sum() > 0.0
        object.__setattr__(loss, "kink", problem.misses(w, exact=exact)[0])
        big = replace(dual, reach=dual.reach + 0.25)  # so that it is seen
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr("dualgap.proof.check._feasible", lambda *_, big=big, **__: big)
            found = _checked(problem, w, dual.theta, 0.0, 0.0, exact=exact)
        _, error = problem.misses(w, exact=exact)
        v, reach = problem.rows.against(dual.theta, exact=exact)
        u, step = -(dual.theta / a) * AWAY, big.reach / a * (1.0 + SLACK)
        asked = [one for one in loss.asked if one[0] == "terms"]
        assert np.array_equal(asked[0][3], u - step) and np.array_equal(asked[1][3], u + step)
        slack = big.reach.sum() * (1.0 + FEW)
        assert np.array_equal(found.correlation, v)
        assert found.reach == close(reach + slack * np.abs(X).max(axis=0), rel=1e-14)
        terms = np.maximum(3.0 + slope * (u - step), 3.0 + slope * (u + step))
        assert found.gap == close(float(a @ terms) + 0.5, rel=1e-9)
        low, high = -1.0 - FEW, 2.0 + 2.0 * FEW
        apart = np.maximum(np.abs(low - u), np.abs(high - u)) + step
        spread = float((a * error) @ np.full(5, high))
        lost = FEW * (50.0 * (1.0 + FEW) + spread)
        primal = 50.0 * (1.0 + FEW) + spread + lost
        along = float(np.abs(w) @ np.abs(v))
        rounding = 2.0 * (spread + lost) + float((a * error) @ apart) + SLACK * (primal + 0.5 + along)
        assert found.rounding == close(rounding, rel=1e-7)


def test_v_may_be_off_by_its_rounding_and_by_what_is_left_open() -> None:
    rng = np.random.default_rng(21)
    X, y = rng.normal(size=(6, 2)), rng.normal(size=6)
    one = made(X, y, "squared", "l2", lam=9.0, factors=[0.0, 1.0], intercept=False)
    theta = y / 6.0
    for exact in (False, True):
        dual = _feasible(one.problem, theta, exact=exact)
        _, reach = one.problem.rows.against(dual.theta, exact=exact)
        left = dual.reach.sum() * np.abs(X).max(axis=0)
        assert 1e-3 * left[1] < reach[1] < 1e3 * left[1]
        found = _checked(one.problem, np.zeros(2), theta, 0.0, 0.0, exact=exact)
        assert found.theta.any() and found.reach == close(reach + left, rel=1e-6)


def test_a_point_in_the_domain_and_orthogonal() -> None:
    rng = np.random.default_rng(3)
    X, y = rng.normal(size=(6, 3)), rng.normal(size=6)
    theta = 0.1 * rng.normal(size=6)
    one = made(X, y, "absolute", "l1", lam=0.1, intercept=False)
    found = _feasible(one.problem, theta, exact=False)
    edge = one.problem.dual_bounds_inside()
    assert np.array_equal(found.theta, np.clip(theta, *edge)) and not found.reach.any()
    assert not len(found.open_) and not len(found.pull)
    summed = _feasible(made(X, y, "absolute", "l1", lam=0.1).problem, theta, exact=False)
    assert sum(rational(v) for v in summed.theta) == 0 and summed.theta.any() and not summed.reach.any()
    for intercept in (True, False):
        one = made(X, y, "absolute", "l1", lam=0.1, factors=[1.0, 0.0, 1.0], intercept=intercept)
        found = _feasible(one.problem, theta, exact=False)
        assert found.reach.any() and found.theta.any()
        assert abs(X[:, 1] @ found.theta) < 1e-12 and (abs(found.theta.sum()) < 1e-12) == intercept
    hinge = made([[1.0], [2.0]], [1.0, 1.0], "hinge", "none", intercept=False)
    nothing = _feasible(hinge.problem, np.array([0.3, 0.3]), exact=False)
    assert not nothing.theta.any() and not nothing.reach.any() and not len(nothing.open_)


def test_columns_that_only_rounding_tells_apart_are_held_in_a_box() -> None:
    """They are named by their place among all coordinates, the intercept last."""
    rng = np.random.default_rng(4)
    z, d = rng.normal(size=(2, 12))
    X = np.column_stack([rng.normal(size=12), z, z + 2.0**-52 * d])
    y = 0.3 * z + rng.normal(size=12)
    one = made(X, y, "squared", "l1", lam=0.001, factors=[1.0, 0.0, 0.0])
    best = np.linalg.lstsq(np.column_stack([X[:, :2], np.ones(12)]), y, rcond=None)[0]
    w = np.array([best[0], best[1] - 0.25, 0.25, best[2]])
    theta = -one.problem.a * 2.0 * (one.problem.predict(w) - y)
    for exact in (False, True):
        assert _feasible(one.problem, theta, exact=exact).open_.tolist() == [2]
    found = check(one.problem, w, theta, 1e-3, 1.0)
    assert found.box is not None and np.isinf(found.box[[0, 1, 3]]).all() and 1.0 <= found.box[2] < np.inf
    assert 0.0 < found.gap < 0.01
    level = np.full(12, 2.0**52)
    level[0] += 1.0  # a column that only rounding tells from the intercept's
    alike = made(np.column_stack([level, X[:, 0]]), y, "squared", "l1", lam=0.05, factors=[0.0, 1.0])
    assert _feasible(alike.problem, y / 12.0, exact=True).open_.tolist() == [0]


def _held(w: Vector, dual: Balanced, budget: float) -> tuple[Vector | None, float]:
    with np.errstate(all="ignore"):
        return _box(w, dual, budget)


def test_the_box_and_what_it_costs() -> None:
    w = np.array([1.0, -2.0, 0.0, 5.0])
    none = np.zeros(0, dtype=np.intp)
    assert _held(w, Balanced(w, w, none, np.zeros(0)), 1.0) == (None, 0.0)
    pull = np.array([0.25, 0.5, LEAST])
    box, charge = _held(w, Balanced(w, w, np.array([0, 1, 2]), pull), 12.0)
    assert box is not None and box.tolist() == [16.0, 8.0, np.finfo(float).max, np.inf]
    assert charge == close(0.25 * 17.0 + 0.5 * 10.0 + 4.0, rel=1e-12)
    box, charge = _held(w, Balanced(w, w, np.array([1, 3]), np.array([4.0, 2.0])), 8.0)
    assert box is not None and box.tolist() == [np.inf, 8.0, np.inf, 20.0]  # four times the weights at least
    assert charge == close(4.0 * 10.0 + 2.0 * 25.0, rel=1e-12) and charge > 4.0 * 10.0 + 2.0 * 25.0
    box, charge = _held(w, Balanced(w, w, np.array([2]), np.ones(1)), 0.0)
    assert box is not None and box.tolist() == [np.inf, np.inf, 0.0, np.inf] and charge == 0.0
    box, charge = _held(w, Balanced(w, w, np.array([1]), np.ones(1)), np.nan)
    assert box is not None and box[1] == 8.0 and charge != charge


def test_the_box_is_as_wide_as_the_tolerance_pays_for() -> None:
    flat = np.zeros(4)
    loss = Told(flat + 8.0, flat, flat, flat, flat)
    problem, w, theta = stage(loss)
    dual = Balanced(theta, np.zeros(1), np.array([1]), np.array([0.5]))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("dualgap.proof.check._feasible", lambda *_, **__: dual)
        for null, scale in ((1.0, 8.0), (3e5, 30.0)):
            found = check(problem, w, theta, 1.0, null)
            assert found.box is not None
            wide = 0.125 * scale / 0.5
            assert wide > 4.0 * abs(w[1])
            assert found.box[1] == close(max(wide, 4.0 * abs(w[1])), rel=1e-12)
            assert found.gap == close(0.5 * (found.box[1] + abs(w[1])), rel=1e-11)
            assert found.gap < 8.0


# --- digits -------------------------------------------------------------------------------------------------


def known(gap: float, rounding: float, primal: float = 1.0, width: float = 0.0) -> Checked:
    nothing = np.zeros(0)
    return Checked(nothing, nothing, primal, primal - gap, rounding, nothing, nothing, width=width)


def test_when_more_digits_are_spent() -> None:
    """A gap that is missed, an eighth of it by rounding; or rounding that shows in the values."""
    big = 1e9
    assert not coarse(known(1.0, 0.9, big), 1.0)  # not missed
    assert coarse(known(1.1, 0.13, big), 1.0) and not coarse(known(1.1, 0.12, big), 1.0)
    assert not coarse(known(1.1, 0.125, big), 1.0)  # an eighth exactly
    assert coarse(known(1.0, np.nan), 0.1) and not coarse(known(1.0, np.nan), 1.0)
    assert not coarse(known(0.0, 2e-8), 1.0) and not coarse(known(0.0, 0.0, width=2e-9), 1.0)  # just
    assert coarse(known(0.0, 2.1e-8), 1.0) and not coarse(known(0.0, 1.9e-8), 1.0)
    assert coarse(known(0.0, 0.0, width=2.1e-9), 1.0) and not coarse(known(0.0, 0.0, width=1.9e-9), 1.0)
    assert coarse(known(0.0, 4.1e-8, 2.0), 1.0) and not coarse(known(0.0, 3.9e-8, 2.0), 1.0)
    assert coarse(known(0.0, 0.0, 2.0, 4.1e-9), 1.0) and not coarse(known(0.0, 0.0, 2.0, 3.9e-9), 1.0)


@pytest.mark.parametrize(("tolerance", "null", "digits"), [(1e-12, 1.0, 2), (1e-9, 1.0, 1), (1e-12, 1e9, 1)])
def test_the_tolerance_decides(tolerance: float, null: float, digits: int) -> None:
    flat = np.zeros(4)
    problem, w, theta = stage(Told(flat + 4.0, flat, flat, flat + 1e-3, flat))
    found = check(problem, w, theta, tolerance, null)
    assert problem.digits == [False, True][:digits]
    plain = check(problem, w, theta, np.inf, 1.0)
    assert (found.rounding < plain.rounding) == (digits == 2)  # and the better half is kept
    assert found.width == plain.width > 0.0  # what plain arithmetic may get wrong is told in any case


def test_of_a_large_table_its_norm_comes_first(monkeypatch: pytest.MonkeyPatch) -> None:
    """Then what each column may be off by, which is less, and twice the digits last."""
    monkeypatch.setattr("dualgap.proof.check.MANY", 12)
    flat = np.zeros(4)
    problem, w, theta = stage(Told(flat + 4.0, flat - 1.0, flat + 1.0, flat + 1e-15, flat))
    w[0] *= 1e4
    problem = replace(problem, design=Dense(problem.design.array / [1e4, 1.0, 1.0]))
    rough = _checked(problem, w, theta, 0.0, 0.0, exact=False, rough=True)
    plain = _checked(problem, w, theta, 0.0, 0.0, exact=False)
    assert rough.rounding > 100.0 * plain.rounding
    middle = (rough.rounding * plain.rounding) ** 0.5
    cases = [(2.0 * rough.rounding, 1), (middle, 2), (0.5 * plain.rounding, 3)]
    for wanted, count in cases:
        problem.digits.clear()
        found = check(problem, w, theta, wanted / plain.primal, 0.0)
        assert problem.digits == [None, False, True][:count]
        assert found.rounding == rough.rounding if count == 1 else found.rounding <= plain.rounding
    monkeypatch.setattr("dualgap.proof.check.MANY", 13)
    problem.digits.clear()
    assert check(problem, w, theta, 2.0 * rough.rounding, 0.0).rounding == plain.rounding
    assert problem.digits == [False]


def test_what_is_wanted_by_default() -> None:
    """No gap is small enough, and nothing is known of the objective without columns."""
    flat = np.zeros(4)
    problem, w, theta = stage(Told(flat + 1e-5, flat, flat, flat + 1e-6, flat))
    plain = check(problem, w, 1e-6 * theta, np.inf, 0.0)
    enough = plain.rounding / (0.125 * plain.primal)
    assert plain.gap > 100.0 * enough * plain.primal

    def digits(*asked: float) -> list[bool | None]:
        problem.digits.clear()
        check(problem, w, 1e-6 * theta, *asked)
        return list(problem.digits)

    assert digits() == digits(0.0) == digits(0.9 * enough) == [False, True]
    assert digits(1.1 * enough) == [False]
    assert digits(0.01 * enough, 99.0 * plain.primal / 1e-4) == [False, True]
    assert digits(0.01 * enough, 101.0 * plain.primal / 1e-4) == [False]


def test_the_better_half_of_each() -> None:
    w, v = np.ones(1), np.zeros(1)
    good = Checked(w, w, 2.0, 0.5, 0.1, w, w, np.ones(1), 0.3, moved=True)
    other = Checked(v, v, 3.0, 1.0, 0.2, v, v, None, 0.4, moved=False)
    for found in (good.improved(other), other.improved(good)):
        assert found.w is w and found.primal == 2.0 and found.moved
        assert found.theta is v and found.dual == 1.0 and found.rounding == 0.2
        assert found.correlation is v and found.reach is v and found.box is None
        assert found.gap == 1.0
    same = replace(good, w=v, theta=v)
    assert good.improved(same).w is w and good.improved(same).theta is w  # of equals the first


def test_a_bound_is_not_joined_to_weights_outside_its_box() -> None:
    w, v = np.array([3.0, -4.0]), np.zeros(2)
    cheap = Checked(w, v, 1.0, 0.0, 0.1, v, v)
    for box, together in (
        ([3.0, 4.0], True),
        ([2.9, 9.0], False),
        ([9.0, 3.9], False),
        ([np.inf, 4.0], True),
    ):
        bold = Checked(v, w, 9.0, 2.0, 0.2, v, v, np.array(box))
        for found in (cheap.improved(bold), bold.improved(cheap)):
            assert found.w is w and found.primal == 1.0
            assert (found.dual, found.box is bold.box) == ((2.0, True) if together else (0.0, False))


def test_rows_whose_weight_underflows_leave_nothing_known() -> None:
    for share, some in ((FAINT, True), (0.99 * FAINT, False), (0.0, False)):
        one = made(
            [[1.0], [2.0]], [1.0, 2.0], "squared", "l2", lam=0.1, a=np.array([1.0, share]), intercept=False
        )
        found = check(one.problem, np.array([0.5]), np.array([0.1, 0.0]))
        assert (found.primal < np.inf) == some and (found.dual > 0.0) == some
        sought = searched(one.problem, np.array([0.5]), 0.01, None)
        assert (sought.primal < np.inf) == some


def test_a_gap_made_into_a_bound() -> None:
    one, v = np.ones(2), np.ones(3)
    made_of = Checked(one, one, 2.0, 0.5, 0.1, v, v, np.ones(2))
    found = told(made_of)
    assert found.dual == 1.5 and found.theta is one and found.box is made_of.box and type(found.dual) is float
    beyond = 2.0 * (1.0 + 1e-9)
    for gap in (2.0, np.nextafter(2.0, 3.0), beyond):  # just what needs no θ
        found = told(replace(made_of, dual=gap))
        assert found.dual == 0.0 and found.primal == 2.0 and found.theta is one and found.correlation is v
    for gap in (np.nextafter(beyond, 3.0), 3.0, np.inf, np.nan):
        found = told(replace(made_of, dual=gap))
        assert found.dual == 0.0 and found.primal == 2.0 and found.box is None
        assert not found.theta.any() and found.theta.shape == (2,)
        assert not found.correlation.any() and not found.reach.any() and found.reach.shape == (3,)
    for primal in (np.nan, np.inf):
        found = told(replace(made_of, primal=primal, dual=1.0))
        assert found.primal == np.inf and found.dual == 0.0 and not found.theta.any()
    found = told(replace(made_of, primal=np.float64(2.0), dual=np.float64(0.5)))
    assert type(found.primal) is float and type(found.dual) is float


# --- slopes -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("text", CONVEX)
def test_slopes_hold_all_that_is_within_the_error(text: str) -> None:
    loss = loss_of(text)
    for y, z, error in itertools.product(
        (1.0, 0.25 if loss.name in MEANS else -1.0),
        (-3.0, -1.0, -0.25, 0.0, 0.25, 1.0, 1.35, 5.0),
        (0.0, 1e-9, 0.5),
    ):
        one, at = np.array([y]), np.array([z])
        low, high = slopes(loss, one, at, error)
        for side in np.linspace(-1.0, 1.0, 9):
            slope = loss.derivative(one, at + side * error)[0]
            assert low[0] <= slope <= high[0]
        far = [loss.derivative(one, at + side * error)[0] for side in (-2.0, 0.0, 2.0)]
        room = 2.0 * loss.curvature * error if loss.curvature < np.inf and "q" not in text else 0.0
        top = max(map(abs, far))
        if text in ("logistic", "binomial"):
            assert (low[0], high[0]) == pytest.approx((far[1] - room, far[1] + room), rel=0.0, abs=1e-13)
        else:
            assert (low[0], high[0]) == pytest.approx((far[0], far[2]), rel=2.0 * FEW, abs=0.0)
        assert low[0] <= far[1] - FEW * abs(far[1]) * 0.99 or error > 0.0
        assert high[0] >= far[1] + FEW * abs(far[1]) * 0.99 or error > 0.0
        assert high[0] <= max(far[2], far[1] + room) + 1.01 * FEW * top
        assert low[0] >= min(far[0], far[1] - room) - 1.01 * FEW * top


@pytest.mark.parametrize("text", ["squared", "logistic"])
@pytest.mark.parametrize("one", [False, True])
def test_slopes_as_a_middle_and_what_it_may_be_off_by(text: str, one: bool) -> None:
    """Where one number bounds the error of all rows, or each has its own."""
    rng = np.random.default_rng(4)
    loss, y, t = loss_of(text), np.where(rng.random(5) < 0.5, 1.0, -1.0), 3.0 * rng.normal(size=5)
    error: Any = 1e-3 if one else 1e-3 * rng.random(5)
    unsure, u = rng.random(5), rng.normal(size=5)
    found, slope = _slopes(loss, y, t, error, unsure), loss.derivative(y, t)
    room = 2.0 * loss.curvature * error
    assert found.spread() == close(float(unsure @ (np.abs(slope) + room)), rel=1e-9)
    assert found.apart(u) == close(float(unsure @ (np.abs(u - slope) + room)), rel=1e-9)
    ends = [loss.derivative(y, t + side * error) for side in (-1.0, 1.0)]
    assert found.spread() >= float(unsure @ np.maximum(*np.abs(ends)))
    assert found.apart(u) >= float(unsure @ np.maximum(*np.abs(np.subtract(ends, u))))
    known = _slopes(loss, y, t, 0.0 * error, unsure)  # a share FEW of the slope, and what underflows
    size = float(unsure @ np.abs(slope))
    assert known.spread() >= (1.0 + 1.9 * FEW) * size
    assert known.apart(slope) == close(FEW * size + FAINT * float(unsure.sum()), rel=1e-9)
    nothing = _slopes(loss, y, t, 0.0 * error, 0.0 * unsure + LEAST)
    assert nothing.apart(slope) >= FAINT * LEAST
    assert not found.none and not known.none


def test_no_slope_at_all() -> None:
    loss, y = loss_of("squared"), np.array([1.0, -2.0])
    for t, error, none in [
        (y, 0.0, True),
        (y, np.zeros(2), True),
        (y, 1e-9, False),
        (y, np.array([0.0, 1e-9]), False),
        (y * [1.0, 1.0 + 1e-9], 0.0, False),
    ]:
        assert _slopes(loss, y, t, error, np.ones(2)).none == none
    apart = _slopes(loss, y, y, 0.0, np.ones(2)).apart(np.zeros(2))
    assert 2.0 * FAINT <= apart <= 2.0 * FAINT * (1.0 + 1e-9)


def test_slopes_by_hand() -> None:
    one = np.ones(1)
    low, high = slopes(loss_of("squared"), 0.0 * one, 3.0 * one, 0.25)
    assert low[0] == 5.0 * (1.0 - FEW) and high[0] == 7.0 * (1.0 + FEW)
    low, high = slopes(loss_of("squared"), 0.0 * one, -3.0 * one, 0.25)
    assert low[0] == -7.0 * (1.0 + FEW) and high[0] == -5.0 * (1.0 - FEW)
    low, high = slopes(loss_of("logistic"), one, 0.0 * one, 0.25)
    assert low[0] == -0.5 - 0.125 - 0.5 * FEW and high[0] == -0.5 + 0.125 + 0.5 * FEW
    assert [float(v[0]) for v in slopes(loss_of("logistic"), one, 0.0 * one, 0.0)] == [
        -0.5 - 0.5 * FEW,
        -0.5 + 0.5 * FEW,
    ]


# --- weights inside, and points that are no numbers ---------------------------------------------------------


def test_weights_that_break_the_budget_are_told() -> None:
    X, y = np.array([[1.0, 0.5], [0.0, 1.0], [1.0, 1.0]]), np.array([1.0, 2.0, 3.0])
    one = made(X, y, "squared", "l1", budget=0.5)
    theta = np.array([0.1, -0.2, 0.1])
    kept = np.array([0.25, -0.125, 7.0])
    assert inside(one.problem, kept) is kept and not check(one.problem, kept, theta).moved
    for tolerance in (0.0, np.inf):
        found = check(one.problem, np.array([2.0, 2.0, 7.0]), theta, tolerance)
        assert found.moved and abs(found.w[:2]).sum() == close(0.5, rel=1e-12) and found.w[2] == 7.0
        assert found.primal >= one.primal(found.w)
    free = made(X, y, "squared", "l1", lam=0.5)
    far = np.full(3, 1e9)
    assert inside(free.problem, far) is far


@pytest.mark.parametrize("loss", CONVEX)
@pytest.mark.parametrize("bad", [np.nan, np.inf, -np.inf, 1e300, 1e-320])
def test_numbers_that_are_none_prove_nothing_false(loss: str, bad: float) -> None:
    """NaN, ∞, huge and faint weights and θ: no bound is NaN, none is above the objective or the truth."""
    rng = np.random.default_rng(8)
    X = rng.normal(size=(4, 2))
    y = np.tile([1.0, 0.25 if loss_of(loss).name in MEANS else -1.0], 2)
    for penalty, form in (("l2", "lam"), ("l1", "budget"), ("l2_norm", "lam"), ("none", "lam")):
        one = made(X, y, loss, penalty, **({} if penalty == "none" else {form: 0.5}))
        w, theta = rng.normal(size=3), rng.normal(size=4) * 0.1
        best = optimum(one.exact, [])
        lowest = one.primal([*best.w, best.b])
        for weights, point in ((np.array([bad, 0.1, 0.1]), theta), (w, np.append(bad, theta[1:]))):
            found = check(one.problem, weights, point, 1e-6, 1.0)
            assert 0.0 <= found.dual <= found.primal
            assert found.box is not None or found.dual <= lowest
            if np.isfinite(found.w).all():
                assert found.primal >= one.primal(found.w) or found.primal == np.inf
        with np.errstate(all="ignore"):
            big = (
                made(X * bad, y, loss, penalty, **({} if penalty == "none" else {form: 0.5}))
                if bad == bad
                else one
            )
            found = check(big.problem, w, theta, 1e-6, 1.0)
        assert 0.0 <= found.dual <= found.primal


def test_a_price_that_underflows_proves_nothing() -> None:
    X, y = np.array([[1.0], [-1.0]]), np.array([1e-160, -1e-160])
    one = made(X, y, "squared", "l2", lam=1e-310, intercept=False)
    found = check(one.problem, np.array([1e-160]), np.array([1e-170, -1e-170]))
    assert found.dual == 0.0 and found.primal >= one.primal(found.w)


def test_penalties_far_from_one() -> None:
    """Scales of 1e±150: squares that under- or overflow do not make the objective too small."""
    for scale, size in itertools.product((1e-150, 1e150), (1e-170, 1e-150, 1e-20, 1.0, 1e149)):
        for penalty in ("l1", "l2", "elastic_net(0.5)", "l2_norm", "lp(3)", "linf"):
            with np.errstate(all="ignore"):
                one = made(
                    [[1.0], [2.0]], [0.0, 0.0], "squared", penalty, lam=2.0, scale=[scale], intercept=False
                )
            found = check(one.problem, np.array([size]), np.zeros(2))
            assert found.primal >= one.primal(found.w)


# --- what a search has proven -------------------------------------------------------------------------------


def searching(loss: str, penalty: str = "none", **asked: Any) -> Made:
    X = np.array([[1.0, 0.0], [0.0, 1.0], [2.0, 1.0], [-1.0, -1.0]])
    return made(X, [1.0, 1.0, -1.0, -1.0], loss, penalty, **asked)


def test_rows_on_the_plane_are_errors() -> None:
    one = searching("zero_one", s=[1.0, 2.0, 3.0, 4.0])
    w = np.array([1.0, -1.0, 0.0])  # margins 1, −1, −1, 0
    found = searched(one.problem, w, 0.25, None)
    assert found.primal == close(0.9, rel=1e-12) and found.primal >= 0.9 and found.dual == 0.25
    assert not found.theta.any() and len(found.theta) == 4 and found.rounding == 0.0
    assert not found.correlation.any() and not found.reach.any() and len(found.reach) == 3 and not found.moved
    theta = np.arange(4.0)
    assert searched(one.problem, w, 0.25, theta).theta is theta
    right = searched(one.problem, np.array([1.0, 3.0, -0.5]), 0.0, None)  # of all but the third
    assert right.primal == close(0.3, rel=1e-12)


def test_rows_that_rounding_cannot_tell_from_the_plane_are_errors() -> None:
    x = np.array([[1.0 + 2.0**-30, -1.0]])
    for level, wrong in ((-(2.0**-30), True), (-(2.0**-30) * (1.0 + 2.0**-52), True), (-(2.0**-31), False)):
        one = made(x, [1.0], "zero_one", "none")
        found = searched(one.problem, np.array([1.0, 1.0, level]), 0.0, None)
        assert (found.primal > 0.5) == wrong
    third = made([[1.0 / 3.0, 1.0]], [1.0], "zero_one", "none", intercept=False)
    assert searched(third.problem, np.array([3.0, -1.0]), 0.0, None).primal > 0.5  # 3·fl(1/3) − 1 < 0
    down = made([[1.0 / 3.0, 1.0]], [-1.0], "zero_one", "none", intercept=False)
    assert searched(down.problem, np.array([3.0, -1.0]), 0.0, None).primal == 0.0  # all is exact


@pytest.mark.parametrize("side", [-1.0, 1.0])
def test_the_worse_side_counts(side: float) -> None:
    """A loss that falls, and one that rises: both ends of the error are looked at, twice as far."""
    seen: list[Any] = []

    class Ramp(Squared):
        def value(self, y: Vector, z: Vector) -> Vector:
            seen.append(z)
            return np.maximum(10.0 + side * 1e15 * (z - 1.0), 0.0)

    problem = Statement(
        Dense(np.ones((1, 1))),
        np.zeros(1),
        np.ones(1),
        Ramp(),
        Penalised(Separable(np.zeros(1), np.zeros(1)), 1.0),
        False,
    )
    t, error = problem.misses(np.ones(1), exact=True)
    found = searched(problem, np.ones(1), 0.0, None)
    assert [float(z[0]) for z in seen] == [float((t + k * error)[0]) for k in (-2.0, 0.0, 2.0)]
    assert found.primal == close((10.0 + 2e15 * float(error[0])) * (1.0 + 2.0 * FEW), rel=1e-12)


def test_a_bound_that_is_wrong_proves_nothing() -> None:
    one = searching("sigmoid(4)", "l2", lam=0.5)
    w = np.array([0.3, -0.2, 0.1])
    primal = searched(one.problem, w, 0.0, None).primal
    for bound, dual in (
        (primal, primal),
        (np.nextafter(primal, 9.0), 0.0),
        (-1.0, 0.0),
        (np.nan, 0.0),
        (np.inf, 0.0),
    ):
        assert searched(one.problem, w, bound, None).dual == dual
    assert searched(one.problem, w, 0.0, None).dual == 0.0
    values = [
        1.0 / (1.0 + real.exp(4 * y * z))
        for y, z in zip(one.exact.y, map(as_real, one.exact.predictions(*one.parts(w))), strict=True)
    ]
    truth = sum(values) / 4 + as_real(rational(0.5)) * sum(as_real(rational(v)) ** 2 for v in w[:2])
    assert truth <= primal <= truth * (1 + 1e-12)


def test_searched_values_and_their_charges() -> None:
    """Priced weights, their doubt, what underflows; nothing where nothing is lost."""
    one = searching("zero_one")
    right = np.array([1.0, 3.0, -0.5])
    three = made(one.problem.design.matrix[[0, 1, 3]], [1.0, 1.0, -1.0], "zero_one", "none")
    assert (
        searched(three.problem, right, 0.0, None).primal == 0.0
    )  # exactly: no row is wrong, nothing is priced
    priced = Priced(Separable(np.append(np.ones(2), 0.0), np.zeros(3)), (0.5, 0.25), (0.0, 0.0))
    found = searched(replace(three.problem, regulariser=priced), right, 0.0, None)
    assert found.primal == 0.5 * (1.0 + FEW) + 0.25
    costly = searched(replace(one.problem, regulariser=priced), right, 0.0, None)
    assert costly.primal == close((0.25 + 0.5) * (1.0 + FEW) + 0.25, rel=1e-13)
    squares = made([[1.0], [1.0]], [1e-200, 5e-201], "squared", "l0", budget=1.0, intercept=False)
    assert (
        searched(squares.problem, np.array([5e-201]), 0.0, None).primal == 8.0 * LEAST * 2
    )  # risk underflows
    nothing = made([[1.0], [1.0]], [0.0, 0.0], "squared", "l0", budget=1.0, intercept=False)
    assert searched(nothing.problem, np.zeros(1), 0.0, None).primal == 0.0
    faint = made([[1.0], [1.0]], [1e-161, 0.0], "absolute", "l0", budget=1.0, intercept=False)
    value = searched(faint.problem, np.zeros(1), 0.0, None).primal
    assert value == close(0.5e-161 * (1.0 + FEW) * (1.0 + FEW), rel=1e-14)
    tiny = made([[1.0], [1.0]], [1e-323, 0.0], "absolute", "l0", budget=1.0, intercept=False)
    assert searched(tiny.problem, np.zeros(1), 0.0, None).primal >= 8.0 * LEAST * 2
    for bad in (np.nan, np.inf, 1e308):  # no row is right where there is no number
        broken = searched(one.problem, np.array([bad, bad, 1.0]), 0.5, None)
        assert broken.primal == np.inf and broken.dual == 0.5
    over = made([[1e300], [1.0]], [1.0, 1.0], "zero_one", "none", intercept=False)
    assert searched(over.problem, np.array([1e10]), 0.0, None).primal == np.inf
    mixed = searched(
        replace(three.problem, regulariser=Priced(priced.gauge, (np.nan, 0.0), (0.0, 0.0))), right, 0.0, None
    )
    assert mixed.primal == np.inf


def test_a_search_stays_within_its_budget() -> None:
    two = searching("squared", "l0", budget=1.0)
    w = np.array([0.5, -2.0, 1.0])
    found = searched(two.problem, w, 0.0, None)
    assert found.moved and found.w.tolist() == [0.0, -2.0, 1.0]
    assert not searched(two.problem, np.array([0.0, -2.0, 1.0]), 0.0, None).moved
    for order in (0.9, 0.5, 0.1):
        power = searching("squared", f"lp({order})", budget=2.0)
        at = np.array([0.5, 0.0, 1.0])
        size = power.problem.regulariser.gauge.value(np.array([0.7, -0.4, 0.0]))
        found = searched(power.problem, np.array([0.7, -0.4, 1.0]) * (1.0 + 1e-13) * (2.0 / size), 0.0, None)
        assert found.moved and power.exact.within(power.parts(found.w)[0])
        assert power.problem.regulariser.gauge.value(found.w) == close(2.0, rel=1e-10)
        assert searched(power.problem, at, 0.0, None).w is at


def test_the_squared_norm_of_an_offset_is_not_lost() -> None:
    """Targets and columns 2⁴⁰ from zero: the gap is that of the exact values, not of what cancels in them."""
    rng = np.random.default_rng(11)
    for far in (0.0, 2.0**20, 2.0**40):
        X, y = rng.normal(size=(6, 1)), rng.normal(size=6) + far
        one = made(X, y, "squared", "l2", lam=0.1)
        best = optimum(one.exact, [])
        w = np.array([float(best.w[0]), float(best.b)])
        t, _ = one.problem.misses(w, exact=True)
        found = check(one.problem, w, -2.0 * one.problem.a * t, 0.0, 1.0)
        excess = one.primal(w) - one.primal([*best.w, best.b])
        assert found.gap >= excess
        assert found.dual <= one.primal([*best.w, best.b]) and found.primal >= one.primal(w)
        assert found.gap <= 1e-12 + 1e-14 * far * (1.0 + far * 1e-12)


def test_a_share_of_the_row_weights_and_of_the_strength_is_charged() -> None:
    """Shares and strengths that are off by what they may be: both values still hold of the true ones."""
    rng = np.random.default_rng(12)
    X, y = rng.normal(size=(6, 2)), rng.normal(size=6)
    s = rng.uniform(0.5, 2.0, 6)
    exact = made(X, y, "squared", "l2", lam=0.3, s=s, intercept=False)
    best = optimum(exact.exact, [])
    w = np.array([float(v) for v in best.w])
    for push in (1.0 - FEW / 2, 1.0 + FEW / 2):
        off = made(X, y, "squared", "l2", lam=0.3 * push, s=s, a=s / s.sum() * push, intercept=False)
        t, _ = off.problem.misses(w, exact=True)
        found = check(off.problem, w, -2.0 * off.problem.a * t, 0.0, 1.0)
        assert found.dual <= exact.primal(best.w) and found.primal >= exact.primal(w)


def test_the_far_end_of_a_long_v() -> None:
    """v beyond its price by a share κ: the bound is lower by κ times the objective, and true."""
    X, y = np.array([[1.0], [1.0]]), np.array([2.0, 2.0])
    one = made(X, y, "squared", "l1", lam=1.0, intercept=False)
    w = np.array([1.5])  # the optimum: 2(w − 2) + 1 = 0
    for share in (0.0, 1e-3, 0.1):
        theta = np.array([0.5, 0.5]) * (1.0 + share)
        found = check(one.problem, w, theta, 0.0, 1.0)
        value = 1.75  # P* = 1/4 + 3/2
        inner = 0.25 * (1.0 + share - 1.0) ** 2
        assert found.dual <= one.primal(w) == value
        slack = 1.5 * max(0.0, 1.0 - (1.0 + share))
        assert value - found.dual == pytest.approx(inner + slack + share * value, rel=1e-6, abs=1e-11)
    gauge = Norm(2.0, np.ones(1))
    longer = replace(one.problem, regulariser=Penalised(gauge, 1.0))
    found = check(longer, w, np.array([0.55, 0.55]), 0.0, 1.0)
    assert 1.75 - found.dual == pytest.approx(0.0025 + 0.1 * 1.75, rel=1e-6)


@pytest.mark.parametrize("seed", range(3))
def test_the_error_of_a_long_column_calls_for_more_digits(seed: int) -> None:
    """A budget prices what may be wrong of Xᵀθ: where that alone misses the gap, it is computed exactly."""
    g = np.random.default_rng(seed)
    X = g.standard_normal((60, 8))
    y = X[:, 1] + X[:, 2] + 1e-3 * g.standard_normal(60)
    X[:, 0] *= 1e8
    solution = dg.fit(X, y, loss="absolute", penalty="linf", budget=0.5)
    assert solution.converged
    w = np.append(solution.coef, solution.intercept)
    problem = made(X, y, "absolute", "linf", budget=0.5).problem
    plain = _checked(problem, w, solution.certificate.theta, 1e-6, 0.0, exact=False)
    whole = check(problem, w, solution.certificate.theta, 1e-6, 0.0)
    assert plain.gap > 1e-6 * plain.primal >= whole.gap
    assert blurred(problem, plain, 1e-6 * plain.primal)
    assert not blurred(problem, whole, 1e-6 * plain.primal)
