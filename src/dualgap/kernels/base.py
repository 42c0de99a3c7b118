"""What a kernel must answer: k(x, x') for two tables of rows, and k(x, x)."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import ClassVar, Protocol

import numpy as np

from dualgap.arrays import Matrix, Vector


class Rows(Protocol):
    """A ↦ k(A, B) for a fixed B; `out` may be used for the result, which is returned either way."""

    def __call__(self, left: Matrix, out: Matrix | None = None) -> Matrix:
        """k(left, B)."""


class Kernel(ABC):
    """k(x, x'). Instances are frozen dataclasses; `definite` says that every Gram matrix is semi-definite."""

    name: ClassVar[str]
    definite: ClassVar[bool] = True

    @abstractmethod
    def against(self, right: Matrix) -> Rows:
        """A ↦ k(A, right), in the precision of `right`; what depends on `right` alone is computed once."""

    @abstractmethod
    def diagonal(self, rows: Matrix) -> Vector:
        """k(x, x) for every row."""

    def __call__(self, left: Matrix, right: Matrix) -> Matrix:
        """k(left, right)."""
        return self.against(right)(left)


def square_norms(rows: Matrix) -> Vector:
    """‖x‖² for every row."""
    return np.asarray(np.einsum("ij,ij->i", rows, rows))
