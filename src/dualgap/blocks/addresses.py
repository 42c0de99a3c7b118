"""Memory as C hands it out: what a limit of addresses (`ulimit -v`) leaves, what is kept or goes back."""

from __future__ import annotations

import ctypes
import gc
import os
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import numpy as np

try:
    import resource
except ImportError:  # not every system has such limits
    resource = None  # type: ignore[assignment]

SIDE = 256  # of a product that takes room
LARGE = 2**21  # numbers: for fewer it does not pay to look for what is left, .5 s in a large process
# what glibc calls M_ARENA_MAX, places that threads take memory from; M_TRIM_THRESHOLD, free bytes that it may
# keep at the end of one; M_MMAP_THRESHOLD, bytes from which memory comes and goes by the system at once
ARENAS, KEPT, MAPPED = -8, -1, -3
ONCE = "MALLOC_TRIM_THRESHOLD_"  # by which a worker of Dask is told to give back at once
USUAL, MOST = 1 << 17, 1 << 25  # bytes: of both thresholds where nothing is said, and the largest for MAPPED


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
    _of_c("mallopt", ARENAS, 1)
    square = np.ones((SIDE, SIDE))
    np.dot(square, square)
    dgemm(1.0, square, square)


class _Keepers:
    """How many tasks of this process keep their memory."""

    lock, count = threading.Lock(), 0


@contextmanager
def kept() -> Iterator[None]:
    """What a block leaves is kept for the next one, until all is given back at the end.

    A worker of Dask is told to give back at once whatever is free. Every array of a scan was then fetched
    from the system anew, page by page: two thirds of the seconds of a scan.
    """
    if ONCE not in os.environ:
        yield
        return
    with _Keepers.lock:
        _Keepers.count += 1
        _of_c("mallopt", MAPPED, MOST)
        _of_c("mallopt", KEPT, 4 * MOST)
    try:
        yield
    finally:
        with _Keepers.lock:
            _Keepers.count -= 1
            if not _Keepers.count:
                _of_c("mallopt", MAPPED, _said("MALLOC_MMAP_THRESHOLD_"))
                _of_c("mallopt", KEPT, _said(ONCE))
                _of_c("malloc_trim", 0)


def _said(name: str) -> int:
    """A threshold as the process was told it."""
    said = os.environ.get(name, "")
    return int(said) if said.isdigit() else USUAL


def _of_c(name: str, *given: int) -> None:
    """Call a function of glibc, where there is that."""
    found = getattr(ctypes.CDLL(None), name, None) if sys.platform == "linux" else None
    if found is not None:
        found(*given)


def give_back(size: int) -> None:
    """What nobody needs goes back to the system, if there were as many numbers of rows: young objects that
    refer to themselves (to look at the old ones took a fifth of a fit of 10⁶ rows on a cluster), what C keeps
    of arrays of up to 32 MB, and Arrow of what it decoded. A sample left 300 MB of these to scans.
    """
    if size < LARGE:
        return
    gc.collect(1)
    arrow = sys.modules.get("pyarrow")
    if arrow is not None:
        arrow.default_memory_pool().release_unused()
    _of_c("malloc_trim", 0)
