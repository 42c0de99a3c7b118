"""What a kernel must answer: k(x, x') for two tables of rows, and k(x, x)."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Any, ClassVar, Protocol

import numpy as np
import scipy.sparse as sp

from dualgap.arrays import Matrix, Vector


class KernelRows(Protocol):
    """A ↦ k(A, B) for a fixed B; `out` may be used for the result, which is returned either way."""

    def __call__(self, left: Matrix, out: Matrix | None = None) -> Matrix:
        """k(left, B)."""


class Kernel(ABC):
    """k(x, x'). Instances are frozen dataclasses; `definite` says that every Gram matrix is semi-definite.

    Tables are arrays or SciPy's compressed rows; what comes back is an array.
    """

    name: ClassVar[str]
    definite: ClassVar[bool] = True
    linear: ClassVar[bool] = False  # k = x·x': the table itself is the space of the kernel

    @abstractmethod
    def against(self, right: Matrix) -> KernelRows:
        """A ↦ k(A, right), in the precision of `right`; what depends on `right` alone is computed once."""

    @abstractmethod
    def diagonal(self, rows: Matrix) -> Vector:
        """k(x, x) for every row."""

    def frequencies(self, shape: tuple[int, int], rng: np.random.Generator) -> Matrix | None:
        """Draws ω, columns of a table, with k(x, x') = E cos ω·(x − x'); None for kernels that have none."""
        return None

    def __call__(self, left: Matrix, right: Matrix) -> Matrix:
        """k(left, right)."""
        return self.against(right)(left)


def array_of(table: Any) -> Any:
    """A sparse table as an array; others as they are."""
    return table.toarray() if sp.issparse(table) else table


def dots(right: Any) -> KernelRows:
    """A ↦ A rightᵀ as an array, for tables that are arrays or sparse."""
    if sp.issparse(right):
        columns = right.T.tocsr()
        return lambda left, out=None: array_of(left @ columns)
    turned = np.ascontiguousarray(right.T)
    return lambda left, out=None: np.matmul(array_of(left), turned, out=out)


def square_norms(rows: Any) -> Vector:
    """‖x‖² for every row."""
    if sp.issparse(rows):
        return np.asarray(rows.power(2).sum(axis=1)).ravel()
    return np.asarray(np.einsum("ij,ij->i", rows, rows))
