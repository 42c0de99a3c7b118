"""A dense matrix that keeps its last Gram matrix: for several fits of the same rows, one after another."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from dualgap.arrays import Matrix, Vector
from dualgap.design.dense import Dense


@dataclass(frozen=True, eq=False)
class Remembered(Dense):
    """Fits with the same weights of rows, such as those of several outputs, ask for the same Xᵀ diag(h) X."""

    kept: dict[bool, tuple[Vector, Matrix]] = field(default_factory=dict, repr=False)

    def weighted_gram(self, h: Vector, *, single: bool = False) -> Matrix:
        known = self.kept.get(single)
        if known is None or not np.array_equal(known[0], h):
            known = self.kept[single] = h.copy(), super().weighted_gram(h, single=single)
        return known[1].copy()  # whoever asks may write into it

    def remembering(self) -> Remembered:
        return self
