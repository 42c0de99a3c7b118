"""What `dualgap fit` and `dualgap cv` do with a solution: say it, keep it, make a page of it."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING, Any

from dualgap.cli.console import INTERRUPTED, NOT_PROVEN, OK, Console

if TYPE_CHECKING:
    from dualgap.cli.options import Solving
    from dualgap.cli.prepared_task import PreparedTask
    from dualgap.fitting.solution import Solution
    from dualgap.selection.search import Search


def tell(
    solution: Solution,
    search: Search | None,  # that chose its strength, where there was one
    task: PreparedTask,
    args: argparse.Namespace,
    how: Solving,
    console: Console,
) -> int:
    """To people, to the files that were asked for, to machines; the exit code."""
    from dualgap.cli import pages

    solution = task.named(solution)
    console.say(f"\n{solution.summary()}")
    if args.out:
        solution.save(args.out, data=task.rows)
        console.say(f"\nmodel written to {args.out}; check it with: dualgap verify {args.out} {args.rows}")
    if args.report and search is not None:
        search.solution = solution
        path = pages.along(task, search, how, console)
        pages.write(search, args.report, console, data=task.rows, along=path)
    elif args.report:
        pages.write(solution, args.report, console, data=task.rows)
    told = described(solution)
    if search is not None:
        told |= {name: getattr(search, name) for name in ("lams", "mean", "se", "lam_min", "lam_1se")}
        told["status"] = f"{search.status} {solution.status}"
    console.result(told | {"model": args.out, "report": args.report})
    return ending(solution)


def refuse_interrupted(search: Search) -> None:
    """One Ctrl-C ends the command, not only its folds."""
    if search.interrupted:
        raise KeyboardInterrupt(search.status)


def ending(solution: Solution) -> int:
    """The exit code of a fit."""
    from dualgap.drive.limits import Status

    if solution.status == Status.INTERRUPTED.value:
        return INTERRUPTED
    return OK if solution.converged else NOT_PROVEN


def described(solution: Solution) -> dict[str, Any]:
    """A solution for machines."""
    terms = solution.terms
    told = {"objective_in_words": terms.words(), "lam": terms.lam, "budget": terms.budget}
    names = ("loss", "penalty", "objective", "bound", "gap", "relative_gap", "converged", "status", "solver")
    more = ("seconds", "names", "classes", "coef", "intercept")
    return told | {name: getattr(solution, name) for name in (*names, *more)}
