"""What a table of seconds has to say beside them: the machine and the versions."""

from __future__ import annotations

import os
import platform
from importlib import metadata
from pathlib import Path

PACKAGES = (
    "dualgap",
    "numpy",
    "scipy",
    "scikit-learn",
    "numba",
    "skglm",
    "celer",
    "adelie",
    "glum",
    "snapml",
    "cvxpy",
    "clarabel",
    "piqp",
    "asgl",
)


def versions() -> dict[str, str]:
    """Of us, of what we stand on and of the rivals that are installed."""
    found = {}
    for name in PACKAGES:
        try:
            found[name] = metadata.version(name)
        except metadata.PackageNotFoundError:
            continue
    return found


def machine() -> str:
    """The processor."""
    try:
        lines = Path("/proc/cpuinfo").read_text().splitlines()
        model = next(line.split(":")[1].strip() for line in lines if line.startswith("model name"))
    except (OSError, StopIteration):
        model = platform.processor()
    return f"{model}, {os.cpu_count()} cores, one thread used"


def heading() -> str:
    """Both in a line."""
    return f"{machine()}; " + ", ".join(f"{name} {version}" for name, version in versions().items())
