"""Choose the strength on rows held out, and fit it on all of them."""

from __future__ import annotations

import argparse

from dualgap.cli import options
from dualgap.cli.answer import refuse_interrupted, tell
from dualgap.cli.console import Console
from dualgap.cli.in_python import Call
from dualgap.cli.outputs import add_force

SHOWN = 20  # lines of the table


def arguments(parser: argparse.ArgumentParser) -> None:
    """What `dualgap cv` takes."""
    options.add_rows(parser)
    parser.add_argument("--folds", type=int, default=5, metavar="K", help="folds (default: 5)")
    parser.add_argument("--score", default="loss", help="loss, zero_one or the name of a scikit-learn scorer")
    parser.add_argument("--rule", choices=("min", "1se"), default="min", help="which choice (default: min)")
    parser.add_argument("--points", type=int, default=100, metavar="N", help="strengths tried (default: 100)")
    parser.add_argument("--jobs", type=int, metavar="J", help="folds side by side")
    parser.add_argument("--seed", type=int, default=0, help="how rows fall into folds (default: 0)")
    parser.add_argument("--out", metavar="FILE", help="write the chosen model here (JSON)")
    parser.add_argument("--report", metavar="PAGE", help="write a page about the search here (HTML)")
    options.add_columns(parser)
    options.add_objective(parser)
    options.add_solving(parser)
    add_force(parser)


def run(args: argparse.Namespace, console: Console) -> int:
    """Search, show the curve, fit."""
    import numpy as np

    import dualgap as dg
    from dualgap.cli.prepared_task import task_of

    task, how = task_of(args, console), options.Solving(args)
    choice = {"cv": args.folds, "score": args.score, "rule": args.rule, "n_lams": args.points}
    keywords = {**task.search_keywords, **how.keywords(), **choice, "random_state": args.seed}
    search = dg.cross_validate(task.X, task.y, **keywords, n_jobs=args.jobs)
    refuse_interrupted(search)
    console.say(f"\n  {'lam':>12} {args.score:>12} {'± error':>10}")
    marked = {search.index_min: "best", search.index_1se: "within one error", search.index: "chosen"}
    picked = np.linspace(0, len(search.lams) - 1, min(SHOWN, len(search.lams))).astype(int)
    for k in sorted({*picked.tolist(), *marked}):
        line = f"  {search.lams[k]:>12.5g} {search.mean[k]:>12.6g} {search.se[k]:>10.2g}"
        console.say(f"{line}  {marked.get(k, '')}".rstrip())
    return tell(search.solution, search, task, Call("cross_validate", keywords), args, how, console)
