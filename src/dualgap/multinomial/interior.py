"""Interior point for the multinomial problem, on the full Hessian."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from scipy.linalg import cho_factor, cho_solve
from scipy.special import softmax

from dualgap.arrays import Matrix, Vector
from dualgap.drive.registry import solver
from dualgap.drive.solver import Iterate
from dualgap.multinomial.newton import DENSE_LIMIT, pin_shift
from dualgap.multinomial.pairs import Border, Pairs, has_pairs, pairs_of
from dualgap.multinomial.problem import MultinomialProblem, curvature

ITERATIONS = 100
KEEP = 0.995  # share of the way to the boundary that a step may go


@solver("multinomial_interior_point", kind="multinomial")
@dataclass(frozen=True)
class MultinomialInteriorPoint:
    """Few steps whatever the conditioning; penalties with kinks at zero or at their largest weight."""

    name: ClassVar[str] = "multinomial_interior_point"

    def missing(self, problem: MultinomialProblem) -> tuple[str, ...]:
        """Not the smooth penalties, not many coordinates."""
        reasons = []
        if not has_pairs(problem.regulariser):
            reasons.append("the penalty is neither l1, elastic_net nor linf")
        if problem.p > DENSE_LIMIT:
            reasons.append(f"{problem.p} coordinates are more than {DENSE_LIMIT}")
        return tuple(reasons)

    def cost(self, problem: MultinomialProblem) -> float:
        """Some 20 Hessians and factorisations."""
        return 20.0 * problem.p**2 * (problem.n + problem.p / 3)

    def iterates(self, problem: MultinomialProblem, start: Iterate) -> Iterator[Iterate]:
        """One iterate a factorisation."""
        count = 2 * int(np.count_nonzero(~problem.free)) + 1
        return _Run(problem, pairs_of(problem.regulariser, start.w, problem.null / count)).steps()


@dataclass(frozen=True, eq=False)
class _Direction:
    """A step of the weights and of the pairs."""

    dw: Vector
    slack: Vector
    price: Vector


class _Run:
    """Mehrotra's predictor and corrector; one step length for primal and dual, since the loss is curved."""

    def __init__(self, problem: MultinomialProblem, pairs: Pairs) -> None:
        self.problem, self.pairs = problem, pairs
        self.z = problem.predict(pairs.w)

    def steps(self) -> Iterator[Iterate]:
        problem = self.problem
        short = 0
        for _ in range(ITERATIONS):
            theta = problem.slope(self.z)
            v = problem.correlation(theta)
            hessian = curvature(problem.design, problem.a, softmax(self.z, axis=1))
            yield Iterate(self._polished(v, np.diag(hessian)), theta)
            r, diagonal, border = self.pairs.slope()
            self.residual = r - v
            step = self._advance(_Bordered(problem, hessian, diagonal, border))
            short = short + 1 if step < 1e-8 else 0
            if short > 3:
                return

    def _polished(self, v: Vector, stiffness: Vector) -> Vector:
        """A proximal step from w, scaled by the Hessian's diagonal: exact zeros, exact bounds."""
        root = np.sqrt(np.maximum(stiffness, 1e-12 * float(stiffness.max(initial=1e-300))))
        scaled = self.problem.regulariser.substituted(1.0 / root, 1.0)
        pulled = np.where(self.problem.free, 0.0, v / root)
        return np.asarray(scaled.prox(root * self.pairs.w + pulled, 1.0) / root)

    def _advance(self, system: _Bordered) -> float:
        direction = self._mehrotra(system)
        dz = self.problem.predict(direction.dw)
        decrease = float(direction.dw @ (system.full @ direction.dw))
        step = self._trusted(dz, self._length(direction, KEEP), decrease)
        self.pairs.advance(step * direction.dw, step * direction.slack, step * direction.price)
        self.z = self.z + step * dz
        return step

    def _mehrotra(self, system: _Bordered) -> _Direction:
        """Aim at nothing first; what comes of it tells how much to centre and what to correct."""
        slack, price = self.pairs.slack, self.pairs.price
        product = slack * price
        total = float(product.sum())
        first = self._direction(system, -product)
        reach = self._length(first, 1.0)
        after = float((slack + reach * first.slack) @ (price + reach * first.price))
        share = min(max((after / total) ** 3, 1e-4), 0.8)
        return self._direction(system, share * total / len(product) - product - first.slack * first.price)

    def _direction(self, system: _Bordered, aim: Vector) -> _Direction:
        constant, right = self.pairs.constant(aim)
        dw, dx = system.solve(-(self.residual + constant), right)
        return _Direction(dw, *self.pairs.directions(dw, dx))

    def _length(self, direction: _Direction, share: float) -> float:
        over = _longest(self.pairs.slack, direction.slack, share)
        return min(over, _longest(self.pairs.price, direction.price, share))

    def _trusted(self, dz: Matrix, step: float, decrease: float) -> float:
        """Shorten the step while the loss's slope along it says that its curvature was underrated."""
        problem = self.problem
        first = float((problem.slope(self.z) * dz).sum())
        for _ in range(30):
            gained = float((problem.slope(self.z + step * dz) * dz).sum()) - first
            if -gained <= step * decrease * 1.5 + 1e-300:
                break
            step *= 0.5
        return step


class _Bordered:
    """(H + D) Δw + column Δs = right, sign·columnᵀΔw + pivot Δs = last."""

    def __init__(
        self, problem: MultinomialProblem, hessian: Matrix, diagonal: Vector, border: Border | None
    ) -> None:
        self.border = border
        full = hessian.copy()
        full.flat[:: len(full) + 1] += diagonal
        self.full = full
        scale = np.sqrt(np.maximum(np.diag(full), 1e-300))
        pinned = full.copy()
        pin_shift(problem, pinned, scale)
        self._scale = scale
        self._factor = _cholesky(pinned / scale[:, None] / scale)
        if border is None:
            return
        self._moved = self._inner(border.column)
        if border.sign < 0:
            self._corner = border.corner + max(float(border.column @ self._moved), 0.0)
        else:
            seen = diagonal > 0
            share = border.column[seen] / diagonal[seen]
            self._corner = border.corner + max(float(share @ (hessian @ self._moved)[seen]), 0.0)

    def _inner(self, right: Vector) -> Vector:
        """With two refinements: near the end D spans many orders of magnitude."""
        found = np.zeros_like(right)
        for _ in range(3):
            miss = right - self.full @ found
            found = found + np.asarray(cho_solve(self._factor, miss / self._scale)) / self._scale
        return found

    def solve(self, right: Vector, last: float) -> tuple[Vector, float]:
        """Δw and Δs."""
        dw = self._inner(right)
        if self.border is None:
            return dw, 0.0
        ds = (last - self.border.sign * float(self.border.column @ dw)) / self._corner
        return dw - ds * self._moved, ds


def _cholesky(matrix: Matrix) -> tuple[Matrix, bool]:
    """Where rounding makes the matrix indefinite its (unit) diagonal is raised."""
    for raised in (0.0, 1e-15, 1e-14, 1e-13, 1e-12, 1e-10, 1e-8):
        matrix.flat[:: len(matrix) + 1] += raised
        try:
            factor, lower = cho_factor(matrix)
        except np.linalg.LinAlgError:
            continue
        return factor, bool(lower)
    raise np.linalg.LinAlgError("no Cholesky factor")


def _longest(values: Vector, change: Vector, share: float) -> float:
    """The largest step in [0, 1] that keeps the values positive."""
    if not len(values):
        return 1.0
    fastest = float((change / values).min())
    return 1.0 if fastest >= -share else -share / fastest
