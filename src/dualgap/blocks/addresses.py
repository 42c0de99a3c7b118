"""A limit of addresses (`ulimit -v`): what is left of it, and who must not waste it."""

from __future__ import annotations

import ctypes
import gc
import os
import sys
from pathlib import Path

import numpy as np

try:
    import resource
except ImportError:  # not every system has such limits
    resource = None  # type: ignore[assignment]

SIDE = 256  # of a product that takes room
ARENAS = -8  # what glibc calls M_ARENA_MAX: places that threads take memory from
LARGE = 2**21  # numbers: for fewer it does not pay to look at every object of a process, .5 s in a large one


def addresses_left() -> int | None:
    """Bytes that this process may still ask for; None where there is no limit."""
    if resource is None:
        return None
    limit = resource.getrlimit(resource.RLIMIT_AS)[0]
    if limit == resource.RLIM_INFINITY:
        return None
    try:
        pages = int(Path("/proc/self/statm").read_text(encoding="ascii").split()[0])
        return max(0, limit - pages * resource.getpagesize())
    except (OSError, ValueError):
        return limit


def modest() -> None:
    """Where addresses are limited: Arrow's own allocator reserves a gigabyte of them at once, and that of C
    64 MB for each thread (a fit took 775 MB with, 620 without). Products of matrices take 32 MB when they are
    first made, and wait for them for ever once these are not to be had: now they are.
    """
    if addresses_left() is None:
        return
    from scipy.linalg.blas import dgemm  # here: it has a library of its own

    if "pyarrow" not in sys.modules:
        os.environ.setdefault("ARROW_DEFAULT_MEMORY_POOL", "system")
    mallopt = getattr(ctypes.CDLL(None), "mallopt", None)
    if mallopt is not None and sys.platform == "linux":
        mallopt(ARENAS, 1)
    square = np.ones((SIDE, SIDE))
    np.dot(square, square)
    dgemm(1.0, square, square)


def give_back(size: int) -> None:
    """What nobody needs goes back to the system, if there were as many numbers of rows: solved problems that
    refer to themselves, what C keeps of arrays of up to 32 MB, and Arrow of what it decoded. A sample left
    300 MB of these to scans.
    """
    if size < LARGE:
        return
    gc.collect()
    arrow = sys.modules.get("pyarrow")
    if arrow is not None:
        arrow.default_memory_pool().release_unused()
    trim = getattr(ctypes.CDLL(None), "malloc_trim", None)
    if trim is not None:
        trim(0)
