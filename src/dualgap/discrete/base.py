"""What a search yields, and what it must answer: options that, given a problem that is not convex, yield."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import ClassVar, Protocol

import numpy as np

from dualgap.arrays import Vector
from dualgap.problem.problem import Problem
from dualgap.proof.check import searched
from dualgap.proof.rounding import FEW, gamma, total
from dualgap.proof.statement import SMALL
from dualgap.traits import Trait


@dataclass(frozen=True, eq=False)
class Finding:
    """Weights, a proven bound, or both; `nodes` counts all the work so far.

    The bound is true as a real number: whoever finds it has paid for its rounding.

    `theta` is the dual point that proves the bound, where one does. `ending` is the sentence that tells
    how the search ended, should this be its last finding and prove nothing; `remark` is said in any case. Of
    a start, `wanted` is the relative gap that will be asked for and `most` the nodes that will be waited for.
    """

    w: Vector | None = None
    bound: float = -np.inf
    nodes: int = 0
    theta: Vector | None = None
    ending: str = ""
    remark: str = ""
    wanted: float = 0.0
    most: int | None = None


def unmet(*wants: tuple[bool, str]) -> tuple[str, ...]:
    """What is said of the wants that are not met."""
    return tuple(lack for met, lack in wants if not met)


class DiscreteSolver(Protocol):
    """A new one is a new file with `@solver("name", kind="search")` and a line in `discrete/__init__.py`.

    It yields every fraction of a second, so that it can be stopped; `seconds` is when it is, if nobody said
    how long it may take.
    """

    name: ClassVar[str]

    @property
    def seconds(self) -> float | None:
        """The time limit where none is given."""

    def missing(self, problem: Problem) -> tuple[str, ...]:
        """What the problem lacks for this search; empty if it fits."""

    def cost(self, problem: Problem) -> float:
        """A guess of the work; the cheapest that fits is what "auto" means."""

    def iterates(self, problem: Problem, start: Finding) -> Iterator[Finding]:
        """Better and better weights and bounds, in the coordinates and units of `problem`."""


ENOUGH = 0.01  # of the tolerance: what rounding may add before more digits are spent on it


def reached(problem: Problem, w: Vector, tolerance: float) -> float:
    """P(w) at most.

    A loss that is convex, or rises or falls throughout, is nowhere within the error of a prediction above
    what it is at both ends. One that jumps is left to the kernel.
    """
    if problem.loss_has(Trait.CONVEX) or problem.loss_has(Trait.SMOOTH):
        with np.errstate(all="ignore"):
            t, error = problem.misses(w)
            loss, y, _ = problem.centred
            ends = [loss.value(y, t + side * error) for side in (-2.0, 2.0)]
            risk, priced = total(problem.a * np.maximum(*ends)), problem.regulariser.value(w)
            over = risk - float(problem.a @ np.minimum(*ends))
            found = (risk + priced) * (1.0 + 4.0 * FEW + gamma(len(w)))
        if over <= ENOUGH * tolerance * max(found, SMALL * abs(problem.null)):
            return found
    return searched(problem, w, 0.0, None).primal
