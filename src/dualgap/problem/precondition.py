"""The same problem in good coordinates: centred and scaled columns, targets of size one.

Solvers work on `Working.problem`; nothing they find counts until it is mapped back and certified on the
problem that was asked.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from dualgap.arrays import Index, Mask, Matrix, Vector, ones
from dualgap.design import Compressed, Dense, Design, Standardised, WithOnes
from dualgap.penalties.differences import Sums
from dualgap.penalties.forms import Constrained, Penalised, unregularised
from dualgap.penalties.separable import Separable
from dualgap.problem.problem import Problem
from dualgap.proof.rounding import product

ROUNDING = 64.0 * 2.0**-53  # what is left of a column beside the others at which it is rounding, as in proof/
ILL = 1e-7  # singular values below this share of the largest leave too few digits to their vectors
NEARLY_CONSTANT = 1e-3  # a variance below this share of the mean square loses digits: copy and centre
TINY = 1e-200  # squares below it are rounding
FEW_EMPTY = 0.1  # of the columns: new numbers for the others cost more than so many zeros do
FAINT = 1e-290  # a column below it has no weight that could be written down: it is left where it is


@dataclass(frozen=True, eq=False)
class Working:
    """`problem` in the coordinates u, with w = unit · basis(u) and z = unit · z_u + offset.

    Where there are `sums`, these w are differences, and the asked weights their running sums.
    """

    asked: Problem
    problem: Problem
    keep: Mask  # columns of the asked design (without the ones) that are not constant
    centre: Vector  # of the kept columns
    scale: Vector  # w_kept = unit · u / scale
    basis: Matrix | None  # if set, u = basis @ v where v are the solver's coordinates
    unit: float
    offset: float
    as_given: bool = field(default=False, kw_only=True)  # is it to be watched, not helped?
    sums: Sums | None = field(default=None, kw_only=True)

    def weights(self, u: Vector) -> Vector:
        """The solver's coordinates back to the asked ones."""
        features = u[:-1] if self.asked.intercept else u
        if self.basis is not None:
            features = self.basis @ features
        kept = self.unit * features / self.scale
        w = np.zeros(self.asked.p)
        w[: len(self.keep)][self.keep] = kept
        if self.asked.intercept:
            w[-1] = self.unit * u[-1] + self.offset - float(self.centre @ kept)
        return w if self.sums is None else self.sums.weights(w)

    def coordinates(self, w: Vector) -> Vector:
        """The asked weights in the solver's coordinates (the nearest, where there is a basis)."""
        w = w if self.sums is None else self.sums.differences(w)
        kept = w[: len(self.keep)][self.keep]
        features = kept * self.scale / self.unit
        if self.basis is not None:
            features = np.asarray(np.linalg.lstsq(self.basis, features, rcond=None)[0], dtype=np.float64)
        if not self.asked.intercept:
            return np.asarray(features)
        shift = (w[-1] - self.offset + float(self.centre @ kept)) / self.unit
        return np.append(features, shift)

    def rows(self, values: Vector) -> Vector:
        """What belongs to the rows of the asked problem, for those of the working problem."""
        return values

    @property
    def objective_unit(self) -> float:
        """The asked objective is this many times the working one."""
        return float(self.unit**self.asked.loss.degree)

    def theta(self, theta: Vector) -> Vector:
        """A dual point of the working problem as one of the asked problem."""
        return theta * self.unit ** (self.asked.loss.degree - 1) if self.asked.loss.degree else theta

    def working_theta(self, theta: Vector) -> Vector:
        """The inverse of `theta`."""
        return theta / self.unit ** (self.asked.loss.degree - 1) if self.asked.loss.degree else theta


class Unchanged(Working):
    """The problem exactly as it was asked."""

    def weights(self, u: Vector) -> Vector:
        return u

    def coordinates(self, w: Vector) -> Vector:
        return w


def unchanged(asked: Problem, *, as_given: bool = False) -> Working:
    """The problem exactly as it was asked; `as_given` for algorithms that are to be watched, not helped."""
    p = asked.p - asked.intercept
    every = np.ones(p, dtype=bool)
    return Unchanged(asked, asked.unshifted, every, np.zeros(p), ones(p), None, 1.0, 0.0, as_given=as_given)


def precondition(asked: Problem) -> Working:
    """Centre and scale the columns, drop constant ones, put the targets on a unit scale."""
    sums = asked.regulariser.gauge.sums
    if sums is not None:
        return replace(precondition(_summed(asked, sums)), asked=asked, sums=sums)
    inner = asked.design.features.thinned()
    unit, offset, y, loss = _targets(asked)
    # without a penalty `_orthonormal` fills the zeros anyway, and centred columns give the shortest weights
    sparse = None if asked.free.all() else inner.sparse
    plain = sparse is not None and bool(np.all(sparse.scale == 1.0))
    seen = _compressed(sparse.matrix, asked) if sparse and plain else _seen_through(inner, asked)
    design, keep, centre, scale = seen or _dense(inner, asked)
    mask = np.append(keep, True) if asked.intercept else keep
    factor = np.append(unit / scale, unit) if asked.intercept else unit / scale
    regulariser = asked.regulariser.restricted(mask).substituted(factor, 1.0 / unit**asked.loss.degree)
    basis, constraints = None, asked.constraints
    if constraints is not None:
        constraints = constraints.restricted(keep).substituted(1.0 / scale, unit)
    if regulariser.free.all() and design.stored and constraints is None:
        design, basis = _orthonormal(design, asked, scale)
        regulariser = unregularised(basis.shape[1] + asked.intercept)
    if asked.intercept:
        design = WithOnes(design)
    problem = Problem(design, y, asked.a, loss, regulariser, asked.intercept, constraints=constraints)
    if seen and basis is None and not asked.intercept:  # no copy, so that the sums are those already made
        problem = problem.knowing(column_squares=asked.column_squares[keep] / (scale * scale))
    return Working(asked, problem, keep, centre, scale, basis, unit, offset)


def _summed(asked: Problem, sums: Sums) -> Problem:
    """The same in the differences of the weights: columns are running sums of those given, from the right."""
    inner, gauge = Dense(sums.columns(asked.design.features.toarray())), Separable(*sums.prices(asked.p))
    form, constraints = asked.regulariser, asked.constraints  # bounds are among these
    plain = Constrained(gauge, form.radius) if form.constrained else Penalised(gauge, form.strength)
    if constraints is not None:
        constraints = replace(constraints, matrix=sums.columns(constraints.matrix))
    design = WithOnes(inner) if asked.intercept else inner
    return Problem(design, asked.y, asked.a, asked.loss, plain, asked.intercept, constraints=constraints)


def _targets(asked: Problem) -> tuple[float, float, Vector, Any]:
    """Where the loss depends on z − y alone, the targets may be moved and scaled."""
    plain = asked.unshifted
    if not plain.loss.translates:
        return 1.0, 0.0, asked.y, asked.loss
    offset = plain.best_constant if asked.intercept else 0.0
    y = plain.y - offset
    unit = 1.0
    if plain.loss.degree:
        size = float(asked.a @ np.abs(y)) or float(np.abs(y).max(initial=0.0))
        unit = _power_of_two(np.array([size]))[0] if size > 0 else 1.0
    return unit, offset, y / unit, plain.loss.rescaled(unit)


def _power_of_two(values: Vector) -> Vector:
    """The nearest power of two: scaling by it rounds nothing."""
    share, exponent = np.frexp(values)
    return np.asarray(np.ldexp(1.0, exponent - (share < 0.5**0.5)))


def _seen_through(inner: Design, asked: Problem) -> tuple[Design, Mask, Vector, Vector] | None:
    """Without a copy, where no column is constant or far from zero beside its spread."""
    p = inner.shape[1]
    square = asked.column_squares[:p]
    centre = asked.column_means[:p] if asked.intercept else np.zeros(p)
    variance = square - centre * centre
    if not np.all((variance > NEARLY_CONSTANT * square) & (square > TINY)):
        return None
    keep = np.ones(p, dtype=bool)
    scale = _levelled(asked, keep, _power_of_two(np.sqrt(variance)))
    return Standardised(inner, centre, scale), keep, centre, scale


def _levelled(asked: Problem, keep: Mask, scale: Vector) -> Vector:
    """Scales of the kept columns as the penalty likes them: alike where it sees only lengths."""
    among = np.append(keep, False) if asked.intercept else keep
    return asked.regulariser.gauge.restricted(among).levelled(scale)


def _dense(inner: Design, asked: Problem) -> tuple[Design, Mask, Vector, Vector]:
    array = inner.toarray()
    low, high = (array.min(axis=0), array.max(axis=0)) if len(array) else (np.zeros(array.shape[1]),) * 2
    top = np.maximum(np.abs(low), np.abs(high))
    keep = low < high if asked.intercept and len(array) else top > 0
    keep = keep & (top > FAINT)
    flat, keep = ~keep, keep | asked.needed
    if not keep.all():
        array = array[:, keep]
    level = np.where(flat[keep], array[0], 0.0) if asked.intercept else 0.0
    if flat[keep].any():  # what their weights add to a prediction the intercept takes away again
        array = array - level
    size = _power_of_two(top[keep])  # first, so that squares cannot overflow
    copy = array / size
    centre = np.zeros(copy.shape[1])
    if asked.intercept:
        centre = asked.a @ copy
        copy -= centre
        rest = asked.a @ copy  # the rounding of the first pass
        copy -= rest
        centre = centre + rest
    spread = np.sqrt(Dense(copy).weighted_square_norms(asked.a))
    spread[spread == 0.0] = 1.0
    spread = _levelled(asked, keep, _power_of_two(spread) * size) / size
    copy /= spread
    return Dense(copy), keep, centre * size + level, size * spread


def _compressed(inner: Compressed, asked: Problem) -> tuple[Design, Mask, Vector, Vector]:
    """Scaled, not centred: centring would fill the zeros. Constant columns, and empty ones, are dropped."""
    size, counts = np.sqrt(asked.column_squares[: inner.shape[1]]), inner.counts
    faint = np.flatnonzero((size < TINY**0.5) & (counts > 0))
    if len(faint):  # squares lose digits or vanish
        size[faint] = np.abs(inner.columns(faint).toarray()).max(axis=0)
    keep = size > 0.0
    if asked.intercept:
        keep[inner.constant_columns()] = False
    keep |= asked.needed
    size[keep & (size == 0.0)] = 1.0
    if not len(faint) and not counts[~keep].any() and _harmless(asked, keep):
        keep = np.ones_like(keep)
        size[size == 0.0] = 1.0
    kept: Design = inner
    if not keep.all():
        kept = inner.columns(keep) if counts[~keep].any() else inner.without_empty(keep)
    scale = _levelled(asked, keep, _power_of_two(size[keep]))
    return Standardised(kept, np.zeros(len(scale)), scale), keep, np.zeros(len(scale)), scale


def _harmless(asked: Problem, keep: Mask) -> bool:
    """Are the other columns, which are empty, few, and is each of them kept at zero by a price of its own?"""
    empty = np.flatnonzero(~keep)
    if len(empty) > FEW_EMPTY * len(keep) or asked.regulariser.gauge.elastic is None:
        return False
    return not bool(asked.free[empty].any())


def _orthonormal(design: Design, asked: Problem, scale: Vector) -> tuple[Design, Matrix]:
    """Without a penalty only the column space matters: an orthonormal basis of it, rank decided here.

    Where columns are dependent, many weights give the same predictions; the map back takes the shortest.
    """
    root = np.sqrt(asked.a)
    array = design.toarray()
    left, sizes, right = np.linalg.svd(array * root[:, None], full_matrices=False)
    top = sizes.max(initial=0.0)
    if np.any((sizes > ROUNDING * top) & (sizes < ILL * top)):
        return _by_triangle(array, root)
    rank = int(np.count_nonzero(sizes > ROUNDING * top))
    basis = right[:rank].T / sizes[:rank]
    if rank < len(scale):
        row_space = np.linalg.qr(right[:rank].T * scale[:, None])[0]
        basis = (row_space @ (row_space.T @ (basis / scale[:, None]))) * scale[:, None]
    return Dense(np.ascontiguousarray(left[:, :rank] / root[:, None])), basis


def _by_triangle(array: Matrix, root: Vector) -> tuple[Design, Matrix]:
    """Columns that are nearly dependent: array·M, M the inverse of a triangle, in twice the digits.

    Singular vectors of the small values would be off by rounding over those values; here the basis may be
    crude, but what it makes of the columns is exact, so that the answer can be mapped back.
    """
    order = _most_independent(array * root[:, None])
    high, low = array[:, order], np.zeros((len(array), len(order)))
    M = np.eye(len(order))
    for _ in range(2):
        turn = np.linalg.inv(np.linalg.qr(root[:, None] * high, mode="r"))
        high, low = product(high, low, turn)
        M = M @ turn
    basis = np.zeros((array.shape[1], len(order)))
    basis[order] = M
    return Dense(np.ascontiguousarray(high + low)), basis


def _most_independent(array: Matrix) -> Index:
    """Columns in the order of a pivoted QR, those that are rounding beside the others left out."""
    import scipy.linalg  # here: most fits never need it

    length = np.linalg.norm(array, axis=0)
    unit = array / np.where(length > 0.0, length, 1.0)
    R, order = scipy.linalg.qr(unit, mode="r", pivoting=True, check_finite=False)
    left = np.abs(np.diag(R))
    return np.asarray(order[: int(np.count_nonzero(left > ROUNDING * left.max(initial=0.0)))])
