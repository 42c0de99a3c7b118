"""Rows near their kinks as a small problem on the device, solved by an interior point.

Each live pair of a row and a kink is sup over lo ≤ d ≤ up of d·(x·w − t); all other slopes are fixed and
make a linear term c·w. A price on |w_j| is one more such row, with x the j-th unit vector, t = 0 and bounds
∓ the price. Mehrotra's predictor and corrector; d comes out strictly within its bounds, and is a dual
point.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from dualgap.device.spaces import space

STEPS = 40  # at most; 7 to 25 are taken where the answer is near the band
SHORT = 0.995  # of the way to the boundary


@dataclass(frozen=True, eq=False)
class Band:
    """Live rows A (with a column of ones where there is an intercept), behind them the priced weights."""

    A: Any
    t: Any
    lo: Any
    up: Any
    priced: Any  # numbers of the weights with a price
    ridge: Any
    c: Any

    def times(self, w: Any) -> Any:
        """The prediction of each row."""
        return space(w).concatenate([self.A @ w, w[self.priced]])

    def against(self, d: Any) -> Any:
        """The sum of d times each row."""
        m = self.A.shape[0]
        found = self.A.T @ d[:m]
        found[self.priced] += d[m:]
        return found

    def gram(self, h: Any) -> Any:
        """The sum of h times the square of each row, and the ridge."""
        m = self.A.shape[0]
        found = (self.A * h[:m, None]).T @ self.A
        diagonal = found.diagonal()
        diagonal += self.ridge
        diagonal[self.priced] += h[m:]
        return found


def interior(
    band: Band, w: Any, mu: float, stop: float, factored: Any, within: float = np.inf
) -> tuple[Any, Any, int]:
    """Weights, slopes of the rows, steps: until what is left of the gap is at most `stop`, sums not means.

    `within`: the share of its price by which the pull of the slopes at a column may be above it.
    """
    xp, lo, up = space(w), band.lo, band.up
    strong = bool((band.ridge > 0.0).any())
    tight = len(band.priced) > 0 and not strong
    z = band.times(w)
    above, below = _room(xp, z - band.t, 0.5 * (up - lo), mu)
    P, Q = mu / above, mu / below
    count, steps = 2 * len(z), 0
    while steps < STEPS:
        steps += 1
        d = xp.where(above < below, up - above, lo + below)
        pull = band.against(d) + band.c + band.ridge * w
        res = z - band.t - P + Q
        h = 1.0 / (P / above + Q / below)
        solve = factored(band.gram(h))
        first, second = P * above, Q * below
        total = first.sum() + second.sum()

        def direction(one: Any, other: Any) -> tuple[Any, ...]:
            shift = one / above - other / below - res  # noqa: B023 - used in this turn alone
            dw = solve(band.against(h * shift) - pull)  # noqa: B023
            dz = band.times(dw)
            dd = h * (dz - shift)  # noqa: B023
            return dw, dz, (one + P * dd) / above, (other - Q * dd) / below, dd  # noqa: B023

        _, _, dP, dQ, dd = direction(-first, -second)
        x, y = _lengths(xp, ((P, dP), (Q, dQ)), ((above, -dd), (below, dd)), 1.0, strong)
        after = ((P + x * dP) * (above - y * dd)).sum() + ((Q + x * dQ) * (below + y * dd)).sum()
        goal = xp.clip((after / total) ** 3, 1e-5, 0.8) * total / count
        dw, dz, dP, dQ, dd = direction(goal - first + dP * dd * (x * y), goal - second - dQ * dd * (x * y))
        x, y = _lengths(xp, ((P, dP), (Q, dQ)), ((above, -dd), (below, dd)), SHORT, strong)
        w, z = w + x * dw, z + x * dz
        P, Q, above, below = P + x * dP, Q + x * dQ, above - y * dd, below + y * dd
        miss = (1.0 - xp.minimum(x, y)) * pull
        owed = (abs(miss) * abs(w)).sum()
        if strong:
            owed = xp.minimum(owed, (miss * miss / (2.0 * xp.maximum(band.ridge, 1e-300))).sum())
        beyond = (abs(miss[band.priced]) / up[len(up) - len(band.priced) :]).max() if tight else owed * 0.0
        left, owed, most = xp.stack([(P * above).sum() + (Q * below).sum(), owed, beyond]).tolist()
        if not left < np.inf:  # rounding has the last word
            break
        if left <= stop and owed <= stop and most <= within:
            break
    d = xp.where(above < below, up - above, lo + below)
    return w, d, steps


def _room(xp: Any, r: Any, half: Any, mu: float) -> tuple[Any, Any]:
    """How far the central point of each box is from its upper and its lower bound."""
    rho = r * half
    size = xp.sqrt(mu * mu + rho * rho)
    large = size + abs(rho)
    small = mu * mu / large
    above, below = xp.where(rho > 0.0, small, large), xp.where(rho > 0.0, large, small)
    return half * (mu + above) / (mu + size), half * (mu + below) / (mu + size)


def _lengths(xp: Any, primal: Any, dual: Any, share: float, tied: bool) -> tuple[Any, Any]:
    """The longest steps, at most one, that keep all positive; the same for both where there is a ridge."""
    found = []
    for pairs in (primal, dual):
        worst = xp.minimum(*((move / x).min() for x, move in pairs))
        found.append(
            xp.clip(xp.where(worst < 0.0, -share / xp.minimum(worst, -1e-300), worst * 0.0 + 1.0), 0.0, 1.0)
        )
    if tied:
        least = xp.minimum(*found)
        return least, least
    return found[0], found[1]
