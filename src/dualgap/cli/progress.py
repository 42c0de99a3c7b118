"""A line on a terminal that tells the gap and the time left; silent anywhere else."""

from __future__ import annotations

import math
import sys
import time
from types import TracebackType
from typing import Any, TextIO

WIDTH = 24
QUIET = 1.0  # seconds before the first line: most fits are over by then
PACE = 0.1


class Progress:
    """A callback for dg.fit. The share done is that of the gap's way, on a logarithmic scale."""

    def __init__(self, tolerance: float, stream: TextIO | None = None) -> None:
        self.stream = sys.stderr if stream is None else stream
        self.tolerance = max(tolerance, 1e-16)
        self.began = self.shown = time.perf_counter()
        self.first: float | None = None
        self.drawn = False

    def __call__(self, record: Any) -> None:
        """See one record of the trace."""
        now = time.perf_counter()
        relative = record.gap / max(abs(record.best), 1e-300)
        if self.first is None and math.isfinite(relative):
            self.first = max(relative, 10.0 * self.tolerance)
        if now - self.began < QUIET or now - self.shown < PACE or not self.stream.isatty():
            return
        self.shown = now
        self.drawn = True
        self.stream.write(f"\r\x1b[2K{self.line(relative, now - self.began)}")
        self.stream.flush()

    def line(self, relative: float, seconds: float) -> str:
        """What is shown: the bar, the gap against its goal, the time left if the pace holds."""
        share = self._share(relative)
        full = round(share * WIDTH)
        left = (
            f"about {seconds * (1.0 - share) / share:.0f} s left"
            if share > 0.02
            else f"{seconds:.0f} s so far"
        )
        bar = "━" * full + "╌" * (WIDTH - full)
        return f"{bar} gap {relative:.1e}, to reach {self.tolerance:.0e}; {left}"

    def _share(self, relative: float) -> float:
        if self.first is None or not math.isfinite(relative) or relative <= 0.0:
            return 0.0
        way = math.log(self.first / self.tolerance)
        return min(max(math.log(self.first / relative) / way, 0.0), 1.0)

    def __enter__(self) -> Progress:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self.drawn:
            self.stream.write("\r\x1b[2K")
            self.stream.flush()
