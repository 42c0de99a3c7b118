"""Several classes jointly on rows that come in blocks: the sums of `blocks.py`, a pull for each class.

A rule gives shares φ_ik ≥ 0 to the classes k that are not the row's own, Σ_k φ_ik ≤ 1; the own class has what
is left: θ_ik = −s_i φ_ik/Σs there and θ_iy = s_i Σ_k φ_ik/Σs, so that Σ_k θ_ik = 0 exactly. A share t of a
group's θ costs, by convexity of the divergence, (1 − t) of its loss, as for one class; and where free
coordinates of all classes but the last are balanced, so are those of the last.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from dualgap.arrays import Index, Mask, Matrix, Vector
from dualgap.losses import Loss
from dualgap.penalties import Regulariser
from dualgap.proof.blocks import Charged, StreamStatement, Weighed, _by_side, _Held, _pulls, no_pull
from dualgap.proof.joint import Joint, _divergent, _scores, softmax_losses
from dualgap.proof.processor import PlainArithmetic
from dualgap.proof.rounding import FEW, LEAST, U, gamma, total


@dataclass(frozen=True, eq=False)
class JointStreamStatement(StreamStatement):
    """A statement for class numbers; w holds the classes one after another, each with its intercept last."""

    classes: int = 2

    @classmethod
    def of_classes(
        cls, loss: Loss, regulariser: Regulariser, classes: int, *, intercept: bool
    ) -> JointStreamStatement:
        """Loss, and the regulariser of all classes."""
        return cls(None, np.empty(0), np.empty(0), loss, regulariser, intercept, classes=classes)

    @property
    def width(self) -> int:
        """Coordinates of a class."""
        return len(self.free) // self.classes

    @property
    def columns(self) -> int:
        return self.width - self.intercept

    @property
    def curvature(self) -> float:
        """Of the loss in a row's scores."""
        return 0.5

    @property
    def tied(self) -> Index:
        return np.flatnonzero(self.free[: (self.classes - 1) * self.width])

    def tied_sums(self, count: int) -> Index:
        return self.tied

    def spread(self, columns: Vector) -> Vector:
        return np.tile(super().spread(columns), self.classes)

    def gathered(self, coordinates: Mask) -> Mask:
        return super().gathered(np.asarray(coordinates.reshape(self.classes, self.width).any(axis=0)))

    def weigh(
        self, X: Any, y: Vector, weight: Vector | None, w: Vector, u: Any, *, exact: bool = False
    ) -> Weighed:
        """One block; u are the shares of the classes, a column each, or None."""
        s = np.ones(len(y)) if weight is None else weight
        parts = self.loss, self.regulariser, self.intercept
        block = _JointBlock(_Held(X), y, s, *parts, classes=self.classes)
        return _weighed(self, block, s, w, u, exact=exact, whole=weight is None)


@dataclass(frozen=True, eq=False)
class _JointBlock(Joint):
    """The rows of a block, as `proof/joint.py` sees them."""

    classes: int = 2


def _weighed(
    problem: JointStreamStatement,
    block: Joint,
    s: Vector,
    w: Vector,
    shares: Any,
    *,
    exact: bool,
    whole: bool,
) -> Weighed:
    own, classes = block.y.astype(np.intp), problem.classes
    rows, n = np.arange(len(own)), len(own)
    with PlainArithmetic():
        z, error = _scores(block, w, own, exact=exact)
        losses, steep = softmax_losses(z, error, own)
        phi = _inside(shares, z.shape, own)
        u = phi.copy()
        u[rows, own] = -phi.sum(axis=1)
        sides = _sides(problem, block.rows, u)
        if shares is None:
            terms, loose = losses, steep * error
            pull = no_pull(block.rows, sides, classes)
        else:
            step = 16.0 * U * phi
            phi[rows, own] = 1.0 + u[rows, own]
            terms, loose = _divergent(z, error, phi, step, own)
            # an own class's slope is a sum of others, and a weight times a slope is rounded
            slips = gamma(classes + 2) + (0.0 if whole else 2.0 * U)
            pull = _pulls(block.rows, list(s * u.T), sides, exact=exact, slips=slips)
        if not problem.intercept:
            kept = np.ones((classes, problem.columns + 1), dtype=bool)
            kept[:, -1] = False
            pull = Charged(pull.value[kept.ravel()], pull.error[kept.ravel()])
        risk, paid = _by_side(s * losses, sides), _by_side(s * terms, sides)
        spread, off, size = total(s * steep) * error, total(s * loose), total(s * np.abs(u).sum(axis=1))
    under, heavy = 8.0 * LEAST * (classes * n + len(w)), float(s.sum())
    return Weighed(
        Charged(heavy, 0.0 if whole else FEW * heavy),
        Charged(risk, FEW * risk + under),
        Charged(paid, FEW * (paid + risk) + under),
        pull,
        spread * (1.0 + FEW),
        off,
        size,
        block.rows.tops,
        float(s.min()) if n else np.inf,
        n,
    )


def _inside(shares: Any, shape: tuple[int, ...], own: Index) -> Matrix:
    """Shares that leave the own class something, none below zero; that of the own class is 0 here."""
    if shares is None:
        return np.zeros(shape)
    phi = np.maximum(np.where(np.isfinite(shares), shares, 0.0), 0.0, order="C")
    phi[np.arange(len(own)), own] = 0.0
    room = 1.0 - 2.0 * FEW
    phi *= (room / np.maximum(phi.sum(axis=1) * (1.0 + FEW), room))[:, None]
    return np.asarray(phi)


def _sides(problem: JointStreamStatement, rows: Any, u: Matrix) -> list[tuple[slice, Any]]:
    """As for one class: a run of rows for each free coordinate, and which of them pull it down."""
    tied, n = problem.tied, len(u)
    if not len(tied):
        return [(slice(0, n), None)]
    runs = []
    for c, coordinate in enumerate(tied):
        k, j = divmod(int(coordinate), problem.width)
        run = slice(c * n // len(tied), (c + 1) * n // len(tied))
        signed = u[run, k] * rows.cells(run, j) if j < rows.p else u[run, k]
        runs.append((run, (signed < 0.0) * 1.0))
    return runs
