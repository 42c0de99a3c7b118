"""The race of one cell: we and the rivals on the same draw, repeats in turn, every answer judged."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from benchmarks.cells import Cell
from benchmarks.contestant import Contestant, Point, start
from benchmarks.rivals import ladder

TARGET = 1e-6
LONG = 2.0  # a first run of so many seconds needs no second one to be warm
FEW, MANY = 4.0, 3.0  # seconds that every rival has, and times the best so far: who is slower is not the best


@dataclass(frozen=True)
class Rules:
    """How often, and how long a rival is waited for, in seconds of the processor."""

    repeats: int = 3
    patience: float = 20.0
    certified: bool = False  # do rivals climb on until their own slopes prove what ours do?


def race(cell: Cell, seed: int, rules: Rules, rungs: Any = ladder, judged: Any = None) -> dict[str, Any]:
    """One cell, one draw, as a row of the table; `rungs` and `judged` as for `contestant.start`."""
    problem = cell.make(seed)
    row: dict[str, Any] = {"cell": cell.name, "seed": seed, "must": cell.must}
    us = start("dualgap", problem, rungs, judged)
    assert us is not None
    if us.warm(0, 60.0, LONG) is None:
        us.end()
        return {**row, "error": us.note}
    started = [start(name, problem, rungs, judged) for name in cell.rivals]
    rivals = [found for found in started if found is not None]
    chosen = _climb_all(rivals, us.points[0].value, rules.patience)
    if rules.certified:
        row["certified_ratio"] = _certified(us.points[0], rivals, rules.patience)
    _repeat(us, rivals, chosen, rules)
    for contestant in (us, *rivals):
        contestant.end()
    return {**row, **_ours(us.points[0]), **_theirs(us.points[0], rivals, chosen), **_curves(us, rivals)}


def _climb_all(rivals: list[Contestant], best: float, patience: float) -> dict[str, int]:
    """The fastest rung of each rival that is within the target of the best objective anybody found."""
    for rival in rivals:
        reached = _climb(rival, best, patience)
        best = min([best, *(point.value for point in rival.points.values())])
        if reached is not None:
            patience = min(patience, max(FEW, MANY * reached.seconds))
    chosen = {}
    for rival in rivals:
        enough = [rung for rung, point in sorted(rival.points.items()) if _near(point, best)]
        if enough:
            chosen[rival.name] = min(enough, key=lambda rung, rival=rival: rival.points[rung].seconds)
        elif not rival.note:
            rival.note = "never reached 1e-6"
    return chosen


def _certified(us: Point, rivals: list[Contestant], patience: float) -> float | None:
    """The seconds of the fastest answer that proves itself, over ours; None if none does."""
    found = []
    for rival in rivals:
        for rung in range(len(rival.labels)):
            point = rival.points.get(rung) or (None if rival.note else rival.run(rung, patience))
            if point is not None and point.gap is not None and point.gap <= TARGET:
                found.append(point.seconds)
                break
    return min(found) / us.seconds if found else None


def _climb(rival: Contestant, best: float, patience: float) -> Point | None:
    """Rung by rung until one reaches the target, which is the answer; all are kept for the picture."""
    for rung in range(len(rival.labels)):
        point = rival.run(rung, patience) if rung else rival.warm(0, patience, LONG)
        if point is None or _near(point, best):
            return point
    return None


def _near(point: Point, best: float) -> bool:
    return point.value <= best + TARGET * abs(best)


def _repeat(us: Contestant, rivals: list[Contestant], chosen: dict[str, int], rules: Rules) -> None:
    """In turn; a rival that would have had half its patience's worth is not asked again."""
    for _ in range(rules.repeats):
        us.run(0, rules.patience)
        for rival in rivals:
            rung = chosen.get(rival.name)
            if rung is not None and rival.spent + rival.points[rung].seconds <= 0.5 * rules.patience:
                rival.run(rung, rules.patience)


def _ours(point: Point) -> dict[str, Any]:
    assert point.gap is not None
    return {
        "ours": point.seconds,
        "solver": point.solver,
        "gap": point.gap,
        "gap_confirmed": point.gap <= TARGET * (1 + 1e-6),  # the judge sums in another order
    }


def _theirs(us: Point, rivals: list[Contestant], chosen: dict[str, int]) -> dict[str, Any]:
    """Seconds of those who reached the target; if none did, the seconds in which somebody did not."""
    times = {r.name: r.points[chosen[r.name]].seconds for r in rivals if r.name in chosen}
    late = {r.name: r.late for r in rivals if r.late is not None and r.name not in chosen}
    winner = min(times, key=lambda name: times[name], default=None)
    row: dict[str, Any] = {
        "peers": times,
        "late": late,
        "best_peer": winner,
        "ratio": times[winner] / us.seconds if winner else None,
        "notes": {r.name: r.note for r in rivals if r.note},
    }
    if winner is None and late:
        row["ratio_at_least"] = min(late.values()) / us.seconds
    return row


def _curves(us: Contestant, rivals: list[Contestant]) -> dict[str, Any]:
    """(seconds, relative suboptimality) of everything that was run."""
    best = min(point.value for c in (us, *rivals) for point in c.points.values())
    return {
        "curves": {
            c.name: sorted((p.seconds, max((p.value - best) / abs(best), 1e-16)) for p in c.points.values())
            for c in (us, *rivals)
        }
    }
