"""One fit, walked: which of our files a call goes through, in the order in which they are met.

    python tools/walk.py              both walks
    python tools/walk.py --counts     only how many files
    python tools/walk.py --write      and docs/architecture.md shows these counts

Every walk is made once before it is watched, so that imports and compilation are no part of it.
"""

from __future__ import annotations

import argparse
import contextlib
import io
import re
import sys
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path
from types import FrameType
from typing import Any

import numpy as np

import dualgap as dg

PACKAGE = Path(dg.__file__).parent
PAGE = Path(__file__).parents[1] / "docs" / "architecture.md"


# Rooms that only answer questions, by the contract in the base of each: no work is handed on in them.
ASKED = ("losses", "penalties", "kernels", "design", "problem", "proof", "linalg", "compiled")


class Walk:
    """The files of ours that a call enters, in order, with the functions entered in each.

    `way` is the narrow count: the files on the stack whenever a room (folder) is entered for the first time,
    and when the answer is made. Rooms that only answer questions do not count, and of the solvers only the
    one that runs. Helpers that are called and come back (options, threads, the progress line) are not in it:
    `outside`, the wide count, has every file met outside the rooms that answer, solvers that are asked too.
    """

    def __init__(self, call: Callable[[], Any]) -> None:
        self.files: dict[str, set[str]] = {}
        self.way: dict[str, None] = {}
        self._rooms = {"solvers"}
        call()
        before = sys.getprofile()
        sys.setprofile(self._watch)
        try:
            call()
        finally:
            sys.setprofile(before)

    def _watch(self, frame: FrameType, event: str, argument: Any) -> None:
        if event != "call":
            return
        file, code = ours(frame), frame.f_code
        if file is not None:
            self.files.setdefault(file, set()).add(code.co_qualname)
            self._enter("a run" if code.co_name == "iterates" else file.split("/")[0], frame)
        elif code.co_name == "__init__" and isinstance(frame.f_locals.get("self"), dg.Solution):
            self._enter("the answer", frame)

    @property
    def outside(self) -> list[str]:
        """Every file met that is not in a room that only answers questions."""
        return [file for file in self.files if file.split("/")[0] not in ASKED]

    def _enter(self, room: str, frame: FrameType) -> None:
        if room not in self._rooms:
            self._rooms.add(room)
            met = [file for file in stack(frame) if "/" in file and file.split("/")[0] not in ASKED]
            self.way |= dict.fromkeys(reversed(met))


def stack(frame: FrameType | None) -> Iterator[str]:
    """Our files on the stack, innermost first."""
    while frame is not None:
        file = ours(frame)
        if file is not None:
            yield file
        frame = frame.f_back


def ours(frame: FrameType) -> str | None:
    """The file of a frame, if it is one of the package."""
    name = frame.f_code.co_filename
    return name[len(str(PACKAGE)) + 1 :] if name.startswith(str(PACKAGE)) else None


def fit() -> None:
    """dg.fit(hinge, l2), two thousand rows."""
    random = np.random.default_rng(0)
    X = random.standard_normal((2000, 20))
    y = np.sign(X[:, 0] + random.standard_normal(2000))
    dg.fit(X, y, loss="hinge", penalty="l2", C=1.0)


def command() -> None:
    """dualgap fit x.csv, a number to be predicted from two numbers and a word."""
    from dualgap.cli.main import main

    random = np.random.default_rng(0)
    rows = [
        f"{a:.3f},{b:.3f},{'red' if a > b else 'blue'},{a + 2 * b:.3f}" for a, b in random.random((200, 2))
    ]
    with tempfile.TemporaryDirectory() as folder, contextlib.redirect_stdout(io.StringIO()):
        file = Path(folder) / "x.csv"
        file.write_text("\n".join(["a,b,colour,price", *rows]) + "\n", encoding="utf-8")
        assert main(["fit", str(file), "--target", "price"]) == 0


WALKS = {'dg.fit(X, y, loss="hinge", penalty="l2", C=1)': fit, "dualgap fit x.csv --target price": command}


def counts(name: str, walk: Walk) -> str:
    """How far it is."""
    ways = f"{len(walk.way)} files on the way, {len(walk.outside)} outside the rooms that answer"
    return f"{name}: {ways}, {len(walk.files)} met"


def main() -> None:
    """Print the walks."""
    parser = argparse.ArgumentParser(description="Print the files that a fit goes through.")
    parser.add_argument("--counts", action="store_true", help="how many files, and that is all")
    parser.add_argument("--write", action="store_true", help="put the counts into docs/architecture.md")
    asked = parser.parse_args()
    walks = {name: Walk(call) for name, call in WALKS.items()}
    for name, walk in walks.items():
        print(counts(name, walk))
        for file, functions in () if asked.counts else walk.files.items():
            mark = "->" if file in walk.way else "  "
            print(f"{mark} {file}: {', '.join(sorted(functions))}")
    if asked.write:
        told = "".join(f"{counts(name, walk)}\n" for name, walk in walks.items())
        text = PAGE.read_text(encoding="utf-8")
        PAGE.write_text(
            re.sub(r"```text\n.*?```", f"```text\n{told}```", text, flags=re.DOTALL), encoding="utf-8"
        )


if __name__ == "__main__":
    main()
