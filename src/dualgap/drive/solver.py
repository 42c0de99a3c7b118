"""What a solver is: a frozen set of options that, given a problem, yields iterates and decides nothing."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, Protocol, runtime_checkable

import numpy as np

from dualgap.arrays import Vector
from dualgap.problem.problem import Problem
from dualgap.proof.rows import Rows

STEP = 4e6  # operations that take as long as a step of any method on the smallest problem


@dataclass(frozen=True, eq=False)
class Iterate:
    """A primal point, with what the solver happens to know beside it.

    `prediction` must be Xw if it is given. `theta` is a dual candidate, feasible or not; without one the
    slope of the loss at the prediction serves; `correlation` must be Xᵀθ of it if it is given. `step` is the
    step length, for people who watch. Without `certify` the objective alone is looked at, which saves a
    product with Xᵀ; without `look` not even that, unless somebody waits for this very iterate. `outright`
    says that this is very likely the answer: it is judged on the asked problem at once. With `answer` the
    point is the answer whatever its objective. `remark` is what the solver says of its end. Of a start,
    `wanted` is the relative gap that will be asked for, so that a solver can aim; 0 says as small as can be.
    """

    w: Vector
    theta: Vector | None = None
    prediction: Vector | None = None
    step: float | None = None
    certify: bool = True
    answer: bool = False
    remark: str = ""
    correlation: Vector | None = None
    look: bool = True
    outright: bool = False
    wanted: float = 0.0

    def correlated(self, problem: Problem, theta: Vector) -> Vector:
        """Xᵀθ: from the one that came with this iterate, if θ is a multiple of its own."""
        if self.correlation is None or self.theta is None:
            return problem.correlation(theta)
        if np.array_equal(theta, self.theta):
            return self.correlation
        size = float(self.theta @ self.theta)
        share = float(theta @ self.theta) / size if size > 0.0 else 0.0
        if np.abs(theta - share * self.theta).max() <= 1e-14 * np.abs(theta).max():
            return share * self.correlation
        return problem.correlation(theta)


class Divergence(Exception):  # noqa: N818 - an end, not a fault: the driver turns it into a status
    """Raised by a solver whose iterates run away; the message says why, and what would work."""


class Solver(Protocol):
    """A new one is a new file with `@solver("name")` and a line in `solvers/__init__.py`."""

    name: ClassVar[str]

    def missing(self, problem: Problem) -> tuple[str, ...]:
        """What the problem lacks, or has too much of, for this solver; empty if it fits."""

    def cost(self, problem: Problem) -> float:
        """A guess of the work in floating-point operations, on a scale common to all solvers."""

    def iterates(self, problem: Problem, start: Iterate) -> Iterator[Iterate]:
        """Better and better points. Ending means: no further progress is to be had from here."""


@runtime_checkable
class Attempting(Protocol):
    """A solver that "auto" runs for a limited time, and perhaps twice: an attempt first, then in its turn."""

    def attempts(self, problem: Problem) -> list[tuple[float, Solver]]:
        """The solver as "auto" runs it, each time with a guess of the work."""


@runtime_checkable
class SideBySide(Protocol):
    """One that has the answers of problems with the same rows and penalty sooner than one by one."""

    def side_by_side(self, problems: Sequence[Problem], rows: Rows, wanted: float) -> Sequence[Any] | None:
        """A solver for each that has its answer, to the relative gap wanted if it can be had.

        None where it is better to go one by one.
        """


@runtime_checkable
class Adviser(Protocol):
    """A solver that knows what to say when its run ends short of the optimum."""

    def advice(self, problem: Problem, *, rising: bool) -> str:
        """What would have worked, in a sentence; `rising`: the last objective is above the first."""


class Learner(Protocol):
    """What a run over rows leaves for the next rows."""

    steps: int  # taken so far

    def learn(self, problem: Problem, weights: Vector) -> None:
        """Take the rows of a problem in, in the order given, with weights of mean one."""

    def weights(self) -> Vector:
        """The weights so far, the intercept last."""


@runtime_checkable
class RowByRow(Solver, Protocol):
    """A solver that learns from rows as they come, and can go on with others later."""

    def learner(self, problem: Problem, start: Vector) -> Learner:
        """The state of a run that begins at `start`; the first rows settle a step that asks the data."""
