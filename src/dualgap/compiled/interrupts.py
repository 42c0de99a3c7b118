"""While numba compiles: Ctrl-C waits, the clock of time limits stands still, and a person is told how long.

numba's callbacks from LLVM lose an exception, or turn it into a traceback of their own: so the first Ctrl-C
waits for the end of the compilation, and a second one does not.
"""

from __future__ import annotations

import contextlib
import multiprocessing
import signal
import sys
import threading
from collections.abc import Iterator
from types import FrameType
from typing import Any

from numba.core import event

from dualgap.compiled.clock import CLOCK

PACE = 2.5e-4  # seconds a byte of bytecode: 4.7 measured for a path's 19,242, 4.0 for best subset's 12,816
LONG = 2.0  # seconds above which a person is told


class CompilerWatch(event.Listener):
    """Holds SIGINT back between the first lock of the compiler and its release, in the main thread."""

    def __init__(self) -> None:
        self.depth, self.pressed = 0, False
        self.before: Any = None

    def on_start(self, event: Any) -> None:
        """A lock within a lock counts."""
        CLOCK.stop()
        if threading.current_thread() is not threading.main_thread():
            return
        self.depth += 1
        if self.depth == 1:
            self.before, self.pressed = signal.getsignal(signal.SIGINT), False
            if callable(self.before):
                signal.signal(signal.SIGINT, self._remember)

    def on_end(self, event: Any) -> None:
        """What was held back comes now."""
        CLOCK.go_on()
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


@contextlib.contextmanager
def uninterrupted() -> Iterator[None]:
    """Ctrl-C waits, in the main thread: what is done here is done as a whole, as in a compiled loop."""
    before = signal.getsignal(signal.SIGINT)
    if threading.current_thread() is not threading.main_thread() or not callable(before):
        yield
        return
    pressed: list[int] = []
    signal.signal(signal.SIGINT, lambda number, _: pressed.append(number))
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)
        if pressed:
            signal.raise_signal(signal.SIGINT)


class CompilerNotice(event.Listener):
    """Says once, on a terminal, that something is compiled which takes long."""

    def __init__(self) -> None:
        self.told = False

    def on_start(self, event: Any) -> None:
        """Of the first loop that Python asked for."""
        if self.told or not _watched():
            return
        seconds = expected(event.data["dispatcher"])
        if seconds > LONG:
            self.told = True
            sys.stderr.write(f"\r\x1b[2Kdualgap: compiling once, about {seconds:.0f} s\n")

    def on_end(self, event: Any) -> None:
        """Nothing to say."""


def expected(loop: Any) -> float:
    """Seconds that a loop, and those that it calls, are compiled in."""
    met, todo = set(), [loop]
    while todo:
        function = getattr(todo.pop(), "py_func", None)
        if function is not None and function not in met:
            met.add(function)
            todo += [function.__globals__.get(name) for name in function.__code__.co_names]
    return PACE * sum(len(function.__code__.co_code) for function in met)


def _watched() -> bool:
    """Is there a person at the terminal, and this the process that talks to it?"""
    try:
        return sys.stderr.isatty() and multiprocessing.parent_process() is None
    except (AttributeError, ValueError):  # no stream of ours, or a closed one
        return False


def watch_compiler() -> None:
    """Called once, when the first loop is imported."""
    events: Any = event  # numba is not typed
    events.register("numba:compiler_lock", CompilerWatch())
    events.register("numba:compile", CompilerNotice())
