"""What solvers ask of the data matrix."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple, Protocol

import numpy as np

from dualgap.arrays import Index, Mask, Matrix, Vector
from dualgap.proof.rows import Rows

if TYPE_CHECKING:
    from dualgap.design.compressed import Compressed


class ScaledSparse(NamedTuple):
    """A sparse matrix times a scale for each column; one scale more stands for a column of ones."""

    matrix: Compressed
    scale: Vector


class Design(Protocol):
    """An n × p matrix. One file per kind of storage; nobody else looks inside.

    What follows from other answers is given here; a kind of storage that has it sooner says so itself.
    """

    @property
    def shape(self) -> tuple[int, int]:
        """(n, p)."""

    @property
    def matrix(self) -> Any:
        """The numbers as NumPy or SciPy hold them, without a column of ones: what proofs are made of."""
        return self.toarray()

    @property
    def measured(self) -> Rows | None:
        """`matrix` with what proofs have asked of it before, None where nothing is known."""
        return None

    @property
    def features(self) -> Design:
        """The same without its column of ones, if it has one."""
        return self

    @property
    def alike(self) -> Design | None:
        """The matrix that stands along the diagonal again and again, None where there is none."""
        return None

    @property
    def sparse(self) -> ScaledSparse | None:
        """The same as one sparse matrix with scaled columns, None where it is not stored so."""
        return None

    @property
    def mostly_zeros(self) -> bool:
        """Is it stored with its zeros, and would be better off without them?"""
        return False

    def thinned(self) -> Design:
        """The same without its zeros, where these are most of it."""
        return self

    @property
    def stored(self) -> int:
        """How many numbers a product with this matrix reads."""

    def matvec(self, w: Vector) -> Vector:
        """X w."""

    def matvecs(self, weights: Matrix) -> Matrix:
        """Xw for many w, one row each."""

    def transpose_matvec(self, theta: Vector) -> Vector:
        """Xᵀ θ."""

    def transpose_matvecs(self, thetas: Matrix) -> Matrix:
        """Xᵀθ for many θ, one row each."""

    def curved(self, h: Vector, w: Vector, shift: float = 0.0) -> tuple[Vector, float]:
        """Xᵀt and Σt for t = h ∘ (Xw + shift), in one pass where the storage allows."""
        t = h * (self.matvec(w) + shift)
        return self.transpose_matvec(t), float(t.sum())

    def across(self, d: Vector, theta: Vector) -> Vector:
        """X (d ∘ Xᵀθ), in one pass where the storage allows."""
        return self.matvec(d * self.transpose_matvec(theta))

    def absolute_transpose_matvec(self, theta: Vector) -> Vector:
        """|X|ᵀ θ: the size of the terms that cancel in Xᵀ θ."""

    def weighted_gram(self, h: Vector, *, single: bool = False) -> Matrix:
        """Xᵀ diag(h) X, h ≥ 0, dense; `single`: products in 4-byte numbers where these are faster."""

    def weighted_outer(self, d: Vector, *, single: bool = False) -> Matrix:
        """X diag(d) Xᵀ, d ≥ 0, dense; `single` as above."""

    def weighted_square_norms(self, a: Vector) -> Vector:
        """Σ_i a_i x_ij², column by column."""

    def row_square_norms(self) -> Vector:
        """Σ_j x_ij², row by row."""
        array = self.toarray()
        return np.asarray(np.einsum("ij,ij->i", array, array))

    def remembering(self) -> Design:
        """The same for several fits of these rows, one after another: what they share may be kept."""
        return self

    def rough(self) -> Design:
        """The same matrix, products in 4-byte numbers where these take half the time."""
        return self

    def rows(self, which: Index | Mask) -> Design:
        """Some of the rows."""

    def row_marks(self) -> Vector:
        """A number for each row, from a few of its numbers: the same for equal rows, seldom for others."""

    def same_rows(self, left: Index, right: Index) -> Mask:
        """Is row left_k, number by number, row right_k?"""

    def columns(self, which: Index | Mask) -> Design:
        """Some of the columns."""

    def fill_transposed(self, out: Matrix) -> None:
        """Write Xᵀ into a C-contiguous p × n array: the columns one after another, in a single copy."""
        out[...] = self.toarray().T

    def toarray(self) -> Matrix:
        """A dense copy or view."""


class Wrapped(Design, Protocol):
    """Another matrix seen differently, row for row: which rows are the same does not change."""

    inner: Design

    def row_marks(self) -> Vector:
        return self.inner.row_marks()

    def same_rows(self, left: Index, right: Index) -> Mask:
        return self.inner.same_rows(left, right)
