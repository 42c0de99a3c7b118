"""What a path asks of the curve of solutions behind it."""

from __future__ import annotations

from abc import ABC, abstractmethod

import numpy as np

from dualgap.arrays import Index, Matrix, Vector
from dualgap.drive.limits import Limits
from dualgap.paths.family import Pair


class SolutionCurve(ABC):
    """Solutions as a function of the working strength λ; one file per way of knowing them."""

    lams: Vector  # the points, falling
    exact: bool = True  # is every answer exact up to rounding, at any λ?
    breaks: bool = False  # are the points all the breakpoints, so that the curve is straight between them?
    inverse: bool = False  # straight in 1/λ, not in λ?
    constant: bool = False  # do the weights stay as they are between breakpoints?
    stopped: bool = False  # was the time over before the last point?
    complete: bool = True  # did the algorithm get to its end?
    promise: float = 0.0  # the relative gap that is kept between the points

    @abstractmethod
    def weights(self) -> Matrix:
        """Working weights at the points, one row each."""

    def thetas(self, which: Index) -> Matrix | None:
        """Dual points at some of the points; None where the slope of the loss is one."""
        return None

    @abstractmethod
    def pair(self, lam: float) -> Pair:
        """The solution at λ."""

    @abstractmethod
    def pair_within(self, budget: float) -> tuple[Pair, float]:
        """The solution under a budget, and its λ."""

    def degrees(self) -> Vector | None:
        """Degrees of freedom at the points, where the curve knows them."""
        return None

    def places(self) -> list[float]:
        """Strengths at which the curve is tried before it is believed."""
        return [float(self.lams[k]) for k in {len(self.lams) // 2, len(self.lams) - 1}]

    def take_time(self, limits: Limits) -> None:  # noqa: B027 - most curves solve nothing later
        """What is asked for from now on has these limits."""


class ZeroCurve(SolutionCurve):
    """One answer for every λ: every penalised weight zero, the free ones at their best."""

    def __init__(self, answer: Pair, lams: Vector | None) -> None:
        self.answer = answer
        self.breaks = lams is None
        self.lams = np.zeros(1) if lams is None else lams

    def weights(self) -> Matrix:
        return np.tile(self.answer.w, (len(self.lams), 1))

    def thetas(self, which: Index) -> Matrix | None:
        return None if self.answer.theta is None else np.tile(self.answer.theta, (len(which), 1))

    def pair(self, lam: float) -> Pair:
        return self.answer

    def pair_within(self, budget: float) -> tuple[Pair, float]:
        return self.pair(0.0), 0.0
