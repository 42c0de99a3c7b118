"""The best weights known for a statement: its exact optimum wherever rational arithmetic finds it."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any

from exact.active_set import minimise
from exact.arithmetic import as_rational, as_real, power_of_two, rational, real
from exact.newton import closest, polish, shrunk
from exact.programme import Programme, build
from exact.statement import GROUPED, TRANSCENDENTAL, Statement, Value, below

Point = tuple[list[Fraction], Any]  # w, b

POLYHEDRAL_BUDGETS = ("l1", "linf", "slope", "fused", "none")
FARTHEST = 3000  # powers of two beyond which a start is none, and below which it is zero
SEARCHES = 12  # prices that are tried for a budget
SECANTS = 6  # prices of groups that are tried for a budget
ROUNDS = 3  # times that a round norm is replaced by a parabola through the last answer


@dataclass(frozen=True, eq=False)
class Optimum:
    """The lowest value known and where it is.

    `proven`: its optimality was shown in exact arithmetic. `settled`: shown, or a search to a hundred digits
    ended there.
    """

    w: list[Fraction]
    b: Any
    value: Value
    proven: bool
    settled: bool
    candidates: tuple[Point, ...] = ()


def rational_programme(statement: Statement) -> bool:
    """Has the whole statement the form of a programme?"""
    if statement.loss[0] in TRANSCENDENTAL:
        return False
    name, t = statement.penalty
    if statement.free or name in POLYHEDRAL_BUDGETS or (name == "lp" and t == 1):
        return True
    return statement.budget is None and name in ("l2", "elastic_net")


def optimum(statement: Statement, hints: Iterable[Point], theta: Sequence[float] | None = None) -> Optimum:
    """The best weights known, from those of the hints on."""
    given = [(w, b) for w, b in hints] or []
    k = statement.classes if statement.classes > 2 else 1
    zero: Point = ([Fraction(0)] * (statement.p * k), [Fraction(0)] * k if k > 1 else Fraction(0))
    start = given[0] if given else zero
    if rational_programme(statement):
        return _exactly(statement, start)
    if statement.budget is not None:
        start = (shrunk(statement, start[0]), start[1])
        loose = _not_binding(statement, start)
        if loose is not None:
            return loose
    if statement.penalty[0] in GROUPED and statement.budget is not None:
        return _best(
            statement,
            [*_by_group_price(statement, start, theta), *((w, b, False) for w, b in [*given, zero])],
        )
    found = _in_reals(statement, start, theta)
    if not found or not found[-1][2]:
        found += [(w, b, False) for w, b in [*given, zero]]
        if statement.penalty[0] in GROUPED:  # Newton comes near a corner, and not onto it
            found += _in_reals(statement, (zero[0], start[1]), theta)
        if not any(start[0]) and statement.budget != 0:
            found += _in_reals(statement, _elsewhere(statement, start), theta)
    return _best(statement, found)


def _elsewhere(statement: Statement, start: Point) -> Point:
    """Another start, where the one given leads nowhere: weights with a small price on their squares."""
    if statement.loss[0] in TRANSCENDENTAL or statement.classes > 2:
        w, b = start
        return [v or Fraction(1, 1000) for v in w], b
    size = max((abs(rational(x)) for row in statement.X for x in row), default=Fraction(0)) or Fraction(1)
    ridge = replace(statement, penalty=("l2", Fraction(0)), budget=None, lam=size * size / 100)
    found = _exactly(ridge, start)
    return shrunk(statement, found.w), found.b


def _exactly(statement: Statement, start: Point) -> Optimum:
    programme = build(statement)
    w, b = shrunk(statement, start[0]), start[1]
    found = minimise(programme, programme.coordinates(w, b))
    w, b = programme.weights(found.u)
    return Optimum(w, b, found.value, found.optimal, found.optimal, ((w, b),))


def _not_binding(statement: Statement, start: Point) -> Optimum | None:
    """The optimum without the budget, if it is inside and rational arithmetic finds it."""
    if statement.loss[0] in TRANSCENDENTAL or statement.classes > 2:
        return None
    size = statement.size(start[0])
    if not below(size, (statement.budget or Fraction(0)) * Fraction(999999, 1000000)):
        return None
    free = replace(statement, penalty=("none", Fraction(0)), budget=None)
    found = _exactly(free, start)
    return found if found.proven and statement.within(found.w) else None


def _in_reals(
    statement: Statement, start: Point, theta: Sequence[float] | None
) -> list[tuple[Any, Any, bool]]:
    programme = build(statement)
    found: list[tuple[Any, Any, bool]] = []
    transcendental = statement.loss[0] in TRANSCENDENTAL
    w, b = start
    for _ in range(1 if transcendental else ROUNDS):
        u = programme.coordinates(w, b)
        held = closest(programme, u)
        try:
            round_one = not transcendental and statement.penalty[0] not in GROUPED
            near = None if not round_one else _through_parabola(statement, (w, b), theta)
            if near is not None:
                (w, b), held = near
                found.append(([_short(v) for v in w], _short(b), False))
                u = programme.coordinates(w, b)
            point = polish(statement, programme, u, held)
        except (ArithmeticError, ValueError):  # numbers beyond floats: a candidate less
            break
        found.append((point.w, point.b, point.settled))
        if point.settled:
            break
        w, b = point.w, point.b
    if not transcendental and not (found and found[-1][2]):
        found += _by_price(statement, programme, start, _price(statement, start[0], theta))
    settled = bool(found) and found[-1][2]
    if transcendental and not settled and (statement.free or not all(statement.factors)):
        found += [(*_times(point, k), False) for point in ((w, b), start) for k in (2, 16, 1024)]
    return found


def _by_group_price(
    statement: Statement, start: Point, theta: Sequence[float] | None
) -> list[tuple[Any, Any, bool]]:
    """A budget of groups as a price on them: secants on the price until the size is the budget's."""
    assert statement.budget is not None
    size, along = statement.size(start[0]), _price(statement, start[0], theta)
    if along is None or not size:
        return []
    price, found, before = as_real(along) / size, [], None
    for _ in range(SECANTS):
        inner = replace(statement, budget=None, lam=_short(as_rational(price)))
        programme = build(inner)
        u = programme.coordinates(*start)
        try:
            point = polish(inner, programme, u, closest(programme, u))
        except (ArithmeticError, ValueError):
            break
        found.append((point.w, point.b, False))
        reached = statement.size(point.w)
        if before is None or reached == before[1]:
            ahead = price * (1 + real.mpf(10) ** -6)
        else:
            ahead = price + (as_real(statement.budget) - reached) * (price - before[0]) / (
                reached - before[1]
            )
        if not ahead > 0 or ahead == price:
            break
        before, price = (price, reached), ahead
    return found


def _by_price(
    statement: Statement, programme: Programme, start: Point, guess: Fraction | None
) -> list[tuple[Any, Any, bool]]:
    """A budget on squares as a price on them, which is searched for; each problem is solved exactly."""
    name = statement.penalty[0]
    if statement.budget is None or not statement.budget or name == "lp":
        return []
    limit = statement.budget**2 if name == "l2_norm" else statement.budget
    squares = ("l2", Fraction(0)) if name == "l2_norm" else statement.penalty
    priced = replace(statement, penalty=squares, budget=None, lam=Fraction(1))
    low, high, point = Fraction(0), None, start
    price = _short(guess or Fraction(1))
    if guess is not None and name != "elastic_net":
        price = _short(guess / (2 * limit))
    step = Fraction(4)
    for _ in range(SEARCHES):
        found = _exactly(replace(priced, lam=price), point)
        point = ([_short(v) for v in found.w], _short(found.b))
        over = priced.size(found.w) > limit
        low, high = (price, high) if over else (low, price)
        if high is None:
            price, step = price * step, step * step
        elif not low:
            price, step = price / step, step * step
        else:
            price = _short(as_rational(real.sqrt(as_real(low) * as_real(high))))
            if not low < price < high:
                break
    inner = build(replace(priced, lam=price))
    rows = len(statement.y)
    held = {i: k for i, k in closest(inner, inner.coordinates(*point), 1e-5).items() if i < rows}
    try:
        ended = polish(statement, programme, programme.coordinates(*point), held)
    except (ArithmeticError, ValueError):
        return [(*point, False)]
    return [(*point, False), (ended.w, ended.b, ended.settled)]


def _times(point: Point, k: int) -> Point:
    w, b = point
    return [v * k for v in w], [v * k for v in b] if isinstance(b, list) else b * k


def _through_parabola(
    statement: Statement, at: Point, theta: Sequence[float] | None
) -> tuple[Point, dict[int, int]] | None:
    """The optimum with the round norm replaced by squares that have its slope at a point near the optimum.

    There the two problems have the same optimality conditions, so the kinks are those of the answer.
    """
    w, b = at
    price = _price(statement, w, theta)
    if price is None or not any(w):
        return None
    name, t = statement.penalty
    if name == "elastic_net":
        inner = replace(statement, budget=None, lam=_short(price))
    else:
        order = t if name == "lp" else Fraction(2)
        sizes = [abs(v * k) for v, k in zip(w, statement.scale, strict=True)]
        top = max(sizes)
        powers = [
            Fraction(float(as_real(v / top) ** as_real(order - 2))) if v else Fraction(10**6) for v in sizes
        ]
        base = sum(f * p * v * v for f, p, v in zip(statement.factors, powers, sizes, strict=True))
        if not base:
            return None
        # v·w = price·(slope of h)·w has been measured; squares with these factors give 2 λ Σ f w²
        inner = replace(
            statement,
            penalty=("l2", Fraction(0)),
            budget=None,
            lam=_short(price / (2 * base)),
            factors=tuple(f * p for f, p in zip(statement.factors, powers, strict=True)),
        )
    programme = build(inner)
    found = minimise(programme, programme.coordinates([_short(v) for v in w], _short(b)), limit=60)
    point = programme.weights(found.u)
    rows = len(statement.y)
    held = {i: k for i, k in closest(programme, found.u, 1e-40).items() if i < rows}
    return point, held


def _short(value: Fraction) -> Fraction:
    """Nearly the same in a hundred bits: long numbers are slow, and a start need not be exact."""
    drop = max(value.numerator.bit_length(), value.denominator.bit_length()) - 100
    if drop <= 0 or not value:
        return value
    shift = value.numerator.bit_length() - value.denominator.bit_length() - 100
    if shift > FARTHEST:
        raise OverflowError("no start")
    if shift < -FARTHEST:
        return Fraction(0)
    whole = value / power_of_two(shift)
    return (whole.numerator // whole.denominator) * power_of_two(shift)


def _price(statement: Statement, w: list[Fraction], theta: Sequence[float] | None) -> Fraction | None:
    """(slope of the penalty at w)·w, from Xᵀθ; the strength itself where the penalty is given."""
    name = statement.penalty[0]
    if statement.budget is None:
        size = statement.size(w)
        if not size:
            return None
        assert statement.lam is not None
        return statement.lam * as_rational(
            real.mpf(size) if not isinstance(size, Fraction) else as_real(size)
        )
    if theta is None or len(theta) != len(statement.y):
        return None
    columns = zip(*statement.X, strict=True)
    along = Fraction(0)
    for value, column in zip(w, columns, strict=True):
        along += value * sum(
            (rational(x) * rational(t) for x, t in zip(column, theta, strict=True)), Fraction(0)
        )
    if along <= 0:
        return None
    if name != "elastic_net":
        return along
    alpha = statement.penalty[1]
    sizes = [abs(v * k) for v, k in zip(w, statement.scale, strict=True)]
    steep = sum(f * (v + 2 * alpha * v * v) for f, v in zip(statement.factors, sizes, strict=True))
    return along / steep if steep else None


def _best(statement: Statement, points: list[tuple[Any, Any, bool]]) -> Optimum:
    """The lowest of the points, after moving them into the budget."""
    best: Optimum | None = None
    kept: list[Point] = []
    for w, b, settled in sorted(points, key=lambda point: not point[2]):  # of equals the one that is settled
        inside = shrunk(statement, w)
        value = statement.value(inside, b)
        kept.append((inside, b))
        if best is None or below(value, best.value):
            best = Optimum(inside, b, value, False, settled)
    assert best is not None
    return replace(best, candidates=tuple(kept))


def null(statement: Statement) -> Value:
    """The objective at w = 0 and the best intercept."""
    if statement.classes > 2:
        return _null_of_classes(statement)
    if not statement.intercept:
        return statement.risk([Fraction(0)] * statement.p, Fraction(0))
    return optimum(statement.without_columns(), []).value


def _null_of_classes(statement: Statement) -> Value:
    total = sum(statement.s, Fraction(0))
    k = statement.classes
    if not statement.intercept:
        return real.log(k)
    pairs = list(zip(statement.s, statement.y, strict=True))
    shares = [sum((s for s, y in pairs if y == c), Fraction(0)) / total for c in range(k)]
    return -sum(as_real(share) * real.log(as_real(share)) for share in shares if share)
