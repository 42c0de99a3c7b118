"""What a run leaves behind: one record per iterate, for tables, pictures and callbacks."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import asdict, dataclass
from typing import Any, Literal

import numpy as np

from dualgap.arrays import Vector
from dualgap.errors import needed


@dataclass(frozen=True)
class Record:
    """One line of a trace, in the units of the problem that was asked."""

    iteration: int
    seconds: float
    objective: float  # at this iterate
    best: float  # the lowest objective so far
    bound: float  # the highest proven bound so far; −∞ where none was computed
    solver: str
    step: float | None = None
    nonzero: int | None = None

    @property
    def gap(self) -> float:
        """best − bound: how far the best iterate can be from the optimum."""
        return self.best - self.bound


Callback = Callable[[Record], bool | None]
Against = Literal["iteration", "seconds"]


class Trace(list[Record]):
    """A list of records that can be a data frame or a picture."""

    def frame(self) -> Any:
        """A pandas DataFrame with a row per record."""
        pd = needed("pandas", "frames", "A frame")
        return pd.DataFrame([{**asdict(record), "gap": record.gap} for record in self])

    def column(self, name: str) -> Vector:
        """One quantity over all records: "objective", "best", "gap", "seconds", …"""
        return np.array([getattr(record, name) for record in self], dtype=np.float64)

    def plot(self, *, against: Against = "iteration", axes: Any = None) -> Any:
        """Objective, best objective and proven bound, linear; the gap, logarithmic. Returns the axes."""
        plt = needed("matplotlib.pyplot", "plot", "A picture")
        if axes is None:
            axes = plt.subplots(1, 2, figsize=(9, 3.5), layout="constrained")[1]
        x = self.column(against)
        left, right = axes
        left.plot(x, self.column("objective"), color="0.7", lw=1, label="objective")
        left.plot(x, self.column("best"), color="C0", label="best so far")
        left.plot(x, self.column("bound"), color="C1", label="proven bound")
        left.legend(frameon=False)
        gap = self.column("gap")
        right.semilogy(x, np.where(gap > 0, gap, np.nan), color="C2")
        right.set_ylabel("duality gap")
        for one in axes:
            one.set_xlabel(against)
            one.spines[["top", "right"]].set_visible(False)
        return axes
