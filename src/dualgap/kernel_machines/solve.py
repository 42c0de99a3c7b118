"""The solvers of kernel problems: they pause and propose; the loop looks, reads the clock and decides."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import numpy as np

from dualgap.arrays import Vector
from dualgap.drive.limits import Limits
from dualgap.drive.registry import candidates, solver
from dualgap.drive.run import Outcome, run
from dualgap.kernel_machines.block import Blocks
from dualgap.kernel_machines.box import Box, box_of
from dualgap.kernel_machines.factored import LARGEST, factor, lifted, linear_outcome, pulled_back
from dualgap.kernel_machines.finish import ActiveSet, free_variables
from dualgap.kernel_machines.newton import DENSE, newton
from dualgap.kernel_machines.problem import KernelProblem
from dualgap.kernel_machines.pursuit import KernelPursuit, Proposal
from dualgap.kernel_machines.refined import RefinedSet
from dualgap.proof.rounding import U
from dualgap.traits import Trait

STAGES = (0.1, 1e-2, 1e-3, 1e-4, 1e-6)  # violation at which the block method hands over, in units
CERTIFY_BELOW = 5e-2  # crude stages are not worth a product in double precision
COARSE = 1e-10  # of the unit: rounding of Kβ from which the active set works with twice the digits
NEAR = (1e-6, 1e-4, 1e-2)  # of the box: variables this near to a bound are guessed to lie on it
STRICTER = 0.1  # of the tolerance, for the linear problem: what is lost on the way back to K must fit in
PASSES = 100.0  # products with K that blocks, and then the active set, are worth: a guess that only orders


def solve(problem: KernelProblem, limits: Limits) -> Outcome:
    """The problem solved until the gap is proven, a limit is met, or no solver makes progress."""
    pursuit = KernelPursuit(problem, limits.tolerance)
    return run(pursuit, lambda: candidates(problem, "auto"), None, limits)


@solver("kernel_decomposition", kind="kernel")
class Decomposition:
    """Blocks until the violation is small, then the active set: losses of straight and quadratic pieces."""

    def missing(self, problem: KernelProblem) -> tuple[str, ...]:
        pieces = Trait.PIECEWISE_QUADRATIC in problem.loss.traits
        return () if pieces else ("the loss is not made of quadratic pieces",)

    def cost(self, problem: KernelProblem) -> float:
        """A factorisation of K where the loss is one quadratic; else some products with K."""
        if Trait.QUADRATIC in problem.loss.traits:
            return problem.n**3 / 3.0
        return PASSES * problem.n**2

    def iterates(self, problem: KernelProblem, start: Proposal) -> Iterator[Proposal]:
        return decomposition(problem, start.beta)


@solver("kernel_newton", kind="kernel")
class KernelNewton:
    """Newton's iterates, each with the dual point of its slopes: smooth losses."""

    def missing(self, problem: KernelProblem) -> tuple[str, ...]:
        return () if Trait.SMOOTH in problem.loss.traits else ("the loss is not smooth",)

    def cost(self, problem: KernelProblem) -> float:
        """As much as a factorisation of the most rows that are factorised: beyond, it goes by products."""
        return DENSE * problem.n**2 / 3.0

    def iterates(self, problem: KernelProblem, start: Proposal) -> Iterator[Proposal]:
        beta = start.beta
        level = problem.best_intercept(problem.gram.product(beta))
        for found in newton(problem, beta, level):
            if found is None:
                yield Proposal("newton", beta, certify=False)
            else:
                beta, f, b = found
                yield Proposal("newton", beta, f, b)


@solver("kernel_factor", kind="kernel")
class KernelFactor:
    """K = RRᵀ and the linear solvers, slow and always there; then the active set from where they ended."""

    def missing(self, problem: KernelProblem) -> tuple[str, ...]:
        few = problem.n <= LARGEST
        return () if few else (f"{problem.n} rows are more than {LARGEST}: K is not factorised",)

    def cost(self, problem: KernelProblem) -> float:
        """Eigenvectors of the most rows that it takes: others go first."""
        return 9.0 * LARGEST * problem.n**2

    def iterates(self, problem: KernelProblem, start: Proposal) -> Iterator[Proposal]:
        R = factor(problem.gram.whole)
        outcome = linear_outcome(problem, R, Limits(STRICTER * start.wanted))
        name, beta = f"factor, {outcome.solver}", lifted(problem, outcome)
        yield Proposal(name, beta)
        yield pulled_back(problem, R, outcome, name)
        if Trait.PIECEWISE_QUADRATIC in problem.loss.traits:
            box = box_of(problem)
            parts = box.split(problem.feasible(2.0 * problem.lam * beta) / (2.0 * problem.lam))
            for near in NEAR:
                yield from _finish(problem, box, box.snapped(parts, near))


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
        if (
            f is not None
            and problem.gram.quick is not problem.gram.exact
            and free_variables(box, parts).any()
        ):
            try:
                pause = Proposal("active_set", box.joined(parts), certify=False)
                yield from (found or pause for found in RefinedSet(problem, box, parts, f).run())
                return
            except np.linalg.LinAlgError:
                pass
        image = problem.precise if _coarse(problem, box, parts) else None
        yield from filter(None, ActiveSet(box, problem.gram, problem.intercept, parts, image).run())
    except np.linalg.LinAlgError:
        return


def _coarse(problem: KernelProblem, box: Box, parts: Vector) -> bool:
    """Do coefficients of this size leave a plain product too few digits to tell which rows lie on a kink?"""
    size = float(np.sqrt(np.abs(problem.gram.diagonal)) @ np.abs(box.joined(parts)))
    top = float(np.sqrt(np.abs(problem.gram.diagonal).max()))
    return problem.gram.small and U * size * top > COARSE * box.unit
