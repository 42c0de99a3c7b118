"""Steps that are too long do not pass in silence."""

from __future__ import annotations

import numpy as np

from dualgap.arrays import Vector
from dualgap.drive.solver import Divergence
from dualgap.problem.problem import Problem
from dualgap.solvers.textbook.slopes import curvature_bound, loss_curvature, polyak
from dualgap.traits import Trait

FAR = 1e6  # an objective this many times that of w = 0 has run away
UNEVEN = 30.0  # columns that differ more in size are worth a word
NEAR = 1e3  # predictions within this many times the targets are not worth a look


class Watch:
    """Raises Divergence where the objective runs away, with a step that would work."""

    def __init__(self, problem: Problem, remedy: str | None = None) -> None:
        self.problem, self.remedy = problem, remedy
        self.ceiling = FAR * max(problem.null, problem.primal(np.zeros(problem.p)), 1e-300)
        self.reach = NEAR * max(float(np.abs(problem.y).max(initial=0.0)), 1.0)

    def look(self, w: Vector, prediction: Vector, step: float) -> None:
        """At an iterate: cheap while predictions are of the size of the targets."""
        if -self.reach <= float(prediction.min()) and float(prediction.max()) <= self.reach:
            return
        objective = self.problem.primal(w, prediction)
        if np.isfinite(objective) and objective <= self.ceiling:
            return
        where = f"to {objective:.3g}" if np.isfinite(objective) else "beyond all numbers"
        raise Divergence(
            f"The step {step:.3g} is too long: the objective ran away {where} "
            f"(at w = 0 it is {self.problem.null:.3g}). {self.remedy or good_step(self.problem)}"
        )


def advice(problem: Problem, rising: bool, remedy: str | None = None, size: float | None = None) -> str:
    """Why a run ended far from the optimum; nothing where there is nothing to say.

    `size` is the step of a method that needs it to be below 2/L, where it stayed the same.
    """
    if rising:
        return f"The last objective is above the first: the step is too long. {remedy or good_step(problem)}"
    if size is not None:
        curvature = loss_curvature(problem)
        if np.isfinite(curvature) and size * curvature > 2.0:
            return f"The step {size:.3g} is too long: beyond 2/L nothing is certain. {good_step(problem)}"
    length = np.sqrt(problem.design.weighted_square_norms(problem.a))
    length = length[length > 0]
    spread = float(length.max(initial=1.0) / length.min(initial=np.inf)) if len(length) else 1.0
    if spread < UNEVEN:
        return ""
    return (
        f"The columns{', the ones among them,' if problem.intercept else ''} differ in size by a factor of "
        f"{spread:.2g}, which slows every gradient method: scale them."
    )


def good_step(problem: Problem) -> str:
    """A step that works for this problem."""
    bound = curvature_bound(problem)
    if not np.isfinite(bound):
        bound = loss_curvature(problem)
    if np.isfinite(bound) and bound > 0:
        return f"Steps up to 1/L = {1.0 / bound:.3g} work here; columns of equal size allow longer ones."
    if problem.loss_has(Trait.SMOOTH):
        return "The curvature of this loss has no bound: use step=dg.steps.Backtracking()."
    return f"Steps α/√k with α = {polyak(problem):.3g} work here."
