"""Parts of one run that follow one another, as long as there is time: strengths, classes, draws."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from dualgap.drive.limits import Limits
from dualgap.drive.progress import ProgressLine, bar


def in_turn(parts: Any, limits: Limits, what: str = "strengths") -> Iterator[Any]:
    """Each of them, at least one, until the time of the run is over; a line says how far it is."""
    total = len(parts)
    with ProgressLine() as line:
        for done, part in enumerate(parts):
            if done and limits.spent:
                return
            line.show(lambda done=done: f"{bar(done / total)} {done}/{total} {what}")  # type: ignore[misc]
            yield part
