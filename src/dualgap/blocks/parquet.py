"""Files of Parquet with one schema, read by row groups into buffers that are used again."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from copy import copy
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np

from dualgap.blocks.offsets import column_of, values_of_offset
from dualgap.blocks.source import RowBlock, RowSource, SampledBlock, bundled, rows_a_block, sampled
from dualgap.errors import DataError, needed

BUFFERS = 4  # one in use, one in waiting, one being made, and one that a slow reader still holds
DECODED = 4  # blocks that are decoded at a time: a seventh faster than one by one
HEADS = 8  # rows read for each of a sample: where row groups are longer, their heads are enough
SPREAD = 8  # row groups that a sample is drawn from, at least: files may be sorted
PLAIN = {f"{kind}{size}": f"{kind}{size}" for kind in ("int", "uint") for size in (8, 16, 32, 64)} | {
    "float": "float32",
    "double": "float64",
}  # types of Arrow that lie in memory as NumPy's do


class ParquetRows(RowSource):
    """Columns of numbers, and the target of any kind. Row groups are the pieces."""

    def __init__(
        self, files: Sequence[str | Path], target: str, weights: str | None, columns: Sequence[str] | None
    ) -> None:
        self.files = [Path(one) for one in files]
        self.target, self.weights = target, weights
        heads = [_head(one) for one in self.files]
        first = heads[0].schema_arrow.names
        self.taken = columns is None  # are its columns those that the first file has?
        names = (
            [name for name in first if name not in (target, weights)] if columns is None else list(columns)
        )
        if not names:
            raise DataError(f"{self.files[0]} has no column to predict from beside {target!r}.")
        self.names, self.p = tuple(names), len(names)
        for file, head in zip(self.files, heads, strict=True):
            held = head.schema_arrow.names
            missing = [name for name in self.wanted if name not in held]
            if missing:
                raise DataError(f"{file} has no column {missing[0]!r}, which {_whose(self, missing[0])}.")
            twice = [name for name in self.wanted if held.count(name) > 1]
            if twice:
                raise DataError(f"{file} has two columns named {twice[0]!r}; rename one.")
        self.stamps = [_stamp(one) for one in self.files]
        pieces, before = [], 0
        for k, head in enumerate(heads):
            inside = 0
            for g in range(head.num_row_groups):
                rows = head.metadata.row_group(g).num_rows
                if rows:
                    pieces.append((k, g, before, inside, rows))
                before, inside = before + rows, inside + rows
        if not pieces:
            raise DataError(f"{self.files[0]} has no rows.")
        self.n = before
        self.pieces = pieces
        self._groups = [pieces[part] for part in bundled([piece[-1] for piece in pieces])]

    @property
    def wanted(self) -> list[str]:
        """The columns that are read."""
        assert self.names is not None
        more = [one for one in (self.target, self.weights, self.offset_column) if one]
        return list(dict.fromkeys([*self.names, *more]))

    @property
    def groups(self) -> Sequence[Any]:
        return self._groups

    def shifted(self) -> bool:
        return self.offset_name is not None

    def with_offset(self, offset: Any) -> RowSource:
        found = copy(self)
        for file in self.files:
            column = column_of(offset, _head(file).schema_arrow.names, str(file))
        found.offset_name, found.offset_column = offset, column
        found.names = tuple(name for name in self.names or () if name != column)
        found.p = len(found.names)
        if not found.p:
            raise DataError(f"{self.files[0]} has no column to predict from beside the offset {column!r}.")
        return found

    def weighted(self) -> bool:
        return self.weights is not None

    def checked(self) -> None:
        for file, stamp in zip(self.files, self.stamps, strict=True):
            if _stamp(file) != stamp:
                raise DataError(f"{file} changed since it was opened; open the data set again.")

    def read(self, group: Any) -> Iterator[RowBlock]:
        size = rows_a_block(self.p)
        pool = [np.empty((size, self.p), order="F") for _ in range(BUFFERS)]
        batches = self._batches(group, self.wanted, DECODED * size)
        place = {name: j for j, name in enumerate(self.wanted)}
        for turn, (batch, k, first, offset) in enumerate(_cut(batches, size)):
            X = pool[turn % BUFFERS][: batch.num_rows]
            for j in range(self.p):
                _fill(X[:, j], batch.column(j), self, k, j)
            weight, shift = (
                None if name is None else self._column(batch, k, place[name])
                for name in (self.weights, self.offset_column)
            )
            if shift is not None:
                shift = values_of_offset(str(self.offset_name), str(self.offset_column), shift)
            y = _target(batch.column(place[self.target]))
            yield RowBlock(X, y, weight, first, str(self.files[k]), offset, shift)

    def _column(self, batch: Any, k: int, j: int) -> Any:
        """One column of its own."""
        values = np.empty(batch.num_rows)
        _fill(values, batch.column(j), self, k, j)
        return values

    def labels(self) -> Iterator[Any]:
        self.passes += 1.0 / (self.p + 1)
        for batch, *_ in self._batches(self.pieces, [self.target], 1 << 20):
            yield _target(batch.column(0))

    def sample(self, m: int, seed: int = 0) -> SampledBlock:
        assert self.n is not None
        rng = np.random.default_rng(seed)
        usual = float(np.median([piece[-1] for piece in self.pieces]))
        count = min(len(self.pieces), max(SPREAD, int(np.ceil(2.0 * m / usual))))
        edges = np.linspace(0, len(self.pieces), count + 1).astype(int)
        drawn = sorted({int(rng.integers(a, max(a + 1, b))) for a, b in pairwise(edges)})
        chosen = [self.pieces[k] for k in drawn]
        most = int(np.ceil(HEADS * m / len(chosen)))
        chosen = [(*piece[:-1], min(piece[-1], most)) for piece in chosen]
        rows = sum(piece[-1] for piece in chosen)
        self.passes += rows / self.n
        return sampled(self.read(chosen), m, rows, seed)

    def _batches(self, group: Any, columns: list[str], size: int) -> Iterator[tuple[Any, int, int, int]]:
        last = -1
        handle: Any = None
        for k, wanted, first, offset, rows in _runs(group):
            if k != last:
                handle, last = _head(self.files[k]), k
                if _stamp(self.files[k]) != self.stamps[k]:
                    raise DataError(f"{self.files[k]} changed since it was opened; open the data set again.")
            done = 0
            try:
                for batch in handle.iter_batches(size, row_groups=wanted, columns=columns, use_threads=False):
                    # columns come in the order of the file; of a row group its head may be all that is wanted
                    yield batch.select(columns).slice(0, rows - done), k, first + done, offset + done
                    done += batch.num_rows
                    if done >= rows:
                        break
            except OSError as error:
                said = str(error).splitlines()[0].rstrip(".")
                raise DataError(
                    f"{self.files[k]} cannot be read after row {offset + done}: {said}."
                ) from None
            if done < rows:
                raise DataError(f"{self.files[k]} has {done} rows, where it says {rows}, after row {offset}.")


def _runs(pieces: Any) -> Iterator[tuple[int, list[int], int, int, int]]:
    """Row groups that follow each other in a file, to be read in one go: file, groups, first row, rows before
    it in the file, rows.
    """
    run: tuple[int, list[int], int, int, int] | None = None
    for k, g, first, offset, rows in pieces:
        if run is not None and run[0] == k and run[3] + run[4] == offset:
            run = (k, [*run[1], g], run[2], run[3], run[4] + rows)
            continue
        if run is not None:
            yield run
        run = (k, [g], first, offset, rows)
    if run is not None:
        yield run


def _cut(batches: Iterator[tuple[Any, int, int, int]], size: int) -> Iterator[tuple[Any, int, int, int]]:
    """The same rows in batches of the size of a block."""
    for batch, k, first, offset in batches:
        for i in range(0, batch.num_rows, size):
            yield batch.slice(i, size), k, first + i, offset + i


def _whose(source: ParquetRows, name: str) -> str:
    if name == source.target:
        return "is the target"
    if name == source.weights:
        return "holds the weights"
    return f"{source.files[0]} has" if source.taken else "was asked for"


def _fill(out: Any, column: Any, source: ParquetRows, k: int, j: int) -> None:
    """A column of numbers as 8-byte ones; the cast is this copy. A missing one is NaN."""
    try:
        values = _values(column)
        if values.dtype.kind not in "biuf":
            values = values.astype(np.float64) if values.dtype.kind == "O" else None
        out[:] = values
    except (TypeError, ValueError):
        raise DataError(
            f"Column {source.wanted[j]!r} of {source.files[k]} holds {column.type}, where numbers are needed."
        ) from None


def _target(column: Any) -> Any:
    if hasattr(column, "dictionary_decode"):
        column = column.dictionary_decode()
    return _values(column)


def _values(column: Any) -> Any:
    """A column as an array: numbers without gaps where they lie. Arrow's own way there imports pandas, which
    takes as long as reading three million numbers of each of 50 columns.
    """
    kind = PLAIN.get(str(column.type))
    if kind is None or column.null_count or not len(column):
        return column.to_numpy(zero_copy_only=False)
    width = np.dtype(kind).itemsize
    return np.frombuffer(column.buffers()[1], kind, len(column), column.offset * width)


def _head(file: Path) -> Any:
    parquet = needed("pyarrow.parquet", "scale", "A file of Parquet")
    try:
        # else Arrow holds all row groups that are read in one go, packed: 180 MB of 10⁶ × 50
        return parquet.ParquetFile(file, pre_buffer=False)
    except FileNotFoundError:
        raise DataError(f"There is no file {str(file)!r}.") from None
    except (OSError, ValueError) as error:
        said = str(error).splitlines()[0].rstrip(".")
        raise DataError(f"{file} cannot be read as Parquet: {said}.") from None


def _stamp(file: Path) -> tuple[int, int]:
    try:
        found = file.stat()
    except OSError as error:
        raise DataError(f"{file} cannot be read: {error.strerror or error}.") from None
    return found.st_size, found.st_mtime_ns
