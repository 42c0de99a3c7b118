"""The columns an engine works on, and the way back to the weights of the working problem.

Free columns that depend on other free columns are left out: they change no prediction. With l2 on more
columns than rows, the n directions that the rows can tell apart take the place of the p columns.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.linalg
import scipy.sparse as sp

from dualgap.arrays import Index, Matrix, Vector
from dualgap.penalties.base import Elastic
from dualgap.problem.problem import Problem
from dualgap.solvers.design_lines import compressed

DEPENDENT = 1e-10  # a free column with less than this share of its length outside the others depends on them


@dataclass(frozen=True, eq=False)
class EngineColumns:
    """The matrix of the engine, dense or compressed, with the prices of its columns."""

    matrix: Any
    l1: Vector
    l2: Vector
    p: int  # of the working problem
    whole: Index  # working weights that are engine weights themselves, behind the rotated ones
    turned: Index  # working weights made from the first of the engine's
    rotation: Matrix | None

    @property
    def dense(self) -> bool:
        """Is the matrix an array?"""
        return isinstance(self.matrix, np.ndarray)

    def working(self, v: Matrix) -> Matrix:
        """Weights of the working problem, one row per row of v."""
        out = np.zeros((*v.shape[:-1], self.p))
        rank = 0
        if self.rotation is not None:
            rank = self.rotation.shape[1]
            out[..., self.turned] = v[..., :rank] @ self.rotation.T
        out[..., self.whole] = v[..., rank:]
        return out

    def engine(self, w: Vector) -> Vector:
        """The engine's weights for those of the working problem (the shortest that predict the same)."""
        if self.rotation is None:
            return np.asarray(w[self.whole])
        first = np.linalg.lstsq(self.rotation, w[self.turned], rcond=None)[0]
        return np.concatenate([first, w[self.whole]])


def engine_columns(problem: Problem) -> EngineColumns:
    """See the module."""
    elastic, free = problem.regulariser.gauge.elastic, problem.free
    assert elastic is not None
    matrix = compressed(problem.design)
    if matrix is None:
        matrix = np.asarray(problem.design.toarray())
    keep = np.setdiff1d(np.arange(problem.p), _dependent(matrix, np.flatnonzero(free)))
    if elastic.l1.any() or len(keep) <= problem.n + np.count_nonzero(free):
        picked = matrix if len(keep) == problem.p else matrix[:, keep]
        none = np.zeros(0, dtype=np.intp)
        return EngineColumns(picked, elastic.l1[keep], elastic.l2[keep], problem.p, keep, none, None)
    return _rotated(matrix, elastic, keep)


def _dependent(matrix: Any, free: Index) -> Index:
    """Free columns that depend on the other free ones; the intercept, which is last, is never among them."""
    if len(free) < 2:
        return np.zeros(0, dtype=np.intp)
    part = matrix[:, free]
    part = part.toarray() if sp.issparse(part) else part
    lost = []
    basis = np.zeros((len(part), 0))
    for k in range(len(free) - 1, -1, -1):
        x = part[:, k] - basis @ (basis.T @ part[:, k])
        x -= basis @ (basis.T @ x)
        size = float(np.linalg.norm(x))
        if size <= DEPENDENT * float(np.linalg.norm(part[:, k])):
            lost.append(free[k])
        else:
            basis = np.column_stack([basis, x / size])
    return np.array(sorted(lost), dtype=np.intp)


def _rotated(matrix: Any, elastic: Elastic, keep: Index) -> EngineColumns:
    """X_penalised = R Qᵀ diag(√l2): the engine sees R, whose weights all cost the same."""
    turned, whole = keep[elastic.l2[keep] > 0], keep[elastic.l2[keep] == 0]
    root = np.sqrt(elastic.l2[turned])
    rest = matrix[:, whole]
    if sp.issparse(matrix):
        scaled = sp.csr_array(matrix[:, turned] @ sp.diags_array(1.0 / root))
        sizes, left = scipy.linalg.eigh((scaled @ scaled.T).toarray())
        alive = sizes > 1e-13 * sizes.max(initial=0.0)
        short = left[:, alive] * np.sqrt(sizes[alive])
        basis = np.asarray(scaled.T @ (left[:, alive] / np.sqrt(sizes[alive])))
        rest = rest.toarray()
    else:
        basis, upper = scipy.linalg.qr((matrix[:, turned] / root).T, mode="economic", check_finite=False)
        short = upper.T
    array = np.ascontiguousarray(np.column_stack([short, rest]))
    l2 = np.concatenate([np.ones(short.shape[1]), np.zeros(len(whole))])
    rotation = basis / root[:, None]
    return EngineColumns(array, np.zeros_like(l2), l2, len(elastic.l2), whole, turned, rotation)
