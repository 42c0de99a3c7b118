"""Fits of any convex loss on a set of columns, and exchanges of columns on a local quadratic model."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from dualgap.arrays import Index, Vector
from dualgap.discrete.base import reached
from dualgap.discrete.subset.folding import model
from dualgap.discrete.subset.relaxation import Branch, Relaxation, Relaxed
from dualgap.discrete.subset.selection import selection, told_apart
from dualgap.discrete.subset.span import given, rounded
from dualgap.discrete.subset.vertices import Vertex
from dualgap.drive.limits import Limits
from dualgap.drive.registry import candidates
from dualgap.drive.run import drive
from dualgap.drive.solver import Iterate
from dualgap.penalties import Penalised
from dualgap.penalties.forms import unregularised
from dualgap.problem.precondition import Working, precondition
from dualgap.problem.problem import Problem
from dualgap.proof.rounding import FEW
from dualgap.proof.statement import SMALL

TURNS = 25  # better sets in turn at most: a guard, each is better than the one before
TRIES = 5  # columns that are refitted at each step of a greedy search, best guess first
GOOD = 1e-9  # relative gap at which a fit on given columns is taken as it is


class ColumnFits:
    """A problem of choosing columns in good coordinates; sets of columns are sorted index arrays."""

    def __init__(self, problem: Problem) -> None:
        self.working: Working = precondition(told_apart(problem))
        self.problem = self.working.problem
        self.chosen = selection(self.problem)
        self.relaxation = Relaxation(self.problem, self.chosen, self.working)
        self.counted: Index = np.flatnonzero(self.chosen.counted & (self.relaxation.norms > 0.0))
        self.always: Index = np.flatnonzero(~self.chosen.counted)
        self.fits = 0

    @property
    def limit(self) -> int:
        """How many columns may be chosen."""
        return min(self.chosen.limit, len(self.counted))

    def fit(
        self,
        columns: Index,
        start: Vector | None = None,
        goal: float = np.inf,
        vertex: Vertex | None = None,
    ) -> Relaxed:
        """The fit on these columns and those that are always in; value and bound include their price."""
        self.fits += 1
        origin = self.problem.null_weights if start is None else start
        branch = self._branch(columns)
        found = self.relaxation.solve(branch, origin, goal, vertex)
        if not (np.isfinite(found.value) and np.isfinite(found.bound)):
            found = self.relaxation.solve(branch, self.problem.null_weights, goal)
        if found.bound < goal and not self._tight(found):
            if found.prediction is None:
                return self._careful(branch, found)
            return self.relaxation.solve(branch, origin, np.inf, vertex)
        return found

    def weights(self, fitted: Relaxed) -> Vector:
        """The weights of a fit as asked; where they are so large that rounding shows, with more care."""
        if fitted.prediction is not None and not self.chosen.ridge.any():
            used = np.append(self.always, self.counted[fitted.w[self.counted] != 0.0])
            found = rounded(self.working, given(self.working, used), fitted.prediction)
            if found is not None:
                return found
        return self.working.weights(fitted.w)

    def _tight(self, found: Relaxed) -> bool:
        """Is the gap closed? A value that is not finite has no gap."""
        missing = found.value - found.bound
        return bool(np.isfinite(missing) and self.problem.relative(missing, found.value) <= GOOD)

    def _careful(self, branch: Branch, found: Relaxed) -> Relaxed:
        """The same by the convex solvers, where Newton's method has not closed the gap."""
        asked, working = self.working.asked, self.working
        live = np.zeros(asked.p, dtype=bool)
        live[given(self.working, branch.inside)] = True
        gauge = selection(asked).convex().gauge.restricted(live)
        priced = unregularised(len(gauge.free)) if gauge.free.all() else Penalised(gauge, 1.0)
        inner = precondition(replace(asked, design=asked.design.columns(live), regulariser=priced))
        start = None
        if np.isfinite(found.value):
            start = Iterate(
                inner.coordinates(working.weights(found.w)[live]),
                inner.working_theta(working.theta(found.theta)),
            )
        best = drive(inner, lambda: candidates(inner.problem, "auto"), start, Limits(GOOD, 500)).bounds
        w = np.zeros(asked.p)
        w[live] = best.w
        paid = self.chosen.price * int(np.count_nonzero(self.chosen.counted[branch.inside]))
        value, bound = best.primal / working.objective_unit + paid, best.dual / working.objective_unit + paid
        kept = working.coordinates(w) if value <= found.value else found.w
        theta = working.working_theta(best.theta) if bound >= found.bound else found.theta
        return Relaxed(kept, theta, max(bound, found.bound), min(value, found.value), found.gains)

    def reached(self, w: Vector, tolerance: float) -> float:
        """The objective of asked weights in the units of the working problem, from above."""
        asked = self.working.asked
        return reached(asked, asked.regulariser.feasible(w), tolerance) / self.working.objective_unit

    def model(self, fitted: Relaxed) -> tuple[NDArray[np.float64], Vector, Index, float]:
        """The second-order model at a fit, on the columns to choose from: G, c, columns and their unit."""
        rows = self.relaxation.rows.blunter()
        z = self.relaxation.X @ fitted.w
        bend = np.maximum(rows.bend(z), 1e-3 * float(rows.bend(z).mean()) + 1e-300)
        half = 0.5 * self.problem.design.weighted_gram(bend)
        pulled = half @ fitted.w - 0.5 * self.problem.design.transpose_matvec(rows.slope(z))
        part = model(half, pulled, self.chosen)
        return part.gram, part.linear, part.columns, part.unit

    def proposal(self, fitted: Relaxed, support: Index) -> Index:
        """The best neighbour of a set on the model of its fit, or the greedy one from nothing."""
        from dualgap.discrete.subset.exchange import exchange, forward

        gram, linear, columns, unit = self.model(fitted)
        if not len(columns):
            return support
        price, limit = self.chosen.price / unit, min(self.limit, len(columns))
        if len(support):
            known = np.flatnonzero(np.isin(columns, support)).astype(np.int64)[:limit]
        else:
            known = forward(gram, linear, price, limit)
        better, _ = exchange(gram, linear, price, limit, known)
        return np.sort(columns[better])

    def improved(self, support: Index, fitted: Relaxed) -> tuple[Index, Relaxed]:
        """Follow the model's proposals while the fit gets better."""
        for _ in range(TURNS):
            ahead = self.proposal(fitted, support)
            if np.array_equal(ahead, support):
                break
            trial = self.fit(ahead, fitted.w)
            if not trial.value < fitted.value:
                break
            support, fitted = ahead, trial
        return support, fitted

    def forward(self) -> Iterator[tuple[Index, Relaxed]]:
        """Nothing, then one column more each time, the likeliest refitted, while that helps."""
        support = self.counted[:0]
        fitted = self.fit(support)
        yield support, fitted
        while len(support) < self.limit:
            support, longer = self.best(self._additions(support, fitted), fitted)
            if not longer.value < fitted.value:
                return
            fitted = longer
            yield support, fitted

    def exchanged(self, support: Index, fitted: Relaxed) -> Iterator[tuple[Index, Relaxed]]:
        """Better and better neighbours by one column dropped, added or both, each refitted."""
        for _ in range(TURNS):
            found = self._neighbour(support, fitted)
            if found is None:
                return
            support, fitted = found
            yield support, fitted

    def _neighbour(self, support: Index, fitted: Relaxed) -> tuple[Index, Relaxed] | None:
        """The first that is better, the columns of least weight dropped first."""
        enough = fitted.value - 1e-9 * max(abs(fitted.value), SMALL * abs(self.problem.null))
        weight = np.abs(fitted.w[support]) * self.relaxation.norms[support]
        drops: list[int | None] = [int(at) for at in np.argsort(weight)]
        if len(support) < self.limit:
            drops.insert(0, None)
        for at in drops:
            rest = support if at is None else np.delete(support, at)
            less = fitted if at is None else self.fit(rest, fitted.w)
            trials = [t for t in self._additions(rest, less) if not np.array_equal(t, support)]
            fuller, best = self.best(trials, less) if trials else (rest, less)
            if less.value < min(best.value, enough):
                return rest, less
            if best.value < enough:
                return fuller, best
        return None

    def _additions(self, support: Index, fitted: Relaxed) -> list[Index]:
        """The set with one of the columns that the slope of the loss pulls at most."""
        outside = np.setdiff1d(self.counted, support)
        pull = np.abs(self.relaxation.X[:, outside].T @ fitted.theta)
        likely = np.argsort(-pull / self.relaxation.norms[outside])[:TRIES]
        return [np.sort(np.append(support, outside[j])) for j in likely]

    def best(self, trials: list[Index], fitted: Relaxed) -> tuple[Index, Relaxed]:
        """Of several sets the one with the lowest value, each fitted from the same start."""
        fits = [self.fit(trial, fitted.w) for trial in trials]
        least = int(np.argmin([f.value for f in fits]))
        return trials[least], fits[least]

    def proved(self, columns: Index, fitted: Relaxed) -> Relaxed:
        """A fit on these columns and those that are always in with a bound that is true as a real number."""
        return self.relaxation.proved(self._branch(columns), fitted)

    def _branch(self, columns: Index) -> Branch:
        return Branch(np.concatenate([self.always, columns]), columns[:0], 0)

    def objective(self, value: float) -> float:
        """A bound of the working problem in the units of the asked one, the weights' rounding paid for."""
        return max(value, 0.0) * self.working.objective_unit * (1.0 - 2.0 * FEW)

    def support(self, w: Vector) -> Index:
        """The columns that some asked weights use, the largest, as many as may be."""
        u = np.abs(self.working.coordinates(w)) * self.relaxation.norms
        used = self.counted[u[self.counted] > 0.0]
        return np.sort(used[np.argsort(-u[used], kind="stable")][: self.limit])
