"""Squared loss from moments alone: both values of any w and any affine rule for θ, without the rows.

M = Σ s r rᵀ over rows r = [x − shift, y − level, 1]. A prediction error is ω·r, with the vector
ω = [w, −1, b + shift·w − level], and a slope 2κ·r for any κ: then

    P(w, b) = ωᵀMω/Σs + g(w),   Σ a [L + L*(u) − zu] = (ω − κ)ᵀM(ω − κ)/Σs,   Xᵀθ = −2 Fκ-products of M,

and entries of M are known to a share of √(M_jj M_kk), for sums of products keep to Cauchy's inequality.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from dualgap.arrays import Index, Matrix, Vector
from dualgap.errors import DataError
from dualgap.losses.base import FAINT
from dualgap.proof.balance import Balanced
from dualgap.proof.blocks import StreamStatement
from dualgap.proof.check import SHARE, SLACK, Checked, _box, inside, told
from dualgap.proof.processor import PlainArithmetic
from dualgap.proof.rounding import FEW, LEAST, U, gamma, two_product, two_sum
from dualgap.proof.statement import SMALL

PART = 4096  # rows of a product: a fifth faster than 1024, and its bound on rounding is still 5e-13
ENTRY = 8  # roundings of a term before it is added: shift, root of the weight, product
MORE = 4  # of one with targets that are counted from an offset: two more for each
FREE = 1e-10  # share of a free column's square that is left beside those before it, at which it is left open


@dataclass(frozen=True, eq=False)
class MomentSums:
    """M, what it is taken about, how often a term was rounded, how many rows there were."""

    shift: Vector  # of the columns, the target's last
    matrix: Matrix
    roundings: int
    rows: int
    tops: Vector  # the largest |x − shift| of each column, the target's last

    def plus(self, other: MomentSums) -> MomentSums:
        """Of both lots of rows, which must have been taken about the same point."""
        if not np.array_equal(self.shift, other.shift):
            raise DataError("Moments about different points cannot be added; take both about one shift.")
        return MomentSums(
            self.shift,
            self.matrix + other.matrix,
            max(self.roundings, other.roundings) + 1,
            self.rows + other.rows,
            np.maximum(self.tops, other.tops),
        )

    def less(self, other: MomentSums) -> MomentSums:
        """Without these rows: entries are known to as much of the whole as before."""
        return replace(
            self,
            matrix=self.matrix - other.matrix,
            roundings=self.roundings + other.roundings + 1,
            rows=self.rows - other.rows,
        )

    @property
    def finite(self) -> bool:
        """False where a number of the rows is none."""
        return bool(np.isfinite(self.matrix).all())

    @property
    def weight(self) -> float:
        """Σs."""
        return float(self.matrix[-1, -1])

    @property
    def share(self) -> float:
        """Entries are known to this share of √(M_jj M_kk)."""
        return gamma(self.roundings) * (1.0 + FEW)


def moments_of(X: Any, y: Any, weight: Vector | None, shift: Vector) -> MomentSums:
    """The moments of one block; the targets may be pairs (y, offset), of which the difference counts."""
    n, p = X.shape
    total, parts = np.zeros((p + 2, p + 2)), range(0, n, PART)
    work, tops = np.empty((min(n, PART), p + 2), order="F"), np.zeros(p + 1)
    for i in parts:
        part = work[: min(PART, n - i)]
        np.subtract(X[i : i + PART], shift[:-1], out=part[:, :-2])
        part[:, -2], part[:, -1] = _about(y[i : i + PART], float(shift[-1])), 1.0
        np.maximum(tops, part[:, :-1].max(axis=0), out=tops)
        np.maximum(tops, -part[:, :-1].min(axis=0), out=tops)
        if weight is not None:
            part *= np.sqrt(weight[i : i + PART])[:, None]
        total += part.T @ part
    entry = ENTRY + (MORE if y.ndim > 1 else 0)
    return MomentSums(shift, total, min(n, PART) + len(parts) + entry, n, tops)


def _about(y: Any, level: float) -> Vector:
    """y − level, rounded once; y − offset − level to a share of 3 U of itself.

    With y − offset = high + low exactly: high − level is exact where the two are within a factor of two, else
    it is at least half of |high|, beside which low is U.
    """
    if y.ndim == 1:
        return np.asarray(y - level)
    high, low = two_sum(y[:, 0], -y[:, 1])
    return np.asarray((high - level) + low)


def judged_by_moments(
    problem: StreamStatement,
    seen: MomentSums,
    whole: MomentSums,
    w: Vector,
    kappa: Vector,
    tolerance: float = 0.0,
    null: float = 0.0,
) -> Checked:
    """What is true of w, and of the rule with slopes 2κ·r; errors are shares of the sizes in `whole`."""
    with PlainArithmetic():
        given, w = w, inside(problem, w)
        found = _judged(problem, seen, whole, w, kappa, tolerance, null)
    return found if w is given else replace(found, moved=True)


def _judged(
    problem: StreamStatement,
    seen: MomentSums,
    whole: MomentSums,
    w: Vector,
    kappa: Vector,
    tolerance: float,
    null: float,
) -> Checked:
    coef, level = (w[:-1], float(w[-1])) if problem.intercept else (w, 0.0)
    constant, wide = _constant(coef, level, seen.shift)
    omega = np.concatenate([coef, [-1.0, constant]])
    known = _Known(seen, whole)
    weight, count = seen.weight, len(omega)
    n = 1.0 / (weight * (1.0 - known.loose - 8.0 * U)) if known.loose < 0.5 else np.inf
    square, doubt = known.square(omega)
    # the constant is off by `wide`: by no more than that is each prediction
    far = wide * math.sqrt(max(weight, 0.0) * (1.0 + known.loose)) if wide else 0.0
    root = math.sqrt(max(square, 0.0) + doubt) + far
    priced, unsure = problem.regulariser.priced(w)
    objective = ((root * root + LEAST) * n + priced) * (1.0 + FEW) + unsure + LEAST
    tied = _Tied.of(problem, seen, known)
    if tied is None or not objective < np.inf:
        zero = np.zeros(len(w))
        return Checked(w, np.zeros(1), objective if objective == objective else np.inf, 0.0, 0.0, zero, zero)
    least = max((square - doubt) / weight * (1.0 - known.loose - FEW), 0.0)
    width = max(objective - least - priced + 2.0 * unsure, 0.0)
    rho = tied.distance(kappa)
    apart, unsure_apart = known.square(omega - kappa)
    apart_root = math.sqrt(max(apart, 0.0) + unsure_apart) + rho + far
    apart_root += 4.0 * U * known.length(np.abs(omega) + np.abs(kappa))
    terms = (apart_root * apart_root + LEAST) * n * (1.0 + FEW)
    v, reach = _correlation(problem, seen, known, kappa, rho)
    pull = np.abs(v) + reach
    v[problem.free], reach[problem.free] = 0.0, 0.0
    bracket, excess = problem.regulariser.fenchel_young(w, v, reach)
    along = float(np.abs(w) @ np.abs(v))
    rounding = width + SLACK * (objective + bracket + along) + excess * objective + count * LEAST
    none = np.zeros(0)
    budget = SHARE * tolerance * max(objective, SMALL * null)
    box, charge = _box(w, Balanced(none, none, tied.open_, pull[tied.open_]), budget)
    gap = terms + bracket + rounding + charge
    size = np.array([2.0 * known.length(np.abs(kappa)) * n])
    return told(Checked(w, size, objective, gap, rounding, v, reach, box, width))


def _constant(coef: Vector, level: float, shift: Vector) -> tuple[float, float]:
    """b + shift·w − level of the target, and how far off it may be."""
    products, errors = two_product(shift[:-1], coef)
    parts = [*products.tolist(), *errors.tolist(), level, -float(shift[-1])]
    value = math.fsum(parts) if np.isfinite(parts).all() else np.inf
    return value, 2.0 * U * abs(value) + 16.0 * LEAST * len(coef)


class _Known:
    """Products of M with vectors and what they may be off by."""

    def __init__(self, seen: MomentSums, whole: MomentSums) -> None:
        self.M = seen.matrix
        roundings = seen.roundings + 2 * len(seen.matrix) + 8  # those of the products made here among them
        self.share = gamma(roundings) * (1.0 + FEW)
        # products of two entries underflow by LEAST at most: sizes are so large that their share covers that
        under = 4.0 * (whole.rows + len(self.M)) * LEAST / self.share
        square = np.maximum(np.diagonal(whole.matrix), 0.0) * (1.0 + 2.0 * whole.share)
        self.sizes = np.sqrt(square + under)
        self.loose = np.inf  # the share to which Σs is known
        if seen.weight >= FAINT:
            self.loose = self.share * (float(self.sizes[-1]) ** 2 / seen.weight) * (1.0 + FEW)

    def length(self, size: Vector) -> float:
        """√(Σ s (size·|r|)²) at most."""
        return float(size @ self.sizes) * (1.0 + FEW)

    def square(self, one: Vector) -> tuple[float, float]:
        """oneᵀM one, and its error."""
        return float(one @ (self.M @ one)), self.share * self.length(np.abs(one)) ** 2 * (1.0 + FEW)

    def along(self, F: Matrix, one: Vector) -> tuple[Vector, Vector]:
        """F M one, and its error."""
        size = np.abs(F) @ self.sizes
        return F @ (self.M @ one), self.share * size * self.length(np.abs(one)) * (1.0 + FEW)


@dataclass(frozen=True, eq=False)
class _Tied:
    """What θ must be orthogonal to, as functions F r of a row: an exact κ with FMκ = 0 is near any κ.

    With MᵀM = (FMFᵀ)⁻¹ nearly, the change d has dᵀMd ≤ (1 + η)‖M F M κ‖²/(1 − η)².
    """

    F: Matrix
    inverse: Matrix
    eta: float
    known: _Known
    open_: Index

    @classmethod
    def of(cls, problem: StreamStatement, seen: MomentSums, known: _Known) -> _Tied | None:
        tied, p = problem.tied, len(seen.shift) - 1
        F = np.zeros((len(tied), p + 2))
        for k, j in enumerate(tied):
            F[k, -1] = 1.0 if j == p else seen.shift[j]
            if j < p:
                F[k, j] = 1.0
        if problem.intercept:  # x − shift is as good where ones are free too
            F[:-1, -1] = 0.0
        G = F @ seen.matrix @ F.T
        size = np.abs(F) @ known.sizes
        kept, open_ = _pivots(G)
        F, G, size = F[kept], G[np.ix_(kept, kept)], size[kept]
        if not len(kept):
            return cls(F, np.zeros((0, 0)), 0.0, known, tied[open_])
        scale = np.sqrt(np.diagonal(G))
        try:
            inverse = np.linalg.inv(np.linalg.cholesky(G / scale / scale[:, None])) / scale
        except np.linalg.LinAlgError:
            return None
        few = 1.0 + FEW + gamma(len(kept) ** 2)
        off = float(np.linalg.norm(inverse @ G @ inverse.T - np.eye(len(kept))))
        reach = np.abs(inverse) @ size
        eta = (off + known.share * float(reach @ reach) + gamma(4 * p + 8) * float(reach @ reach)) * few
        return cls(F, inverse, eta, known, tied[open_]) if eta < 0.5 else None

    def distance(self, kappa: Vector) -> float:
        """√(dᵀMd) at most, for the d that makes κ + d orthogonal."""
        if not len(self.F):
            return 0.0
        value, error = self.known.along(self.F, kappa)
        length = float(
            np.linalg.norm(np.abs(self.inverse @ value) + np.abs(self.inverse) @ error * (1.0 + FEW))
        )
        length += gamma(len(value)) * float(np.linalg.norm(np.abs(self.inverse) @ np.abs(value)))
        return math.sqrt(1.0 + self.eta) * length / (1.0 - self.eta) * (1.0 + FEW + gamma(len(value)))


def _pivots(G: Matrix) -> tuple[Index, Index]:
    """Columns of which more than rounding is left beside those before them, and the others."""
    left, kept, others = G.copy(), [], []
    first = np.diagonal(G).copy()
    for k in range(len(G)):
        if not left[k, k] > FREE * first[k]:
            others.append(k)
            continue
        kept.append(k)
        left -= np.outer(left[:, k], left[k]) / left[k, k]
    return np.array(kept, dtype=np.intp), np.array(others, dtype=np.intp)


def _correlation(
    problem: StreamStatement, seen: MomentSums, known: _Known, kappa: Vector, rho: float
) -> tuple[Vector, Vector]:
    """Xᵀθ, a coordinate each, for the point near κ that is orthogonal to what is free; and its error."""
    p = len(seen.shift) - 1
    F = np.eye(p + problem.intercept, p + 2)
    if problem.intercept:
        F[-1], F[-1, -1] = 0.0, 1.0  # and then ones are orthogonal to θ: the shift plays no part
    else:
        F[:, -1] = seen.shift[:-1]
    value, error = known.along(F, kappa)
    size = np.abs(F) @ known.sizes
    n = 2.0 / seen.weight
    few = 1.0 + FEW + 2.0 * known.loose
    reach = (error + size * rho + (known.loose + FEW) * np.abs(value)) * n * few + LEAST
    return -value * n, reach
