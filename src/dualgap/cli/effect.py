"""What columns do to a model's predictions: the mean over the rows, the column set to value after value."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import TYPE_CHECKING, Any

from dualgap.cli import options
from dualgap.cli.console import OK, Console, UsageError
from dualgap.cli.outputs import add_force

if TYPE_CHECKING:
    from dualgap.fitting.effects import Effect
    from dualgap.fitting.solution import Solution

MOST = 5  # columns, a choice: those that move the prediction most, where none is named


def arguments(parser: argparse.ArgumentParser) -> None:
    """What `dualgap effect` takes."""
    parser.add_argument("model", metavar="MODEL", help="a model file")
    options.add_rows(parser)
    parser.add_argument("columns", metavar="COL", nargs="*", help="columns; else those that do most")
    parser.add_argument("--points", type=int, default=9, metavar="N", help="values of a number (default: 9)")
    parser.add_argument("--plot", metavar="FILE", help="draw them here (PNG, SVG, PDF)")
    options.add_target(parser)
    add_force(parser)


def run(args: argparse.Namespace, console: Console) -> int:
    """Load, set columns to values, predict."""
    from dualgap.cli.model import opened, recipe_for
    from dualgap.cli.path import picture_format

    if args.points < 2:
        raise UsageError(f"--points must be at least 2, not {args.points}.")
    form = picture_format(args.plot) if args.plot else ""
    solution, raw = opened(args)
    recipe = recipe_for(solution, raw, args.target)
    found = effects(solution, recipe, raw, args.columns, args.points)
    for one in found:
        console.say(f"\n{one}")
    if args.plot:
        draw(found, args.plot, form)
        console.say(f"drawn in {args.plot}")
    console.result({one.column: one.frame().to_dict(orient="list") for one in found} | {"plot": args.plot})
    return OK


def effects(solution: Solution, recipe: Any, raw: Any, columns: list[str], points: int) -> list[Effect]:
    """Of these columns, or of those that do most."""
    import dataclasses

    import numpy as np

    from dualgap.fitting.effects import effect_of_raw, strongest
    from dualgap.tables.prepare import sampled

    solution = dataclasses.replace(solution, recipe=recipe)
    rows = sampled(raw, np.ones(raw.n, dtype=bool))
    if not columns:
        return list(strongest(solution, rows, MOST, points))
    return [effect_of_raw(solution, name, rows, points) for name in columns]


def draw(found: list[Effect], file: str, form: str) -> None:
    """A picture beside the other for each column."""
    import io

    import matplotlib.pyplot as plt

    from dualgap.files.store import write_whole

    size = (4.6 * len(found), 3.6)
    picture, axes = plt.subplots(1, len(found), figsize=size, squeeze=False, layout="constrained")
    for one, axis in zip(found, axes[0], strict=True):
        one.plot(axes=axis)
    drawn = io.BytesIO()
    picture.savefig(drawn, dpi=150, format=form)
    plt.close(picture)
    write_whole(Path(file), drawn.getvalue())
