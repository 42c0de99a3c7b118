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

from dualgap.arrays import Vector
from dualgap.device.kernels import worked
from dualgap.device.spaces import space

STEPS = 40  # at most; 7 to 25 are taken where the answer is near the band
AWAY = 30.0  # times the gap wanted: until there half the digits will do, and even 8 bits cost no step
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
    rough: Any = None  # the sum of h times the square of each row of A, to a few digits

    def times(self, w: Any) -> Any:
        """The prediction of each row."""
        found = self.A @ w
        return space(w).concatenate([found, w[self.priced]]) if len(self.priced) else found

    def against(self, d: Any) -> Any:
        """The sum of d times each row."""
        m = self.A.shape[0]
        found = self.A.T @ d[:m]
        if len(self.priced):
            found[self.priced] += d[m:]
        return found

    def gram(self, h: Any, *, far: bool = False) -> Any:
        """The sum of h times the square of each row, and the ridge; roughly where the answer is far."""
        m = self.A.shape[0]
        if far and self.rough is not None:
            found = self.rough(self.A, h[:m])
        else:
            found = (self.A * h[:m, None]).T @ self.A
        diagonal = found.diagonal()
        diagonal += self.ridge
        if len(self.priced):
            diagonal[self.priced] += h[m:]
        return found


def interior(
    band: Band, w: Any, mu: float, stop: float, factored: Any, within: float = np.inf
) -> tuple[Any, Any, int]:
    """Weights, slopes of the rows, steps: until what is left of the gap is at most `stop`, sums not means.

    `within`: the share of its price by which the pull of the slopes at a column may be above it.
    """
    xp, t, lo, up = space(w), band.t, band.lo, band.up
    strong = bool((band.ridge > 0.0).any())
    tight = len(band.priced) > 0 and not strong
    z = band.times(w)
    above, below = _room(xp, z - t, 0.5 * (up - lo), mu)
    P, Q = mu / above, mu / below
    count, steps = 2 * len(z), 0
    while steps < STEPS:
        steps += 1
        first = worked(_begun, [z, t, lo, up, P, Q, above, below])
        d, h, res, tilted = first.kept
        total = float(first.sums[0])
        pull = band.against(d) + band.c + band.ridge * w
        solve = factored(band.gram(h, far=total > AWAY * stop))
        dz = band.times(solve(band.against(tilted) - pull))
        state = [P, Q, above, below, h, res]
        ahead = worked(_foretold, [*state, dz])
        x, y = _lengths(ahead.tops, 1.0, tied=strong)
        after = float(ahead.sums @ np.array([1.0, x, y, x * y]))
        goal = min(max((after / total) ** 3, 1e-5), 0.8) * total / count if total > 0.0 else 0.0
        dP, dQ, dd = ahead.kept
        state += [dP, dQ, dd]
        one, other, shift, tilted = worked(_aimed, state, (goal, x * y)).kept
        dw = solve(band.against(tilted) - pull)
        dz = band.times(dw)
        found = worked(_turned, [P, Q, above, below, h, one, other, shift, dz])
        dP, dQ, dd = found.kept
        x, y = _lengths(found.tops, SHORT, tied=strong)
        w = w + x * dw
        last = worked(_gone, [z, P, Q, above, below, dz, dP, dQ, dd], (x, y))
        z, P, Q, above, below = last.kept
        miss = (1.0 - min(x, y)) * pull
        owed = (abs(miss) * abs(w)).sum()
        if strong:
            owed = xp.minimum(owed, (miss * miss / (2.0 * xp.maximum(band.ridge, 1e-300))).sum())
        beyond = (abs(miss[band.priced]) / up[len(up) - len(band.priced) :]).max() if tight else owed * 0.0
        owed, most = xp.stack([owed, beyond]).tolist()
        left = float(last.sums[0])
        if not left < np.inf:  # rounding has the last word
            break
        if left <= stop and owed <= stop and most <= within:
            break
    d = xp.where(above < below, up - above, lo + below)
    return w, d, steps


def _begun(*given: Any) -> Any:
    """Slopes, stiffness, what w is off by, and the right side that wants no products at all."""
    z, t, lo, up, P, Q, above, below = given
    res = z - t - P + Q
    h = 1.0 / (P / above + Q / below)
    d = space(z).where(above < below, up - above, lo + below)
    return [d, h, res, h * (Q - P - res)], [P * above + Q * below], []


def _foretold(P: Any, Q: Any, above: Any, below: Any, h: Any, res: Any, dz: Any) -> Any:
    """That direction, its products as 1, x, y and xy have them, and how far it can be gone."""
    dd = h * (dz - (Q - P - res))
    dP, dQ = (P * dd - P * above) / above, (-Q * below - Q * dd) / below
    sums = [P * above + Q * below, dP * above + dQ * below, Q * dd - P * dd, dQ * dd - dP * dd]
    return [dP, dQ, dd], sums, _worst(P, Q, above, below, dP, dQ, dd)


def _aimed(*given: Any) -> Any:
    """Products that are wanted, and the right side for them."""
    P, Q, above, below, h, res, dP, dQ, dd, goal, xy = given
    one, other = goal - P * above + dP * dd * xy, goal - Q * below - dQ * dd * xy
    shift = one / above - other / below - res
    return [one, other, shift, h * shift], [], []


def _turned(*given: Any) -> Any:
    """The direction towards them, and how far it can be gone."""
    P, Q, above, below, h, one, other, shift, dz = given
    dd = h * (dz - shift)
    dP, dQ = (one + P * dd) / above, (other - Q * dd) / below
    return [dP, dQ, dd], [], _worst(P, Q, above, below, dP, dQ, dd)


def _gone(*given: Any) -> Any:
    """The point there, and what is left of its gap."""
    z, P, Q, above, below, dz, dP, dQ, dd, x, y = given
    z, P, Q, above, below = z + x * dz, P + x * dP, Q + x * dQ, above - y * dd, below + y * dd
    return [z, P, Q, above, below], [P * above + Q * below], []


def _worst(P: Any, Q: Any, above: Any, below: Any, dP: Any, dQ: Any, dd: Any) -> list[Any]:
    """The largest share of a positive number that is lost at full length, primal and dual."""
    xp = space(P)
    primal, dual = xp.maximum(-dP / P, -dQ / Q), xp.maximum(dd / above, -dd / below)
    return [xp.maximum(primal, 0.0), xp.maximum(dual, 0.0)]


def _room(xp: Any, r: Any, half: Any, mu: float) -> tuple[Any, Any]:
    """How far the central point of each box is from its upper and its lower bound."""
    rho = r * half
    size = xp.sqrt(mu * mu + rho * rho)
    large = size + abs(rho)
    small = mu * mu / large
    above, below = xp.where(rho > 0.0, small, large), xp.where(rho > 0.0, large, small)
    return half * (mu + above) / (mu + size), half * (mu + below) / (mu + size)


def _lengths(lost: Vector, share: float, *, tied: bool) -> tuple[float, float]:
    """The longest steps, at most one, that keep all positive; the same for both where there is a ridge."""
    found = [1.0 if not worst > share else share / worst for worst in lost.tolist()]
    return (min(found), min(found)) if tied else (found[0], found[1])
