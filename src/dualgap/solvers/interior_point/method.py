"""The loop: predict, choose how much to centre, correct, step."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from dualgap.arrays import Vector
from dualgap.drive.solver import Iterate
from dualgap.problem.problem import Problem
from dualgap.solvers.active_set import Finish
from dualgap.solvers.interior_point.boxes import Move
from dualgap.solvers.interior_point.extension import Unknown
from dualgap.solvers.interior_point.rows import LossRows
from dualgap.solvers.interior_point.system import Elimination
from dualgap.solvers.interior_point.weights import Bend, PenaltyHalf

ITERATIONS = 400  # 8 to 25 are usual; raw gene expression under weak linf and logistic loss took up to 232
FIRST = 10.0  # the first gap, in null objectives: a start close to the boundary costs more than a far one
FIRST_WIDE = 100.0  # the same where p > n: a fifth fewer steps on constrained piecewise linear losses
LAST = 1e-16  # the last gap, in null objectives: below it there is only rounding
NEAR = 300.0  # relative gaps more than this many times the one wanted are not worth a proof
LATE = 1e-4  # relative gap from which refinement and exact finishes pay
BACK = 0.995  # share of the way to the boundary
BAND = 0.1  # products are centred between this and its inverse, in units of their goal
SPREAD = 100  # a system of this order pays for one such centring, of twice this for two
KEEP = 0.1  # the gap stays above this share of what a local model promises
STILL = 1e-6  # relative change of the prediction that is only rounding once the last gap is reached
PATIENCE = 5  # iterations without a move


@dataclass(frozen=True, eq=False)
class InteriorStep:
    """A step in everything, and how long it may be before a slack or a price is zero."""

    slack: Vector
    price: Vector
    rows: Move
    weights: Move
    dw: Vector
    ds: Unknown
    primal: float
    dual: float

    def lengths(self, share: float) -> tuple[float, float]:
        """Step lengths up to 1 that go at most `share` of the way."""
        return min(1.0, share * self.primal), min(1.0, share * self.dual)

    @property
    def product(self) -> float:
        """How good a step it is, between 0 and 1."""
        primal, dual = self.lengths(1.0)
        return primal * dual


class Method:
    """State of one run."""

    def __init__(
        self, problem: Problem, rows: LossRows, half: PenaltyHalf, system: Elimination, start: Iterate
    ) -> None:
        self._problem, self._weights, self._rows, self._system = problem, half, rows, system
        self._cut = rows.count
        self._count = self._cut + half.count
        self._linked = rows.linked or half.linked
        first = FIRST if problem.p <= problem.n else FIRST_WIDE
        mu = first * problem.null / max(self._count, 1)
        self._w, slack, price = half.start(start.w, mu)
        self._z = problem.predict(self._w)
        pairs = rows.start(self._z, mu)
        self._slack, self._price = np.append(pairs[0], slack), np.append(pairs[1], price)
        rows.bind(self._slack[: self._cut], self._price[: self._cut])
        half.bind(self._slack[self._cut :], self._price[self._cut :])
        self._last = LAST * problem.null
        self._near = NEAR * start.wanted if start.wanted else np.inf

    def run(self) -> Iterator[Iterate]:
        """The first iterate tries θ = 0, which is the answer where the data can be interpolated."""
        finish = Finish(self._problem)
        theta, late, idle = np.zeros_like(self._z), False, 0
        for k in range(ITERATIONS):
            total, risk = float(self._slack @ self._price), self._problem.risk(self._z)
            if not np.isfinite(risk):  # an exponential loss overflows where a singular system led too far
                return
            gap = self._problem.relative(total, risk)
            yield Iterate(self._w, theta, self._z, certify=k == 0 or gap <= self._near)
            exact = finish(self._w, theta) if late and (self._system.exact or idle) else None
            if exact is not None:
                yield exact
            late = gap <= LATE
            moved = self._step(total, late)
            theta = -self._rows.gradient
            idle = idle + 1 if moved <= (STILL if 0.0 < total <= 4.0 * self._last else 1e-14) else 0
            if idle > PATIENCE or not np.isfinite(moved):
                return

    def _step(self, total: float, late: bool) -> float:
        """One factorisation, a predictor, a corrector; by how much the prediction moved, relatively."""
        self._h, self._late = self._rows.linearise(self._z), late
        design = self._rows.design
        r, diagonal, self._extension = self._weights.linearise(self._w)
        self._residual = design.transpose_matvec(self._rows.gradient) + r
        self._system.factorise(self._extension.equations(design, self._h, diagonal))
        direction = self._mehrotra(total) if self._count else self._direction(self._slack, None)
        primal, dual = direction.lengths(BACK)
        if self._rows.local:
            primal = dual = self._rows.longest(design.matvec(direction.dw), primal)
        if self._weights.local:
            primal = dual = self._weights.longest(self._w, direction.dw, direction.ds, min(primal, dual))
        before = self._z
        self._advance(direction, primal, dual)
        return float(np.abs(self._z - before).max()) / max(float(np.abs(self._z).max()), 1e-300)

    def _advance(self, direction: InteriorStep, primal: float, dual: float) -> None:
        self._slack += primal * direction.slack
        self._price += dual * direction.price
        self._w = self._w + primal * direction.dw
        self._z = self._problem.predict(self._w)
        self._weights.advance(direction.weights.inner, primal, dual)
        self._rows.advance(direction.rows.inner, dual, self._z)

    def _mehrotra(self, total: float) -> InteriorStep:
        """Aim at nothing first; what comes of it tells how much to centre and what to correct."""
        product = self._slack * self._price
        first = self._direction(-product, None)
        reached = first.product
        centring = min(max((self._after(first, 1.0) / total) ** 3, 1e-4), 0.8)
        goal = max(centring * total, self._last, min(total, KEEP * self._promise(first))) / self._count
        bend = Bend(np.sqrt(reached) * first.dw, np.sqrt(reached) * first.ds)
        cross = first.slack * first.price
        corrected = self._direction(goal - product - cross, bend)
        if corrected.product >= 0.5 * reached and self._after(corrected, BACK) <= total:
            return self._centred(corrected, goal - product - cross, bend, goal)
        # the correction is out of proportion to the step, or the method runs in circles
        cautious = self._direction(goal - product - reached * cross, bend)
        centred = self._direction(max(goal, 0.1 * total / self._count) - product, None)
        return max(corrected, cautious, centred, key=lambda direction: direction.product)

    def _centred(self, direction: InteriorStep, aim: Vector, bend: Bend, goal: float) -> InteriorStep:
        """Gondzio's correctors: push the products that block a longer step back into a band around `goal`."""
        for _ in range(min(2, min(self._problem.n, self._problem.p) // SPREAD)):
            primal, dual = direction.lengths(1.0)
            if min(primal, dual) > 0.9:
                break
            primal, dual = min(1.0, primal + 0.3), min(1.0, dual + 0.3)
            product = (self._slack + primal * direction.slack) * (self._price + dual * direction.price)
            aim = aim + np.maximum(np.clip(product, BAND * goal, goal / BAND) - product, -goal / BAND)
            other = self._direction(aim, bend)
            if other.product <= 1.01 * direction.product:
                break
            direction = other
        return direction

    def _promise(self, direction: InteriorStep) -> float:
        """For a local model, the decrease that it promises.

        A gap that closes ahead of it leaves singular systems while the prediction is still far off.
        """
        promised = self._weights.promise(direction.dw, direction.ds)
        if not self._rows.local:
            return promised
        dz = self._rows.design.matvec(direction.dw)
        return promised + float(dz @ (self._h * dz))

    def _direction(self, aim: Vector, bend: Bend | None) -> InteriorStep:
        """The step after which, to first order, the products have changed by `aim`."""
        k = self._rows.offset(aim[: self._cut])
        constant, value = self._weights.constant(aim[self._cut :], bend)
        right = self._extension.right(k, -(self._residual + constant), value)
        delta, dw, ds = self._extension.split(*self._system.solve(*right, self._late))
        over = self._rows.move(delta)
        dw, under = self._weights.move(dw, ds)
        slack, price = np.concatenate((over.slack, under.slack)), np.concatenate((over.price, under.price))
        primal, dual = longest_step(self._slack, slack), longest_step(self._price, price)
        if self._linked:
            primal = dual = min(primal, dual)
        return InteriorStep(slack, price, over, under, dw, ds, primal, dual)

    def _after(self, direction: InteriorStep, share: float) -> float:
        """What the products add up to once the step is made."""
        primal, dual = direction.lengths(share)
        return float((self._slack + primal * direction.slack) @ (self._price + dual * direction.price))


def longest_step(values: Vector, change: Vector) -> float:
    """The step at which the first of the values is zero."""
    fastest = float((change / values).min(initial=0.0))
    return -1.0 / fastest if fastest < 0.0 else np.inf
