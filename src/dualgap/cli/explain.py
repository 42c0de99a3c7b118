"""Which solver a fit would use on these rows, and why each other would not."""

from __future__ import annotations

import argparse

from dualgap.cli import options
from dualgap.cli.console import OK, Console


def arguments(parser: argparse.ArgumentParser) -> None:
    """What `dualgap explain` takes."""
    options.add_rows(parser)
    options.add_columns(parser)
    options.add_objective(parser)
    options.add_strength(parser)


def run(args: argparse.Namespace, console: Console) -> int:
    """Read the rows and ask the registry."""
    import dualgap as dg
    from dualgap.cli.prepared_task import task_of
    from dualgap.fitting.names import penalty_named

    task = task_of(args, console)
    strength = {
        name: getattr(args, name) for name in ("lam", "C", "budget") if getattr(args, name) is not None
    }
    if not strength and penalty_named(args.penalty).takes_strength:
        console.note("no strength was given: explained for lam = 0.01")
        strength = {"lam": 0.01}
    found = dg.explain(task.X, task.y, **task.keywords, **strength)
    console.say(f"\n{found}")
    verdicts = [{"name": v.name, "cost": v.cost, "missing": list(v.missing)} for v in found.verdicts]
    console.result({"objective": found.words, "chosen": found.chosen, "solvers": verdicts})
    return OK
