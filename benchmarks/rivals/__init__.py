"""One file per rival. Each has `ladder(problem)`: a list of (label, solve), loosest first.

`solve()` returns (w, b) and is what is timed; it must copy X where the rival is known to write to it. Our
own returns θ too. A module that sets COMPILES has its first run thrown away however long it took.
"""

from __future__ import annotations

import importlib
from collections.abc import Callable
from types import ModuleType
from typing import Any, TypeAlias

from benchmarks.problems import Problem

Solve: TypeAlias = Callable[[], tuple[Any, ...]]
Ladder: TypeAlias = list[tuple[str, Solve]]

TOLERANCES = (1e-2, 1e-3, 1e-4, 1e-5, 1e-6, 1e-7, 1e-8, 1e-9, 1e-10)


def ladder(name: str, problem: Problem) -> Ladder:
    """The rival's ladder; empty where it cannot do the problem or is not installed."""
    module = _module(name)
    found: Ladder = module.ladder(problem) if module is not None else []
    return found


def compiles(name: str) -> bool:
    """Does this rival compile in its first run?"""
    return bool(getattr(_module(name), "COMPILES", False))


def _module(name: str) -> ModuleType | None:
    try:
        return importlib.import_module(f"benchmarks.rivals.{name}")
    except ImportError:
        return None


def number(text: str) -> float:
    """The argument of "name(argument)"."""
    return float(text.partition("(")[2][:-1])
