"""Which searches there are, which fit a problem, and why the others do not."""

from __future__ import annotations

import difflib
from collections.abc import Callable
from typing import Any, TypeVar

from dualgap.discrete.base import Search
from dualgap.drive.registry import Verdict
from dualgap.errors import NoSolverError
from dualgap.problem.problem import Problem

SEARCHES: dict[str, type[Search]] = {}
MANUAL: set[str] = set()  # run only when asked for by name

S = TypeVar("S")


def search(name: str, *, manual: bool = False) -> Callable[[type[S]], type[S]]:
    """Class decorator: enter the search under its public name. `manual` keeps it out of "auto"."""

    def enter(cls: type[S]) -> type[S]:
        cls.name = name  # type: ignore[attr-defined]
        SEARCHES[name] = cls  # type: ignore[assignment]
        if manual:
            MANUAL.add(name)
        return cls

    return enter


def verdicts(problem: Problem) -> list[Verdict]:
    """One verdict per search: the usable ones first, cheapest first, then those that do not fit."""
    found = []
    for name, cls in SEARCHES.items():
        candidate = cls()
        missing = candidate.missing(problem)
        cost = float("inf") if missing else candidate.cost(problem)
        found.append(Verdict(name, missing, cost, name in MANUAL))
    return sorted(found, key=lambda v: (bool(v.missing), v.manual, v.cost))


def choose(problem: Problem, asked: Any) -> Search:
    """The search asked for, by name or as an object, or the cheapest for "auto"."""
    if isinstance(asked, str) and asked == "auto":
        able = [v.name for v in verdicts(problem) if not v.missing and not v.manual]
        if not able:
            raise NoSolverError(_refusal(problem))
        return SEARCHES[able[0]]()
    chosen = named(asked) if isinstance(asked, str) else asked
    if not hasattr(chosen, "findings"):
        raise NoSolverError(
            f"{asked!r} is a solver of convex problems, this one is not convex. {_able(problem)}"
        )
    missing = chosen.missing(problem)
    if missing:
        raise NoSolverError(
            f"The solver {chosen.name!r} cannot do this: {'; '.join(missing)}. {_able(problem)}"
        )
    found: Search = chosen
    return found


def named(name: str) -> Search:
    """The search of that name with its default options."""
    if name not in SEARCHES:
        close = difflib.get_close_matches(name, SEARCHES, n=1)
        hint = f" Did you mean {close[0]!r}?" if close else ""
        known = ", ".join(sorted(SEARCHES))
        raise NoSolverError(
            f"There is no solver {name!r} for a problem that is not convex.{hint} Known: auto, {known}."
        )
    return SEARCHES[name]()


def _able(problem: Problem) -> str:
    able = [v.name for v in verdicts(problem) if not v.missing]
    return f"These can: {', '.join(able) or 'none'}."


def _refusal(problem: Problem) -> str:
    lines = [f"  {v.name}: {'; '.join(v.missing)}" for v in verdicts(problem) if v.missing]
    return "No solver fits this problem:\n" + "\n".join(lines)
