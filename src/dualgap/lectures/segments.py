"""A path drawn finely: points between breakpoints, where risks and errors bend though weights do not."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from dualgap.arrays import Matrix, Vector
from dualgap.paths.path import Path

PARTS = 12  # of a stretch between two points
MANY = 4000  # points beyond which the stretches are short enough


@dataclass(frozen=True, eq=False)
class Segments:
    """λ falling, with weights and intercepts; straight in the space of weights between breakpoints."""

    lams: Vector
    coefs: Matrix
    intercepts: Vector
    budgets: Vector


def segments(found: Path) -> Segments:
    """The points of the path with λ > 0, or the last beside them, and points between."""
    lams, both = found.lams, np.column_stack([found.coefs, found.intercepts])
    parts = PARTS if found.breakpoints and len(lams) * PARTS <= MANY else 1
    share = np.linspace(0.0, 1.0, parts + 1)[1:]
    pieces, at = [both[:1]], [lams[:1]]
    for k in range(len(lams) - 1):
        pieces.append(both[k] + share[:, None] * (both[k + 1] - both[k]))
        at.append(_between(float(lams[k]), float(lams[k + 1]), share, inverse=found.inverse))
    whole = np.vstack(pieces)
    budgets = np.array([found.size(w) for w in whole[:, :-1]])
    return Segments(np.concatenate(at), whole[:, :-1], whole[:, -1], budgets)


def _between(high: float, low: float, share: Vector, *, inverse: bool) -> Vector:
    """The λ that belong to shares of a straight stretch of weights: linear in λ, or in 1/λ."""
    if inverse and low > 0.0:
        return np.asarray(1.0 / ((1.0 - share) / high + share / low))
    return np.asarray((1.0 - share) * high + share * low)
