"""Solutions for every strength, from the one at which all weights are zero to almost no penalty."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from pathlib import Path as FilePath
from typing import Any

from dualgap.cli import options
from dualgap.cli.console import NOT_PROVEN, OK, Console, UsageError
from dualgap.cli.in_python import Call
from dualgap.cli.outputs import add_force, csv_text

SHOWN = 20  # lines of the table


def arguments(parser: argparse.ArgumentParser) -> None:
    """What `dualgap path` takes."""
    options.add_rows(parser)
    parser.add_argument(
        "--points", type=int, default=100, metavar="N", help="strengths, where the path has no bends"
    )
    parser.add_argument("--out", metavar="FILE", help="write every point with its weights here (CSV)")
    parser.add_argument("--plot", metavar="FILE", help="draw the weights here (PNG, SVG, PDF)")
    parser.add_argument("--report", metavar="PAGE", help="write a page about the path here (HTML)")
    options.add_test(parser)
    options.add_columns(parser)
    options.add_objective(parser)
    parser.set_defaults(penalty="l1")
    options.add_solving(parser)
    add_force(parser)


def run(args: argparse.Namespace, console: Console) -> int:
    """Follow the path and show some of its points."""
    import numpy as np

    import dualgap as dg
    from dualgap.cli import pages
    from dualgap.cli.prepared_task import task_of, with_test
    from dualgap.files.store import write_whole

    form = picture_format(args.plot) if args.plot else ""
    task = with_test(task_of(args, console), args, console)
    call = Call("path", {**task.keywords, **options.Solving(args).keywords(), "n_lams": args.points})
    path = dg.path(task.X, task.y, **call.keywords)
    console.say(f"\n{path!r}\n")
    console.say(f"  {'lam':>12} {'penalty':>12} {'mean loss':>12} {'columns':>8} {'gap':>9}")
    for k in np.unique(np.linspace(0, len(path) - 1, min(SHOWN, len(path))).astype(int)):
        values = f"{path.lams[k]:>12.5g} {path.budgets[k]:>12.5g} {path.risks[k]:>12.6g}"
        console.say(f"  {values} {path.n_nonzero[k]:>8} {path.gaps[k]:>9.1e}")
    names = task.prepared.recipe.names
    if args.out:
        write_whole(FilePath(args.out), as_csv(path, names, task.targets).encode())
        console.say(f"\n{len(path)} points written to {args.out}")
    if args.plot:
        draw(path, names, args.plot, form, task.targets)
        console.say(f"drawn in {args.plot}")
    if args.report:
        told = {"recipe": task.prepared.recipe, "python": call.lines(args, task)}
        pages.write(path, args.report, console, data=task.rows, test=task.test, **told)
    points = {"lams": path.lams, "gaps": path.gaps, "n_nonzero": path.n_nonzero}
    console.result({**points, "exact": path.exact, "status": path.status})
    proven = not path.stopped and (path.exact or float(path.gaps.max()) <= args.tol)
    return OK if proven else NOT_PROVEN


def as_csv(path: Any, names: tuple[str, ...], targets: Sequence[str] = ()) -> str:
    """A line per point; beyond two classes, or one output, a column for each of them and each name."""
    flat = path.coefs.reshape(len(path), -1)
    if flat.shape[1] != len(names):
        titles = targets if len(targets) > 1 else [f"class {k}" for k in range(path.coefs.shape[1])]
        names = tuple(f"{title}: {name}" for title in titles for name in names)
    levels = path.intercepts.reshape(len(path), -1)
    ends = ["intercept"]
    if levels.shape[1] > 1:
        ends = [f"intercept {k}" for k in (targets if len(targets) > 1 else range(levels.shape[1]))]
    facts = zip(path.lams, path.budgets, path.risks, path.gaps, flat, levels, strict=True)
    lines = [[*map(float, told), *w.tolist(), *b.tolist()] for *told, w, b in facts]
    return csv_text([["lam", "penalty", "mean loss", "relative gap", *names, *ends], *lines])


def picture_format(file: str) -> str:
    """The ending of the name, where pictures of that kind can be drawn."""
    from dualgap.errors import needed

    needed("matplotlib", "plot", "--plot").use("Agg")
    from matplotlib.backend_bases import FigureCanvasBase

    form, known = (
        FilePath(file).suffix.lstrip(".").lower() or "png",
        FigureCanvasBase.get_supported_filetypes(),
    )
    if form not in known:
        raise UsageError(f"--plot {file}: there is no picture format {form!r}. Known: {', '.join(known)}.")
    return form


def draw(path: Any, names: tuple[str, ...], file: str, form: str, targets: Sequence[str] = ()) -> None:
    """The picture of path.plot() in a file."""
    import io

    from dualgap.files.store import write_whole

    titles = {"titles": targets} if len(targets) > 1 else {}
    axes, drawn = path.plot(names=list(names), **titles), io.BytesIO()
    first = axes.ravel()[0] if hasattr(axes, "ravel") else axes[0] if isinstance(axes, tuple | list) else axes
    first.figure.savefig(drawn, dpi=150, format=form)
    write_whole(FilePath(file), drawn.getvalue())
