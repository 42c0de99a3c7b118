"""Which half of the method fits a regulariser."""

from __future__ import annotations

import numpy as np

from dualgap.penalties import Regulariser
from dualgap.solvers.interior_point.group_norms import GroupBall, PenalisedGroups
from dualgap.solvers.interior_point.norms import NormBall, PenalisedNorm
from dualgap.solvers.interior_point.weights import (
    LargestWeight,
    PenalisedSeparable,
    PenaltyHalf,
    SeparableBall,
)


def weights(regulariser: Regulariser) -> PenaltyHalf | None:
    """The half that fits, if there is one."""
    elastic, ball = regulariser.gauge.elastic, regulariser.gauge.ball
    if elastic is not None:
        if regulariser.constrained:
            return SeparableBall(elastic.l1, elastic.l2, regulariser.radius)
        return PenalisedSeparable(regulariser.strength * elastic.l1, regulariser.strength * elastic.l2)
    groups = regulariser.gauge.groups
    if groups is not None:
        if regulariser.constrained:
            return GroupBall(groups, regulariser.radius)
        return PenalisedGroups(groups, regulariser.strength)
    if ball is None or ball.order < 2.0:
        return None
    if ball.order == np.inf:
        strength = None if regulariser.constrained else regulariser.strength
        return LargestWeight(ball.scale, strength, regulariser.radius if regulariser.constrained else None)
    if regulariser.constrained:
        return NormBall(ball, regulariser.radius)
    return PenalisedNorm(ball, regulariser.strength)
