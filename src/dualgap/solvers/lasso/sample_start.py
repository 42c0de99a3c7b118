"""Where rows are many, the minimiser on some is a start, and their curvatures do for a step from there.

What all rows are needed for is then one product Xw, one or two Xᵀθ, and a matrix of the columns that stay.
"""

from __future__ import annotations

import numpy as np

from dualgap.arrays import Vector
from dualgap.drive.solver import Iterate
from dualgap.linalg.line_search import convex_step
from dualgap.problem.problem import Problem
from dualgap.solvers.curvature_floor import CurvatureFloor
from dualgap.solvers.lasso.l1_quadratic import violation
from dualgap.solvers.lasso.model_matrix import ModelMatrix
from dualgap.solvers.lasso.working_models import BentModel
from dualgap.solvers.lasso.working_point import EDGE, PricedColumns
from dualgap.solvers.prices import plain, prices
from dualgap.solvers.sampling import in_runs, of_rows
from dualgap.solvers.tall_point import RUN
from dualgap.traits import Trait

ROWS, LEAST = 10, 1000  # of the sample, for each column and in all; fewer took a half longer on 5000 × 300
SHARE = 25  # a row in so many at most is in it; with more of them all rows took less time from the start
AT_ONCE = 1e-9  # of a step: the slope of a price at its start is that on the way
ROUGH = 0.05  # relative gap at which the minimiser is near enough: as far as the rows left out move it
EXACT = 0.5  # share of the violations that a step over all rows may leave


def of_a_sample(problem: Problem, start: Iterate) -> Iterate | None:
    """A step from the minimiser on some of the rows; None where there are too few, or a start."""
    n, p = problem.design.features.shape
    rows = max(ROWS * p, LEAST)
    if SHARE * rows > n or problem.loss_has(Trait.QUADRATIC) or start.w[:p].any() or not plain(problem):
        return None
    some = of_rows(problem, in_runs(n, n // rows, RUN))
    few = BentModel(PricedColumns(some, Iterate(start.w, wanted=ROUGH), problem.null))
    few.point.first = float(p)  # all columns at once: a set of so few rows is soon solved
    few.point.choose()
    few.minimise()
    w = few.point.asked()
    if not np.isfinite(w).all():
        return None
    return _step(problem, few, w) if len(few.kept.h) else Iterate(w)


def _step(problem: Problem, few: BentModel, w: Vector) -> Iterate:
    """Over all rows from w, with the curvatures of a few."""
    z, design = problem.predict(w), problem.design.features
    p = design.shape[1]
    theta, h = problem.slope(z), CurvatureFloor(problem).curvature(z)
    level, total = (float(theta.sum()), float(h.sum())) if problem.intercept else (0.0, 1.0)
    price, ridge = prices(problem)
    pull = design.transpose_matvec(theta - (level / total) * h if level else theta) - ridge[:p] * w[:p]
    live = np.flatnonzero((w[:p] != 0.0) | (np.abs(pull) > EDGE * price[:p]))
    here, residual = w[live].copy(), pull[live]
    enough = EXACT * min(1.0, violation(here, residual, price[live]))
    ModelMatrix(few.matrix(live)).solve(here, residual, price[live], enough)
    step = np.zeros(problem.p)
    step[live] = here - w[live]
    along = design.matvec(step[:p])
    if problem.intercept:
        step[p] = (level - float(h @ along)) / total
        along += step[p]
    paid, bent = price * step, ridge * step

    def slope(s: float) -> float:
        ahead = w + max(s, AT_ONCE) * step
        smooth = theta if s == 0.0 else problem.slope(z + s * along)
        return float(paid @ np.sign(ahead)) + float(bent @ ahead) - float(smooth @ along)

    length = convex_step(slope)
    return Iterate(w + length * step, prediction=z + length * along)
