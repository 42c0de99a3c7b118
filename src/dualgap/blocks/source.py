"""What a source of rows must answer: blocks in a fixed order, a sample, and sums over all of them."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Sequence
from copy import copy
from dataclasses import dataclass, replace
from typing import Any, Protocol, Self

import numpy as np

from dualgap.arrays import Index, Matrix, Vector
from dualgap.blocks.stacks import stacked
from dualgap.errors import DataError

ROWS = 1 << 14  # of a block: with 50 columns 7 MB, which is still in the cache when it is used
CELLS = 1 << 21  # numbers of a block at most: wide rows come in shorter blocks
LEAST = 1 << 10  # rows of a block of very wide rows
UNIT = 1 << 20  # rows of a group at least where there are many: a task of a cluster costs some milliseconds
GROUPS = (16, 4096)  # groups of a source: few enough for a scheduler, enough for that many workers


@dataclass(frozen=True, eq=False)
class RowBlock:
    """Some rows. X may be overwritten once the next block has been asked for."""

    X: Any
    y: Any
    weight: Vector | None = None
    first: int = 0  # the number of the first row in the source
    where: str = ""  # the file
    offset: int = 0  # rows of that file before these
    shift: Vector | None = None  # what the prediction of each row is counted from

    def __len__(self) -> int:
        return len(self.y)

    def taken(self, rows: Any) -> RowBlock:
        """These rows alone, copied."""
        weight, shift = (None if one is None else one[rows] for one in (self.weight, self.shift))
        return replace(self, X=self.X[rows], y=self.y[rows], weight=weight, shift=shift)


class Partial(Protocol):
    """What a function finds in a block, and can be added to what it found in others."""

    def plus(self, other: Self) -> Self:
        """Of both, in this order."""


@dataclass(frozen=True, eq=False)
class SampledBlock:
    """Some of the rows: their number among all that were looked at says how many each stands for."""

    X: Matrix
    y: Any
    weight: Vector | None
    seen: int
    shift: Vector | None = None

    def __len__(self) -> int:
        return len(self.y)


class RowSource(ABC):
    """Rows in blocks, read again in every scan. `n` is None until somebody has counted them."""

    names: tuple[str, ...] | None = None
    p: int
    n: int | None = None
    portable = True  # can a worker on another machine read it?
    sparse = False  # do blocks come as sparse matrices?
    filled = False  # or with the zeros of such?
    passes: float = 0.0  # how much has been read, in units of all rows
    offset_name: str | None = None  # what an offset is made of: log(exposure),
    offset_column: str | None = None  # and the column in it

    @property
    @abstractmethod
    def groups(self) -> Sequence[Any]:
        """Lots of rows in order, the same in every scan and on every number of workers."""

    @abstractmethod
    def read(self, group: Any) -> Iterator[RowBlock]:
        """The blocks of a group."""

    def with_zeros(self) -> RowSource:
        """The same rows in dense blocks."""
        if not self.sparse:
            return self
        found = copy(self)
        found.sparse, found.filled = False, True
        return found

    @property
    def width(self) -> float:
        """Numbers of a row."""
        return float(self.p)

    def weighted(self) -> bool:
        """Does a row have a weight of its own?"""
        return False

    def shifted(self) -> bool:
        """Has a row an offset?"""
        return False

    def with_offset(self, offset: Any) -> RowSource:
        """The same rows, each counted from an offset: a column or numbers."""
        raise DataError(
            "These rows take no offset; give it with them: blocks (X, y, weights or None, offset) of a "
            "function."
        )

    def checked(self) -> None:  # noqa: B027 - most sources are not files
        """Raise DataError if the files are no longer those that were opened."""

    def reduced(self, function: Callable[..., Any], *arrays: Any, watch: Any = None) -> Any:
        """Σ of function(block, *arrays) in the order of the blocks, group by group."""
        self.checked()
        from dualgap.blocks.clusters import active_client, mapped  # it is a source too

        client = active_client()
        if client is not None and self.portable and len(self.groups) > 1:
            self.passes += 1.0
            return mapped(client, self, function, arrays, watch)
        total = None
        for k, group in enumerate(self.groups):
            part = summed(self, group, function, arrays, watch)
            if part is not None:
                total = part if total is None else total.plus(part)
            if watch is not None:
                watch.done((k + 1) / len(self.groups))
        self.passes += 1.0
        return total

    def detached(self) -> RowSource:
        """What a worker needs of it to read a group."""
        return self

    def blocks(self) -> Iterator[RowBlock]:
        """All blocks in order."""
        self.checked()
        for group in self.groups:
            yield from self.read(group)
        self.passes += 1.0

    def labels(self) -> Iterator[Any]:
        """The targets of all blocks; cheaper than the rows where columns are stored apart."""
        return (block.y for block in self.blocks())

    def sample(self, m: int, seed: int = 0) -> SampledBlock:
        """About m rows from all over; here by a scan in which every row draws a number."""
        rng = np.random.default_rng(seed)
        kept: list[tuple[Vector, RowBlock]] = []
        n, held = 0, 0
        for block in self.blocks():
            n += len(block)
            key = rng.random(len(block))
            if held > 4 * m:
                limit = np.partition(np.concatenate([k for k, _ in kept]), m)[m]
                kept = [(k[k <= limit], b.taken(k <= limit)) for k, b in kept]
                held = sum(len(k) for k, _ in kept)
            share = np.flatnonzero(key <= min(1.0, 4.0 * m / max(n, 1)))  # a block may have no rows
            kept.append((key[share], block.taken(share)))
            held += len(share)
        if not n:
            raise DataError("There are no rows.")
        self.n = n
        keys = np.concatenate([k for k, _ in kept])
        order = np.sort(np.argsort(keys, kind="stable")[:m])
        return _joined([b for _, b in kept], order, n)


def summed(
    source: RowSource, group: Any, function: Callable[..., Any], arrays: tuple[Any, ...], watch: Any = None
) -> Any:
    """Over the blocks of one group."""
    total = None
    for block in ahead(source.read(group)):
        part = function(block, *arrays)
        total = part if total is None else total.plus(part)
        if watch is not None:
            watch.read(block)
    return total


def ahead(blocks: Iterator[RowBlock]) -> Iterator[RowBlock]:
    """The blocks, the next one made by a thread while one is used, where there are cores for both."""
    from dualgap.blocks.read_ahead import read_ahead

    return read_ahead(blocks)


def rows_a_block(p: int) -> int:
    """How many rows of so many columns make a block."""
    return min(ROWS, max(LEAST, CELLS // max(p, 1)))


def bundled(lengths: Sequence[int]) -> list[slice]:
    """Neighbouring pieces of these lengths put together to groups, by nothing but the lengths."""
    n, (few, many) = sum(lengths), GROUPS
    count = min(max(n // UNIT, few), many, max(len(lengths), 1))
    edges: list[slice] = []
    before = start = 0
    for k, length in enumerate(lengths):
        before += length
        if before * count >= n * (len(edges) + 1) and k + 1 > start:
            edges.append(slice(start, k + 1))
            start = k + 1
    if start < len(lengths):
        edges.append(slice(start, len(lengths)))
    return edges


def _joined(blocks: list[RowBlock], order: Index, seen: int) -> SampledBlock:
    """The rows whose numbers rise in `order`; a block is let go once its rows are copied."""
    y = np.concatenate([np.asarray(b.y) for b in blocks])[order]
    if hasattr(blocks[0].X, "indptr"):
        weight, shift = (
            _together(one, order) for one in ([b.weight for b in blocks], [b.shift for b in blocks])
        )
        return SampledBlock(stacked([b.X for b in blocks])[order], y, weight, seen, shift)
    weight, shift = (_together(one, order) for one in ([b.weight for b in blocks], [b.shift for b in blocks]))
    X, stop, last = np.empty((len(order), blocks[0].X.shape[1]), order="F"), sum(map(len, blocks)), len(order)
    while blocks:
        block = blocks.pop()
        start = stop - len(block)
        first = int(np.searchsorted(order, start))
        own = order[first:last] - start
        X[first:last] = block.X if len(own) == len(block) else np.asarray(block.X)[own]
        stop, last = start, first
    return SampledBlock(X, y, weight, seen, shift)


def _together(parts: list[Vector | None], order: Index) -> Vector | None:
    given = [one for one in parts if one is not None]
    return np.concatenate(given)[order] if given else None


def sampled(blocks: Iterator[RowBlock], m: int, rows: int, seed: int) -> SampledBlock:
    """About m of these blocks' `rows` rows, each drawn for itself."""
    rng = np.random.default_rng(seed)
    share = min(1.0, m / max(rows, 1))
    kept = []
    for block in blocks:
        keep = np.ones(len(block), dtype=bool) if share == 1.0 else rng.random(len(block)) < share
        kept.append(block.taken(keep))
    return joined(kept, rows)


def joined(blocks: list[RowBlock], seen: int) -> SampledBlock:
    """All rows of some blocks, drawn from so many."""
    return _joined(blocks, np.arange(sum(map(len, blocks))), seen)


def refuse_targets(count: int, what: str) -> None:
    """Several targets, where blocks have room for one."""
    if count > 1:
        raise DataError(
            f"{what} {count} targets, and rows in blocks have one: fit them one by one, or rows in memory by "
            "dg.fit."
        )
