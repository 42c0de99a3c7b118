"""Which solvers there are, which fit a problem, and why the others do not.

Every solver is for one kind of problem, and every problem tells its kind: "convex" (one vector of weights),
"multinomial" and "joint hinge" (all classes at once), "outputs" (stacked), "quantiles" (that may not cross),
"search" (not convex), "kernel", "kernel levels" (ν)
and two kinds of "margin" (C = ∞).
"""

from __future__ import annotations

import difflib
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Protocol, TypeVar

from dualgap.drive.solver import Attempting
from dualgap.errors import NoSolverError

SOLVERS: dict[str, type[Any]] = {}
MANUAL: set[str] = set()  # run only when asked for by name
GIVEN: set[str] = set()  # work on the problem as it was asked
AT_ONCE: dict[str, list[type[Any]]] = {}  # by kind: may need neither good coordinates nor a comparison
BY_NAME = (
    "convex",
    "multinomial",
    "joint hinge",
    "outputs",
    "quantiles",
    "search",
)  # kinds whose solvers can be asked for by `solver=`
PROBLEMS = {
    "convex": "convex problems",
    "multinomial": "the multinomial problem",
    "joint hinge": "the joint hinge of many classes",
    "outputs": "several outputs jointly",
    "quantiles": "quantiles that do not cross",
    "search": "problems that are not convex",
}

S = TypeVar("S")


class Asked(Protocol):
    """A problem that solvers are looked for."""

    @property
    def kind(self) -> str:
        """Which solvers it is for."""


@dataclass(frozen=True)
class Verdict:
    """Why a solver would or would not run, and its guess of the work."""

    name: str
    missing: tuple[str, ...]
    cost: float
    manual: bool


def solver(
    name: str, *, kind: str = "convex", manual: bool = False, given: bool = False
) -> Callable[[type[S]], type[S]]:
    """Class decorator: enter the solver under its public name, for problems of a kind.

    `manual` keeps it out of "auto"; `given` hands it the problem exactly as it was asked, not preconditioned.
    """

    def enter(cls: type[S]) -> type[S]:
        cls.name, cls.kind = name, kind  # type: ignore[attr-defined]
        SOLVERS[name] = cls
        if manual:
            MANUAL.add(name)
        if given:
            GIVEN.add(name)
        if hasattr(cls, "at_once"):
            AT_ONCE.setdefault(kind, []).append(cls)
        return cls

    return enter


def of_kind(*kinds: str) -> dict[str, type[Any]]:
    """The solvers for problems of these kinds, by name; outputs are stacked as one convex problem."""
    meant = {*kinds, "convex"} if "outputs" in kinds else set(kinds)
    return {name: cls for name, cls in SOLVERS.items() if cls.kind in meant}


def verdicts(problem: Asked, *, manual: bool = True) -> list[Verdict]:
    """One verdict per solver of this kind: the usable ones first, cheapest first, then those that do not fit.

    Without `manual` those that "auto" does not run are not asked.
    """
    found = []
    for name, cls in of_kind(problem.kind).items():
        if name in MANUAL and not manual:
            continue
        candidate = cls()
        missing = lacking(candidate, problem)
        cost = float("inf") if missing else candidate.cost(problem)
        found.append(Verdict(name, missing, cost, name in MANUAL))
    return sorted(found, key=lambda v: (bool(v.missing), v.manual, v.cost))


def lacking(candidate: Any, problem: Any) -> tuple[str, ...]:
    """What keeps a solver from this problem. Bounds and constraints are only for those that declare them."""
    able = getattr(candidate, "bounded", "")
    if getattr(problem, "bounded", False) and not able:
        return ("the weights have bounds or constraints",)
    if getattr(problem, "constraints", None) is not None and "constraints" not in able:
        return ("the weights have linear constraints",)
    found: tuple[str, ...] = candidate.missing(problem)
    return found


def at_once(problem: Any) -> Any:
    """The solver that no other can beat on the problem exactly as it was asked, None if none says so."""
    bounded = problem.bounded
    for cls in AT_ONCE.get(problem.kind, ()):
        candidate = cls()
        found = None if bounded and lacking(candidate, problem) else candidate.at_once(problem)
        if found is not None:
            return found
    return None


def candidates(problem: Asked, asked: Any) -> list[Any]:
    """The solvers to try in turn: the one asked for, or for "auto" every usable one by cost."""
    if asked != "auto" or not isinstance(asked, str):
        chosen = named(asked, problem.kind) if isinstance(asked, str) else asked
        _insist(chosen, problem)
        return [chosen]
    usable = [v for v in verdicts(problem, manual=False) if not v.missing]
    if not usable:
        raise NoSolverError(refusal(problem))
    turns = [turn for v in usable for turn in _turns(v, problem)]
    return [turn for _, turn in sorted(turns, key=lambda turn: turn[0])]


def _turns(verdict: Verdict, problem: Any) -> list[tuple[float, Any]]:
    chosen = SOLVERS[verdict.name]()
    return chosen.attempts(problem) if isinstance(chosen, Attempting) else [(verdict.cost, chosen)]


def named(name: str, kind: str = "convex") -> Any:
    """The solver of that name with its default options."""
    known = of_kind(kind)
    if name in known:
        return known[name]()
    if name in SOLVERS:
        raise NoSolverError(_elsewhere(name, kind))
    close = difflib.get_close_matches(name, known, n=1)
    hint = f" Did you mean {close[0]!r}?" if close else ""
    raise NoSolverError(f"There is no solver {name!r}.{hint} Known: auto, {', '.join(sorted(known))}.")


def _elsewhere(name: str, kind: str) -> str:
    """What to say of a solver for problems of another kind."""
    others = ' Or ask for multiclass="one_vs_rest".' if kind in ("multinomial", "joint hinge") else ""
    able = ", ".join(sorted(of_kind(kind)))
    return f"The solver {name!r} does not solve {PROBLEMS[kind]}; these do: auto, {able}.{others}"


def as_given(asked: Any) -> bool:
    """Does this solver want the problem as it was asked?"""
    return (asked if isinstance(asked, str) else asked.name) in GIVEN


def refusal(problem: Asked) -> str:
    """One line per solver: why it does not fit."""
    lines = [f"  {v.name}: {'; '.join(v.missing)}" for v in verdicts(problem) if v.missing]
    return "No solver fits this problem:\n" + "\n".join(lines)


def _insist(chosen: Any, problem: Asked) -> None:
    if hasattr(chosen, "kind") and chosen.kind not in {cls.kind for cls in of_kind(problem.kind).values()}:
        raise NoSolverError(_elsewhere(chosen.name, problem.kind))
    missing = lacking(chosen, problem)
    if missing:
        able = [v.name for v in verdicts(problem) if not v.missing]
        raise NoSolverError(
            f"The solver {chosen.name!r} cannot do this: {'; '.join(missing)}. "
            f"These can: {', '.join(able) or 'none'}."
        )
