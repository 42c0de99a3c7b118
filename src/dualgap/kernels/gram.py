"""The Gram matrix of a table, by rows, under a bound on the bytes that it may hold."""

from __future__ import annotations

from collections.abc import Callable
from functools import cached_property
from typing import Any, ClassVar

import numpy as np
import scipy.linalg as sl
import scipy.sparse as sp
from numpy.typing import NDArray

from dualgap.arrays import Index, Matrix, Vector
from dualgap.errors import DataError
from dualgap.kernels.base import Kernel, KernelRows
from dualgap.kernels.mercer import LinearKernel
from dualgap.kernels.row_sums import add_rows

CHUNK = 256  # rows computed together
NEAR = 1 << 18  # numbers of a band that is computed and used at once
WIDE, BAND = 512, 256  # columns and rows of a band in a symmetric product
FIRST = 512  # rows for which memory is taken at first
TILE = 128  # rows and columns of a tile
SMALL = 1500  # below this many rows the matrix is computed whole
CANCELLATION = 100.0  # diagonal over spread beyond which single precision loses too much


class RowCache:
    """Rows of K in one precision; the least recently used ones make room."""

    def __init__(
        self, n: int, compute: Callable[[Index, Matrix | None], Matrix], dtype: type, capacity: int
    ) -> None:
        self.n, self.compute = n, compute
        self.capacity = max(2, min(n, capacity))
        self.store: NDArray[Any] = np.empty((self.capacity, n), dtype)
        self.slot = np.full(n, -1)
        self._owner = np.full(self.capacity, -1)
        self._last = np.zeros(self.capacity, np.int64)
        self.used, self._clock = 0, 0
        self._soft, self._again = min(self.capacity, FIRST), 0
        self._seen = np.zeros(n, dtype=bool)

    @classmethod
    def whole(cls, K: Matrix) -> RowCache:
        """All rows, there from the start."""
        n = len(K)
        cache = cls(n, lambda rows, out: K[rows], np.float64, 2)
        cache.capacity = cache.used = cache._soft = n
        cache.store, cache.slot = K, np.arange(n)
        cache._owner, cache._last = np.arange(n), np.zeros(n, np.int64)
        return cache

    @property
    def nbytes(self) -> int:
        """Bytes that are in use."""
        return int(self.used * self.n * self.store.itemsize)

    def take(self, rows: Index) -> Index:
        """Where in `store` these rows lie (at most `capacity` of them, all different)."""
        self._clock += 1
        here = self.slot[rows]
        self._last[here[here >= 0]] = self._clock
        missing = rows[here < 0]
        self._grow(missing, len(rows))
        for first in range(0, len(missing), CHUNK):
            self._fetch(missing[first : first + CHUNK])
        return self.slot[rows]

    def _grow(self, missing: Index, wanted: int) -> None:
        """Memory is taken once rows come back that had made room: to touch it costs more than a few rows."""
        self._again += int(np.count_nonzero(self._seen[missing]))
        self._seen[missing] = True
        if self._again > self._soft // 4 or wanted > self._soft:
            self._soft, self._again = min(self.capacity, max(2 * self._soft, wanted)), 0

    def _fetch(self, rows: Index) -> None:
        """Compute rows into free places, or into those of the rows used longest ago."""
        places = np.arange(self.used, min(self.used + len(rows), self._soft))
        if len(places) == len(rows):
            room = self.store[self.used : self.used + len(rows)]
            values = self.compute(rows, room)
            if values is not room:
                room[...] = values
        else:
            spare = np.flatnonzero(self._last[: self.used] < self._clock)
            oldest = spare[np.argsort(self._last[spare], kind="stable")[: len(rows) - len(places)]]
            self.slot[self._owner[oldest]] = -1
            places = np.concatenate([places, oldest])
            self.store[places] = self.compute(rows, None)
        self.used = max(self.used, int(places.max()) + 1)
        self._owner[places], self.slot[rows], self._last[places] = rows, places, self._clock

    def product(self, rows: Index, coef: Vector) -> Vector:
        """coef · K[rows, :]; rows not held are computed and forgotten."""
        total = np.zeros(self.n)
        held = self.slot[rows] >= 0
        add_rows(self.store, self.slot[rows[held]], coef[held], total)
        room = np.empty((min(CHUNK, len(rows)), self.n), self.store.dtype)
        for part, share in _chunks(rows[~held], coef[~held]):
            total += share.astype(room.dtype) @ self.compute(part, room[: len(part)])
        return total


def _bands(first: int, last: int, width: int, most: int = CHUNK) -> list[slice]:
    """Pieces of first:last, so many rows each that a band of this width stays near the processor."""
    step = max(8, min(most, NEAR // max(width, 1)))
    return [slice(s, min(s + step, last)) for s in range(first, last, step)]


def _chunks(rows: Index, coef: Vector) -> list[tuple[Index, Vector]]:
    return [(rows[s : s + CHUNK], coef[s : s + CHUNK]) for s in range(0, len(rows), CHUNK)]


def symmetric(K: Matrix) -> Matrix:
    """(K + Kᵀ)/2; K itself where that is the same and a copy would be large: by tiles there."""
    if len(K) <= SMALL:
        return np.asarray(0.5 * (K + K.T))
    found = K
    for i in range(0, len(K), TILE):
        for j in range(0, i + 1, TILE):
            left, right = K[i : i + TILE, j : j + TILE], K[j : j + TILE, i : i + TILE].T
            if np.array_equal(left, right):
                continue
            found = K.copy() if found is K else found
            middle = 0.5 * (left + right)
            found[i : i + TILE, j : j + TILE], found[j : j + TILE, i : i + TILE] = middle, middle.T
    return found


class Gram:
    """K of n rows: a kernel with its table, or a matrix computed beforehand. `given` is what answers are of.

    For Σβ = 0 solvers may see the matrix centred, HKH with H = I − 11ᵀ/n: βᵀKβ stays and Kβ moves by a
    constant, while much less cancels where features are far from zero. Done where the whole is held.
    """

    by_table: ClassVar[bool] = False  # do products go through the table, so that no row of K is needed?

    def __init__(
        self, kernel: Kernel | None, table: Any, cache_bytes: float = 5e8, *, centred: bool = False
    ) -> None:
        self.kernel: Kernel | None = kernel
        self.table: Any = table if sp.issparse(table) else np.ascontiguousarray(table, dtype=np.float64)
        self.n, self.cache_bytes = table.shape[0], cache_bytes
        self.centred = centred and self.small
        self.moved = self.centred  # is Kβ off by a constant?
        if self.centred:
            self._centre()
        # rows whose inner products are K's, where the table holds them
        self.span: Any = self.table if kernel is not None and kernel.linear else None

    def _centre(self) -> None:
        """Take the means of the columns and rows out; a second pass removes the rounding of the first."""
        K = self.given
        for _ in range(2):
            mean = K.mean(axis=0)
            half = mean - 0.5 * float(mean.mean())
            K = K - (half + half[:, None])  # symmetric to the last bit, as K is
        self.__dict__["whole"] = K

    @property
    def small(self) -> bool:
        """Is the whole matrix held?"""
        return self.kernel is None or self.n <= SMALL

    @cached_property
    def diagonal(self) -> Vector:
        """k(x, x) for every row."""
        if self.kernel is None or self.centred:
            return np.diagonal(self.whole).copy()
        return np.asarray(self.kernel.diagonal(self.table), dtype=np.float64)

    @property
    def given_diagonal(self) -> Vector:
        """The same of K as given."""
        return np.diagonal(self.given) if self.centred else self.diagonal

    @cached_property
    def _compute(self) -> KernelRows:
        assert self.kernel is not None
        return self.kernel.against(self.table)

    def rows(self, rows: Index, out: Matrix | None = None) -> Matrix:
        """K[rows, :], computed afresh."""
        return self.whole[rows] if self.small else self._compute(self.table[rows], out)

    def columns(self, columns: Index) -> Callable[[slice], Matrix]:
        """part ↦ K[part, columns], computed afresh: where the whole is not held."""
        assert self.kernel is not None
        values, table = self.kernel.against(self.table[columns]), self.table
        return lambda part: values(table[part])

    def block(self, rows: Index, columns: Index) -> Matrix:
        """K[rows, columns]."""
        if self.small:
            return self.whole[np.ix_(rows, columns)]
        assert self.kernel is not None
        return self.kernel(self.table[rows], self.table[columns])

    @cached_property
    def whole(self) -> Matrix:
        """K, centred if it was to be."""
        return self.given

    @cached_property
    def given(self) -> Matrix:
        """K as the kernel gives it, symmetric to the last bit."""
        return symmetric(self.raw())

    def raw(self) -> Matrix:
        """All pairs of rows, nothing kept; to the last bit what kernel(X, X) is."""
        if self.kernel is None:
            return np.asarray(self.table)
        return np.asarray(self.kernel(self.table, self.table), dtype=np.float64)

    @cached_property
    def exact(self) -> RowCache:
        """Rows in double precision."""
        if self.small or "whole" in self.__dict__:
            return RowCache.whole(self.whole)
        return RowCache(self.n, self.rows, np.float64, int(0.5 * self.cache_bytes / (8 * self.n)))

    @cached_property
    def quick(self) -> RowCache:
        """Rows in single precision, where that suffices to find the way."""
        if self.small or not self._single_suffices:
            return self.exact
        assert self.kernel is not None
        table = self._single_table
        compute = self.kernel.against(table)
        capacity = int(0.5 * self.cache_bytes / (4 * self.n))
        return RowCache(self.n, lambda rows, out: compute(table[rows], out), np.float32, capacity)

    @cached_property
    def _single_table(self) -> Any:
        return self.table.astype(np.float32)

    @property
    def _single_suffices(self) -> bool:
        sample = np.linspace(0, self.n - 1, min(self.n, 64)).astype(np.intp)
        spread = float(self.diagonal.mean() - self.rows(sample).mean())
        return float(np.abs(self.diagonal).max()) <= CANCELLATION * spread

    def product(self, coef: Vector) -> Vector:
        """K coef, in double precision."""
        support = np.flatnonzero(coef)
        return self.combine(support, coef[support])

    def combine(self, rows: Index, coef: Vector) -> Vector:
        """coef · K[rows, :], in double precision."""
        return self.exact.product(rows, coef)

    def product_at(self, where: Index, rows: Index, coef: Vector) -> Vector:
        """coef · K[rows, where] in double precision, nothing kept; rows in both are computed once.

        `rows` must come first in `where` if they are in it, and either all are or none.
        """
        if self.small:
            return np.asarray(self.whole[np.ix_(where, rows)] @ coef)
        assert self.kernel is not None
        total, shared = np.zeros(len(where)), 0
        if len(where) >= len(rows) and np.array_equal(where[: len(rows)], rows):
            shared = len(rows)
            self._symmetric_product(rows, coef, total[:shared])
        values, table = self.kernel.against(self.table[rows]), self.table
        for part in _bands(shared, len(where), len(rows)):
            total[part] = values(table[where[part]]) @ coef
        return total

    def _symmetric_product(self, rows: Index, coef: Vector, total: Vector) -> None:
        """total = K[rows, rows] coef, by bands up to the diagonal, each used for both of its sides."""
        assert self.kernel is not None
        table, m = self.table[rows], len(rows)
        room = np.empty(0)
        for wide in range(0, m, WIDE):
            right = slice(wide, min(wide + WIDE, m))
            values, width = self.kernel.against(table[right]), right.stop - right.start
            room = np.empty(BAND * width) if len(room) < BAND * width else room
            for part in _bands(right.start, m, width, BAND):
                out = room[: (part.stop - part.start) * width].reshape(-1, width)
                band = values(table[part], out)
                total[part] += band @ coef[right]
                if part.start >= right.stop:
                    total[right] += coef[part] @ band

    def single(self, rows: Index) -> Any:
        """K[rows, rows] in single precision; below the diagonal alone took no less time."""
        assert self.kernel is not None
        return self.kernel(self._single_table[rows], self._single_table[rows])

    def square(self, rows: Index) -> Matrix:
        """K[rows, rows] to write on; the rows are kept for `combine` where there is room."""
        if len(rows) <= self.exact.capacity and len(np.unique(rows)) == len(rows):
            return np.asarray(self.exact.store[self.exact.take(rows)[:, None], rows[None, :]])
        return self.block(rows, rows).copy()


class LinearGram(Gram):
    """K = XXᵀ with few columns: products go through Xᵀ and no row of K is needed."""

    by_table = True

    def __init__(self, table: Matrix, cache_bytes: float = 5e8, *, centred: bool = False) -> None:
        super().__init__(LinearKernel(), table - table.mean(axis=0) if centred else table, cache_bytes)
        self.span, self.moved = table, centred

    def block(self, rows: Index, columns: Index) -> Matrix:
        return np.asarray(self.table[rows] @ self.table[columns].T)

    def combine(self, rows: Index, coef: Vector) -> Vector:
        return np.asarray(self.table @ (coef @ self.table[rows]))

    def square(self, rows: Index) -> Matrix:
        return self.block(rows, rows)


def gram_of(kernel: Kernel | None, table: Any, cache_bytes: float = 5e8, *, centred: bool = False) -> Gram:
    """The Gram matrix in the form that suits the kernel and the shape of the table."""
    few = 2 * table.shape[1] < table.shape[0]
    if kernel is not None and kernel.linear and few and not sp.issparse(table):
        return LinearGram(table, cache_bytes, centred=centred)
    return Gram(kernel, table, cache_bytes, centred=centred)


ROUNDING, SINGLE = 1e-10, 1e-6  # of the largest entry


def refuse_indefinite(K: Matrix, name: str, *, tied: bool = False) -> None:
    """Raise DataError, with the size of the violation, if K has a negative eigenvalue beyond rounding.

    `tied`: only βᵀKβ with Σβ = 0 matters, as it does where an intercept is fitted.
    """
    _check(K, name, ROUNDING * float(np.abs(K).max()), tied=tied)


def repaired(K: Matrix, *, whole_numbers: bool, tied: bool = False) -> Matrix:
    """A matrix computed elsewhere, semi-definite: what rounding took is put back on the diagonal.

    Its entries may have been rounded to single precision or to whole numbers, and that alone makes small
    eigenvalues negative. More than that is refused.
    """
    top = float(np.abs(K).max())
    lowest = _check(K, "precomputed", max(SINGLE * top, 1.0 if whole_numbers else 0.0), tied=tied)
    if lowest >= -ROUNDING * top * np.sqrt(len(K)):
        return K
    return K - lowest * np.eye(len(K))


def _check(K: Matrix, name: str, error: float, *, tied: bool) -> float:
    """The smallest eigenvalue, or 0 if it is not below what errors of this size in the entries explain."""
    lopsided = float(np.abs(K - K.T).max())
    if lopsided > max(2.0 * error, 1e-8 * float(np.abs(K).max())):
        raise DataError(f"The {name} kernel matrix is not symmetric: entries differ by up to {lopsided:.3g}.")
    if tied:
        K = K - K.mean(axis=0)
        K = K - K.mean(axis=1)[:, None]
    if _definite(K, ROUNDING * float(np.abs(K).max())):
        return 0.0
    sizes = sl.eigvalsh(K, check_finite=False)
    if sizes[0] < -error * max(1.0, np.sqrt(len(K))):
        raise DataError(
            f"The {name} kernel is not positive semi-definite on these data: the smallest eigenvalue of the "
            f"kernel matrix is {sizes[0]:.4g}, the largest {sizes[-1]:.4g}. The problem is then not convex "
            "and no answer can be proven; change gamma and coef0, or use another kernel."
        )
    return float(sizes[0])


def _definite(K: Matrix, shift: float) -> bool:
    try:
        sl.cholesky(K + shift * max(1.0, np.sqrt(len(K))) * np.eye(len(K)), lower=True, check_finite=False)
    except np.linalg.LinAlgError:
        return False
    return True
