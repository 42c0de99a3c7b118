"""Dask: arrays, frames, and any source under an active client. A group of blocks is a task, sums come back.

Groups depend on the rows alone and their sums are added in their order, so that the number of workers
changes no bit. A worker that is lost loses its tasks, which the scheduler gives to others: they read their
blocks again.
"""

from __future__ import annotations

import pickle
import sys
from collections.abc import Callable, Iterator, Sequence
from functools import cache
from typing import Any

import numpy as np

from dualgap.blocks.addresses import kept
from dualgap.blocks.arrays import offsets_of
from dualgap.blocks.offsets import column_of, values_of_offset
from dualgap.blocks.source import RowBlock, RowSource, SampledBlock, bundled, joined, rows_a_block
from dualgap.errors import DataError, needed

FETCHED = 4, 16, 8  # sums that are fetched from workers at a time: at least, at most, and this share of all
SENT = 1 << 20  # bytes that go with all tasks of a scan; more is held by a worker, from which others fetch it
SPREAD = 8  # chunks that a sample is drawn from, at least


def active_client() -> Any:
    """The client of dask.distributed that is in use, if there is one."""
    distributed = sys.modules.get("distributed")  # who has none has not imported it
    if distributed is None:
        return None
    try:
        return distributed.get_client()
    except ValueError:
        return None


def mapped(
    client: Any, source: RowSource, function: Callable[..., Any], arrays: tuple[Any, ...], watch: Any
) -> Any:
    """Σ over all groups, a task each; added in their order."""
    groups = list(source.groups)
    held = _packed(client, (source.detached(), arrays), len(groups))
    tasks = client.map(_task, [held] * len(groups), groups, [function] * len(groups), pure=False, retries=3)
    return _added(client, tasks, watch)


def _added(client: Any, tasks: list[Any], watch: Any) -> Any:
    """Σ of what tasks give, in their order; some are fetched at a time: each fetch is a word exchanged."""
    total, step = None, max(FETCHED[0], min(FETCHED[1], len(tasks) // FETCHED[2]))
    direct = _beside(client)
    try:
        for start in range(0, len(tasks), step):
            lot = tasks[start : start + step]
            for part in client.gather(lot, direct=direct):
                if part is not None:
                    total = part if total is None else total.plus(part)
            for task in lot:
                task.release()
            if watch is not None:
                watch.done((start + len(lot)) / len(tasks))
    except BaseException:
        client.cancel(tasks)
        raise
    return total


def _beside(client: Any) -> bool | None:
    """Are the workers on this machine? Results then need not go through the scheduler, which takes four times
    as long; elsewhere it is for the client to say whether the workers can be reached.
    """
    workers = client.scheduler_info().get("workers", {})
    near = ("tcp://127.0.0.1:", "tcp://[::1]:", "tls://127.0.0.1:", "tls://[::1]:", "inproc://")
    return True if workers and all(str(one).startswith(near) for one in workers) else None


def _packed(client: Any, what: Any, tasks: int) -> Any:
    """What every task is to know: bytes that go with each, or where there are many a task that has them."""
    serial: Any = sys.modules["distributed"].protocol.pickle  # who has a client has imported it
    found = serial.dumps(what)
    return found if len(found) * tasks <= SENT else client.submit(_held, found, pure=False)


def _held(what: Any) -> Any:
    """A task that can be made again: what is scattered is lost with the worker that has it."""
    return what


def _task(held: bytes, group: Any, function: Callable[..., Any]) -> Any:
    """What a worker does."""
    source, arrays = pickle.loads(held)
    return _summed(source.read(group), function, arrays)


def _summed(blocks: Iterator[RowBlock], function: Callable[..., Any], arrays: tuple[Any, ...]) -> Any:
    """Σ over blocks. A task has one core for its products, and reads nothing ahead: with a thread for that,
    two workers on two cores took a tenth longer.
    """
    total = None
    with _libraries().limit(limits=1), kept():
        for block in blocks:
            part = function(block, *arrays)
            total = part if total is None else total.plus(part)
    return total


@cache
def _libraries() -> Any:
    """Those that use threads: to look for them takes some milliseconds."""
    from threadpoolctl import ThreadpoolController

    return ThreadpoolController()


class DaskRows(RowSource):
    """Row chunks of a Dask array or frame; they are computed anew in every scan unless they are persisted."""

    def __init__(self, X: Any, y: Any, weight: Any, names: tuple[str, ...] | None, shift: Any = None) -> None:
        self.given = X, y, weight
        self.names, self._weighted, self._shifted = names, weight is not None, shift is not None
        parts = [one.to_delayed() for one in (X, y, weight, shift) if one is not None]
        columns = [list(np.asarray(part, dtype=object).ravel()) for part in parts]
        if len({len(column) for column in columns}) != 1:
            raise DataError("X, y, weights and offset of Dask must be cut into the same chunks of rows.")
        self.pieces = list(zip(*columns, strict=True))
        self.p = int(X.shape[1])
        lengths: list[Any] = list(X.chunks[0]) if hasattr(X, "chunks") else [float("nan")]
        if any(length != length for length in lengths):
            lengths = self._lengths()
        self.lengths = [int(length) for length in lengths]
        self.n = sum(self.lengths)
        edges = np.concatenate([[0], np.cumsum(self.lengths)])
        numbered = [(k, int(edges[k])) for k in range(len(self.pieces))]
        self._groups = [numbered[part] for part in bundled(self.lengths)]

    def _lengths(self) -> list[int]:
        dask = needed("dask", "scale", "A Dask collection")
        return list(dask.compute(*[dask.delayed(len)(piece[1]) for piece in self.pieces]))

    @property
    def groups(self) -> Sequence[Any]:
        return self._groups

    def weighted(self) -> bool:
        return self._weighted

    def shifted(self) -> bool:
        return self._shifted

    def with_offset(self, offset: Any) -> RowSource:
        X, y, weight = self.given
        names, text, column = self.names, None, None
        if isinstance(offset, str):
            if names is None:
                raise DataError(
                    f"offset={offset!r} names a column, and X has no names; give the numbers themselves."
                )
            text, column = offset, column_of(offset, names, "X")
            offset, kept = X[column], [name for name in names if name != column]
            X, names = X[kept], tuple(kept)
        elif not hasattr(offset, "to_delayed"):
            array = needed("dask.array", "scale", "A Dask collection")
            offset = array.from_array(offsets_of(offset, self.n or 0), chunks=(tuple(self.lengths),))
        found = DaskRows(X, y, weight, names, offset)
        found.offset_name, found.offset_column, found.passes = text, column, self.passes
        return found

    @property
    def extras(self) -> tuple[bool, str | None, str | None]:
        """What a chunk holds beside X and y: are there weights, and what makes offsets."""
        return self._weighted, self.offset_name, self.offset_column

    def read(self, group: Any) -> Iterator[RowBlock]:
        dask = needed("dask", "scale", "A Dask collection")
        for k, first in group:
            parts = dask.compute(*self.pieces[k], scheduler="synchronous")
            yield from _cut(parts, k, first, self.extras)

    def reduced(self, function: Callable[..., Any], *arrays: Any, watch: Any = None) -> Any:
        client = active_client()
        if client is None:
            return super().reduced(function, *arrays, watch=watch)
        self.passes += 1.0
        dask = needed("dask", "scale", "A Dask collection")
        held = _packed(client, arrays, len(self._groups))
        work = dask.delayed(_chunk_sum, pure=False)
        sums = [
            work([list(self.pieces[k]) for k, _ in group], list(group), self.extras, function, held)
            for group in self._groups
        ]
        return _added(client, client.compute(sums, retries=3), watch)

    def sample(self, m: int, seed: int = 0) -> SampledBlock:
        assert self.n is not None
        rng, count = np.random.default_rng(seed), len(self.pieces)
        take = min(count, max(SPREAD, int(np.ceil(2.0 * m * count / self.n))))
        chosen = sorted(rng.choice(count, take, replace=False).tolist())
        rows = sum(self.lengths[k] for k in chosen)
        self.passes += rows / self.n
        share = min(1.0, m / max(rows, 1))
        edges = np.cumsum([0, *self.lengths])
        wanted = [(self.pieces[k], k, int(edges[k]), self.extras, share, seed) for k in chosen]
        return joined(list(self._computed(_drawn, wanted)), rows)

    def labels(self) -> Iterator[Any]:
        """The targets alone: rows stay where they are."""
        assert self.n is not None
        self.passes += 1.0 / (self.p + 1)
        return self._computed(_labels, [(piece[1],) for piece in self.pieces])

    def _computed(self, function: Callable[..., Any], given: Sequence[tuple[Any, ...]]) -> Iterator[Any]:
        """What a function makes of chunks, where they are, in their order; what goes back is small."""
        dask, client = needed("dask", "scale", "A Dask collection"), active_client()
        work = [dask.delayed(function, pure=False)(*_listed(one)) for one in given]
        if client is None:
            yield from (dask.compute(one, scheduler="synchronous")[0] for one in work)
            return
        tasks, direct = client.compute(work), _beside(client)
        for start in range(0, len(tasks), FETCHED[1]):
            yield from client.gather(tasks[start : start + FETCHED[1]], direct=direct)

    def blocks(self) -> Iterator[RowBlock]:
        self.passes += 1.0
        return self._gathered(range(len(self.pieces)))

    def _gathered(self, chosen: Any) -> Iterator[RowBlock]:
        """Chunks one by one, from wherever they are."""
        dask, client, edges = (
            needed("dask", "scale", "A Dask collection"),
            active_client(),
            np.cumsum(self.lengths),
        )
        for k in chosen:
            first = int(edges[k]) - self.lengths[k]
            if client is None:
                parts = dask.compute(*self.pieces[k], scheduler="synchronous")
            else:
                parts = client.gather(client.compute(list(self.pieces[k])))
            yield from _cut(parts, k, first, self.extras)


Extras = tuple[bool, str | None, str | None]


def _cut(parts: Sequence[Any], k: int, first: int, extras: Extras) -> Iterator[RowBlock]:
    """A chunk as blocks in memory of their own: sums then have the same bits anywhere."""
    arrays = _arrays(parts, extras)
    step = rows_a_block(arrays[0].shape[1])
    for i in range(0, len(arrays[1]), step):
        yield _taken(arrays, slice(i, i + step), k, first + i, i)


def _arrays(parts: Sequence[Any], extras: Extras) -> tuple[Any, Any, Any, Any]:
    """X, y, weights and offsets of a chunk, where it has them."""
    X, y, *rest = (_array(part) for part in parts)
    weighted, text, column = extras
    weights = rest.pop(0) if weighted else None
    shifts = rest.pop(0) if rest else None
    if shifts is not None and text is not None:
        shifts = values_of_offset(text, str(column), shifts)
    return X, y, weights, shifts


def _array(part: Any) -> Any:
    """A chunk as an array; what is missing in a frame of numbers is NaN."""
    if hasattr(part, "dtypes") and hasattr(part, "columns"):
        return part.to_numpy(dtype=np.float64, na_value=np.nan)
    if hasattr(part, "toarray"):
        return part.toarray()
    return part.to_numpy() if hasattr(part, "to_numpy") else np.asarray(part)


def _taken(arrays: tuple[Any, Any, Any, Any], rows: Any, k: int, first: int, offset: int) -> RowBlock:
    """Some rows of a chunk, copied."""
    X, y, *rest = arrays
    weight, shift = (
        None if one is None else np.array(one[rows], dtype=np.float64).reshape(-1) for one in rest
    )
    block, target = np.array(X[rows], dtype=np.float64, order="F"), np.array(y[rows]).reshape(-1)
    return RowBlock(block, target, weight, first, f"chunk {k}", offset, shift)


def _listed(given: tuple[Any, ...]) -> tuple[Any, ...]:
    """Parts of a chunk in lists, in which Dask looks for what is still to be computed."""
    return tuple(list(one) if isinstance(one, tuple) else one for one in given)


def _drawn(parts: Sequence[Any], k: int, first: int, extras: Extras, share: float, seed: int) -> RowBlock:
    """Some rows of a chunk, each drawn for itself."""
    arrays = _arrays(parts, extras)
    chosen = np.random.default_rng((seed, k)).random(len(arrays[1])) < share
    return _taken(arrays, slice(None) if share == 1.0 else np.flatnonzero(chosen), k, first, 0)


def _labels(part: Any) -> Any:
    """The targets of a chunk as an array, each once where they can be sorted."""
    found = np.array(part.to_numpy() if hasattr(part, "to_numpy") else part).reshape(-1)
    return found if found.dtype.kind == "O" else np.unique(found)


def _chunk_sum(chunks: Any, places: Any, extras: Extras, function: Callable[..., Any], held: bytes) -> Any:
    """What a worker does with the chunks of one group."""
    pairs = zip(chunks, places, strict=True)
    blocks = (block for parts, (k, first) in pairs for block in _cut(parts, k, first, extras))
    return _summed(blocks, function, pickle.loads(held))


def _refuse_absent(names: Sequence[str], *asked: Any) -> None:
    """DataError for a column that a frame does not have."""
    for name in asked:
        if isinstance(name, str) and name not in names:
            shown = ", ".join(repr(one) for one in names[:12])
            raise DataError(f"The Dask frame has no column {name!r}. It has {shown}.")


def _refuse_words(X: Any) -> None:
    """DataError for a frame in which not all columns are numbers."""
    for name, kind in zip(X.columns, X.dtypes, strict=True):
        if getattr(kind, "kind", "O") not in "biuf" or str(kind) == "category":
            raise DataError(
                f"Column {str(name)!r} of the Dask frame holds {kind}, and numbers are needed: encode it, or "
                "write the frame as Parquet, of which dg.dataset makes columns of words and dates, too."
            )


def _alike(X: Any, given: Any, what: str) -> Any:
    """Numbers of the rows as a collection, cut as the rows are."""
    if given is None:
        return None
    if not hasattr(given, "to_delayed"):
        if not hasattr(X, "chunks"):
            raise DataError(f"Beside a Dask frame {what} must be a Dask series, or the name of a column.")
        array = needed("dask.array", "scale", "A Dask collection")
        given = array.from_array(np.asarray(given), chunks=-1)
    counts = [one.shape[0] for one in (X, given)]
    if all(isinstance(one, int | np.integer) for one in counts) and counts[0] != counts[1]:
        raise DataError(f"X has {counts[0]} rows, {what} {counts[1]}: they must have the same.")
    if hasattr(given, "rechunk") and hasattr(X, "chunks") and given.chunks[0] != X.chunks[0]:
        return given.rechunk((X.chunks[0],))
    return given


def dask_rows(X: Any, y: Any, weight: Any, target: str | None, columns: Any) -> DaskRows:
    """An array with a vector, or a frame whose target is named or beside it."""
    if hasattr(X, "columns"):
        names = [str(name) for name in X.columns]
        _refuse_absent(names, target, weight)
        if target is not None:
            y = X[target]
            names = [name for name in names if name not in (target, weight)]
            weight = X[weight] if isinstance(weight, str) else weight
        X = X[list(columns) if columns is not None else names]
        names = [str(name) for name in X.columns]
        _refuse_words(X)
    else:
        names = None
        if X.ndim != 2:
            raise DataError(f"X must have two dimensions, not {X.ndim}.")
        X = X if X.numblocks[1] == 1 else X.rechunk({1: -1})
    if y is None:
        raise DataError("A Dask collection needs its target beside it: dg.fit(X, y, ...).")
    y, weight = _alike(X, y, "y"), _alike(X, weight, "the weights")
    return DaskRows(X, y, weight, None if names is None else tuple(names))
