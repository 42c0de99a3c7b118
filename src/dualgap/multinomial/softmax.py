"""What Newton steps on a softmax share: probabilities, the gradient, the loop, and the dual point ahead.

Arrays are classes × rows, in the precision of the scores that they are made of.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from dualgap.arrays import Index, Matrix, Vector
from dualgap.drive.solver import Iterate
from dualgap.multinomial.problem import ABSENT, MultinomialProblem
from dualgap.multinomial.table import RoughTable, blocks

LEAST = 1e-300  # of a probability whose logarithm is taken
STEPS = 100  # from nothing to rounding takes five to twenty
SAMPLED = 8  # rows per coordinate beyond which a sample comes first, and the most that one row stands for
SAID = 0.1  # share of coordinates per row of a sample to which it is solved: what another sample would change
ROUNDED = 1e-3  # promise of a step from which a sample has told what it can
FEW = 2000  # rows that need no sample: a step on them costs a millisecond
STALLED = 4  # steps in a row that promise less than the share SPENT of the gap wanted, and do not close it
SPENT = 1e-3  # of the gap wanted: a choice
FAR = 0.1  # promise of a step from which longer ones may be tried
SHRUNK = 0.1  # share of the gap wanted that a gap counts as at least: rounding may hide all of it
SHORTEST = 1e-9  # of steps: a direction that is no descent
TILTS = 3  # of a clipped dual point: each squares what the intercepts are off by, from a few per cent


@dataclass(frozen=True, eq=False)
class Softmax:
    """The loss of a multinomial problem on all rows, or on one in `step`."""

    problem: MultinomialProblem
    table: RoughTable
    step: int = 1

    @cached_property
    def a(self) -> Vector:
        """The weights of the rows, which add up to one."""
        some = self.problem.a[:: self.step]
        return some if self.step == 1 else some / float(some.sum())

    @cached_property
    def own(self) -> Index:
        """Where each row's class stands in a flat array of classes × rows."""
        y = self.problem.y[:: self.step].astype(np.intp)
        return np.asarray(y * len(y) + np.arange(len(y)))

    @cached_property
    def counts(self) -> Vector:
        """The share of each class."""
        y = self.problem.y[:: self.step].astype(np.intp)
        return np.asarray(np.bincount(y, self.a, self.problem.classes), dtype=np.float64)

    def every(self, step: int) -> Softmax:
        """The same on one row in `step`."""
        return Softmax(self.problem, self.table.every(step), step)

    def probabilities(self, Z: Any) -> tuple[Any, float]:
        """P, and the risk."""
        P, a = np.empty_like(Z), self.a
        total = -float(a @ Z.ravel()[self.own])
        for part in blocks(Z.shape[1], len(Z)):
            some, out = Z[:, part], P[:, part]
            top = some.max(axis=0)
            np.subtract(some, top, out=out)
            np.exp(out, out=out)
            whole = out.sum(axis=0)
            total += float(a[part] @ (np.log(whole) + top))
            out *= 1.0 / whole
        return P, total

    def weighted(self, P: Any) -> Any:
        """a ∘ P."""
        return P * self.a.astype(P.dtype)

    def gradient(self, weighted: Any) -> Any:
        """Of the risk, from a ∘ P: in 8-byte numbers, and on all rows, by the design itself."""
        flat, a = weighted.ravel(), self.a.astype(weighted.dtype)
        kept = flat[self.own]
        flat[self.own] -= a
        found = self.pull(weighted)
        flat[self.own] = kept
        return found

    def pull(self, T: Any) -> Any:
        """T X, likewise."""
        if self._roughly(T):
            return self.table.pull(T.astype(np.float32)).astype(T.dtype)
        return self.problem.design.transpose_matvecs(T)

    def scores(self, W: Any) -> Any:
        """W Xᵀ, in the precision of W."""
        if self.problem.intercept and not W[:, :-1].any():
            return np.repeat(W[:, -1:], self.table.shape[0], axis=1)
        if self._roughly(W):
            return self.table.scores(W.astype(np.float32)).astype(W.dtype)
        return self.problem.design.matvecs(W)

    def _roughly(self, values: Any) -> bool:
        return values.dtype == np.float32 or self.step > 1

    def ahead(self, P: Matrix, dZ: Matrix) -> Matrix | None:
        """π = p + p∘(dz − p·dz): the probabilities at the end of a Newton step as its model has them, so that
        θ = a(hot − π) has Xᵀθ at once where the step would lead. Intercepts are balanced by a shift t of dz,
        in which π is linear. None where that leaves too little of some class; dZ is overwritten.
        """
        K, n = P.shape
        a, flow = self.a, dZ
        for part in blocks(n, K):
            p, f = P[:, part], flow[:, part]
            f -= (p * f).sum(axis=0)
            f += 1.0
            f *= p
        if self.problem.intercept:
            weighted = a * P
            miss = self.counts - flow @ a
            t = _balance(weighted.sum(axis=1), weighted @ P.T, miss)
            if t is None:
                return None
            for part in blocks(n, K):
                p = P[:, part]
                flow[:, part] += p * (t[:, None] - t @ p)
        return flow if float(flow.min()) >= 0.0 else self._inside(flow)

    def _inside(self, flow: Matrix) -> Matrix | None:
        """Clipped into the simplex, and balanced again by e^t."""
        np.maximum(flow, LEAST, out=flow)
        flow /= flow.sum(axis=0)
        for _ in range(TILTS if self.problem.intercept else 0):
            weighted = self.a * flow
            sums = weighted.sum(axis=1)
            t = _balance(sums, weighted @ flow.T, self.counts - sums)
            if t is None:
                return None
            flow *= np.exp(np.clip(t, -20.0, 20.0))[:, None]
            flow /= flow.sum(axis=0)
        return flow

    def entropy(self, pi: Matrix) -> float:
        """−Σ a π log π."""
        total = 0.0
        for part in blocks(pi.shape[1], len(pi)):
            some = pi[:, part]
            logs = np.log(np.maximum(some, LEAST))
            logs *= some
            total -= float(logs.sum(axis=0) @ self.a[part])
        return total

    def theta(self, pi: Matrix) -> Matrix:
        """a(hot − π), rows × classes."""
        found = pi * -self.a
        found.ravel()[self.own] += self.a
        return found.T


def _balance(sums: Vector, square: Matrix, miss: Vector) -> Vector | None:
    """t with (diag sums − square) t = miss; a shift of all classes alike changes nothing, and is left out."""
    system = np.diag(sums + ABSENT) - square + 1.0 / len(sums)
    try:
        return np.asarray(np.linalg.solve(system, miss))
    except np.linalg.LinAlgError:
        return None


class SoftmaxSteps(ABC):
    """A point with its scores and probabilities, and steps from it until the gap seems small."""

    def __init__(self, model: Softmax, W: Any, wanted: float) -> None:
        self.model, self.wanted = model, wanted
        self.problem, self.n = model.problem, model.table.shape[0]
        self.promise = 1.0  # of a step: the share of the objective that it takes off
        self.longest = 1.0  # times a step that may be taken at once
        self.dZ: Any = None  # of the last step
        self.before: Any = None  # the probabilities where it began
        self._place(W)

    def _place(self, W: Any) -> None:
        self.W = W
        self.Z = self.model.scores(W)
        self.P, risk = self.model.probabilities(self.Z)
        self.value = risk + self._price(W)

    @property
    def rough(self) -> bool:
        """Is the point in 4-byte numbers?"""
        return bool(self.W.dtype == np.float32)

    @abstractmethod
    def _price(self, W: Any) -> float:
        """The penalty."""

    @abstractmethod
    def advance(self) -> float | None:
        """One step, and how long it was; None where there is none."""

    @abstractmethod
    def _loses(self, theta: Matrix, pi: Matrix) -> tuple[Matrix, float]:
        """θ drawn into the penalty's domain, π with it, and what the penalty's conjugate takes there."""

    def _may_be_last(self) -> bool:
        """Is the dual point ahead worth a look?"""
        return True

    def sampled(self) -> Iterator[Iterate]:
        """Steps on a sample, while it has something to tell."""
        for _ in range(STEPS):
            length = self.advance()
            if length is None:
                return
            yield Iterate(self.W.astype(np.float64).ravel(), look=False)
            if self.promise <= max(SAID * self.problem.p / self.n, ROUNDED) or length <= SHORTEST:
                return

    def run(self) -> Iterator[Iterate]:
        """Steps until the gap seems small, and beyond while somebody asks."""
        stalled, best = 0, np.inf
        for _ in range(STEPS):
            length = self.advance()
            if length is None:
                return
            w = self.W.astype(np.float64).ravel()
            theta, gap = None, np.inf
            if length == 1.0 and self._may_be_last():
                theta, gap = self._ahead()
            if theta is not None and gap <= self.wanted:
                yield Iterate(w, theta, outright=True)
                self.wanted = 0.3 * min(self.wanted, max(gap, SHRUNK * self.wanted))
            else:
                yield Iterate(w, theta, look=False)
            stalled = stalled + 1 if gap > 0.5 * best and self.promise <= SPENT * self.wanted else 0
            best = min(best, gap)
            if self.rough:
                continue
            if stalled >= STALLED or length <= SHORTEST or not self.promise > 0.0:
                return

    def _move(self, d: Any, slope: float, rounding: float) -> float:
        """Halve the step until the objective falls; rounding may hide that it does. How long it was.

        Far from the optimum twice as much, and again, while that is better, up to `longest` times the step.
        """
        self.promise = self._share(slope)
        self.dZ, self.before = self.model.scores(d), self.P
        t, kind = 1.0, self.W.dtype.type
        while True:
            W, Z = self.W + kind(t) * d, self.Z + kind(t) * self.dZ
            P, risk = self.model.probabilities(Z)
            value = risk + self._price(W)
            if value <= self.value + 1e-4 * t * slope + rounding * self.value or t <= SHORTEST:
                break
            t *= 0.5
        self.W, self.Z, self.P, self.value = W, Z, P, value
        while 1.0 <= t < self.longest and self.promise > FAR:
            W, Z = self.W + kind(t) * d, self.Z + kind(t) * self.dZ
            P, risk = self.model.probabilities(Z)
            value = risk + self._price(W)
            if not value < self.value:
                break
            self.W, self.Z, self.P, self.value, t = W, Z, P, value, 2.0 * t
        return t

    def _share(self, slope: float) -> float:
        """Of the objective, that a step with this slope promises."""
        return -slope / self.value if self.value > 0.0 else 0.0

    def _ahead(self) -> tuple[Matrix | None, float]:
        """The dual point ahead, and the relative gap that it seems to leave."""
        P, dZ = self.before, self.dZ
        if self.rough:
            P, dZ = P.astype(np.float64), dZ.astype(np.float64)
            P /= P.sum(axis=0)
        pi = self.model.ahead(P, dZ)
        if pi is None:
            return None, np.inf
        theta, lost = self._loses(self.model.theta(pi), pi)
        return theta, self.problem.relative(self.value - self.model.entropy(pi) + lost, self.value)


def worth_a_sample(problem: MultinomialProblem, W: Matrix) -> int:
    """One row in how many to begin with: where there are many, and no start is given; else 0."""
    few = problem.n <= max(SAMPLED * problem.p, FEW) or W[:, : W.shape[1] - problem.intercept].any()
    return 0 if few else min(SAMPLED, problem.n // (2 * problem.p))
