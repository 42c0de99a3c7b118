"""What a fit by scans has reached, kept in a file after every scan: the next run goes on from there."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from dualgap.drive.scans import ScanOutcome
from dualgap.errors import DataError
from dualgap.streaming.sampling import Start

PARTS = ("w", "sigma", "centre", "scale")


class Checkpoint:
    """A file that belongs to one problem; proofs are not kept in it, they are made again."""

    def __init__(self, path: str | Path, words: str, problems: int) -> None:
        self.path, self.words, self.problems = Path(path), words, problems
        folder = self.path.absolute().parent
        if not folder.is_dir() or not os.access(folder, os.W_OK):
            raise DataError(
                f"No checkpoint can be written to {path}: {folder} is no folder that is open to that."
            )

    def starts(self, size: int) -> list[Start] | None:
        """Where to go on, a start of so many weights for each problem; None where there is no file yet."""
        if not self.path.exists():
            return None
        try:
            with np.load(self.path, allow_pickle=False) as file:
                words, found = str(file["words"]), [self._start(file, k) for k in range(self.problems)]
        except (OSError, ValueError, KeyError) as error:
            raise DataError(f"{self.path} is no checkpoint of this fit: {str(error).rstrip('.')}.") from None
        if words != self.words:
            raise DataError(f"{self.path} is the checkpoint of another problem, {words[:200]!r}; remove it.")
        if any(len(one.w) != size for one in found):
            raise DataError(f"{self.path} is the checkpoint of a fit to other columns; remove it.")
        return found

    def _start(self, file: Any, k: int) -> Start:
        w, sigma, centre, scale = (np.asarray(file[f"{name}{k}"], dtype=np.float64) for name in PARTS)
        if not all(np.isfinite(one).all() for one in (w, sigma, centre, scale)):
            raise ValueError("it holds NaN or infinity")
        return Start(w, float(sigma), centre, scale, 0)

    def keep(self, runs: Sequence[ScanOutcome]) -> None:
        """Write it, as a whole or not at all."""
        found: dict[str, Any] = {"words": self.words}
        for k, run in enumerate(runs):
            start = run.pursuit.resumed()
            if start is None:
                return
            found |= {f"{name}{k}": getattr(start, name) for name in PARTS}
        part = self.path.with_name(f"{self.path.name}.part")
        with part.open("wb") as file:
            np.savez(file, **found)
        os.replace(part, self.path)

    def done(self) -> None:
        """Nothing is left to go on with."""
        self.path.unlink(missing_ok=True)
