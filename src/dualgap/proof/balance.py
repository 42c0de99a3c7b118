"""A dual point that satisfies its constraints as real numbers: Σθ = 0 exactly, x_j·θ = 0 for free columns.

Every move here is towards a feasible point; whatever θ comes in, what goes out is feasible, good or poor.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from dualgap.arrays import Index, Matrix, Vector
from dualgap.proof.rounding import FEW, LEAST, U, gamma, lost, product, summed, two_product, two_sum

LARGE = 2.0**960  # sums of numbers up to this never overflow
WHOLE = 2**53  # integers up to this are doubles
NORMAL = 900  # exponents up to this are those of numbers in full, and so are whole numbers times these
SLIGHT = 20  # bits: what is less than 2^-20 of the largest entry may be taken from it alone
ROUNDS = 3  # of projection: the second and third remove the rounding of those before
PASSES = 3  # of orthogonalisation: each gains the digits of one more double
ROOM = (0.0, 2.0**-34, 2.0**-27)  # share of θ given up where its bounds leave it nowhere to go
APART = 1e-3  # share of a row that is left beside those before it: no rounding takes that for more than it is
DEPENDENT = 64.0 * U  # share of a column that is left beside those before it, at which it is only rounding


def zero_sum(theta: Vector) -> Vector:
    """θ with Σθ = 0 as real numbers, each entry no further from 0 than it was; 0 if any is no number.

    Entries become whole multiples of one power of two, so that their sum is an integer; what it is off by is
    taken from the side that is too heavy. Where an entry that needs no more than 53 bits can bear that, the
    power is so small that small entries beside a large one keep their digits too.
    """
    size = np.abs(theta)
    top = float(size.max(initial=0.0))
    if not top <= LARGE:
        return np.zeros_like(theta)
    exponent = max(math.frexp(float(size.sum()))[1] - 61, -1074)
    units = _units(theta, exponent)
    if not _borne(units):
        units, exponent = grid(theta)
        _settle(units)
    return _times(units, exponent)


def zero_sums(thetas: Matrix) -> Matrix:
    """`zero_sum` of every row, at once where the largest entry of the heavy side can bear all."""
    fine = np.abs(thetas).max(axis=1, initial=0.0) <= LARGE
    thetas = np.where(fine[:, None], thetas, 0.0)
    exponents = _exponents(thetas)[:, None]
    units = np.ldexp(thetas, -exponents).astype(np.int64)  # towards 0
    over = units.sum(axis=1)
    rows, heavy = np.arange(len(units)), np.argmax(units * np.sign(over)[:, None], axis=1)
    bears = np.abs(over) <= np.abs(units[rows, heavy])
    units[rows[bears], heavy[bears]] -= over[bears]
    for k in np.flatnonzero(~bears):
        _settle(units[k])
    return np.asarray(np.ldexp(units.astype(np.float64), exponents))


def grid(values: Matrix) -> tuple[Any, int]:
    """The numbers, rounded towards 0, as whole multiples of 2^exponent: each fits in 53 bits, a sum in 62."""
    size = np.abs(values)
    most, top = math.frexp(float(size.sum()))[1] - 61, math.frexp(float(size.max(initial=0.0)))[1] - 53
    exponent = max(most, top, -1074)
    return _units(values, exponent), exponent


def _units(values: Matrix, exponent: int) -> Any:
    """The numbers, rounded towards 0, as whole multiples of 2^exponent."""
    if abs(exponent) <= NORMAL:  # a product rounds only what is less than one, and takes a third of the time
        return (values * 2.0**-exponent).astype(np.int64)
    return np.ldexp(values, -exponent).astype(np.int64)


def _times(units: Any, exponent: int) -> Vector:
    """Whole numbers times 2^exponent."""
    found = units.astype(np.float64)
    if abs(exponent) <= NORMAL:
        found *= 2.0**exponent
        return np.asarray(found)
    return np.asarray(np.ldexp(found, exponent))


def _borne(units: Any) -> bool:
    """Made to add up to 0, in place, by one entry of at most 53 bits to which that is little; or left."""
    over = int(units.sum())
    if not over:
        return True
    heavy = int(units.argmax() if over > 0 else units.argmin())
    size = abs(int(units[heavy]))
    if size > WHOLE:
        able = np.where(np.abs(units) <= WHOLE, units if over > 0 else -units, 0)
        heavy = int(able.argmax())
        size = int(able[heavy])
    if abs(over) > size >> SLIGHT:
        return False
    units[heavy] -= over
    return True


def _exponents(values: Matrix) -> Any:
    """Of each row: none of its numbers loses more than its last bits to the grid, and the sum fits."""
    size = np.abs(values)
    most, top = np.frexp(size.sum(axis=1))[1] - 61, np.frexp(size.max(axis=1, initial=0.0))[1] - 53
    return np.maximum(np.maximum(most, top), -1074)


def _settle(units: Any) -> None:
    """Whole numbers made to add up to 0, in place."""
    over = int(units.sum())
    if over:
        side = 1 if over > 0 else -1
        heavy = units.argmax() if over > 0 else units.argmin()
        if abs(over) <= abs(int(units[heavy])) >> SLIGHT:  # rounding: one entry bears it
            units[heavy] -= over
        else:
            units -= side * taken(np.maximum(side * units, 0), abs(over))


def taken(there: Any, wanted: int) -> Any:
    """Whole numbers up to those there that add up to what is wanted: in proportion, then from the largest."""
    found = (there * (wanted / float(there.sum()) * (1.0 - FEW))).astype(np.int64)
    rest, missing = there - found, wanted - int(found.sum())
    order = np.array([np.argmax(rest)]) if missing <= rest.max() else np.argsort(-rest)
    before = np.cumsum(rest[order]) - rest[order]
    found[order] += np.clip(missing - before, 0, rest[order])
    return found


@dataclass(frozen=True, eq=False)
class Off:
    """What a matrix is off by: by a correction, and each entry by no more than an error beside that."""

    rest: Matrix
    error: Matrix

    def over(self, unit: Vector) -> Off:
        """With the columns divided by powers of two: nothing is rounded but what underflows."""
        some = (self.rest != 0.0) | (self.error > 0.0)
        return Off(self.rest / unit, self.error / unit + 2.0 * LEAST * some)

    @property
    def loose(self) -> Matrix:
        """Both together."""
        return np.asarray((np.abs(self.rest) + self.error) * (1.0 + FEW))


@dataclass(frozen=True, eq=False)
class Balanced:
    """Somewhere within `reach` of θ, entry by entry, is a point of the domain that is orthogonal to F.

    But for the columns in `open_`, whose products with it are at most `pull`.
    """

    theta: Vector
    reach: Vector
    open_: Index
    pull: Vector


def orthogonal(
    F: Matrix,
    theta: Vector,
    bounds: tuple[Vector, Vector],
    *,
    off: Off | None = None,
    exact: bool = False,
) -> Balanced | None:
    """A point near θ with Fᵀθ = 0 that provably exists within the bounds; None where none was found.

    F is exact where nothing says what it is `off` by.

    With weights ω² (the room of each entry), C = F·M such that ωC is nearly orthonormal, and s = Cᵀθ, the
    exact correction is −ω²C(CᵀωωC)⁻¹s: entry by entry at most ω²‖C_i‖‖s‖/(1 − η), η ≥ ‖CᵀωωC − 1‖. M need
    not be accurate, only known: what matters is C, computed from F as given, in as many digits as it takes.
    """
    unit = np.ldexp(1.0, np.frexp(np.abs(F).max(axis=0, initial=0.0))[1])
    scaled = F / unit
    if np.any(scaled * unit - F):  # powers of two round nothing but what underflows
        return None
    if _spanning(scaled):
        theta = np.zeros_like(theta)
    off = None if off is None else off.over(unit)
    first = None
    for give in ROOM:
        near = np.clip(theta * (1.0 - give), *bounds)
        if not near.any():
            return Balanced(near, np.zeros_like(near), np.empty(0, dtype=np.intp), np.empty(0))
        omega = np.sqrt(_room(near, *bounds))
        basis = _basis(scaled, omega, exact=exact, off=off)
        if basis is None:
            continue
        found = _corrected(basis, omega, near, bounds, exact and off is not None)
        if found is None:
            continue
        open_ = basis.open_
        balanced = Balanced(*found, open_, _pull(scaled[:, open_], *found) * unit[open_] + LEAST)
        if not len(open_):
            return balanced
        first = first or balanced
        if omega.all():  # else more room may leave fewer open
            break
    return first


def _spanning(F: Matrix) -> bool:
    """Do the columns plainly span all rows? Then nothing but 0 is orthogonal to them."""
    n, k = F.shape
    length = np.sqrt(np.einsum("ij,ij->i", F, F))
    if k < n or not length.all():
        return False
    rows = F / length[:, None]
    try:
        factor = np.linalg.cholesky(rows @ rows.T)
    except np.linalg.LinAlgError:
        return False
    return bool(factor.diagonal().min() > APART)


def _corrected(
    basis: _Basis, omega: Vector, theta: Vector, bounds: tuple[Vector, Vector], exact: bool = False
) -> tuple[Vector, Vector] | None:
    """θ moved by what it takes, nearly; and how far off the exact point can be. None if that is outside.

    `exact`: products with C in twice the digits, where much is made of what they leave.
    """
    C, weight, (n, k) = basis.C, omega * omega, basis.C.shape
    for _ in range(ROUNDS):
        left = _along(C, theta)[0] if exact else C.T @ theta
        theta = np.clip(theta - weight * (C @ np.linalg.solve(basis.gram, left)), *bounds)
    size = np.abs(theta)
    if exact:
        left, doubt = _along(C, theta)
        s = np.abs(left) + doubt
    else:
        s = np.abs(C.T @ theta) + gamma(n) * (np.abs(C).T @ size)
    s = s + float(basis.doubt @ size) * basis.share + 2.0 * n * LEAST * (1.0 + basis.share)
    top = float(s.max(initial=LEAST))  # so that squares do not underflow
    length = top * float(np.linalg.norm(s / top)) / (1.0 - basis.eta)
    rows = np.sqrt(np.einsum("ij,ij->i", C, C) + k * LEAST)
    reach = weight * ((rows + basis.doubt * float(np.linalg.norm(basis.share))) * length)
    reach = np.where(weight > 0.0, reach * (1.0 + FEW + gamma(n + 3 * k)) + LEAST, 0.0)  # the others stay
    inside = np.all((theta - bounds[0] >= reach) & (bounds[1] - theta >= reach))
    return (theta, reach) if inside else None


def _pull(columns: Matrix, theta: Vector, reach: Vector) -> Vector:
    """|xᵀθ'| at most, for every θ' within reach of θ."""
    n, size = len(theta), np.abs(columns).T
    value, error = two_product(columns, theta[:, None])
    high, low = summed(value)
    found = np.abs(high + (low + error.sum(axis=0))) + size @ reach
    return np.asarray((found + lost(n) * (size @ np.abs(theta)) + 8.0 * n * LEAST) * (1.0 + FEW + gamma(n)))


def _along(C: Matrix, theta: Vector) -> tuple[Vector, Vector]:
    """Cᵀθ in twice the digits, rounded once, and the error of that but for a share FEW."""
    value, error = two_product(C, theta[:, None])
    high, low = summed(value)
    found = high + (low + error.sum(axis=0))
    size = np.abs(C).T @ np.abs(theta)
    return found, (lost(len(C)) + U * U) * size + U * np.abs(found) + 8.0 * len(C) * LEAST


def _room(theta: Vector, lower: Vector, upper: Vector) -> Vector:
    """How far each entry is from its nearer bound, beside the farthest; or as far as the largest θ."""
    room = np.maximum(np.minimum(theta - lower, upper - theta), 0.0)
    room[np.isinf(room)] = np.abs(theta).max()
    return np.asarray(room / max(float(room.max()), LEAST))


@dataclass(frozen=True, eq=False)
class _Basis:
    """C = F[:, kept]·M, each entry of it known to doubt_i·share_j; gram ≈ CᵀωωC, which is 1 up to η < ½."""

    C: Matrix
    doubt: Vector
    share: Vector
    gram: Matrix
    eta: float
    open_: Index


def _basis(F: Matrix, omega: Vector, *, exact: bool, off: Off | None = None) -> _Basis | None:
    """By the Cholesky factor of the Gram matrix; by QR and more digits where columns are nearly dependent."""
    found = None if exact else _by_cholesky(F, omega, off)
    if found is not None:
        return found
    kept, open_ = _independent(F, omega, off)
    k = len(kept)
    high, low, error = F[:, kept], np.zeros((len(F), k)), np.zeros((len(F), k))
    if off is not None:
        low, error = off.rest[:, kept], off.error[:, kept]
    for _ in range(PASSES):
        try:
            M = np.linalg.inv(np.linalg.qr(omega[:, None] * high, mode="r"))
        except np.linalg.LinAlgError:
            return None
        size = np.abs(M)
        error = error @ size + lost(k) * (np.abs(high) @ size) + gamma(k + 2) * (np.abs(low) @ size)
        error = error * (1.0 + FEW + gamma(k)) + 16.0 * k * LEAST
        high, low = product(high, low, M)
        doubt = (error + np.abs(low)).max(axis=1, initial=0.0) * (1.0 + FEW)
        found = _measured(high, doubt, np.ones(k), omega, open_)
        if found is not None:
            return found
    return None


def _by_cholesky(F: Matrix, omega: Vector, off: Off | None = None) -> _Basis | None:
    k, weighted = F.shape[1], omega[:, None] * F
    try:
        M = np.linalg.inv(np.linalg.cholesky(weighted.T @ weighted)).T
    except np.linalg.LinAlgError:
        return None
    doubt = gamma(k) * np.sqrt(np.einsum("ij,ij->i", F, F) + k * LEAST)
    if off is not None:
        loose = off.loose
        doubt = doubt + np.sqrt(np.einsum("ij,ij->i", loose, loose) + k * LEAST) * (1.0 + FEW + gamma(k))
    return _measured(F @ M, doubt, np.linalg.norm(M, axis=0), omega, np.empty(0, dtype=np.intp))


def _measured(C: Matrix, doubt: Vector, share: Vector, omega: Vector, open_: Index) -> _Basis | None:
    """The basis with its η, if that is below one half."""
    n, k = C.shape
    few = 1.0 + FEW + gamma(n + k * k)  # the sums here, in any order
    turned = omega[:, None] * C
    gram = turned.T @ turned
    square = float(np.trace(gram)) * few
    unsure = (float(np.linalg.norm(omega * doubt) * np.linalg.norm(share)) + 2.0 * U * np.sqrt(square)) * few
    off = float(np.linalg.norm(gram - np.eye(k))) + gamma(n + 1) * square
    eta = (off + unsure * (2.0 * np.sqrt(square) + unsure)) * few
    return _Basis(C, doubt, share, gram, eta, open_) if eta < 0.5 else None


def _independent(F: Matrix, omega: Vector, off: Off | None = None) -> tuple[Index, Index]:
    """Columns that are more than rounding beside those before them; the others but for exact combinations."""
    weighted = omega[:, None] * F
    length = np.linalg.norm(weighted, axis=0)
    span, alive = np.zeros_like(F), np.zeros(F.shape[1], dtype=bool)
    for j in np.flatnonzero(length):
        x = weighted[:, j] / length[j]
        for _ in range(2):  # the second time for what rounding left of the first
            x = x - span @ (span.T @ x)
        left = float(np.linalg.norm(x))
        if left > DEPENDENT * np.sqrt(F.shape[1]):
            span[:, j], alive[j] = x / left, True
    kept, others = np.flatnonzero(alive), np.flatnonzero(~alive)
    shares = np.round(16.0 * np.linalg.lstsq(F[:, kept], F[:, others], rcond=None)[0])
    pairs = zip(others, shares.T, strict=True)
    open_ = [j for j, multiples in pairs if not _combined(F[:, kept], multiples, 16.0 * F[:, j])]
    if off is not None:  # of columns that are not exact nothing is shown
        unsure = np.asarray(off.loose.max(axis=0, initial=0.0) > 0.0)
        among = unsure[kept] @ (shares != 0.0)
        open_ = sorted({*open_, *others[unsure[others] | among].tolist()})
    return kept, np.array(open_, dtype=np.intp)


def _combined(F: Matrix, multiples: Vector, x: Vector) -> bool:
    """Is x, as real numbers, the sum of these whole multiples of the columns?

    Shown by products and sums none of which is rounded; whole multiples cannot underflow.
    """
    value, error = two_product(F, multiples)
    left, rounded = -x, bool(error.any())
    for term in value.T:
        left, error = two_sum(left, term)
        rounded |= bool(error.any())
    return not rounded and not left.any()
