"""Predictions of a model for the rows of a file, as CSV: the columns are treated as they were in the fit."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from dualgap.cli import options
from dualgap.cli.console import OK, Console
from dualgap.cli.outputs import add_force, csv_text

if TYPE_CHECKING:
    from dualgap.fitting.solution import Solution


def arguments(parser: argparse.ArgumentParser) -> None:
    """What `dualgap predict` takes."""
    parser.add_argument("model", metavar="MODEL", help="a model file that `dualgap fit --out` wrote")
    options.add_rows(parser, many=True)
    parser.add_argument("--out", metavar="FILE", help="write the CSV here, not to standard output")
    parser.add_argument("--scores", action="store_true", help="the decision function beside the prediction")
    parser.add_argument(
        "--proba", action="store_true", help="the probability of each class beside the prediction"
    )
    parser.add_argument("--target", metavar="COL", help="a column to ignore, for a model without names")
    parser.add_argument(
        "--offset", metavar="COL", help="the column of the offset, where it is not that of the fit"
    )
    parser.add_argument(
        "--unseen",
        choices=("refuse", "reference"),
        default="refuse",
        help="levels that the fit never saw: refuse, or treat as the reference level (default: refuse)",
    )
    add_force(parser)


def run(args: argparse.Namespace, console: Console) -> int:
    """Load, treat the columns, predict, write."""
    from dualgap.cli import streamed
    from dualgap.cli.model import offset_in, opened, recipe_for
    from dualgap.files.store import write_whole

    if streamed.streams(args):
        return streamed.predict(args, console)
    args.rows = args.rows[0]
    solution, raw = opened(args)
    encoded = recipe_for(solution, raw, args.target).encode(raw, args.unseen)
    offset = offset_in(solution, raw, encoded.rows, args.offset)
    columns = predictions(solution, encoded.matrix, offset, scores=args.scores, proba=args.proba)
    gaps = int((~encoded.rows).sum())
    if gaps:
        console.warn(f"{gaps} rows have a missing value and get no prediction; the fit left such rows out.")
    if args.out:
        write_whole(Path(args.out), as_csv(columns, encoded.rows).encode())
        console.say(f"{int(encoded.rows.sum())} predictions written to {args.out}")
    elif not args.json:
        print(as_csv(columns, encoded.rows), end="")
    console.result({"rows": int(encoded.rows.sum()), "out": args.out, **({} if args.out else columns)})
    return OK


def predictions(solution: Solution, X: Any, offset: Any, *, scores: bool, proba: bool) -> dict[str, Any]:
    """Named columns of what is to be written."""
    import dataclasses

    bare = dataclasses.replace(solution, names=None, recipe=None)
    columns = _apart("prediction", bare.predict(X, offset), bare.outputs or ())
    labels = list(bare.outputs or ()) if bare.classes is None else bare.classes.tolist()
    if scores:
        columns |= _apart("score", bare.decision_function(X, offset), labels)
    if proba:
        chances = zip(labels, bare.predict_proba(X, offset).T, strict=True)
        columns |= {f"probability {label}": one for label, one in chances}
    return columns


def _apart(title: str, values: Any, labels: Sequence[Any]) -> dict[str, Any]:
    """Values under their title; of several classes or outputs a column for each."""
    if values.ndim == 1:
        return {title: values}
    return {f"{title} {label}": one for label, one in zip(labels, values.T, strict=True)}


def as_csv(columns: dict[str, Any], rows: Any, *, header: bool = True) -> str:
    """A header and a line for each row of the file; empty where a row has no prediction."""
    lines = zip(*(values.tolist() for values in columns.values()), strict=True)
    empty = [""] * len(columns)
    first = [list(columns)] if header else []
    return csv_text([*first, *(next(lines) if used else empty for used in rows.tolist())])
