"""What `dualgap fit` and `dualgap cv` do with a solution: say it, keep it, make a page of it."""

from __future__ import annotations

import argparse
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

from dualgap.cli.console import INTERRUPTED, NOT_PROVEN, OK, Console

LEVEL = 0.95  # of intervals, where none is said: the usual one

if TYPE_CHECKING:
    from dualgap.cli.in_python import Call
    from dualgap.cli.options import Solving
    from dualgap.cli.prepared_task import PreparedTask
    from dualgap.fitting.solution import Solution
    from dualgap.selection.search import Search


def tell(
    solution: Solution,
    search: Search | None,  # that chose its strength, where there was one
    task: PreparedTask,
    call: Call,
    args: argparse.Namespace,
    how: Solving,
    console: Console,
) -> int:
    """To people, to the files that were asked for, to machines; the exit code."""
    from dualgap.cli import pages

    solution = task.named(solution)
    figures = judged(solution, search, task)
    if figures:
        solution.facts["held_out"] = figures
    console.say(f"\n{solution.summary()}")
    reach = None
    method = getattr(args, "intervals_by", None)
    if method or getattr(args, "intervals", None) is not None:
        reach = solution.intervals(args.intervals or LEVEL, method or "auto", data=task.rows)
        console.say(f"\n{reach}")
    if args.out:
        solution.save(args.out, data=task.rows)
        share = getattr(args, "hold_out", None)
        held = "" if share is None else f" --hold-out {share:g}"
        check = f"dualgap verify {args.out} {args.rows}{held}"
        console.say(f"\nmodel written to {args.out}; check it with: {check}")
    if args.report:
        path = None
        if search is not None:
            search.solution = solution
            path = pages.along(task, search, how, console)
        told = {
            "data": task.rows,
            "test": task.test,
            "along": path,
            "python": call.lines(args, task),
            "intervals": reach,
            "effects": pages.effects(solution, task.prepared.sample),
        }
        pages.write(search or solution, args.report, console, **told)
    found = described(solution) | {"held_out": figures or None}
    if search is not None:
        found |= {name: getattr(search, name) for name in ("lams", "mean", "se", "lam_min", "lam_1se")}
        found["status"] = f"{search.status} {solution.status}"
    if reach is not None:
        found["intervals"] = {"method": reach.method, "rows": [asdict(row) for row in reach]}
    console.result(found | {"model": args.out, "report": args.report})
    unproven = search is not None and not search.proven
    return ending(solution) or (NOT_PROVEN if unproven else OK)


def judged(solution: Solution, search: Search | None, task: PreparedTask) -> str:
    """How well rows are predicted that the weights have not seen, with its spread; nothing without any."""
    from dualgap.report.headline import headlines
    from dualgap.report.rows import losses, standard_error
    from dualgap.report.subject import Origin, subject

    if search is None and task.test is None:
        return ""
    if len(task.targets) > 1:
        return search.told() if task.test is None and search is not None else _of_each(solution, task)
    about = subject(search or solution, None, task.rows, task.test, Origin())
    rows = about.judged
    if rows is None or not rows.unseen:
        return ""
    found = "; ".join(f"{one.name} {one.shown}" for one in headlines(about)).replace("−", "-")
    if rows.folds is not None:
        return "; ".join(part for part in (found, search.told() if search else "") if part)
    each = losses(solution, rows)
    spread = f" ± {standard_error(each):.2g}" if len(rows) > 1 else ""
    loss = f"mean {solution.loss} loss {each @ rows.share:.6g}{spread}"
    return "; ".join(part for part in (found, f"{loss}, {len(rows)} {rows.title}") if part)


def _of_each(solution: Solution, task: PreparedTask) -> str:
    """The mean loss of several outputs on rows to test on, and what of each is explained."""
    import numpy as np

    from dualgap.report.rows import TEST, PredictedRows, losses, standard_error

    assert task.test is not None
    X, y, *offset = task.test
    scores = solution.decision_function(X, *offset)
    loss, ones = solution.terms.loss, np.ones(len(y))
    each = [
        PredictedRows(TEST, own, z, ones, unseen=True, loss=loss)
        for own, z in zip(y.T, scores.T, strict=True)
    ]
    summed = np.sum([losses(solution, rows) for rows in each], axis=0)
    spread = f" ± {standard_error(summed):.2g}" if len(y) > 1 else ""
    shares = zip(task.targets, (rows.explained for rows in each), strict=True)
    found = ", ".join(f"{name} {share:.3g}" for name, share in shares if share is not None)
    told = f"R2 {found}; " if found else ""
    return f"{told}mean {loss} loss of all {summed.mean():.6g}{spread}, {len(y)} {TEST}"


def refuse_interrupted(search: Search) -> None:
    """One Ctrl-C ends the command, not only its folds."""
    if search.interrupted:
        raise KeyboardInterrupt(search.status)


def ending(solution: Solution) -> int:
    """The exit code of a fit."""
    from dualgap.drive.limits import Status

    if solution.status == Status.INTERRUPTED.value:
        return INTERRUPTED
    return OK if solution.converged else NOT_PROVEN


def described(solution: Solution) -> dict[str, Any]:
    """A solution for machines."""
    terms = solution.terms
    told = {"objective_in_words": terms.words(), "lam": terms.lam, "budget": terms.budget}
    names = ("loss", "penalty", "objective", "bound", "gap", "relative_gap", "converged", "status", "solver")
    more = ("seconds", "names", "classes", "coef", "intercept")
    return told | {name: getattr(solution, name) for name in (*names, *more)}
