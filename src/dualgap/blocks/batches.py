"""Record batches of Arrow, from files of Parquet or text, and from tables: columns of any kind, in pieces."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from dualgap.blocks.parquet import ParquetRows, _stamp
from dualgap.blocks.source import rows_a_block
from dualgap.errors import DataError, needed

NARROW = 64  # columns that a block of mixed columns is cut for: what they become is not known before
# what a later block of a text file is: the place of a column, and what that was taken to hold
UNFIT = re.compile(r"In CSV column #(\d+): .*conversion error to (\w+)")
WIDER = {"int64": "float64", "null": "float64"}  # what a column then holds; of others the value is told


class Batches:
    """Record batches of Arrow, in pieces that can be read apart."""

    pieces: list[Any]
    names: tuple[str, ...]
    rows: int | None = None

    def read(self, piece: Any) -> Iterator[tuple[Any, str, int]]:
        """Its batches, the file, and how many rows of that came before."""
        raise NotImplementedError

    def checked(self) -> None:
        """Raise DataError if files changed."""


class ParquetBatches(Batches):
    """The row groups of files of Parquet."""

    def __init__(self, files: Sequence[str], columns: list[str] | None) -> None:
        self.plain = ParquetRows(files, *_target_and_others(files, columns))
        self.names, self.rows = tuple(self.plain.wanted), self.plain.n
        self.pieces = self.plain.pieces

    def read(self, piece: Any) -> Iterator[tuple[Any, str, int]]:
        size = rows_a_block(NARROW)
        for batch, k, _, offset in self.plain._batches([piece], self.plain.wanted, size):
            yield batch, str(self.plain.files[k]), offset

    def checked(self) -> None:
        self.plain.checked()


def _target_and_others(files: Sequence[str], columns: list[str] | None) -> tuple[str, None, list[str]]:
    parquet = needed("pyarrow.parquet", "scale", "A file of Parquet")
    names = columns or parquet.ParquetFile(files[0]).schema_arrow.names
    return names[-1], None, list(names[:-1])


class CsvBatches(Batches):
    """Text files with commas, a file a piece; the first block says what each column holds."""

    def __init__(self, files: Sequence[str], columns: list[str] | None) -> None:
        self.files, self.columns = [Path(one) for one in files], columns
        self.stamps = [_stamp(one) for one in self.files]
        self.pieces = list(range(len(files)))
        self.types: dict[str, str] = {}  # of columns whose later rows are no such numbers as the first ones
        self.names = tuple(columns or self._opened(0).schema.names)
        for k in self.pieces[1:]:
            absent = [name for name in self.names if name not in self._opened(k).schema.names]
            if absent:
                raise DataError(f"{files[k]} has no column {absent[0]!r}, which {files[0]} has.")

    def _opened(self, k: int) -> Any:
        csv, arrow = (
            needed("pyarrow.csv", "scale", "Reading CSV in blocks"),
            needed("pyarrow", "scale", "CSV"),
        )
        types = {name: arrow.type_for_alias(kind) for name, kind in self.types.items()}
        chosen = csv.ConvertOptions(
            include_columns=self.columns or [], column_types=types, strings_can_be_null=True
        )
        try:
            return csv.open_csv(self.files[k], convert_options=chosen)
        except FileNotFoundError:
            raise DataError(f"There is no file {str(self.files[k])!r}.") from None
        except (arrow.ArrowException, OSError) as error:
            raise _unreadable(self.files[k], error) from None

    def read(self, piece: Any) -> Iterator[tuple[Any, str, int]]:
        arrow = needed("pyarrow", "scale", "CSV")
        known = before = 0  # rows that were handed out, and rows before those that come next
        while True:
            try:
                for batch in self._opened(piece):
                    new = batch.slice(max(known - before, 0))
                    before += batch.num_rows
                    if new.num_rows:
                        known = before
                        yield new.select(list(self.names)), str(self.files[piece]), before - new.num_rows
                return
            except arrow.ArrowException as error:
                self._widened(piece, error, before)
            before = 0

    def _widened(self, piece: Any, error: Exception, before: int) -> None:
        """Whole numbers in the first block of a file, or nothing at all, and numbers later: they are numbers.
        Words are told by their place.
        """
        found = UNFIT.search(str(error))
        if found is None:
            raise _unreadable(self.files[piece], error) from None
        name = self._header(piece)[int(found[1])]
        if found[2] in WIDER and self.types.get(name) is None:
            self.types[name] = WIDER[found[2]]
            return
        said = str(error).splitlines()[0].rsplit("invalid value ", 1)[-1].rstrip(".")
        kind = "numbers" if found[2] in (*WIDER, "double", "float64") else found[2]
        raise DataError(
            f"Column {name!r} of {self.files[piece]} holds {kind}, and {said} after row {before}; "
            "mend it, or leave the column out."
        ) from None

    def _header(self, piece: Any) -> list[str]:
        """All columns of a file."""
        csv = needed("pyarrow.csv", "scale", "CSV")
        names: list[str] = csv.open_csv(self.files[piece]).schema.names
        return names

    def checked(self) -> None:
        for file, stamp in zip(self.files, self.stamps, strict=True):
            if _stamp(file) != stamp:
                raise DataError(f"{file} changed since it was opened; open the data set again.")


def _unreadable(file: Path, error: Exception) -> DataError:
    return DataError(f"{file} cannot be read: {str(error).splitlines()[0].rstrip('.')}.")


class ArrowBatches(Batches):
    """A Table, or a Dataset of pyarrow by its fragments."""

    def __init__(self, rows: Any, columns: list[str] | None) -> None:
        self.table, self.columns = rows, columns
        self.names = tuple(columns or rows.schema.names)
        absent = [name for name in self.names if name not in rows.schema.names]
        if absent:
            raise DataError(f"The table has no column {absent[0]!r}.")
        if hasattr(rows, "get_fragments"):
            # the parts of a filtered one know nothing of the filter
            self.pieces = [rows] if filtered(rows) else list(rows.get_fragments())
            self.rows = rows.count_rows()
        else:
            step = rows_a_block(NARROW)
            self.pieces, self.rows = list(range(0, rows.num_rows, step)), rows.num_rows

    def read(self, piece: Any) -> Iterator[tuple[Any, str, int]]:
        size, before = rows_a_block(NARROW), 0
        if isinstance(piece, int):
            for batch in self.table.select(list(self.names)).slice(piece, size).combine_chunks().to_batches():
                yield batch, "the table", piece
            return
        more = {} if piece is self.table else {"schema": self.table.schema}
        for batch in piece.to_batches(columns=list(self.names), batch_size=size, **more):
            if batch.num_rows:
                yield batch, str(getattr(piece, "path", "the data set")), before
            before += batch.num_rows


def filtered(rows: Any) -> bool:
    """Does a Dataset leave out rows of its files?"""
    if not hasattr(rows, "get_fragments"):
        return False
    try:
        rows.get_fragments()
    except ValueError:
        return True
    return False
