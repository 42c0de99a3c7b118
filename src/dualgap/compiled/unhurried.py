"""Loops that can be left and taken up again run uncompiled where they end sooner than the compiler would.

The first path of a small table takes the interpreter milliseconds, and the compiler four seconds. So Python
runs the same source, some steps at a time, until that has taken as long as is worth it: what is then left is
compiled.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator
from dataclasses import fields
from functools import cached_property, update_wrapper
from pathlib import Path
from types import FunctionType
from typing import Any

import numpy as np

from dualgap.compiled.addressed import Addressed
from dualgap.compiled.clock import CLOCK
from dualgap.compiled.interrupts import uninterrupted

IN_NUMPY: dict[
    Callable[..., Any], Callable[..., Any]
] = {}  # the same as the source of a loop, in other words
WORTH = (
    1.0  # seconds that the interpreter may take in a process: a quarter of what compiling such loops takes
)
SHARE = 0.01  # of that for one step: longer ones, and loops with so many
LARGE = 1_000_000  # numbers before them, are compiled at once (choices, both)


class Patience:
    """Seconds that the interpreter may take for a loop in this process, and for how many tasks.

    Who asks again will ask often, and is to wait for the compiler once.
    """

    given, tasks = WORTH, 1
    begun = 0


def begin_task() -> None:
    """Somebody asks for something new."""
    Patience.begun += 1


class Unhurried:
    """A loop whose first argument is what it works on, its last how many steps it may take; called again, it
    goes on. `pauses` says of an answer, and of the arguments, whether something is left to do.
    """

    def __init__(self, loop: Any, pauses: Callable[..., bool]) -> None:
        update_wrapper(self, loop.py_func)
        self.py_func = loop.py_func
        self.loop, self.pauses, self.spent = loop, pauses, 0.0
        self.first: int | None = None  # the task that it first ran for

    def __call__(self, *args: Any) -> Any:
        """As if it were compiled."""
        if self._ready or not self._small(args[:1]):
            return self.loop(*args)
        self.first = Patience.begun if self.first is None else self.first
        *others, steps = args
        CLOCK.stop()  # time limits count what is compiled only
        try:
            with np.errstate(all="ignore"):
                answer, steps = self._interpreted(others, int(steps))
        finally:
            CLOCK.go_on()
        return self.loop(*others, steps) if steps else answer

    def _interpreted(self, others: list[Any], steps: int) -> tuple[Any, int]:
        """What it answers, and the steps that are left to the compiled loop."""
        some = min(steps, 1)
        while True:
            began = time.perf_counter()
            with uninterrupted():
                answer = self.interpreted(*others, some)
            taken = time.perf_counter() - began
            self.spent += taken
            steps -= some
            if not steps or not self.pauses(answer, *others):
                return answer, 0
            if self.spent > Patience.given or taken > some * SHARE * WORTH:
                return answer, steps
            some = min(2 * some, steps, 1 + int(0.1 * WORTH * some / max(taken, 1e-6)))

    @property
    def _ready(self) -> bool:
        """Is it compiled, here or on disk, or has it had its time?"""
        again = self.first is not None and Patience.begun >= self.first + Patience.tasks
        return bool(self.loop.overloads) or again or self.spent >= Patience.given or self._kept

    @cached_property
    def _kept(self) -> bool:
        index = getattr(getattr(self.loop._cache, "_cache_file", None), "_index_path", None)
        return index is not None and Path(index).exists()

    @staticmethod
    def _small(args: tuple[Any, ...]) -> bool:
        """Is a step of the interpreter soon over?"""
        return sum(array.size for array in _arrays(args)) <= LARGE

    @cached_property
    def interpreted(self) -> Callable[..., Any]:
        """The loop and all it calls, as Python reads them."""
        return uncompiled(self.loop, {})


def uncompiled(loop: Any, made: dict[Any, Callable[..., Any]]) -> Callable[..., Any]:
    """A compiled loop's own source, which calls the sources of others; in words of NumPy where there are."""
    function = loop.py_func
    if function in IN_NUMPY:
        return IN_NUMPY[function]
    if function not in made:
        scope = dict(function.__globals__)
        made[function] = FunctionType(
            function.__code__, scope, function.__name__, function.__defaults__, function.__closure__
        )
        for name in function.__code__.co_names:
            if hasattr(scope.get(name), "py_func"):
                scope[name] = uncompiled(scope[name], made)
    return made[function]


def _arrays(values: Iterable[Any]) -> Iterator[Any]:
    """Those in records, tuples and plain sight."""
    for value in values:
        if isinstance(value, np.ndarray):
            yield value
        elif isinstance(value, Addressed):
            yield from _arrays(getattr(value, field.name) for field in fields(value))  # type: ignore[arg-type]
        elif isinstance(value, tuple):
            yield from _arrays(value)
