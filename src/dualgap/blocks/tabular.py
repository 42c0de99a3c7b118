"""Files and Arrow tables with columns of any kind: numbers as they are, the others by a recipe."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from copy import copy
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from dualgap.blocks.batches import ArrowBatches, Batches, CsvBatches, ParquetBatches, filtered
from dualgap.blocks.offsets import column_of, values_of_offset
from dualgap.blocks.parquet import ParquetRows, _head
from dualgap.blocks.source import (
    RowBlock,
    RowSource,
    SampledBlock,
    bundled,
    refuse_targets,
    sampled,
)
from dualgap.errors import DataError, needed
from dualgap.tables.columns import Dates, Numbers, RawTable
from dualgap.tables.formula import FormulaRecipe
from dualgap.tables.frames import from_frame
from dualgap.tables.gathered import GatheredTable
from dualgap.tables.learn import Wishes
from dualgap.tables.offsets import offset_of
from dualgap.tables.prepare import values_of
from dualgap.tables.recipe import Encoded, Recipe, Rule

SPREAD = 8  # pieces that a sample is drawn from, at least


class TabularRows(RowSource):
    """Batches, each made into numbers by the recipe; rows without a target are left out."""

    def __init__(self, batches: Batches, recipe: Recipe, weights: str | None) -> None:
        self.batches, self.recipe, self.weights = batches, recipe, weights
        self.names, self.p = recipe.names, len(recipe.names)
        self.pieces = list(enumerate(batches.pieces))
        self._groups = [self.pieces[part] for part in bundled([1] * len(self.pieces))]

    @property
    def groups(self) -> Sequence[Any]:
        return self._groups

    def weighted(self) -> bool:
        return self.weights is not None

    def shifted(self) -> bool:
        return self.offset_name is not None

    def with_offset(self, offset: Any) -> RowSource:
        found = copy(self)
        column = column_of(offset, self.batches.names, "the rows")
        found.offset_name, found.offset_column = offset, column
        rules = tuple(rule for rule in self.recipe.rules if rule.name != column)
        found.recipe = replace(self.recipe, rules=rules)
        found.names, found.p = found.recipe.names, len(found.recipe.names)
        return found

    def checked(self) -> None:
        self.batches.checked()

    def read(self, group: Any) -> Iterator[RowBlock]:
        for number, piece in group:
            first = number << 32  # rows of other pieces have other numbers, however long they are
            for batch, where, offset in self.batches.read(piece):
                block = self._encoded(batch, where, first, offset)
                first += batch.num_rows
                if len(block):
                    yield block

    def _encoded(self, batch: Any, where: str, first: int, offset: int) -> RowBlock:
        raw = _raw(batch, _called(where, offset))
        target = raw.column(self.recipe.target)
        if isinstance(target, Dates):
            raise DataError(f"The target {self.recipe.target!r} holds dates; predict a number or a class.")
        used = ~target.missing
        encoded = self.recipe.encode(raw.take(used))
        rows = np.flatnonzero(used)[encoded.rows]
        weight, shift = (
            None if name is None else self._numbers(raw, name, what)[rows]
            for name, what in ((self.weights, "weights"), (self.offset_column, "offset"))
        )
        if shift is not None:
            shift = values_of_offset(str(self.offset_name), str(self.offset_column), shift)
        mask = np.zeros(raw.n, dtype=bool)
        mask[rows] = True
        y = values_of(target.take(mask)) if len(rows) else np.empty(0)
        return RowBlock(np.asarray(encoded.matrix), y, weight, first, where, offset, shift)

    @staticmethod
    def _numbers(raw: RawTable, name: str, what: str) -> Any:
        column = raw.column(name)
        if not isinstance(column, Numbers):
            raise DataError(f"The column {name!r} is to hold the {what}, but not numbers are in it.")
        return column.values

    def sample(self, m: int, seed: int = 0) -> SampledBlock:
        rows = self.batches.rows
        if rows is None or len(self.pieces) < SPREAD or m >= rows:
            return super().sample(m, seed)
        rng, count = np.random.default_rng(seed), min(len(self.pieces), max(SPREAD, len(self.pieces) // 4))
        chosen = sorted(rng.choice(len(self.pieces), count, replace=False).tolist())
        held = max(1, rows * count // len(self.pieces))
        self.passes += count / len(self.pieces)
        return sampled(self.read([self.pieces[k] for k in chosen]), m, held, seed)


def opened(
    files: Sequence[str], target: str, weights: str | None, columns: Any, drop: Sequence[str], missing: str
) -> tuple[RowSource, Recipe, tuple[str, ...]]:
    """Files of one kind: fast where all columns are numbers, by a recipe learnt in one scan where not."""
    chosen = None if columns is None else [*columns, target, *([weights] if weights else [])]
    if _are_csv(files):
        return _learnt(CsvBatches(files, chosen), target, weights, drop, missing, columns is None)
    if columns is None:
        _refuse_drops(_head(Path(files[0])).schema_arrow.names, drop)
    if _only_numbers(files, target, weights, columns, drop):
        named = columns
        if drop and columns is None:
            skip = {target, weights, *drop}
            named = [name for name in _head(Path(files[0])).schema_arrow.names if name not in skip]
        found = ParquetRows(files, target, weights, named)
        rules = tuple(Rule(name, "number") for name in found.names or ())
        left_out = tuple((name, "as asked") for name in drop)
        return found, Recipe(rules, "refuse", target, False, left_out), ()
    return _learnt(ParquetBatches(files, chosen), target, weights, drop, missing)


def _only_numbers(
    files: Sequence[str], target: str, weights: str | None, columns: Any, drop: Sequence[str]
) -> bool:
    """Are all columns numbers without gaps, as far as the files' own heads say?"""
    schema = _head(Path(files[0])).schema_arrow
    if target not in schema.names:
        shown = ", ".join(repr(name) for name in schema.names[:12])
        raise DataError(f"{files[0]} has no column {target!r}. It has {shown}.")
    types = needed("pyarrow", "scale", "A file of Parquet").types
    wanted = set(schema.names if columns is None else columns) - {target, weights, *drop}
    for field in schema:
        numbers = (types.is_integer, types.is_floating, types.is_boolean, types.is_decimal)
        if field.name in wanted and not any(are(field.type) for are in numbers):
            return False
    return not any(_has_gaps(_head(Path(file)), wanted) for file in files)


def _has_gaps(head: Any, wanted: set[str]) -> bool:
    """Does a file say that a value of these columns is missing?"""
    meta = head.metadata
    for j in range(meta.num_columns):
        if meta.schema.column(j).path not in wanted:
            continue
        for g in range(meta.num_row_groups):
            found = meta.row_group(g).column(j).statistics
            if found is not None and found.has_null_count and found.null_count:
                return True
    return False


def _refuse_drops(names: Sequence[str], drop: Sequence[str]) -> None:
    """DataError for a name to be left out that is not there."""
    absent = [name for name in drop if name not in names]
    if absent:
        shown = ", ".join(repr(name) for name in list(names)[:12])
        raise DataError(f"There is no column {absent[0]!r} to leave out. There are {shown}.")


def _learnt(
    batches: Batches, target: str, weights: str | None, drop: Sequence[str], missing: str, whole: bool = False
) -> tuple[RowSource, Recipe, tuple[str, ...]]:
    if target not in batches.names:
        several = [name.strip() for name in target.split(",")]
        refuse_targets(len(several) if set(several) <= set(batches.names) else 1, "target= names")
        shown = ", ".join(repr(name) for name in batches.names[:12])
        raise DataError(f"There is no column {target!r}. There are {shown}.")
    if whole:
        _refuse_drops(batches.names, drop)
    gathered = GatheredTable(Wishes(target, missing, tuple(drop)), weights)
    for piece in batches.pieces:
        for batch, where, offset in batches.read(piece):
            gathered.see(_raw(batch, _called(where, offset)))
    recipe, notes = gathered.recipe()
    found = TabularRows(batches, recipe, weights)
    found.passes += 1.0
    return found, recipe, notes


def _raw(batch: Any, name: str) -> RawTable:
    """A batch as a table; decimals are numbers, and lists are no column."""
    arrow = needed("pyarrow", "scale", "Arrow")
    for j, field in enumerate(batch.schema):
        if arrow.types.is_nested(field.type):
            raise DataError(
                f"Column {field.name!r} of {name} holds {field.type}, which is no number, word or date; "
                "leave it out."
            )
        if arrow.types.is_decimal(field.type):
            batch = batch.set_column(j, field.name, batch.column(j).cast(arrow.float64()))
    return from_frame(batch.to_pandas(), name)


def _called(where: str, offset: int) -> str:
    """A block by its file and its place, for sentences that count rows within it."""
    return f"the rows of {where} after row {offset}" if offset else where


def encoded_blocks(
    files: Sequence[str], recipe: Recipe | FormulaRecipe, unseen: str, offset: str | None = None
) -> Iterator[tuple[Encoded, Any]]:
    """Rows under a recipe, block by block, in the order of the files, and the offset of those that are used;
    they need no target.
    """
    wanted, csv = list(dict.fromkeys(rule.name for rule in recipe.inputs)), _are_csv(files)
    column = None
    if offset is not None:
        names = CsvBatches(files[:1], None).names if csv else _head(Path(files[0])).schema_arrow.names
        column = column_of(offset, names, files[0])
        wanted = list(dict.fromkeys([*wanted, column]))
    batches = CsvBatches(files, wanted) if csv else ParquetBatches(files, wanted)
    for piece in batches.pieces:
        for batch, where, before in batches.read(piece):
            raw = _raw(batch, _called(where, before))
            encoded = recipe.encode(raw, unseen)
            yield encoded, None if offset is None else offset_of(raw, offset, encoded.rows)


def followed(
    files: Sequence[str], recipe: Recipe, weights: str | None, offset: str | None = None
) -> RowSource:
    """Files under a recipe; those that hold nothing but numbers are read as such."""
    wanted, csv = list(dict.fromkeys(rule.name for rule in recipe.rules)), _are_csv(files)
    more = [weights] if weights else []
    if offset is not None:
        names = CsvBatches(files[:1], None).names if csv else _head(Path(files[0])).schema_arrow.names
        more.append(column_of(offset, names, files[0]))
    chosen = list(dict.fromkeys([*wanted, *more]))
    plain = all(rule.kind == "number" and not rule.part and rule.fill is None for rule in recipe.rules)
    found: RowSource
    if not csv and plain and _only_numbers(files, recipe.target, weights, wanted, ()):
        found = ParquetRows(files, recipe.target, weights, wanted)
    else:
        batches = CsvBatches if csv else ParquetBatches
        found = TabularRows(batches(files, [*chosen, recipe.target]), recipe, weights)
    return found if offset is None else found.with_offset(offset)


def _are_csv(files: Sequence[str]) -> bool:
    kinds = {str(one).lower().endswith((".csv", ".csv.gz", ".txt")) for one in files}
    if len(kinds) > 1:
        raise DataError("The files are partly CSV, partly Parquet; give files of one kind.")
    return kinds.pop()


def of_arrow(
    rows: Any, target: str, weights: str | None, columns: Any, drop: Sequence[str], missing: str
) -> tuple[RowSource, Recipe, tuple[str, ...]]:
    """A Table or a Dataset of pyarrow; one of Parquet files is read as such."""
    chosen = None if columns is None else [*columns, target, *([weights] if weights else [])]
    files = None if filtered(rows) else getattr(rows, "files", None)
    if (
        files
        and all(str(one).endswith((".parquet", ".pq")) for one in files)
        and set(rows.schema.names) == set(_head(Path(files[0])).schema_arrow.names)  # none is in the folders
    ):
        return opened(files, target, weights, columns, drop, missing)
    return _learnt(ArrowBatches(rows, chosen), target, weights, drop, missing)
