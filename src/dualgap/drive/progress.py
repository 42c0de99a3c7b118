"""The line on a terminal that says how far a run is; silent where nobody can watch it."""

from __future__ import annotations

import math
import multiprocessing
import sys
import threading
import time
from collections.abc import Callable
from types import TracebackType
from typing import Any, ClassVar, Self, TextIO

QUIET = 1.0  # seconds before the first line: most runs are over by then
EVERY = 0.2  # seconds between two lines: an eye follows five a second
WIDTH = 24  # characters of a bar; with the words beside it a line stays below 80


class ProgressLine:
    """One line, written over and over on standard error, and erased at the end.

    The first that is open has the terminal: a fit inside a search, a search inside a path, a worker's thread
    or process stay silent.
    """

    _open: ClassVar[ProgressLine | None] = None

    def __init__(self, *, wanted: bool = True, stream: TextIO | None = None) -> None:
        self.began = self._next = time.perf_counter()
        self._next += QUIET
        self._drawn = False
        self._thread: threading.Thread | None = None
        self._stream: TextIO | None = None
        watched = sys.stderr if stream is None else stream
        if wanted and ProgressLine._open is None and _terminal(watched) and _outermost():
            self._stream = watched
            ProgressLine._open = self

    @property
    def seconds(self) -> float:
        """Since it was opened."""
        return time.perf_counter() - self.began

    def show(self, tell: Callable[[], str]) -> None:
        """Show what is told, if somebody watches and it is time to."""
        if self._stream is None or time.perf_counter() < self._next:
            return
        self._next = time.perf_counter() + EVERY
        self._drawn = True
        self._write(tell())

    def keep_showing(self, tell: Callable[[], str]) -> None:
        """Show it again and again from a thread, for a run that reports too seldom."""
        if self._stream is not None:
            self._over = threading.Event()
            self._thread = threading.Thread(target=self._watch, args=(tell,), daemon=True)
            self._thread.start()

    def close(self) -> None:
        """Leave the terminal as it was."""
        if self._thread is not None:
            self._over.set()
            self._thread.join()
        if self._drawn:
            self._write("")
        if ProgressLine._open is self:
            ProgressLine._open = None
        self._stream, self._drawn = None, False

    def _watch(self, tell: Callable[[], str]) -> None:
        while not self._over.wait(EVERY):
            self.show(tell)

    def _write(self, text: str) -> None:
        assert self._stream is not None
        self._stream.write(f"\r\x1b[2K{text}")
        self._stream.flush()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()


class GapProgress(ProgressLine):
    """For a fit, as a callback: the share done is that of the gap's way, on a logarithmic scale."""

    def __init__(self, tolerance: float, *, wanted: bool = True, stream: TextIO | None = None) -> None:
        super().__init__(wanted=wanted, stream=stream)
        self.tolerance = max(tolerance, 1e-16)  # a tolerance of 0 has no logarithm
        self.first: float | None = None

    def __call__(self, record: Any) -> None:
        """See one record of the trace."""
        relative = record.gap / max(abs(record.best), 1e-300)
        if self.first is None and math.isfinite(relative):
            self.first = max(relative, 10.0 * self.tolerance)
        self.show(lambda: self.told(relative, self.seconds))

    def told(self, relative: float, seconds: float) -> str:
        """The bar, the gap against its goal, the time left if the pace holds."""
        share = self._share(relative)
        # below 2 % the estimate would be more than fifty times what was seen
        left = f"about {clock(seconds / share - seconds)} left" if share > 0.02 else f"{clock(seconds)} gone"
        return f"{bar(share)} gap {relative:.1e}, to reach {self.tolerance:.0e}; {left}"

    def _share(self, relative: float) -> float:
        if self.first is None or not math.isfinite(relative) or relative <= 0.0:
            return 0.0
        way = math.log(self.first / self.tolerance)
        return min(max(math.log(self.first / relative) / way, 0.0), 1.0)


def aloud(callback: Callable[[Any], bool | None] | None) -> Callable[[Any], bool | None]:
    """The callback, and a line on standard error for the first record and whenever the time has doubled."""
    due = 0.0

    def tell(record: Any) -> bool | None:
        nonlocal due
        if record.seconds >= due:
            due = 2.0 * record.seconds
            told = f"objective {record.objective:.8g}, gap {record.gap:.1e}, {record.seconds:.3g} s"
            print(f"{record.solver}: iteration {record.iteration}, {told}", file=sys.stderr)
        return None if callback is None else callback(record)

    return tell


def bar(share: float) -> str:
    """A bar of which a share is full."""
    full = round(share * WIDTH)
    return "━" * full + "╌" * (WIDTH - full)


def clock(seconds: float) -> str:
    """Hours, minutes and seconds."""
    whole = round(seconds)
    if whole >= 3600:
        return f"{whole // 3600}:{whole % 3600 // 60:02d}:{whole % 60:02d}"
    return f"{whole // 60}:{whole % 60:02d}"


def _outermost() -> bool:
    """Is this the main thread of the main process?"""
    main = threading.current_thread() is threading.main_thread()
    return main and multiprocessing.parent_process() is None


def _terminal(stream: TextIO | None) -> bool:
    try:
        return stream is not None and stream.isatty()
    except (AttributeError, ValueError):  # no stream of ours, or a closed one
        return False
