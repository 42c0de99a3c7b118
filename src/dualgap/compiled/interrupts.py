"""Ctrl-C while numba compiles.

Its callbacks from LLVM lose an exception, or turn it into a traceback of their own: so the first Ctrl-C waits
for the end of the compilation, and a second one does not.
"""

from __future__ import annotations

import signal
import threading
from types import FrameType
from typing import Any

from numba.core import event


class CompilerWatch(event.Listener):
    """Holds SIGINT back between the first lock of the compiler and its release, in the main thread."""

    def __init__(self) -> None:
        self.depth, self.pressed = 0, False
        self.before: Any = None

    def on_start(self, event: Any) -> None:
        """A lock within a lock counts."""
        if threading.current_thread() is not threading.main_thread():
            return
        self.depth += 1
        if self.depth == 1:
            self.before, self.pressed = signal.getsignal(signal.SIGINT), False
            if callable(self.before):
                signal.signal(signal.SIGINT, self._remember)

    def on_end(self, event: Any) -> None:
        """What was held back comes now."""
        if threading.current_thread() is not threading.main_thread() or not self.depth:
            return
        self.depth -= 1
        if self.depth == 0 and callable(self.before):
            signal.signal(signal.SIGINT, self.before)
            if self.pressed:
                signal.raise_signal(signal.SIGINT)

    def _remember(self, number: int, frame: FrameType | None) -> None:
        if self.pressed:
            self.before(number, frame)
        self.pressed = True


def watch_compiler() -> None:
    """Called once, when the first loop is imported."""
    events: Any = event  # numba is not typed
    events.register("numba:compiler_lock", CompilerWatch())
