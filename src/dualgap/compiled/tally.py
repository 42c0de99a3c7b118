"""What this process has compiled, and where it is kept."""

from __future__ import annotations

from dualgap.compiled.mechanism import COMPILED, cache_folder
from dualgap.compiled.unhurried import Patience


def compiled_so_far() -> int:
    """Loops that Python calls, one for each kind of arguments."""
    entrances = [loop for loop in COMPILED if not loop.targetoptions.get("no_cpython_wrapper")]
    return sum(sum(loop.stats.cache_misses.values()) for loop in entrances)


def compile_at_once() -> None:
    """From now on nothing runs uncompiled for a while."""
    Patience.given = 0.0


def kept_in() -> str:
    """The folder; empty if none can be written."""
    return str(cache_folder() or "")
