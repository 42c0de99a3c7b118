"""Two arrays, or memory maps of .npy files."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from copy import copy
from pathlib import Path
from typing import Any

import numpy as np

from dualgap.blocks.source import RowBlock, RowSource, SampledBlock, bundled, rows_a_block
from dualgap.device.arrivals import to_host
from dualgap.errors import DataError


class ArrayRows(RowSource):
    """Rows that a slice gives; they are cast to 8-byte numbers block by block."""

    portable = False
    shift: Any = None  # an offset for each row

    def __init__(
        self, X: Any, y: Any, weight: Any = None, names: tuple[str, ...] | None = None, where: str = "X"
    ) -> None:
        if X.ndim != 2 or y.ndim != 1 or len(X) != len(y):
            raise DataError(f"{where} has the shape {X.shape}, y {y.shape}: they must have the same rows.")
        self.X, self.y, self.weight, self.names, self.where = X, y, weight, names, where
        self.n, self.p = X.shape
        step = rows_a_block(self.p)
        pieces = [(i, min(i + step, self.n)) for i in range(0, self.n, step)]
        self._groups = [pieces[part] for part in bundled([b - a for a, b in pieces])]

    @property
    def groups(self) -> Sequence[Any]:
        return self._groups

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
            X = np.asfortranarray(to_host(self.X[i:j]), dtype=np.float64)
            yield RowBlock(X, to_host(self.y[i:j]), *self._of_rows(slice(i, j), i))

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
        X = np.asfortranarray(self.X[rows], dtype=np.float64)
        return SampledBlock(X, np.asarray(self.y[rows]), weight, self.n, shift)


class MappedArrays(ArrayRows):
    """Files of NumPy, opened anew by whoever reads them."""

    portable = True

    def __init__(self, X: str | Path, y: str | Path, weight: str | Path | None = None) -> None:
        self.files = [Path(one) for one in (X, y, weight) if one is not None]
        self.stamps = [_stamp(one) for one in self.files]
        maps = [_mapped(one) for one in self.files]
        super().__init__(maps[0], maps[1].reshape(-1), maps[2] if weight is not None else None, None, str(X))

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
    values = np.full(n, offset) if np.ndim(offset) == 0 else offset
    if values.shape != (n,) or values.dtype.kind not in "biuf":
        raise DataError(f"The offset has the shape {values.shape}; it must be a number for each of {n} rows.")
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
