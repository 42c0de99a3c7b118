"""One page about a model file: what was fitted, what is proven, the weights. It needs no server."""

from __future__ import annotations

import argparse

from dualgap.cli import options
from dualgap.cli.console import OK, Console
from dualgap.cli.outputs import add_force


def arguments(parser: argparse.ArgumentParser) -> None:
    """What `dualgap report` takes."""
    parser.add_argument("model", metavar="MODEL", help="a model file")
    parser.add_argument(
        "rows", metavar="DATA", nargs="?", help="the rows of the fit, for residuals and errors"
    )
    options.add_format(parser)
    options.add_target(parser)
    parser.add_argument(
        "--out", metavar="PAGE", default="report.html", help="the page (default: report.html)"
    )
    add_force(parser)


def run(args: argparse.Namespace, console: Console) -> int:
    """Load the model, and the rows where they are given, and write the page."""
    import dualgap as dg
    from dualgap.cli import pages
    from dualgap.cli.model import opened, repeated

    if args.rows:
        solution, raw = opened(args)
        rows = repeated(solution, raw, args.target)
        effects = pages.effects(solution, rows.sample)
        pages.write(solution, args.out, console, data=(rows.X, rows.y, rows.offset), effects=effects)
    else:
        pages.write(dg.load(args.model), args.out, console)
    console.result({"out": args.out})
    return OK
