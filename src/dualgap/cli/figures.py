"""Draw the figures of the lectures: some by name, or all of them with an index page."""

from __future__ import annotations

import argparse

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
    from dualgap.errors import needed

    needed("matplotlib", "figures", "A figure")
    from dualgap import lectures

    known = list(lectures.catalogue())
    if not args.names and not args.all:
        for name in known:
            console.say(f"  {name}")
        console.result({"figures": known})
        return OK
    names = known if args.all else args.names
    lectures.draw(names, args.folder)
    console.say(f"{len(names)} figures drawn in {args.folder}")
    console.result({"drawn": names, "out": args.folder})
    return OK
