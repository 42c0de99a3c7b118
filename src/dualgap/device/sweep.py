"""One look at X for all that a pass wants: predictions, what a formula makes of each, and how these pull.

A group of threads takes eight rows at a time: each thread multiplies its own columns, the products are added
across the group, each row's formula is worked out by one thread (four have the same), and the rows, still in
registers, are added up by the slopes. 10⁷×100 take 2.0 ms on an H200, which is the time of reading X.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

from dualgap.device.formulas import CANNOT, PRELUDE, Tape
from dualgap.device.kernels import along, compiled, compiler, fits, processors, takes

ROWS = 8  # at a time: with 4 or 16 it was slower
WIDTH = 4  # columns of a thread, at most
MOST = 32 * 16 * WIDTH  # columns of X: more threads have no registers left for eight rows
LEAST = 1 << 22  # numbers of X from which this pays
CROWD = {
    1: (128, 4)
}  # threads of a block and blocks for each multiprocessor where a warp has a row for itself

SWEEP = (
    PRELUDE
    + r"""
#define R %(rows)d
#define K %(width)d
#define W %(warps)d
#define BLOCK %(threads)d
#define SIDES %(sides)d
typedef %(kind)s XT;
extern "C" __global__ void __launch_bounds__(BLOCK, %(crowd)d) sweep(
    const XT* __restrict__ X, const double* __restrict__ w, %(takes)sdouble* __restrict__ tout,
    double* __restrict__ uout, double* __restrict__ part, bits* __restrict__ tops, %(with)sint n, int p,
    int ld) {
  const int lane = threadIdx.x & 31;
#if W == 1
  const int group = blockIdx.x * (BLOCK / 32) + (threadIdx.x >> 5);
  const int groups = gridDim.x * (BLOCK / 32), me = lane;
#else
  const int group = blockIdx.x, groups = gridDim.x, me = threadIdx.x, warp = threadIdx.x >> 5;
  __shared__ double held[2][W][R];
  int turn = 0;
#endif
  double g[SIDES][K], own[K], size[SIDES], risk = 0.0, far = 0.0, base = 0.0;
#if %(look)d
  bits top[K];
#endif
#pragma unroll
  for (int q = 0; q < SIDES; q++) {
    size[q] = 0.0;
#pragma unroll
    for (int k = 0; k < K; k++) g[q][k] = 0.0;
  }
#pragma unroll
  for (int k = 0; k < K; k++) {
    const int c = me + k * 32 * W;
    own[k] = c < p ? w[c] : 0.0;
#if %(look)d
    top[k] = 0ull;
#endif
  }
  for (long long i = (long long)group * R; i < n; i += (long long)groups * R) {
    double x[R][K], z[R];
#pragma unroll
    for (int r = 0; r < R; r++)
#pragma unroll
      for (int k = 0; k < K; k++) {
        const int c = me + k * 32 * W;
        x[r][k] = (c < p && i + r < n) ? (double)X[(i + r) * ld + c] : 0.0;
      }
#pragma unroll
    for (int r = 0; r < R; r++) {
      z[r] = 0.0;
#pragma unroll
      for (int k = 0; k < K; k++) z[r] = fma(x[r][k], own[k], z[r]);
    }
    int row = 0;
#pragma unroll
    for (int h = R / 2, bit = 16; h >= 1; h >>= 1, bit >>= 1) {
      const bool up = lane & bit;
#pragma unroll
      for (int j = 0; j < h; j++) {
        const double send = up ? z[j] : z[j + h], keep = up ? z[j + h] : z[j];
        z[j] = keep + __shfl_xor_sync(~0u, send, bit);
      }
      if (up) row += h;
    }
#pragma unroll
    for (int bit = 16 / R; bit >= 1; bit >>= 1) z[0] += __shfl_xor_sync(~0u, z[0], bit);
    double dot = z[0];
#if W > 1
    if ((lane & (32 / R - 1)) == 0) held[turn][warp][row] = dot;
    __syncthreads();
    dot = 0.0;
#pragma unroll
    for (int q = 0; q < W; q++) dot += held[turn][q][row];
    turn ^= 1;
#endif
    const bool there = i + row < n;
    const long long at = there ? i + row : n - 1;
%(body)s
    const double pull = there ? %(tilt)s : 0.0;
    if ((lane & (32 / R - 1)) == 0 && there) {
#if W > 1
      if (warp == 0)
#endif
      {
        tout[at] = %(t)s;
        uout[at] = %(u)s;
#if SIDES == 2
        size[0] += dg_max(pull, 0.0);
        size[1] += dg_max(-pull, 0.0);
#else
        size[0] += fabs(pull);
#endif
        risk += %(risk)s;
        far = dg_max(far, fabs(dot));
        base = dg_max(base, fabs(%(base)s));
      }
    }
#pragma unroll
    for (int r = 0; r < R; r++) {
      int source = 0;
#pragma unroll
      for (int h = R / 2, bit = 16; h >= 1; h >>= 1, bit >>= 1) if (r & h) source |= bit;
      const double much = __shfl_sync(~0u, pull, source);
#pragma unroll
      for (int k = 0; k < K; k++) {
#if SIDES == 2
        g[0][k] = fma(x[r][k], much < 0.0 ? 0.0 : much, g[0][k]);
        g[1][k] = fma(x[r][k], much < 0.0 ? much : 0.0, g[1][k]);
#else
        g[0][k] = fma(x[r][k], much, g[0][k]);
#endif
#if %(look)d
        const bits b = (bits)__double_as_longlong(x[r][k]) & 0x7fffffffffffffffull;
        top[k] = b > top[k] ? b : top[k];
#endif
      }
    }
  }
#pragma unroll
  for (int bit = 16; bit >= 1; bit >>= 1) {
#pragma unroll
    for (int q = 0; q < SIDES; q++) size[q] += __shfl_xor_sync(~0u, size[q], bit);
    risk += __shfl_xor_sync(~0u, risk, bit);
    far = dg_max(far, __shfl_xor_sync(~0u, far, bit));
    base = dg_max(base, __shfl_xor_sync(~0u, base, bit));
  }
  const long long mine = (long long)group * (SIDES * (p + 1) + 3);
#pragma unroll
  for (int k = 0; k < K; k++) {
    const int c = me + k * 32 * W;
    if (c < p) {
#pragma unroll
      for (int q = 0; q < SIDES; q++) part[mine + q * (p + 1) + c] = g[q][k];
#if %(look)d
      atomicMax(tops + c, top[k]);
#endif
    }
  }
  if (me == 0) {
#pragma unroll
    for (int q = 0; q < SIDES; q++) part[mine + q * (p + 1) + p] = size[q];
    part[mine + SIDES * (p + 1)] = risk;
    part[mine + SIDES * (p + 1) + 1] = far;
    part[mine + SIDES * (p + 1) + 2] = base;
  }
}
"""
)


@dataclass(frozen=True, eq=False)
class Swept:
    """What one look at X says, but for the vectors NumPy's: a row for all slopes, or one each for those that
    are above zero and below.
    """

    t: Any
    u: Any
    pull: Any
    size: Any  # Σ|s u|
    risk: float  # Σ s L, of which nothing is claimed
    far: float  # the largest |Xw|, and
    base: float  # the largest of what was added to it
    roundings: int  # of a term of the pull, or of the size, at most


def shape_of(p: int) -> tuple[int, int, int, int]:
    """Warps of a group, columns of a thread, threads of a block, blocks for each multiprocessor."""
    warps = 1
    while 32 * warps * WIDTH < p:
        warps *= 2
    threads, crowd = CROWD.get(warps, (32 * warps, max(1, 512 // (32 * warps))))
    return warps, -(-p // (32 * warps)), threads, crowd


@lru_cache(maxsize=256)
def source_of(
    function: Any, arrays: int, numbers: int, p: int, kind: str, look: int, sides: int
) -> str | None:
    """The kernel; None where the function cannot be followed."""
    tape = Tape()
    given = [tape.named("dot"), *(tape.named(f"x{k}") for k in range(arrays))]
    given += [tape.named(f"c{k}") for k in range(numbers)]
    try:
        t, u, tilt, base, risk = (tape.read(one) for one in function(*given))
    except CANNOT:
        return None
    warps, width, threads, crowd = shape_of(p)
    words = {"rows": ROWS, "width": width, "warps": warps, "threads": threads, "crowd": crowd, "kind": kind}
    words |= {
        "sides": sides,
        "takes": takes(arrays),
        "with": along(numbers),
        "look": look,
        "t": t,
        "u": u,
        "tilt": tilt,
        "base": base,
        "risk": risk,
    }
    body = [*(f"const double x{k} = a{k}[at];" for k in range(arrays)), *tape.lines]
    words["body"] = "\n".join(f"    {line}" for line in body)
    return SWEEP % words


def can_sweep(X: Any) -> bool:
    """Is X one that a kernel takes, and large enough for that to pay?"""
    (n, p), ours = X.shape, X.is_cuda and compiler() is not None
    return ours and n * p >= LEAST and 0 < p <= MOST and X.stride(1) == 1 and X.stride(0) < 2**31


def swept(
    X: Any,
    w: Any,
    function: Any,
    arrays: Sequence[Any],
    numbers: Sequence[float],
    tops: Any,
    *,
    parted: bool = False,
) -> Swept | None:
    """One look at X; None where it takes several. `tops`, if given, are filled with the largest |x|; `parted`
    tells slopes above zero and below apart.
    """
    torch, (n, p) = sys.modules["torch"], X.shape
    if not can_sweep(X) or not fits(arrays, 1) or X.device != arrays[0].device:
        return None
    kind = {torch.float64: "double", torch.float32: "float"}[X.dtype]
    source = source_of(function, len(arrays), len(numbers), p, kind, int(tops is not None), 1 + parted)
    kernel = None if source is None else compiled(source, "sweep", X.device)
    if kernel is None:
        return None
    warps, _, threads, crowd = shape_of(p)
    blocks = crowd * processors(X.device)
    groups = blocks * (threads // 32) // warps
    put: dict[str, Any] = {"dtype": torch.float64, "device": X.device}
    sums = (1 + parted) * (p + 1) + 1
    t, u, part = torch.empty(n, **put), torch.empty(n, **put), torch.empty((groups, sums + 2), **put)
    tensors = [X, w, *arrays, t, u, part, part if tops is None else tops]
    kernel(blocks, threads, tensors, [*(float(one) for one in numbers), n, p, int(X.stride(0))])
    found = torch.cat([part[:, :sums].sum(0), part[:, sums:].amax(0)]).cpu().numpy()
    roundings = -(-n // (groups * ROWS)) * ROWS + groups + 8
    sides, (risk, far, base) = found[: sums - 1].reshape(-1, p + 1), found[sums - 1 :].tolist()
    return Swept(t, u, sides[:, :p], sides[:, p], risk, far, base, roundings)
