"""Who wrote a file: the version of this package."""

from __future__ import annotations

from dualgap import __version__


def maker() -> str:
    """dualgap and its version."""
    return f"dualgap {__version__}"
