"""Data sets that ship with the packages dualgap needs, and can be named where a file is asked for."""

from __future__ import annotations

import argparse

from dualgap.cli.console import OK, Console


def arguments(parser: argparse.ArgumentParser) -> None:
    """Nothing beyond --json."""


def run(args: argparse.Namespace, console: Console) -> int:
    """List them."""
    import dataclasses

    from dualgap.tables.sources import SHIPPED

    for one in SHIPPED.values():
        console.say(
            f"  {one.name:<14} {one.rows:>5} rows {one.columns:>3} columns  {one.target}: {one.about}"
        )
    console.say("\nfor instance: dualgap fit diabetes --penalty l1")
    console.result({"datasets": [dataclasses.asdict(one) for one in SHIPPED.values()]})
    return OK
