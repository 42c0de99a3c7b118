"""Parts of one run that follow one another, as long as there is time: strengths, classes, draws."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, Protocol, TypeVar

from dualgap.drive.limits import Limits, Status
from dualgap.drive.progress import ProgressLine, bar


def in_turn(parts: Any, limits: Limits) -> Iterator[Any]:
    """Each of them, at least one, until the time of the run is over; a line says how far it is."""
    total = len(parts)
    with ProgressLine() as line:
        for done, part in enumerate(parts):
            if done and limits.spent:
                return
            line.show(lambda done=done: f"{bar(done / total)} {done}/{total} strengths")  # type: ignore[misc]
            yield part


class Ended(Protocol):
    """An answer that tells how its run ended."""

    @property
    def status(self) -> str:
        """The sentence."""


E = TypeVar("E", bound=Ended)


def one_by_one(count: int, limits: Limits, solve: Callable[[int, Limits], E]) -> list[E]:
    """An answer to each of some problems that make up one: the time is for all of them together.

    Where one is stopped, by Ctrl-C or a callback, the others answer with what needs no time.
    """
    own, found = limits.shared(), []
    for k in range(count):
        found.append(solve(k, own))
        if found[-1].status.startswith((Status.INTERRUPTED.value, Status.STOPPED.value)):
            own = own.over()
    return found
