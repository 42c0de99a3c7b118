"""The softmax of several classes: a scan for gradient and curvature, then scans that prove and mend.

As for one class (`smooth.py`), with blocks Σ a π_k (δ_kl − π_l) xxᵀ for H, and the intercepts of all classes
eliminated at once. A share moves by its own size times that of the predictions, so that none leaves the
simplex whose predictions move by less than one: no curvature is lowered.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.special import softmax, xlogy

from dualgap.arrays import Matrix, Vector
from dualgap.blocks.source import RowBlock
from dualgap.drive.scans import ScanRequest, ScanStep
from dualgap.proof.blocks import Weighed, judged
from dualgap.proof.check import inside
from dualgap.proof.joint_blocks import JointStreamStatement
from dualgap.streaming.asked import ScanTask, Targets, countable
from dualgap.streaming.rules import JointSlopes
from dualgap.streaming.sampling import Start
from dualgap.streaming.second_order import minimised
from dualgap.streaming.smooth import INSIDE

Curvature = Callable[[Any, Vector, Matrix], Matrix]  # Σ s (π_k δ_kl − π_k π_l) xxᵀ of rows x, s and π

WIDEST = 2000  # weights of all classes: H has their square, 32 MB, and a scan costs that for every row


@dataclass(frozen=True, eq=False)
class JointWish:
    """What a scan is to compute at w: the rule's proof, the gradient, and curvature where it is wanted."""

    statement: JointStreamStatement
    targets: Targets
    w: Vector
    rule: JointSlopes | None
    curvature: Curvature | None


@dataclass(frozen=True, eq=False)
class JointSums:
    """What it found; nothing is divided by Σs. `counts` are the weights of the classes."""

    weighed: Weighed
    gradient: Vector
    H: Matrix | None
    counts: Vector

    def plus(self, other: JointSums) -> JointSums:
        """Of both lots of rows."""
        H = None if self.H is None or other.H is None else self.H + other.H
        weighed, counts = self.weighed.plus(other.weighed), self.counts + other.counts
        return JointSums(weighed, self.gradient + other.gradient, H, counts)

    @property
    def finite(self) -> bool:
        """False where a number of the rows is none."""
        return countable(self.weighed)


def joint_scan(block: RowBlock, wish: JointWish) -> JointSums:
    """One block."""
    X, y, weight, numbers = wish.targets.of(block)
    statement, n = wish.statement, len(y)
    classes, own, s = statement.classes, y.astype(np.intp), np.ones(n) if weight is None else weight
    with np.errstate(all="ignore"):
        shares = None if wish.rule is None else wish.rule.slopes(X, y, numbers)
        seen = statement.weigh(X, y, weight, wish.w, shares)
        table = with_levels(wish.w, statement)
        P = softmax(X @ table[:, :-1].T + table[:, -1], axis=1)
        slope = s[:, None] * P
        slope[np.arange(n), own] -= s
        gradient = (X.T @ slope).T
        if statement.intercept:
            gradient = np.column_stack([gradient, slope.sum(axis=0)])
        H = None
        if wish.curvature is not None:
            rows = np.column_stack([X, np.ones(n)]) if statement.intercept else np.asarray(X)
            H = np.asarray(wish.curvature(rows, s, np.ascontiguousarray(P.T)))
    return JointSums(seen, gradient.ravel(), H, np.bincount(own, s, classes).astype(np.float64))


def with_levels(w: Vector, statement: JointStreamStatement) -> Matrix:
    """A row for each class, a constant behind: 0 where there is none."""
    table = w.reshape(statement.classes, statement.width)
    return table if statement.intercept else np.column_stack([table, np.zeros(len(table))])


class SoftmaxPursuit:
    """From the sample's answer to the proven one."""

    name = "streamed curvature"

    def __init__(
        self, asked: ScanTask, statement: JointStreamStatement, start: Vector, curvature: Curvature
    ) -> None:
        self.asked, self.statement, self.curvature = asked, statement, curvature
        self.tops: Vector | None = None
        self.rows, self.null = 0, 0.0
        self.w = self.base = self.kept = inside(statement, start)
        self.H: Matrix | None = None
        self.rule: JointSlopes | None = None  # the slopes of a sample prove next to nothing
        self.best, self.scans, self.curved = np.inf, 0, True

    def begin(self) -> ScanStep:
        return ScanStep(None, None, self._request())

    def resumed(self) -> Start:
        none = np.zeros(self.statement.columns)
        return Start(self.w, 0.0, none, none, self.rows)

    def _request(self) -> ScanRequest:
        curvature = self.curvature if self.curved else None
        wish = JointWish(self.statement, self.asked.targets, self.w, self.rule, curvature)
        return ScanRequest(joint_scan, (wish,))

    def advance(self, result: JointSums) -> ScanStep:
        asked, weight = self.asked, result.weighed.weight.value
        self.scans += 1
        self.tops, self.rows = result.weighed.tops, result.weighed.rows
        share = result.counts / weight
        classes = self.statement.classes
        self.null = -float(xlogy(share, share).sum()) if self.statement.intercept else float(np.log(classes))
        found = judged(self.statement, result.weighed, self.w, asked.tolerance, self.null)
        rule = self.rule
        if result.H is not None:
            self.H, self.base = result.H / weight, self.w
        if not found.primal <= self.best * (1.0 + asked.tolerance) and self.scans > 1:
            self.w = inside(self.statement, 0.5 * (self.w + self.kept))  # the model promised too much
            self.rule, self.curved = None, True
        else:
            self.best, self.kept = min(found.primal, self.best), self.w
            self._step(result.gradient / weight)
        return ScanStep(found, rule, self._request())

    def _step(self, gradient: Vector) -> None:
        assert self.H is not None
        statement, last = self.statement, self.w
        width = statement.width
        levels = np.arange(width - 1, len(last), width) if statement.intercept else np.arange(0)
        w, ahead = minimised(self.asked, last, gradient, self.H, self.best, levels)
        pull = -(gradient + self.H @ (ahead - last))
        pull[statement.free] = 0.0
        tau = min(1.0, statement.regulariser.dual_scale(pull) * (1.0 - INSIDE))
        at, there, base = (with_levels(one, statement) for one in (last, ahead, self.base))
        self.rule = JointSlopes(at, there, base, tau)
        self.w = inside(statement, w)
        self.curved = self.scans > 1
