"""What the loop asks of a problem, whatever its kind: linear, of many classes, with a kernel, discrete."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, ClassVar, Generic, Protocol, TypeVar

import numpy as np

from dualgap.arrays import Vector
from dualgap.drive.limits import Status
from dualgap.drive.trace import Trace
from dualgap.proof.check import Checked

P = TypeVar("P", contravariant=True)
I = TypeVar("I")  # noqa: E741 - an iterate
T = TypeVar("T")


@dataclass(frozen=True, eq=False)
class Look:
    """What an iterate seems to be worth, in the units of the asked problem: it steers, and proves nothing."""

    objective: float  # at this iterate
    best: float  # the lowest so far
    bound: float  # the highest so far
    step: float | None = None
    nonzero: int | None = None
    solver: str = ""  # what the solver calls itself here, where it is several methods in one
    count: int | None = None  # of all the work so far, where that is not one for each iterate


@dataclass(frozen=True, eq=False)
class End:
    """How a run ended, as a pursuit may want to tell it."""

    status: Status
    final: Checked
    solver: Any  # the last that ran; None if none did
    trace: Trace
    said: str = ""  # by a solver whose iterates ran away


class Yields(Protocol[P, I]):
    """A solver as the loop sees it."""

    @property
    def name(self) -> str:
        """Its public name."""

    def iterates(self, problem: P, start: I) -> Iterator[I]:
        """Better and better points. Ending means: no further progress is to be had from here."""


class Pursuit(ABC, Generic[T, I]):
    """A problem with the best that is known of it. It keeps points; what it tells as proven is `proof`'s.

    `take` sees an iterate, `proven` asks the proof's kernel where the gap seems small enough, `settled` asks
    it at the end, whatever the gap is. `problem` is what the solvers are given.
    """

    counted: ClassVar[str] = "iterations"  # what the trace counts
    problem: T
    remark: str = ""  # what a solver had to say about its answer

    @property
    @abstractmethod
    def empty(self) -> bool:
        """Is there nothing to give back yet?"""

    def starts(self, start: I | None) -> Iterator[I]:
        """Points to look at before any solver runs; the one given among them.

        Without any, a solver is waited for until it has found something, however short the time.
        """
        return iter(())

    @abstractmethod
    def origin(self, most: int | None) -> I:
        """Where the next solver starts; `most` iterations will be waited for."""

    def horizon(self, solver: Any) -> int | None:
        """Iterations after which a solver that nobody limits is to end; None: never."""
        return None

    def sound(self, iterate: I) -> bool:
        """Is this made of numbers? A solver that yields anything else has had its turn."""
        return True

    @abstractmethod
    def take(self, iterate: I, *, watched: bool) -> Look | None:
        """Take an iterate in. None: it is not worth a look; if somebody waits for this very one (`watched`)
        it is, unless a look would cost more than the step.
        """

    @abstractmethod
    def proven(self) -> Checked | None:
        """What is proven, if that is all that was asked for."""

    @abstractmethod
    def settled(self) -> Checked:
        """The best that is proven, at the end of a run that was not."""

    @abstractmethod
    def relative(self, gap: float, objective: float) -> float:
        """The gap as a share of the objective."""

    def nonzero(self, w: Vector) -> int | None:
        """How many weights count."""
        return int(np.count_nonzero(w))

    @abstractmethod
    def weights(self) -> Vector:
        """Those that were looked at last, in the asked coordinates, for stopping rules."""

    def told(self, end: End) -> tuple[Status, str]:
        """How the run ended, and the sentence that says so where the status does not."""
        return end.status, ""
