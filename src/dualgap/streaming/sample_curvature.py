"""The curvature of a sample as a matrix that nobody forms: its rows, and what secants have learnt since.

H = Σ a h xxᵀ, the constant eliminated, for as many columns as the rows of a text have: products with it are
products with the sample, and blocks of it are made for the columns that are asked for. Its diagonal is that
of all rows, which a scan has summed: a sample has hardly met many a word. What lies off the diagonal is
shrunk by the share of it that chance makes of m rows and p columns (Ledoit and Wolf, 2004).
"""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse as sp

from dualgap.arrays import Index, Matrix, Vector
from dualgap.drive.memory import free_bytes
from dualgap.errors import DataError
from dualgap.linalg.cholesky import Solve
from dualgap.linalg.conjugate_gradients import conjugate_gradients
from dualgap.linalg.support_factor import SupportFactor
from dualgap.solvers.metrics import FLOOR

ACCURACY = 1e-3  # of a step: the sample's curvature is no nearer to that of all rows
PRODUCTS = 200  # for one step, at most
LARGEST = 0.25  # of the free memory: what the columns with weights may take
PROBES = 4  # random vectors that tell how much of a matrix lies off its diagonal
MOST = 2.0  # times the size in the sample that a column is taken to have: the rest is put on the diagonal


class SampleCurvature:
    """H + ridge, mended by BFGS; `h` are the curvatures of the sample's rows, their weights in them, `whole`
    is the diagonal of all rows.
    """

    def __init__(self, X: Any, h: Vector, ridge: Vector, whole: Vector, *, tied: bool) -> None:
        root = np.sqrt(h)
        if sp.issparse(X):
            rows = X.tocsc().astype(np.float64, copy=True)
            rows.data *= root[rows.indices]
        else:
            rows = np.asarray(X) * root[:, None]
        self.rows, heavy = rows, max(float(h.sum()), 1e-300)
        level = np.asarray(rows.T @ root) if tied else np.zeros(rows.shape[1])
        squares = rows.multiply(rows).sum(axis=0) if sp.issparse(rows) else np.einsum("ij,ij->j", rows, rows)
        own = np.maximum(np.asarray(squares).ravel() - level * level / heavy, 0.0)
        unit = np.sqrt(np.divide(whole, own, out=np.ones(len(own)), where=own > 0.0))
        unit = np.minimum(unit, MOST)
        self.terms: list[tuple[float, Vector]] = [(-1.0 / heavy, level)]
        self.more = np.zeros(len(own))
        unit *= np.sqrt(
            1.0 - self._chance(np.divide(1.0, np.sqrt(own), out=np.zeros(len(own)), where=own > 0.0))
        )
        if sp.issparse(rows):
            rows.data *= np.repeat(unit, np.diff(rows.indptr))
        else:
            rows *= unit
        self.terms = [(-1.0 / heavy, unit * level)]
        left = np.maximum(whole - unit * unit * own, 0.0)
        self.more = ridge + left + FLOOR * max(float(whole.max(initial=0.0)), 1e-300)
        self.diagonal = unit * unit * own + self.more
        self.factor = SupportFactor(self)

    def _chance(self, unit: Vector) -> float:
        """The share of the squares of all correlations that chance makes, by random vectors of signs."""
        rng, size = np.random.default_rng(0), 0.0
        for _ in range(PROBES):
            image = unit * self.times(unit * rng.choice([-1.0, 1.0], len(unit)))
            size += float(image @ image) / PROBES
        p, m = float(np.count_nonzero(unit)), float(self.rows.shape[0])
        return min(p * p / m / size, 1.0) if size > 0.0 else 0.0

    def times(self, v: Vector) -> Vector:
        """H v."""
        found = np.asarray(self.rows.T @ (self.rows @ v)) + self.more * v
        for share, u in self.terms:
            found += (share * float(u @ v)) * u
        return found

    def block(self, which: Index) -> Any:
        """H on some columns."""
        return self.cross(which, which)

    def cross(self, rows: Index, columns: Index) -> Matrix:
        """H between some rows and columns."""
        room = 8.0 * len(rows) * len(columns)
        if room > LARGEST * free_bytes():
            raise DataError(
                f"{len(columns)} columns have a weight or are about to: what they have to do with each other "
                f"takes {room / 2**30:.1f} GiB. Give a larger lam, or the l2 penalty."
            )
        found = self.rows[:, rows].T @ self.rows[:, columns]
        found = np.ascontiguousarray(found.toarray() if sp.issparse(found) else found)
        for share, u in self.terms:
            found += np.outer(share * u[rows], u[columns])
        found[rows[:, None] == columns] += self.more[np.intersect1d(rows, columns)]
        return found

    def subtract(self, live: Index, change: Vector, residual: Vector) -> None:
        """residual −= H[:, live] change."""
        v = np.zeros(len(residual))
        v[live] = change
        residual -= self.times(v)

    def mend(self, U: Matrix, c: Vector) -> None:
        """Σ c u uᵀ more."""
        self.terms += zip(c.tolist(), U, strict=True)
        self.factor = SupportFactor(self)

    def without(self, on: Index, cross: Matrix, solve: Solve) -> ReducedCurvature:
        """H on these columns, the others at their best: `cross` is H beside them, `solve` its inverse."""
        return ReducedCurvature(self, on, cross, solve)

    def solve(self, right: Vector) -> Vector:
        """H⁻¹ right, to the accuracy that such a curvature deserves."""
        return conjugate_gradients(self.times, right, self.diagonal, ACCURACY, PRODUCTS)


class ReducedCurvature:
    """The curvature on some columns, the others at their best."""

    def __init__(self, whole: SampleCurvature, on: Index, beside: Matrix, solve: Solve) -> None:
        self.whole, self.on, self.beside, self.solve = whole, on, beside, solve
        self.factor = SupportFactor(self)

    def block(self, which: Index) -> Any:
        """The model on some of them."""
        return self.cross(which, which)

    def cross(self, rows: Index, columns: Index) -> Matrix:
        """The model between some of them."""
        found = self.whole.cross(self.on[rows], self.on[columns])
        found = found - self.beside[:, rows].T @ self.solve(np.ascontiguousarray(self.beside[:, columns]))
        return np.ascontiguousarray(found)

    def subtract(self, live: Index, change: Vector, residual: Vector) -> None:
        """residual −= G[:, live] change."""
        moved = np.zeros(len(self.whole.more))
        self.whole.subtract(self.on[live], change, moved)
        residual += moved[self.on]
        residual += self.beside.T @ self.solve(self.beside[:, live] @ change)
