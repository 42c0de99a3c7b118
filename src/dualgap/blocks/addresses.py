"""A limit of addresses (`ulimit -v`): what is left of it, and who must not waste it."""

from __future__ import annotations

import os
import sys
from pathlib import Path

try:
    import resource
except ImportError:  # not every system has such limits
    resource = None  # type: ignore[assignment]


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
    """Arrow's own allocator reserves a gigabyte of addresses at once: not where these are limited."""
    if "pyarrow" not in sys.modules and addresses_left() is not None:
        os.environ.setdefault("ARROW_DEFAULT_MEMORY_POOL", "system")
