"""group_lasso: h(w) = Σ_g ω_g √|g| ‖w_g‖₂.   sparse_group(α): Σ_g ω_g (α ‖w_g‖₁ + (1 − α) √|g| ‖w_g‖₂)."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import ClassVar, Self

import numpy as np

from dualgap.arrays import Index, Vector
from dualgap.errors import DataError
from dualgap.penalties.base import Gauge, Penalty
from dualgap.penalties.grouped import Grouped
from dualgap.penalties.separable import Separable


@dataclass(frozen=True)
class GroupPenalty(Penalty):
    """What both share: the group of each column, by number; None: every column is one of its own."""

    parts: tuple[int, ...] | None = field(default=None, kw_only=True)
    takes_factors = True
    takes_groups = True

    @property
    def share(self) -> float:
        """Of the l1 norm."""
        return 0.0

    def grouped(self, groups: Index) -> Self:
        return replace(self, parts=tuple(groups.tolist()))

    def tiled(self, times: int, intercept: bool) -> Self:
        if self.parts is None:
            return self
        one, count = np.array(self.parts, dtype=np.intp), max(self.parts, default=-1) + 1
        one = np.append(one, count) if intercept else one
        return self.grouped(np.concatenate([one + k * (count + 1) for k in range(times)]))

    def gauge(self, factors: Vector, scale: Vector) -> Gauge:
        p = len(scale)
        group = np.arange(p) if self.parts is None else np.array(self.parts, dtype=np.intp)
        if len(group) != p:
            raise DataError(f"{self.name} has groups for {len(group)} columns, X has {p} of them.")
        size = np.bincount(group)[group] if p else np.zeros(0)
        _refuse_mixed(self.name, group, factors)
        if np.all(size <= 1) or self.share == 1.0:
            return Separable(factors * scale, np.zeros(p))
        norms = (1.0 - self.share) * np.sqrt(size) * factors * scale
        return Grouped(self.share * factors * scale, norms, group)


def _refuse_mixed(name: str, group: Index, factors: Vector) -> None:
    """A factor is one of a group."""
    first = np.ones(int(group.max(initial=-1)) + 1)
    first[group[::-1]] = factors[::-1]
    other = np.flatnonzero(factors != first[group])
    if len(other):
        j = int(other[0])
        raise DataError(
            f"A penalty factor of {name} is one of a group: column {j} has {factors[j]:g}, the first of its "
            f"group {first[group[j]]:g}. Give all columns of a group the same factor."
        )


@dataclass(frozen=True)
class GroupLasso(GroupPenalty):
    """Groups of columns come in together or not at all."""

    name: ClassVar[str] = "group_lasso"
    formula: ClassVar[str] = "sum over groups of sqrt(size) ||w_g||"


@dataclass(frozen=True)
class SparseGroup(GroupPenalty):
    """Few groups, and few columns in each; α weighs the l1 norm against the groups."""

    alpha: float = 0.5
    name: ClassVar[str] = "sparse_group"
    formula: ClassVar[str] = "alpha sum |w_j| + (1 - alpha) sum over groups of sqrt(size) ||w_g||"

    def __post_init__(self) -> None:
        if not 0.0 <= self.alpha <= 1.0:
            raise DataError(f"sparse_group(alpha) needs an alpha between 0 and 1, not {self.alpha!r}.")

    @property
    def share(self) -> float:
        return self.alpha
