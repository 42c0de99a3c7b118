"""A loss whose predictions are counted from an offset of each row: L_o(y, z) = L(y, z + o).

Its targets are pairs (y, o), so that who takes some rows of them takes both. L_o*(u) = L*(u) − u·o, and the
Fenchel–Young term is that of L at z + o: no solver knows of an offset. Where L sees z − y alone, y − o stands
for both (`unshifted`).
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from dualgap.arrays import Matrix, Vector
from dualgap.losses.base import Loss, Terms
from dualgap.traits import Trait


@dataclass(frozen=True)
class Shifted(Loss):
    """`inner` at z + o; targets of shape (n, 2)."""

    inner: Loss

    def __post_init__(self) -> None:
        for fact in ("name", "degree"):
            object.__setattr__(self, fact, getattr(self.inner, fact))

    @property
    def traits(self) -> Trait:
        return self.inner.traits

    @property
    def curvature(self) -> float:
        return self.inner.curvature

    def value(self, y: Vector, z: Vector) -> Vector:
        return self.inner.value(y[:, 0], z + y[:, 1])

    def derivative(self, y: Vector, z: Vector) -> Vector:
        return self.inner.derivative(y[:, 0], z + y[:, 1])

    def second_derivative(self, y: Vector, z: Vector) -> Vector:
        return self.inner.second_derivative(y[:, 0], z + y[:, 1])

    def bends(self, y: Vector, z: Vector) -> tuple[Vector, Vector]:
        return self.inner.bends(y[:, 0], z + y[:, 1])

    def conjugate(self, y: Vector, u: Vector) -> Vector:
        return self.inner.conjugate(y[:, 0], u) - u * y[:, 1]

    def fenchel_young(self, y: Vector, z: Vector, u: Vector) -> Vector:
        return self.inner.fenchel_young(y[:, 0], z + y[:, 1], u)

    def domain(self, y: Vector) -> tuple[Vector, Vector]:
        return self.inner.domain(y[:, 0])

    def terms(self, y: Vector) -> Terms:
        found = self.inner.terms(y[:, 0])
        return replace(found, kink=found.kink - y[:, 1:])

    def past_edge(self, y: Vector, z: Vector) -> Vector:
        return self.inner.past_edge(y[:, 0], z + y[:, 1])

    def falls_towards(self, y: Vector) -> Vector:
        return self.inner.falls_towards(y[:, 0])

    def deviance(self, risks: Vector) -> Vector | None:
        return self.inner.deviance(risks)

    def best_constant(self, y: Vector, a: Vector) -> float:
        """Between the best ones of `inner` less the largest and the least offset: its slopes rise."""
        if self.inner.translates:
            return self.inner.best_constant(y[:, 0] - y[:, 1], a)
        if self.inner.power is not None:
            found = self._of_rates(y, a, self.inner.power)
            if np.isfinite(found):
                return found
        about = self.inner.best_constant(y[:, 0], a)
        if not np.isfinite(about):
            return about
        return self._balance(y, a, about - float(y[:, 1].max()), about - float(y[:, 1].min()))

    def _of_rates(self, y: Vector, a: Vector, power: float) -> float:
        """The same by the targets over their exposures, and weights that go with them."""
        middle = 0.5 * (float(y[:, 1].min()) + float(y[:, 1].max()))
        with np.errstate(over="ignore", invalid="ignore", divide="ignore", under="ignore"):
            exposure = np.exp(y[:, 1] - middle)
            return self.inner.best_constant(y[:, 0] / exposure, a * exposure ** (2.0 - power)) - middle

    def check_targets(self, y: Vector) -> None:
        self.inner.check_targets(y[:, 0])

    def centred(self, y: Vector) -> tuple[Loss, Vector, tuple[Vector, ...]]:
        loss, centre, shifts = self.inner.centred(np.ascontiguousarray(y[:, 0]))
        return loss, centre, (np.ascontiguousarray(y[:, 1]), *shifts)

    def unshifted(self, y: Vector) -> tuple[Loss, Vector]:
        return (self.inner, y[:, 0] - y[:, 1]) if self.inner.translates else (self, y)

    def __str__(self) -> str:
        return f"{self.inner} (with an offset)"


def with_offset(loss: Loss, y: Vector, offset: Vector | None) -> tuple[Loss, Vector]:
    """The loss and its targets, both as they are where there is no offset."""
    if offset is None:
        return loss, y
    return Shifted(loss), paired(y, offset)


def paired(y: Vector, offset: Vector) -> Matrix:
    """Targets and offsets side by side."""
    pairs: Matrix = np.empty((len(y), 2), order="F")
    pairs[:, 0], pairs[:, 1] = y, offset
    return pairs


def without_offset(loss: Loss) -> Loss:
    """The loss of targets alone."""
    return loss.inner if isinstance(loss, Shifted) else loss


def parted_targets(y: Matrix) -> tuple[Vector, Vector | None]:
    """Targets and their offsets, where they have some."""
    return (y, None) if y.ndim == 1 else (np.ascontiguousarray(y[:, 0]), np.ascontiguousarray(y[:, 1]))
