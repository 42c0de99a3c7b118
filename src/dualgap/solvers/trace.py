"""What a run leaves behind: one record per iterate, for tables, pictures and callbacks."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import asdict, dataclass
from typing import Any


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


class Trace(list[Record]):
    """A list of records that can be a data frame or a picture."""

    def frame(self) -> Any:
        """A pandas DataFrame with a row per record."""
        import pandas as pd

        return pd.DataFrame([{**asdict(record), "gap": record.gap} for record in self])
