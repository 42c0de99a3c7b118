"""What a search is: options that, given a problem that is not convex, yield weights and bounds."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import ClassVar, Protocol

import numpy as np

from dualgap.arrays import Vector
from dualgap.drive.limits import Limits
from dualgap.drive.trace import Trace
from dualgap.problem.problem import Problem


@dataclass(frozen=True, eq=False)
class Finding:
    """Weights, a proven bound, or both; `nodes` counts all the work so far.

    The bound is true as a real number: whoever finds it has paid for its rounding.

    `theta` is the dual point that proves the bound, where one does. `ending` is the sentence that tells
    how the search ended, should this be its last finding and prove nothing; `remark` is said in any case.
    """

    w: Vector | None = None
    bound: float = -np.inf
    nodes: int = 0
    theta: Vector | None = None
    ending: str = ""
    remark: str = ""


class Search(Protocol):
    """A new one is a new file with `@search("name")` and a line in `discrete/__init__.py`.

    A search yields every fraction of a second, so that it can be stopped; `seconds` is when it is, if
    nobody said how long it may take.
    """

    name: ClassVar[str]

    @property
    def seconds(self) -> float | None:
        """The time limit where none is given."""

    def missing(self, problem: Problem) -> tuple[str, ...]:
        """What the problem lacks for this search; empty if it fits."""

    def cost(self, problem: Problem) -> float:
        """A guess of the work; the cheapest that fits is what "auto" means."""

    def findings(self, problem: Problem, start: Vector | None, limits: Limits) -> Iterator[Finding]:
        """Better and better weights and bounds, in the coordinates and units of `problem`."""


@dataclass(frozen=True, eq=False)
class Answer:
    """The best weights found with the best bound proven, and how the run went.

    `primal` is not below their objective, no weights do better than `bound`, which is never above `primal`.
    `stopped`: somebody asked it to end, by Ctrl-C or a callback.
    """

    w: Vector
    primal: float
    bound: float
    theta: Vector | None
    proven: bool
    status: str
    solver: Search
    nodes: int
    seconds: float
    trace: Trace
    stopped: bool = False
    remark: str = ""

    @property
    def gap(self) -> float:
        """How far the objective can be above the optimum."""
        return self.primal - self.bound
