"""A function that returns a fresh iterator of (X, y), (X, y, weights) or (X, y, weights, offset)."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any

import numpy as np

from dualgap.blocks.source import RowBlock, RowSource, refuse_targets
from dualgap.blocks.stacks import as_rows
from dualgap.device.arrivals import refuse_complex
from dualgap.errors import DataError

LARGEST = 1 << 27  # numbers of a block with its zeros, 1 GiB


def _filled(X: Any, k: int) -> Any:
    cells = int(X.shape[0]) * int(X.shape[1])
    if cells > LARGEST:
        raise DataError(
            f"Block {k} is sparse, and this penalty needs it with its zeros: these take "
            f"{8 * cells / 2**30:.1f} GiB; give blocks of fewer rows."
        )
    return np.asfortranarray(X.toarray())


def _numbers(X: Any, k: int) -> Any:
    """A copy, for theirs may be overwritten."""
    try:
        found = np.array(X, dtype=np.float64, order="F")
    except (TypeError, ValueError) as error:
        raise DataError(f"X of block {k} holds what is no number: {str(error).rstrip('.')}.") from None
    if found.ndim != 2:
        raise DataError(f"X of block {k} has the shape {found.shape}: it must have rows and columns.")
    return found


class Chunks(RowSource):
    """Blocks as they come; their number and lengths must be the same in every scan."""

    portable = False

    def __init__(self, make: Callable[[], Iterable[Any]]) -> None:
        self.make = make
        first = next(self._raw(), None)
        if first is None:
            raise DataError("The function gave no blocks; it must give a fresh iterator at each call.")
        self._least = len(first)  # rows that it gives
        self.p, self._weighted = first.X.shape[1], first.weight is not None
        self._shifted, self.sparse = first.shift is not None, hasattr(first.X, "indptr")
        self._width = first.X.nnz / max(len(first), 1) if self.sparse else float(self.p)

    @property
    def groups(self) -> Sequence[Any]:
        return (0,)

    @property
    def width(self) -> float:
        return self._width if self.sparse else float(self.p)

    def weighted(self) -> bool:
        return self._weighted

    def shifted(self) -> bool:
        return self._shifted

    def read(self, group: Any) -> Iterator[RowBlock]:
        rows = 0
        for block in self._raw():
            rows += len(block)
            yield block
        if rows < self._least or (self.n is not None and rows != self.n):
            raise DataError(
                f"The function gave {self.n or self._least} rows before, {rows} now; they must be the same: "
                "it must give a fresh iterator at each call."
            )
        self.n = rows

    def _raw(self) -> Iterator[RowBlock]:
        rows = 0
        made: Any = self.make()
        if not isinstance(made, Iterable):
            raise DataError(
                f"The function gave {type(made).__name__}; it must give a fresh iterator of blocks at each "
                "call."
            )
        for k, found in enumerate(made):
            parts = tuple(found) if isinstance(found, tuple | list) else ()
            if len(parts) not in (2, 3, 4):
                raise DataError(
                    f"Block {k} is no pair (X, y), no (X, y, weights) and no (X, y, weights, offset)."
                )
            for part, what in zip(parts, ("X", "y", "weights", "offset"), strict=False):
                refuse_complex(part, f"{what} of block {k}")
            if hasattr(parts[0], "toarray"):
                X = as_rows(parts[0])
                X = _filled(X, k) if self.filled and hasattr(X, "indptr") else X
            else:
                X = _numbers(parts[0], k)
            y = np.array(parts[1])
            refuse_targets(y.shape[1] if y.ndim == 2 else 1, f"y of block {k} has")
            y = y.reshape(-1)
            weight, shift = (
                None if one is None else np.asarray(one, dtype=np.float64).reshape(-1)
                for one in (*parts[2:], None, None)[:2]
            )
            columns, weighed = getattr(self, "p", X.shape[-1]), getattr(self, "_weighted", weight is not None)
            if weighed != (weight is not None):
                had = "has no" if weight is None else "has"
                raise DataError(f"Block {k} {had} weights, unlike the first; all blocks have them, or none.")
            lengths = {len(one) for one in (weight, shift) if one is not None}
            if X.ndim != 2 or X.shape != (len(y), columns) or lengths - {len(y)}:
                raise DataError(
                    f"Block {k} has X of shape {X.shape} and {len(y)} targets; {columns} columns came first."
                )
            yield RowBlock(X, y, weight, rows, f"block {k}", 0, shift)
            rows += len(y)
