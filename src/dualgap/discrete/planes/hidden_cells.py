"""Cells that rounding hides from the arrangement: the planes they are on are swept again, in integers."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import numpy as np

from dualgap.arrays import Index
from dualgap.discrete import integers as exact
from dualgap.discrete.planes.sides import Signs

if TYPE_CHECKING:
    from dualgap.discrete.planes.cells import DoubtfulPlanes

AT_ONCE = 4096  # planes noted between two looks: beyond that the search is by subsets of rows


class HiddenCells:
    """The planes found so far: what their cells may cost at least, what was spent, the rows that vanish."""

    def __init__(self, signs: Signs) -> None:
        from dualgap.discrete.planes.cells import DoubtfulPlanes

        self.signs, self.lost = signs, False
        self.planes: list[tuple[float, float, Index]] = []
        entered = np.zeros((AT_ONCE, max(signs.dimension - 2, 0)), np.int64)
        self.room = DoubtfulPlanes(entered, np.zeros(AT_ONCE), np.zeros(AT_ONCE), np.zeros(2, np.int64))

    @property
    def least(self) -> float:
        """What the cheapest cell may cost."""
        return min((plane[0] for plane in self.planes), default=np.inf)

    def empty(self) -> DoubtfulPlanes:
        """Room for a loop to note them."""
        self.room.tally[:] = 0
        return self.room

    def take(self) -> None:
        """What the loop has noted."""
        room = self.room
        for at in range(int(room.tally[0])):
            self.planes.append((float(room.hidden[at]), float(room.spent[at]), room.vanishing[at].copy()))
        self.lost = self.lost or bool(room.tally[1])

    def settled(self, upper: float) -> Iterator[float]:
        """Bounds on the least cost, the last of them exact; the most doubtful planes come first."""
        signs, least = self.signs, upper
        for hidden, spent, rows in sorted(self.planes, key=lambda plane: plane[0]):
            if hidden >= least:
                break
            yield hidden
            assert signs.integers is not None  # without them nothing is in doubt
            plane = exact.quotient(signs.integers, rows)
            least = min(least, spent + exact.sweep(plane, signs.plus, signs.minus))
        yield least
