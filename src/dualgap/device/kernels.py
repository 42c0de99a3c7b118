"""Formulas of rows as kernels of an NVIDIA device: compiled once, by the compiler that comes with torch.

Where there is none, or a formula cannot be followed, the answer is None, and who asked does the same with
torch's functions, one after the other. Products and sums are added in an order of their own; how often a term
is rounded at most is told with them.
"""

from __future__ import annotations

import ctypes
import struct
import sys
import threading
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cache, lru_cache
from typing import Any

import numpy as np

from dualgap.arrays import Vector
from dualgap.device.formulas import CANNOT, PRELUDE, Tape, Written

LONG = 1 << 14  # rows from which one kernel is worth the tenth of a second in which it is compiled
THREADS, BLOCKS = 256, 8  # threads of a block, and blocks for each multiprocessor
EXACT = ("--fmad=false",)  # operations of a formula are rounded one by one, as NumPy's are

SUMS = (
    PRELUDE
    + r"""
extern "C" __global__ void formula(%(takes)s%(gives)sdouble* __restrict__ out, %(with)sint n) {
  const int each = %(sums)d + %(tops)d;
  double s[%(sums)d + 1], m[%(tops)d + 1];
  for (int k = 0; k < %(sums)d; k++) s[k] = 0.0;
  for (int k = 0; k < %(tops)d; k++) m[k] = 0.0;
  const long long stride = (long long)gridDim.x * blockDim.x;
  for (long long i = blockIdx.x * (long long)blockDim.x + threadIdx.x; i < n; i += stride) {
%(body)s
  }
  __shared__ double held[%(warps)d][%(sums)d + %(tops)d + 1];
  const int lane = threadIdx.x & 31, warp = threadIdx.x >> 5;
  for (int bit = 16; bit >= 1; bit >>= 1) {
#pragma unroll
    for (int k = 0; k < %(sums)d; k++) s[k] += __shfl_xor_sync(~0u, s[k], bit);
#pragma unroll
    for (int k = 0; k < %(tops)d; k++) m[k] = dg_max(m[k], __shfl_xor_sync(~0u, m[k], bit));
  }
  if (lane == 0) {
#pragma unroll
    for (int k = 0; k < %(sums)d; k++) held[warp][k] = s[k];
#pragma unroll
    for (int k = 0; k < %(tops)d; k++) held[warp][%(sums)d + k] = m[k];
  }
  __syncthreads();
  if (threadIdx.x < each) {
    double found = held[0][threadIdx.x];
    for (int q = 1; q < %(warps)d; q++)
      found = threadIdx.x < %(sums)d ? found + held[q][threadIdx.x] : dg_max(found, held[q][threadIdx.x]);
    out[blockIdx.x * (long long)each + threadIdx.x] = found;
  }
}
"""
)


@cache
def compiler() -> Callable[..., Any] | None:
    """What torch compiles a kernel with; None where this torch, or this machine, has nothing."""
    torch = sys.modules.get("torch")
    if torch is None or not torch.cuda.is_available() or torch.version.cuda is None:
        return None
    found: Callable[..., Any] | None = getattr(torch.cuda, "_compile_kernel", None)
    return found


class Launch(threading.local):
    """A kernel and, for each thread, the room for its arguments: what torch does for each call took ten times
    as long.
    """

    def __init__(self, kernel: Any, place: Any) -> None:
        self.kernel, self.place = kernel, place
        self.driver = sys.modules["torch"].cuda._utils._get_gpu_runtime_library()
        self.held: tuple[Any, Any] | None = None

    def __call__(
        self, blocks: int, threads: int, tensors: Sequence[Any], rest: Sequence[float | int]
    ) -> None:
        """Tensors first, then numbers: floats are of 8 bytes, whole ones of 4."""
        torch = sys.modules["torch"]
        count = len(tensors) + len(rest)
        if self.held is None:
            room = (ctypes.c_uint64 * count)()
            start = ctypes.addressof(room)
            self.held = room, (ctypes.c_void_p * count)(*(start + 8 * k for k in range(count)))
        room, where = self.held
        for k, one in enumerate(tensors):
            room[k] = one.data_ptr()
        for k, number in enumerate(rest, len(tensors)):
            room[k] = number if isinstance(number, int) else _BITS.unpack(_DOUBLE.pack(number))[0]
        with torch.cuda.device(self.place):
            stream = torch.cuda.current_stream()._as_parameter_
            failed = self.driver.cuLaunchKernel(
                self.kernel.func, blocks, 1, 1, threads, 1, 1, 0, stream, where, None
            )
        if failed:
            raise RuntimeError(f"The driver could not start a kernel (error {failed}).")


_BITS, _DOUBLE = struct.Struct("<Q"), struct.Struct("<d")


@cache
def compiled(source: str, name: str, place: Any) -> Launch | None:
    """The kernel, or None."""
    make, torch = compiler(), sys.modules["torch"]
    if make is None:
        return None
    try:
        with torch.cuda.device(place):
            return Launch(make(source, name, nvcc_options=list(EXACT)), place)
    except (RuntimeError, OSError, ImportError, TypeError, AttributeError, AssertionError):
        return None  # then it is done without


@cache
def processors(place: Any) -> int:
    """Multiprocessors of the device."""
    return int(sys.modules["torch"].cuda.get_device_properties(place).multi_processor_count)


def fits(arrays: Sequence[Any], least: int | None = None) -> bool:
    """Are these long vectors of 8-byte numbers, one like the other, on a device that has kernels?"""
    first = arrays[0]
    if not getattr(first, "is_cuda", False) or compiler() is None:
        return False
    long, place, n = sys.modules["torch"].float64, first.device, len(first)
    return (LONG if least is None else least) <= n < 2**31 - 2**20 and all(
        one.dtype == long and one.dim() == 1 and len(one) == n and one.device == place and one.is_contiguous()
        for one in arrays
    )


def takes(arrays: int) -> str:
    """The vectors that a kernel reads, among its arguments."""
    return "".join(f"const double* __restrict__ a{k}, " for k in range(arrays))


def along(numbers: int) -> str:
    """The numbers that go with them, which are further behind."""
    return "".join(f"double c{k}, " for k in range(numbers))


@dataclass(frozen=True)
class Source:
    """A kernel, and how many vectors, sums and largest values come out of it."""

    text: str
    stored: int
    sums: int
    tops: int


@lru_cache(maxsize=256)
def source_of(function: Any, arrays: int, numbers: int) -> Source | None:
    """The kernel of a function that says what is to be kept, what added up, of what the largest is wanted."""
    tape = Tape()
    given = [tape.named(f"x{k}") for k in range(arrays)] + [tape.named(f"c{k}") for k in range(numbers)]
    try:
        found = function(*given)
        kept, sums, tops = found if len(found) == 3 else ([], *found)
        lines = [f"o{k}[i] = {tape.read(_number(one))};" for k, one in enumerate(kept)]
        lines += [f"s[{k}] += {tape.read(_number(one))};" for k, one in enumerate(sums)]
        lines += [f"m[{k}] = dg_max(m[{k}], {tape.read(_number(one))});" for k, one in enumerate(tops)]
    except CANNOT:
        return None
    body = [*(f"const double x{k} = a{k}[i];" for k in range(arrays)), *tape.lines, *lines]
    words: dict[str, Any] = {"takes": takes(arrays), "sums": len(sums), "tops": len(tops)}
    words["with"] = along(numbers)
    words["gives"] = "".join(f"double* __restrict__ o{k}, " for k in range(len(kept)))
    words |= {"warps": THREADS // 32, "body": "\n".join(f"    {line}" for line in body)}
    return Source(SUMS % words, len(kept), len(sums), len(tops))


def _number(part: Any) -> Any:
    return part.number() if isinstance(part, Written) else part


@dataclass(frozen=True, eq=False)
class Worked:
    """Vectors, sums and largest values of what a formula makes of rows; sums are off by `share` of Σ|x|."""

    kept: list[Any]
    sums: Vector
    tops: Vector
    share: float


def added(function: Any, arrays: Sequence[Any], numbers: Sequence[float] = ()) -> Worked | None:
    """By one kernel, or None. The largest values are of what is not negative."""
    if not fits(arrays) or not _hashable(function):
        return None
    made, place = source_of(function, len(arrays), len(numbers)), arrays[0].device
    kernel = None if made is None else compiled(made.text, "formula", place)
    if made is None or kernel is None:
        return None
    torch, n = sys.modules["torch"], len(arrays[0])
    blocks, each = min(BLOCKS * processors(place), -(-n // THREADS)), made.sums + made.tops
    out = torch.empty((blocks, each), dtype=torch.float64, device=place)
    kept = (
        list(torch.empty((made.stored, n), dtype=torch.float64, device=place).unbind(0))
        if made.stored
        else []
    )
    kernel(blocks, THREADS, [*arrays, *kept, out], [*(float(one) for one in numbers), n])
    if not each:
        return Worked(kept, np.zeros(0), np.zeros(0), 0.0)
    found = out.cpu().numpy()
    roundings = -(-n // (blocks * THREADS)) + 8 + THREADS // 32 + blocks
    share = roundings * 2.0**-53 / (1.0 - roundings * 2.0**-53)
    tops = found[:, made.sums :].max(axis=0) if made.tops else np.zeros(0)
    return Worked(kept, found[:, : made.sums].sum(axis=0), tops, share)


def worked(function: Any, arrays: Sequence[Any], numbers: Sequence[float] = ()) -> Worked:
    """The same, by many kernels where one cannot be had; nothing is claimed of its sums then."""
    found = added(function, arrays, numbers)
    if found is not None:
        return found
    kept, sums, tops = function(*arrays, *numbers)
    told = [one.sum() for one in sums] + [one.max() for one in tops]
    if told and hasattr(told[0], "device") and not isinstance(told[0], np.generic):
        told = sys.modules["torch"].stack(told).cpu().numpy()
    values = np.asarray(told, dtype=np.float64)
    return Worked(kept, values[: len(sums)], values[len(sums) :], np.inf)


def _hashable(function: Any) -> bool:
    try:
        hash(function)
    except TypeError:
        return False
    return True
