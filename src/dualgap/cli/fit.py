"""Fit a model to a file of rows: the weights, what is proven of them, and a model file to keep."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING, Any

from dualgap.cli import options
from dualgap.cli.console import INTERRUPTED, Console, ending

if TYPE_CHECKING:
    from dualgap.cli.task import Task
    from dualgap.fitting.solution import Solution
    from dualgap.selection.search import Search

LONG = 20_000  # rows


def arguments(parser: argparse.ArgumentParser) -> None:
    """What `dualgap fit` takes."""
    options.add_rows(parser)
    parser.add_argument("--out", metavar="FILE", help="write the model here (JSON)")
    parser.add_argument("--report", metavar="PAGE", help="write a page about the fit here (HTML)")
    options.add_columns(parser)
    options.add_objective(parser)
    options.add_strength(parser)
    options.add_solving(parser)


def run(args: argparse.Namespace, console: Console) -> int:
    """Read, fit, say, save."""
    from dualgap.cli import pages
    from dualgap.cli.task import task_of

    task, how = task_of(args, console), options.Solving(args)
    solution, search = solve(task, args, how, console)
    if search is not None and search.interrupted:
        console.warn(search.status)
        return INTERRUPTED
    assert solution is not None
    solution = task.named(solution)
    console.say()
    console.say(solution.summary())
    if args.out:
        solution.save(args.out, data=task.rows)
        console.say(f"\nmodel written to {args.out}; check it with: dualgap verify {args.out} {args.rows}")
    if args.report and search is not None:
        search.solution = solution
        path = pages.along(task, search, how, console)
        pages.write(search, args.report, console, data=task.rows, along=path)
    elif args.report:
        pages.write(solution, args.report, console, data=task.rows)
    console.result(described(solution) | {"model": args.out, "report": args.report})
    return ending(solution)


def solve(
    task: Task, args: argparse.Namespace, how: options.Solving, console: Console
) -> tuple[Solution | None, Search | None]:
    """At the strength given, or at the one that cross-validation chooses; then with the search."""
    import dualgap as dg
    from dualgap.drive.progress import GapProgress
    from dualgap.fitting.names import penalty_named

    strength = {name: getattr(args, name) for name in ("lam", "C", "budget")}
    given = any(value is not None for value in strength.values())
    if given or not penalty_named(args.penalty).takes_strength:
        with GapProgress(args.tol) as progress:
            keywords = {**task.keywords, **strength, **how.keywords()}
            return dg.fit(task.X, task.y, **keywords, callback=progress), None
    folds = args.cv or 5
    points = 100 if len(task.y) <= LONG else 20  # with many rows neighbouring strengths hardly differ
    choice = {"cv": folds, "rule": args.rule, "random_state": 0, "n_lams": points}
    search = dg.cross_validate(task.X, task.y, **task.keywords, **how.keywords(), **choice)
    if search.interrupted:
        return None, search
    asked = "" if args.cv else "no strength was given: "
    console.note(f"{asked}lam = {search.lam:.6g} by {folds}-fold cross-validation, rule {args.rule}")
    if search.index in (0, len(search.lams) - 1):
        end = "largest: the columns hardly help" if search.index == 0 else "smallest: a penalty hardly helps"
        console.note(f"of the {len(search.lams)} strengths tried that is the {end}")
    return search.solution, search


def described(solution: Solution) -> dict[str, Any]:
    """A solution for machines."""
    names = solution.names
    return {
        "objective_in_words": solution.terms.words(),
        "loss": solution.loss,
        "penalty": solution.penalty,
        "lam": solution.terms.lam,
        "budget": solution.terms.budget,
        "objective": solution.objective,
        "bound": solution.bound,
        "gap": solution.gap,
        "relative_gap": solution.relative_gap,
        "converged": solution.converged,
        "status": solution.status,
        "solver": solution.solver,
        "seconds": solution.seconds,
        "names": None if names is None else list(names),
        "classes": None if solution.classes is None else solution.classes,
        "coef": solution.coef,
        "intercept": solution.intercept,
    }
