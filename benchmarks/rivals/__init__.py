"""One file per rival. Each has `ladder(problem)`: a list of (label, solve), loosest first.

`solve()` returns (w, b) and is what is timed; it must copy X where the rival is known to write to it.
"""

from __future__ import annotations

import importlib
from collections.abc import Callable
from typing import TypeAlias

import numpy as np

from benchmarks.problems import Problem

Solve: TypeAlias = Callable[[], tuple[np.ndarray, float]]
Ladder: TypeAlias = list[tuple[str, Solve]]

TOLERANCES = (1e-2, 1e-3, 1e-4, 1e-5, 1e-6, 1e-7, 1e-8, 1e-9, 1e-10)


def ladder(name: str, problem: Problem) -> Ladder:
    """The rival's ladder; empty where it cannot do the problem or is not installed."""
    try:
        module = importlib.import_module(f"benchmarks.rivals.{name}")
    except ImportError:
        return []
    found: Ladder = module.ladder(problem)
    return found


def number(text: str) -> float:
    """The argument of "name(argument)"."""
    return float(text.partition("(")[2][:-1])
