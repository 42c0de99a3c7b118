"""Who wrote a file: the version of this package."""

from __future__ import annotations


def maker() -> str:
    """dualgap and its version, as installed."""
    from importlib import metadata

    try:
        return f"dualgap {metadata.version('dualgap')}"
    except metadata.PackageNotFoundError:
        return "dualgap"
