"""Weights that are zero at the optimum, made zero in the answer."""

from __future__ import annotations

import numpy as np

from dualgap.arrays import Mask, Vector
from dualgap.problem.certificate import proven
from dualgap.problem.problem import Problem
from dualgap.proof.check import Checked

SLACKS = (1e-6, 1e-4, 1e-2)  # of a price: as many zeros as the gap allows, then only the surer ones


def with_zeros(problem: Problem, best: Checked, tolerance: float, *, mends: bool = False) -> Checked:
    """The same answer with exact zeros where θ says so, as far as the gap allows.

    Complementary slackness: where |x_j·θ| is below the price of column j its weight is zero at the optimum.
    A method that approaches from inside leaves 1e-10 there. `mends` says that the problem moves weights onto
    its constraints by others that have no price.
    """
    if problem.bounded and not mends:  # whose solvers leave weights at their ends, and zero is not always one
        return best
    below = _share_of_price(problem, best)
    if below is None or not best.theta.any():
        return best
    allowed = max(tolerance, problem.relative(best.gap, best.primal))
    # what goes costs the loss about the square of the share it has in the objective: then no proof is tried
    faint = np.abs(best.w * best.correlation) <= below * (allowed**0.5 * best.primal)
    faint = _in_whole_groups(problem, faint)
    for slack in SLACKS:
        idle = (below < 1.0 - slack) & (best.w != 0.0) & faint
        if not idle.any():
            return best
        w = np.where(idle, 0.0, best.w)
        found = proven(problem, w, best.theta, tolerance)
        if found.primal <= best.primal or problem.relative(found.gap, found.primal) <= allowed:
            return found
    return best


def _in_whole_groups(problem: Problem, faint: Mask) -> Mask:
    """Of a group without prices of its weights all go, or none."""
    gauge = problem.regulariser.gauge
    if gauge.lengths is not None:
        group, alone = gauge.lengths.group, np.zeros(len(faint), dtype=bool)
    elif gauge.groups is not None:
        group, alone = gauge.groups.group, gauge.groups.l1 > 0.0
    else:
        return faint
    whole = np.ones(int(group.max(initial=-1)) + 1, dtype=bool)
    np.logical_and.at(whole, group, faint)
    return np.asarray(faint & (whole[group] | alone))


def _share_of_price(problem: Problem, best: Checked) -> Vector | None:
    """|x_j·θ| beside the price of column j, 1 where there is no kink at zero; None without any kink.

    Of a constraint the price is the multiplier: at the optimum v = price·∂h(w), so v·w = price·(h's slope)·w.
    """
    regulariser, priced = problem.regulariser, ~problem.free
    share = regulariser.gauge.shares_of_price(np.abs(best.correlation))
    if share is None:
        return None
    if not regulariser.constrained:
        price = regulariser.strength
    else:
        steep = float(regulariser.gauge.slope(best.w) @ best.w)
        price = float(best.correlation[priced] @ best.w[priced]) / steep if steep > 0.0 else 0.0
    return np.where(np.isfinite(share), share / price, 1.0) if price > 0.0 else None
