"""What each coordinate pays under a separable penalty: price_j |w_j| + ½ ridge_j w_j²."""

from __future__ import annotations

from dualgap.arrays import Vector
from dualgap.penalties import Penalised
from dualgap.penalties.separable import Separable
from dualgap.problem.problem import Problem


def prices(problem: Problem) -> tuple[Vector, Vector]:
    """(price, ridge); both are zero on free coordinates."""
    regulariser = problem.regulariser
    assert isinstance(regulariser, Penalised) and isinstance(regulariser.gauge, Separable)
    gauge = regulariser.gauge
    return regulariser.strength * gauge.l1, 2.0 * regulariser.strength * gauge.l2


def lacks_prices(problem: Problem) -> tuple[str, ...]:
    """Why `prices` cannot be asked of this problem; empty if it can."""
    if problem.regulariser.constrained:
        return ("the penalty is a constraint",)
    if not isinstance(problem.regulariser.gauge, Separable):
        return ("the penalty is not separable",)
    return ()
