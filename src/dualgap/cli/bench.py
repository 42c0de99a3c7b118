"""Run the benchmarks. They live in a checkout of the project, not in the installed package."""

from __future__ import annotations

import argparse

from dualgap.cli.console import Console


def arguments(parser: argparse.ArgumentParser) -> None:
    """What `dualgap bench` takes: all goes to the benchmarks."""
    parser.add_argument("rest", nargs=argparse.REMAINDER, metavar="…", help="handed on to the benchmarks")


def run(args: argparse.Namespace, console: Console) -> int:
    """Hand over to benchmarks.run in the folder where the command was typed."""
    import subprocess
    import sys
    from pathlib import Path

    from dualgap.errors import MissingPackageError

    if not (Path.cwd() / "benchmarks" / "run.py").is_file():
        raise MissingPackageError(
            "The benchmarks are in a checkout of the project; change to its folder and run this again."
        )
    return subprocess.run([sys.executable, "-m", "benchmarks.run", *args.rest], check=False).returncode
