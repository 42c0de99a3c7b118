"""The wider catalogue: best peer's seconds to 1e-6 over our seconds to a certified 1e-6, one thread.

    python -m benchmarks.catalogue                     every family
    python -m benchmarks.catalogue counts groups       these
    python -m benchmarks.catalogue --only gamma        cells whose name holds the word

Writes catalogue.md and catalogue.json into the folder given.
"""

from __future__ import annotations

import argparse
import importlib
import json
from pathlib import Path
from typing import Any

from benchmarks import tables
from benchmarks.catalogue import FAMILIES
from benchmarks.catalogue.task import judged, rungs
from benchmarks.machine import machine, versions
from benchmarks.race import Rules, race


def main(arguments: list[str] | None = None) -> int:
    """Run the cells asked for and write the tables."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("families", nargs="*", metavar="FAMILY", help=", ".join(FAMILIES))
    parser.add_argument("--only", default="", help="cells whose name contains this")
    parser.add_argument("--repeats", type=int, default=5)
    parser.add_argument("--patience", type=float, default=20.0, help="seconds before a rival is given up")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--out", default="benchmarks/results/local")
    options = parser.parse_args(arguments)
    unknown = set(options.families) - set(FAMILIES)
    if unknown:
        parser.error(f"no family {', '.join(sorted(unknown))}; there are {', '.join(FAMILIES)}")
    rows: list[Any] = []
    print(*tables.HEAD, sep="\n")
    for family in options.families or FAMILIES:
        for cell in importlib.import_module(f"benchmarks.catalogue.{family}").cells():
            if options.only in cell.name:
                rows.append(race(cell, options.seed, Rules(options.repeats, options.patience), rungs, judged))
                print(tables.line(rows[-1]), flush=True)
                _write(Path(options.out), rows)  # what is measured is kept, however the run ends
    print(tables.summary(rows, []))
    return 0


def _write(folder: Path, rows: list[Any]) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "catalogue.md").write_text(tables.markdown(rows, []), encoding="utf-8")
    table = {"machine": machine(), "versions": versions(), "results": rows}
    (folder / "catalogue.json").write_text(json.dumps(table, indent=1), encoding="utf-8")


if __name__ == "__main__":
    raise SystemExit(main())
