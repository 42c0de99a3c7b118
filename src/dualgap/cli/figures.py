"""Draw the figures of the lectures: some by name, or all of them with an index page."""

from __future__ import annotations

import argparse
from pathlib import Path

from dualgap.cli.console import OK, Console


def arguments(parser: argparse.ArgumentParser) -> None:
    """What `dualgap figures` takes."""
    parser.add_argument("names", metavar="NAME", nargs="*", help="which; without any, they are listed")
    parser.add_argument("--all", action="store_true", help="draw all")
    parser.add_argument(
        "--out", metavar="DIR", dest="folder", default="figures", help="the folder (default: figures)"
    )


def run(args: argparse.Namespace, console: Console) -> int:
    """List or draw."""
    import importlib
    import importlib.util

    from dualgap.errors import DataError, MissingPackageError

    if importlib.util.find_spec("matplotlib") is None:
        raise MissingPackageError("Figures need matplotlib: pip install 'dualgap[figures]'.")
    try:
        figures = importlib.import_module("dualgap.lectures")
        known = figures.catalogue()
    except (ImportError, AttributeError):
        raise MissingPackageError("This dualgap comes without the figures.") from None
    if not args.names and not args.all:
        for name in known:
            console.say(f"  {name}")
        console.result({"figures": list(known)})
        return OK
    unknown = [name for name in args.names if name not in known]
    if unknown:
        raise DataError(f"There is no figure {unknown[0]!r}. `dualgap figures` lists them.")
    names = list(known) if args.all else list(args.names)
    out = Path(args.folder)
    out.mkdir(parents=True, exist_ok=True)
    figures.draw(names, out)
    console.say(f"{len(names)} figures drawn in {out}")
    console.result({"drawn": names, "out": str(out)})
    return OK
