"""Objective and bound at points from anywhere, both true as real numbers.

The gap is a sum of terms that are ≥ 0 by the inequality of Fenchel and Young, so that nothing large cancels:

    P(w) − P(w') ≤ Σ a [L(z) + L*(u) − zu] + [g(w) + g*(v) − w·v]        for every w',  u = −θ/a,  v = Xᵀθ,

for any θ in the loss's domain with x_j·θ = 0 for free columns. What rounding may hide of each term is added
to it; the bound is the objective less that sum, and so never above it.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from dualgap.arrays import Matrix, Vector
from dualgap.losses import Loss
from dualgap.losses.base import FAINT
from dualgap.penalties.separable import Separable
from dualgap.proof.balance import Balanced, orthogonal, zero_sums
from dualgap.proof.processor import PlainArithmetic
from dualgap.proof.rounding import FEW, LEAST, U, gamma, total
from dualgap.proof.rows import Rows
from dualgap.proof.statement import SMALL, Statement, moved
from dualgap.traits import Trait

# Weights of rows, strengths and prices are known to a share FEW of themselves, so that P, a sum of terms ≥ 0,
# is known to as much of itself at every w'. Norms are known to FEW; losses, terms and what becomes of them to
# less. All of that together:
SLACK = 4.0 * FEW
AWAY = 1.0 + 8.0 * U  # a quotient times this is no nearer to 0 than the true one
SHARE = 0.125  # of the gap that is wanted: what rounding may cost before more digits are spent on it
SEEN, TOLD = 2e-9, 2e-8  # shares of the objective that it, and the bound, may be off by without more digits
NOTHING = 1e-9  # share of the objective by which a θ may miss the bound that needs none, and still be kept
MANY = 500  # numbers of a table: with fewer the largest of each column take no time
FIRST = 4.0  # a box is at least this many times as wide as the weights


@dataclass(frozen=True, eq=False)
class Checked:
    """What is true of w and θ: P(w) ≤ primal, and no weights (in the box, if there is one) beat `dual`."""

    w: Vector
    theta: Vector
    primal: float
    dual: float
    rounding: float  # what of the gap is there only because of rounding
    correlation: Vector  # Xᵀθ, and
    reach: Vector  # the error of each of its entries
    box: Vector | None = None  # |w_j| up to which the bound holds; None: everywhere
    width: float = 0.0  # what plain arithmetic may get the objective wrong by
    known: float | None = None  # a lower value that P(w) does not exceed either; None: `primal` is the lowest
    moved: bool = False  # w is not the one that was given, which breaks the budget
    violation: float = 0.0  # how far w misses a constraint at most; the bound is for weights that miss none

    @property
    def gap(self) -> float:
        """How far the objective can be above the optimum; ≥ 0 because each bound is what it says."""
        return self.primal - self.dual

    def improved(self, other: Checked) -> Checked:
        """The better half of each, where both halves go together: either proves its own."""
        first = self if self.primal <= other.primal else other
        second = self if self.dual >= other.dual else other
        if second.box is not None and np.any(np.abs(first.w) > second.box):
            return first
        kept = {name: getattr(first, name) for name in ("w", "primal", "known", "moved", "violation")}
        return replace(second, **kept)


def check(problem: Statement, w: Vector, theta: Vector, tolerance: float = 0.0, null: float = 0.0) -> Checked:
    """Both values at w (moved into the budget) and at a feasible point near θ.

    `tolerance` is the relative gap somebody hopes for, `null` the objective without columns: where that gap
    is missed, and rounding alone costs a good part of it, all is done again, first with what each column may
    be off by in place of all of them, then in twice the digits; likewise where rounding shows in the values.
    """
    with PlainArithmetic():
        given, w = w, inside(problem, w)
        rough = isinstance(problem.rows, Rows) and problem.rows.stored >= MANY
        found = _checked(problem, w, theta, tolerance, null, exact=False, rough=rough)
        wanted = tolerance * max(found.primal, SMALL * null)
        unclear = coarse(found, wanted) or blurred(problem, found, wanted)
        if rough and unclear:
            found = _checked(problem, w, theta, tolerance, null, exact=False)
            unclear = coarse(found, wanted) or blurred(problem, found, wanted)
        if unclear:
            better = _checked(problem, w, theta, tolerance, null, exact=True).improved(found)
            found = replace(better, width=found.width)
    return found if w is given else replace(found, moved=True)


def missed(found: Checked, wanted: float) -> bool:
    """Is the gap wider than wanted, and rounding a good part of it?"""
    return found.gap > wanted and not found.rounding <= SHARE * wanted


def blurred(problem: Statement, found: Checked, wanted: float) -> bool:
    """Is the gap wider than wanted, and the error of Xᵀθ alone a good part of it?"""
    if not found.gap > wanted:
        return False
    bracket, v = problem.regulariser.bracket, found.correlation
    sharp = bracket(found.w, v, np.zeros_like(v)).value
    return bracket(found.w, v, found.reach).value - sharp > SHARE * wanted


def coarse(found: Checked, wanted: float) -> bool:
    """Does rounding spoil the gap that is wanted, or show in the values themselves?"""
    shown = found.width > SEEN * found.primal or found.rounding > TOLD * found.primal
    return shown or missed(found, wanted)


def inside(problem: Statement, w: Vector) -> Vector:
    """w where g is finite, rounding included: bounds and a budget are kept as real numbers."""
    return problem.regulariser.kept(w)


def searched(problem: Statement, w: Vector, bound: float, theta: Vector | None) -> Checked:
    """P(w) from above where the problem is not convex, beside the bound that a search has proven.

    Losses that jump are those of the worse side, wherever twice the digits cannot tell. A bound above the
    objective is a wrong one, and proves nothing.
    """
    with PlainArithmetic():
        given, w = w, inside(problem, w)
        t, error = problem.misses(w, exact=True)
        loss, y, _ = problem.centred
        sides = [loss.value(y, t + side * error) for side in (-2.0, 0.0, 2.0)]
        risk, (priced, doubt) = total(problem.a * np.max(sides, axis=0)), problem.regulariser.priced(w)
    # what is not flat may underflow
    under = 8.0 * LEAST * len(t) if risk or (t.any() and Trait.SMOOTH in problem.loss.traits) else 0.0
    primal = (risk + priced) * (1.0 + FEW) + doubt + under
    sure = np.all(np.isfinite(t)) and problem.a.min() >= FAINT
    primal = primal if sure and primal == primal else np.inf
    zero = np.zeros(len(w))
    dual = max(bound, 0.0) if bound <= primal else 0.0
    point = np.zeros(len(problem.y)) if theta is None else theta
    return Checked(w, point, primal, dual, 0.0, zero, zero, moved=w is not given)


def _checked(
    problem: Statement,
    w: Vector,
    theta: Vector,
    tolerance: float,
    null: float,
    *,
    exact: bool,
    rough: bool = False,
) -> Checked:
    """With errors of the rows as a whole (`rough`), of each column, or of twice the digits."""
    a, (loss, y, _) = problem.a, problem.centred
    t, error = problem.misses(w, rough=True) if rough else problem.misses(w, exact=exact)
    unsure = a * error
    unsure += LEAST  # what underflows is less
    slope = _slopes(loss, y, t, error, unsure)
    objective, width = _values(problem, w, t, slope)
    dual = _feasible(problem, theta, exact=exact)
    theta, mu = problem.split(dual.theta)
    moves, loose = problem.split(dual.reach)
    rows = problem.rows
    v, reach = rows.against_roughly(theta) if rough else rows.against(theta, exact=exact)
    # the true −θ/a is u, or a little nearer to 0: by convexity that costs no more than a share of the loss
    u = theta / a
    u *= -AWAY
    apart = slope.apart(u)
    slack = total(moves)
    if slack:
        reach = reach + slack * problem.rows.tops
        step = moves / a * (1.0 + SLACK)
        apart += along(unsure, step)
        terms = np.maximum(loss.fenchel_young(y, t, u - step), loss.fenchel_young(y, t, u + step))
    else:
        terms = loss.fenchel_young(y, t, u)
    linear, violation = 0.0, 0.0
    if problem.constraints is not None:
        tied, constraints = problem.coef(w), problem.constraints
        more, doubt = constraints.against(mu, exact=exact)
        v, reach = v + more, reach + doubt + U * (np.abs(v) + np.abs(more))
        reach = reach + total(loose) * constraints.rows.tops
        linear = constraints.terms(tied, mu, loose, exact=exact)
        violation, fine = constraints.kept(tied)
        objective = objective if fine else np.inf
    v, reach = problem.spread(v), problem.spread(reach)
    bracket, excess, pull = problem.regulariser.bracket(w, v, reach)
    pulled = float(np.abs(w) @ np.abs(v))
    rounding = width + apart + SLACK * (objective + bracket + pulled + linear)
    # a v too long by a share κ costs κ·g(w'), and weights worth looking at have g(w') ≤ P(w') ≤ objective
    rounding += excess * objective
    box, charge = _box(w, _pulled(dual, pull), SHARE * tolerance * max(objective, SMALL * null))
    gap = along(a, terms) + (bracket + linear) + rounding + charge
    bound = _bound(objective, gap)
    point = w, dual.theta, objective, gap if bound is None else bound, rounding
    found = Checked(*point, v, reach, box, width, violation=violation)
    return told(found) if bound is None else found


def _bound(primal: float, gap: float) -> float | None:
    """What the gap leaves; None where it is more than all, and θ proves just that."""
    return max(float(primal - gap), 0.0) if gap <= primal * (1.0 + NOTHING) < np.inf else None


def told(found: Checked) -> Checked:
    """The gap, so far in place of the bound, made into one. No loss and no penalty is below zero."""
    primal = float(found.primal) if found.primal == found.primal else np.inf
    bound = _bound(primal, found.dual)
    if bound is not None:
        return replace(found, primal=primal, dual=bound)
    zero = np.zeros_like(found.correlation)
    nothing = replace(found, theta=np.zeros_like(found.theta), correlation=zero, reach=zero)
    return replace(nothing, primal=primal, dual=0.0, box=None)


def slopes(loss: Loss, y: Vector, t: Vector, error: Any) -> tuple[Vector, Vector]:
    """The least and the greatest slope of the loss within the error of t: at both ends, for it is convex.

    Where slopes cost an exponential, that at t and what its curvature allows are as good, and half the work.
    """
    if loss.curvature < np.inf and Trait.PIECEWISE_QUADRATIC not in loss.traits:
        slope = loss.derivative(y, t)
        room = 2.0 * loss.curvature * error + FEW * abs(slope)
        return slope - room, slope + room
    low, high = loss.derivative(y, t - 2.0 * error), loss.derivative(y, t + 2.0 * error)
    return low - FEW * abs(low), high + FEW * abs(high)


class _Ends:
    """The slopes of the loss within the error of t, as `slopes` tells; `unsure` is a times that error."""

    def __init__(self, unsure: Vector, ends: tuple[Vector, Vector]) -> None:
        self._unsure, (self._low, self._high) = unsure, ends

    @property
    def none(self) -> bool:
        """Are all of them 0?"""
        return not (self._low.any() or self._high.any())

    def spread(self) -> float:
        """Σ unsure |slope| at most."""
        return along(self._unsure, np.maximum(-self._low, self._high))

    def apart(self, u: Vector) -> float:
        """Σ unsure |u − slope| at most."""
        return along(self._unsure, np.maximum(u - self._low, self._high - u) + FAINT)  # u may have underflown


class _Near:
    """The same as a middle and what it may be off by, in half of the passes."""

    def __init__(self, unsure: Vector, middle: Vector, room: Any) -> None:
        self._unsure, self._middle, self._room, self._whole = unsure, middle, room, total(unsure)
        self._size = along(unsure, np.abs(middle))
        self._rest = self._whole * room if isinstance(room, float) else along(unsure, room)

    @property
    def none(self) -> bool:
        return not (self._size > 0.0 or self._middle.any() or np.any(self._room))

    def spread(self) -> float:
        return (1.0 + FEW) * self._size + self._rest

    def apart(self, u: Vector) -> float:
        near = FEW * self._size + self._rest + self._whole * FAINT
        return along(self._unsure, np.abs(u - self._middle)) + near


def _slopes(loss: Loss, y: Vector, t: Vector, error: Any, unsure: Vector) -> _Ends | _Near:
    """Those of a quadratic loss are as well known from a middle as from ends, which follow bends."""
    quadratic = Trait.QUADRATIC in loss.traits
    if loss.curvature < np.inf and (quadratic or Trait.PIECEWISE_QUADRATIC not in loss.traits):
        return _Near(unsure, loss.derivative(y, t), 2.0 * loss.curvature * error)
    return _Ends(unsure, slopes(loss, y, t, error))


def along(weights: Vector, values: Vector) -> float:
    """Σ of products of numbers ≥ 0, from above, in whatever order they are added; but for underflow."""
    return float(weights @ values) * (1.0 + FEW + gamma(2 * len(weights)))


def _values(problem: Statement, w: Vector, t: Vector, slope: _Ends | _Near) -> tuple[float, float]:
    """P(w) from above, and how far below that it may be."""
    a, (loss, y, _) = problem.a, problem.centred
    risk = total(a * loss.value(y, t)) if a.min() >= FAINT else np.inf
    priced, doubt = problem.regulariser.priced(w)
    spread = slope.spread()
    # products that underflow: none where the loss is flat, as exponentials never are
    flat = Trait.PIECEWISE_QUADRATIC in loss.traits and slope.none
    under = 0.0 if flat else 8.0 * LEAST * (len(a) + len(w))
    lost = FEW * (risk + spread + priced) + doubt + under
    return risk + spread + priced + lost, 2.0 * (spread + lost)


def _feasible(problem: Statement, theta: Vector, *, exact: bool) -> Balanced:
    """θ in the domain, and orthogonal to what is free; 0, which always is, where that cannot be had."""
    free = problem.free_features.nonzero()[0]
    tied = len(free) > 0 or problem.regulariser.gauge.sums is not None
    if tied or problem.constraints is not None or Trait.QUADRATIC not in problem.loss.traits:  # no end there
        lower, upper = problem.dual_bounds_inside()
        theta = np.minimum(np.maximum(theta, lower), upper)
    if tied and theta.any():
        where = np.append(problem.rows.p, free) if problem.intercept else free
        columns, off = problem.free_columns(exact=exact)
        found = orthogonal(columns, theta, (lower, upper), off=off, exact=exact)
        if found is not None and np.all(found.open_ < len(where)):  # a box is one of coordinates
            return replace(found, open_=where[found.open_])
        theta = np.zeros_like(theta)
    else:
        theta = problem.levelled(theta)
    return Balanced(theta, np.zeros_like(theta), np.empty(0, dtype=np.intp), np.empty(0))


def _pulled(dual: Balanced, pull: Vector | None) -> Balanced:
    """The same with the coordinates that only an end holds, and that θ pulls away from it."""
    where = np.flatnonzero(pull) if pull is not None else np.empty(0, dtype=np.intp)
    if pull is None or not len(where):
        return dual
    return replace(dual, open_=np.append(dual.open_, where), pull=np.append(dual.pull, pull[where]))


def _box(w: Vector, dual: Balanced, budget: float) -> tuple[Vector | None, float]:
    """How large the weights of columns that only rounding tells apart may be, and what that costs."""
    if not len(dual.open_):
        return None, 0.0
    box, size, share = np.full(len(w), np.inf), np.abs(w[dual.open_]), budget / len(dual.open_)
    box[dual.open_] = np.maximum(np.nan_to_num(share / dual.pull), FIRST * size)  # a number, not infinite
    return box, total(np.maximum(share, FIRST * size * dual.pull) + size * dual.pull)


def check_many(
    problem: Statement, gauge: Separable, strengths: Vector, weights: Matrix, thetas: Matrix
) -> tuple[Vector, Vector]:
    """The objectives from above and the bounds, a row of weights and of θ per strength, of a path.

    The same check as for one, in products of matrices, for penalties that are sums over the columns, the
    intercept alone free: what paths and folds ask for most.
    """
    a, (loss, y, shifts) = problem.a, problem.centred
    coefs, levels = (weights[:, :-1], weights[:, -1:]) if problem.intercept else (weights, np.zeros((1, 1)))
    base, beyond = moved(np.broadcast_to(levels, (len(weights), len(a))), shifts)
    value, error = problem.rows.times_many(coefs)
    t = np.ascontiguousarray(value + base)  # so that sums over the rows are made in pairs
    far = np.abs(value).max(axis=1, initial=0.0) + beyond
    error = (error + 4.0 * U * far)[:, None]
    low, high = slopes(loss, y, t, error)
    risk = _sums(a * loss.value(y, t)) if a.min() >= FAINT else np.inf
    spread = _sums(a * (error * np.maximum(-low, high)))
    sizes = np.abs(weights) @ gauge.l1 + (weights * weights) @ gauge.l2
    priced, doubt = strengths * sizes, strengths * gauge.doubt(weights[0], sizes)
    lost = FEW * (risk + spread + priced) + doubt + 8.0 * LEAST * (len(a) + weights.shape[1])
    primal = risk + spread + priced + lost
    thetas = np.clip(thetas, *problem.dual_bounds_inside())
    thetas = np.ascontiguousarray(zero_sums(thetas) if problem.intercept else thetas)
    v, reach = problem.rows.against_many(thetas)
    if problem.intercept:
        v, reach = (np.pad(part, ((0, 0), (0, 1))) for part in (v, reach))
    u = -(thetas / a) * AWAY
    apart = np.maximum(u - low, high - u) + FAINT
    bracket, excess = gauge.fenchel_young(weights, v, reach, strengths[:, None])
    bracket = np.where(strengths * gauge.least < FAINT, np.inf, bracket)
    along = np.abs(weights * v).sum(axis=1)
    gap = _sums(a * loss.fenchel_young(y, t, u)) + bracket * (1.0 + gamma(weights.shape[1]))
    gap += 2.0 * (spread + lost) + _sums(a * (error * apart))
    gap += SLACK * (primal + bracket + along) + excess * primal
    primal = np.where(primal == primal, primal, np.inf)
    return primal, np.where(gap < primal, primal - gap, 0.0)


def _sums(values: Matrix) -> Vector:
    return np.asarray(values.sum(axis=1) * (1.0 + FEW))
