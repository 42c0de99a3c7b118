"""Pages that show what the package says or does are read again when the package changes."""

from __future__ import annotations

from functools import cache
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[2]
FOLDERS = ("src", "examples", "docs/extensions")


@cache
def sources() -> tuple[Path, ...]:
    """Every Python file that a page may depend on."""
    return tuple(sorted(file for folder in FOLDERS for file in (ROOT / folder).rglob("*.py")))


def depends_on_sources(env: Any) -> None:
    """Note it for the page that is being read."""
    for file in sources():
        env.note_dependency(str(file))
