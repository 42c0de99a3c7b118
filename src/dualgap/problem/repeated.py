"""Rows given several times as one row of their total weight: Σ_i a_i L(y, z) = (Σ_i a_i) L(y, z).

So a weight of two and a row given twice are the same problem to every solver, and data with few distinct
rows are solved at that size. The dual point of a merged row is shared out in proportion to the weights.
"""

from __future__ import annotations

from dataclasses import dataclass, fields, replace

import numpy as np

from dualgap.arrays import Index, Mask, Vector
from dualgap.problem.condensed import condensed
from dualgap.problem.precondition import Working, precondition
from dualgap.problem.problem import Problem

FEW = 100  # targets that are looked at before all of them are
PAIR = np.array([1.0, 0.7654321])  # of a target and its offset: any two numbers without a common measure
NEAR = 1e-12  # rows whose keys are this much apart are compared number by number


@dataclass(frozen=True, eq=False)
class Merged(Working):
    """A working problem with one row for every group of equal rows of the asked one."""

    first: Index  # the row of the asked problem that stands for each group
    group: Index  # of each asked row
    share: Vector  # of each asked row in the weight of its group

    def rows(self, values: Vector) -> Vector:
        return np.asarray(values[self.first])

    def theta(self, theta: Vector) -> Vector:
        found, count = super().theta(theta), len(self.first)
        return np.append(found[:count][self.group] * self.share, found[count:])

    def working_theta(self, theta: Vector) -> Vector:
        count = len(self.group)
        return super().working_theta(np.append(_totals(self.group, theta[:count]), theta[count:]))


def reduced(asked: Problem) -> Working:
    """The problem in good coordinates, on as few rows as tell all of it, and without repeated ones."""
    few = condensed(asked)
    if few is not None:
        return few
    first, group = equal_rows(asked)
    if len(first) == asked.n:
        return precondition(asked)
    weights = _totals(group, asked.a)
    fewer = replace(asked, design=asked.design.rows(first), y=asked.y[first], a=weights)
    inner = precondition(fewer)
    kept = {field.name: getattr(inner, field.name) for field in fields(inner)}
    share = asked.a / weights[group]
    return Merged(**{**kept, "asked": asked}, first=first, group=group, share=share)


def equal_rows(problem: Problem) -> tuple[Index, Index]:
    """The first row of every group of equal ones, in the order given, and the group of each row.

    Where marks from a few numbers of each row do not tell them apart, rows are sorted by a random combination
    of all their numbers, and neighbours with nearly the same one are compared. Equal rows that rounding keeps
    apart stay apart, which costs time and nothing else.
    """
    if _told_apart(problem):
        return np.arange(problem.n), np.arange(problem.n)
    key = _keys(problem)
    order = np.argsort(key)
    near = np.flatnonzero(np.diff(key[order]) <= NEAR)
    again = near[_equal(problem, order[near], order[near + 1])] + 1
    if not len(again):
        return np.arange(problem.n), np.arange(problem.n)
    starts = np.ones(problem.n, dtype=bool)
    starts[again] = False
    first = np.minimum.reduceat(order, np.flatnonzero(starts))
    place = np.empty(len(first), dtype=np.intp)
    place[np.argsort(first)] = np.arange(len(first))
    group = np.empty(problem.n, dtype=np.intp)
    group[order] = place[np.cumsum(starts) - 1]
    return np.sort(first), group


def _told_apart(problem: Problem) -> bool:
    """Are no two rows the same, by their targets alone or by a few numbers of each?"""
    y = _marks(problem)
    if _all_differ(y[:FEW]) and _all_differ(y):
        return True
    return _all_differ(problem.design.row_marks() + 0.1234567 * y)


def _marks(problem: Problem) -> Vector:
    """The targets; those that are pairs as a number each."""
    return problem.y if problem.y.ndim == 1 else problem.y @ PAIR


def _all_differ(values: Vector) -> bool:
    ordered = np.sort(values)
    return not bool((ordered[1:] == ordered[:-1]).any())


def _keys(problem: Problem) -> Vector:
    """A number for each row, from columns of size one."""
    size = np.sqrt(problem.column_squares)
    drawn = np.random.default_rng(0).uniform(0.5, 1.5, problem.p + 1)
    part = np.divide(drawn[:-1], size, out=np.zeros_like(size), where=size > 0)
    y = _marks(problem)
    largest = float(np.abs(y).max()) or 1.0
    return np.asarray(problem.design.matvec(part) + y * (drawn[-1] / largest))


def _totals(group: Index, values: Vector) -> Vector:
    return np.asarray(np.bincount(group, values), dtype=np.float64)


def _equal(problem: Problem, left: Index, right: Index) -> Mask:
    pairs = problem.y.reshape(problem.n, -1)
    same: Mask = np.asarray((pairs[left] == pairs[right]).all(axis=1))
    near = np.flatnonzero(same)
    same[near] &= problem.design.same_rows(left[near], right[near])
    return same
