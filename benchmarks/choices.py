"""Is the solver that "auto" picks the fastest there is? Every usable solver in every cell, without rivals.

    python -m benchmarks.choices                every cell
    python -m benchmarks.choices --only lasso   cells whose name holds the word
    python -m benchmarks.choices --manual       also the solvers that "auto" never takes

Seconds of the processor, the best of the repeats, taken in turn; the first run of each is thrown away. A
solver has max(2 s, 5 times the seconds of "auto"). Writes choices.md and choices.json into the folder given.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import dualgap as dg
from benchmarks.cells import Cell, cells
from benchmarks.contestant import Contestant, Point, start
from benchmarks.machine import heading, machine, versions
from benchmarks.problems import Problem
from benchmarks.rivals import Ladder
from benchmarks.rivals.dualgap import asked, solve

ALLOWED = 1.3
LEAST, TIMES = 2.0, 5.0  # seconds a solver has, and how many times those of "auto"
LONGEST = 120.0
SHORT = 0.5  # runs shorter than this are repeated


def _rungs(name: str, problem: Problem) -> Ladder:
    """One rung: the solver of that name."""
    return [(name, partial(solve, problem, name))]


def usable(problem: Problem, manual: bool) -> list[str]:
    """What could run, by the library's own word."""
    found = dg.explain(problem.X, problem.y, **asked(problem)).verdicts
    return [v.name for v in found if not v.missing and (manual or not v.manual)]


def compare(cell: Cell, seed: int, repeats: int, manual: bool) -> dict[str, Any]:
    """Seconds of "auto" and of every solver in one cell."""
    problem = cell.make(seed)
    auto = _started("auto", problem)
    if _first(auto, LONGEST) is None:
        auto.end()
        return {"cell": cell.name, "seed": seed, "error": auto.note}
    limit = max(LEAST, TIMES * auto.points[0].seconds)
    others = [_started(name, problem) for name in usable(problem, manual)]
    for other in others:
        _first(other, limit)
    for _ in range(repeats):
        for one in (auto, *others):
            if 0 in one.points and one.points[0].seconds < SHORT:
                one.run(0, limit)
    for one in (auto, *others):
        one.end()
    first = dg.explain(problem.X, problem.y, **asked(problem)).chosen
    return {"cell": cell.name, "seed": seed, **_row(auto.points[0], others, first)}


def _started(name: str, problem: Problem) -> Contestant:
    found = start(name, problem, _rungs)
    assert found is not None
    return found


def _first(one: Contestant, limit: float) -> Point | None:
    """Twice, since the first run may compile; the second counts, and alone is held to the limit."""
    if one.run(0, limit + LEAST) is None:
        return None
    del one.points[0]
    return one.run(0, limit)


def _row(auto: Point, others: list[Contestant], first: str | None) -> dict[str, Any]:
    seconds = {one.name: one.points[0].seconds for one in others if 0 in one.points}
    own = auto.seconds
    if auto.solver == first and first in seconds:  # the same run under two names; else others were tried too
        own = seconds[first] = min(seconds[first], own)
    best = min(seconds, key=lambda name: seconds[name], default=auto.solver)
    return {
        "auto": auto.solver,
        "seconds": own,
        "gap": auto.gap,
        "best": best,
        "best_seconds": seconds.get(best, own),
        "over": own / seconds.get(best, own),
        "solvers": seconds,
        "notes": {one.name: one.note for one in others if one.note},
    }


def line(row: dict[str, Any]) -> str:
    """A row of the table."""
    if "error" in row:
        return f"| {row['cell']} | failed: {row['error']} | | | |"
    others = ", ".join(f"{name} {s:.3g}" for name, s in sorted(row["solvers"].items(), key=lambda i: i[1]))
    beyond = list(row["notes"])
    return (
        f"| {row['cell']} | {row['auto']} {row['seconds']:.3g} | {row['best']} {row['best_seconds']:.3g} "
        f"| {row['over']:.2f} | {others}{'; not in time: ' if beyond else ''}{', '.join(beyond)} |"
    )


def markdown(rows: list[dict[str, Any]]) -> str:
    """The table, worst first, with the cells that are beyond what is allowed counted."""
    key: Callable[[dict[str, Any]], float] = lambda row: -row.get("over", float("inf"))  # noqa: E731
    beyond = [row for row in rows if row.get("over", float("inf")) > ALLOWED]
    head = ["| cell | auto, s | best, s | auto over best | all, s |", "|---|---|---|---|---|"]
    count = f"{len(beyond)} of {len(rows)} cells beyond {ALLOWED}."
    return "\n".join([heading(), "", count, "", *head, *(line(row) for row in sorted(rows, key=key))]) + "\n"


def main(arguments: list[str] | None = None) -> int:
    """Compare in the cells asked for."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--only", nargs="*", default=[""], help="cells whose name contains one of these")
    parser.add_argument("--manual", action="store_true", help='also what "auto" never takes')
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--repeats", type=int, default=2)
    parser.add_argument("--out", default="benchmarks/results/local")
    options = parser.parse_args(arguments)
    folder = Path(options.out)
    folder.mkdir(parents=True, exist_ok=True)
    rows = []
    for cell in cells():
        if any(word in cell.name for word in options.only):
            rows.append(compare(cell, options.seed, options.repeats, options.manual))
            print(line(rows[-1]), flush=True)
            table = {"machine": machine(), "versions": versions(), "results": rows}
            (folder / "choices.json").write_text(json.dumps(table, indent=1), encoding="utf-8")
            (folder / "choices.md").write_text(markdown(rows), encoding="utf-8")
    print(markdown([row for row in rows if row.get("over", float("inf")) > ALLOWED]))
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
