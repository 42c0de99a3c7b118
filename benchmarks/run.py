"""The benchmark: best peer's seconds to suboptimality 1e-6 over our seconds to a certified gap of 1e-6.

    python -m benchmarks.run --quick            a dozen cells, about three minutes
    python -m benchmarks.run                    every cell
    python -m benchmarks.run --only lasso       cells whose name holds the word

Each contestant lives in a process of its own on one thread; repeats are interleaved, the best of them
counts, and compilation is excluded by a first run that is not timed. Every answer is judged by an
independent objective. Writes table.md, table.json and one picture per cell into the folder given.
"""

from __future__ import annotations

import argparse
import json
import multiprocessing as mp
import os
import platform
import time
from dataclasses import dataclass, field
from importlib import metadata
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.judge import objective
from benchmarks.problems import Cell, Problem, cells
from benchmarks.rivals import ladder

TARGET = 1e-6


@dataclass
class Point:
    """One rung of a ladder, run: best seconds and the suboptimality reached."""

    label: str
    seconds: float
    value: float


@dataclass
class Contestant:
    """A process that runs rungs on request."""

    name: str
    pipe: Connection
    process: Any
    labels: list[str]
    points: dict[int, Point] = field(default_factory=dict)
    note: str = ""

    def run(self, rung: int, patience: float) -> Point | None:
        """Ask for one run; None if it failed or took too long."""
        self.pipe.send(rung)
        if not self.pipe.poll(patience):
            self.process.kill()
            self.note = f"no answer in {patience:.0f} s"
            return None
        answer = self.pipe.recv()
        if isinstance(answer, str):
            self.note = answer
            return None
        seconds, value = answer
        before = self.points.get(rung)
        best = seconds if before is None else min(seconds, before.seconds)
        self.points[rung] = Point(self.labels[rung], best, value)
        return self.points[rung]


def _serve(name: str, problem: Problem, pipe: Connection) -> None:
    """The contestant's side: run rungs, answer (seconds, objective) or a sentence."""
    rungs = ladder(name, problem)
    pipe.send([label for label, _ in rungs])
    while True:
        rung = pipe.recv()
        if rung is None:
            return
        try:
            began = time.process_time()
            w, b = rungs[rung][1]()
            pipe.send((time.process_time() - began, objective(problem, w, b)))
        except Exception as error:  # a rival that fails is a finding, not an end
            pipe.send(f"{type(error).__name__}: {str(error)[:120]}")


def _start(name: str, problem: Problem, patience: float) -> Contestant | None:
    ours, theirs = mp.Pipe()
    process = mp.get_context("fork").Process(target=_serve, args=(name, problem, theirs), daemon=True)
    process.start()
    labels = ours.recv() if ours.poll(patience) else []
    if not labels:
        process.kill()
        return None
    return Contestant(name, ours, process, labels)


def _climb(rival: Contestant, best: float, patience: float) -> int | None:
    """The loosest rung that reaches the target; every rung tried is kept for the picture."""
    if rival.run(0, patience) is None:  # also the warm-up
        return None
    for rung in range(len(rival.labels)):
        point = rival.run(rung, patience)
        if point is None:
            return None
        if point.value <= best + TARGET * abs(best):
            return rung
    rival.note = "never reached 1e-6"
    return None


def race(cell: Cell, seed: int, repeats: int, patience: float) -> dict[str, Any]:
    """One cell, one draw."""
    problem = cell.make(seed)
    us = _start("dualgap", problem, 60)
    assert us is not None
    for _ in range(2):
        us.run(0, patience)
    if 0 not in us.points:
        return {"cell": cell.name, "seed": seed, "error": us.note}
    best = us.points[0].value
    rivals = [r for name in cell.rivals if (r := _start(name, problem, 60)) is not None]
    chosen: dict[str, int] = {}
    for rival in rivals:
        rung = _climb(rival, best, patience)
        best = min([best, *(point.value for point in rival.points.values())])
        if rung is not None:
            chosen[rival.name] = rung
    for _ in range(repeats):
        us.run(0, patience)
        for rival in rivals:
            if rival.name in chosen and rival.points[chosen[rival.name]].seconds < 10:
                rival.run(chosen[rival.name], patience)
    for contestant in (us, *rivals):
        contestant.process.kill()
    return _result(cell, seed, us, rivals, chosen, best)


def _result(
    cell: Cell, seed: int, us: Contestant, rivals: list[Contestant], chosen: dict[str, int], best: float
) -> dict[str, Any]:
    times = {r.name: r.points[chosen[r.name]].seconds for r in rivals if r.name in chosen}
    winner = min(times, key=lambda name: times[name], default=None)
    curves = {
        r.name: sorted((p.seconds, max((p.value - best) / abs(best), 1e-16)) for p in r.points.values())
        for r in (us, *rivals)
    }
    return {
        "cell": cell.name,
        "seed": seed,
        "ours": us.points[0].seconds,
        "peers": times,
        "best_peer": winner,
        "ratio": times[winner] / us.points[0].seconds if winner else None,
        "must": cell.must,
        "notes": {r.name: r.note for r in rivals if r.note},
        "curves": curves,
    }


def _versions() -> dict[str, str]:
    names = (
        "dualgap",
        "numpy",
        "scipy",
        "scikit-learn",
        "numba",
        "skglm",
        "celer",
        "adelie",
        "glum",
        "snapml",
        "cvxpy",
        "clarabel",
        "piqp",
    )
    found = {}
    for name in names:
        try:
            found[name] = metadata.version(name)
        except metadata.PackageNotFoundError:
            continue
    return found


def _machine() -> str:
    try:
        lines = Path("/proc/cpuinfo").read_text().splitlines()
        model = next(line.split(":")[1].strip() for line in lines if line.startswith("model name"))
    except (OSError, StopIteration):
        model = platform.processor()
    return f"{model}, {os.cpu_count()} cores, one thread used"


def _markdown(results: list[dict[str, Any]]) -> str:
    lines = [
        f"{_machine()}; " + ", ".join(f"{k} {v}" for k, v in _versions().items()),
        "",
        "| cell | ours, s | best peer | its s | ratio | must |",
        "|---|---|---|---|---|---|",
    ]
    for r in results:
        if "error" in r:
            lines.append(f"| {r['cell']} | failed: {r['error']} | | | | |")
            continue
        peer = r["best_peer"]
        if peer is None:
            lines.append(f"| {r['cell']} | {r['ours']:.4g} | none reached it | | | {r['must']:g} |")
        else:
            lines.append(
                f"| {r['cell']} | {r['ours']:.4g} | {peer} | {r['peers'][peer]:.4g} "
                f"| {r['ratio']:.1f} | {r['must']:g} |"
            )
    return "\n".join(lines) + "\n"


def _draw(result: dict[str, Any], folder: Path) -> None:
    import matplotlib

    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    figure, axes = plt.subplots(figsize=(6, 4), layout="constrained")
    for (name, points), marker in zip(result["curves"].items(), "osv^D<>P", strict=False):
        if points:
            seconds, excess = np.array(points).T
            axes.loglog(
                seconds,
                excess,
                marker=marker,
                label=name,
                linewidth=1.2,
                zorder=3 if name == "dualgap" else 2,
            )
    axes.axhline(TARGET, color="0.5", linewidth=0.8, linestyle="--")
    axes.set(xlabel="seconds (one thread)", ylabel="relative suboptimality", title=result["cell"])
    axes.legend(fontsize=8)
    name = "".join(c if c.isalnum() else "_" for c in result["cell"])
    figure.savefig(folder / f"{name}_{result['seed']}.png", dpi=120)
    plt.close(figure)


def main(arguments: list[str] | None = None) -> int:
    """Run the cells asked for and write the tables."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--quick", action="store_true", help="the quick subset")
    parser.add_argument("--only", default="", help="cells whose name contains this")
    parser.add_argument("--seeds", type=int, default=1, help="draws per cell")
    parser.add_argument("--first-seed", type=int, default=0)
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--patience", type=float, default=60.0, help="seconds before a rival is given up")
    parser.add_argument("--out", default="benchmarks/results/local")
    options = parser.parse_args(arguments)
    folder = Path(options.out)
    folder.mkdir(parents=True, exist_ok=True)
    results = []
    for cell in cells():
        if options.only not in cell.name or (options.quick and not cell.quick):
            continue
        for seed in range(options.first_seed, options.first_seed + options.seeds):
            result = race(cell, seed, options.repeats, options.patience)
            results.append(result)
            _draw(result, folder) if "curves" in result else None
            ratio = result.get("ratio")
            text = (
                f"{ratio:.1f}x of {result['best_peer']}"
                if ratio
                else str(result.get("error") or result.get("notes"))
            )
            print(
                f"{result['cell']} (seed {seed}): ours {result.get('ours', float('nan')):.4f} s, {text}",
                flush=True,
            )
            table = {"machine": _machine(), "versions": _versions(), "results": results}
            (folder / "table.json").write_text(json.dumps(table, indent=1))
            (folder / "table.md").write_text(_markdown(results))
    print(_markdown(results))
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
