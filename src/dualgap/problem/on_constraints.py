"""Weights moved onto lower ≤ Aw ≤ upper, inside their bounds: a few projections, for points that are near."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

import numpy as np

from dualgap.arrays import Matrix, Vector
from dualgap.linalg.cholesky import cholesky
from dualgap.penalties.weight_bounds import WeightBounds
from dualgap.proof.constraints import Constraints

if TYPE_CHECKING:
    from dualgap.problem.problem import Problem

ROUNDS = 20  # of projections; what is not met then is too far away
ROUNDED = 4e-16  # of the size of a row's terms: nothing is to be had below
LEAST = 2.0**-1022  # sizes below it count as this
NEAR = 1e-11  # of the size of a row's terms: rows that are met so closely are kept in a move
CLOSE, PROGRAMS = 1e-2, 3  # of the size of any row's terms: linear programs put right what is missed by less
SMALL, LARGE = (
    10_000,
    1_000_000,
)  # numbers in A for which one takes 10 ms, whatever is missed, and half a second
INDEPENDENT = 1e-6  # share of a row's square that the others must leave; a singular value decomposition of
# 49 × 50 took ten times as long


def onto(problem: Problem, w: Vector) -> Vector:
    """The nearest weights that meet the rows missed, again until none is; w itself where none ever was."""
    constraints, box, tied = problem.constraints, problem.regulariser.box, problem.intercept
    assert constraints is not None

    def inside(coef: Vector) -> Vector:
        return problem.coef(problem.regulariser.feasible(np.append(coef, w[-1]) if tied else coef))

    coef = problem.coef(w)
    ends = None if box is None else WeightBounds(box.low[: len(coef)], box.high[: len(coef)])
    found = _projected(constraints, ends, coef, inside)
    if np.array_equal(found, coef):
        return w
    return np.append(found, w[-1]) if tied else found


def nearest_on(constraints: Constraints, box: WeightBounds, coef: Vector) -> Vector:
    """The same with bounds alone."""
    return _projected(constraints, box, coef, box.clip)


def _projected(
    constraints: Constraints, box: WeightBounds | None, coef: Vector, inside: Callable[[Vector], Vector]
) -> Vector:
    A, best, least = constraints.matrix, coef, np.inf
    for _ in range(ROUNDS + 1):
        value, size = A @ coef, constraints.sizes(coef)
        off = np.clip(value, constraints.lower, constraints.upper) - value
        if np.all(np.abs(off) <= ROUNDED * size) or not np.all(np.isfinite(size)):
            return coef
        # a ball may take back more than a step has given
        missed = float(np.max(np.abs(off) / np.maximum(size, LEAST)))
        if missed < least and (box is None or np.array_equal(box.clip(coef), coef)):
            best, least = coef, missed
        near = np.minimum(np.abs(value - constraints.lower), np.abs(value - constraints.upper))
        rows = (near <= NEAR * size) | (off != 0.0)
        loose = np.ones(len(coef), dtype=bool)
        if box is not None:  # weights at an end stay there, unless nothing else can move
            loose = (coef > box.low) & (coef < box.high)
            if not A[np.ix_(off != 0.0, loose)].any():
                loose = box.low < box.high
        moved = coef.copy()
        try:
            moved[loose] += _shortest(A[np.ix_(rows, loose)], off[rows])
        except np.linalg.LinAlgError:  # numbers beyond floats: these weights are not to be mended
            break
        coef = inside(moved)
    value = A @ best
    off = np.abs(np.clip(value, constraints.lower, constraints.upper) - value)
    close = bool(off.max(initial=0.0) <= CLOSE * constraints.sizes(best).max(initial=0.0))
    if A.size > (LARGE if close else SMALL) or not np.isfinite(off).all():
        return best
    found = _by_programs(constraints, box, best)
    return best if found is None else inside(found)


def _by_programs(constraints: Constraints, box: WeightBounds | None, coef: Vector) -> Vector | None:
    """The nearest in Σ|step| by a linear program, which is told of the step in units of what is missed.

    Rows and bounds that leave some weights one value alone need it: each projection brings others back.
    """
    from scipy.optimize import linprog  # here: most fits never need it

    A, p = constraints.matrix, len(coef)
    low, high = (np.full(p, -np.inf), np.full(p, np.inf)) if box is None else (box.low, box.high)
    below, above = np.isfinite(constraints.lower), np.isfinite(constraints.upper)
    rows = np.vstack([A[above], -A[below]])
    for _ in range(PROGRAMS):
        value, size = A @ coef, constraints.sizes(coef)
        off = np.clip(value, constraints.lower, constraints.upper) - value
        if np.all(np.abs(off) <= ROUNDED * size):
            break
        unit = max(float(np.abs(off).max()), LEAST)
        room = np.concatenate([(constraints.upper - value)[above], (value - constraints.lower)[below]])
        ends = np.column_stack([np.zeros(2 * p), np.append(high - coef, coef - low) / unit])
        step = linprog(np.ones(2 * p), np.hstack([rows, -rows]), room / unit, bounds=ends, method="highs").x
        if step is None:
            return None
        moved = np.clip(coef + unit * (step[:p] - step[p:]), low, high)
        coef = np.where(np.abs(moved) <= ROUNDED * np.abs(coef).max(), np.clip(0.0, low, high), moved)
    return np.asarray(coef)


def _shortest(A: Matrix, right: Vector) -> Vector:
    """The shortest step with A step = right, or nearest to it: by AAᵀ, unless rows depend on each other."""
    try:
        solve = cholesky(A @ A.T, (0.0,), lost=INDEPENDENT)
    except np.linalg.LinAlgError:
        return np.asarray(np.linalg.lstsq(A, right, rcond=None)[0], dtype=np.float64)
    step = A.T @ solve(right)
    return np.asarray(step + A.T @ solve(right - A @ step))  # to the last bit: a weight at a bound is at it
