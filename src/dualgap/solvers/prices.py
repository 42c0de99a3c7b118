"""What each coordinate pays under a separable penalty: price_j |w_j| + ½ ridge_j w_j²."""

from __future__ import annotations

from dualgap.arrays import Vector
from dualgap.problem.problem import Problem
from dualgap.traits import Trait


def prices(problem: Problem) -> tuple[Vector, Vector]:
    """(price, ridge); both are zero on free coordinates."""
    regulariser = problem.regulariser
    elastic = regulariser.gauge.elastic
    assert elastic is not None and not regulariser.constrained
    return regulariser.strength * elastic.l1, 2.0 * regulariser.strength * elastic.l2


def lacks_prices(problem: Problem) -> tuple[str, ...]:
    """Why `prices` cannot be asked of this problem; empty if it can."""
    if problem.regulariser.constrained:
        return ("the penalty is a constraint",)
    if problem.regulariser.gauge.elastic is None:
        return ("the penalty is not separable",)
    return ()


def lacks_squares(problem: Problem) -> tuple[str, ...]:
    """The same, and why they are not ridges alone."""
    lacking = lacks_prices(problem)
    quadratic = Trait.QUADRATIC in problem.regulariser.traits
    return lacking if lacking or quadratic else ("the penalty is not quadratic",)


def plain(problem: Problem) -> bool:
    """Are the columns stored one number after another, few of them zero?"""
    features = problem.design.features
    return features.sparse is None and not features.mostly_zeros
