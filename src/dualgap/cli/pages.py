"""The report page of a verb, asked for early: a page that cannot be made is refused before the work."""

from __future__ import annotations

import importlib
import importlib.util
import shlex
import sys
from collections.abc import Callable
from typing import Any

from dualgap.errors import MissingPackageError

Write = Callable[[Any, tuple[Any, Any] | None, list[str]], None]


def writer(path: str | None) -> Write | None:
    """A function that writes the page of a fit, a path or a search; None where none is wanted."""
    if path is None:
        return None
    if importlib.util.find_spec("dualgap.report") is None:
        raise MissingPackageError("This dualgap comes without report pages.")
    report = importlib.import_module("dualgap.report")

    def write(thing: Any, rows: tuple[Any, Any] | None, notes: list[str]) -> None:
        report.write(thing, path, data=rows, notes=tuple(notes), command=command())

    return write


def command() -> str:
    """The command line as it can be typed again."""
    return shlex.join(["dualgap", *sys.argv[1:]])
