"""The method for kinks with a ridge, on a small table as it was asked: little around its products."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import ClassVar

import numpy as np

from dualgap.arrays import Vector
from dualgap.drive.solver import Iterate
from dualgap.linalg.cholesky import Solve, cholesky
from dualgap.problem.problem import Problem
from dualgap.solvers.active_set import Finish
from dualgap.solvers.interior_point.method import longest_step
from dualgap.solvers.plain_models import Point
from dualgap.traits import Trait

LIMIT = 40  # steps: 7 to 17 are usual, and where these do not do, good coordinates may
FIRST = 3.0  # the first gap, in null objectives: ten took a step more, three tenths half as many again
BACK = 0.999  # share of the way to the boundary
LEAST, MOST = 1e-4, 0.8  # share of the gap that a step aims at
WEAK, CENTRED = 0.1, 0.3  # a shorter step is tried again without its correction, aiming at this share
STRONG = 100.0  # times the gap wanted: a price that leaves weights less to tell makes any weights look good
EXACT = 1e-6  # relative gap at which it is known which terms are at their kinks
LOOK = 3.0  # pairs that add up to so many times the gap wanted are worth a look at the gap itself


class PlainInterior:
    """Mehrotra's predictor and corrector; the table is centred, so that the intercept is eliminated.

    Where few digits do, the exact answer is only for losses that leave rows out: it says which.
    """

    name: ClassVar[str] = "interior_point"

    def iterates(self, problem: Problem, start: Iterate) -> Iterator[Iterate]:
        if not problem.null > 0.0:
            return
        run, finish, wanted = _Interior(problem), Finish(problem), start.wanted
        if run.most() <= STRONG * wanted * problem.null:
            return
        apart = wanted < EXACT or problem.loss_has(Trait.LEAVES_ROWS_OUT)
        seen = max(wanted, EXACT)
        for _ in range(LIMIT):
            run.advance()
            if not np.isfinite(run.total):
                return
            gap = run.gap() if run.total <= LOOK * seen * problem.null else np.inf
            w, theta, near = run.weights(), run.theta(), gap <= wanted
            exact = finish(w, theta) if apart and gap <= seen else None
            if exact is not None:
                yield replace(exact, outright=True)
            yield Iterate(w, theta, certify=near, look=near, outright=near)


@dataclass(frozen=True, eq=False)
class _Ahead:
    """A step, and how long it may be before a slack or a price is zero."""

    w: Vector
    level: float
    z: Vector
    d: Vector
    slack: Vector
    price: Vector
    primal: float
    dual: float

    def lengths(self, share: float) -> tuple[float, float]:
        """Up to 1, and at most a share of the way."""
        return min(1.0, share * self.primal), min(1.0, share * self.dual)


class _Interior:
    """z − kink = P − q on every term, lower < d < upper, and pairs P(upper − d) and q(d − lower) that shrink.

    `slack` is P above q, `price` the distances of d from its bounds, in the same order. With every step

        Δd = h(Δz − k),   (XᵀHX + Λ) Δw = XᵀHk − (Xᵀd + Λw),   Σd = 0 beside an intercept.
    """

    def __init__(self, problem: Problem) -> None:
        self.point = point = Point(problem)
        terms = problem.loss.terms(problem.y)
        self.terms = terms.kink.shape[1]
        kink, lower, upper = (np.ascontiguousarray(part.T) for part in (terms.kink, terms.lower, terms.upper))
        self.lower, self.upper = (lower * problem.a).ravel(), (upper * problem.a).ravel()
        self.reach = self.spread(point.z) - kink.ravel()
        half, mu = 0.5 * (self.upper - self.lower), FIRST * problem.null / (2 * len(self.reach))
        pull = self.reach * half  # d is where both products are mu
        self.d = 0.5 * (self.upper + self.lower) + half * (pull / (mu + np.hypot(mu, pull)))
        self.price = np.stack((self.upper - self.d, self.d - self.lower))
        self.slack = mu / self.price
        self.w, self.total = np.zeros(len(point.ridge)), mu * self.price.size
        self.seen = self.together(self.d) @ point.array

    def spread(self, values: Vector) -> Vector:
        """Of the rows, for every term."""
        return values if self.terms == 1 else np.tile(values, self.terms)

    def together(self, values: Vector) -> Vector:
        """Of the terms, for every row."""
        return values if self.terms == 1 else np.asarray(values.reshape(self.terms, -1).sum(axis=0))

    # -- one step ------------------------------------------------------------------------------------

    def advance(self) -> None:
        """Aim at nothing; what comes of it tells how much to centre and what to correct."""
        self._factorise()
        product = self.slack * self.price
        first = self._step(-product)
        primal, dual = first.lengths(1.0)
        left = _product(self.slack + primal * first.slack, self.price + dual * first.price)
        share = min(max((left / self.total) ** 3, LEAST), MOST)
        goal = self.total / product.size
        chosen = self._step(share * goal - product - first.slack * first.price)
        if min(chosen.primal, chosen.dual) < WEAK:
            chosen = self._step(max(share, CENTRED) * goal - product)
        self._take(chosen)

    def _take(self, ahead: _Ahead) -> None:
        primal, dual = ahead.lengths(BACK)
        self.w = self.w + primal * ahead.w
        self.point.level += primal * ahead.level
        self.reach = self.reach + primal * ahead.z
        self.slack = self.slack + primal * ahead.slack
        self.d, self.price = self.d + dual * ahead.d, self.price + dual * ahead.price
        self.seen = self.together(self.d) @ self.point.array
        self.total = _product(self.slack, self.price)

    def _factorise(self) -> None:
        """The curvatures that the pairs make, and the system of the weights."""
        point, self.ratio = self.point, self.slack / self.price
        self.h = 1.0 / (self.ratio[0] + self.ratio[1])
        self.miss = self.slack[0] - self.slack[1] - self.reach
        curvature = self.together(self.h)
        scaled = point.array * np.sqrt(curvature)[:, None]
        gram = scaled.T @ scaled
        if point.centre is not None:
            self.edge, self.sum = curvature @ point.array, float(curvature.sum())
            gram -= np.outer(self.edge / self.sum, self.edge)
        gram.flat[:: len(gram) + 1] += point.ridge
        self.solve: Solve = cholesky(gram)
        self.slope = self.seen + point.ridge * self.w

    def _step(self, aim: Vector) -> _Ahead:
        """After which, to first order, the products have changed by `aim`."""
        array, lift = self.point.array, aim / self.price
        bent = self.h * (lift[0] - lift[1] + self.miss)
        whole = self.together(bent)
        right, level = whole @ array - self.slope, 0.0
        if self.point.centre is None:
            w = self.solve(right)
            z = array @ w
        else:
            rest = float(whole.sum()) - float(self.d.sum())
            w = self.solve(right - self.edge * (rest / self.sum))
            level = (rest - float(self.edge @ w)) / self.sum
            z = array @ w + level
        z = self.spread(z)
        d = self.h * z - bent
        price = np.stack((-d, d))
        slack = lift - self.ratio * price
        return _Ahead(
            w, level, z, d, slack, price, longest_step(self.slack, slack), longest_step(self.price, price)
        )

    # -- what it has come to -------------------------------------------------------------------------

    def most(self) -> float:
        """What weights can take off the objective at most."""
        point, slope = self.point, self.together(np.maximum(self.upper, -self.lower))
        pull = slope @ np.abs(point.array)
        return 0.5 * float(pull @ (pull / point.ridge))

    def gap(self) -> float:
        """The relative gap, what d is out of balance among it."""
        point, reach = self.point, self.reach
        risk = float(np.maximum(self.lower * reach, self.upper * reach).sum())
        rest = self.seen + point.ridge * self.w
        gap = risk - float(self.d @ reach) + 0.5 * float(rest @ (rest / point.ridge))
        if point.centre is not None:
            gap += abs(float(self.d.sum())) * float(np.abs(reach).max())
        return point.problem.relative(gap, risk + 0.5 * float(point.ridge @ (self.w * self.w)))

    def weights(self) -> Vector:
        """As they were asked for."""
        return self.point.asked(self.w)

    def theta(self) -> Vector:
        """The dual point."""
        return -self.together(self.d)


def _product(slack: Vector, price: Vector) -> float:
    return float(np.vdot(slack, price))
