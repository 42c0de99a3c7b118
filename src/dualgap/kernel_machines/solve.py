"""The loop: methods pause and propose, here the gap is computed, the clock read, and the end decided."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace

import numpy as np

from dualgap.arrays import Vector
from dualgap.drive.limits import Limits, Status
from dualgap.drive.run import Outcome
from dualgap.drive.trace import Record, Trace
from dualgap.kernel_machines.block import Blocks
from dualgap.kernel_machines.box import Box, box_of
from dualgap.kernel_machines.factored import LARGEST, factor, lifted, linear_outcome, pulled_back
from dualgap.kernel_machines.finish import ActiveSet
from dualgap.kernel_machines.newton import newton
from dualgap.kernel_machines.problem import KernelProblem
from dualgap.kernel_machines.refined import RefinedSet, free_variables
from dualgap.problem.certificate import Bounds
from dualgap.proof.check import Checked
from dualgap.proof.rounding import U
from dualgap.traits import Trait

STAGES = (0.1, 1e-2, 1e-3, 1e-4, 1e-6)  # violation at which the block method hands over, in units
CERTIFY_BELOW = 5e-2  # crude stages are not worth a product in double precision
COARSE = 1e-10  # of the unit: rounding of Kβ from which the active set works with twice the digits
NEAR = (1e-6, 1e-4, 1e-2)  # of the box: variables this near to a bound are guessed to lie on it
HOPE = 10.0  # times the tolerance: a gap that seems this small is looked at by the proof's kernel


@dataclass(frozen=True, eq=False)
class Proposal:
    """A point to look at; without f = Kβ it is only a pause in which the clock is read."""

    name: str
    beta: Vector
    f: Vector | None = None
    b: float | None = None
    certify: bool = True
    fixed: bool = False  # the intercept is settled


Method = Callable[[KernelProblem, Vector], Iterator[Proposal]]


class _Run:
    """State of one solve: the clock, the best points as the solver sees them, what is proven, the trace."""

    def __init__(self, problem: KernelProblem, limits: Limits) -> None:
        self.problem, self.limits = problem, limits
        self.began, self.count, self.trace = time.perf_counter(), 0, Trace()
        self.name = "null"
        nothing = np.zeros(problem.n)
        self.best = problem.bounds(nothing, nothing)
        self.proof: Checked | None = None
        self.low: Checked | None = None  # of the best objective, and
        self.high: Checked | None = None  # of the best bound
        self.last: Vector | None = None
        self.indefinite = False

    @property
    def elapsed(self) -> float:
        return time.perf_counter() - self.began

    def see(self, seen: Proposal) -> Status | None:
        """Take a point in; say how the run ends, if it does."""
        self.name, self.last = seen.name, None if seen.certify else seen.beta
        self.count += 1
        if seen.certify:
            self.take(self.problem.bounds(seen.beta, seen.f, seen.b, fixed=seen.fixed))
            if self.promising:
                self.prove(seen.beta, seen.b)
            if self.proven:
                return Status.CERTIFIED
        limits = self.limits
        if limits.callback is not None and self.trace and limits.callback(self.trace[-1]):
            return Status.STOPPED
        if limits.iterations is not None and self.count >= limits.iterations:
            return Status.ITERATIONS
        if limits.seconds is not None and self.elapsed >= limits.seconds:
            return Status.TIME
        return None

    def take(self, found: Bounds) -> None:
        """Keep the better half of each."""
        if np.isfinite(found.primal) and np.all(np.isfinite(found.w)):
            self.best = self.best.improved(found)
            self.record(found.primal, self.best.primal, self.best.dual)

    def record(self, here: float, objective: float, bound: float) -> None:
        """A line of the trace."""
        support = int(np.count_nonzero(self.best.w[:-1]))
        self.trace.append(Record(self.count, self.elapsed, here, objective, bound, self.name, None, support))

    def prove(self, beta: Vector, b: float | None, theta: Vector | None = None) -> None:
        """Ask the proof's kernel; what it says of one pair of points is kept, and either half of it apart.

        Two halves that contradict each other say that K is not semi-definite, and then nothing is proven.
        """
        if not np.all(np.isfinite(beta)):
            return
        found = self.problem.judged(beta, b, self.limits.tolerance, theta)
        self.low = found if self.low is None or found.primal < self.low.primal else self.low
        self.high = found if self.high is None or found.dual > self.high.dual else self.high
        self.indefinite |= self.high.dual > self.low.primal
        self.proof = found if self.proof is None or found.gap < self.proof.gap else self.proof
        self.proof = replace(self.proof, dual=0.0) if self.indefinite else self.proof

    def pair(self) -> None:
        """The proof of the better halves together."""
        if self.low is not None and self.high is not None and self.low is not self.high:
            self.prove(self.low.w[:-1], float(self.low.w[-1]), self.high.theta)

    @property
    def promising(self) -> bool:
        gap = self.problem.relative(self.best.gap, self.best.primal)
        return gap <= HOPE * self.limits.tolerance

    @property
    def proven(self) -> bool:
        proof = self.proof
        return proof is not None and self.problem.relative(proof.gap, proof.primal) <= self.limits.tolerance

    def settled(self) -> Checked:
        """The proof there is; else that of the best points, of one only passed by, and of nothing at all."""
        if self.proof is not None and self.proven:
            return self.proof
        if self.last is not None:
            self.take(self.problem.bounds(self.last))
        best = self.best
        self.prove(np.zeros(self.problem.n), None)
        self.prove(best.theta / (2.0 * self.problem.lam), float(best.w[-1]))
        assert self.low is not None and self.high is not None
        if best.primal < self.low.primal:
            self.prove(best.w[:-1], float(best.w[-1]), self.high.theta)
        self.pair()
        assert self.proof is not None
        return self.proof


def solve(problem: KernelProblem, limits: Limits, start: Vector | None = None) -> Outcome:
    """The problem solved until the gap is proven, a limit is met, or no method makes progress."""
    run = _Run(problem, limits)
    run.take(run.best)
    if run.promising:
        run.prove(run.best.w[:-1], None)
    status = None
    try:
        if not run.proven:
            with np.errstate(all="ignore"):
                status = _through(run, start)
    except KeyboardInterrupt:
        status = Status.INTERRUPTED
    proof = run.settled()
    status = Status.CERTIFIED if run.proven else status or Status.STALLED
    run.record(proof.primal, proof.primal, proof.dual)
    remark = _what_would_help(run, proof) if status is Status.STALLED else ""
    return Outcome(proof, status, run.name, run.count, run.elapsed, run.trace, remark)


def _what_would_help(run: _Run, proof: Checked) -> str:
    """A run without progress: are there digits left?"""
    if run.indefinite:
        return (
            "No bound is proven: K has negative eigenvalues beyond rounding, and this answer makes use of "
            "them. A smaller C would help, or a kernel matrix that is positive semi-definite."
        )
    largest = float(np.abs(proof.theta).max(initial=0.0)) / (2.0 * run.problem.lam)
    top = float(np.abs(run.problem.gram.given_diagonal).max())
    return (
        f"The gap has stopped shrinking: coefficients of up to {largest:.0e} and kernel values of up to "
        f"{top:.0e} leave too few digits. A smaller C, columns about zero or a looser tolerance would help."
    )


def _through(run: _Run, start: Vector | None) -> Status | None:
    for method in _methods(run.problem):
        try:
            for proposal in method(run.problem, start if start is not None else run.best.w[:-1]):
                status = run.see(proposal)
                if status is not None:
                    return status
        except np.linalg.LinAlgError:
            continue
    return _by_factor(run)


def _methods(problem: KernelProblem) -> list[Method]:
    traits = problem.loss.traits
    if Trait.PIECEWISE_QUADRATIC in traits:
        rest: list[Method] = [smooth] if Trait.SMOOTH in traits else []
        direct = Trait.QUADRATIC in traits
        return [*rest, decomposition] if direct and problem.n > 6000 else [decomposition, *rest]
    return [smooth]


def decomposition(problem: KernelProblem, start: Vector) -> Iterator[Proposal]:
    """Blocks until the violation is small, then the active set; a smaller violation where that fails."""
    box, gram = box_of(problem), problem.gram
    if Trait.QUADRATIC in problem.loss.traits:
        yield from _finish(problem, box, np.zeros(len(box.kink)))
        return
    parts = box.split(start)
    blocks = Blocks(box, gram.quick, problem.intercept, parts, gram.product(start))
    for stage in STAGES:
        before = blocks.parts.copy()
        for _ in blocks.run(stage * box.unit):
            yield Proposal("block", box.joined(blocks.parts), certify=False)
        if stage < STAGES[0] and np.array_equal(before, blocks.parts):
            continue
        beta = box.joined(blocks.parts)
        yield from _finish(problem, box, box.split(beta), blocks.f)
        if stage <= CERTIFY_BELOW:
            yield Proposal("block", beta)
        blocks = replace(blocks, parts=box.split(beta), f=gram.product(beta) if stage < 1e-2 else blocks.f)


def _finish(problem: KernelProblem, box: Box, parts: Vector, f: Vector | None = None) -> Iterator[Proposal]:
    """The active set; in single precision first where f = Kβ came from there."""
    try:
        if f is not None and problem.gram.quick is not problem.gram.exact and free_variables(box, parts):
            try:
                for done in RefinedSet(problem, box, parts, f).run():
                    if done is None:
                        yield Proposal("active_set", box.joined(parts), certify=False)
                    else:
                        yield Proposal("active_set", done.beta, done.f, done.b, fixed=True)
                return
            except np.linalg.LinAlgError:
                pass
        image = problem.precise if _coarse(problem, box, parts) else None
        for found in ActiveSet(box, problem.gram, problem.intercept, parts, image).run():
            if found is not None:
                yield Proposal("active_set", found.beta, found.f, found.b)
    except np.linalg.LinAlgError:
        return


def _coarse(problem: KernelProblem, box: Box, parts: Vector) -> bool:
    """Do coefficients of this size leave a plain product too few digits to tell which rows lie on a kink?"""
    size = float(np.sqrt(np.abs(problem.gram.diagonal)) @ np.abs(box.joined(parts)))
    top = float(np.sqrt(np.abs(problem.gram.diagonal).max()))
    return problem.gram.small and U * size * top > COARSE * box.unit


def smooth(problem: KernelProblem, start: Vector) -> Iterator[Proposal]:
    """Newton's iterates, each with the dual point of its slopes."""
    level = problem.best_intercept(problem.gram.product(start))
    for found in newton(problem, start, level):
        if found is None:
            yield Proposal("newton", start, certify=False)
        else:
            start, f, b = found
            yield Proposal("newton", start, f, b)


def _by_factor(run: _Run) -> Status | None:
    """K = RRᵀ and the linear solvers: slow, and always there."""
    problem, limits = run.problem, run.limits
    if problem.n > LARGEST:
        return None
    left = None if limits.seconds is None else max(limits.seconds - run.elapsed, 1e-3)
    stricter = replace(limits, tolerance=0.1 * limits.tolerance, seconds=left, callback=None, rule=None)
    R = factor(problem.gram.whole)
    outcome = linear_outcome(problem, R, stricter)
    run.name = f"factor, {outcome.solver}"
    back = pulled_back(problem, R, outcome)
    run.take(back)
    status = run.see(Proposal(run.name, lifted(problem, outcome)))
    if status is None and run.high is not None:
        run.prove(back.w[:-1], float(back.w[-1]), run.high.theta)
        status = Status.CERTIFIED if run.proven else None
    if status is None and Trait.PIECEWISE_QUADRATIC in problem.loss.traits:
        box = box_of(problem)
        parts = box.split(run.best.theta / (2.0 * problem.lam))
        for near in NEAR:
            for proposal in _finish(problem, box, box.snapped(parts, near)):
                status = run.see(proposal)
                if status is not None:
                    return status
    return status
