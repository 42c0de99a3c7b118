"""What a path asks of the curve of solutions behind it."""

from __future__ import annotations

from typing import Protocol

from dualgap.arrays import Index, Matrix, Vector
from dualgap.paths.setting import Pair


class Curve(Protocol):
    """Solutions as a function of the working strength λ; one file per way of knowing them."""

    @property
    def exact(self) -> bool:
        """Is every answer exact up to rounding, at any λ?"""

    @property
    def breaks(self) -> bool:
        """Are the points all the breakpoints of the curve, so that it is straight between them?"""

    @property
    def lams(self) -> Vector:
        """The points, falling."""

    def weights(self) -> Matrix:
        """Working weights at the points, one row each."""

    def thetas(self, which: Index) -> Matrix | None:
        """Dual points at some of the points; None where the slope of the loss is one."""

    def pair(self, lam: float) -> Pair:
        """The solution at λ."""

    def pair_within(self, budget: float) -> tuple[Pair, float]:
        """The solution under a budget, and its λ."""
