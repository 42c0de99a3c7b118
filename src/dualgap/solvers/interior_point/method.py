"""The loop: predict, choose how much to centre, correct, step."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from dualgap.arrays import Vector
from dualgap.problem.problem import Problem
from dualgap.solvers.active_set import Finish
from dualgap.solvers.base import Iterate
from dualgap.solvers.interior_point.boxes import Move
from dualgap.solvers.interior_point.rows import rows
from dualgap.solvers.interior_point.system import system
from dualgap.solvers.interior_point.weights import Bend, Weights

ITERATIONS = 100
FIRST = 10.0  # the first gap, in null objectives: a start too close to the boundary costs more than a far one
LAST = 1e-16  # the last gap, in null objectives: below it there is only rounding
LATE = 1e-4  # relative gap from which refinement and exact finishes pay
BACK = 0.995  # share of the way to the boundary
STILL = 1e-6  # relative change of the prediction that is rounding once the last gap is reached
GON=[0,.1,.1,.01]
KEEP = 0.1
PATIENCE = 5  # iterations without a move


@dataclass(frozen=True, eq=False)
class Direction:
    """A step in everything."""

    slack: Vector
    price: Vector
    rows: Move
    weights: Move
    dw: Vector
    ds: float


class Method:
    """State of one run."""

    def __init__(self, problem: Problem, half: Weights, start: Iterate) -> None:
        self._problem, self._weights, self._rows = problem, half, rows(problem)
        self._cut = self._rows.count
        self._count = self._cut + half.count
        self._linked = self._rows.linked or half.linked
        mu = FIRST * problem.null / max(self._count, 1)
        self._w, slack, price = half.start(start.w, mu)
        self._z = problem.design.matvec(self._w)
        first = self._rows.start(self._z, mu)
        self._slack, self._price = np.append(first[0], slack), np.append(first[1], price)
        self._rows.bind(self._slack[: self._cut], self._price[: self._cut])
        half.bind(self._slack[self._cut :], self._price[self._cut :])
        self._system = system(problem.design, half.free)

    def run(self) -> Iterator[Iterate]:
        """The first iterate tries θ = 0, which is the answer where the data can be interpolated."""
        finish = Finish(self._problem)
        theta, late, idle = np.zeros_like(self._z), False, 0
        for _ in range(ITERATIONS):
            yield Iterate(self._w, theta, self._z)
            if late:
                yield from finish(self._w, theta)
            total = float(self._slack @ self._price)
            late = total <= LATE * self._scale()
            moved = self._step(total, late)
            theta = -self._rows.gradient
            still = STILL if 0.0 < total <= 4.0 * LAST * self._problem.null else 1e-14
            idle = idle + 1 if moved <= still else 0
            if idle > PATIENCE or not np.isfinite(moved):
                return

    def _scale(self) -> float:
        """The loss's share of the objective, floored as a relative gap floors the objective."""
        return 1.0 / self._problem.relative(1.0, self._problem.risk(self._z))

    def _step(self, total: float, late: bool) -> float:
        """One factorisation, a predictor, a corrector; by how much the prediction moved, relatively."""
        self._h = h = self._rows.linearise(self._z)
        r, diagonal, self._extension = self._weights.linearise(self._w)
        self._residual, self._late = self._problem.design.transpose_matvec(self._rows.gradient) + r, late
        self._system.factorise(self._extension.equations(self._problem.design, h, diagonal))
        direction = self._mehrotra(total) if self._count else self._direction(self._slack, None)
        primal, dual = self._lengths(direction, BACK)
        dz = self._problem.design.matvec(direction.dw)
        trusted = self._rows.longest(dz, primal)
        if trusted < primal:
            primal, dual = trusted, min(dual, trusted)
        self._advance(direction, primal, dual)
        size = float(np.abs(self._z).max())
        return max(primal, dual) * float(np.abs(dz).max()) / size if size > 0 else 1.0

    def _mehrotra(self, total: float) -> Direction:
        """Aim at nothing first; what comes of it tells how much to centre and what to correct."""
        product = self._slack * self._price
        first = self._direction(-product, None)
        reached = self._product(first)
        centring = min(max((self._after(first, 1.0) / total) ** 3, 1e-4), 0.8)
        goal = max(centring * total, LAST * self._problem.null, min(total, KEEP * self._promise(first)))
        aim = goal / self._count - product
        bend = Bend(np.sqrt(reached) * first.dw, float(np.sqrt(reached)) * first.ds)
        cross = first.slack * first.price
        corrected = self._direction(aim - cross, bend)
        if self._product(corrected) >= 0.5 * reached and self._after(corrected, BACK) <= total:
            return self._gondzio(corrected, aim - cross, bend, goal / self._count)
        # the correction is out of proportion to the step, or the method runs in circles
        cautious = self._direction(aim - reached * cross, bend)
        centred = self._direction(np.maximum(aim, 0.1 * total / self._count - product), None)
        return max(corrected, cautious, centred, key=self._product)

    def _gondzio(self, best, aim, bend, mu):
        for _ in range(GON[0]):
            primal, dual = self._lengths(best, 1.0)
            if min(primal,dual) > 0.9: break
            p, q = min(1.0, primal + GON[1]), min(1.0, dual + GON[1])
            trial = (self._slack + p * best.slack) * (self._price + q * best.price)
            fix = np.clip(trial, GON[2] * mu, mu/GON[2]) - trial
            fix = np.maximum(fix, -mu/GON[2])
            other = self._direction(aim + fix, bend)
            pp, qq = self._lengths(other, 1.0)
            if pp*qq <= primal*dual*(1+GON[3]): break
            best, aim = other, aim + fix
        return best

    def _promise(self, direction: Direction) -> float:
        """For a loss that is not piecewise quadratic, the decrease that its model promises.

        The gap must not close ahead of it: the systems become singular while the prediction is still far.
        """
        if not self._rows.local:
            return 0.0
        dz = self._problem.design.matvec(direction.dw)
        return float(dz @ (self._h * dz))

    def _after(self, direction: Direction, share: float) -> float:
        """What the products add up to once the step is made."""
        primal, dual = self._lengths(direction, share)
        return float((self._slack + primal * direction.slack) @ (self._price + dual * direction.price))

    def _direction(self, aim: Vector, bend: Bend | None) -> Direction:
        k = self._rows.offset(aim[: self._cut])
        constant, value = self._weights.constant(aim[self._cut :], bend)
        right = self._extension.right(k, -(self._residual + constant), value)
        delta, dw, ds = self._extension.split(*self._system.solve(*right, self._late))
        over = self._rows.move(delta)
        dw, under = self._weights.move(dw, ds)
        slack, price = np.append(over.slack, under.slack), np.append(over.price, under.price)
        return Direction(slack, price, over, under, dw, ds)

    def _product(self, direction: Direction) -> float:
        primal, dual = self._lengths(direction, 1.0)
        return primal * dual

    def _lengths(self, direction: Direction, share: float) -> tuple[float, float]:
        primal = _longest(self._slack, direction.slack, share)
        dual = _longest(self._price, direction.price, share)
        return (min(primal, dual), min(primal, dual)) if self._linked else (primal, dual)

    def _advance(self, direction: Direction, primal: float, dual: float) -> None:
        self._slack += primal * direction.slack
        self._price += dual * direction.price
        self._weights.advance(direction.weights.inner, primal, dual)
        self._w = self._w + primal * direction.dw
        self._z = self._problem.design.matvec(self._w)
        self._rows.advance(direction.rows.inner, dual, self._z)


def _longest(values: Vector, change: Vector, share: float) -> float:
    """The longest step up to 1 that goes at most `share` of the way to zero."""
    fastest = float((change / values).min(initial=0.0))
    return 1.0 if fastest >= -share else -share / fastest
