"""½ wᵀGw − cᵀw + Σ price_j |w_j|, solved exactly: coordinate descent to find the support, Newton on it."""

from __future__ import annotations

from typing import Any, Protocol

import numpy as np

from dualgap.arrays import Index, Vector
from dualgap.linalg.support_factor import SupportFactor

SWEEPS = 30  # per round at most; they end when two in a row change no sign
NEWTONS = 2  # on one block of live columns
LEAST_DAMPING, MOST_DAMPING = 1e-4, 1.0  # shares of the diagonal: choices, ten times as much at each raise


class Curvature(Protocol):
    """G, as far as it is asked."""

    @property
    def factor(self) -> SupportFactor:
        """Of G on what is not zero."""

    def block(self, live: Index) -> Any:
        """G[live, live], a copy."""

    def subtract(self, live: Index, change: Vector, residual: Vector) -> None:
        """residual −= G[:, live] change."""


def minimise(
    gram: Curvature, w: Vector, residual: Vector, price: Vector, rounds: int, tolerance: float
) -> bool:
    """Improve w and residual = c − Gw in place until they are optimal to `tolerance`, relative to the price.

    Each round sweeps over the live columns (those that are not zero or should not be), then takes Newton
    steps on the support. Where these run into changes of sign, which they do where the support has nearly
    as many columns as there are rows, the diagonal is damped: a proximal step, undone as the signs settle.
    False where so many rounds have not been enough.
    """
    damping = 0.0
    for _ in range(rounds):
        live = np.flatnonzero((w != 0.0) | (np.abs(residual) > price))
        if not len(live):
            return True
        before = w[live]
        inner = _Block((gram, live), before.copy(), residual[live], price[live], damping)
        clean = inner.improve()
        damping = 0.0 if clean else inner.damping
        moved = np.flatnonzero(inner.w != before)
        w[live] = inner.w
        gram.subtract(live[moved], (inner.w - before)[moved], residual)
        if violation(w, residual, price) <= tolerance:
            return True
        if not len(moved):  # what is left is rounding
            return True
    return False


def violation(w: Vector, residual: Vector, price: Vector) -> float:
    """The largest distance of residual_j from the subdifferential of price_j |w_j|, relative to price_j."""
    off = np.where(w == 0.0, np.abs(residual) - price, np.abs(residual - price * np.sign(w)))
    return float(np.max(off / price, initial=0.0))


class _Block:
    """The problem on the live columns, its matrix gathered; damping is centred where it is raised."""

    def __init__(
        self, where: tuple[Curvature, Index], w: Vector, residual: Vector, price: Vector, damping: float
    ) -> None:
        from dualgap.solvers.lasso import gram_sweeps as loops

        self._loops = loops
        whole, self.live = where
        self.gram, self.factor = whole.block(self.live), whole.factor
        self.w, self.residual, self.price = w, residual, price
        self.damping = 0.0
        self._damp(damping)

    def improve(self) -> bool:
        """Sweeps, then Newton; True if the last Newton step kept every sign."""
        self._loops.descend(self.gram, self.w, self.residual, self.price, SWEEPS)
        for _ in range(NEWTONS):
            length = self._newton()
            if length is None:
                return True
            if length < 1.0:
                self._damp(min(max(10.0 * self.damping, LEAST_DAMPING), MOST_DAMPING))
            self._loops.descend(self.gram, self.w, self.residual, self.price, 2)
        return False

    def _damp(self, damping: float) -> None:
        self.gram[np.diag_indices_from(self.gram)] *= (1.0 + damping) / (1.0 + self.damping)
        self.damping = damping

    def _newton(self) -> float | None:
        """One Newton step on the support: the length that could be taken, None if all of it.

        Coordinates that would change sign are set to zero, if not at full length then at one where the
        objective falls.
        """
        support = np.flatnonzero(self.w)
        if not len(support):
            return None
        here, price = self.w[support], self.price[support]
        sign = np.sign(here)
        pull = self.residual[support]
        wanted = pull - price * sign
        step = self.factor.solve(self.live[support], wanted, self.damping)
        crossing = (here + step) * sign <= 0.0
        if not crossing.any():
            self._move(support, step)
            left = self.residual[support] - price * sign
            if np.abs(left).max() > 0.5 * np.abs(wanted).max():  # too many corrections, or rounding
                self.factor.forget()
            return None
        lengths = here[crossing] / -step[crossing]
        for length in (1.0, float(np.median(lengths)), float(lengths.min())):
            ahead = here + length * step
            ahead[ahead * sign <= 1e-15 * np.abs(here)] = 0.0
            change = ahead - here
            smooth = -float(change @ (0.5 * self._image(support, change) + pull))
            if smooth + float(price @ (np.abs(ahead) - np.abs(here))) < 0.0:
                self._move(support, change)
                return length
        return 0.0

    def _image(self, support: Index, change: Vector) -> Vector:
        """−G change on the support."""
        image = np.zeros_like(self.residual)
        self._loops.subtract_rows(self.gram, support, change, image)
        return image[support]

    def _move(self, support: Index, step: Vector) -> None:
        self.w[support] += step
        self._loops.subtract_rows(self.gram, support, step, self.residual)
