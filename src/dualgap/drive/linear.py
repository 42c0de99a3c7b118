"""Convex problems with weights, of one class or many, as the loop wants them: solved in good coordinates, and
proven in those that were asked.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import numpy as np

from dualgap.arrays import Vector
from dualgap.drive.limits import Status
from dualgap.drive.proof_schedule import affordable
from dualgap.drive.pursuit import End, Look, Pursuit
from dualgap.drive.solver import Adviser, Iterate
from dualgap.problem.certificate import Bounds, bounds, proven
from dualgap.problem.precondition import Working
from dualgap.problem.problem import Problem
from dualgap.proof.check import Checked
from dualgap.traits import Trait

PROMISING = 0.3  # relative gap of a start from which solvers go on, w = 0 not looked at: a choice
MOSTLY = 0.3  # share of a gap that rounding makes up when the sentence blames rounding: a choice
FITTED = 1e-24  # share of the loss of no weights: predictions are off by 1e-12 of what they are
BEYOND = 1e-6  # share of a budget that the weights use when the sentence blames the budget: a choice
SOFT = 1e12  # steps in units of 1/m: what a prox then leaves of 1/m is rounding
LOOKS, NOTHING = 3, 1e-3  # iterates, and share of the tolerance, at which weights of zero are believed
SAME = 1e-12  # share of the objective by which rounding may hide that weights are better than none
HORIZON = 10_000  # iterates of an algorithm that is watched, where no limit was given: a choice, seconds


class LinearPursuit(Pursuit[Problem, Iterate]):
    """Weights and θ: the best of each half, and what the kernel said of the last pair it was asked about."""

    def __init__(self, working: Working, tolerance: float, *, bare: bool = False) -> None:
        self.working, self.problem, self.tolerance = working, working.problem, tolerance
        self._bare = bare  # is nothing looked at before the first solver's answer?
        self.best: Bounds | None = None
        self._seen: Bounds | None = None
        self._start: Iterate | None = None
        self._judged: tuple[Bounds, Checked] | None = None
        self._unproven = False  # the last iterate came without a bound
        self._refused = 0  # how often weights of zero were not believed

    @property
    def empty(self) -> bool:
        return self.best is None

    # -- where to start ------------------------------------------------------------------------------

    def starts(self, start: Iterate | None) -> Iterator[Iterate]:
        """The start, if there is one; then w = 0 with the dual point 0, and with its own if it may be
        optimal.

        An algorithm that is to be watched starts where it was told to, or at 0, even if that is optimal.
        """
        problem = self.problem
        if self._bare:
            if start is not None:
                yield start
            return
        if self.working.as_given:
            self._start = start if start is not None else Iterate(np.zeros(problem.p))
            yield replace(self._start, theta=np.zeros(problem.n), certify=False)
            return
        if start is not None:
            yield start
            if self._relative_gap < PROMISING:
                return
        w, prediction, theta = problem.null_weights, problem.null_prediction, problem.null_dual
        yield Iterate(w, np.zeros_like(theta), prediction)  # no loss is below its minimum
        if Trait.QUADRATIC not in problem.regulariser.traits or problem.free.any() or not problem.p:
            yield Iterate(w, theta, prediction)

    def origin(self, most: int | None) -> Iterate:
        if self._start is not None:
            return self._start
        if self.best is None and self._bare:
            return Iterate(self.problem.null_weights, wanted=self.tolerance)
        best = self._kept
        return Iterate(best.w, best.theta, correlation=best.correlation, wanted=self.tolerance)

    def move(self, working: Working) -> None:
        """Go on in other coordinates, from the best so far."""
        best = self.best
        self.working, self.problem, self._bare = working, working.problem, False
        self.best = self._seen = self._judged = None
        if best is not None:
            w, theta = working.coordinates(best.w), working.working_theta(best.theta)
            self.best = bounds(self.problem, w, theta)

    def horizon(self, solver: Any) -> int | None:
        return getattr(solver, "horizon", HORIZON) if self.working.as_given else None

    # -- what seems ----------------------------------------------------------------------------------

    def sound(self, iterate: Iterate) -> bool:
        return bool(np.isfinite(iterate.w).all())

    def take(self, iterate: Iterate, *, watched: bool) -> Look | None:
        if not iterate.look and not watched:
            return None
        self.remark, self._unproven = iterate.remark, not iterate.certify
        seen = self._looked(iterate)
        best = self.best = self._better(iterate, seen)
        self._seen, unit = seen, self.working.objective_unit
        return Look(
            seen.primal * unit, best.primal * unit, best.dual * unit, iterate.step, self.nonzero(seen.w)
        )

    def _looked(self, iterate: Iterate) -> Bounds:
        """Objective and bound; the objective alone, in the best bound's company, where no proof is due."""
        inner = self.problem
        if iterate.outright and iterate.theta is not None and (self._bare or self.best is not None):
            return self._outright(iterate.w, iterate.theta)
        if iterate.certify or self.best is None:
            return bounds(inner, iterate.w, iterate.theta, iterate.prediction, iterate.correlation)
        inside = inner.moved(iterate.w)
        prediction = iterate.prediction if inside is iterate.w else None
        primal = inner.primal(inside, prediction)
        return replace(self.best, w=inside, primal=primal if np.isfinite(primal) else np.inf)

    def _outright(self, w: Vector, theta: Vector) -> Bounds:
        """Both values from the asked problem at once: a point that is likely to be the answer."""
        found = self._asked(Bounds(w, theta, np.inf, -np.inf))
        unit = self.working.objective_unit
        return Bounds(w, theta, found.primal / unit, found.dual / unit)

    def _better(self, iterate: Iterate, seen: Bounds) -> Bounds:
        if self.best is None:
            return seen
        if not iterate.answer:
            return self.best.improved(seen)
        proof = seen if seen.dual >= self.best.dual else self.best
        return replace(proof, w=seen.w, primal=seen.primal)

    @property
    def _kept(self) -> Bounds:
        if self.best is None:  # nothing was looked at yet
            self.best = bounds(self.problem, self.problem.null_weights, self.problem.null_dual)
        return self.best

    @property
    def _relative_gap(self) -> float:
        return self.problem.relative(self._kept.gap, self._kept.primal)

    # -- what is proven ------------------------------------------------------------------------------

    def proven(self) -> Checked | None:
        """Is the gap small on the working problem, and then on the problem that was asked?"""
        if self._unproven or self._relative_gap > self.tolerance:
            return None
        if not self._left_zero():
            return None
        final = self._asked(self._kept)
        return final if self.relative(final.gap, final.primal) <= self.tolerance else None

    def _left_zero(self) -> bool:
        """Under a strong price w = 0 may be within the tolerance where the optimum is small, but not zero.

        A strongly convex price has weights that go with θ, as near as θ is. They are taken; where they do
        no better (the constant would have to move with them), a solver is to look: for some iterates, since
        zero may be the best there is, as it is for the joint hinge where no class has half of the chances.
        """
        best, price = self._kept, self.problem.regulariser
        if self.working.as_given or best.correlation is None or best.w[~price.free].any():
            return True
        m = price.strong_convexity()
        if m <= 0.0:
            return True
        step = SOFT / m
        w = np.where(price.free, best.w, price.prox(step * best.correlation, step))
        if not w[~price.free].any():
            return True
        seen = bounds(self.problem, w)
        if seen.primal > best.primal + SAME * abs(best.primal):
            self._refused += 1
            return self._refused > LOOKS and self._relative_gap <= NOTHING * self.tolerance
        proof = seen if seen.dual >= best.dual else best
        self.best = replace(proof, w=seen.w, primal=seen.primal)
        return True

    def settled(self) -> Checked:
        """With the proof that the last iterates went without."""
        if self._unproven and affordable(self.problem):
            with np.errstate(all="ignore"):
                self.best = self._kept.improved(bounds(self.problem, self._kept.w))
        final, asked = self._asked(self._kept), self.working.asked
        if self.working.as_given or final.primal <= asked.null:
            return final
        # weights that lose all their digits on the way back from good coordinates: none are better
        return final.improved(proven(asked, asked.null_weights, final.theta, self.tolerance))

    def _asked(self, best: Bounds) -> Checked:
        """What the kernel says of these points on the asked problem."""
        last = self._judged
        if last is None or last[0].w is not best.w or last[0].theta is not best.theta:
            w, theta = self.working.weights(best.w), self.working.theta(best.theta)
            last = self._judged = best, proven(self.working.asked, w, theta, self.tolerance)
        return last[1]

    # -- what is told --------------------------------------------------------------------------------

    def relative(self, gap: float, objective: float) -> float:
        return self.working.asked.relative(gap, objective)

    def weights(self) -> Vector:
        assert self._seen is not None
        return self.working.weights(self._seen.w)

    def told(self, end: End) -> tuple[Status, str]:
        """Rounding is blamed for a gap that it makes up; an algorithm that was watched gives its advice."""
        status, said = end.status, end.said or self.remark
        if status is Status.STALLED and end.final.rounding >= MOSTLY * end.final.gap:
            status = Status.ROUNDING
        if status in (Status.STALLED, Status.ROUNDING) and not said:
            said = _unreached(self.working.asked, end.final)
        watched = self.working.as_given and status is not Status.CERTIFIED
        if watched and not said and isinstance(end.solver, Adviser):
            rising = not end.trace[-1].objective <= end.trace[0].objective
            said = f"{status.value} {end.solver.advice(self.problem, rising=rising)}".rstrip()
        return status, said


def _unreached(asked: Problem, final: Checked) -> str:
    """A sentence where nothing is left to be shares of: every row is fitted, or a budget is so far beyond the
    weights that rounding weighs more than the tolerance.
    """
    price = asked.regulariser
    if final.primal <= FITTED * asked.risk(asked.predict(np.zeros_like(final.w))):
        return (
            "Every row is fitted as closely as numbers can be: what is left of the objective is rounding, of "
            "which no share can be proven."
        )
    if not price.constrained:
        return ""
    used = price.gauge.value(final.w)
    if not used <= BEYOND * price.radius:
        return ""
    return (
        f"The budget of {price.radius:g} is far beyond these weights, which use {used:.3g} of it, so that "
        "rounding times the budget is more than the tolerance: take a smaller one, or penalty='none'."
    )
