"""A line on a terminal that says how far the folds are, and how long they will take."""

from __future__ import annotations

import sys
import threading
import time
from typing import TextIO

EVERY = 1.0  # seconds before anything is shown, and until it is shown anew
WIDTH = 24


class Progress:
    """Shown on a terminal only, once a second has passed; wiped out at the end.

    The time left is the mean time of a finished fold times the folds to come, shared by the workers; before
    a fold has finished nothing is known of it, and nothing is said.
    """

    def __init__(self, total: int, workers: int, *, wanted: bool, stream: TextIO | None = None) -> None:
        self.total, self.workers = total, workers
        self.done, self.spent = 0, 0.0
        self.began = self.last = time.perf_counter()
        self._stream = sys.stderr if stream is None else stream
        self._over = threading.Event()
        self._thread: threading.Thread | None = None
        if wanted and _terminal(self._stream):
            self._thread = threading.Thread(target=self._keep_showing, daemon=True)
            self._thread.start()

    def step(self, seconds: float) -> None:
        """A fold has finished, after so many seconds of its own."""
        self.done, self.spent, self.last = self.done + 1, self.spent + seconds, time.perf_counter()

    def close(self) -> None:
        """Leave the terminal as it was."""
        self._over.set()
        if self._thread is not None:
            self._thread.join()

    def line(self) -> str:
        """What is shown."""
        full = WIDTH * self.done // self.total
        bar = "#" * full + "." * (WIDTH - full)
        left = self.left()
        said = "" if left is None else f", about {clock(left)} left"
        return f"[{bar}] {self.done}/{self.total} folds, {clock(time.perf_counter() - self.began)} gone{said}"

    def left(self) -> float | None:
        """Seconds to go, None before a fold has finished."""
        if not self.done:
            return None
        ahead = self.total - self.done
        expected = self.spent / self.done * ahead / min(self.workers, max(ahead, 1))
        return max(expected - (time.perf_counter() - self.last), 0.0)

    def _keep_showing(self) -> None:
        shown = False
        while not self._over.wait(EVERY):
            self._stream.write("\r\x1b[K" + self.line())
            self._stream.flush()
            shown = True
        if shown:
            self._stream.write("\r\x1b[K")
            self._stream.flush()


def _terminal(stream: TextIO | None) -> bool:
    try:
        return stream is not None and stream.isatty()
    except (AttributeError, ValueError):  # no stream, or a closed one
        return False


def clock(seconds: float) -> str:
    """Minutes and seconds."""
    whole = round(seconds)
    if whole >= 3600:
        return f"{whole // 3600}:{whole % 3600 // 60:02d}:{whole % 60:02d}"
    return f"{whole // 60}:{whole % 60:02d}"
