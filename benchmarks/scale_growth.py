"""What a scan costs, by parts, and what that foretells of more rows and more workers.

    python -m benchmarks.scale_growth --folder big          fit the constants, foretell
    python -m benchmarks.scale_growth --folder big --rows 4e6    files of that many rows, made if need be

Seconds of a scan of n rows, p columns, G groups, with W workers of one core each:

    n (read·p + pair·(p + 2)²) ⌈G/W⌉/G   +   pass + task·G   +   byte·8 (p + 2)²·G   +   down·W

read and pair are fitted to processor seconds of scans for moments (of 10, 25 and all columns), task and pass
to passes over nothing in 16 to 1024 groups, byte to the same with matrices that come back, down to a rule
that every worker is handed. What is serial is the processor's time of this process, in which scheduler and
client live; the measured wall seconds stand beside it.
"""

from __future__ import annotations

import argparse
import tempfile
import time
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.scale import write
from benchmarks.scale_dask import Blank

COLUMNS = (10, 25, 50)
GROUPS = (16, 64, 256, 1024)
SIDES = (52, 202, 402)  # of matrices that come back
AGAIN = 3  # times each pass is measured; the least counts
UNIT = 1 << 20  # rows of a group where there are many
FORETOLD = ((10**7, 1), (10**8, 10), (10**9, 10), (10**9, 100), (10**9, 1000))


@dataclass(frozen=True)
class Sum:
    """A matrix, added to others."""

    matrix: Any

    def plus(self, other: Sum) -> Sum:
        """Of both."""
        return Sum(self.matrix + other.matrix)


class Filled(Blank):
    """Groups of one block, each of which is a matrix."""

    def __init__(self, groups: int, side: int) -> None:
        super().__init__(groups)
        self.side = side

    def detached(self) -> Filled:
        """Itself, for a worker."""
        return self

    def read(self, group: Any) -> Any:
        """One block."""
        return iter([self.side])


def made(side: int) -> Sum:
    """What a block gives."""
    return Sum(np.ones((side, side)))


@dataclass(frozen=True)
class Growth:
    """The constants, in seconds."""

    read: float  # for each number
    pair: float  # for each product of two columns of a row
    one: float  # a pass
    task: float
    byte: float
    down: float  # to hand a worker what a scan needs: taken as a task

    def scan(self, n: float, p: int, workers: int) -> tuple[float, float]:
        """Seconds of work with so many workers, and of what is serial."""
        groups = min(max(int(n) // UNIT, 16), 4096)
        work = n * (self.read * p + self.pair * (p + 2) ** 2) * np.ceil(groups / workers) / groups
        serial = self.one + self.task * groups + self.byte * 8 * (p + 2) ** 2 * groups + self.down * workers
        return float(work), float(serial)


def scans(folder: str) -> list[tuple[int, int, float]]:
    """Rows, columns and processor seconds of scans for moments."""
    import dualgap as dg

    found = []
    for p in (*COLUMNS, *COLUMNS):
        rows = dg.dataset(f"{folder}/*.parquet", target="y", columns=[f"x{j}" for j in range(p)])
        began = time.process_time()
        dg.moments(rows)
        found.append((int(rows.source.n or 0), p, time.process_time() - began))
    return [min(one for one in found if one[1] == p) for p in COLUMNS]


def passes(client: Any, source: Any, function: Any) -> tuple[float, float]:
    """Processor seconds of this process, and wall seconds."""
    from dualgap.blocks.clusters import mapped

    least = np.full(2, np.inf)
    for _ in range(AGAIN):
        began, clock = time.process_time(), time.perf_counter()
        mapped(client, source, function, (), None)
        least = np.minimum(least, (time.process_time() - began, time.perf_counter() - clock))
    return float(least[0]), float(least[1])


def line(x: Any, y: Any) -> tuple[float, float]:
    """Intercept and slope, the relative errors' squares least."""
    x, y = np.asarray(x, dtype=float), np.asarray(y, dtype=float)
    found = np.linalg.lstsq(np.column_stack([np.ones(len(x)), x]) / y[:, None], np.ones(len(y)), rcond=None)
    return float(found[0][0]), float(found[0][1])


def fitted(folder: str) -> Growth:
    """The constants; each measured point is told."""
    from distributed import Client, LocalCluster

    seen = scans(folder)
    A = np.array([[n * p, n * (p + 2) ** 2] for n, p, _ in seen], dtype=float)
    seconds = np.array([one for *_, one in seen])
    read, pair = np.linalg.lstsq(A / seconds[:, None], np.ones(len(seen)), rcond=None)[0]
    print("| rows | columns | CPU s of a scan | by the model |\n|---|---|---|---|")
    for (n, p, own), told in zip(seen, A @ [read, pair], strict=True):
        print(f"| {n} | {p} | {own:.2f} | {told:.2f} |")
    print("\n| groups | matrices | wall s of a pass | CPU s of scheduler and client |\n|---|---|---|---|")
    with (
        LocalCluster(n_workers=2, threads_per_worker=1, dashboard_address=None) as cluster,
        Client(cluster) as client,
    ):
        passes(client, Blank(GROUPS[0]), len)
        empty = []
        for groups in GROUPS:
            own, wall = passes(client, Blank(groups), len)
            empty.append(own)
            print(f"| {groups} | – | {wall:.3f} | {own:.3f} |")
        full = []
        for side in SIDES:
            own, wall = passes(client, Filled(256, side), made)
            full.append(own)
            print(f"| 256 | {side}² | {wall:.3f} | {own:.3f} |")
    one, task = line(GROUPS, empty)
    slope = np.polyfit([256 * 8 * side * side for side in SIDES], full, 1)[0]
    return Growth(float(read), float(pair), max(one, 0.0), task, max(float(slope), 0.0), task)


def main() -> None:
    """See the module."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--rows", type=float, default=2e6)
    parser.add_argument("--folder")
    args = parser.parse_args()
    with tempfile.TemporaryDirectory() as own:
        folder = args.folder or own
        write(Path(folder), int(args.rows), max(COLUMNS))
        found = fitted(folder)
    print(
        f"\nread {1e9 * found.read:.2f} ns a number, pair {1e9 * found.pair:.3f} ns, pass "
        f"{1e3 * found.one:.1f} ms, task {1e3 * found.task:.2f} ms, byte {1e9 * found.byte:.2f} ns\n"
    )
    print("| rows | workers | work, s | serial, s | up, MB | efficiency |\n|---|---|---|---|---|---|")
    for n, workers in FORETOLD:
        scan = partial(found.scan, n, 50)
        work, serial = scan(workers)
        groups = min(max(n // UNIT, 16), 4096)
        share = sum(scan(1)) / (workers * (work + serial))
        print(
            f"| {n:.0e} | {workers} | {work:.2f} | {serial:.2f} | {8e-6 * 52**2 * groups:.1f} "
            f"| {100 * min(share, 1.0):.0f} % |"
        )


if __name__ == "__main__":
    main()
