"""No finite minimiser: is there a direction along which a loss that never reaches its infimum falls for ever?

Such a direction moves free coordinates only and has y_i (x_i·d) ≥ 0 in every row, > 0 in some. A fit with
gap γ narrows the search: the rows that d separates could lose all of their loss, so together they hold at
most γ of it. Every other row must have x_i·d = 0, which leaves d no room at all on most data.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import cast

import numpy as np
from scipy.special import softmax

from dualgap.arrays import Index, Mask, Matrix, Vector
from dualgap.errors import UnboundedError
from dualgap.fitting.multinomial.problem import MultinomialProblem
from dualgap.fitting.reading import Reading
from dualgap.problem.certificate import Bounds, bounds
from dualgap.problem.precondition import Working
from dualgap.problem.problem import Problem
from dualgap.solvers.base import Iterate, Solver
from dualgap.traits import Trait

ROUNDING = 1e-9  # a margin this small beside its terms is zero
FLAT = 1e-6  # a singular value this small beside the largest leaves room for a direction
EVERY = 25  # iterates between two looks
LARGEST = 50_000_000  # numbers in the matrix of differences between classes
FEW = 3  # columns that the message writes out


@dataclass(frozen=True, eq=False)
class Direction:
    """d with y (x·d + b) ≥ 0 everywhere; a row per class where there are more than two."""

    coef: Vector
    intercept: Vector
    margins: Vector


def may_be_unattained(problem: Problem) -> bool:
    """Could the objective fall for ever along some direction?"""
    return not problem.loss_has(Trait.ATTAINED) and bool(_free_columns(problem).size)


@dataclass(frozen=True, eq=False)
class Watched:
    """A solver whose iterates are looked at from time to time: those that run away need not run for long."""

    solver: Solver
    working: Working
    reading: Reading

    @property
    def name(self) -> str:
        """That of the solver."""
        return self.solver.name

    def iterates(self, problem: Problem, start: Iterate) -> Iterator[Iterate]:
        """Those of the solver; UnboundedError as soon as they show that there is no end."""
        for count, iterate in enumerate(self.solver.iterates(problem, start), start=1):
            yield iterate
            if count % EVERY == 0:
                seen = bounds(problem, iterate.w, iterate.theta)
                best = bounds(
                    self.working.asked, self.working.weights(seen.w), self.working.theta(seen.theta)
                )
                refuse_unattained(self.working, best, self.reading)


def watched(solvers: Sequence[Solver], working: Working, reading: Reading) -> Sequence[Solver]:
    """The solvers, under watch where the objective may have no minimiser."""
    if not may_be_unattained(working.asked):
        return solvers
    return [cast(Solver, Watched(one, working, reading)) for one in solvers]


def refuse_unattained(working: Working, best: Bounds, reading: Reading) -> None:
    """Raise UnboundedError, with the direction, if the objective has no minimiser."""
    asked = working.asked
    if not may_be_unattained(asked):
        return
    rows = _pairs(working, best)
    if rows is None or not rows.suspects.any():
        return
    found = _single_column(asked) or _iterate_itself(asked, best) or _combination(working, rows)
    if found is not None:
        raise UnboundedError(
            _message(found, reading), direction=found.coef, intercept=_plain(found.intercept)
        )


def _plain(intercept: Vector) -> float | Vector:
    return float(intercept) if np.ndim(intercept) == 0 else intercept


def _free_columns(problem: Problem) -> Index:
    """Free columns of one class, without the intercept."""
    width = problem.design.shape[1]
    free = problem.free[:width]
    return np.flatnonzero(free[:-1] if problem.intercept else free)


@dataclass(frozen=True, eq=False)
class _Pairs:
    """Signed rows: d separates where signed·d > 0, which only `suspects` may have; the others have 0."""

    signed: Matrix
    suspects: Mask


def _pairs(working: Working, best: Bounds) -> _Pairs | None:
    asked, inner = working.asked, working.problem
    allowed = best.gap + 1e-15 * abs(best.primal)
    prediction = asked.predict(best.w)
    width = inner.design.shape[1]
    columns = inner.design.columns(np.flatnonzero(inner.free[:width])).toarray()
    if not isinstance(asked, MultinomialProblem):
        held = inner.a * asked.loss.value(inner.y, working.rows(prediction))
        return _Pairs(columns * inner.y[:, None], held <= allowed)
    return _differences(asked, columns, prediction, allowed)


def _differences(asked: MultinomialProblem, columns: Matrix, z: Matrix, allowed: float) -> _Pairs | None:
    """A row per pair (row, other class): the own class's block minus the other's."""
    n, f = columns.shape
    if n * f * asked.classes * (asked.classes - 1) > LARGEST:
        return None
    signed, held = [], []
    with np.errstate(divide="ignore"):
        loss = -np.log1p(-np.minimum(softmax(z, axis=1), 1.0))  # what removing a class saves
    for other in range(asked.classes):
        where = np.flatnonzero(asked.y != other)
        block = np.zeros((len(where), asked.classes, f))
        block[np.arange(len(where)), asked.y[where].astype(int)] = columns[where]
        block[:, other] -= columns[where]
        signed.append(block.reshape(len(where), -1))
        held.append(asked.a[where] * loss[where, other])
    return _Pairs(np.vstack(signed), np.concatenate(held) <= allowed)


def _single_column(asked: Problem) -> Direction | None:
    """One column that does it alone, checked on the column itself: the plainest proof."""
    if isinstance(asked, MultinomialProblem):
        return None
    up = asked.y > 0
    for j in _free_columns(asked):
        column = asked.design.columns(np.array([j])).toarray()[:, 0]
        for sign in (1.0, -1.0):
            low, high = float((sign * column[~up]).max()), float((sign * column[up]).min())
            if not asked.intercept:
                low, high = max(low, 0.0), min(high, 0.0)
            if low <= high and column.min() < column.max():
                coef = np.zeros(asked.design.shape[1] - asked.intercept)
                coef[j] = sign
                level = low if low == high else low + 0.5 * (high - low)
                margins = asked.y * (sign * column - level)
                return Direction(coef, np.asarray(0.0 - level), margins)
    return None


def _iterate_itself(asked: Problem, best: Bounds) -> Direction | None:
    """Weights that have run away on fully separated classes have room on both sides: the best direction."""
    w = np.where(asked.free, best.w, 0.0)
    top = float(np.abs(w).max())
    found = _separates(asked, w / top) if top > 0 else None
    return found if found is not None and found.margins.min() > 0.0 else None


def _combination(working: Working, rows: _Pairs) -> Direction | None:
    room = _null_space(rows.signed[~rows.suspects], rows.signed.shape[1])
    if not room.shape[1]:
        return None
    inside = rows.signed[rows.suspects] @ room
    length = np.linalg.norm(inside, axis=1)
    full = np.linalg.norm(rows.signed[rows.suspects], axis=1)
    alive = length > ROUNDING * full
    if not alive.any():
        return None
    found = separating(inside[alive] / length[alive, None])
    return None if found is None else _verified(working, room @ found)


def _null_space(firm: Matrix, width: int) -> Matrix:
    """An orthonormal basis of the directions that leave the firm rows where they are."""
    if not len(firm):
        return np.eye(width)
    scale = np.linalg.norm(firm, axis=1)
    firm = firm[scale > 0] / scale[scale > 0, None]
    sizes, vectors = np.linalg.eigh(firm.T @ firm)
    return np.asarray(vectors[:, sizes <= FLAT**2 * max(float(sizes[-1]), 1e-300)])


def separating(A: Matrix) -> Vector | None:
    """d with A d ≥ 0, positive in as many rows as any can be; None if zero is all there is."""
    d = project_onto_cone(A)
    while d is not None:
        margins = A @ d
        edge = margins <= ROUNDING * float(margins.max())
        if not edge.any():
            return d
        more = project_onto_cone(A[edge])
        if more is None:
            return d
        falls = np.maximum(-(A @ more), 0.0)
        room = float((margins[~edge] / np.maximum(falls[~edge], 1e-300)).min())
        ahead = d + min(0.5 * room, float(np.linalg.norm(d) / np.linalg.norm(more))) * more
        if np.count_nonzero(A @ ahead > ROUNDING * float((A @ ahead).max())) <= np.count_nonzero(~edge):
            return d
        d = ahead
    return None


def project_onto_cone(A: Matrix) -> Vector | None:
    """The point of {r: A r ≥ 0} nearest to g = Σ rows, or None if that is 0 and nothing is separated.

    r = g + Aᵀθ with θ ≥ 0 and θ·Ar = 0 (Lawson and Hanson, 1974), so (1 + θ)·Ar = ‖r‖²: if r is not zero some
    row is separated, and if it is, (1 + θ) > 0 combines the rows to zero and no direction separates any.
    """
    g = A.mean(axis=0)
    size = float(np.linalg.norm(g))
    binding: list[int] = []
    theta = np.zeros(0)
    r = g
    for _ in range(20 * A.shape[1] + 100):
        if float(np.linalg.norm(r)) <= ROUNDING * size:
            return None
        slack = A @ r
        slack[binding] = np.inf
        worst = int(np.argmin(slack))
        if slack[worst] >= -1e-12 * float(np.linalg.norm(r)):
            return np.asarray(r)
        binding, theta = _bind(A, g, [*binding, worst], np.append(theta, 0.0))
        r = g + A[binding].T @ theta
    return None


def _bind(A: Matrix, g: Vector, binding: list[int], theta: Vector) -> tuple[list[int], Vector]:
    """The least-squares multipliers of the binding rows, those that would turn negative let go."""
    while True:
        ahead = np.asarray(np.linalg.lstsq(A[binding].T, -g, rcond=1e-12)[0], dtype=np.float64)
        if np.all(ahead > 0):
            return binding, ahead
        falling = ahead <= 0
        ratio = theta[falling] / np.maximum(theta[falling] - ahead[falling], 1e-300)
        theta = theta + float(ratio.min(initial=1.0)) * (ahead - theta)
        keep = theta > 1e-14 * max(float(theta.max()), 1e-300)
        keep &= ~(falling & (theta <= 0))
        if keep.all():
            keep[int(np.argmin(theta))] = False
        if not keep.any():
            return [], np.zeros(0)
        binding, theta = [b for b, k in zip(binding, keep, strict=True) if k], theta[keep]


def _verified(working: Working, moves: Vector) -> Direction | None:
    """The direction on the arrays that were given, if it separates there; round numbers preferred."""
    asked, inner = working.asked, working.problem
    u = np.zeros(inner.p)
    u[inner.free] = moves
    w = working.weights(u)
    w = w / float(np.abs(w).max())
    candidates = [np.round(w, digits) for digits in (2, 4, 8, 12)]
    tried = [direction for c in [*candidates, w] if (direction := _separates(asked, c)) is not None]
    exact = [direction for direction in tried if direction.margins.min() >= 0.0]
    return exact[0] if exact else tried[-1] if tried else None


def _separates(asked: Problem, w: Vector) -> Direction | None:
    margins = _margins(asked, asked.predict(w))
    terms = _margin_terms(asked, np.abs(w))
    if np.any(margins < -ROUNDING * terms) or not np.any(margins > np.sqrt(ROUNDING) * terms):
        return None
    blocks = w.reshape(-1, asked.design.shape[1])
    coef, intercept = (blocks[:, :-1], blocks[:, -1]) if asked.intercept else (blocks, np.zeros(len(blocks)))
    if isinstance(asked, MultinomialProblem):
        return Direction(coef, intercept, margins)
    return Direction(coef[0], intercept[0], margins)


def _margins(asked: Problem, prediction: Vector) -> Vector:
    """By how much each row is on its side: of the nearest other class, where there are many."""
    if not isinstance(asked, MultinomialProblem):
        return np.asarray(asked.y * prediction)
    own = (prediction * asked.hot).sum(axis=1, keepdims=True)
    return np.asarray((own - prediction)[asked.hot == 0])


def _margin_terms(asked: Problem, size: Vector) -> Vector:
    """|x|·|d|, row by row: what rounding is judged by."""
    design, blocks = asked.design, size.reshape(-1, asked.design.shape[1])
    array = np.abs(design.toarray())
    if not isinstance(asked, MultinomialProblem):
        return np.asarray(array @ blocks[0])
    terms = array @ blocks.T
    own = (terms * asked.hot).sum(axis=1, keepdims=True)
    return np.asarray((own + terms)[asked.hot == 0])


def _message(found: Direction, reading: Reading) -> str:
    loss = str(reading.terms.loss)
    whole = bool(np.all(found.margins > 0))
    count = "some" if found.coef.ndim == 2 else int(np.count_nonzero(found.margins > 0))
    share = "the classes" if whole else f"{count} rows from the others"
    return (
        f"No finite minimiser exists: {_rule(found, reading)} separates {share}, so the {loss} loss falls "
        "for ever along it and weights grow without end. Give every column a penalty (a tiny one will do, "
        'such as penalty="l2", lam=1e-6), or leave those columns out.'
    )


def _rule(found: Direction, reading: Reading) -> str:
    coef = np.atleast_2d(found.coef)
    used = np.flatnonzero(coef.any(axis=0))
    names = [reading.table.names[j] if reading.table.names else f"x{j}" for j in used]
    if len(coef) > 1 or len(used) > FEW:
        listed = ", ".join(names[:FEW]) + (", …" if len(names) > FEW else "")
        return f"a combination of {len(used)} columns ({listed})"
    level = 0.0 - float(found.intercept)
    if len(used) == 1:
        sign = coef[0, used[0]]
        return f"{names[0]} {'>' if sign > 0 else '<'} {level / sign:.6g}"
    total = " ".join(f"{coef[0, j]:+.4g}*{name}" for j, name in zip(used, names, strict=True))
    return f"{total} > {level:.6g}"
