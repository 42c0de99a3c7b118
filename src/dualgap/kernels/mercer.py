"""The kernels: linear, poly, rbf, laplacian, sigmoid, any function, and a matrix computed beforehand."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, fields
from typing import Any

import numpy as np
import scipy.sparse as sp
from scipy.spatial.distance import cdist

from dualgap.arrays import Matrix, Vector
from dualgap.errors import DataError
from dualgap.kernels.base import Kernel, KernelRows, array_of, dots, square_norms

HARMLESS = 1e-3  # an exponent that rounding may take this far above zero needs no pass of its own
FAINT = 1e-13  # an exponent that may lose this much in ‖x‖² + ‖x'‖² − 2 x·x' is computed from x − x'


@dataclass(frozen=True)
class LinearKernel(Kernel):
    """k = x·x'."""

    name = "linear"
    linear = True

    def against(self, right: Matrix) -> KernelRows:
        return dots(right)

    def diagonal(self, rows: Matrix) -> Vector:
        return square_norms(rows)


@dataclass(frozen=True)
class Polynomial(Kernel):
    """k = (coef0 + γ x·x')^degree."""

    gamma: float = 1.0
    degree: int = 3
    coef0: float = 1.0
    name = "poly"

    def __post_init__(self) -> None:
        if self.degree != int(self.degree) or self.degree < 1:
            raise DataError(f"degree must be a whole number of at least 1, not {self.degree!r}.")
        if self.coef0 < 0:
            raise DataError(
                f"coef0={self.coef0:g}: below 0 the polynomial kernel is not positive semi-definite."
            )

    def against(self, right: Matrix) -> KernelRows:
        inner = dots(right)
        return lambda left, out=None: self._power(inner(left, out) * right.dtype.type(self.gamma))

    def diagonal(self, rows: Matrix) -> Vector:
        return self._power(self.gamma * square_norms(rows))

    def _power(self, dots: Matrix) -> Matrix:
        base = dots + dots.dtype.type(self.coef0)
        return np.asarray(base ** int(self.degree))


@dataclass(frozen=True)
class Gaussian(Kernel):
    """k = exp(−γ ‖x − x'‖²), of arrays to a few 1e-13; of sparse tables to the rounding of γ‖x‖²."""

    gamma: float = 1.0
    name = "rbf"

    def frequencies(self, shape: tuple[int, int], rng: np.random.Generator) -> Matrix | None:
        return np.asarray(np.sqrt(2.0 * self.gamma) * rng.standard_normal(shape))

    def against(self, right: Matrix) -> KernelRows:
        return self._against_sparse(right) if sp.issparse(right) else self._against_array(right)

    def _against_sparse(self, right: Any) -> KernelRows:
        inner, norms, kind = dots(right), square_norms(right), right.dtype.type

        def rows(left: Any, out: Matrix | None = None) -> Matrix:
            result = inner(left)
            result *= kind(2.0)
            result -= norms
            result -= square_norms(left)[:, None]
            result *= kind(self.gamma)
            np.minimum(result, kind(0), out=result)
            return np.exp(result, out=result)

        return rows

    def _against_array(self, right: Matrix) -> KernelRows:
        # moved to the mean, which changes no distance but the rounding; one product gives the exponent
        kind, rounding = right.dtype.type, float(np.finfo(right.dtype).eps)
        centre = right.mean(axis=0)
        moved = right - centre
        ones = np.ones((len(right), 1), right.dtype)
        norms = square_norms(moved)[:, None]
        reach = self.gamma * float(norms.max(initial=0.0))
        turned = np.ascontiguousarray(
            np.hstack([kind(2 * self.gamma) * moved, kind(-self.gamma) * norms, kind(-self.gamma) * ones]).T
        )

        def rows(left: Matrix, out: Matrix | None = None) -> Matrix:
            near = array_of(left) - centre
            own = square_norms(near)[:, None]
            far = (reach + self.gamma * float(own.max(initial=0.0))) * rounding
            if far > FAINT and right.dtype == np.float64:
                return self._by_differences(array_of(left), right)
            exponent = np.hstack([near, np.ones((len(near), 1), right.dtype), own])
            result = np.matmul(exponent.astype(right.dtype, copy=False), turned, out=out)
            if far > HARMLESS:
                np.minimum(result, kind(0), out=result)
            return np.exp(result, out=result)

        return rows

    def _by_differences(self, left: Matrix, right: Matrix) -> Matrix:
        result = cdist(left, right, "sqeuclidean")
        result *= -self.gamma
        return np.asarray(np.exp(result, out=result))

    def diagonal(self, rows: Matrix) -> Vector:
        return np.ones(rows.shape[0])


@dataclass(frozen=True)
class Laplacian(Kernel):
    """k = exp(−γ ‖x − x'‖₁)."""

    gamma: float = 1.0
    name = "laplacian"

    def frequencies(self, shape: tuple[int, int], rng: np.random.Generator) -> Matrix | None:
        return np.asarray(self.gamma * rng.standard_cauchy(shape))

    def against(self, right: Matrix) -> KernelRows:
        table = array_of(right)

        def rows(left: Matrix, out: Matrix | None = None) -> Matrix:
            result = cdist(array_of(left), table, "cityblock").astype(right.dtype, copy=False)
            result *= right.dtype.type(-self.gamma)
            return np.asarray(np.exp(result, out=result))

        return rows

    def diagonal(self, rows: Matrix) -> Vector:
        return np.ones(rows.shape[0])


@dataclass(frozen=True)
class SigmoidKernel(Kernel):
    """k = tanh(γ x·x' + coef0): positive semi-definite on some data only, which is checked."""

    gamma: float = 1.0
    coef0: float = 1.0
    name = "sigmoid"
    definite = False

    def against(self, right: Matrix) -> KernelRows:
        inner, kind = dots(right), right.dtype.type
        return lambda left, out=None: np.asarray(
            np.tanh(inner(left, out) * kind(self.gamma) + kind(self.coef0))
        )

    def diagonal(self, rows: Matrix) -> Vector:
        return np.asarray(np.tanh(self.gamma * square_norms(rows) + self.coef0))


@dataclass(frozen=True)
class FunctionKernel(Kernel):
    """k given by a function of two tables that returns the matrix of all pairs."""

    function: Callable[[Matrix, Matrix], Any]
    name = "callable"
    definite = False

    def against(self, right: Matrix) -> KernelRows:
        def rows(left: Matrix, out: Matrix | None = None) -> Matrix:
            found = np.asarray(array_of(self.function(left, right)), dtype=np.float64)
            wanted = (left.shape[0], right.shape[0])
            if found.shape != wanted:
                raise DataError(
                    f"The kernel function gave shape {found.shape} for {wanted[0]} and {wanted[1]} rows; "
                    f"it must give {wanted}."
                )
            if not np.all(np.isfinite(found)):
                raise DataError("The kernel function gave NaN or infinity.")
            return found.astype(right.dtype, copy=False)

        return rows

    def diagonal(self, rows: Matrix) -> Vector:
        return np.array([self(rows[i : i + 1], rows[i : i + 1])[0, 0] for i in range(rows.shape[0])])


CATALOGUE: dict[str, type[Kernel]] = {
    kind.name: kind for kind in (LinearKernel, Polynomial, Gaussian, Laplacian, SigmoidKernel)
}


def kernel_named(given: Any, shape: Callable[[], dict[str, Any]]) -> Kernel | None:
    """The kernel of that name and shape, a function of two tables as one, or the kernel itself.

    `shape` is asked for gamma, degree and coef0 where a name needs some; None: the kernel is precomputed.
    """
    if isinstance(given, Kernel):
        return given
    if callable(given):
        return FunctionKernel(given)
    if given == "precomputed":
        return None
    if given not in CATALOGUE:
        raise DataError(f"There is no kernel {given!r}. Known: {', '.join(CATALOGUE)}, precomputed.")
    kind, known = CATALOGUE[given], shape()
    return kind(**{field.name: known[field.name] for field in fields(kind)})  # type: ignore[arg-type]
