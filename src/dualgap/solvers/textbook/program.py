"""A quadratic program built block by block, and its solution read block by block."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse as sp

from dualgap.arrays import Vector


@dataclass(frozen=True, eq=False)
class _Constraint:
    parts: dict[int, Any]
    right: Vector
    equality: bool


@dataclass(frozen=True, eq=False)
class Solved:
    """Values of the variables and multipliers of the constraints, by block."""

    values_by_block: list[Vector]
    multipliers_by_block: list[Vector]

    def values(self, block: int) -> Vector:
        """Of a block of variables."""
        return self.values_by_block[block]

    def multipliers(self, constraint: int) -> Vector:
        """Of a block of constraints."""
        return self.multipliers_by_block[constraint]


class Program:
    """min ½ Σ quadratic x² + linear·x subject to A x = b and A x ≤ b; blocks are known by number."""

    def __init__(self) -> None:
        self._quadratic: list[Vector] = []
        self._linear: list[Vector] = []
        self._constraints: list[_Constraint] = []

    def variables(
        self, count: int, *, linear: Any = 0.0, quadratic: Any = 0.0, positive: bool = False
    ) -> int:
        """A block of new variables."""
        self._linear.append(np.array(np.broadcast_to(linear, (count,)), dtype=np.float64))
        self._quadratic.append(np.array(np.broadcast_to(quadratic, (count,)), dtype=np.float64))
        block = len(self._linear) - 1
        if positive:
            self.below({block: -sp.eye_array(count)}, np.zeros(count))
        return block

    def equal(self, parts: dict[int, Any], right: Vector) -> int:
        """Σ parts[block] x_block = right."""
        self._constraints.append(_Constraint(parts, right, True))
        return len(self._constraints) - 1

    def below(self, parts: dict[int, Any], right: Vector) -> int:
        """Σ parts[block] x_block ≤ right."""
        self._constraints.append(_Constraint(parts, right, False))
        return len(self._constraints) - 1

    def solve(self) -> Solved:
        """By clarabel, an interior point method."""
        import clarabel

        widths = [len(part) for part in self._linear]
        order = sorted(range(len(self._constraints)), key=lambda i: not self._constraints[i].equality)
        A = sp.vstack([self._rows(self._constraints[i], widths) for i in order], format="csc")
        b = np.concatenate([self._constraints[i].right for i in order])
        equalities = sum(len(c.right) for c in self._constraints if c.equality)
        cones = [clarabel.ZeroConeT(equalities), clarabel.NonnegativeConeT(len(b) - equalities)]
        settings = clarabel.DefaultSettings()
        settings.verbose = False
        settings.tol_gap_abs = settings.tol_gap_rel = settings.tol_feas = 1e-10
        P = sp.diags_array(np.concatenate(self._quadratic), format="csc")
        found = clarabel.DefaultSolver(P, np.concatenate(self._linear), A, b, cones, settings).solve()
        values = np.split(np.asarray(found.x), np.cumsum(widths)[:-1])
        pieces = np.split(
            np.asarray(found.z), np.cumsum([len(self._constraints[i].right) for i in order])[:-1]
        )
        multipliers = [
            piece for _, piece in sorted(zip(order, pieces, strict=True), key=lambda pair: pair[0])
        ]
        return Solved(values, multipliers)

    def _rows(self, constraint: _Constraint, widths: list[int]) -> Any:
        height = len(constraint.right)
        blocks = [
            sp.csc_array(constraint.parts[k]) if k in constraint.parts else sp.csc_array((height, width))
            for k, width in enumerate(widths)
        ]
        return sp.hstack(blocks, format="csc")
