"""What one look at all rows says of columns and targets: spreads, classes, where a number is none."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NoReturn

import numpy as np
from numpy.typing import NDArray

from dualgap.arrays import Vector
from dualgap.blocks.source import RowBlock, RowSource
from dualgap.errors import DataError
from dualgap.streaming.asked import LARGEST, MOST_CLASSES, Targets, place


@dataclass(frozen=True, eq=False)
class ColumnSums:
    """Σs, Σs(x − shift) and Σs(x − shift)²."""

    weight: float
    first: Vector
    second: Vector

    def plus(self, other: ColumnSums) -> ColumnSums:
        """Of both lots of rows."""
        return ColumnSums(self.weight + other.weight, self.first + other.first, self.second + other.second)

    @property
    def finite(self) -> bool:
        """False where a number of the rows is none."""
        return bool(np.isfinite(self.second).all())

    def scales(self, shift: Vector, *, tied: bool) -> Vector:
        """Standard deviations (root mean squares without an intercept); 1 if constant."""
        mean = self.first / self.weight
        square = self.second / self.weight
        variance = square - mean * mean
        variance = np.where(variance > 1e-12 * square, variance, 0.0)  # of a constant column rounding is left
        if not tied:
            variance = variance + (shift + mean) ** 2
        scale = np.sqrt(variance)
        scale[scale == 0.0] = 1.0
        return np.asarray(scale)


def column_scan(block: RowBlock, targets: Targets, shift: Vector) -> ColumnSums:
    """One block."""
    X, y, weight, _ = targets.of(block)
    s = np.ones(len(y)) if weight is None else weight
    if hasattr(X, "indptr"):  # about zero, where most entries are
        heavy, first = float(s.sum()), X.T @ s
        second = X.multiply(X).T @ s - 2.0 * shift * first + heavy * shift * shift
        return ColumnSums(heavy, first - heavy * shift, second)
    away = X - shift
    return ColumnSums(float(s.sum()), away.T @ s, (away * away).T @ s)


@dataclass(frozen=True, eq=False)
class WeightSum:
    """Σs, and how many rows count."""

    weight: float
    rows: int

    def plus(self, other: WeightSum) -> WeightSum:
        """Of both lots of rows."""
        return WeightSum(self.weight + other.weight, self.rows + other.rows)


def weight_scan(block: RowBlock, targets: Targets) -> WeightSum:
    """One block."""
    y, weight = targets.of(block)[1:3]
    return WeightSum(float(len(y)) if weight is None else float(weight.sum()), len(y))


def classes_of(source: RowSource) -> NDArray[Any]:
    """All labels, sorted."""
    found: set[Any] = set()
    for labels in source.labels():
        fresh = _labels(labels)
        found |= fresh
        if len(found) > MOST_CLASSES:
            raise DataError(
                f"The target has more than {MOST_CLASSES} different values: a classification loss needs "
                "classes. Use a regression loss."
            )
    try:
        classes = np.array(sorted(found))
    except TypeError:
        kinds = sorted({type(label).__name__ for label in found})
        raise DataError(f"The target mixes labels of the types {' and '.join(kinds)}; use one.") from None
    if classes.dtype.kind == "f" and len(classes) > 2 and np.any(classes != np.floor(classes)):
        raise DataError("The target holds continuous numbers: a classification loss needs classes.")
    if len(classes) == 1:
        raise DataError(
            f"The target has one class only, {classes.tolist()[0]!r}, in all rows: a classifier needs at "
            "least two classes; there is nothing to tell apart."
        )
    return classes


def _labels(y: Any) -> set[Any]:
    """The values without what is missing, which the first scan names by its place."""
    values = set(np.unique(y[~_absent(y)]).tolist()) if len(y) else set()
    return values


def _absent(y: Any) -> Any:
    if y.dtype.kind == "O":
        return np.array([label is None or label != label for label in y], dtype=bool)
    return np.isnan(y) if y.dtype.kind == "f" else np.zeros(len(y), dtype=bool)


def _first_bad(X: Any) -> tuple[int, int] | None:
    """Row and column of the first entry that is no number, or too large."""
    if hasattr(X, "indptr"):
        bad = np.flatnonzero(~(np.abs(X.data) <= LARGEST))
        return (
            (int(np.searchsorted(X.indptr, bad[0], side="right")) - 1, int(X.indices[bad[0]]))
            if len(bad)
            else None
        )
    bad = ~(np.abs(X) <= LARGEST)
    if not bad.any():
        return None
    i = int(np.argmax(bad.any(axis=1)))
    return i, int(np.argmax(bad[i]))


def within_reach(values: Any) -> bool:
    """Are these numbers, none of them so large that sums of squares are none?"""
    return not values.size or bool(values.max() <= LARGEST and values.min() >= -LARGEST)


class SumsError(DataError):
    """No row is to blame: some step went so far that sums are no numbers. Others take shorter steps."""


def refuse_bad(source: RowSource, classes: Any) -> NoReturn:
    """Sums were no numbers: find the first row to blame, and say its file, column and number."""
    names = source.names
    for block in source.blocks():
        found = _first_bad(block.X)
        if found is not None:
            i, j = found
            column = f"column {j}" if names is None else f"column {names[j]!r}"
            value = float(block.X[i, j])
            what = "no value (NaN)" if np.isnan(value) else f"{value:.3g}"
            advice = "impute or drop it" if not np.isfinite(value) else "divide that column by a power of ten"
            raise DataError(f"There is {what} in {column}, {place(block, i)}; {advice}.")
        if classes is None:
            values = np.asarray(block.y, dtype=np.float64)
            worse = ~np.isfinite(values) | (np.abs(values) > LARGEST)
            if worse.any():
                i = int(np.argmax(worse))
                raise DataError(f"The target is {values[i]:g} in {place(block, i)}; drop that row.")
    raise SumsError("Sums over the rows overflow; divide the columns by powers of ten.")
