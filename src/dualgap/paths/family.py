"""The problems along a path, one for each strength: as they were asked, and as solvers work on them."""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass

import numpy as np

from dualgap.arrays import Matrix, Vector
from dualgap.drive.limits import Status
from dualgap.drive.run import Outcome
from dualgap.drive.trace import Trace
from dualgap.fitting.names import penalty_named
from dualgap.fitting.reading import Reading
from dualgap.fitting.solution import Solution
from dualgap.fitting.telling import told
from dualgap.penalties import Constrained, Penalised
from dualgap.penalties.bounded import bounded
from dualgap.penalties.forms import unregularised
from dualgap.penalties.weight_bounds import WeightBounds
from dualgap.problem.certificate import judged, proven
from dualgap.problem.precondition import Working
from dualgap.problem.problem import Problem
from dualgap.problem.repeated import reduced
from dualgap.proof.check import Checked


@dataclass(frozen=True, eq=False)
class Pair:
    """A primal and, if it is known, a dual point, in working coordinates."""

    w: Vector
    theta: Vector | None


@dataclass(frozen=True, eq=False)
class Family:
    """Strengths in here are those of the working problem: `unit` times them are those that users see.

    Values of the penalty, hence budgets, are the same in both.
    """

    reading: Reading
    asked: Problem  # with strength 1
    working: Working

    @property
    def unit(self) -> float:
        """λ as users see it, divided by λ of the working problem."""
        return self.working.objective_unit

    @property
    def problem(self) -> Problem:
        """The working problem, at some strength."""
        return self.working.problem

    def value(self, w: Vector) -> float:
        """h(w) of working weights."""
        return self.problem.regulariser.gauge.value(w)

    def at(self, lam: float) -> Working:
        """Both problems at the working strength λ; at 0 every weight is free."""
        if lam > 0.0:
            asked = self.asked.with_regulariser(_at(self.asked, lam * self.unit))
            inner = self.problem.with_regulariser(_at(self.problem, lam))
        else:
            asked = self.asked.with_regulariser(bounded(unregularised(self.asked.p), _box(self.asked)))
            inner = self.problem.with_regulariser(bounded(unregularised(self.problem.p), _box(self.problem)))
        return dataclasses.replace(self.working, asked=asked, problem=inner)

    def within(self, budget: float) -> Working:
        """Both problems under a budget."""
        penalty = self.reading.terms.penalty
        asked, inner = (
            one.with_regulariser(bounded(penalty.within(one.regulariser.gauge, budget), _box(one)))
            for one in (self.asked, self.problem)
        )
        return dataclasses.replace(self.working, asked=asked, problem=inner)

    def weights(self, u: Matrix) -> tuple[Matrix, Vector]:
        """Coefficients and intercepts as users see them, one row per row of u."""
        working = self.working
        features = u[:, :-1] if self.asked.intercept else u
        kept = features * (working.unit / working.scale)
        coef = kept if working.keep.all() else np.zeros((len(u), len(working.keep)))
        if not working.keep.all():
            coef[:, working.keep] = kept
        level = np.zeros(len(u))
        if self.asked.intercept:
            level = working.unit * u[:, -1] + working.offset - kept @ working.centre
        return (coef if working.sums is None else working.sums.weights(coef)), level

    def points(self, u: Matrix) -> Matrix:
        """The same, intercept last."""
        coef, intercept = self.weights(u)
        return np.column_stack([coef, intercept]) if self.asked.intercept else coef

    def judged(self, working: Working, w: Vector, theta: Vector | None, tolerance: float = 1e-9) -> Checked:
        """Objective at these very weights, as the path tells them, and bound."""
        dual = None if theta is None else working.asked.feasible(working.theta(theta))[0]
        return judged(working.asked, w, dual, tolerance)

    def proof(self, working: Working, pair: Pair, tolerance: float = 1e-9) -> Checked:
        """Objective and bound on the problem that was asked."""
        theta = None if pair.theta is None else working.asked.feasible(working.theta(pair.theta))[0]
        return proven(working.asked, working.weights(pair.w), theta, tolerance)

    def solution(self, working: Working, outcome: Outcome, tolerance: float) -> Solution:
        """The public answer."""
        terms = self.reading.terms
        regulariser = working.asked.regulariser
        if regulariser.constrained:
            terms = dataclasses.replace(terms, lam=None, budget=regulariser.radius)
        else:
            lam = 0.0 if regulariser.gauge.free.all() else regulariser.strength
            terms = dataclasses.replace(terms, lam=lam, budget=None)
        reading = dataclasses.replace(self.reading, terms=terms)
        return told(reading, working.asked, outcome, tolerance)


def _box(problem: Problem) -> WeightBounds | None:
    return problem.regulariser.box


def _at(problem: Problem, strength: float) -> Penalised | Constrained:
    return bounded(Penalised(problem.regulariser.gauge, strength), _box(problem))


def at_first(reading: Reading) -> Reading:
    """With the convex penalty that has the same slope at zero, where another would not do for a strength."""
    same = reading.terms.penalty.slope_at_zero
    if same is None:
        return reading
    return dataclasses.replace(reading, terms=dataclasses.replace(reading.terms, penalty=penalty_named(same)))


def family_of(reading: Reading, targets: Vector) -> Family:
    """The problem stated with strength 1."""
    terms = dataclasses.replace(reading.terms, lam=1.0, budget=None)
    asked = terms.problem(reading.table.design, targets)
    return Family(reading, asked, reduced(asked))


def as_outcome(working: Working, found: Checked, tolerance: float, solver: str, seconds: float) -> Outcome:
    """A proof that no driver made, in the driver's words."""
    proven = working.asked.relative(found.gap, found.primal) <= tolerance
    status = Status.CERTIFIED if proven else Status.STALLED
    return Outcome(found, status, solver, 0, seconds, Trace())
