"""Block decomposition: the worst variables at a time, solved among themselves on cached rows.

Half of each working set is kept, the other half are the worst from above and from below; second-order pair
steps inside (pairs.py), then one product with the rows of the set.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

import numpy as np

from dualgap.arrays import Index, Matrix, Vector
from dualgap.kernel_machines.box import Box
from dualgap.kernel_machines.pairs import pair_steps, single_steps
from dualgap.kernels.gram import RowCache
from dualgap.kernels.row_sums import add_rows, square_of

INSIDE = 0.1  # share of the outer violation to which a block is solved
FEW, MANY = 100, 5000  # blocks in one run: few where there is something to fall back on
FALLBACK = 3000  # rows up to which the active set takes over what the blocks leave
STEPS = 10  # inner steps for each variable of the block, at most


@dataclass(eq=False)
class Blocks:
    """State of the method: the variables and f = Kβ in the precision of the cache."""

    box: Box
    cache: RowCache
    tied: bool  # Σβ is kept
    parts: Vector
    f: Vector
    violation: float = np.inf
    _set: Index = field(default_factory=lambda: np.empty(0, np.intp))

    @property
    def size(self) -> int:
        """Variables in a working set."""
        wanted = 256 if self.box.n < 10_000 else 512
        return max(2, min(wanted, len(self.box.kink), self.cache.capacity))

    @property
    def most(self) -> int:
        """Blocks in one run."""
        return FEW if self.box.n <= FALLBACK else MANY

    def run(self, until: float) -> Iterator[None]:
        """Work until the violation is below `until`; a pause after each block."""
        for _ in range(self.most):
            if self._choose() < until or not self._solve(until):
                return
            yield

    def _choose(self) -> float:
        """The next working set, and the violation now."""
        box, slope = self.box, self._slope()
        gain = np.where(self.parts < box.high, slope, -np.inf)
        loss = np.where(self.parts > box.low, slope, np.inf)
        top, bottom = float(gain.max()), float(loss.min())
        self.violation = top - bottom if self.tied else max(top, -bottom)
        kept = self._set[-(self.size // 2) :]
        gain[kept], loss[kept] = -np.inf, np.inf
        half = max(1, (self.size - len(kept)) // 2)
        up = _largest(gain, half)
        up = up[gain[up] > (bottom if self.tied else 0.0)]
        loss[up] = np.inf
        down = _largest(-loss, half)
        down = down[loss[down] < (top if self.tied else 0.0)]
        self._set = np.concatenate([kept, up, down])
        return self.violation

    def _slope(self) -> Vector:
        """What an increase of each variable gains, beside another's decrease."""
        return self.box.slope(self.parts, self.f)

    def _solve(self, until: float) -> bool:
        """Solve the block and carry the change over; False if nothing moved."""
        box, chosen = self.box, self._set
        rows, where = np.unique(box.row[chosen], return_inverse=True)
        places = self.cache.take(rows)
        Q = square_of(self.cache.store, places[where], rows[where])
        before = self.parts[chosen]
        after = before.copy()
        slope = self._slope()[chosen]
        self._steps(Q, after, slope, max(0.5 * until, INSIDE * self.violation), STEPS * len(chosen))
        change = np.asarray(np.bincount(where, after - before, len(rows)), dtype=np.float64)
        moved = np.flatnonzero(change)
        self.parts[chosen] = after
        if not np.any(after != before):
            return False
        add_rows(self.cache.store, places[moved], change[moved], self.f)
        return True

    def _steps(self, Q: Matrix, beta: Vector, slope: Vector, until: float, most: int) -> None:
        """On the block alone."""
        box, chosen = self.box, self._set
        solve = pair_steps if self.tied else single_steps
        solve(Q, (box.low[chosen], box.high[chosen], box.ridge[chosen]), beta, slope, until, most)


def _largest(values: Vector, count: int) -> Index:
    if count >= len(values):
        return np.arange(len(values))
    return np.argpartition(-values, count)[:count]
