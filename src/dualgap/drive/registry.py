"""Which solvers there are, which fit a problem, and why the others do not."""

from __future__ import annotations

import difflib
from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeVar

from dualgap.drive.solver import Attempting, Solver
from dualgap.errors import NoSolverError
from dualgap.problem.problem import Problem

SOLVERS: dict[str, type[Solver]] = {}
MANUAL: set[str] = set()  # run only when asked for by name
GIVEN: set[str] = set()  # work on the problem as it was asked

S = TypeVar("S")


def solver(name: str, *, manual: bool = False, given: bool = False) -> Callable[[type[S]], type[S]]:
    """Class decorator: enter the solver under its public name.

    `manual` keeps it out of "auto"; `given` hands it the problem exactly as it was asked, not preconditioned.
    """

    def enter(cls: type[S]) -> type[S]:
        cls.name = name  # type: ignore[attr-defined]
        SOLVERS[name] = cls  # type: ignore[assignment]
        if manual:
            MANUAL.add(name)
        if given:
            GIVEN.add(name)
        return cls

    return enter


@dataclass(frozen=True)
class Verdict:
    """Why a solver would or would not run, and its guess of the work."""

    name: str
    missing: tuple[str, ...]
    cost: float
    manual: bool


def verdicts(problem: Problem, *, manual: bool = True) -> list[Verdict]:
    """One verdict per solver: the usable ones first, cheapest first, then those that do not fit.

    Without `manual` those that "auto" does not run are not asked.
    """
    found = []
    for name, cls in SOLVERS.items():
        if name in MANUAL and not manual:
            continue
        candidate = cls()
        missing = candidate.missing(problem)
        cost = float("inf") if missing else candidate.cost(problem)
        found.append(Verdict(name, missing, cost, name in MANUAL))
    return sorted(found, key=lambda v: (bool(v.missing), v.manual, v.cost))


def candidates(problem: Problem, asked: str | Solver) -> list[Solver]:
    """The solvers to try in turn: the one asked for, or for "auto" every usable one by cost."""
    if not isinstance(asked, str):
        _insist(asked, problem)
        return [asked]
    if asked != "auto":
        chosen = named(asked)
        _insist(chosen, problem)
        return [chosen]
    usable = [v for v in verdicts(problem, manual=False) if not v.missing]
    if not usable:
        raise NoSolverError(refusal(problem))
    turns = [turn for v in usable for turn in _turns(v, problem)]
    return [turn for _, turn in sorted(turns, key=lambda turn: turn[0])]


def _turns(verdict: Verdict, problem: Problem) -> list[tuple[float, Solver]]:
    chosen = SOLVERS[verdict.name]()
    return chosen.attempts(problem) if isinstance(chosen, Attempting) else [(verdict.cost, chosen)]


def named(name: str) -> Solver:
    """The solver of that name with its default options."""
    if name not in SOLVERS:
        close = difflib.get_close_matches(name, SOLVERS, n=1)
        hint = f" Did you mean {close[0]!r}?" if close else ""
        raise NoSolverError(f"There is no solver {name!r}.{hint} Known: auto, {', '.join(sorted(SOLVERS))}.")
    return SOLVERS[name]()


def as_given(asked: str | Solver) -> bool:
    """Does this solver want the problem as it was asked?"""
    return (asked if isinstance(asked, str) else asked.name) in GIVEN


def refusal(problem: Problem) -> str:
    """One line per solver: why it does not fit."""
    lines = [f"  {v.name}: {'; '.join(v.missing)}" for v in verdicts(problem) if v.missing]
    return "No solver fits this problem:\n" + "\n".join(lines)


def _insist(chosen: Solver, problem: Problem) -> None:
    missing = chosen.missing(problem)
    if missing:
        able = [v.name for v in verdicts(problem) if not v.missing]
        raise NoSolverError(
            f"The solver {chosen.name!r} cannot do this: {'; '.join(missing)}. "
            f"These can: {', '.join(able) or 'none'}."
        )
