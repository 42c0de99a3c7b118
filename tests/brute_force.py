"""Answers by trying everything: all subsets of columns, all sets of rows that a plane can put right."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from scipy.optimize import linprog

import dualgap.solvers  # noqa: F401  each enters the registry when it is imported
from dualgap.arrays import Matrix, Vector
from dualgap.design import Dense, WithOnes
from dualgap.drive.limits import Limits
from dualgap.drive.registry import candidates
from dualgap.drive.run import drive
from dualgap.losses import Loss
from dualgap.penalties import Penalised
from dualgap.penalties.forms import unregularised
from dualgap.penalties.separable import Separable
from dualgap.problem.precondition import precondition
from dualgap.problem.problem import Problem


@dataclass(frozen=True)
class Subsets:
    """price per column, at most `limit` of them, `ridge` on the squares; `always` are in and cost nothing."""

    price: float = 0.0
    limit: int = 99
    ridge: float = 0.0
    intercept: bool = True
    always: tuple[int, ...] = ()

    def sets(self, p: int) -> Iterator[tuple[int, ...]]:
        """All sets of columns that may be chosen."""
        others = [j for j in range(p) if j not in self.always]
        for size in range(min(self.limit, len(others)) + 1):
            yield from itertools.combinations(others, size)


def best_squares(X: Matrix, y: Vector, weights: Vector, rule: Subsets) -> float:
    """The lowest mean squared loss with its penalty."""
    root = np.sqrt(weights / weights.sum())
    values = []
    for chosen in rule.sets(X.shape[1]):
        table = X[:, [*chosen, *rule.always]]
        if rule.intercept:
            table = np.column_stack([table, np.ones(len(y))])
        squares = np.zeros((len(chosen), table.shape[1]))
        squares[:, : len(chosen)] = np.sqrt(rule.ridge) * np.eye(len(chosen))
        A = np.vstack([table * root[:, None], squares])
        b = np.concatenate([y * root, np.zeros(len(chosen))])
        size = np.linalg.norm(A, axis=0)
        size[size == 0.0] = 1.0
        w = np.linalg.lstsq(A / size, b, rcond=None)[0]
        values.append(float(((A / size @ w - b) ** 2).sum()) + rule.price * len(chosen))
    return min(values)


def best_fit(X: Matrix, y: Vector, weights: Vector, loss: Loss, rule: Subsets) -> float:
    """The same for any convex loss, every set fitted by the convex solvers."""
    a = weights / weights.sum()
    values = []
    for chosen in rule.sets(X.shape[1]):
        m = len(chosen)
        if not m and not rule.intercept:
            values.append(float(a @ loss.value(y, np.zeros(len(y)))))
            continue
        inner = Dense(np.ascontiguousarray(X[:, list(chosen)]))
        gauge = Separable(np.zeros(m), np.full(m, rule.ridge))
        if rule.intercept:
            gauge = gauge.extended()
        regulariser = Penalised(gauge, 1.0) if rule.ridge and m else unregularised(m + rule.intercept)
        design = WithOnes(inner) if rule.intercept else inner
        working = precondition(Problem(design, y, a, loss, regulariser, rule.intercept))

        def usable(working: object = working) -> list[object]:
            return candidates(working.problem, "auto")  # type: ignore[attr-defined, return-value]

        found = drive(working, usable, None, Limits(1e-8, 500)).bounds  # type: ignore[arg-type]
        values.append(found.primal + rule.price * m)
    return min(values)


def fewest_errors(X: Matrix, y: Vector, weights: Vector, *, intercept: bool = True) -> float:
    """The least weight of rows whose loss leaves the others strictly separable."""
    table = np.column_stack([X, np.ones(len(y))]) if intercept else X
    rows, which = np.unique(table * y[:, None], axis=0, return_inverse=True)
    cost = np.bincount(which.ravel(), weights / weights.sum())
    masks = np.array(list(itertools.product([False, True], repeat=len(rows))))
    for lost in masks[np.argsort(masks @ cost, kind="stable")]:
        kept = rows[~lost]
        if not len(kept) or _separable(kept):
            return float(cost[lost].sum())
    raise AssertionError("losing every row always works")


def _separable(rows: Matrix) -> bool:
    q = rows.shape[1]
    if not np.all(rows.any(axis=1)):
        return False
    size = np.abs(rows).max(axis=1, keepdims=True)
    found = linprog(np.zeros(q), -rows / size, -np.ones(len(rows)), bounds=(None, None))
    return bool(found.status == 0)
