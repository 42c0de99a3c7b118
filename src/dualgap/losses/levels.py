"""quantiles(q₁, q₂, …): L = Σ_k q_k (y − z_k)₊ + (1 − q_k)(z_k − y)₊, a prediction for each quantile.

They may be fitted each on its own, or together so that none crosses another on the rows of the data.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from dualgap.arrays import Vector
from dualgap.errors import DataError
from dualgap.losses.base import Loss, Terms, column
from dualgap.losses.quantile import Quantile
from dualgap.traits import Trait


@dataclass(frozen=True)
class Quantiles(Loss):
    """Several quantiles of one target; of predictions there is a column for each, and so of losses."""

    levels: tuple[float, ...] = (0.1, 0.5, 0.9)
    crossing: bool = field(default=False, kw_only=True)  # may lines cross on the rows of the data?

    name = "quantiles"
    declared = Trait.PIECEWISE_LINEAR
    degree = 1

    def __post_init__(self) -> None:
        levels = np.asarray(self.levels, dtype=np.float64)
        if levels.ndim != 1 or len(levels) < 2:
            raise DataError('quantiles(...) needs two levels or more, as in "quantiles(0.1, 0.5, 0.9)".')
        if not (np.all(levels > 0.0) and np.all(levels < 1.0) and np.all(np.diff(levels) > 0.0)):
            raise DataError(
                f"quantiles(...) needs rising levels between 0 and 1, none twice, not {self._listed()}."
            )
        object.__setattr__(self, "levels", tuple(float(level) for level in levels))

    @property
    def each(self) -> tuple[Loss, ...]:
        return tuple(Quantile(level) for level in self.levels)

    @property
    def joint(self) -> bool:
        return not self.crossing

    def value(self, y: Vector, z: Vector) -> Vector:
        return np.stack([one.value(y, z[..., k]) for k, one in enumerate(self.each)], axis=-1)

    def derivative(self, y: Vector, z: Vector) -> Vector:
        return np.stack([one.derivative(y, z[..., k]) for k, one in enumerate(self.each)], axis=-1)

    def conjugate(self, y: Vector, u: Vector) -> Vector:
        return u * y[..., None]

    def domain(self, y: Vector) -> tuple[Vector, Vector]:
        levels = np.broadcast_to(np.array(self.levels), (*y.shape, len(self.levels)))
        return -levels, 1.0 - levels

    def _listed(self) -> str:
        return ", ".join(f"{level:g}" for level in self.levels)

    def __str__(self) -> str:
        return f"quantiles({self._listed()})" + (", each on its own" if self.crossing else "")


@dataclass(frozen=True)
class RowKinks(Loss):
    """L = left·(z − y) below y, right·(z − y) above it, in targets (y, left, right): a kink for each row.

    An infinite slope is a side where no prediction may be.
    """

    declared = Trait.PIECEWISE_LINEAR
    degree = 1

    def __post_init__(self) -> None:
        object.__setattr__(self, "name", "kinks")

    def _reach(self, y: Vector, z: Vector) -> Vector:
        return z - y[:, 0]

    def value(self, y: Vector, z: Vector) -> Vector:
        r = self._reach(y, z)
        with np.errstate(invalid="ignore"):
            return np.where(r > 0.0, y[:, 2] * r, np.where(r < 0.0, y[:, 1] * r, 0.0))

    def derivative(self, y: Vector, z: Vector) -> Vector:
        r = self._reach(y, z)
        return np.where(r > 0.0, y[:, 2], np.where(r < 0.0, y[:, 1], 0.0))

    def conjugate(self, y: Vector, u: Vector) -> Vector:
        return u * y[:, 0]

    def fenchel_young(self, y: Vector, z: Vector, u: Vector) -> Vector:
        r = self._reach(y, z)
        with np.errstate(invalid="ignore"):
            return np.where(r != 0.0, np.abs(r) * np.where(r > 0.0, y[:, 2] - u, u - y[:, 1]), 0.0)

    def domain(self, y: Vector) -> tuple[Vector, Vector]:
        return y[:, 1], y[:, 2]

    def terms(self, y: Vector) -> Terms:
        kink, left, right = (column(y[:, k], len(y)) for k in range(3))
        return Terms(kink, left, right, 0.0)

    def centred(self, y: Vector) -> tuple[Loss, Vector, tuple[Vector, ...]]:
        slopes = y.copy()
        slopes[:, 0] = 0.0
        return self, slopes, (-y[:, 0],)
