"""What a gap proves beside itself: weights that are zero at every optimum, and how far off the others are."""

from __future__ import annotations

import numpy as np

from dualgap.arrays import Mask
from dualgap.penalties import Penalised
from dualgap.penalties.separable import Separable
from dualgap.proof.check import Checked
from dualgap.proof.rounding import FEW
from dualgap.proof.statement import Statement


def proven_zero(problem: Statement, found: Checked) -> Mask:
    """Columns whose weight is zero at every optimum, by the ball around θ that the gap allows.

    At an optimum with slopes u*, Σ a (u* − u)²/(2·curvature) is at most the gap, for it is no more than the
    optimum's own Fenchel–Young terms with θ. So |x_j·θ*| ≤ |x_j·θ| + √(2·curvature·gap)·‖√a x_j‖, and below
    the l1 price the weight is zero. A weight that is not zero here is never called so.
    """
    regulariser, curvature = problem.regulariser, problem.curvature
    gauge = regulariser.gauge
    none = np.zeros(len(found.w), dtype=bool)
    if not isinstance(gauge, Separable) or not isinstance(regulariser, Penalised) or not gauge.l1.any():
        return none
    if found.box is not None or not np.isfinite(curvature * found.gap):
        return none
    lengths = problem.spread(problem.rows.lengths(problem.a))
    away = np.sqrt(2.0 * curvature * found.gap) * lengths * (1.0 + 4.0 * FEW)
    most = (np.abs(found.correlation) + found.reach + away) * (1.0 + 4.0 * FEW)
    return np.asarray((most < regulariser.strength * gauge.l1 * (1.0 - 4.0 * FEW)) & (found.w == 0.0))


def distance(problem: Statement, found: Checked) -> float | None:
    """‖w − w*‖₂ at most, from the strong convexity of the penalty; None where it has none in some column."""
    modulus = problem.regulariser.strong_convexity() * (1.0 - 4.0 * FEW)
    if modulus <= 0.0 or problem.free_features.any() or found.box is not None:
        return None
    return float(np.sqrt(found.gap / modulus) * (1.0 + 4.0 * FEW))
