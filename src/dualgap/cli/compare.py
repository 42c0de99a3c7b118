"""Models side by side on the rows of a file: errors with their paired differences, and the weights."""

from __future__ import annotations

import argparse
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from dualgap.cli import options
from dualgap.cli.console import OK, Console, UsageError
from dualgap.cli.outputs import add_force

if TYPE_CHECKING:
    from dualgap.report.compared import Compared

POINTS = 9  # values of a number at which an effect is told: a choice, a table of them fits a screen


def arguments(parser: argparse.ArgumentParser) -> None:
    """What `dualgap compare` takes."""
    parser.add_argument("models", metavar="MODEL", nargs="+", help="two model files or more")
    options.add_rows(parser)
    parser.add_argument("--report", metavar="PAGE", help="write a page about it here (HTML)")
    options.add_target(parser)
    parser.add_argument(
        "--effect", metavar="COL", action="append", default=[], help="also what this column does in each"
    )
    parser.add_argument(
        "--hold-out", type=float, metavar="SHARE", help="only rows that all fits held out by this share"
    )
    add_force(parser)


def run(args: argparse.Namespace, console: Console) -> int:
    """Load, predict, compare."""
    from dualgap.report.compared import compared, page

    if len(args.models) < 2:
        raise UsageError(
            "Name two models or more, and the rows after them: dualgap compare a.json b.json data.csv."
        )
    judged = [_judged(args, model) for model in args.models]
    which = "models can predict"
    if args.hold_out is not None:
        judged, which = [_unseen(one, args.hold_out) for one in judged], "fits held out"
    found = compared(judged, tuple(_effects(judged, column) for column in args.effect), which)
    for title, head, lines in found.tables():
        console.say(f"\n{title}\n{_table(head, lines)}")
    console.say("")
    for verdict in found.verdicts():
        console.say(verdict)
    for note in found.notes:
        console.note(note)
    if args.report:
        page(found, args.report)
        console.say(f"page written to {args.report}")
    console.result(_machine(found) | {"verdicts": found.verdicts(), "report": args.report})
    return OK


def _judged(args: argparse.Namespace, model: str) -> Any:
    from dualgap.cli.model import opened, repeated
    from dualgap.fitting.several import one_output
    from dualgap.report.compared import Judged

    own = argparse.Namespace(model=model, rows=args.rows, format=args.format)
    solution, raw = opened(own)
    one_output(solution, "A comparison is")
    rows = repeated(solution, raw, args.target)
    return Judged(model, replace(solution, recipe=rows.recipe), rows)


def _unseen(one: Any, share: float) -> Any:
    """The model with the rows that its fit held out."""
    from dualgap.cli.prepared_task import held_out

    held = held_out(len(one.prepared.y), share)[0]
    return replace(one, prepared=one.prepared.only(held))


def _effects(judged: list[Any], column: str) -> list[Any]:
    """What a column does in each model, at the same values."""
    from dualgap.fitting.effects import effect_of_raw

    found = [effect_of_raw(one.solution, column, one.prepared.sample, POINTS) for one in judged]
    values = next((one.values for one in found if not one.numeric), found[0].values)
    return [effect_of_raw(one.solution, column, one.prepared.sample, POINTS, values) for one in judged]


def _table(head: list[str], lines: list[list[str]]) -> str:
    wide = [max(len(line[k]) for line in [head, *lines]) for k in range(len(head))]
    return "\n".join(
        "  "
        + "  ".join(
            f"{cell:<{w}}" if k == 0 else f"{cell:>{w}}"
            for k, (cell, w) in enumerate(zip(line, wide, strict=True))
        )
        for line in [head, *lines]
    )


def _machine(found: Compared) -> dict[str, Any]:
    return {
        title: [dict(zip(["name", *head[1:]], line, strict=True)) for line in lines]
        for title, head, lines in found.tables()
    }
