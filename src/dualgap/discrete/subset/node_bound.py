"""The bound of a branch at a dual point, true as a real number.

The columns F without a ridge want Fᵀθ = 0. Let ω_i² be the room that θ_i has within its bounds, A = Fᵀω²F,
and v = Fᵀθ. The point θ − ω²FA⁻¹v satisfies it exactly, and differs from θ by no more than ω_i √(vᵀA⁻¹v),
since no row of ωF has a leverage above one. If no ω_i that is not zero is below that root, the point is
within the bounds, and as L* is convex it is nowhere in between above what it is at both ends. So all that is
needed is |v|, with its rounding, and a λ for which a Cholesky factor shows A ≥ λ diag(A).

Where that fails, for columns that nearly depend on one another, F is replaced by an array that spans the same
and is far from dependent: it is made in integers, each entry rounded once.
"""

from __future__ import annotations

from fractions import Fraction
from typing import TYPE_CHECKING

import numpy as np

from dualgap.arrays import Index, Mask, Matrix, Vector
from dualgap.discrete.integers import Integers, independent, whole
from dualgap.discrete.subset.span import given
from dualgap.linalg.cholesky import Solve, cholesky
from dualgap.problem.problem import Problem
from dualgap.proof.exact import eliminated
from dualgap.proof.rounding import FEW, U, gamma, total

if TYPE_CHECKING:
    from dualgap.discrete.subset.relaxation import Branch, Relaxation, Relaxed


LEAST = (1e-3, 1e-6, 1e-9)  # eigenvalues of A, columns of unit length, that are tried
FIRM = 1e-9  # of the largest: rows with less room than that stay where they are
GIVEN = (0.0, 2.0**-36, 2.0**-30, 2.0**-26)  # share of θ that is given up, where its bounds leave no room


def below(relaxation: Relaxation, branch: Branch, found: Relaxed) -> tuple[float, Vector]:
    """The bound of a branch at a dual point, and from above the t of its free columns."""
    nothing = relaxation.paid(branch), np.zeros(len(branch.free))  # no loss is below zero
    live, theta = branch.live, found.theta
    bare = relaxation.chosen.ridge[live] == 0.0
    if not found.bound > nothing[0]:
        return nothing
    theta, moved = _snapped(theta, relaxation.bounds)
    shown = None
    if relaxation.centred and not relaxation.hides(live[bare]):
        shown = _at(relaxation, branch, theta, relaxation.X[:, live[bare]])
    if shown is None and (relaxation.centred or bare.all()):
        shown = _by_span(relaxation, branch, theta, None)
        if shown is None and not (moved.all() or theta.all()):
            shown = _by_span(relaxation, branch, theta, theta != 0.0)
    if shown is None and bare.all():
        shown = _at_corner(relaxation, branch, theta)
    return nothing if shown is None or not shown[0] > nothing[0] else shown


def _by_span(
    relaxation: Relaxation, branch: Branch, theta: Vector, rows: Mask | None
) -> tuple[float, Vector] | None:
    """With what the columns without a ridge span, on the rows where θ is not zero: no others matter."""
    live = branch.live
    bare = live[relaxation.chosen.ridge[live] == 0.0]
    span = relaxation.span(bare, rows)
    if span is None:
        return None
    F = span.array
    if rows is not None:
        F = np.zeros((len(theta), span.array.shape[1]))
        F[rows] = span.array
    return _at(relaxation, branch, theta, F)


def _at_corner(relaxation: Relaxation, branch: Branch, theta: Vector) -> tuple[float, Vector] | None:
    """Where θ has no room: at a point that satisfies everything exactly."""
    working = relaxation.working
    table = working.asked.design.columns(np.sort(given(working, branch.live))).toarray()
    point = corner(relaxation.problem, table, theta)
    if point is None:
        return None
    paid = relaxation.paid(branch)
    value, lost = _risk(relaxation.problem, point, 8.0 * U * np.abs(point))
    return paid + value - lost - 4.0 * FEW * paid, np.zeros(len(branch.free))


def _snapped(theta: Vector, bounds: tuple[Vector, Vector]) -> tuple[Vector, Mask]:
    """θ within its bounds, on one where it is next to it; and which entries are not."""
    theta = np.clip(theta, *bounds)
    room = _room(theta, bounds)
    firm = room > FIRM * float(room.max(initial=0.0))
    return np.where(firm, theta, np.where(theta - bounds[0] < bounds[1] - theta, *bounds)), firm


def _room(theta: Vector, bounds: tuple[Vector, Vector]) -> Vector:
    """How far entries are from their nearer bound; where they have none, as far as the largest."""
    room = np.minimum(theta - bounds[0], bounds[1] - theta)
    endless = np.isinf(room)
    if endless.any():
        room[endless] = float(np.abs(theta).max())
    return np.asarray(room)


def top_sum(values: Vector, room: int) -> float:
    """The sum of the `room` largest positive values."""
    if room < len(values):
        values = np.partition(values, len(values) - room)[len(values) - room :] if room else values[:0]
    return float(values[values > 0.0].sum())


def _at(relaxation: Relaxation, branch: Branch, theta: Vector, F: Matrix) -> tuple[float, Vector] | None:
    """In the working coordinates: columns, less some constant each, and targets, rounded once or twice.

    F spans the columns without a ridge.
    """
    problem, live, bounds = relaxation.problem, branch.live, relaxation.bounds
    ridge = relaxation.chosen.ridge[live]
    for share in GIVEN:
        point = np.clip(theta * (1.0 - share), *bounds)
        placed = _placed(F, point, bounds, share) if F.shape[1] else (point, np.zeros(1))
        if placed is not None:
            break
    else:
        return None
    point, step = placed
    gains, curved = np.zeros(len(live)), ridge > 0.0
    if curved.any():
        part = np.abs(relaxation.X[:, live[curved]])
        most = np.abs(relaxation.X[:, live[curved]].T @ point)
        most += part.T @ (_doubt(len(point)) * np.abs(point) + step)
        gains[curved] = most * most / (4.0 * ridge[curved]) * (1.0 + FEW)
    inside = len(branch.inside)
    taken = top_sum(gains[inside:] - relaxation.chosen.price, branch.room) + float(gains[:inside].sum())
    value, lost = _risk(problem, point, step)
    found = relaxation.paid(branch) + value - taken - lost - 4.0 * FEW * (relaxation.paid(branch) + taken)
    return (found, gains[inside:]) if np.isfinite(found) else None


def _doubt(rows: int) -> float:
    """What rounding takes of xᵀθ beside |x|ᵀ|θ|: its own, those of the column, those of the rows' weights.

    These are shares of one sum: what that is off by they have all in common, so that it does not matter here.
    """
    return gamma(rows + 2) + 24.0 * U


def _risk(problem: Problem, theta: Vector, step: Vector) -> tuple[float, float]:
    """−Σ a L*(y, −θ'/a) for the worst θ' within a step of θ, and what rounding takes of it."""
    a, y = problem.a, problem.y
    ends = [-(theta - step) / a, -(theta + step) / a]
    with np.errstate(all="ignore"):
        values = [problem.loss.conjugate(y, u) for u in (ends if step.any() else ends[:1])]
    worst, size = np.max(values, axis=0), np.maximum(np.abs(ends[0]), np.abs(ends[1]))
    lost = 8.0 * FEW * total(a * (size * (1.0 + np.abs(y) + size) + np.abs(worst)))
    return -float((a * worst).sum()), lost


def _placed(
    F: Matrix, theta: Vector, bounds: tuple[Vector, Vector], share: float
) -> tuple[Vector, Vector] | None:
    """θ moved towards Fᵀθ = 0, and how far from it, entry by entry, a point is where that holds.

    If a share of θ was given up, no entry is to move by more than about that, so that all can.
    """
    n, room = len(F), _room(theta, bounds)
    if share:
        width = bounds[1] - bounds[0]
        room = np.minimum(room, share * np.where(np.isinf(width), room, width))
    top = float(room.max(initial=0.0))
    room[room <= FIRM * top] = 0.0
    if not theta.all():
        seen = (F[theta != 0.0] != 0.0).any(axis=0)
        if not seen.all():  # columns that are zero where θ is not are no matter, while it stays so
            F, room = F[:, seen], np.where(theta != 0.0, room, 0.0)
    if not F.shape[1]:
        return theta, np.zeros(1)
    found = _definite(F, room)
    if found is None:
        return None
    size, solve, least = found
    v = F.T @ theta
    long = 1.01 * _doubt(n) * float(np.linalg.norm(theta))
    doubted = long * np.sqrt(np.einsum("ij,ij->j", F, F))  # |x|ᵀ|θ| ≤ ‖x‖‖θ‖
    for _ in range(2):
        if np.all(np.abs(v) <= doubted):
            break
        theta = theta - room * (F @ (solve(v / size) / size))
        theta = np.clip(theta, *bounds)
        v = F.T @ theta
    if float(np.linalg.norm(theta)) * _doubt(n) > long:
        return None
    most = (np.abs(v) + doubted) / size
    reach = float(np.linalg.norm(most)) / np.sqrt(least) * (1.0 + FEW)
    left = np.minimum(theta - bounds[0], bounds[1] - theta)
    step = np.sqrt(room) * reach * (1.0 + FEW)
    if not np.all((left >= step) | (room == 0.0)):
        return None
    return theta, step


def _definite(F: Matrix, room: Vector) -> tuple[Vector, Solve, float] | None:
    """The roots of the diagonal of A, solves with about A with ones there, and λ."""
    n, m = F.shape
    A = (F * room[:, None]).T @ F
    size = np.sqrt(A.diagonal())
    if not np.all(size > 0.0):
        return None
    A /= np.outer(size, size)
    doubt = 1.1 * m * (gamma(n + 4) + 32.0 * U + gamma(m + 2))
    for least in LEAST:
        try:
            return size, cholesky(A - (least + doubt) * np.eye(m), (0.0,)), least
        except np.linalg.LinAlgError:
            continue
    return None


# -- a corner -----------------------------------------------------------------------------------------


LARGEST = 4000  # entries of a table that this is tried for: hundredths of a second
NEAR = 1e-9  # of the largest room: what is nearer to its bound is put on it
MULTIPLE = 1e-14  # how far from a whole multiple of the least weight one may be


def corner(problem: Problem, table: Matrix, theta: Vector) -> Vector | None:
    """A dual point with Fᵀθ = 0 to the last digit, near θ, for corners that leave no room on any side: floats
    next to it, each rounded once or twice; None if none was found.

    Where a loss is made of straight pieces, as many entries of θ as there are columns are off their bounds,
    or fewer. Those on a bound are put there exactly, as many others as there are columns are solved for in
    rationals. If these are within their bounds, the point is feasible as it stands.
    """
    if table.size > LARGEST:
        return None
    shares, unit = _shares(problem.a)
    low, high = problem.loss.domain(problem.y)
    if not (np.all(np.isfinite(low)) and np.all(np.isfinite(high))):
        return None
    bounds = [(-s * Fraction(b), -s * Fraction(a)) for s, a, b in zip(shares, low, high, strict=True)]
    near = theta / (unit * (1.0 - 8.0 * FEW))
    room = np.array([min(v - float(a), float(b) - v) for v, (a, b) in zip(near, bounds, strict=True)])
    firm = room > NEAR * float(room.max(initial=0.0))
    point = [
        Fraction(v) if inside else (a if v - float(a) < float(b) - v else b)
        for v, inside, (a, b) in zip(near.tolist(), firm, bounds, strict=True)
    ]
    rows = whole(table)
    rows = rows[:, independent(rows)]
    basic = independent(rows[np.argsort(-room, kind="stable")].T)
    basic = np.argsort(-room, kind="stable")[basic]
    solved = _solved(rows, point, basic)
    if solved is None:
        return None
    for i, value in zip(basic.tolist(), solved, strict=True):
        if not bounds[i][0] <= value <= bounds[i][1]:
            return None
        point[i] = value
    return np.array([float(v) for v in point]) * (unit * (1.0 - 8.0 * FEW))


def _shares(a: Vector) -> tuple[list[Fraction], float]:
    """The weights of the rows as multiples of one number: whole ones, if they are but for rounding."""
    least = float(a.min())
    multiples = np.round(a / least)
    if np.all(np.abs(a / least - multiples) <= MULTIPLE * multiples):
        return [Fraction(int(v)) for v in multiples], least
    return [Fraction(v) for v in a.tolist()], 1.0


def _solved(rows: Integers, point: list[Fraction], basic: Index) -> list[Fraction] | None:
    """The entries of the basic rows that balance all others."""
    others = np.setdiff1d(np.arange(len(rows)), basic)
    below = int(np.lcm.reduce(np.array([point[i].denominator for i in others] + [1], dtype=object)))
    units = np.array([int(point[i] * below) for i in others], dtype=object)
    right = -(rows[others].T @ units) if len(others) else np.zeros(rows.shape[1], dtype=object)
    table = np.column_stack([rows[basic].T, right])
    pivots, solved, unit = eliminated(table)
    if pivots != list(range(len(basic))):
        return None
    return [Fraction(int(solved[k, -1]), int(unit) * below) for k in range(len(basic))]
