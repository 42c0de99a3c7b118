"""The objective at some weights, from above: in plain digits, and by the kernel where these are too few."""

from __future__ import annotations

import numpy as np

from dualgap.arrays import Vector
from dualgap.problem.problem import Problem
from dualgap.proof.check import searched
from dualgap.proof.rounding import FEW, gamma, total
from dualgap.proof.statement import SMALL
from dualgap.traits import Trait

ENOUGH = 0.01  # of the tolerance: what rounding may add before more digits are spent on it


def reached(problem: Problem, w: Vector, tolerance: float) -> float:
    """P(w) at most.

    A loss that is convex, or rises or falls throughout, is nowhere within the error of a prediction above
    what it is at both ends. One that jumps is left to the kernel.
    """
    if problem.loss_has(Trait.CONVEX) or problem.loss_has(Trait.SMOOTH):
        with np.errstate(all="ignore"):
            t, error = problem.misses(w)
            loss, y, _ = problem.centred
            ends = [loss.value(y, t + side * error) for side in (-2.0, 2.0)]
            risk, priced = total(problem.a * np.maximum(*ends)), problem.regulariser.value(w)
            over = risk - float(problem.a @ np.minimum(*ends))
            found = (risk + priced) * (1.0 + 4.0 * FEW + gamma(len(w)))
        if over <= ENOUGH * tolerance * max(found, SMALL * abs(problem.null)):
            return found
    return searched(problem, w, 0.0, None).primal
