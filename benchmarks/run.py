"""The benchmark: best peer's seconds to suboptimality 1e-6 over our seconds to a certified gap of 1e-6.

    python -m benchmarks.run --quick            a dozen cells, less than three minutes
    python -m benchmarks.run                    every cell, as far as 40 minutes go
    python -m benchmarks.run --only lasso       cells whose name holds the word
    python -m benchmarks.run --everyday         small tables and public problems, see benchmarks.everyday
    python -m benchmarks.run --half             every cell with half the rows; --double with twice as many

Each contestant lives in a process of its own on one thread; repeats are interleaved, the best of them
counts, in seconds of the processor, and compilation is excluded. Every answer is judged by an independent
objective, and our gap is recomputed from X, y, w, b and θ alone. Where no rival answers within its patience
the ratio is at least that over our seconds. Writes table.md, table.json and pictures/, one per cell, into
the folder given.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from benchmarks import tables
from benchmarks.cells import Cell, cells
from benchmarks.pictures import draw
from benchmarks.race import TARGET, Rules, race


def main(arguments: list[str] | None = None) -> int:
    """Run the cells asked for and write the tables."""
    options, rest = _options(arguments)
    if options.everyday:
        from benchmarks import everyday

        return everyday.main(rest)
    folder = Path(options.out)
    pictures = folder / "pictures"
    pictures.mkdir(parents=True, exist_ok=True)
    rules = Rules(options.repeats, options.patience)
    end = time.monotonic() + 60.0 * options.minutes
    rows: list[dict[str, Any]] = []
    left: list[str] = []
    for cell, seed in _asked(options):
        if time.monotonic() > end:
            left.append(cell.name if not seed else f"{cell.name}, draw {seed}")
            continue
        rows.append(race(cell, seed, rules))
        if "curves" in rows[-1]:
            draw(rows[-1], pictures, TARGET)
        print(tables.line(rows[-1]), flush=True)
        tables.write(folder, rows, left)
    tables.write(folder, rows, left)
    print(tables.summary(rows, left))
    return 0


def _options(arguments: list[str] | None) -> tuple[argparse.Namespace, list[str]]:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--quick", action="store_true", help="the quick subset")
    parser.add_argument("--only", default="", help="cells whose name contains this")
    size = parser.add_mutually_exclusive_group()
    size.add_argument("--half", dest="share", action="store_const", const=0.5, help="half the rows")
    size.add_argument("--double", dest="share", action="store_const", const=2.0, help="twice the rows")
    parser.add_argument("--seeds", type=int, default=1, help="draws per cell")
    parser.add_argument("--first-seed", type=int, default=0)
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--patience", type=float, default=20.0, help="seconds before a rival is given up")
    parser.add_argument("--minutes", type=float, default=40.0, help="no new cell is begun after them")
    parser.add_argument("--out", default="benchmarks/results/local")
    parser.add_argument("--everyday", action="store_true", help="benchmarks.everyday, with its own options")
    options, rest = parser.parse_known_args(arguments)
    if rest and not options.everyday:
        parser.error(f"unrecognized arguments: {' '.join(rest)}")
    return options, rest


def _asked(options: argparse.Namespace) -> Iterator[tuple[Cell, int]]:
    """The cells of the first draw, then of the next."""
    for seed in range(options.first_seed, options.first_seed + options.seeds):
        for cell in cells(options.share or 1.0):
            if options.only in cell.name and (cell.quick or not options.quick):
                yield cell, seed


if __name__ == "__main__":
    raise SystemExit(main())
