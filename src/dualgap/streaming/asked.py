"""What is asked of rows that are elsewhere: the statement, and how their targets become numbers."""

from __future__ import annotations

import threading
from collections.abc import Callable
from dataclasses import dataclass, fields
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from dualgap.arrays import Index, Matrix, Vector
from dualgap.blocks.source import RowBlock
from dualgap.errors import DataError
from dualgap.losses import Loss
from dualgap.losses.shifted import paired
from dualgap.proof.blocks import StreamStatement, Weighed
from dualgap.proof.check import Checked
from dualgap.proof.statement import SMALL

LARGEST = 1e100  # of a number of the rows: squares of sums of squares stay finite
MOST_POWER = 700.0  # e^709 is the largest power that is a number
MOSTLY = 0.5  # of a gap: where rounding is that much of it, a scan in twice the digits is worth it
MOST_CLASSES = 1000  # a choice: a target with more values is no class


@dataclass(frozen=True, eq=False)
class Targets:
    """Targets as the loss sees them: numbers, or ±1 with one class as +1; of some folds the rows left in."""

    classes: NDArray[Any] | None = None
    positive: int = 1
    folds: int = 1
    without: int | None = None  # rows of this fold do not count
    loss: Loss | None = None  # where targets are numbers: the one that must take them
    jointly: bool = False  # are class numbers wanted?

    def of(self, block: RowBlock) -> tuple[Any, Any, Vector | None, Index]:
        """X, targets, weights and numbers of the rows of a block that count.

        Where rows have an offset, their targets are pairs of a target and that, as `Shifted` losses see them.
        """
        if self.classes is None:
            y = as_numbers(block)
        else:
            which = numbered(block.y, self.classes, block)
            y = which.astype(np.float64) if self.jointly else np.where(which == self.positive, 1.0, -1.0)
        X, weight, shift = block.X, block.weight, block.shift
        numbers = np.arange(block.first, block.first + len(y))
        keep = None
        if weight is not None:
            _refuse_weights(weight, block)
            keep = weight > 0.0
        if self.without is not None:
            inside = fold_of(block, self.folds) != self.without
            keep = inside if keep is None else keep & inside
        if keep is not None and not keep.all():
            X, y, numbers = X[keep], y[keep], numbers[keep]
            weight, shift = (None if one is None else one[keep] for one in (weight, shift))
        if self.classes is None and self.loss is not None:
            refuse_targets(self.loss, y, numbers - block.first, block)
        if shift is not None:
            refuse_offsets(self.loss, shift, numbers - block.first, block)
            y = paired(y, shift)
        return X, y, weight, numbers


_SCRATCH = threading.local()


def scratch(n: int, columns: int) -> Matrix:
    """Room for a block, the same at every call of a thread: fresh memory costs a third of a Gram matrix."""
    held = getattr(_SCRATCH, "held", None)
    if held is None or held.shape[0] < n or held.shape[1] != columns:
        held = _SCRATCH.held = np.empty((n, columns), order="F")
    return np.asarray(held[:n])


RUN = 64  # rows that share a fold: neighbours are alike in sorted files, and copies of runs are fast


def fold_of(block: RowBlock, folds: int) -> Any:
    """The number of the fold of every row, by its place in the source alone."""
    return (np.arange(block.first, block.first + len(block)) // RUN) % folds


def as_numbers(block: RowBlock) -> Vector:
    """Targets of a regression."""
    try:
        if block.y.dtype.kind in "USMmO" and block.y.dtype.kind != "O":
            raise TypeError
        return np.asarray(block.y, dtype=np.float64)
    except (TypeError, ValueError):
        raise DataError(
            f"The target holds {block.y.dtype} in {block.where}, but a regression loss needs numbers; "
            "use a classification loss (hinge, logistic, …) for labels."
        ) from None


def numbered(y: Any, classes: NDArray[Any], block: RowBlock) -> NDArray[np.intp]:
    """The number of each row's class."""
    if len(classes) == 2:
        second = y == classes[1]
        if np.all(second | (y == classes[0])):
            return np.asarray(second, dtype=np.intp)
    try:
        which = np.minimum(np.searchsorted(classes, y), len(classes) - 1)
        strange = classes[which] != y
    except TypeError:  # of kinds that no order is known of
        known = set(classes.tolist())
        which, strange = np.zeros(len(y), dtype=np.intp), np.array([one not in known for one in y.tolist()])
    if np.any(strange):
        i = int(np.argmax(strange))
        label = y[i].item() if hasattr(y[i], "item") else y[i]
        missing = label is None or label != label
        what = "no label" if missing else f"the label {label!r}, which the classes do not have,"
        raise DataError(f"The target has {what} in {place(block, i)}.")
    return np.asarray(which, dtype=np.intp)


def countable(seen: Weighed) -> bool:
    """Are all numbers of the rows such that sums of their squares are numbers, too?"""
    return seen.finite and float(seen.tops.max(initial=0.0)) <= LARGEST


def place(block: RowBlock, i: int) -> str:
    """Row i of a block as a person would find it."""
    return f"row {block.offset + i + 1} of {block.where or 'the rows'}"


def refuse_targets(loss: Loss, y: Vector, rows: Index, block: RowBlock) -> None:
    """DataError with the place of the first target that the loss does not take."""
    beyond = (y < loss.lowest) | (y > loss.highest)
    if beyond.any():
        i = int(np.argmax(beyond))
        where = place(block, int(rows[i]))
        raise DataError(f"The {loss.name} loss needs {loss.needs}; the target is {y[i]:g} in {where}.")


def refuse_offsets(loss: Loss | None, shift: Vector, rows: Index, block: RowBlock) -> None:
    """DataError with the place of the first offset that is no number, or whose power is none."""
    bad = ~(np.abs(shift) <= LARGEST)
    if bad.any():
        i = int(np.argmax(bad))
        why = " (the logarithm of an exposure of 0 is none: drop such rows)" if not shift[i] > 0.0 else ""
        where = place(block, int(rows[i]))
        raise DataError(f"The offset is {shift[i]} in {where}; offsets must be finite numbers{why}.")
    steep = np.abs(shift) > MOST_POWER
    if loss is not None and loss.link == "log" and steep.any():
        i = int(np.argmax(steep))
        raise DataError(
            f"The offset is {shift[i]:g} in {place(block, int(rows[i]))}, and e to that power is no number; "
            f"with the {loss} loss an offset is the logarithm of the exposure: name it as log(exposure)."
        )


def _refuse_weights(weight: Vector, block: RowBlock) -> None:
    bad = ~(np.isfinite(weight) & (weight >= 0.0))
    if bad.any():
        i = int(np.argmax(bad))
        raise DataError(
            f"The weight is {weight[i]} in {place(block, i)}; weights are finite and not negative."
        )


@dataclass(frozen=True, eq=False)
class SmallProblem:
    """An ordinary problem with the same regulariser: rows, targets, weights; `loss` None: the squared one."""

    X: Matrix
    y: Vector
    weight: Vector | None
    plain: bool  # squared loss without an intercept, whatever the problem's own
    tolerance: float
    start: Vector | None = None
    rough: bool = False  # a sample's: whatever comes of it will be mended by scans


@dataclass(frozen=True, eq=False)
class SmallAnswer:
    """Weights, an intercept last where the small problem has one, and its dual point."""

    w: Vector
    theta: Vector
    objective: float


Solve = Callable[[SmallProblem], SmallAnswer]


class InOneGroup(StreamStatement):
    """The same problem, its rows weighed in one group.

    That is enough where no slopes are to be balanced against free columns: two groups for each of 51 free
    columns took half as long again as all else of a scan.
    """

    @classmethod
    def of(cls, problem: StreamStatement) -> InOneGroup:
        """That of a problem."""
        return cls(**{one.name: getattr(problem, one.name) for one in fields(problem)})

    @property
    def tied(self) -> Index:
        return np.empty(0, dtype=np.intp)


class SlopeRule(Protocol):
    """θ as a formula: the slope u of each row, θ = −a·u."""

    def slopes(self, X: Any, y: Vector, numbers: Index) -> Vector:
        """Of some rows; their numbers rise."""


@dataclass(frozen=True, eq=False)
class ScanTask:
    """One problem on the rows: its statement, its targets, and who solves small problems."""

    statement: StreamStatement
    targets: Targets
    solve: Solve
    tolerance: float
    terms: Any = None  # what the statement was made of, for whoever tells the answer

    @property
    def p(self) -> int:
        """Columns without the intercept."""
        return self.statement.columns

    def blurred(self, found: Checked, null: float) -> bool:
        """Is it rounding, more than anything else, that keeps a gap above the tolerance?"""
        scale = max(found.primal, SMALL * null)
        return found.gap > self.tolerance * scale and found.rounding > MOSTLY * found.gap

    def scores(self, X: Any, w: Vector) -> Vector:
        """Xw + b."""
        return np.asarray(X @ w[:-1] + w[-1] if self.statement.intercept else X @ w)
