"""Who needs too much memory says so, and how much, before the machine begins to swap."""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from pathlib import Path

from dualgap.blocks.addresses import addresses_left

SHARE = 0.8  # of what is free
LITTLE = 32 << 20  # bytes that are always there, so that nobody need be asked
UNKNOWN = 8 << 30  # bytes, where nobody says
LATELY = 0.5  # seconds for which solvers that are asked one after another hear the same
_HEARD: dict[Callable[[], int], tuple[float, int]] = {}


def too_large(order: int, copies: float) -> tuple[str, ...]:
    """The sentence for dense matrices of this order, `copies` of them at once; empty if there is room."""
    needed = copies * 8.0 * order * order
    if needed <= LITTLE or needed <= SHARE * _heard(free_bytes):
        return ()
    return (
        f"needs {needed / 2**30:.1f} GiB for dense {order}×{order} systems, "
        f"{free_bytes() / 2**30:.1f} GiB are free",
    )


def _heard(ask: Callable[[], int]) -> int:
    """What was answered lately: three files are read for it."""
    now = time.monotonic()
    at, found = _HEARD.get(ask, (float("-inf"), 0))
    if now - at > LATELY:
        _HEARD.clear()
        _HEARD[ask] = at, found = now, ask()
    return found


def free_bytes() -> int:
    """What the machine, or the container, can still give."""
    try:
        lines = Path("/proc/meminfo").read_text(encoding="ascii").splitlines()
        free = next(1024 * int(line.split()[1]) for line in lines if line.startswith("MemAvailable"))
    except (OSError, StopIteration, ValueError):
        try:
            free = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") // 2
        except (AttributeError, OSError, ValueError):
            return UNKNOWN
    left = addresses_left()
    return min(free, _container_limit(), free if left is None else left)


def _container_limit() -> int:
    try:
        limit = Path("/sys/fs/cgroup/memory.max").read_text(encoding="ascii").strip()
        used = int(Path("/sys/fs/cgroup/memory.current").read_text(encoding="ascii"))
        return int(limit) - used
    except (OSError, ValueError):  # no container, or one without a limit
        return 1 << 62
