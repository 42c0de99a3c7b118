"""The table of ratios, for people and for programs."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from benchmarks.machine import heading, machine, versions

HEAD = ["| cell | ours, s | best peer | ratio | must | ok? |", "|---|---|---|---|---|---|"]


def met(row: dict[str, Any]) -> bool | None:
    """Is the ratio what it must be, with a gap that the judge confirms? None where no rival ran."""
    if "error" in row or not row["gap_confirmed"]:
        return False
    known = row["ratio"] or row.get("ratio_at_least")
    if known is not None:
        return bool(known >= row["must"])
    return True if row["notes"] else None  # all who tried failed


def ratio(row: dict[str, Any]) -> str:
    """Exact, or at least so much, or a dash."""
    if row["ratio"] is not None:
        return f"{row['ratio']:.3g}×"
    return f"> {row['ratio_at_least']:.3g}×" if "ratio_at_least" in row else "–"


def peer(row: dict[str, Any]) -> str:
    """Who was best, in how many seconds."""
    if row["best_peer"] is not None:
        return f"{row['best_peer']} {row['peers'][row['best_peer']]:.3g}"
    if row["late"]:
        return ", ".join(f"{name} > {seconds:.0f}" for name, seconds in row["late"].items())
    return "none reached it" if row["notes"] else "none ran"


def line(row: dict[str, Any]) -> str:
    """A row of the table."""
    name = row["cell"] if not row["seed"] else f"{row['cell']}, draw {row['seed']}"
    if "error" in row:
        return f"| {name} | failed: {row['error']} | | | {row['must']:g} | no |"
    word = {True: "yes", False: "no", None: "–"}[met(row)]
    if not row["gap_confirmed"]:
        word = f"gap not confirmed: {row['gap']:.1e}"
    return f"| {name} | {row['ours']:.3g} | {peer(row)} | {ratio(row)} | {row['must']:g} | {word} |"


def summary(rows: list[dict[str, Any]], left: list[str]) -> str:
    """How many cells meet what they must."""
    verdicts = [met(row) for row in rows]
    judged = [verdict for verdict in verdicts if verdict is not None]
    text = f"{sum(judged)} of {len(judged)} cells meet what they must."
    if len(judged) < len(rows):
        text += f" In {len(rows) - len(judged)} no rival ran."
    if left:
        text += f" Not run, for want of time: {len(left)}, from {left[0]} on."
    return text


def markdown(rows: list[dict[str, Any]], left: list[str]) -> str:
    """The whole page."""
    return "\n".join([heading(), "", *HEAD, *(line(row) for row in rows), "", summary(rows, left)]) + "\n"


def write(folder: Path, rows: list[dict[str, Any]], left: list[str]) -> None:
    """table.md and table.json."""
    table = {"machine": machine(), "versions": versions(), "results": rows, "not_run": left}
    (folder / "table.json").write_text(json.dumps(table, indent=1), encoding="utf-8")
    (folder / "table.md").write_text(markdown(rows, left), encoding="utf-8")
