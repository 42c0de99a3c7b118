"""Cells that rounding hides from the arrangement: what they may cost, and what they do."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cmp_to_key
from typing import TYPE_CHECKING

import numpy as np

from dualgap.arrays import Index, Vector
from dualgap.discrete import integers as exact
from dualgap.discrete.planes.sides import Signs

if TYPE_CHECKING:
    from dualgap.discrete.planes.cells import Doubts

AT_ONCE = 4096  # bundles between two looks


@dataclass(frozen=True, eq=False)
class Bundle:
    """Directions that rounding cannot put in order, on the plane where some rows vanish."""

    hidden: float  # what its cells may cost at least, with what was spent on the way
    spent: float
    plane: Index
    members: Index
    changes: Vector
    guide: int
    before: float
    total: float
    whole: bool  # are all directions named?


class Doubted:
    """The bundles found so far."""

    def __init__(self, signs: Signs) -> None:
        self.signs = signs
        self.bundles: list[Bundle] = []
        self.lost = False
        self.doubts = _room(max(signs.dimension - 2, 0))

    @property
    def least(self) -> float:
        """What the cheapest of them may cost."""
        return min((b.hidden for b in self.bundles), default=np.inf)

    def empty(self) -> Doubts:
        """Room for a loop to note them."""
        self.doubts.tally[:] = 0
        return self.doubts

    def take(self) -> None:
        """What the loop has noted."""
        d = self.doubts
        for at in range(int(d.tally[0])):
            count = min(int(d.classes[at]), d.members.shape[1])
            self.bundles.append(
                Bundle(
                    float(d.hidden[at] + d.spent[at]),
                    float(d.spent[at]),
                    d.planes[at].copy(),
                    d.members[at, :count].copy(),
                    d.changes[at, :count].copy(),
                    int(d.guide[at]),
                    float(d.before[at]),
                    float(d.total[at]),
                    count == d.classes[at],
                )
            )
        self.lost = self.lost or bool(d.tally[1])

    def settled(self, upper: float) -> Iterator[float]:
        """Bounds on the least cost, the last of them exact; the most doubtful bundles come first."""
        least = upper
        for bundle in sorted(self.bundles, key=lambda b: b.hidden):
            if bundle.hidden >= least:
                break
            yield bundle.hidden
            least = min(least, bundle.spent + self._cost(bundle))
        yield least

    def _cost(self, bundle: Bundle) -> float:
        signs, guide = self.signs, max(bundle.guide, -1 - bundle.guide)
        assert signs.integers is not None  # without them nothing is in doubt
        if not bundle.whole or guide in bundle.members:
            return exact.sweep(exact.quotient(signs.integers, bundle.plane), signs.plus, signs.minus)
        which = np.concatenate([bundle.plane, [guide], bundle.members])
        rows = exact.quotient(signs.integers[which], np.arange(len(bundle.plane)))[len(bundle.plane) :]
        first = rows[1]
        across = rows[0, 0] * first[1] - rows[0, 1] * first[0]
        turn = 1 if (across > 0) == (bundle.guide >= 0) else -1
        sign = np.where(rows[1:] @ first > 0, 1, -1).astype(object)
        rows = rows[1:] * sign[:, None]

        def order(i: int, j: int) -> int:
            across = (rows[i, 0] * rows[j, 1] - rows[i, 1] * rows[j, 0]) * turn
            return int(across < 0) - int(across > 0)

        crossed = sorted(range(len(rows)), key=cmp_to_key(order))
        costs = bundle.before + np.cumsum(bundle.changes[crossed])[:-1]
        return float(min(costs.min(), bundle.total - costs.max()))


def _room(depth: int) -> Doubts:
    from dualgap.discrete.planes.cells import WIDTH, Doubts

    def whole(*shape: int) -> Index:
        return np.zeros((AT_ONCE, *shape), np.int64)

    def real(*shape: int) -> Vector:
        return np.zeros((AT_ONCE, *shape))

    return Doubts(
        whole(depth),
        whole(WIDTH),
        real(WIDTH),
        whole(),
        whole(),
        real(),
        real(),
        real(),
        real(),
        np.zeros(2, np.int64),
    )
