"""Rows far out in a column: levels that a sample has hardly met, or not at all, and outliers.

A sample says next to nothing about the weight of such a level (it may even tell the classes apart there), and
a model of second order at its answer says no more. There are few such rows: they are kept as they are.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from dualgap.arrays import Index, Matrix, Vector
from dualgap.blocks.stacks import stacked
from dualgap.losses import Loss

DISTANT = 40.0  # standard deviations of a column: a level that six rows in 10⁴ have, sixty of a sample of 10⁵
MOST = 0.02  # of a block's rows that are kept at most; the others count as any row


@dataclass(frozen=True, eq=False)
class KeptRows:
    """Rows as they are."""

    X: list[Matrix]
    y: list[Vector]
    weight: list[Vector]
    numbers: list[Index]

    def plus(self, other: KeptRows) -> KeptRows:
        """In order."""
        return KeptRows(
            self.X + other.X, self.y + other.y, self.weight + other.weight, self.numbers + other.numbers
        )


def emptied(lots: list[Matrix], last: Matrix) -> Matrix:
    """All lots and the last one below each other; a lot is gone once it is copied, for all are large."""
    if any(hasattr(lot, "indptr") for lot in lots):
        found: Matrix = stacked([*lots, last])
        return found
    n = sum(map(len, lots)) + len(last)
    X, below = np.empty((n, last.shape[1]), order="F"), n - len(last)
    X[below:] = last
    while lots:
        lot = lots.pop()
        X[below - len(lot) : below] = lot
        below -= len(lot)
    return X


def bundles(lots: list[Matrix], rows: int) -> list[Matrix]:
    """Neighbouring lots below each other, so many rows at least in each but the last; `lots` is empty."""
    found: list[Matrix] = []
    held, part = 0, []
    lots.reverse()
    while lots:  # they may be large: what is copied is let go
        part.append(lots.pop())
        held += len(part[-1])
        if held >= rows:
            found.append(stacked(part))
            held, part = 0, []
    return [*found, stacked(part)] if held else found


def shortest(X: Matrix) -> Any:
    """The same numbers, in 4 bytes each where none loses a digit by that, as those of files often do not."""
    if hasattr(X, "indptr"):
        return X
    with np.errstate(over="ignore"):
        short = X.astype(np.float32)
    return short if np.array_equal(short, X) else X


def centred(X: Matrix) -> tuple[Vector, Vector]:
    """The mean and the deviation of every column; of one that is constant its value and zero."""
    if hasattr(X, "indptr"):  # most entries are zero: no row is far out
        return np.zeros(X.shape[1]), np.full(X.shape[1], np.inf)
    centre, scale, same = X.mean(axis=0), deviations(X), X.max(axis=0) == X.min(axis=0)
    return np.where(same, X[0], centre), np.where(same, 0.0, scale)


def deviations(X: Matrix) -> Vector:
    """The standard deviation of every column, one by one: all at once takes room for a copy of X."""
    return np.array([X[:, j].std() for j in range(X.shape[1])])


def suspects(tops: Vector, centre: Vector, scale: Vector) -> Index:
    """Columns that can have rows far out, for entries up to `tops`."""
    return np.flatnonzero(tops + np.abs(centre) > DISTANT * scale)


def far_out(X: Any, columns: Index, centre: Vector, scale: Vector, most: float = MOST) -> Index:
    """Rows that are far out in one of some columns, up to a share of them."""
    far = np.zeros(X.shape[0], dtype=bool)
    columns = columns[np.isfinite(scale[columns])]
    for j in columns:
        column = X[:, [j]].toarray()[:, 0] if hasattr(X, "indptr") else X[:, j]
        far |= np.abs(column - centre[j]) > DISTANT * scale[j]
    return np.flatnonzero(far)[: int(np.ceil(most * len(far)))]


@dataclass(frozen=True, eq=False)
class NearBend:
    """Rows whose predictions, at some weights, are within `reach` of where curvature jumps.

    There a model of second order is wrong, and everywhere else it is the piece itself.
    """

    loss: Loss
    w: Vector  # a constant behind
    reach: float

    def distances(self, y: Vector, z: Vector) -> Vector:
        """How far rows with these predictions are from there."""
        terms, away = self.loss.terms(y), np.full(len(z), np.inf)
        for bound in (terms.lower, terms.upper):
            for edge in (terms.kink + terms.softness * bound).T:
                np.minimum(away, np.abs(z - edge), out=away)
        return away


@dataclass(frozen=True, eq=False)
class SeenBend:
    """What a block's rows have to do with a bend: predictions at its weights, and how far off they are."""

    near: NearBend
    scores: Vector
    away: Vector

    @classmethod
    def of(cls, near: NearBend, X: Any, y: Vector, at: tuple[Vector, Vector] | None = None) -> SeenBend:
        """Of these rows; `at` are weights and predictions of theirs, which may be the same."""
        known = at is not None and np.array_equal(at[0], near.w)
        z = at[1] if at is not None and known else X @ near.w[:-1] + near.w[-1]
        return cls(near, z, near.distances(y, z))

    def scored(self, w: Vector) -> Vector | None:
        """Predictions at these weights, if they are known."""
        return self.scores if np.array_equal(w, self.near.w) else None
