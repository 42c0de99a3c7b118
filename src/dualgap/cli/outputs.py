"""Files that a verb writes: never one that it reads, each its own, nothing lost, and where one can write.

All this is asked before the work; the files themselves appear whole or not at all (files.store).
"""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

from dualgap.cli.console import UsageError

READ = {"rows": "The rows are", "model": "The model is", "test": "The rows to test on are"}
WRITTEN = ("out", "report", "plot")


def add_force(parser: argparse.ArgumentParser) -> None:
    """The option of verbs that write."""
    parser.add_argument("--force", action="store_true", help="write over files that exist already")


def refuse_bad_outputs(args: argparse.Namespace) -> None:
    """Before the work: can what is to be written be put where the command line says?"""
    written = _files(args, WRITTEN)
    for name, path in written.items():
        folder = path.resolve().parent
        if path.is_dir() or not folder.is_dir() or not os.access(folder, os.W_OK):
            raise UsageError(f"{path} cannot be written there; name a file in a folder that exists.")
        models = [("model", Path(model)) for model in getattr(args, "models", ())]
        for kind, source in (*_read(args), *models):
            if _same(path, source) or (kind == "model" and path in _beside(source)):
                raise UsageError(f"{READ[kind]} read from {path}; name another file to write to.")
        for other, taken in written.items():
            if other < name and _same(path, taken):
                raise UsageError(f"--{other} and --{name} both name {path}; name two files.")
    refuse_existing(list(written.values()), force=getattr(args, "force", False))


def refuse_existing(paths: Sequence[Path], *, force: bool) -> None:
    """What is there already is written over only on demand, or after a yes on a terminal."""
    there = [path for path in paths if path.exists()]
    if force or not there:
        return
    others = f" and {len(there) - 1} more" if len(there) > 1 else ""
    if sys.stdin is None or not sys.stdin.isatty():
        raise UsageError(
            f"{there[0]}{others} would be written over: say --force, or name another file to write to."
        )
    print(f"{there[0]}{others} would be written over. Go on? [y/N] ", end="", file=sys.stderr, flush=True)
    if sys.stdin.readline().strip().lower() not in ("y", "yes"):
        raise UsageError("nothing was written.")


def csv_text(lines: Iterable[Iterable[object]]) -> str:
    """Lines of values as CSV."""
    import csv
    import io

    stream = io.StringIO()
    csv.writer(stream, lineterminator="\n").writerows(lines)
    return stream.getvalue()


def _files(args: argparse.Namespace, names: Iterable[str]) -> dict[str, Path]:
    given = {name: getattr(args, name, None) for name in names}
    return {name: Path(value) for name, value in given.items() if value is not None}


def _read(args: argparse.Namespace) -> Iterator[tuple[str, Path]]:
    """What is read, file by file."""
    for name in READ:
        given = getattr(args, name, None)
        for one in given if isinstance(given, list) else [given]:
            if one is not None:
                yield name, Path(one)


def _same(path: Path, source: Path) -> bool:
    """One file: by its name in whatever case (disks differ in whether that matters), or by way of links?"""
    if str(path.resolve()).casefold() == str(source.resolve()).casefold():
        return True
    try:
        return path.samefile(source)
    except OSError:  # one of them is not there (or is standard input, or a data set that ships)
        return False


def _beside(model: Path) -> list[Path]:
    """The files that hold the large arrays of a model."""
    return list(model.parent.glob(f"{model.name}.*.npz"))
