"""One page about a fit, a path or a search: a single HTML file that needs no server and no network."""

from __future__ import annotations

from dualgap.report.page import write

__all__ = ["write"]
