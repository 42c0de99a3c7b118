"""Weights moved onto lower ≤ Aw ≤ upper, inside their bounds: a few projections, for points that are near."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from dualgap.arrays import Vector

if TYPE_CHECKING:
    from dualgap.problem.problem import Problem

ROUNDS = 20  # of projections; what is not met then is too far away
NEAR = 1e-11  # of the size of a row's terms: rows that are met so closely are kept in a move


def onto(problem: Problem, w: Vector) -> Vector:
    """The nearest weights that meet the rows missed, again until none is; w itself where none ever was."""
    constraints, tied = problem.constraints, problem.intercept
    assert constraints is not None
    A, given, box = constraints.matrix, w, problem.regulariser.box
    count = A.shape[1]
    for _ in range(ROUNDS):
        coef = problem.coef(w)
        value, size = A @ coef, constraints.sizes(coef)
        target = np.clip(value, constraints.lower, constraints.upper)
        off = target - value
        if np.all(np.abs(off) <= 4e-16 * size):
            break
        edge = (np.abs(value - constraints.lower) <= NEAR * size) | (
            np.abs(value - constraints.upper) <= NEAR * size
        )
        rows = edge | (off != 0.0)
        loose = np.ones(count, dtype=bool)
        if box is not None:  # weights at an end stay there, unless nothing else can move
            loose = (coef > box.low[:count]) & (coef < box.high[:count])
            if not A[np.ix_(off != 0.0, loose)].any():
                loose = np.ones(count, dtype=bool)
        step = np.linalg.lstsq(A[np.ix_(rows, loose)], off[rows], rcond=None)[0]
        moved = coef.copy()
        moved[loose] += step
        w = problem.regulariser.feasible(np.append(moved, w[-1]) if tied else moved)
    return given if np.array_equal(w, given) else w
