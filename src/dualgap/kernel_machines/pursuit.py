"""A kernel problem as the loop wants it: the best coefficients as solvers see them, and what is proven."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

import numpy as np

from dualgap.arrays import Vector
from dualgap.drive.limits import Status
from dualgap.drive.pursuit import End, Look, Pursuit
from dualgap.kernel_machines.problem import KernelProblem
from dualgap.problem.certificate import Bounds
from dualgap.proof.check import Checked

HOPE = 10.0  # times the tolerance: a gap that seems this small is looked at by the proof's kernel


@dataclass(frozen=True, eq=False)
class Proposal:
    """β to look at, with what the solver happens to know of it: f = Kβ and b.

    Without `certify` it is only a pause, in which the clock is read. `fixed`: the intercept is settled. With
    `as_it_is` β stands for the objective alone; else it is first made feasible for the dual, and gives both.
    Of a start, `wanted` is the relative gap that will be asked for.
    """

    name: str
    beta: Vector
    f: Vector | None = None
    b: float | None = None
    certify: bool = True
    fixed: bool = False
    as_it_is: bool = False
    wanted: float = 0.0


class KernelPursuit(Pursuit[KernelProblem, Proposal]):
    """The better half of each pair of points, as they seem; and of what the proof's kernel said, the best."""

    def __init__(self, problem: KernelProblem, tolerance: float) -> None:
        self.problem, self.tolerance = problem, tolerance
        self.best: Bounds | None = None
        self.proof: Checked | None = None
        self.low: Checked | None = None  # of the best objective, and
        self.high: Checked | None = None  # of the best bound
        self.indefinite = False
        self._seen: Proposal | None = None
        self._passed: Vector | None = None  # went by without a look

    @property
    def empty(self) -> bool:
        return self.best is None

    @property
    def _kept(self) -> Bounds:
        assert self.best is not None
        return self.best

    def starts(self, start: Proposal | None) -> Iterator[Proposal]:
        nothing = np.zeros(self.problem.n)
        yield Proposal("null", nothing, nothing)

    def origin(self, most: int | None) -> Proposal:
        return Proposal("", self._kept.w[:-1], wanted=self.tolerance)

    def take(self, iterate: Proposal, *, watched: bool) -> Look | None:
        """A look costs a product with K, so that a pause is none even if somebody waits."""
        self._passed = None if iterate.certify else iterate.beta
        found = self._looked(iterate) if iterate.certify else None
        if found is None or not (np.isfinite(found.primal) and np.all(np.isfinite(found.w))):
            return None
        self._seen = iterate
        best = self.best = found if self.best is None else self.best.improved(found)
        nonzero = self.nonzero(best.w)
        return Look(found.primal, best.primal, best.dual, nonzero=nonzero, solver=iterate.name)

    def _looked(self, iterate: Proposal) -> Bounds:
        problem, beta, b = self.problem, iterate.beta, iterate.b
        if not iterate.as_it_is:
            return problem.bounds(beta, iterate.f, b, fixed=iterate.fixed)
        assert iterate.f is not None and b is not None
        return Bounds(np.append(beta, b), self._kept.theta, problem.primal(beta, iterate.f, b), -np.inf)

    # -- what is proven ------------------------------------------------------------------------------

    def proven(self) -> Checked | None:
        best, seen = self._kept, self._seen
        if self.problem.relative(best.gap, best.primal) > HOPE * self.tolerance:
            return None
        assert seen is not None
        if not seen.as_it_is:
            self._prove(seen.beta, seen.b)
        elif self.high is not None:
            self._prove(seen.beta, seen.b, self.high.theta)
        return self.proof if self._done else None

    @property
    def _done(self) -> bool:
        proof = self.proof
        return proof is not None and self.relative(proof.gap, proof.primal) <= self.tolerance

    def _prove(self, beta: Vector, b: float | None, theta: Vector | None = None) -> None:
        """Ask the proof's kernel; what it says of one pair of points is kept, and either half of it apart.

        Two halves that contradict each other say that K is not semi-definite, and then nothing is proven.
        """
        if not np.all(np.isfinite(beta)):
            return
        found = self.problem.judged(beta, b, self.tolerance, theta)
        self.low = found if self.low is None or found.primal < self.low.primal else self.low
        self.high = found if self.high is None or found.dual > self.high.dual else self.high
        self.indefinite |= self.high.dual > self.low.primal
        self.proof = found if self.proof is None or found.gap < self.proof.gap else self.proof
        self.proof = replace(self.proof, dual=0.0) if self.indefinite else self.proof

    def settled(self) -> Checked:
        """The proof of the best points, of one only passed by, of none at all, and of the better halves."""
        if self._passed is not None:
            self.take(Proposal("", self._passed), watched=True)
        best = self._kept
        self._prove(np.zeros(self.problem.n), None)
        self._prove(best.theta / (2.0 * self.problem.lam), float(best.w[-1]))
        assert self.low is not None and self.high is not None
        if best.primal < self.low.primal:
            self._prove(best.w[:-1], float(best.w[-1]), self.high.theta)
        if self.low is not self.high:
            self._prove(self.low.w[:-1], float(self.low.w[-1]), self.high.theta)
        assert self.proof is not None
        return self.proof

    # -- what is told --------------------------------------------------------------------------------

    def relative(self, gap: float, objective: float) -> float:
        return self.problem.relative(gap, objective)

    def nonzero(self, w: Vector) -> int | None:
        return int(np.count_nonzero(w[:-1]))

    def weights(self) -> Vector:
        return self._kept.w

    def told(self, end: End) -> tuple[Status, str]:
        """A run without progress: are there digits left?"""
        if end.status is not Status.STALLED:
            return end.status, ""
        if self.indefinite:
            return end.status, (
                "No bound is proven: K has negative eigenvalues beyond rounding, and this answer makes use "
                "of them. A smaller C would help, or a kernel matrix that is positive semi-definite."
            )
        largest = float(np.abs(end.final.theta).max(initial=0.0)) / (2.0 * self.problem.lam)
        top = float(np.abs(self.problem.gram.given_diagonal).max())
        return end.status, (
            f"The gap has stopped shrinking: coefficients of up to {largest:.0e} and kernel values of up to "
            f"{top:.0e} leave too few digits. A smaller C, columns about zero or a looser tolerance would "
            "help."
        )
