"""When a run ends, and how it is said to have ended."""

from __future__ import annotations

import enum
import math
from dataclasses import dataclass, replace
from typing import Any

from dualgap.compiled.clock import CLOCK
from dualgap.drive.stopping import Stop
from dualgap.drive.trace import Callback


class Status(enum.Enum):
    """How a fit ended, as a sentence."""

    CERTIFIED = "The duality gap is below the tolerance."
    ITERATIONS = "The iteration limit came first; the certificate says how far the answer can be."
    TIME = "The time limit came first; the certificate says how far the answer can be."
    INTERRUPTED = "Interrupted; this is the best answer so far, and the certificate says how far it can be."
    STOPPED = "The callback asked to stop; the certificate says how far the answer can be."
    RULE = "The stopping rule was met; the certificate says how far the answer can be."
    DIVERGED = "The iterates diverged; the certificate says how far the best of them can be."
    ROUNDING = (
        "Rounding alone leaves this gap: large numbers cancel in X·w. Centre the columns that lie far from "
        "zero (subtract their means), leave out columns that nearly repeat others, or loosen the tolerance."
    )
    STALLED = "The gap has stopped shrinking at this precision; rescale the columns or loosen the tolerance."


@dataclass(frozen=True)
class Limits:
    """When to stop: relative gap, iterations, seconds, or a callback that returns True."""

    tolerance: float = 1e-6
    iterations: int | None = None
    seconds: float | None = None
    callback: Callback | None = None
    rule: Stop | None = None
    until: float | None = None  # a reading of the clock, the same for all parts of one run

    def __getstate__(self) -> dict[str, Any]:
        """For another process of this machine, whose compiler has taken other seconds."""
        return {**self.__dict__, "until": None if self.until is None else self.until + CLOCK.taken}

    def __setstate__(self, state: dict[str, Any]) -> None:
        until = state["until"]
        self.__dict__.update(state, until=None if until is None else until - CLOCK.taken)

    def shared(self) -> Limits:
        """For the parts of one run: the seconds count from now on, for all of them together."""
        if self.seconds is None or self.until is not None:
            return self
        return replace(self, until=CLOCK.now() + self.seconds)

    @property
    def spent(self) -> bool:
        """Is the time of a run with several parts over?"""
        return self.until is not None and CLOCK.now() >= self.until

    def part(self, parts: int) -> Limits:
        """For one of `parts` that follow one another: its share of the time that is left to all of them."""
        if self.until is None:
            return self
        now = CLOCK.now()
        share = max(self.until - now, 0.0) / parts
        return replace(self, seconds=share, until=now + share)

    def untimed(self) -> Limits:
        """For a part that is short, and without which the others have nothing: no limit of time."""
        return replace(self, seconds=None, until=None)

    def or_seconds(self, seconds: float | None) -> Limits:
        """These limits, with so many seconds where none are given."""
        return self if self.seconds is not None or self.until is not None else replace(self, seconds=seconds)

    def over(self) -> Limits:
        """For the parts of a run that was stopped: no time is left, and nobody watches."""
        return replace(self, until=-math.inf, callback=None, rule=None)

    @property
    def watched(self) -> bool:
        """Does anybody look at what comes before the answer?"""
        return self.callback is not None or not self.open

    @property
    def open(self) -> bool:
        """Is there no limit at all but the tolerance?"""
        return self.iterations is None and self.seconds is None and self.until is None and self.rule is None
