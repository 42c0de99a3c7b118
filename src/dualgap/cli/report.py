"""One page about a model file: what was fitted, what is proven, the weights. It needs no server."""

from __future__ import annotations

import argparse

from dualgap.cli.console import OK, Console


def arguments(parser: argparse.ArgumentParser) -> None:
    """What `dualgap report` takes."""
    parser.add_argument("model", metavar="MODEL", help="a model file")
    parser.add_argument(
        "rows", metavar="DATA", nargs="?", help="the rows of the fit, for residuals and errors"
    )
    parser.add_argument("--format", metavar="F", help="csv, parquet, feather, libsvm, npy or npz, if unclear")
    parser.add_argument(
        "--target", metavar="COL", help="the target, for a model that was not fitted on a file"
    )
    parser.add_argument(
        "--out", metavar="PAGE", default="report.html", help="the page (default: report.html)"
    )


def run(args: argparse.Namespace, console: Console) -> int:
    """Load the model, and the rows where they are given, and write the page."""
    import dualgap as dg
    from dualgap.cli import pages
    from dualgap.cli.model import recipe_for
    from dualgap.tables.prepare import default_target, repeat
    from dualgap.tables.read import read_rows

    solution = dg.load(args.model)
    rows = None
    if args.rows:
        raw = read_rows(args.rows, absent=solution.recipe.absent if solution.recipe else (), form=args.format)
        target = args.target or (solution.recipe.target if solution.recipe else default_target(raw))
        again = repeat(raw, recipe_for(solution, raw, target))
        rows = (again.X, again.y)
    pages.write(solution, args.out, console, data=rows)
    console.result({"out": args.out})
    return OK
