"""What a problem is: rows, targets, weights, a loss and a regulariser, all of them numbers taken as exact."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np

from dualgap.arrays import Mask, Matrix, Vector, once
from dualgap.losses import Loss
from dualgap.penalties import Regulariser
from dualgap.proof.balance import Off, zero_sum
from dualgap.proof.constraints import Constraints
from dualgap.proof.rounding import FEW, U, two_sum
from dualgap.proof.rows import length, with_products
from dualgap.proof.unseen import unseen

SMALL = 1e-4  # objectives below this share of the null objective count as zero


@dataclass(frozen=True, eq=False)
class Statement:
    """minimise over w of   Σ a_i L(y_i, (Xw)_i) + g(w),   with constraints where lower ≤ Aw ≤ upper.

    A dual point is θ, with the multipliers μ of the constraints behind it. Where `intercept` is true the last
    coordinate of w, which g does not see, is the intercept. `a` holds s_i/Σs to FEW roundings; y, the rows
    and the regulariser's numbers are what they are.
    """

    design: Any  # its `matrix` is X as NumPy or SciPy holds it, without a column of ones
    y: Vector
    a: Vector
    loss: Loss
    regulariser: Regulariser
    intercept: bool
    constraints: Constraints | None = field(default=None, kw_only=True)

    @once
    def rows(self) -> Any:
        """X."""
        return with_products(self.design.matrix)

    @property
    def free(self) -> Mask:
        """Coordinates without a penalty, the intercept among them."""
        return self.regulariser.free

    @property
    def free_features(self) -> Mask:
        """The columns among them."""
        return self.gathered(self.free)

    def free_columns(self, *, exact: bool) -> tuple[Matrix, Off | None]:
        """These columns, behind one of ones where there is an intercept, and what they are off by.

        Behind them is what the rows make of weights along which g is free, which is rounded.
        """
        where, sums = np.flatnonzero(self.free_features), self.regulariser.gauge.sums
        rows = [self.rows] if self.constraints is None else [self.rows, self.constraints.rows]
        columns, ones = np.vstack([one.columns(where) for one in rows]), np.ones(self.rows.n)
        if self.constraints is not None:
            ones = np.append(ones, np.zeros(len(self.constraints)))
        if self.intercept:
            columns = np.column_stack([ones, columns])
        if sums is None:
            return columns, None
        parts = [unseen(one, sums, exact=exact) for one in rows]
        more, rest, error = (np.vstack(part) for part in zip(*parts, strict=True))
        none = np.zeros_like(columns)
        off = Off(np.column_stack([none, rest]), np.column_stack([none, error]))
        return np.column_stack([columns, more]), off

    def levelled(self, theta: Vector, *, ahead: bool = False) -> Vector:
        """θ with Σθ = 0 over the rows where there is an intercept, exactly; no entry further from 0.

        `ahead`: for who needs it before a proof does, which is given these very numbers then.
        """
        if not self.intercept:
            return theta
        rows, multipliers = self.split(theta)
        known: Vector | None = self.__dict__.get("_level")  # a copy that nobody else has
        if known is None or known[0] != rows[0] or not (known == rows).all():
            rows = zero_sum(rows)
        if ahead:
            self.__dict__["_level"] = rows.copy()
        return np.append(rows, multipliers) if len(multipliers) else rows

    def coef(self, w: Vector) -> Vector:
        """The weights of the columns."""
        return w[:-1] if self.intercept else w

    def split(self, theta: Vector) -> tuple[Vector, Vector]:
        """θ of the rows, and the multipliers behind it."""
        return theta[: len(self.y)], theta[len(self.y) :]

    @property
    def curvature(self) -> float:
        """The largest second derivative of the loss."""
        return self.loss.curvature

    def spread(self, columns: Vector) -> Vector:
        """A number for each column as one for each coordinate, that of the intercept 0."""
        if not self.intercept:
            return columns
        found = np.zeros(len(columns) + 1)
        found[:-1] = columns
        return found

    def gathered(self, coordinates: Mask) -> Mask:
        """Which columns have a coordinate among these."""
        return coordinates[:-1] if self.intercept else coordinates

    @once
    def centred(self) -> tuple[Loss, Vector, tuple[Vector, ...]]:
        """The loss, and its targets once predictions are counted from `misses`' origin, which is this far."""
        return self.loss.centred(self.y)

    @property
    def centre(self) -> Vector:
        """These targets."""
        return self.centred[1]

    def misses(self, w: Vector, *, exact: bool = False, rough: bool = False) -> tuple[Vector, Any]:
        """Xw + b and the offset, less y where the loss sees only the difference; and the error of each.

        All but Xw comes first: b and y may be huge, and their difference is rounded once.
        """
        coef, level = (w[:-1], float(w[-1])) if self.intercept else (w, 0.0)
        rows = self.rows
        value, low, error = rows.times_roughly(coef) if rough else rows.times(coef, exact=exact)
        shifts = self.centred[2]
        if not exact:
            base: Any = level
            most = length if rough else _largest  # of the numbers that are added: a length is made sooner
            far = 0.0 if shifts else abs(level)
            for shift in shifts if len(self.a) else ():
                base = base + shift
                far = far + most(base)
            return value + base, error + 4.0 * U * (far + (most(value) if len(self.a) else 0.0))
        base, rest, slack = moved_exactly(level, shifts)
        t = (value + base) + (low + rest)
        return t, error + 4.0 * U * (np.abs(t) + np.abs(low) + slack)

    def dual_bounds_inside(self) -> tuple[Vector, Vector]:
        """θ between these has −θ/a in the domain of the conjugate, whatever the rounding of a."""
        lower, upper = self.loss.domain(self.y)
        inside = self.a * (1.0 - 2.0 * FEW)
        with np.errstate(invalid="ignore"):
            low, high = -inside * upper, -inside * lower
        if self.constraints is None:
            return low, high
        least, most = self.constraints.domain
        return np.append(low, least), np.append(high, most)


def _largest(values: Vector) -> float:
    return float(abs(values).max())


def moved(level: Matrix, shifts: tuple[Vector, ...]) -> tuple[Matrix, Any]:
    """level + Σ shifts, and a number that its rounding is at most U of: one for each row of levels."""
    base, far = level, np.abs(level).max(axis=-1, initial=0.0) if not shifts else 0.0
    for shift in shifts:
        base = base + shift
        far = far + np.abs(base).max(axis=-1, initial=0.0)
    return base, far


def moved_exactly(level: Any, shifts: tuple[Vector, ...]) -> tuple[Any, Any, Any]:
    """The same as a value and a correction, and a number that the correction is at most: it is off by no more
    than U of that.
    """
    zero: Any = 0.0
    base, rest, slack = level, zero, zero
    for shift in shifts:
        base, lost = two_sum(base, shift)
        rest, slack = rest + lost, slack + abs(lost)
    return base, rest, slack
