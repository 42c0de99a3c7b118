"""Two arrays, or memory maps of .npy files."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from copy import copy
from pathlib import Path
from typing import Any

import numpy as np

from dualgap.arrays import on_device
from dualgap.blocks.source import RowBlock, RowSource, SampledBlock, bundled, refuse_targets, rows_a_block
from dualgap.blocks.stacks import as_rows
from dualgap.device.arrivals import is_sparse, refuse_complex, to_host
from dualgap.errors import DataError


class ArrayRows(RowSource):
    """Rows that a slice gives; they are cast to 8-byte numbers block by block."""

    portable = False
    shift: Any = None  # an offset for each row

    def __init__(
        self, X: Any, y: Any, weight: Any = None, names: tuple[str, ...] | None = None, where: str = "X"
    ) -> None:
        if on_device(X) and is_sparse(X):
            X = to_host(X)
        if hasattr(X, "toarray"):
            X = as_rows(X)
        self.sparse = self.stored = hasattr(X, "indptr")
        y = to_host(y) if hasattr(y, "ndim") else np.asarray(y)
        if y.ndim == 2 and y.shape[1] == 1:
            y = y.reshape(-1)
        refuse_targets(y.shape[1] if y.ndim == 2 else 1, "y has")
        if X.ndim != 2:
            raise DataError(f"{where} has the shape {tuple(X.shape)}: it must have rows and columns.")
        if y.ndim != 1 or X.shape[0] != len(y):
            shapes = f"{where} has the shape {tuple(X.shape)}, y {tuple(y.shape)}"
            raise DataError(f"{shapes}: they must have the same rows.")
        n, p = X.shape
        if not n * p:
            raise DataError(f"{where} has {n} rows and {p} columns: there is nothing to fit.")
        refuse_complex(X, where)
        refuse_complex(y, "y")
        weight = None if weight is None else _of_each_row("weights", weight, len(y))
        self.X, self.y, self.weight, self.names, self.where = X, y, weight, names, where
        self.n, self.p = X.shape
        self._cut()

    @property
    def groups(self) -> Sequence[Any]:
        return self._groups

    @property
    def width(self) -> float:
        return self.X.nnz / max(len(self.y), 1) if self.sparse else float(self.p)

    def weighted(self) -> bool:
        return self.weight is not None

    def shifted(self) -> bool:
        return self.shift is not None

    def with_offset(self, offset: Any) -> RowSource:
        found = copy(self)
        found.shift = offsets_of(offset, len(self.y))
        return found

    def read(self, group: Any) -> Iterator[RowBlock]:
        for i, j in group:
            yield RowBlock(
                self._of_columns(slice(i, j)), to_host(self.y[i:j]), *self._of_rows(slice(i, j), i)
            )

    def _of_columns(self, rows: Any) -> Any:
        """X of some rows."""
        part = self.X[rows]
        if self.stored:
            return part if self.sparse else np.asfortranarray(part.toarray())
        return np.asfortranarray(to_host(part), dtype=np.float64)

    def with_zeros(self) -> RowSource:
        found = super().with_zeros()
        if isinstance(found, ArrayRows) and found is not self:
            found._cut()
        return found

    def _cut(self) -> None:
        """Pieces of rows as long as blocks."""
        n, step = len(self.y), rows_a_block(int(np.ceil(self.width)))
        pieces = [(i, min(i + step, n)) for i in range(0, n, step)]
        self._groups = [pieces[part] for part in bundled([b - a for a, b in pieces])]

    def _of_rows(self, rows: Any, first: int) -> tuple[Any, ...]:
        """Weights of some rows, their place and their offsets."""
        weight, shift = (
            None if one is None else np.asarray(one[rows], dtype=np.float64)
            for one in (self.weight, self.shift)
        )
        return weight, first, self.where, first, shift

    def labels(self) -> Iterator[Any]:
        return (to_host(self.y[i:j]) for group in self._groups for i, j in group)

    def sample(self, m: int, seed: int = 0) -> SampledBlock:
        assert self.n is not None
        rows = np.arange(self.n)
        if m < self.n:
            rows = np.sort(np.random.default_rng(seed).choice(self.n, m, replace=False))
        self.passes += len(rows) / self.n
        weight, *_, shift = self._of_rows(rows, 0)
        return SampledBlock(self._of_columns(rows), np.asarray(self.y[rows]), weight, self.n, shift)


class MappedArrays(ArrayRows):
    """Files of NumPy, opened anew by whoever reads them."""

    portable = True

    def __init__(self, X: str | Path, y: str | Path, weight: str | Path | None = None) -> None:
        self.files = [Path(one) for one in (X, y, weight) if one is not None]
        self.stamps = [_stamp(one) for one in self.files]
        maps = [_mapped(one) for one in self.files]
        super().__init__(maps[0], maps[1], maps[2] if weight is not None else None, None, str(X))

    def checked(self) -> None:
        for file, stamp in zip(self.files, self.stamps, strict=True):
            if _stamp(file) != stamp:
                raise DataError(f"{file} changed since it was opened; open the data set again.")

    def __getstate__(self) -> dict[str, Any]:
        return {"files": self.files, "stamps": self.stamps, "passes": self.passes, "shift": self.shift}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__init__(*state["files"])  # type: ignore[misc]
        self.__dict__.update(state)


def offsets_of(offset: Any, n: int) -> Any:
    """An offset for each row: an array, a file of one, or a number for all."""
    if isinstance(offset, str | Path):
        if not str(offset).endswith(".npy"):
            raise DataError(
                f"offset={str(offset)!r} names a column, and X has no names; give the numbers themselves."
            )
        offset = _mapped(Path(offset)).reshape(-1)
    return _of_each_row("offset", np.full(n, offset) if np.ndim(offset) == 0 else offset, n)


def _of_each_row(name: str, given: Any, n: int) -> Any:
    """A number for each row; memory maps stay such."""
    values = np.asanyarray(to_host(given))
    if values.shape != (n,):
        raise DataError(f"The {name} must be a number for each of {n} rows; the shape is {values.shape}.")
    if values.dtype.kind not in "biuf":
        raise DataError(f"The {name} must be numbers, one for each row; they are {values.dtype}.")
    return values


def _stamp(file: Path) -> tuple[int, int]:
    try:
        found = file.stat()
    except OSError as error:
        raise DataError(f"{file} cannot be read: {error.strerror or error}.") from None
    return found.st_size, found.st_mtime_ns


def _mapped(file: Path) -> Any:
    try:
        found = np.load(file, mmap_mode="r", allow_pickle=False)
    except (OSError, ValueError) as error:
        raise DataError(f"{file} cannot be read as an array: {str(error).rstrip('.')}.") from None
    if found.dtype.kind not in "biufUS":
        raise DataError(f"{file} holds {found.dtype}; numbers are needed.")
    return found
