"""A page on which strength, loss, penalty and ball are moved by hand. It needs no server."""

from __future__ import annotations

import argparse

from dualgap.cli import options
from dualgap.cli.console import OK, Console, UsageError
from dualgap.cli.outputs import add_force


def arguments(parser: argparse.ArgumentParser) -> None:
    """What `dualgap explore` takes."""
    options.add_rows(parser)
    parser.add_argument(
        "--out", metavar="PAGE", default="explore.html", help="the page (default: explore.html)"
    )
    parser.add_argument("--plane", nargs=2, metavar="COL", help="the two columns whose plane is shown first")
    parser.add_argument("--one", metavar="CLASS", help="the class that is set against the others")
    parser.add_argument(
        "--rows",
        dest="most",
        type=int,
        default=1000,
        metavar="N",
        help="rows at most, drawn at random (1000)",
    )
    parser.add_argument("--quantile", type=float, default=0.9, metavar="Q", help="of the quantile loss (0.9)")
    parser.add_argument(
        "--no-standardise", action="store_true", help="penalise the weights as they are, columns only centred"
    )
    parser.add_argument(
        "--tol", type=float, default=1e-6, help="relative duality gap to reach (default: 1e-6)"
    )
    parser.add_argument(
        "--max-time", type=float, default=300.0, metavar="S", help="seconds for all paths (default: 300)"
    )
    options.add_columns(parser)
    add_force(parser)


def run(args: argparse.Namespace, console: Console) -> int:
    """Read the rows, solve the paths, write the page."""
    from dualgap.cli.prepared_task import prepared_rows
    from dualgap.report import explore

    if args.most < 2:
        raise UsageError(f"--rows must be at least 2, not {args.most}.")
    if not 0.0 < args.quantile < 1.0:
        raise UsageError(f"--quantile is strictly between 0 and 1, not {args.quantile:g}.")
    prepared, target = prepared_rows(args, console)
    page = explore(
        prepared.X,
        prepared.y,
        args.out,
        names=prepared.recipe.names,
        target=target,
        sample_weight=prepared.weights,
        standardize=not args.no_standardise,
        columns=tuple(args.plane) if args.plane else None,
        one=args.one,
        rows=args.most,
        quantile=args.quantile,
        tol=args.tol,
        max_time=args.max_time,
        tell=console.say,
    )
    size = page.stat().st_size
    console.say(f"\npage of {size / 1e6:.1f} MB written to {page}; open it in a browser")
    console.result({"out": str(page), "bytes": size})
    return OK
