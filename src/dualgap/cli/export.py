"""Write a model for other programs: ONNX (.onnx), a Python file without dependencies (.py), or SQL (.sql)."""

from __future__ import annotations

import argparse

from dualgap.cli.console import OK, Console, UsageError
from dualgap.cli.outputs import add_force


def arguments(parser: argparse.ArgumentParser) -> None:
    """What `dualgap export` takes."""
    parser.add_argument("model", metavar="MODEL", help="a model file")
    parser.add_argument("out", metavar="FILE", help="a file whose name ends in .onnx, .py or .sql")
    parser.add_argument("--table", default="data", help="the table that the SQL query reads (default: data)")
    add_force(parser)


def run(args: argparse.Namespace, console: Console) -> int:
    """Load and export."""
    import dualgap as dg
    from dualgap.files.export import WAYS

    if not args.out.endswith(tuple(WAYS)):
        raise UsageError(f"A model is exported to a file that ends in {', '.join(WAYS)}, not {args.out!r}.")
    solution = dg.load(args.model)
    solution.export(args.out, table=args.table)
    console.say(f"written to {args.out}")
    if args.out.endswith(".onnx"):
        from dualgap.files.onnx_graph import takes

        console.say(f"it takes {takes(solution)}")
    console.result({"out": args.out})
    return OK
