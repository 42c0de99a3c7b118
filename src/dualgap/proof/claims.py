"""What a gap proves beside itself: weights that are zero at every optimum, and how far off the others are."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from dualgap.arrays import Mask, Vector
from dualgap.losses.base import FAINT
from dualgap.proof.check import SLACK, Checked
from dualgap.proof.processor import PlainArithmetic
from dualgap.proof.rounding import gamma
from dualgap.proof.rows import Rows
from dualgap.proof.statement import Statement
from dualgap.traits import Trait


def proven_zero(problem: Statement, found: Checked) -> Mask:
    """Columns whose weight is zero at every optimum, by the ball around θ that the gap allows.

    At an optimum with slopes u*, Σ a (u* − u)²/(2·curvature) is at most the gap, for it is no more than the
    optimum's own Fenchel–Young terms with θ. So |x_j·θ*| ≤ |x_j·θ| + √(2·curvature·gap)·‖√a x_j‖, and below
    the l1 price the weight is zero; so are all of a group where these are below the price of the group. A
    weight that is not zero here is never called so.
    """
    regulariser, curvature, none = problem.regulariser, problem.curvature, np.zeros(len(found.w), dtype=bool)
    idle = found.w == 0.0
    if not idle.any() or regulariser.constrained or regulariser.gauge.shares_of_price(none + 0.0) is None:
        return none
    if problem.constraints is not None:  # multipliers of theirs may be anything at the optimum
        return none
    # a bound of 0 needs no θ: that of the point says nothing then
    unproven = found.box is not None or (found.dual <= 0.0 and found.theta.any())
    if unproven or not np.isfinite(curvature * found.gap) or Trait.CONVEX not in problem.loss.traits:
        return none
    strength, size = regulariser.strength, np.abs(found.correlation) + found.reach
    reach = float(np.sqrt(2.0 * curvature * found.gap))

    def below(most: Vector) -> Mask:
        share = regulariser.gauge.shares_of_price(most * (1.0 + SLACK) + FAINT)
        assert share is not None
        return np.asarray((share * (1.0 + SLACK) < strength) & idle)

    def zeros(lengths: Vector) -> Mask:
        return below(size + reach * problem.spread(lengths))

    lengths = problem.rows.tops  # no column is longer than its largest entry, for the weights add up to one
    sure = zeros(lengths)
    which = np.flatnonzero(problem.gathered(below(size) & ~sure))
    if not len(which):
        return sure
    lengths = lengths.copy()
    lengths[which] = problem.rows.lengths(problem.a, which)
    return zeros(lengths)


def zeros_later(problem: Statement, found: Checked) -> Mask | Callable[[], Mask]:
    """`proven_zero`, now or when somebody asks: none, if the table is another then, as tells the sum of its
    squares, or Xᵀθ.
    """
    if not isinstance(problem.rows, Rows):
        return proven_zero(problem, found)
    size = problem.rows.size

    def zeros() -> Mask:
        with PlainArithmetic():
            rows = Rows(problem.rows.matrix)  # which was asked for nothing yet, and keeps no product
            # sums of squares in another order, as with more threads, are off by so much
            same = abs(rows.size - size) <= gamma(2 * rows.stored) * size
            same = same and _same_products(problem, found, rows)
        return proven_zero(problem, found) if same else np.zeros(len(found.w), dtype=bool)

    return zeros


def _same_products(problem: Statement, found: Checked, rows: Rows) -> bool:
    """Is Xᵀθ still what it was? A table whose columns or rows changed places may have the same squares."""
    if problem.constraints is not None:  # of which nothing is proven zero
        return True
    thetas = np.ascontiguousarray(found.theta.T) if found.theta.ndim == 2 else [found.theta]  # of each class
    before, doubt = (part.reshape(len(thetas), -1)[:, : rows.p] for part in (found.correlation, found.reach))
    for theta, own, loose in zip(thetas, before, doubt, strict=True):
        v, reach = rows.against_roughly(theta)
        if not np.all(np.abs(v - own) <= reach + loose):
            return False
    return True


def distance(problem: Statement, found: Checked) -> float | None:
    """‖w − w*‖₂ at most, from the strong convexity of the penalty; None where it has none in some column."""
    modulus = problem.regulariser.strong_convexity()
    # weights that miss a constraint, if only by rounding, may be below the optimum by more than the gap
    if problem.constraints is not None:
        return None
    priced = not problem.gathered(problem.regulariser.gauge.free).any()
    if modulus < FAINT or not priced or found.box is not None:
        return None
    if Trait.CONVEX not in problem.loss.traits:
        return None
    return float(np.sqrt(found.gap / modulus) * (1.0 + SLACK))
