"""Sparse X on a device: its rows and its columns, each as lines of numbers that follow one another.

Products with X gather along rows, those with Xᵀ along columns, which are a copy; nothing is scattered.
Lines of thousands of numbers are cut into pieces, whose sums are added up after: so no line keeps a device
waiting, and a term is rounded a thousand times at most, in whatever order the library adds.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import scipy.sparse as sp

from dualgap.arrays import Vector
from dualgap.device.arrivals import as_tensor, free_bytes, refuse_sparse, stays
from dualgap.device.matrix import BIG, FEW, LEAST, LOT, TILE, DeviceMatrix, Met, gamma
from dualgap.errors import DataError

PIECE = 1024  # numbers of a line that are added up in one go
DENSE = 2.0**34  # bytes: what rows with their zeros may take, of a sample and near the kinks
SAMPLED, NEAR = 1000, 0.3  # rows for each column of these, at most, and a share of all, with room to work
COPIES = 3.0  # sizes of X beside it while columns are put together; one of them stays


@dataclass(frozen=True, eq=False)
class LineSums:
    """`start` says where each line begins among numbers and their places; sums of pieces, and of these."""

    start: Any
    place: Any
    value: Any
    width: int
    torch: Any

    @property
    def count(self) -> int:
        """How many lines there are."""
        return len(self.start) - 1

    @cached_property
    def cut(self) -> tuple[Any, Any, int]:
        """Where pieces begin, what adds them up (None where each line is one), and roundings of a term."""
        torch = self.torch
        lengths = self.start.diff()
        longest = int(lengths.max()) if self.count else 0
        if longest <= PIECE:
            return self.start, None, longest + 2
        pieces = (lengths + (PIECE - 1)) // PIECE
        ends = pieces.cumsum(0)
        total = int(ends[-1])
        within = torch.arange(total, device=pieces.device) - (ends - pieces).repeat_interleave(pieces)
        begins = self.start[:-1].repeat_interleave(pieces) + PIECE * within
        begins = torch.cat([begins, self.start[-1:]]).to(self.place.dtype)
        of_lines = torch.cat([ends[:1] * 0, ends]).to(self.place.dtype)
        ones = torch.ones(total, dtype=torch.float64, device=pieces.device)
        numbers = torch.arange(total, device=pieces.device).to(self.place.dtype)
        adding = _csr(torch, of_lines, numbers, ones, (self.count, total))
        return begins, adding, PIECE + -(-longest // PIECE) + 2

    def body(self, value: Any) -> Any:
        """The pieces with these numbers, as the library's matrix."""
        begins = self.cut[0]
        return _csr(self.torch, begins.to(self.place.dtype), self.place, value, (len(begins) - 1, self.width))

    @cached_property
    def held(self) -> Any:
        """With their own."""
        return self.body(self.value)

    def times(self, table: Any, value: Any = None) -> Any:
        """The sum along each line of its numbers (or of `value` in their place) times the table's rows."""
        found = (self.held if value is None else self.body(value)) @ table
        adding = self.cut[1]
        return found if adding is None else adding @ found

    def chosen(self, lines: Any) -> tuple[Any, Any, Any]:
        """Of some lines: how long they are, and their places and numbers, one after the other."""
        torch = self.torch
        first = self.start[lines].to(torch.int64)
        lengths = self.start[lines + 1].to(torch.int64) - first
        ends = lengths.cumsum(0)
        total = int(ends[-1]) if len(ends) else 0
        at = torch.arange(total, device=self.place.device)
        at = at + (first - ends + lengths).repeat_interleave(lengths)
        return lengths, self.place[at], self.value[at]

    def turned(self) -> LineSums:
        """Lines of the other direction."""
        torch, most = self.torch, self.place.dtype
        owner = torch.arange(self.count, device=self.place.device, dtype=most)
        owner = owner.repeat_interleave(self.start.diff())
        place, order = torch.sort(self.place, stable=True)
        bounds = torch.arange(self.width + 1, device=place.device, dtype=most)
        start = torch.searchsorted(place, bounds).to(most)
        del place
        return LineSums(start, owner[order], self.value[order], self.count, torch)

    def repeats(self) -> bool:
        """Is a place there twice in a line whose places rise?"""
        same = self.place[1:] == self.place[:-1]
        if not bool(same.any()):
            return False
        begins = self.start[1:-1]  # the first of a line may be as the last before it
        same[begins[(begins > 0) & (begins < len(self.place))].to(self.torch.int64) - 1] = False
        return bool(same.any())


def _csr(torch: Any, start: Any, place: Any, value: Any, shape: tuple[int, int]) -> Any:
    with warnings.catch_warnings():  # torch says that its sparse arrays are young
        warnings.simplefilter("ignore")
        return torch.sparse_csr_tensor(start, place, value, shape, check_invariants=False)


class SparseMatrix(DeviceMatrix):
    """Sparse rows on a device, in 8-byte numbers."""

    sparse = True

    def __init__(self, rows: LineSums, *, part: bool = False) -> None:
        self.torch, self.X, self.place = rows.torch, rows.value, rows.value.device
        self.n, self.p = rows.count, rows.width
        self._known: dict[bytes, Any] = {}
        self.lines, self.part = rows, part  # of a part no columns are put together

    @property
    def stored(self) -> int:
        return len(self.lines.value)

    @property
    def sweeps(self) -> bool:
        return False

    @cached_property
    def turned(self) -> LineSums:
        """The columns as lines, no place stored twice: or the largest |x| might be that of a sum."""
        refuse_sparse(self.place, self.size, COPIES)
        found = self.lines.turned()
        if found.repeats():
            torch, lines = self.torch, self.lines
            owner = torch.arange(self.n, device=self.place).repeat_interleave(lines.start.diff())
            where = torch.stack([owner, lines.place.to(torch.int64)])
            whole = torch.sparse_coo_tensor(where, lines.value, (self.n, self.p)).coalesce()
            self.lines = lines_of(torch, whole.to_sparse_csr())
            found = self.lines.turned()
        return found

    @property
    def size(self) -> float:
        """Bytes of X."""
        lines = self.lines
        return float(sum(one.numel() * one.element_size() for one in (lines.start, lines.place, lines.value)))

    @property
    def roomy(self) -> bool:
        rows = min(float(self.n), SAMPLED * self.p) + NEAR * self.n
        return 8.0 * self.p * rows <= min(DENSE, 0.5 * free_bytes(self.place))

    @cached_property
    def tops(self) -> Vector:
        """The largest |x| of each column; no number where one of X is none."""
        if not bool(self.torch.isfinite(self.lines.value).all()):
            return np.full(self.p, np.nan)
        size = self.turned.value.abs()
        found = self.torch.zeros(self.p, dtype=self.torch.float64, device=self.place)
        owner = self.torch.arange(self.p, device=self.place).repeat_interleave(self.turned.start.diff())
        return np.asarray(self.host(found.scatter_reduce_(0, owner, size, "amax")))

    def swept(
        self,
        w: Vector,
        formula: Any,
        arrays: Sequence[Any],
        numbers: Sequence[float],
        *,
        parted: bool = False,
    ) -> Met | None:
        return None

    def _missed(self, w: Vector) -> float:
        roundings = self.lines.cut[2]
        size = float(self.tops @ np.abs(w)) * (1.0 + gamma(self.p))
        return float((gamma(roundings) * size + self.p * LEAST) * (1.0 + FEW))

    def products(self, W: Any) -> Any:
        return self.product(W.T.contiguous()).T

    def product(self, w: Any) -> Any:
        return self.lines.times(w)

    def _against(self, table: Any) -> tuple[Any, int]:
        """θX; of some rows alone no columns are put together."""
        if self.part:
            torch, lengths = self.torch, self.lines.start.diff()
            found = torch.zeros((len(table), self.p), dtype=torch.float64, device=self.place)
            tilted = table.repeat_interleave(lengths, dim=1) * self.lines.value
            return found.index_add_(1, self.lines.place, tilted), self.n + 2
        return self.turned.times(table.T.contiguous()).T, self.turned.cut[2]

    def squares(self, h: Any) -> Any:
        return self.turned.times(h[:, None], self.turned.value**2)[:, 0]

    def parts(self, most: int = LOT) -> Iterator[tuple[int, int, Any]]:
        """Rows with their zeros, some at a time."""
        most = LOT if most == BIG else most
        step = max(TILE, most // (8 * max(self.p, 1)) // TILE * TILE)
        for i in range(0, self.n, step):
            j = min(i + step, self.n)
            yield i, j, self.gathered(self.torch.arange(i, j, device=self.place))

    def gathered(self, rows: Any) -> Any:
        torch = self.torch
        rows = torch.arange(self.n, device=self.place) if rows is None else rows
        lengths, place, value = self.lines.chosen(rows)
        found = torch.zeros((len(rows), self.p), dtype=torch.float64, device=self.place)
        owner = torch.arange(len(rows), device=self.place).repeat_interleave(lengths)
        # two numbers at one place are one, their sum
        return found.view(-1).index_add_(0, owner * self.p + place, value).view(len(rows), self.p)

    def columns(self, which: Any) -> SparseMatrix:
        """Some columns, as sparse as they are."""
        lengths, place, value = self.turned.chosen(self.index(which))
        zero, ends = lengths[:0].new_zeros(1), lengths.cumsum(0)
        start = self.torch.cat([zero, ends]).to(place.dtype)
        turned = LineSums(start, place, value, self.n, self.torch)
        found = SparseMatrix(turned.turned())
        found.__dict__["turned"] = turned
        return found

    def cells(self, run: slice, j: int) -> Any:
        first, last = (int(one) for one in self.turned.start[int(j) : int(j) + 2])
        found = self.torch.zeros(self.n, dtype=self.torch.float64, device=self.place)
        found[self.turned.place[first:last].to(self.torch.int64)] = self.turned.value[first:last]
        return found[run]

    def taken(self, run: slice) -> SparseMatrix:
        start = self.lines.start[run.start : run.stop + 1]
        first, last = int(start[0]), int(start[-1])
        lines, own = self.lines, slice(first, last)
        some = LineSums(start - start[0], lines.place[own], lines.value[own], self.p, self.torch)
        return SparseMatrix(some, part=True)

    def block(self, i: int, j: int) -> Any:
        """Rows as the host's, sparse."""
        start = self.host(self.lines.start[i : j + 1])
        own = slice(int(start[0]), int(start[-1]))
        value, place = self.host(self.lines.value[own]), self.host(self.lines.place[own])
        return sp.csr_array((value, place, start - start[0]), shape=(j - i, self.p))

    def scales(self, weight: Any, *, centred: bool) -> Vector:
        torch, turned = self.torch, self.turned
        s = torch.ones(self.n, dtype=torch.float64, device=self.place) if weight is None else weight
        heavy, there = float(s.sum()), turned.times(s[:, None], turned.value * 0.0 + 1.0)[:, 0]
        mean = self.pulled(s[:, None])[:, 0] / heavy if centred else 0.0 * there
        away = turned.value - mean.repeat_interleave(turned.start.diff())
        square = turned.times(s[:, None], away * away)[:, 0] + (heavy - there) * mean * mean
        most = self.here(self.tops) ** 2
        return np.asarray(self.host(torch.where(square > 1e-24 * heavy * most, (square / heavy).sqrt(), 1.0)))

    def sample_spread(self) -> Vector:
        return self.scales(None, centred=True)

    def rough_gram(self, A: Any, h: Any) -> Any:
        if not isinstance(A, SparseMatrix):
            return super().rough_gram(A, h)
        total = self.torch.zeros((A.p, A.p), dtype=self.torch.float64, device=self.place)
        for i, j, part in A.parts():
            total += super().rough_gram(part, h[i:j])
        return total

    def product_of(self, A: Any, w: Vector) -> Any:
        return A.product(self.here(w)) if isinstance(A, SparseMatrix) else super().product_of(A, w)

    def pulled_from(self, A: Any, u: Any) -> Any:
        return A.pulled(u[:, None])[:, 0] if isinstance(A, SparseMatrix) else super().pulled_from(A, u)


def lines_of(torch: Any, X: Any) -> LineSums:
    """Those of the library's sparse matrix by rows, indices as short as they can be."""
    value = X.values().detach().to(torch.float64)
    n, p = (int(one) for one in X.shape)
    short = torch.int32 if max(n, p, len(value)) < 2**31 - 1 else torch.int64
    start, place = X.crow_indices().to(short), X.col_indices().to(short)
    whole = len(start) == n + 1 and int(start[0]) == 0 and int(start[-1]) == len(value) == len(place)
    whole = whole and bool((start.diff() >= 0).all())
    if whole and len(place):
        low, high = torch.aminmax(place)
        whole = int(low) >= 0 and int(high) < p
    if not whole:
        raise DataError("X is no sparse matrix: its indices do not fit its shape.")
    return LineSums(start, place, value, p, torch)


def sparse_held(torch: Any, X: Any, place: Any = None) -> SparseMatrix:
    """A sparse array of torch, CuPy or SciPy as rows on a device."""
    if type(X).__module__.split(".", 1)[0] != "torch":
        X = X.tocsr()
        parts = [as_tensor(one) for one in (X.indptr, X.indices, X.data)]
        X = _csr(torch, parts[0], parts[1].to(parts[0].dtype), parts[2], X.shape)
    elif X.layout != torch.sparse_csr:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            X = X if X.layout in (torch.sparse_csc, torch.sparse_coo) else X.to_sparse_coo()
            X = (X.coalesce() if X.layout == torch.sparse_coo else X).to_sparse_csr()
    if X.ndim != 2:
        raise DataError(f"X must have rows and columns, not the shape {tuple(X.shape)}.")
    if not stays(X, place):
        size = sum(one.numel() * one.element_size() for one in (X.crow_indices(), X.values()))
        refuse_sparse(place, float(size + 4.0 * X.values().numel()), 1.0 + COPIES)
        X = X.to(place)
    return SparseMatrix(lines_of(torch, X))
