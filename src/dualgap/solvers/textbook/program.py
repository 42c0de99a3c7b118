"""A quadratic program built block by block, and its solution read block by block."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp

from dualgap.arrays import Vector


class _Constraint(NamedTuple):
    parts: dict[int, Any]
    right: Vector
    equality: bool


class Solved(NamedTuple):
    """Values of the variables and multipliers of the constraints, by block."""

    values: list[Vector]
    multipliers: dict[int, Vector]


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
        return self._constrain(_Constraint(parts, right, True))

    def below(self, parts: dict[int, Any], right: Vector) -> int:
        """Σ parts[block] x_block ≤ right."""
        return self._constrain(_Constraint(parts, right, False))

    def _constrain(self, constraint: _Constraint) -> int:
        self._constraints.append(constraint)
        return len(self._constraints) - 1

    def solve(self) -> Solved:
        """By clarabel, an interior point method."""
        import clarabel

        widths = [len(part) for part in self._linear]
        order = sorted(range(len(self._constraints)), key=lambda i: not self._constraints[i].equality)
        constraints = [self._constraints[i] for i in order]
        A = sp.vstack([_rows(one, widths) for one in constraints], format="csc")
        b = np.concatenate([one.right for one in constraints])
        equalities = sum(len(one.right) for one in constraints if one.equality)
        cones = [clarabel.ZeroConeT(equalities), clarabel.NonnegativeConeT(len(b) - equalities)]
        settings = clarabel.DefaultSettings()
        settings.verbose = False
        settings.tol_gap_abs = settings.tol_gap_rel = settings.tol_feas = 1e-10
        P = sp.diags_array(np.concatenate(self._quadratic), format="csc")
        found = clarabel.DefaultSolver(P, np.concatenate(self._linear), A, b, cones, settings).solve()
        pieces = _parts(found.z, [len(one.right) for one in constraints])
        return Solved(_parts(found.x, widths), dict(zip(order, pieces, strict=True)))


def _parts(values: Any, widths: list[int]) -> list[Vector]:
    return np.split(np.asarray(values), np.cumsum(widths)[:-1])


def _rows(constraint: _Constraint, widths: list[int]) -> Any:
    height = len(constraint.right)
    blocks = [constraint.parts.get(k, sp.csc_array((height, width))) for k, width in enumerate(widths)]
    return sp.hstack(blocks, format="csc")
