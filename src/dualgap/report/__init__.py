"""Pages: about a fit, a path or a search, and one to explore. Single HTML files, no server, no network."""

from __future__ import annotations

from dualgap.report.explorer import explore
from dualgap.report.page import write

__all__ = ["explore", "write"]
