"""A piecewise quadratic loss in the dual: ½βᵀKβ + ½Σ ridge β² − Σ kink β in a box, a variable per term."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from dualgap.arrays import Index, Mask, Vector
from dualgap.kernel_machines.problem import KernelProblem


@dataclass(frozen=True, eq=False)
class Box:
    """Variables v = (term, row), row changing fastest; a row's β is the sum over its terms."""

    kink: Vector
    low: Vector
    high: Vector
    ridge: Vector
    row: Index
    n: int
    unit: float  # the size of kinks: violations are judged by it

    @property
    def terms(self) -> int:
        """Variables per row."""
        return len(self.row) // self.n

    def split(self, beta: Vector) -> Vector:
        """β of every row as the sum of its terms, none against another."""
        parts, left = np.zeros_like(self.kink), beta.copy()
        for k in range(self.terms):
            here = slice(k * self.n, (k + 1) * self.n)
            parts[here] = np.clip(left, self.low[here], self.high[here])
            left = left - parts[here]
        return parts

    def snapped(self, parts: Vector, near: float) -> Vector:
        """Variables within this share of the width (or of the largest) of a bound put on it."""
        width = self._width(parts)
        low, high = parts - self.low <= near * width, self.high - parts <= near * width
        return np.where(low, self.low, np.where(high, self.high, parts))

    def _width(self, parts: Vector) -> Vector:
        """Of the box, or the largest variable where it has no end."""
        width = self.high - self.low
        return np.where(np.isfinite(width), width, float(np.abs(parts).max(initial=0.0)))

    def outside(self, parts: Vector, free: Mask, slack: float) -> tuple[Mask, Mask]:
        """Free variables below and above the box by more than this share of its width."""
        slacks = slack * self._width(parts)
        return free & (parts < self.low - slacks), free & (parts > self.high + slacks)

    def eager(self, parts: Vector, free: Mask, pull: Vector, edge: float) -> Mask:
        """Held variables that are pulled away from their bound by more than `edge`."""
        up, down = (parts <= self.low) & (pull > edge), (parts >= self.high) & (pull < -edge)
        return np.asarray(~free & (up | down) & (self.low < self.high))

    def joined(self, parts: Vector) -> Vector:
        """β of every row."""
        return np.asarray(parts.reshape(self.terms, self.n).sum(axis=0))

    def slope(self, parts: Vector, f: Vector) -> Vector:
        """What an increase of each variable gains."""
        return self.kink - np.tile(f, self.terms) - self.ridge * parts


def box_of(problem: KernelProblem) -> Box:
    """The dual of the problem, for a loss with terms."""
    terms, n = problem.loss.terms(problem.y), problem.n
    reach = (problem.a / (2.0 * problem.lam))[:, None]
    width = terms.kink.shape[1]
    with np.errstate(invalid="ignore"):
        low, high = (-reach * terms.upper), (-reach * terms.lower)
    kink = np.asarray(terms.kink).T.ravel()
    ridge = np.broadcast_to(terms.softness / reach, (n, width)).T.ravel()
    spread = float(np.std(kink))
    return Box(
        kink,
        low.T.ravel() + 0.0,
        high.T.ravel() + 0.0,
        np.ascontiguousarray(ridge),
        np.tile(np.arange(n), width),
        n,
        spread if spread > 0 else max(float(np.abs(kink).max()), 1.0),
    )
