"""A first step length for stochastic methods: a safe one, then trials on a few rows."""

from __future__ import annotations

import numpy as np

from dualgap.problem.problem import Problem
from dualgap.solvers.textbook.passes import Runner, SampledRows
from dualgap.solvers.textbook.schedules import Falling
from dualgap.traits import Trait

SAMPLE = 1000  # rows of a trial (Bottou, 2012)
FEW = 20  # rows that are too few for a trial
PATIENCE = 2  # doublings without a gain end the trials: a choice


def tried_length(problem: Problem) -> float:
    """Of 2ʲ times the safe step the one with which a pass over a thousand rows fits them best (Bottou, 2012).

    Longer steps than the safe one are tried only where slopes are bounded: there a row cannot throw w far
    off, elsewhere one long row can.
    """
    safe = first_length(problem)
    if problem.n < FEW:
        return safe
    trial = _Trial(problem)
    longer = trial.best(safe, 2.0) if np.all(np.isfinite(problem.dual_bounds)) else safe
    return longer if longer > safe else trial.best(safe, 0.5)


class _Trial:
    """One pass from w = 0 over some rows with a constant step, judged by the objective on them."""

    def __init__(self, problem: Problem) -> None:
        self.problem, self.rows = problem, SampledRows.of(problem)
        self.drawn = np.random.default_rng(0).permutation(problem.n)[:SAMPLE]
        self.design = problem.design.rows(self.drawn)

    def value(self, size: float) -> float:
        """The objective after the pass."""
        problem = self.problem
        run = Runner(np.zeros(problem.p), Falling(size, power=0.0), intercept=problem.intercept)
        run.run(self.rows, self.drawn)
        w = run.weights()
        a = problem.a[self.drawn]
        losses = problem.loss.value(problem.y[self.drawn], self.design.matvec(w))
        found = float(a @ losses) / float(a.sum()) + problem.regulariser.value(w)
        return found if np.isfinite(found) else np.inf

    def best(self, size: float, factor: float) -> float:
        """Go on by the factor while it helps."""
        best, least, waited = size, self.value(size), 0
        while waited < PATIENCE:
            size *= factor
            value = self.value(size)
            waited = 0 if value < least else waited + 1
            if value < least:
                best, least = size, value
        return best


def first_length(problem: Problem) -> float:
    """1/(L''·‖x‖² + ridge) for the longest row; of a kink, what moves z by the scale of the loss."""
    longest = float(problem.design.row_square_norms().max(initial=0.0)) or 1.0
    heaviest = float(problem.a.max()) * problem.n
    ridge = 2.0 * problem.regulariser.strong_convexity()
    bend = float(problem.a @ np.abs(problem.loss.derivative(problem.y, np.zeros(problem.n))))
    curvature = problem.loss.curvature
    if not np.isfinite(curvature) and problem.loss_has(Trait.SMOOTH):
        curvature = max(bend, 1e-12)
    if not np.isfinite(curvature):
        reach = problem.risk(np.zeros(problem.n)) / bend if bend > 0 else 1.0
        curvature = 1.0 / (reach or 1.0)
    return 1.0 / (curvature * longest * heaviest + ridge)
