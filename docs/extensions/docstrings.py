"""Docstrings are plain text: signs that reStructuredText would read as markup are kept as they are."""

from __future__ import annotations

import re
from typing import Any

CODE = re.compile(r"(``[^`]+``|`[^`]+`)")
SIGNS = re.compile(r"([*|\\]|(?<=\w)_(?=\W|$))")
RAW = (">>>", "...", "----", ":")


def plain(app: Any, what: str, name: str, item: Any, options: Any, lines: list[str]) -> None:
    """Escape `*`, `|` and a trailing `_` outside code; examples and their output stay."""
    example = False
    for k, line in enumerate(lines):
        start = line.strip()
        example = start.startswith(">>>") or (example and bool(start))
        if not example and not start.startswith(RAW):
            lines[k] = escaped(line)


def escaped(text: str) -> str:
    """The same with backslashes before signs, outside backticks."""
    parts = CODE.split(text)
    return "".join(part if part.startswith("`") else SIGNS.sub(r"\\\1", part) for part in parts)


def setup(app: Any) -> dict[str, Any]:
    """Before napoleon reads sections."""
    app.connect("autodoc-process-docstring", plain, priority=400)
    return {"parallel_read_safe": True}
