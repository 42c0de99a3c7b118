"""Array types, and the one place that settles dtype and layout."""

from __future__ import annotations

from functools import cached_property, lru_cache
from typing import Any, Self, TypeAlias, TypeVar, overload

import numpy as np
from numpy.typing import NDArray

from dualgap.errors import DataError

Vector: TypeAlias = NDArray[np.float64]
Matrix: TypeAlias = NDArray[np.float64]
Mask: TypeAlias = NDArray[np.bool_]
Index: TypeAlias = NDArray[np.intp]
T = TypeVar("T")
SAMPLE = 1000  # numbers that tell how many of a long vector are zero: to count 50,000 took half of a product
# 2⁻¹⁰⁷⁴ by its bits: where a library has told the processor to take small numbers for zero, `2.0**-1074` is 0
# in this process, and by way of a .pyc file in later ones
SMALLEST = float(np.array([1], dtype=np.int64).view(np.float64)[0])
KEPT, LONGEST = 16, 100_000  # vectors of ones that are kept, and the numbers of the longest


class once(cached_property[T]):  # noqa: N801 - a decorator
    """An answer that is worked out once. Python 3.11 takes a lock for that, for 30 µs of a small fit."""

    @overload
    def __get__(self, instance: None, owner: type[Any] | None = None) -> Self: ...

    @overload
    def __get__(self, instance: object, owner: type[Any] | None = None) -> T: ...

    def __get__(self, instance: object, owner: type[Any] | None = None) -> Self | T:
        if instance is None:
            return self
        found = instance.__dict__[str(self.attrname)] = self.func(instance)
        return found


def frozen(values: Any) -> Vector:
    """A read-only float64 array, contiguous; shared with the caller only if it is already that."""
    array = np.ascontiguousarray(values, dtype=np.float64)
    if array.flags.writeable:
        array = array.copy() if array is values else array
        array.flags.writeable = False
    return array


def either(first: Index, second: Index, size: int) -> Index:
    """Which numbers below `size` are in one of two sets, rising; `union1d` takes ten times as long."""
    marks = np.zeros(size, dtype=bool)
    marks[first] = True
    marks[second] = True
    return np.flatnonzero(marks)


@lru_cache(KEPT)
def _kept_ones(count: int) -> Vector:
    return frozen(np.ones(count))


def ones(count: int) -> Vector:
    """Read-only ones; up to LONGEST of them the same array each time, which `are_ones` knows again."""
    return _kept_ones(count) if count <= LONGEST else np.ones(count)


def are_ones(values: Vector) -> bool:
    """Is this an array made by `ones`? No look at the numbers: False says nothing of them."""
    return len(values) <= LONGEST and values is _kept_ones(len(values))


def sampled(values: Vector) -> Vector:
    """Every so many of them, nearly SAMPLE in all; of a short vector all."""
    return values[:: len(values) // SAMPLE + 1]


def few(values: Vector, share: float) -> bool:
    """Is at most one in so many not zero? As a sample tells."""
    some = sampled(values)
    return bool(share * np.count_nonzero(some) <= len(some))


def positive(what: str, value: float) -> None:
    """Refuse a parameter that is not a positive finite number."""
    if not (np.isfinite(value) and value > 0):
        raise DataError(f"{what} must be a positive finite number, not {value!r}.")


def on_device(X: Any) -> bool:
    """Is this an array of torch or CuPy? Asks by the name of its library, so that neither is imported."""
    library = type(X).__module__.split(".", 1)[0]
    return library in ("torch", "cupy", "cupyx") and hasattr(X, "shape") and hasattr(X, "dtype")


def far(X: Any) -> bool:
    """Are these rows read in blocks, on a cluster, or gone but for their moments?"""
    return getattr(type(X), "far", False) or hasattr(X, "__dask_graph__")
