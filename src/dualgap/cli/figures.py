"""Draw the figures of the lectures: some by name, or all of them with an index page."""

from __future__ import annotations

import argparse
from pathlib import Path

from dualgap.cli.checks import near
from dualgap.cli.console import NOT_INSTALLED, OK, Console, UsageError
from dualgap.cli.outputs import add_force, refuse_existing


def arguments(parser: argparse.ArgumentParser) -> None:
    """What `dualgap figures` takes."""
    parser.add_argument("names", metavar="NAME", nargs="*", help="which; without any, they are listed")
    parser.add_argument("--all", action="store_true", help="draw all")
    parser.add_argument(
        "--out", metavar="DIR", dest="folder", default="figures", help="the folder (default: figures)"
    )
    add_force(parser)


def run(args: argparse.Namespace, console: Console) -> int:
    """List or draw."""
    from dualgap.errors import needed

    needed("matplotlib", "figures", "A figure")
    from dualgap import lectures

    known = list(lectures.catalogue())
    if not args.names and not args.all:
        entries = lectures.catalogue().values()
        wide = [max(len(getattr(one, part)) for one in entries) for part in ("name", "source")]
        for one in entries:
            console.say(f"  {one.name:<{wide[0]}}  {one.source:<{wide[1]}}  {one.title}")
        console.result({"figures": [{"name": e.name, "source": e.source, "title": e.title} for e in entries]})
        return OK
    names = known if args.all else args.names
    strange = [name for name in names if name not in known]
    if strange:
        raise UsageError(
            f"There is no figure {strange[0]!r}.{near(strange[0], known)} `dualgap figures` lists them."
        )
    folder = Path(args.folder)
    written = [folder / f"{name}.png" for name in names]
    refuse_existing([*written, folder / "index.html"], force=args.force)
    absent: dict[str, str] = {}
    lectures.draw(names, folder, missing=absent.__setitem__)
    drawn = [name for name in names if name not in absent]
    console.say(f"{len(drawn)} {'figure' if len(drawn) == 1 else 'figures'} drawn in {args.folder}")
    for reason in dict.fromkeys(absent.values()):
        console.note(f"not drawn: {', '.join(one for one in absent if absent[one] == reason)}: {reason}")
    console.result({"drawn": drawn, "absent": absent, "out": args.folder})
    return OK if drawn else NOT_INSTALLED
