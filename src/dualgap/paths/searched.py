"""A path of stationary points, for penalties that are not convex: a grid, each point begun at the last."""

from __future__ import annotations

from typing import Any

from dualgap.arrays import Vector
from dualgap.errors import DataError
from dualgap.paths.many_classes import ManyClassesPath


class SearchedPath(ManyClassesPath):
    """Solutions from the largest λ to the smallest; `gaps` are honest, and mostly far from closed."""

    def lam(self, budget: float) -> float:
        raise DataError("Where the penalty is not convex no λ belongs to a budget; compare path.budgets.")

    def criterion(self, name: str) -> Vector:
        raise DataError("AIC and BIC are to be had with l1, l2 and elastic_net; use dg.cross_validate.")

    def plot(self, **_: Any) -> Any:
        raise DataError("There is no picture of stationary points; draw path.coefs beside path.lams.")
