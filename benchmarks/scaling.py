"""Scaling laws: seconds and memory of each main solver against n, p, the entries stored, and λ.

    python -m benchmarks.scaling                    every solver, about six minutes
    python -m benchmarks.scaling --only newton      one of them

Seconds of the processor, the best of three after one that is not timed. Memory is the peak of what a fit
allocates beside X and y, as tracemalloc sees it, also in units of X. Slopes are those of the last three
points on logarithmic scales, along λ those of all. Then problems that are too large: who refuses, with
which words. Writes scaling.md, scaling.json and a picture per solver into the folder given.
"""

from __future__ import annotations

import argparse
import json
import time
import tracemalloc
import warnings
from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import matplotlib.pyplot as plt
import numpy as np
import scipy.sparse as sp

import dualgap as dg
from benchmarks.machine import heading, machine, versions
from benchmarks.pictures import decades
from benchmarks.problems import CLASSIFICATION, Problem, data_for, largest, text_classes
from benchmarks.rivals.dualgap import asked

AXES = ("n", "p", "nnz", "lam")
LINEAR = 1.15  # a slope in n of no more than this counts as linear
REPEATS = 3
MIB = float(2**20)


@dataclass(frozen=True)
class Family:
    """A solver, what it is asked, and the sizes of each axis; the others stay at their base."""

    solver: str
    loss: str
    penalty: str
    n: tuple[int, ...] = (8000, 16_000, 32_000, 64_000, 128_000, 256_000)
    p: tuple[int, ...] = (50, 100, 200, 400, 800)
    words: tuple[int, ...] = (10, 20, 40, 80, 160)
    base: tuple[int, int] = (8000, 100)
    text: tuple[int, int] = (10_000, 1000)
    factors: tuple[float, ...] = (10.0, 1.0, 0.1, 0.01)

    def points(self) -> Iterator[tuple[str, Problem]]:
        """Every problem of every axis."""
        n, p = self.base
        for rows in self.n:
            yield "n", self._problem(*self._dense(rows, p))
        for columns in self.p:
            yield "p", self._problem(*self._dense(n, columns))
        for words in self.words:
            yield "nnz", self._problem(*self._text(words))
        for factor in self.factors:
            yield "lam", self._problem(*self._dense(n, p), factor)

    def _dense(self, n: int, p: int) -> tuple[Any, Any]:
        return data_for(self.loss, n, p, 0)

    def _text(self, words: int) -> tuple[Any, Any]:
        X, y = text_classes(*self.text, 0, words)
        if self.loss in CLASSIFICATION:
            return X, y
        rng = np.random.default_rng(1)
        return X, X @ rng.standard_normal(X.shape[1]) + 0.1 * rng.standard_normal(X.shape[0])

    def _problem(self, X: Any, y: Any, factor: float = 1.0) -> Problem:
        lam = largest(X, y, self.loss) / 20 if self.penalty == "l1" else 1e-3
        return Problem(X, y, self.loss, self.penalty, lam=factor * lam)


WIDE: dict[str, Any] = {
    "n": (500, 1000, 2000, 4000, 8000, 16_000),
    "p": (1000, 2000, 4000, 8000),
    "base": (1000, 2000),
}
SLOW: dict[str, Any] = {"p": (25, 50, 100, 200), "factors": (100.0, 10.0, 1.0, 0.1)}
FAMILIES = (
    Family("closed_form", "squared", "l2"),
    Family("newton", "logistic", "l2"),
    Family("coordinate_descent", "squared", "l1", text=(10_000, 20_000), **WIDE),
    Family("dual_coordinate_ascent", "hinge", "l2", text=(10_000, 20_000), **SLOW),
    Family("interior_point", "quantile(0.9)", "l1", p=(25, 50, 100, 200, 400)),
    Family("augmented_lagrangian", "hinge", "l2"),
)


@dataclass(frozen=True)
class Measured:
    """One fit: the size on its axis, seconds, bytes allocated, bytes of X."""

    axis: str
    size: float
    seconds: float
    allocated: int
    matrix: int

    @property
    def copies(self) -> float:
        """What was allocated, in units of X."""
        return self.allocated / self.matrix


def measure(solver: str, axis: str, problem: Problem) -> Measured:
    """Time, then memory in a run of its own: tracing costs time."""

    def fit() -> None:
        found = dg.fit(problem.X, problem.y, solver=solver, **asked(problem))
        assert found.converged, found.status

    fit()
    seconds = min(_spent(fit) for _ in range(REPEATS))
    tracemalloc.start()
    fit()
    allocated = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    X = problem.X
    matrix = X.data.nbytes + X.indices.nbytes + X.indptr.nbytes if sp.issparse(X) else X.nbytes
    entries = X.nnz if sp.issparse(X) else X.size
    size = {"n": X.shape[0], "p": X.shape[1], "nnz": entries, "lam": problem.lam}[axis]
    assert size is not None
    return Measured(axis, float(size), seconds, allocated, matrix)


def _spent(run: Callable[[], None]) -> float:
    began = time.process_time()
    run()
    return time.process_time() - began


def slope(points: list[Measured], what: Callable[[Measured], float]) -> float:
    """Of the last three points, of all along λ, on logarithmic scales."""
    last = sorted(points, key=lambda m: m.size)[-3 if points[0].axis != "lam" else 0 :]
    return float(np.polyfit(np.log([m.size for m in last]), np.log([what(m) for m in last]), 1)[0])


def curves(family: Family) -> dict[str, list[Measured]]:
    """Every axis of one solver."""
    found: dict[str, list[Measured]] = {axis: [] for axis in AXES}
    for axis, problem in family.points():
        found[axis].append(measure(family.solver, axis, problem))
        m = found[axis][-1]
        print(
            f"{family.solver} {axis} {m.size:.4g}: {m.seconds:.3g} s, {m.allocated / MIB:.3g} MiB, "
            f"{m.copies:.2f} of X",
            flush=True,
        )
    return found


def lines(family: Family, found: dict[str, list[Measured]]) -> list[str]:
    """The rows of a solver."""
    rows = []
    for axis, points in found.items():
        first, last = min(points, key=lambda m: m.size), max(points, key=lambda m: m.size)
        largest_one = max(points, key=lambda m: (m.matrix, m.copies))
        growth = slope(points, lambda m: m.seconds)
        verdict = ("yes" if growth <= LINEAR else "no") if axis == "n" else ""
        rows.append(
            f"| {family.solver} | {family.loss}+{family.penalty} | {axis} "
            f"| {first.size:.3g} … {last.size:.3g} | {first.seconds:.3g} … {last.seconds:.3g} "
            f"| {growth:.2f} | {verdict} | {slope(points, lambda m: m.allocated):.2f} "
            f"| {largest_one.allocated / MIB:.3g} | {largest_one.copies:.2f} |"
        )
    return rows


HEAD = [
    "| solver | problem | axis | from … to | seconds | slope | linear? | of memory | MiB at the largest X "
    "| in units of X |",
    "|---|---|---|---|---|---|---|---|---|---|",
]


def draw(family: Family, found: dict[str, list[Measured]], folder: Path) -> None:
    """Seconds above, memory below, an axis per column."""
    figure, panels = plt.subplots(2, len(AXES), figsize=(12, 5.5), layout="constrained", sharex="col")
    for (axis, points), (upper, lower) in zip(found.items(), panels.T, strict=True):
        ordered = sorted(points, key=lambda m: m.size)
        sizes = [m.size for m in ordered]
        upper.loglog(sizes, [m.seconds for m in ordered], "o-")
        upper.set_title(f"slope {slope(points, lambda m: m.seconds):.2f}", fontsize=10)
        lower.loglog(sizes, [m.allocated / MIB for m in ordered], "o-", label="allocated")
        lower.loglog(sizes, [m.matrix / MIB for m in ordered], "--", color="0.5", label="X itself")
        lower.set_xlabel({"lam": "λ", "nnz": "entries stored"}.get(axis, axis))
        for panel in (upper, lower):
            panel.grid(which="major", linewidth=0.4)
            panel.set(xlim=decades(panel.get_xlim()), ylim=decades(panel.get_ylim()))
    panels[0, 0].set_ylabel("seconds")
    panels[1, 0].set_ylabel("MiB")
    panels[1, 0].legend(fontsize=8)
    figure.suptitle(f"{family.solver}: {family.loss} + {family.penalty}")
    figure.savefig(folder / f"{family.solver}.png", dpi=110)
    plt.close(figure)


def refusals(side: int = 200_000) -> dict[str, str]:
    """What each main solver says of a sparse problem with so many rows and columns, before any work."""
    rng = np.random.default_rng(0)
    columns = rng.integers(side, size=5 * side)
    X = sp.csr_array((np.ones(5 * side), columns, np.arange(0, 5 * side + 1, 5)), (side, side))
    y = np.where(rng.random(side) > 0.5, 1.0, -1.0)
    found = {}
    for family in FAMILIES:
        verdicts = dg.explain(X, y, loss=family.loss, penalty=family.penalty, lam=1e-3).verdicts
        missing = next(v.missing for v in verdicts if v.name == family.solver)
        found[family.solver] = "; ".join(missing) or "takes it"
    return found


def main(arguments: list[str] | None = None) -> int:
    """Measure, print, write."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--only", default="", help="solvers whose name contains this")
    parser.add_argument("--out", default="benchmarks/results/scaling")
    options = parser.parse_args(arguments)
    folder = Path(options.out)
    folder.mkdir(parents=True, exist_ok=True)
    warnings.simplefilter("ignore")
    rows, table = [], {}
    for family in FAMILIES:
        if options.only in family.solver:
            found = curves(family)
            rows += lines(family, found)
            table[family.solver] = {axis: [asdict(m) for m in points] for axis, points in found.items()}
            draw(family, found, folder)
    refused = refusals()
    told = ["", "A sparse X with 200,000 rows and columns:", "", *(f"- {k}: {v}" for k, v in refused.items())]
    page = "\n".join([heading(), "", *HEAD, *rows, *told]) + "\n"
    print(page)
    whole = {"machine": machine(), "versions": versions(), "solvers": table, "too_large": refused}
    (folder / "scaling.md").write_text(page, encoding="utf-8")
    (folder / "scaling.json").write_text(json.dumps(whole, indent=1), encoding="utf-8")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
