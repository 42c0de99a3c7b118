"""The clock of time limits: it stands still while loops are compiled. Importing it costs nothing."""

from __future__ import annotations

import threading
import time


class Clock:
    """Seconds of time.perf_counter() less those that the compiler has taken in this process."""

    def __init__(self) -> None:
        self.taken, self._inside, self._since = 0.0, 0, 0.0
        self._lock = threading.Lock()

    def now(self) -> float:
        """A reading; while a loop is compiled, that of when it began."""
        return (self._since if self._inside else time.perf_counter()) - self.taken

    def stop(self) -> None:
        """A thread compiles, or waits for one that does."""
        with self._lock:
            if not self._inside:
                self._since = time.perf_counter()
            self._inside += 1

    def go_on(self) -> None:
        """It no longer does."""
        with self._lock:
            self._inside -= 1
            if not self._inside:
                self.taken += time.perf_counter() - self._since


CLOCK = Clock()
