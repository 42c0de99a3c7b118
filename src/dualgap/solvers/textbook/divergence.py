"""Steps that are too long do not pass in silence."""

from __future__ import annotations

import numpy as np

from dualgap.problem.problem import Problem
from dualgap.solvers.base import Divergence
from dualgap.solvers.textbook.slopes import curvature_bound, loss_curvature

FAR = 1e6  # an objective this many times that of w = 0 has run away


def watch(problem: Problem, objective: float, step: float) -> None:
    """Raise Divergence where the objective has run away, with a step that would work."""
    if np.isfinite(objective) and objective <= FAR * max(problem.null, 1e-300):
        return
    raise Divergence(
        f"The step {step:.3g} is too long: the objective ran away to {objective:.3g} "
        f"(at w = 0 it is {problem.null:.3g}). {advice(problem)}"
    )


def advice(problem: Problem) -> str:
    """A step that works for this problem."""
    bound = curvature_bound(problem)
    if not np.isfinite(bound):
        bound = loss_curvature(problem)
    if np.isfinite(bound) and bound > 0:
        return f"Steps up to 1/L = {1.0 / bound:.3g} work here; standardised columns allow longer ones."
    rows = float(np.sqrt(problem.design.row_square_norms().max(initial=0.0)))
    return f"The longest row has length {rows:.3g}; try steps of about {1.0 / max(rows, 1e-300) ** 2:.3g}."
