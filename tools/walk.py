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
from collections.abc import Callable
from pathlib import Path
from types import FrameType
from typing import Any

import numpy as np

import dualgap as dg

PACKAGE = Path(dg.__file__).parent
PAGE = Path(__file__).parents[1] / "docs" / "architecture.md"


# Rooms that answer questions, each by the contract in its base; a reader need not go in to follow a call.
ASKED = ("losses", "penalties", "kernels", "design", "problem", "proof", "linalg", "compiled")


class Walk:
    """The files of ours that a call enters, in order, with the functions entered in each."""

    def __init__(self, call: Callable[[], Any]) -> None:
        self.files: dict[str, set[str]] = {}
        self.run: set[str] = set()  # the files that the driver itself calls: solvers that ran, by their front
        call()
        before = sys.getprofile()
        sys.setprofile(self._watch)
        try:
            call()
        finally:
            sys.setprofile(before)

    def _watch(self, frame: FrameType, event: str, argument: Any) -> None:
        file = ours(frame)
        if event != "call" or file is None:
            return
        self.files.setdefault(file, set()).add(frame.f_code.co_qualname)
        if frame.f_back is not None and ours(frame.f_back) == "drive/run.py":
            self.run.add(file)

    @property
    def followed(self) -> list[str]:
        """The files that a reader opens: those that pass the work on, and of a solver that ran the front."""
        found: dict[str, str] = {}  # a solver in a folder counts once
        for file in self.files:
            room = file.split("/")[0]
            if room not in ASKED and (room != "solvers" or file in self.run):
                found.setdefault(str(Path(file).parent) if file.count("/") > 1 else file, file)
        return list(found.values())


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
    return f"{name}: {len(walk.followed)} files to follow, {len(walk.files)} met"


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
            mark = "->" if file in walk.followed else "  "
            print(f"{mark} {file}: {', '.join(sorted(functions))}")
    if asked.write:
        told = "".join(f"{counts(name, walk)}\n" for name, walk in walks.items())
        text = PAGE.read_text(encoding="utf-8")
        PAGE.write_text(
            re.sub(r"```text\n.*?```", f"```text\n{told}```", text, flags=re.DOTALL), encoding="utf-8"
        )


if __name__ == "__main__":
    main()
