"""A page on which strength, loss, penalty and ball are moved by hand, and the pictures follow."""

from __future__ import annotations

from dualgap.report.explorer.page import explore

__all__ = ["explore"]
