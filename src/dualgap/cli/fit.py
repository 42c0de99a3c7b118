"""Fit a model to a file of rows: the weights, what is proven of them, and a model file to keep."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING

from dualgap.cli import options
from dualgap.cli.answer import refuse_interrupted, tell
from dualgap.cli.console import Console
from dualgap.cli.in_python import Call
from dualgap.cli.outputs import add_force

if TYPE_CHECKING:
    from dualgap.cli.prepared_task import PreparedTask
    from dualgap.fitting.solution import Solution
    from dualgap.selection.search import Search

LONG = 20_000  # rows, a choice: with more of them neighbouring strengths hardly differ, and fewer are tried


def arguments(parser: argparse.ArgumentParser) -> None:
    """What `dualgap fit` takes."""
    options.add_rows(parser, many=True)
    parser.add_argument("--out", metavar="FILE", help="write the model here (JSON)")
    parser.add_argument("--report", metavar="PAGE", help="write a page about the fit here (HTML)")
    parser.add_argument(
        "--intervals",
        type=float,
        nargs="?",
        const=0.95,
        metavar="LEVEL",
        help="intervals of the weights (0.95)",
    )
    parser.add_argument(
        "--intervals-by",
        metavar="METHOD",
        help="classical, robust, sandwich, rank or bootstrap",
    )
    options.add_test(parser)
    options.add_columns(parser)
    options.add_objective(parser)
    options.add_strength(parser)
    options.add_solving(parser)
    add_force(parser)


def run(args: argparse.Namespace, console: Console) -> int:
    """Read, fit, say, save."""
    from dualgap.cli import streamed
    from dualgap.cli.prepared_task import task_of, with_test

    if streamed.streams(args):
        return streamed.fit(args, console)
    args.rows = args.rows[0]
    task, how = with_test(task_of(args, console), args, console), options.Solving(args)
    solution, search, call = solve(task, args, how, console)
    return tell(solution, search, task, call, args, how, console)


def solve(
    task: PreparedTask, args: argparse.Namespace, how: options.Solving, console: Console
) -> tuple[Solution, Search | None, Call]:
    """At the strength given, or at the one that cross-validation chooses; then with the search."""
    import dualgap as dg
    from dualgap.drive.progress import GapProgress
    from dualgap.fitting.names import penalty_named

    strength = {name: getattr(args, name) for name in ("lam", "C", "budget")}
    given = any(value is not None for value in strength.values())
    if given or not penalty_named(args.penalty).takes_strength:
        with GapProgress(args.tol) as progress:
            keywords = {**task.keywords, **strength, **how.keywords()}
            return dg.fit(task.X, task.y, **keywords, callback=progress), None, Call("fit", keywords)
    folds = args.cv or 5
    points = 100 if len(task.y) <= LONG else 20
    choice = {"cv": folds, "rule": args.rule, "random_state": 0, "n_lams": points}
    keywords = {**task.search_keywords, **how.keywords(), **choice}
    search = dg.cross_validate(task.X, task.y, **keywords)
    refuse_interrupted(search)
    asked = "" if args.cv else "no strength was given: "
    console.note(f"{asked}lam = {search.lam:.6g} by {folds}-fold cross-validation, rule {args.rule}")
    if search.index in (0, len(search.lams) - 1):
        end = "largest: the columns hardly help" if search.index == 0 else "smallest: a penalty hardly helps"
        console.note(f"of the {len(search.lams)} strengths tried that is the {end}")
    return search.solution, search, Call("cross_validate", keywords)
