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

ROUNDS = 3  # of projection: the second and third remove the rounding of those before
PASSES = 3  # of orthogonalisation: each gains the digits of one more double
ROOM = (0.0, 2.0**-34, 2.0**-27)  # share of θ given up where its bounds leave it nowhere to go
DEPENDENT = 64.0 * U  # share of a column that is left beside those before it, at which it is only rounding
UNDER = 2.0**-1000  # more than all that underflows


def zero_sum(theta: Vector) -> Vector:
    """θ with Σθ = 0 as real numbers, each entry no further from 0 than it was.

    Entries become whole multiples of one power of two, so that their sum is an integer; what it is off by is
    taken from the side that is too heavy.
    """
    if not np.all(np.isfinite(theta)):
        return np.zeros_like(theta)
    units, exponent = grid(theta)
    over = int(units.sum())
    if over:
        heavy = np.flatnonzero(units > 0 if over > 0 else units < 0)
        units[heavy] -= np.sign(units[heavy]) * taken(np.abs(units[heavy]), abs(over))
    return np.ldexp(units.astype(np.float64), exponent)


def zero_sums(thetas: Matrix) -> Matrix:
    """`zero_sum` of every row, at once where the largest entry of the heavy side can bear all."""
    size = np.abs(thetas)
    exponents = np.maximum(np.frexp(size.sum(axis=1))[1] - 61, np.frexp(size.max(axis=1, initial=0.0))[1] - 53)
    exponents = np.maximum(exponents, -1074)[:, None]
    units = np.trunc(np.ldexp(thetas, -exponents))
    whole = units.astype(np.int64)
    over = whole.sum(axis=1)
    heavy = np.argmax(whole * np.sign(over)[:, None], axis=1)
    rows = np.arange(len(thetas))
    bears = np.isfinite(size).all(axis=1) & (np.abs(over) <= np.abs(whole[rows, heavy]))
    whole[rows[bears], heavy[bears]] -= over[bears]
    found = np.ldexp(whole.astype(np.float64), exponents)
    for k in np.flatnonzero(~bears):
        found[k] = zero_sum(thetas[k])
    return found


def grid(values: Matrix) -> tuple[Any, int]:
    """The numbers, rounded towards 0, as whole multiples of 2^exponent whose sums fit in 62 bits."""
    size = np.abs(values)
    most, top = math.frexp(float(size.sum()))[1] - 61, math.frexp(float(size.max(initial=0.0)))[1] - 53
    exponent = max(most, top, -1074)
    return np.trunc(np.ldexp(values, -exponent)).astype(np.int64), exponent


def taken(there: Any, wanted: int) -> Any:
    """Whole numbers up to those there that add up to what is wanted: in proportion, the rest from the largest."""
    share = wanted / float(there.sum()) * (1.0 - 1e-9)
    found = np.floor(there * share).astype(np.int64)
    missing = wanted - int(found.sum())
    while missing > 0:
        largest = int(np.argmax(there - found))
        more = min(missing, int(there[largest] - found[largest]))
        found[largest] += more
        missing -= more
    return found


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
    F: Matrix, theta: Vector, bounds: tuple[Vector, Vector], *, exact: bool = False
) -> Balanced | None:
    """A point near θ with Fᵀθ = 0 that provably exists within the bounds; None where none was found.

    With weights ω² (the room of each entry), C = F·M such that ωC is nearly orthonormal, and s = Cᵀθ, the
    exact correction is −ω²C(CᵀωωC)⁻¹s: entry by entry at most ω²‖C_i‖‖s‖/(1 − η), η ≥ ‖CᵀωωC − 1‖. M need
    not be accurate, only known: what matters is C, computed from F as given, in as many digits as it takes.
    """
    top = np.maximum(F.max(axis=0, initial=0.0), -F.min(axis=0, initial=0.0))
    unit = np.ldexp(1.0, np.frexp(np.where(top > 0.0, top, 1.0))[1])  # powers of two round nothing
    F = F / unit
    for give in ROOM:
        near = np.clip(theta * (1.0 - give), *bounds)
        omega = np.sqrt(_room(near, *bounds))
        basis = _basis(F, omega, exact=exact)
        found = None if basis is None else _corrected(basis, omega, near, bounds)
        if basis is not None and found is not None:
            pull = _pull(F[:, basis.open_], *found) * unit[basis.open_]
            return Balanced(*found, basis.open_, pull)
    return None


def _corrected(
    basis: _Basis, omega: Vector, theta: Vector, bounds: tuple[Vector, Vector]
) -> tuple[Vector, Vector] | None:
    """θ moved by what it takes, nearly; and how far off the exact point can be. None if that is outside."""
    C, weight = basis.C, omega * omega
    for _ in range(ROUNDS):
        theta = np.clip(theta - weight * (C @ (C.T @ theta)), *bounds)
    size = np.abs(theta)
    s = np.abs(C.T @ theta) + gamma(len(theta) + 1) * (np.abs(C).T @ size) + float(basis.doubt @ size) * basis.share
    length = float(np.linalg.norm(s)) / (1.0 - basis.eta)
    off = basis.doubt * float(np.linalg.norm(basis.share))
    reach = weight * (np.sqrt(np.einsum("ij,ij->i", C, C)) + off) * length
    reach = np.where(weight > 0.0, reach * (1.0 + FEW) + LEAST, 0.0)  # the others do not move
    inside = np.all((theta - reach >= bounds[0]) & (theta + reach <= bounds[1]))
    return (theta, reach) if inside else None


def _pull(columns: Matrix, theta: Vector, reach: Vector) -> Vector:
    """|xᵀθ'| at most, for every θ' within reach of θ."""
    value, error = two_product(columns, theta[:, None])
    high, low = summed(value)
    size = np.abs(columns).T
    rounding = lost(len(theta)) * (size @ np.abs(theta)) + UNDER
    return np.asarray((np.abs(high + (low + error.sum(axis=0))) + rounding + size @ reach) * (1.0 + FEW))


def _room(theta: Vector, lower: Vector, upper: Vector) -> Vector:
    """How far each entry is from its nearer bound; where it has none, as far as the largest."""
    room = np.minimum(theta - lower, upper - theta)
    endless = np.isinf(room)
    if endless.any():
        room[endless] = max(float(np.abs(theta).max()), LEAST)
    return np.maximum(room, 0.0)


@dataclass(frozen=True, eq=False)
class _Basis:
    """C = F[:, kept]·M with ωC orthonormal to η < 1, each entry of it known to doubt_i·share_j."""

    C: Matrix
    doubt: Vector
    share: Vector
    eta: float
    open_: Index


def _basis(F: Matrix, omega: Vector, *, exact: bool) -> _Basis | None:
    """By the Cholesky factor of the Gram matrix; where columns are nearly dependent, by QR and more digits."""
    none = np.zeros(0, dtype=np.intp)
    if not exact:
        weighted = omega[:, None] * F
        try:
            M = np.linalg.inv(np.linalg.cholesky(weighted.T @ weighted)).T
        except np.linalg.LinAlgError:
            M = np.full((F.shape[1], F.shape[1]), np.nan)
        doubt = gamma(len(M) + 1) * np.sqrt(np.einsum("ij,ij->i", F, F)) + UNDER
        found = _measured(F @ M, doubt, np.linalg.norm(M, axis=0) + UNDER, omega, none)
        if found is not None:
            return found
    kept, open_ = _independent(F, omega)
    high, low, error = F[:, kept], np.zeros((len(F), len(kept))), np.zeros((len(F), len(kept)))
    for _ in range(PASSES):
        try:
            M = np.linalg.inv(np.linalg.qr(omega[:, None] * high, mode="r"))
        except np.linalg.LinAlgError:
            return None
        size, rest = np.abs(high) @ np.abs(M), (np.abs(low) + U * error) @ np.abs(M)
        error = error @ np.abs(M) + lost(len(M) + 1) * size + gamma(len(M) + 2) * rest + UNDER
        high, low = product(high, low, M)
        whole = high + low
        doubt = (error + U * np.abs(whole)).max(axis=1, initial=0.0) * (1.0 + FEW)
        found = _measured(whole, doubt, np.ones(len(kept)), omega, open_)
        if found is not None:
            return found
    return None


def _measured(C: Matrix, doubt: Vector, share: Vector, omega: Vector, open_: Index) -> _Basis | None:
    """The basis with its η, if that is below one half."""
    turned = omega[:, None] * C
    gram = turned.T @ turned
    square = float(np.trace(gram)) * (1.0 + gamma(len(C) + 2))
    unsure = float(np.linalg.norm(omega * doubt)) * float(np.linalg.norm(share)) + FEW * np.sqrt(square)
    off = float(np.linalg.norm(gram - np.eye(len(gram)))) + gamma(len(C) + 2) * square
    eta = (off + unsure * (2.0 * np.sqrt(square) + unsure)) * (1.0 + FEW)
    return _Basis(C, doubt, share, eta, open_) if eta < 0.5 else None


def _independent(F: Matrix, omega: Vector) -> tuple[Index, Index]:
    """Columns that are more than rounding beside those before them; the others, exact combinations left out."""
    n, k = F.shape
    weighted = omega[:, None] * F
    length = np.linalg.norm(weighted, axis=0)
    R = np.linalg.qr(weighted / np.where(length > 0.0, length, 1.0), mode="r")
    left = np.zeros(k)
    left[: min(n, k)] = np.abs(np.diag(R))
    alive = (left > DEPENDENT * np.sqrt(k)) & (length > 0.0)
    kept, others = np.flatnonzero(alive), np.flatnonzero(~alive)
    return kept, np.array([j for j in others if not _combination(F[:, kept], F[:, j])], dtype=np.intp)


def _combination(F: Matrix, x: Vector) -> bool:
    """Is x, as real numbers, a combination of the columns with multiples of 1/16?

    Shown by products and sums none of which is rounded.
    """
    shares = np.round(16.0 * np.linalg.lstsq(F, x, rcond=None)[0]) / 16.0
    value, error = two_product(F, shares)
    if error.any():
        return False
    terms = np.vstack([value.T, -x])
    while len(terms) > 1:
        first, rounded = two_sum(terms[0], terms[-1])
        if rounded.any():
            return False
        terms = np.vstack([first, terms[1:-1]])
    return not terms.any()
