"""Files that a verb writes: never one that it reads, each its own, and where something can be written.

All this is asked before the work; the files themselves appear whole or not at all (files.store).
"""

from __future__ import annotations

import argparse
import os
from collections.abc import Iterable
from pathlib import Path

from dualgap.errors import DataError

READ = {"rows": "The rows are", "model": "The model is", "test": "The rows to test on are"}
WRITTEN = ("out", "report", "plot")


def refuse_bad_outputs(args: argparse.Namespace) -> None:
    """Before the work: can what is to be written be put where the command line says?"""
    written = _files(args, WRITTEN)
    for name, path in written.items():
        folder = path.resolve().parent
        if path.is_dir() or not folder.is_dir() or not os.access(folder, os.W_OK):
            raise DataError(f"{path} cannot be written there; name a file in a folder that exists.")
        for kind, source in _files(args, READ).items():
            if _same(path, source) or (kind == "model" and path in _beside(source)):
                raise DataError(f"{READ[kind]} read from {path}; name another file to write to.")
        for other, taken in written.items():
            if other < name and path.resolve() == taken.resolve():
                raise DataError(f"--{other} and --{name} both name {path}; name two files.")


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


def _same(path: Path, source: Path) -> bool:
    """One file, also by way of links?"""
    try:
        return path.samefile(source)
    except OSError:  # one of them is not there (or is standard input, or a data set that ships)
        return False


def _beside(model: Path) -> list[Path]:
    """The files that hold the large arrays of a model."""
    return list(model.parent.glob(f"{model.name}.*.npz"))
