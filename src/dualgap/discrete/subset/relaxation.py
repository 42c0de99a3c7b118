"""The convex relaxation of choosing columns, for any convex loss, and the dual points that prove its bounds.

    minimise over w and z of   Σ a L(y, Xw) + Σ ridge_j w_j²/z_j + price Σ z_j,   0 ≤ z ≤ 1,  Σ z ≤ room,

with z_j = 1 for columns that are in. Any θ in the loss's domain with x_j·θ = 0 for every column in play that
has no ridge bounds it: with t_j = (x_j·θ)²/(4 ridge_j), by −Σ a L*(y, −θ/a) − Σ t over the columns that are
in − the `room` largest (t − price)₊ of the others. Without a ridge t is zero and z plays no part.

While it is looked for x_j·θ = 0 is a matter of rounding. What is found is then proven, see `node_bound`.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from scipy.linalg import lapack

from dualgap.arrays import Index, Mask, Matrix, Vector
from dualgap.discrete.subset.node_bound import below, top_sum
from dualgap.discrete.subset.row_losses import LossSlopes, rows_of
from dualgap.discrete.subset.selection import Selection, well_centred
from dualgap.discrete.subset.span import LARGEST, Span, given
from dualgap.discrete.subset.vertices import Vertex, Vertices
from dualgap.linalg.balance import orthogonal
from dualgap.linalg.cholesky import cholesky, definite
from dualgap.linalg.line_search import convex_step
from dualgap.problem.precondition import Working, unchanged
from dualgap.problem.problem import Problem
from dualgap.proof.rounding import U
from dualgap.traits import Trait

LIMIT = 100  # Newton steps, those of all widths of the kinks together: a guard
LEAST_SHARE = 1e-3  # of a column: below, its weight is as good as zero
BALANCE = 1e-10  # of ‖x_j‖·‖θ‖: x_j·θ = 0 as far as a point worth proving goes
BEYOND = 1e-10  # of the objective: what a bound is raised above the goal, since proving takes a little off it
THIN = 1e-9  # least eigenvalue, columns of length one, at which they do
KEPT = 100  # spans that are kept in mind
TIGHT = 1e-11  # a gap this small beside the objective is zero
LONGEST = 64.0  # Newton steps in one: a flat piece of the loss has no end
CHEAP = 3  # columns without a ridge that a dual point is balanced against at every step
SPARE = 3  # kinks beyond one per column that a corner may have
NEAR = 0.05  # where a node cannot be dropped anyway its bound may miss this share of what it lacks


@dataclass(frozen=True, eq=False)
class Branch:
    """Columns that are in, columns that may come in, and for how many of these there is room."""

    inside: Index
    free: Index
    room: int

    @property
    def live(self) -> Index:
        """Both, those that are in first."""
        return np.concatenate([self.inside, self.free])


@dataclass(frozen=True, eq=False)
class Relaxed:
    """The point reached: weights on all columns, dual point, bound, value, and t of the free columns.

    Bound and t are those of floating-point arithmetic until they are `proven`.
    """

    w: Vector
    theta: Vector
    bound: float
    value: float
    gains: Vector
    vertex: Vertex | None = None  # where the loss is piecewise linear: for a branch with fewer columns
    prediction: Vector | None = None  # where the weights are too large to tell it
    proven: bool = False  # are bound and t true as real numbers?


class Relaxation:
    """Newton's method on the relaxation of a branch."""

    def __init__(self, problem: Problem, chosen: Selection, working: Working | None = None) -> None:
        self.problem, self.chosen = problem, chosen
        self.working = unchanged(problem) if working is None else working
        self.centred, self.bounds = well_centred(self.working), problem.dual_bounds_inside()
        self.X: Matrix = np.asfortranarray(problem.design.toarray())
        self.norms = np.sqrt(problem.design.weighted_square_norms(problem.a))
        self.lengths = np.sqrt((self.X * self.X).sum(axis=0))
        self.rows = rows_of(problem)
        flat = Trait.PIECEWISE_QUADRATIC in problem.loss.traits and not problem.loss_has(Trait.QUADRATIC)
        self.floor = 1e-3 if flat else 0.0
        self.scale = max(abs(problem.null), 1e-300)
        self.thin, self.spans = self._is_thin(), dict[bytes, Span]()
        self.vertices = Vertices(problem) if problem.loss_has(Trait.PIECEWISE_LINEAR) else None

    def _is_thin(self) -> bool:
        """Can weights of columns without a ridge be so large that a rounded x_j·θ = 0 says nothing?"""
        bare = (self.chosen.ridge == 0.0) & (self.lengths > 0.0)
        self.unit = self.X / np.where(self.lengths > 0.0, self.lengths, 1.0)
        part = self.unit[:, bare]
        return bool(part.size and np.linalg.eigvalsh(part.T @ part)[0] <= THIN)

    def hides(self, bare: Index) -> bool:
        """Is it so for these?"""
        if not self.thin or len(bare) < 2:
            return False
        part = self.unit[:, bare]
        return not definite(part.T @ part - THIN * np.eye(len(bare)))

    def span(self, bare: Index, rows: Mask | None = None) -> Span | None:
        """What these columns span, on some rows, in coordinates that hide nothing; None if that is long."""
        if self.X.shape[0] * len(bare) > LARGEST:
            return None
        key = bare.tobytes() + (b"" if rows is None else rows.tobytes())
        if key not in self.spans:
            if len(self.spans) > KEPT:
                self.spans.clear()
            self.spans[key] = Span(self.working, given(self.working, np.sort(bare)), rows)
        return self.spans[key]

    def solve(self, branch: Branch, start: Vector, goal: float, vertex: Vertex | None = None) -> Relaxed:
        """Until the bound meets the goal, or the value shows that it will not."""
        goal = goal + BEYOND * self.scale
        return self._by_vertices(branch, goal, vertex) or _Descent(self, branch, start).run(goal)

    def _by_vertices(self, branch: Branch, goal: float, vertex: Vertex | None) -> Relaxed | None:
        """Where the loss is piecewise linear and nothing is curved."""
        live = branch.live
        if self.vertices is None or self.chosen.ridge[live].any():
            return None
        span = self.span(live) if self.hides(live) else None
        stop = goal - self.paid(branch), NEAR
        found = self.vertices.ascended(live, vertex, stop, None if span is None else span.array)
        if found is None:
            return None
        X = self.X[:, live] if span is None else span.array
        lengths = self.lengths[live] if span is None else np.sqrt((X * X).sum(axis=0))
        size = BALANCE * float(np.linalg.norm(found.theta)) * lengths
        if not np.all(np.abs(X.T @ found.theta) <= size):
            return None
        bound, value = found.bound + self.paid(branch), found.value + self.paid(branch)
        tight = value - bound <= TIGHT * self.scale
        if not (bound >= goal or tight or (value < goal < np.inf and value - bound <= NEAR * (goal - value))):
            return None
        gains = np.zeros(len(branch.free))
        w = np.zeros(self.problem.p)
        if span is None:
            w[live] = found.w
            return Relaxed(w, found.theta, bound, value, gains, found.vertex)
        w = self.working.coordinates(self.working.weights(w) + span.weights(found.w))
        return Relaxed(w, found.theta, bound, value, gains, found.vertex, X @ found.w)

    def paid(self, branch: Branch) -> float:
        """The price of what is in, from below."""
        return self.chosen.price * int(np.count_nonzero(self.chosen.counted[branch.inside])) * (1.0 - 4.0 * U)

    def proved(self, branch: Branch, found: Relaxed) -> Relaxed:
        """The same with a bound, and with t, that are true as real numbers."""
        if found.proven:
            return found
        bound, gains = below(self, branch, found)
        return replace(found, bound=bound, gains=gains, proven=True)


class _Descent:
    """One run: the point, its prediction, the shares z, the best bound so far."""

    def __init__(self, relaxation: Relaxation, branch: Branch, start: Vector) -> None:
        self.whole, self.branch = relaxation, branch
        self.live, self.count = branch.live, len(branch.inside)
        self.X, self.ridge = relaxation.X[:, self.live], relaxation.chosen.ridge[self.live]
        self.w = start[self.live]
        self.span: Span | None = None
        bare = self.ridge == 0.0
        if relaxation.hides(self.live[bare]):
            self._go_over(bare)
        self.z = self.X @ self.w
        self.shares = np.ones(len(self.w))
        self.bare = np.flatnonzero(self.ridge == 0.0)
        self.lengths = relaxation.lengths[self.live]
        if self.span is not None:
            self.lengths = np.sqrt((self.X * self.X).sum(axis=0))
        self.floor = relaxation.floor
        self.best = -np.inf
        self.theta = np.zeros(relaxation.problem.n)
        self.gains = np.zeros(len(self.w) - self.count)
        self.paid = relaxation.paid(branch)
        self._bound(self.theta, mend=False)  # no loss is below its minimum

    def _go_over(self, bare: Mask) -> None:
        """Columns without a ridge give way to what they span: they are all there are, or those always in."""
        self.span = self.whole.span(self.live[bare])
        if self.span is None:
            return
        others, size = ~bare, self.span.array.shape[1]
        self.X = np.column_stack([self.span.array, self.X[:, others]])
        self.w = np.concatenate([np.zeros(size), self.w[others]])  # what large weights predict is no start
        self.ridge = np.concatenate([np.zeros(size), self.ridge[others]])
        self.count = size if not others.any() else self.count - int(np.count_nonzero(bare)) + size

    def run(self, goal: float) -> Relaxed:
        rows: LossSlopes | None = self.whole.rows
        value = np.inf
        for _ in range(LIMIT):
            assert rows is not None
            self._share()
            moved = self._step(rows)
            value = min(value, self._value())
            missing = value - self.best
            if self.best >= goal or missing <= TIGHT * self.whole.scale:
                break
            if value < goal < np.inf and missing <= NEAR * (goal - value):
                break
            if not moved:
                value = min(value, self._settle(rows))
                if value - self.best <= TIGHT * self.whole.scale:
                    break
                rows = rows.sharper()
                if rows is None:
                    break
        return self._relaxed(value)

    def _relaxed(self, value: float) -> Relaxed:
        """The end of the run, in the coordinates of the working problem."""
        w = np.zeros(self.whole.problem.p)
        if self.span is None:
            w[self.live] = self.w
            return Relaxed(w, self.theta, self.best, value, self.gains)
        size, working = self.span.array.shape[1], self.whole.working
        others = self.whole.chosen.ridge[self.live] > 0.0
        w[self.live[others]] = self.w[size:]
        asked = working.weights(w) + self.span.weights(self.w[:size])
        gains = self.gains if others.any() else np.zeros(len(self.branch.free))
        self.z = self.X @ self.w  # not what was added up step by step
        value = min(np.inf, self._value())  # NaN is no value
        return Relaxed(working.coordinates(asked), self.theta, self.best, value, gains, None, self.z)

    def _share(self) -> None:
        """The best z for these weights, where there is a ridge to share."""
        free = slice(self.count, None)
        ridge = self.ridge[free]
        if len(ridge) and ridge.all():
            u = np.sqrt(ridge) * np.abs(self.w[free])
            self.shares[free] = np.maximum(_shares(u, self.whole.chosen.price, self.branch.room), LEAST_SHARE)

    def _value(self) -> float:
        chosen = self.whole.chosen
        square = float((self.ridge / self.shares) @ (self.w * self.w))
        price = chosen.price * float(self.shares[self.count :].sum()) if self.ridge.any() else 0.0
        return self.whole.problem.risk(self.z) + square + price + self.paid

    def _step(self, rows: LossSlopes) -> bool:
        """One Newton step with its dual point; False if it has nothing to gain."""
        ridge = 2.0 * self.ridge / self.shares
        slope, bend = rows.slope(self.z), rows.bend(self.z)
        if self.floor:
            bend = np.maximum(bend, self.floor * float(bend.max()) * self.whole.problem.a * len(self.z))
        gradient = self.X.T @ slope + ridge * self.w
        direction = -_solved((self.X * bend[:, None]).T @ self.X, ridge, gradient)
        along = self.X @ direction
        theta, promise = -(slope + bend * along), -float(gradient @ direction)
        if not promise > 1e-15 * self.whole.scale:
            self._bound(theta, mend=True)
            return False

        def rise(s: float) -> float:
            return float(
                rows.slope(self.z + s * along) @ along + (ridge * (self.w + s * direction)) @ direction
            )

        step = min(convex_step(rise), LONGEST)
        self._bound(theta, mend=False)
        if self.floor:
            self.floor = max(0.1 * self.floor, 1e-10) if step > 0.5 else min(10.0 * self.floor, 1.0)
        self.w = self.w + step * direction
        self.z = self.z + step * along
        return step > 0.0

    def _settle(self, rows: LossSlopes) -> float:
        """Put the point exactly on the kinks it is near, with the slopes there that balance; the value."""
        corner = rows.corner(self.z)
        if corner is None or len(corner.rows) > len(self.w) + SPARE:
            return np.inf
        on, m = self.X[corner.rows], len(self.w)
        ridge = 2.0 * self.ridge / self.shares
        system = np.block([[np.diag(ridge), on.T], [on, np.zeros((len(on), len(on)))]])
        right = np.concatenate([-self.X.T @ corner.slope, corner.kinks])
        solved = _any_solution(system, right)
        theta = -corner.slope
        np.subtract.at(theta, corner.rows, solved[m:])
        before = self.w, self.z, self._value()
        if len(on) >= m or ridge.all():
            self.w = solved[:m]
            self.z = self.X @ self.w
        self._bound(theta, mend=True)
        value = self._value()
        if not value <= before[2]:
            self.w, self.z = before[:2]
        return min(value, before[2])

    def _bound(self, theta: Vector, *, mend: bool) -> None:
        """Take the dual point if it proves more than the best so far; `mend` it if it leaves the domain."""
        problem = self.whole.problem
        lower, upper = problem.dual_bounds
        inside = np.clip(theta, lower, upper)
        if self.bare.size and not np.array_equal(inside, theta):
            if not mend and self.bare.size > CHEAP:
                return
            inside = orthogonal(inside, lower, upper, self.X[:, self.bare])
        v = self.X.T @ inside
        size = BALANCE * float(np.linalg.norm(inside)) * self.lengths
        if not np.all(np.abs(v[self.bare]) <= size[self.bare]):
            return
        gains = np.zeros(len(v))
        curved = self.ridge > 0.0
        gains[curved] = v[curved] ** 2 / (4.0 * self.ridge[curved])
        taken = top_sum(gains[self.count :] - self.whole.chosen.price, self.branch.room)
        conjugate = float(problem.a @ problem.loss.conjugate(problem.y, -inside / problem.a))
        bound = self.paid - conjugate - float(gains[: self.count].sum()) - taken
        if bound > self.best:
            self.best, self.theta, self.gains = bound, inside, gains[self.count :]


def _shares(u: Vector, price: float, room: int) -> Vector:
    """argmin over 0 ≤ z ≤ 1, Σ z ≤ room of Σ u²/z + price·z."""
    if price > 0.0:
        z = np.minimum(1.0, u / np.sqrt(price))
        if z.sum() <= room:
            return np.asarray(z)
    if np.count_nonzero(u) <= room or room == 0:
        return (u > 0.0).astype(np.float64)
    falling = np.sort(u)[::-1]
    rest = falling.sum() - np.concatenate([[0.0], np.cumsum(falling[: room - 1])])
    levels = rest / (room - np.arange(room))
    level = levels[int(np.argmax(falling[:room] <= levels))]
    return np.asarray(np.minimum(1.0, u / level))


def _any_solution(system: Matrix, right: Vector) -> Vector:
    """Of a square system that may be singular."""
    _, _, solution, failed = lapack.dgesv(system, right)
    if failed or not np.all(np.isfinite(solution)):
        solution = np.linalg.lstsq(system, right, rcond=1e-12)[0]
    return np.asarray(solution)


def _solved(matrix: Matrix, ridge: Vector, gradient: Vector) -> Vector:
    """(matrix + diag(ridge))⁻¹ gradient, with as much more on the diagonal as it needs to be definite."""
    if not len(gradient):
        return np.zeros(0)
    matrix[np.diag_indices(len(gradient))] += ridge
    try:
        return cholesky(matrix)(gradient)
    except np.linalg.LinAlgError:
        return np.zeros_like(gradient)


def proven_out(relaxed: Relaxed, chosen: Selection, room: int, goal: float) -> tuple[Mask, Mask]:
    """Which free columns cannot be in, and which must be, if the goal is to be beaten."""
    gains = relaxed.gains - chosen.price
    positive = np.sort(np.maximum(gains, 0.0))[::-1]
    last = positive[room - 1] if 0 < room <= len(positive) and room < len(positive) else 0.0
    first = positive[room] if room < len(positive) else 0.0
    out = relaxed.bound + np.maximum(last - gains, 0.0) >= goal
    within = (gains > 0.0) & (gains >= last) & (relaxed.bound + gains - first >= goal)
    return np.asarray(out), np.asarray(within & ~out)
