"""The report page of a verb."""

from __future__ import annotations

import shlex
import sys
from typing import TYPE_CHECKING, Any

from dualgap.cli.console import Console
from dualgap.errors import NoSolverError

if TYPE_CHECKING:
    from dualgap.cli.options import Solving
    from dualgap.cli.prepared_task import PreparedTask
    from dualgap.fitting.effects import Effect
    from dualgap.fitting.solution import Solution
    from dualgap.paths.path import Path as Solutions
    from dualgap.selection.search import Search
    from dualgap.tables.columns import RawTable

SLIDES = 40  # strengths of a search at which all rows are solved again for the page


def write(thing: Any, path: str, console: Console, **more: Any) -> None:
    """The page of a fit, a path or a search; `more` as in dualgap.report.write."""
    from dualgap.report import write as write_page

    write_page(thing, path, notes=tuple(console.notes), command=command(), **more)
    console.say(f"page written to {path}")


def effects(solution: Solution, sample: RawTable | None) -> tuple[Effect, ...] | None:
    """The columns of the file that move the prediction most."""
    from dualgap.fitting.effects import strongest
    from dualgap.report.effects import MOST

    return None if sample is None or solution.recipe is None else strongest(solution, sample, MOST)


def along(task: PreparedTask, search: Search, how: Solving, console: Console) -> Solutions | None:
    """The solutions on all rows at the strengths of a search, for the slider; None where there is no path."""
    import dualgap as dg

    count = len(search.lams)
    if count < 2:
        return None
    picked = {
        *range(0, count, -(-count // SLIDES)),
        count - 1,
        search.index,
        search.index_min,
        search.index_1se,
    }
    try:
        path = dg.path(task.X, task.y, **task.keywords, **how.keywords(), lams=search.lams[sorted(picked)])
    except NoSolverError:  # not convex
        return None
    if path.stopped:
        console.note("no time was left for the path on all rows: the page has no slider")
        return None
    return path


def command() -> str:
    """The command line as it can be typed again."""
    return shlex.join(["dualgap", *sys.argv[1:]])
