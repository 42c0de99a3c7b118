"""X on a device, or streamed through one: products in 8-byte numbers that know their error.

They stand where the kernel has `proof.rows.Rows` for the host's arrays. A product of float64 numbers is a
sum of k terms in whatever order the device likes, off by gamma(k) Σ|x||w| at most; X of 4-byte numbers is
widened, exactly.
"""

from __future__ import annotations

import sys
import threading
import weakref
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from dualgap.arrays import SMALLEST, Matrix, Vector, on_device
from dualgap.device.arrivals import (
    ROOM,
    as_tensor,
    free_bytes,
    is_sparse,
    refuse_complex,
    refuse_full,
    stays,
    to_host,
    torch_library,
)
from dualgap.device.sweep import can_sweep, swept
from dualgap.errors import DataError

U, LEAST, FEW = 2.0**-53, SMALLEST, 2.0**-46  # as in proof.rounding, of which nothing may be known here
TILE = (
    1 << 12
)  # rows of a partial sum Xᵀθ: its bound is 5e-13, and 10⁷×100 take 2.0 ms on an H200, X read once
WIDE = 4096  # columns that are enough for a device to look at side by side
BESIDE = 128  # rows side by side where the largest of each column is looked for
GATHERED = 1 << 27  # bytes of rows that are copied at a time for the metric
LOT, BIG = 1 << 28, 1 << 62  # bytes of a part where rows are widened, copied or squared; and all of it
ROUGH = (
    300  # columns from which the metric's products are made of 4-byte numbers: below, they are short anyway
)
RAISES = (1e-14, 1e-13, 1e-9, 1e-6, 1e-3)  # shares of the diagonal that make a factor exist
NARROW = 512  # columns whose matrix is small in any case
SQUARES = 8  # rows for each column from which it is: three of them are beside X
FEW_VALUES = 200_000  # of which a quantile is taken: all of 10⁷ took 74 ms
FEW_ROWS = 10_000  # from which the spread of a column is told
SLAB = 1 << 25  # bytes of rows that are looked at beside X where no more than a few of them are needed
BULK = 1 << 20  # bytes of what comes to the host from which registered memory pays
ONE_AT_A_TIME = threading.Lock()  # who changes what torch's products are made of


def gamma(k: float) -> float:
    """k roundings."""
    return k * U / (1.0 - k * U)


@dataclass(frozen=True, eq=False)
class Met:
    """One look at X: misses and slopes, row by row; the error of Xw; the largest |Xw|, and the largest of
    what was added to it; Xᵀ of the slopes, times weights, and its error, a column for all of them or for
    those above zero and below; Σ of their sizes, its error, and that Σ from above; Σ of losses, of which
    nothing is claimed.
    """

    t: Any
    u: Any
    error: float
    far: float
    base: float
    pull: Matrix
    off: Matrix
    sums: Vector
    loose: Vector
    size: Vector
    risk: float


def _looked(dot: Any, row: Any) -> tuple[Any, ...]:
    """Xw alone."""
    return dot, 0.0, 0.0, 0.0, 0.0


class DeviceMatrix:
    """Rows on a device. `X` is a tensor of 8- or 4-byte numbers."""

    sparse = False

    def __init__(self, X: Any) -> None:
        self.torch = torch_library()
        self.X, self.place = X, X.device
        self.n, self.p = int(X.shape[0]), int(X.shape[1])
        self._known: dict[bytes, Any] = {}

    @property
    def shape(self) -> tuple[int, int]:
        """Rows and columns."""
        return self.n, self.p

    @property
    def stored(self) -> int:
        """How many numbers there are."""
        return self.n * self.p

    @property
    def roomy(self) -> bool:
        """Is there room for a sample and the rows near their kinks, zeros included?"""
        return True

    def parts(self, most: int = LOT) -> Iterator[tuple[int, int, Any]]:
        """First row, last row, these rows in 8-byte numbers; some at a time, or all that need no copy."""
        whole = self.X.dtype == self.torch.float64 and most == BIG
        step = max(self.n, 1) if whole else max(TILE, LOT // (8 * max(self.p, 1)) // TILE * TILE)
        for i in range(0, self.n, step):
            j = min(i + step, self.n)
            yield i, j, self.X[i:j].to(self.torch.float64)

    @cached_property
    def tops(self) -> Vector:
        """The largest |x| of each column."""
        torch = self.torch
        most = torch.zeros(self.p, dtype=torch.float64, device=self.place)
        for _, _, part in self.parts():
            rows = 0 if self.p >= WIDE else len(part) // BESIDE * BESIDE
            pieces = [part[rows:]] if rows < len(part) else []
            if rows and part.is_contiguous():  # many columns side by side: reductions down them are slow else
                pieces.append(part[:rows].view(-1, BESIDE * self.p))
            elif rows:
                pieces.append(part[:rows])
            for piece in pieces:
                low, high = torch.aminmax(piece, dim=0)
                found = torch.maximum(-low, high)
                most = torch.maximum(most, found.view(-1, self.p).amax(0))
        return np.asarray(self.host(most))

    def host(self, values: Any) -> Any:
        """As NumPy's. Fresh memory of the host costs more than the way there: large ones come into memory
        that torch has registered and keeps.
        """
        if not (values.is_cuda and BULK <= values.numel() * values.element_size() <= LOT):
            return values.cpu().numpy()
        there = values.to("cpu", non_blocking=True)
        self.torch.cuda.current_stream(values.device).synchronize()
        return there.numpy()

    def here(self, values: Any) -> Any:
        """A vector of the host, on the device."""
        return as_tensor(np.asarray(values, dtype=np.float64), self.place)

    def times(self, w: Vector, *, exact: bool = False) -> tuple[Any, Any, float]:
        """Xw, no correction, and the error. The last are kept: the kernel asks for them again."""
        if w.tobytes() not in self._known:
            met = None
            short = self.X.dtype != self.torch.float64  # which else are widened first, in memory
            if self.sweeps and (short or "tops" not in self.__dict__):  # the largest numbers of X come along
                rows = self.torch.empty(self.n, dtype=self.torch.float64, device=self.place)
                met = self.swept(w, _looked, [rows], ())
            self._known = {w.tobytes(): self.product(self.here(w)) if met is None else met.t}
        return self._known[w.tobytes()], np.zeros(1), self._missed(w)

    @property
    def sweeps(self) -> bool:
        """Is one look at X likely to do for all of a pass, the largest numbers of X included?"""
        return self.X.device == self.place and can_sweep(self.X)

    def swept(
        self,
        w: Vector,
        formula: Any,
        arrays: Sequence[Any],
        numbers: Sequence[float],
        *,
        parted: bool = False,
    ) -> Met | None:
        """Xw, what the formula makes of it, and Xᵀ of that, by one look at X; None where it takes several."""
        if self.X.device != self.place:
            return None
        torch, new = self.torch, "tops" not in self.__dict__
        tops = torch.zeros(self.p, dtype=torch.int64, device=self.place) if new else None
        found = swept(self.X, self.here(w), formula, arrays, numbers, tops, parted=parted)
        if found is None:
            return None
        if tops is not None:
            self.__dict__["tops"] = np.asarray(self.host(tops.view(torch.float64)))
        size = found.size * (1.0 + gamma(found.roundings + 1)) * (1.0 + FEW)
        loose = gamma(found.roundings) * size
        off = (loose * self.tops[:, None] + self.n * LEAST) * (1.0 + FEW)
        far, missed = (found.far, found.base), self._missed(w)
        return Met(found.t, found.u, missed, *far, found.pull.T, off, found.size, loose, size, found.risk)

    def _missed(self, w: Vector) -> float:
        """What Xw may be off by, row by row, in whatever order its terms are added."""
        size = float(self.tops @ np.abs(w)) * (1.0 + gamma(self.p))
        return float((gamma(self.p) * size + self.p * LEAST) * (1.0 + FEW))

    def foresee(self, weights: Sequence[Vector]) -> None:
        """Xw of some vectors by one look at X: `times` will be asked for them."""
        self._known = {}
        if len(weights) > 1:
            table = self.products(self.here(np.array(weights)))
            self._known = {w.tobytes(): line for w, line in zip(weights, table, strict=True)}

    def products(self, W: Any) -> Any:
        """WXᵀ for a table on the device."""
        return self.torch.cat([W @ part.T for _, _, part in self.parts(BIG)], dim=1)

    def product(self, w: Any) -> Any:
        """XW for a vector or a table on the device."""
        if self.X.dtype == self.torch.float64:
            return self.X @ w
        return self.torch.cat([part @ w for _, _, part in self.parts()])

    def against_many(self, thetas: Sequence[Any]) -> tuple[Matrix, Matrix]:
        """Xᵀθ of some vectors, a row each, and the error of each entry."""
        torch = self.torch
        table = thetas[0][None] if len(thetas) == 1 else torch.stack(list(thetas))
        total, roundings = self._against(table)
        found = self.host(torch.cat([total, table.abs().sum(1)[:, None]], dim=1))
        size = found[:, -1:] * (1.0 + gamma(self.n)) * self.tops
        return found[:, :-1], (gamma(roundings) * size + self.n * LEAST) * (1.0 + FEW)

    def _against(self, table: Any) -> tuple[Any, int]:
        """θX for a table of θ, and how often a term is rounded: sums of TILE rows, then of those sums."""
        total = self.torch.zeros((len(table), self.p), dtype=self.torch.float64, device=self.place)
        roundings = 0
        for i, j, part in self.parts(BIG):
            tiles = (j - i) // TILE
            edge = tiles * TILE
            if tiles:
                tall = part[:edge].reshape(tiles, TILE, self.p)
                flat = table[:, i : i + edge].reshape(len(table), tiles, TILE).transpose(0, 1)
                total += self.torch.bmm(flat, tall).sum(0)
            if edge < j - i:
                total += table[:, i + edge : j] @ part[edge:]
            roundings = max(roundings, min(TILE, j - i) + tiles) + 2
        return total, roundings

    def pulled(self, table: Any) -> Any:
        """XᵀS for a table on the device; the error is not told."""
        return self._against(table.T)[0].T

    def squares(self, h: Any) -> Any:
        """Σ h x² of every column."""
        return self._summed(h, lambda part: part * part)

    def cells(self, run: slice, j: int) -> Any:
        """Some rows of a column."""
        return self.X[run, int(j)].to(self.torch.float64)

    def taken(self, run: slice) -> DeviceMatrix:
        """Some rows."""
        return type(self)(self.X[run])

    def gathered(self, rows: Any) -> Any:
        """Some rows by their numbers, or all, 8-byte."""
        return self.X.to(self.torch.float64) if rows is None else self.X[rows].to(self.torch.float64)

    def columns(self, which: Any) -> Any:
        """Some columns of all rows side by side, 8-byte."""
        return self.X.index_select(1, self.index(which)).to(self.torch.float64)

    def block(self, i: int, j: int) -> Matrix:
        """Rows as the host's."""
        return np.asarray(self.host(self.X[i:j].to(self.torch.float64)))

    @property
    def tall(self) -> bool:
        """Is a matrix of the columns small beside X?"""
        return self.p <= NARROW or SQUARES * self.p <= self.n

    def scales(self, weight: Any, *, centred: bool) -> Vector:
        """Standard deviations of the columns (root mean squares if not centred); 1 if constant."""
        torch = self.torch
        heavy = float(self.n) if weight is None else float(weight.sum())
        mean = torch.zeros(self.p, dtype=torch.float64, device=self.place)
        if centred:
            mean = self._summed(weight, lambda part: part) / heavy
        square = self._summed(weight, lambda part: (part - mean) ** 2) / heavy
        most = self.here(self.tops) ** 2
        scale = torch.where(
            square > 1e-24 * most, square.sqrt(), 1.0
        )  # of a constant column rounding is left
        return np.asarray(self.host(scale))

    def _summed(self, weight: Any, function: Any) -> Any:
        total = self.torch.zeros(self.p, dtype=self.torch.float64, device=self.place)
        for i, j, part in self.parts():
            values = function(part)
            total += values.sum(0) if weight is None else weight[i:j] @ values
        return total

    def sample_spread(self) -> Vector:
        """Standard deviations of the columns in a few rows; 1 if constant."""
        torch, p = self.torch, max(self.p, 1)
        rows = self.drawn(min(FEW_ROWS, max(2, LOT // (8 * p))))
        step = max(1, SLAB // (8 * max(self.n if rows is None else len(rows), 1)))
        rows = slice(None) if rows is None else rows.to(self.X.device)
        slabs = (self.X[:, j : j + step][rows].to(self.place) for j in range(0, p, step))
        spread = self.host(torch.cat([one.to(torch.float64).std(0, correction=0) for one in slabs]))
        return np.where((spread > 0.0) & np.isfinite(spread), spread, 1.0)

    def labelled(self, y: Any) -> tuple[Any, Any]:
        """The classes, and the number of each row's; two are found without sorting."""
        torch = self.torch
        if y.dtype.is_floating_point and bool(y.isnan().any()):
            raise DataError("y holds NaN: every row needs a label.")
        low, high = torch.aminmax(y) if y.dtype != torch.bool else (y.min(), y.max())
        second = y == high
        if bool((second | (y == low)).all()):
            pair = to_host(torch.stack([low, high]))
            return (pair if pair[0] != pair[1] else pair[:1]), second.to(torch.int64)
        classes, number = torch.unique(y, return_inverse=True)
        return to_host(classes), number

    def drawn(self, m: int, seed: int = 0) -> Any:
        """Numbers of m rows; None: all of them."""
        if m >= self.n:
            return None
        source = self.torch.Generator(device=self.place).manual_seed(seed)
        return self.torch.randint(self.n, (m,), device=self.place, generator=source)

    def rough_gram(self, A: Any, h: Any) -> Any:
        """Aᵀ diag(h) A for h ≥ 0, to half the digits where it is large: a metric needs no more."""
        torch, (count, columns) = self.torch, A.shape
        many, step = columns > ROUGH, max(TILE, LOT // (8 * columns))
        root, total = h.sqrt(), torch.zeros((columns, columns), dtype=torch.float64, device=A.device)
        with rough(torch, A.is_cuda and many):
            for i in range(0, count, step):
                if not many:
                    part = A[i : i + step] * root[i : i + step, None]
                    total += part.T @ part
                    continue
                rows = A[i : i + step]
                part = torch.empty(rows.shape, dtype=torch.float32, device=A.device)
                torch.mul(rows, root[i : i + step, None], out=part)  # one look at the rows
                total += part.T @ part
        return total

    def rough_gram_of(self, rows: Any, h: Any, *, first: bool) -> tuple[Any, Any]:
        """Σ h xxᵀ, and Σ h x if that is wanted, of some rows of X or of all, a part copied at a time."""
        torch, step = self.torch, max(TILE, GATHERED // (8 * self.p))
        total = torch.zeros((self.p, self.p), dtype=torch.float64, device=self.place)
        sums = torch.zeros(self.p, dtype=torch.float64, device=self.place) if first else None
        for i in range(0, len(h), step):
            j = min(i + step, len(h))
            part = self.taken(slice(i, j)).gathered(None) if rows is None else self.gathered(rows[i:j])
            total += self.rough_gram(part, h[i:j])
            if sums is not None:
                sums += self.pulled_from(part, h[i:j])
        return total, sums

    def rough_grams(self, A: Any, h: Any) -> Any:
        """Aᵀ diag(h_k) A for every row of h, as `rough_gram`."""
        torch, (rows, columns) = self.torch, A.shape
        many, step = columns > ROUGH, max(1, LOT // (8 * columns * len(h)))
        total = torch.zeros((len(h), columns, columns), dtype=torch.float64, device=A.device)
        with rough(torch, A.is_cuda and many):
            for i in range(0, rows, step):
                part, own = A[i : i + step], h[:, i : i + step]
                part, own = (part.to(torch.float32), own.to(torch.float32)) if many else (part, own)
                total += torch.matmul(part.T * own[:, None, :], part)
        return total

    def inverses(self, H: Any, ridge: Any) -> Any:
        """(H_k + ridge_k)⁻¹ for each; raised a little where one is singular."""
        torch = self.torch
        H = H + torch.diag_embed(self.here(ridge))
        scale = torch.diag_embed(H.diagonal(dim1=1, dim2=2).clamp(min=1e-300))
        for raised in RAISES:
            factor, failed = torch.linalg.cholesky_ex(H + raised * scale)
            if not bool(failed.any()):
                break
        return torch.cholesky_inverse(factor)

    def pulled_from(self, A: Any, u: Any) -> Any:
        """Aᵀu."""
        return A.T @ u

    def rows_of(self, A: Any, numbers: Any) -> Any:
        """Some rows of a matrix on the device."""
        return A[numbers]

    def product_of(self, A: Any, w: Vector) -> Any:
        """Aw."""
        return A @ self.here(w)

    def smallest(self, values: Any, share: float) -> float:
        """The number that about this share of the values is not above: that of some of them."""
        if len(values) > FEW_VALUES:
            values = values[self.torch.randint(len(values), (FEW_VALUES,), device=self.place)]
        return float(values.sort().values[max(1, int(share * len(values))) - 1])  # a third of kthvalue's time

    def index(self, numbers: Any) -> Any:
        """Row or column numbers of the host, on the device."""
        return as_tensor(np.asarray(numbers, dtype=np.int64), self.place)

    def live(self, near: Any, weight: Any, n: int = 0) -> Any:
        """The numbers of the rows that are near, or of all n, without those that do not count."""
        if near is None:
            near = self.torch.ones(n, dtype=self.torch.bool, device=self.place)
        return (near if weight is None else near & (weight > 0.0)).nonzero()[:, 0]

    def union(self, lists: Sequence[Any]) -> Any:
        """Numbers of any of the lists, rising."""
        return lists[0] if len(lists) == 1 else self.torch.unique(self.torch.cat(list(lists)))

    def beside(self, A: Any, column: Any) -> Any:
        """A with one more column."""
        return self.torch.cat([A, column[:, None]], dim=1)

    def with_added(self, values: Any, where: Any, more: Any) -> Any:
        """A copy of the values with more at some places, none of them twice."""
        return values.index_add(0, where, more)

    def factored(self, M: Any) -> Any:
        """b ↦ M⁻¹b on the device, raised a little where M is singular."""
        torch, scale = self.torch, M.diagonal().clone()
        for raised in (0.0, *RAISES):
            factor, failed = torch.linalg.cholesky_ex(M + torch.diag(raised * scale) if raised else M)
            if not int(failed):
                break
        return lambda b: torch.cholesky_solve(b[:, None], factor)[:, 0]

    def inverted(self, H: Any, ridge: Vector) -> Any:
        """q ↦ (H + ridge)⁻¹q for vectors of the host; raised a little where it is singular."""
        torch = self.torch
        H = H + torch.diag(self.here(ridge))
        scale = H.diagonal().clamp(min=1e-300)
        for raised in RAISES:
            factor, failed = torch.linalg.cholesky_ex(H + torch.diag(raised * scale))
            if not int(failed):
                break
        inverse = torch.cholesky_inverse(factor)
        return lambda q: self.host(inverse @ self.here(q))


@contextmanager
def rough(torch: Any, wanted: bool) -> Iterator[None]:
    """Products of 4-byte numbers by the units that keep ten bits of them, as long as this lasts.

    The setting is one for all threads, and has two names: the old one is refused where the new one was used.
    """
    matmul: Any = torch.backends.cuda.matmul
    choices: tuple[Any, Any]
    with ONE_AT_A_TIME:
        try:
            name, choices, before = "allow_tf32", (False, True), matmul.allow_tf32
        except RuntimeError:
            name, choices, before = "fp32_precision", ("ieee", "tf32"), matmul.fp32_precision
        setattr(matmul, name, choices[bool(wanted)])
        try:
            yield
        finally:
            setattr(matmul, name, before)


class HostMatrix(DeviceMatrix):
    """Rows that stay in the host's memory, and go through the device part by part, one of them ahead."""

    def __init__(self, X: Any, place: Any, pin: Any = None) -> None:
        super().__init__(X)
        self.place = place
        self.pin = Pinned(X, place) if pin is None else pin  # of rows taken: that of the whole
        self._side = self.torch.cuda.Stream(place) if place.type == "cuda" else None

    def parts(self, most: int = LOT) -> Iterator[tuple[int, int, Any]]:
        step = max(TILE, LOT // (8 * max(self.p, 1)) // TILE * TILE)
        begins = range(0, self.n, step)
        ahead = self._sent(0, step) if self.n else None
        used: list[Any] = []
        for i in begins:
            part, ahead = ahead, self._sent(i + step, step) if i + step < self.n else None
            yield i, min(i + step, self.n), self._arrived(part).to(self.torch.float64)
            used.append(self._used())  # or the host would send all of X before the first part is done with
            if used[0] is not None and len(used) > 1:
                used.pop(0).synchronize()

    def _used(self) -> Any:
        """Says when all that was asked for until now is done; None where nothing is ahead of the host."""
        return None if self._side is None else self.torch.cuda.current_stream(self.place).record_event()

    def _sent(self, i: int, step: int) -> tuple[Any, Any]:
        """Rows on their way, and what says that they are there."""
        rows = self.X[i : i + step]
        if self._side is None:
            return rows.to(self.place), None
        with self.torch.cuda.stream(self._side):
            there = rows.to(self.place, non_blocking=True)
            return there, self._side.record_event()

    def _arrived(self, sent: Any) -> Any:
        there, event = sent
        if event is not None:
            now = self.torch.cuda.current_stream(self.place)
            now.wait_event(event)
            there.record_stream(now)  # or its memory would be given away before it is used
        return there

    def product(self, w: Any) -> Any:
        return self.torch.cat([part @ w for _, _, part in self.parts()])

    def cells(self, run: slice, j: int) -> Any:
        return self.X[run, int(j)].to(self.place).to(self.torch.float64)

    def taken(self, run: slice) -> HostMatrix:
        return HostMatrix(self.X[run], self.place, self.pin)

    def columns(self, which: Any) -> Any:
        numbers = as_tensor(np.asarray(which, dtype=np.int64))
        return self.X.index_select(1, numbers).to(self.place).to(self.torch.float64)

    def gathered(self, rows: Any) -> Any:
        some = self.X if rows is None else self.X[rows.cpu()]
        return some.to(self.place).to(self.torch.float64)


def decided(X: Any, coef: Any, intercept: Any) -> Any:
    """Xw + b for X on a device, as an array of its library there; a column per class beyond two."""
    matrix = held(X)
    table = np.atleast_2d(coef)
    found = matrix.product(matrix.here(np.ascontiguousarray(table.T))) + matrix.here(np.atleast_1d(intercept))
    found = found[:, 0] if np.ndim(coef) == 1 else found
    return found if type(X).__module__.startswith("torch") else sys.modules["cupy"].from_dlpack(found)


def held(X: Any, place: Any = None) -> DeviceMatrix:
    """X as given: on its device, copied to one that has room, streamed through one that has not."""
    torch = torch_library()
    if isinstance(X, DeviceMatrix):
        return X
    refuse_complex(X, "X")
    if is_sparse(X):
        from dualgap.device.sparse import sparse_held  # it is made of what is here

        return sparse_held(torch, X, place)
    tensor = as_tensor(X if on_device(X) else _numbers(X))
    if tensor.ndim != 2:
        raise DataError(f"X must have rows and columns, not the shape {tuple(tensor.shape)}.")
    if tensor.dtype not in (torch.float64, torch.float32):
        few = tensor.dtype.itemsize < 4  # 4 bytes hold any number of two
        refuse_full(tensor.device, tensor, 4 if few else 8)
        tensor = tensor.to(torch.float32 if few else torch.float64)
    if stays(tensor, place):
        refuse_full(tensor.device, tensor)
        return DeviceMatrix(tensor)
    size = tensor.numel() * tensor.element_size()
    if (1.0 + ROOM) * size > free_bytes(place):
        return HostMatrix(tensor, place)
    return DeviceMatrix(copied(tensor, place))


def copied(tensor: Any, place: Any) -> Any:
    """A copy on the device, by memory that is pinned where it lies: twice as fast as without."""
    pin = Pinned(tensor, place)
    try:
        return tensor.to(place, non_blocking=pin.held)
    finally:
        pin.end()


class Pinned:
    """Memory registered with the driver where it lies, until this is let go; without it copies are slower.

    A copy into pinned memory would cost eight times as much as registering, and the memory twice.
    """

    def __init__(self, tensor: Any, place: Any) -> None:
        torch, self.held = torch_library(), False
        if place.type != "cuda" or tensor.is_cuda or not tensor.numel() or not tensor.is_contiguous():
            return
        runtime, start = torch.cuda.cudart(), tensor.data_ptr()
        self.held = int(runtime.cudaHostRegister(start, tensor.numel() * tensor.element_size(), 0)) == 0
        if self.held:
            self.release = weakref.finalize(self, _unregistered, torch, runtime, start, place, tensor)

    def end(self) -> None:
        """Let go of it now."""
        if self.held:
            self.held = False
            self.release()


def _unregistered(torch: Any, runtime: Any, start: int, place: Any, tensor: Any) -> None:
    """Once nothing is on its way from there; the tensor came along so that the memory is still there."""
    torch.cuda.synchronize(place)
    runtime.cudaHostUnregister(start)


def _numbers(X: Any) -> Any:
    try:
        array = np.asarray(X)
        refuse_complex(array, "X")
        return array if array.dtype in (np.float64, np.float32) else array.astype(np.float64)
    except (TypeError, ValueError):
        raise DataError("X holds no numbers; a device takes arrays of them.") from None
