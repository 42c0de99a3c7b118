"""A path whose points are solutions of their own: a fit or a search each."""

from __future__ import annotations

from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dualgap.arrays import Vector
from dualgap.drive.limits import Limits
from dualgap.fitting.solution import Solution
from dualgap.paths.path import Path


class SolvedPath(Path):
    """What such paths tell of their solutions."""

    _solutions: list[Solution]
    _stopped: bool

    @property
    def stopped(self) -> bool:
        return self._stopped

    def take_time(self, limits: Limits) -> None:
        self._limits = limits

    @cached_property
    def coefs(self) -> NDArray[np.float64]:
        return np.array([one.coef for one in self._solutions])

    @cached_property
    def intercepts(self) -> NDArray[np.float64]:
        return np.array([one.intercept for one in self._solutions])

    @cached_property
    def n_nonzero(self) -> NDArray[np.int64]:
        return np.array([one.n_nonzero for one in self._solutions])

    @cached_property
    def gaps(self) -> Vector:
        """The proven relative gap of every point."""
        return np.array([one.relative_gap for one in self._solutions])

    @cached_property
    def objectives(self) -> Vector:
        """The objective of every point."""
        return np.array([one.objective for one in self._solutions])

    def coef(self, *, lam: float | None = None, budget: float | None = None) -> NDArray[np.float64]:
        return self.solution(lam=lam, budget=budget).coef

    def intercept(self, *, lam: float | None = None, budget: float | None = None) -> Any:
        return self.solution(lam=lam, budget=budget).intercept
