"""½ wᵀGw − cᵀw + Σ price_j |w_j|, solved exactly: coordinate descent to find the support, Newton on it."""

from __future__ import annotations

import numpy as np

from dualgap.arrays import Index, Matrix, Vector
from dualgap.solvers.normal_equations import cholesky
from dualgap.solvers.working_gram import WorkingGram

SWEEPS = 30  # per round: enough to find most of the support; fewer make more Newton steps, which cost more
NEWTONS = 3  # on one block of live columns


def minimise(
    gram: WorkingGram, w: Vector, residual: Vector, price: Vector, rounds: int, tolerance: float
) -> bool:
    """Improve w and residual = c − Gw in place until they are optimal to `tolerance`, relative to the price.

    Each round sweeps over the live columns (those that are not zero or should not be), then takes Newton
    steps on the support; columns that would change sign are set to zero where that lowers the objective.
    """
    for _ in range(rounds):
        live = np.flatnonzero((w != 0.0) | (np.abs(residual) > price))
        if not len(live):
            return True
        before = w[live]
        inner = _Block(gram.block(live), before.copy(), residual[live], price[live])
        inner.improve()
        moved = np.flatnonzero(inner.w != before)
        w[live] = inner.w
        gram.subtract(live[moved], (inner.w - before)[moved], residual)
        if violation(w, residual, price) <= tolerance:
            return True
        if not len(moved):
            return False
    return False


def violation(w: Vector, residual: Vector, price: Vector) -> float:
    """The largest distance of residual_j from the subdifferential of price_j |w_j|, relative to price_j."""
    off = np.where(w == 0.0, np.abs(residual) - price, np.abs(residual - price * np.sign(w)))
    return float(np.max(off / price, initial=0.0))


class _Block:
    """The problem on the live columns, its matrix gathered."""

    def __init__(self, gram: Matrix, w: Vector, residual: Vector, price: Vector) -> None:
        self.gram, self.w, self.residual, self.price = gram, w, residual, price

    def improve(self) -> None:
        self._sweep(SWEEPS)
        for _ in range(NEWTONS):
            if self._newton():
                return
            self._sweep(2)

    def _sweep(self, sweeps: int) -> None:
        from dualgap.compiled.gram import descend

        descend(self.gram, self.w, self.residual, self.price, sweeps)

    def _newton(self) -> bool:
        """One Newton step on the support; True if no coordinate wanted to change sign."""
        support = np.flatnonzero(self.w)
        if not len(support):
            return True
        sign = np.sign(self.w[support])
        solve = cholesky(self.gram[np.ix_(support, support)])
        step = solve(self.residual[support] - self.price[support] * sign)
        here = self.w[support]
        crossing = (here + step) * sign <= 0.0
        if not crossing.any():
            self._move(support, step)
            return True
        lengths = here[crossing] / -step[crossing]
        for length in (1.0, float(np.median(lengths)), float(lengths.min())):
            ahead = here + length * step
            ahead[ahead * sign <= 1e-15 * np.abs(here)] = 0.0
            if self._falls(support, ahead - here):
                self._move(support, ahead - here)
                break
        return False

    def _falls(self, support: Index, step: Vector) -> bool:
        """Does the objective fall along this step?"""
        bend = self.gram[np.ix_(support, support)] @ step
        smooth = float(step @ (0.5 * bend - self.residual[support]))
        here, price = self.w[support], self.price[support]
        return smooth + float(price @ (np.abs(here + step) - np.abs(here))) < 0.0

    def _move(self, support: Index, step: Vector) -> None:
        from dualgap.compiled.gram import subtract_rows

        self.w[support] += step
        subtract_rows(self.gram, support, step, self.residual)
