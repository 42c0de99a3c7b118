"""A sample that is solved in memory: where an algorithm starts, and how far from there the answer may be."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from dualgap.arrays import Matrix, Vector
from dualgap.blocks.source import RowBlock, RowSource, SampledBlock
from dualgap.errors import DataError, UnboundedError
from dualgap.streaming.asked import ScanTask, SmallProblem

ROWS = 100_000  # of a sample at least: at 2·10⁶×50 logistic and hinge needed two scans with it
PER_COLUMN = 400  # rows for each column: with 200 of them a third scan was needed at 500 columns
ALL = 1 << 21  # numbers: data of no more are their own sample
ROUGH, HALVES = (
    1e-5,
    1e-4,
)  # relative gaps of the sample's fit, and of those of its halves, which say its spread
SPREAD = 1e-3  # of z, where the halves agree to the last digit
GROWN = 4  # times the rows where a sample has no minimum
RARE = 2000  # rows of a class that the sample has missed, at most, in a block


def sample_size(n: int, p: int) -> int:
    """How many rows to draw."""
    return n if n * p <= ALL else min(n, max(ROWS, PER_COLUMN * p))


@dataclass(frozen=True, eq=False)
class Start:
    """Weights, how far z moves from there to the optimum (one deviation), and what columns look like."""

    w: Vector
    sigma: float
    centre: Vector
    scale: Vector
    rows: int


@dataclass(frozen=True, eq=False)
class DrawnRows:
    """A sample before its targets are read."""

    X: Matrix
    y: Any
    weight: Vector | None

    def block(self) -> RowBlock:
        """As a block."""
        return RowBlock(self.X, self.y, self.weight, 0, "the sample")


def drawn(source: RowSource, classes: Any, seed: int = 0, rows: int | None = None) -> DrawnRows:
    """The sample, with rows of every class."""
    wanted = rows or sample_size(source.n or 1 << 62, source.p)
    found = source.sample(wanted, seed)
    if source.n is not None and rows is None and sample_size(source.n, source.p) > wanted:
        found = source.sample(sample_size(source.n, source.p), seed)
    if classes is None:
        return DrawnRows(found.X, found.y, found.weight)
    missing = np.setdiff1d(classes, found.y)
    return (
        DrawnRows(found.X, found.y, found.weight) if not len(missing) else _completed(source, found, missing)
    )


@dataclass(frozen=True, eq=False)
class _Rare:
    blocks: list[RowBlock]
    count: int

    def plus(self, other: _Rare) -> _Rare:
        return _Rare([*self.blocks, *other.blocks], self.count + other.count)


def _of_classes(block: RowBlock, missing: Any) -> _Rare:
    own = np.flatnonzero(np.isin(block.y, missing))
    return _Rare([block.taken(own[:RARE])] if len(own) else [], len(own))


def _completed(source: RowSource, found: SampledBlock, missing: Any) -> DrawnRows:
    """A scan for rows of classes that the sample has not met, each weighing what it stands for."""
    more = source.reduced(_of_classes, missing)
    X = np.concatenate([found.X, *(one.X for one in more.blocks)])
    y = np.concatenate([found.y, *(one.y for one in more.blocks)])
    weight = np.ones(len(found)) if found.weight is None else found.weight
    scale = found.seen / len(found)
    own = [np.ones(len(one)) if one.weight is None else one.weight for one in more.blocks]
    held = sum(map(len, own))
    shares = [one * (more.count / max(held, 1)) / scale for one in own]
    return DrawnRows(np.asfortranarray(X), y, np.concatenate([weight, *shares]))


def started(source: RowSource, asked: ScanTask, rows: DrawnRows, *, spread: bool = True) -> Start:
    """The sample's answer, and that of its two halves."""
    X, y, weight, _ = asked.targets.of(rows.block())
    if len(y) == 0:
        raise DataError("The sample has no rows that count.")
    # a file may be sorted: neighbours are alike
    order = np.random.default_rng(0).permutation(len(y))
    tolerance = ROUGH if len(y) < (source.n or 0) else min(ROUGH, asked.tolerance)
    problem = SmallProblem(X, y, weight, False, tolerance)
    try:
        first = asked.solve(problem)
    except UnboundedError:
        if len(y) >= (source.n or 0) // GROWN or len(y) > 4 * ROWS:
            raise
        bigger = drawn(source, asked.targets.classes, rows=GROWN * len(rows.y))
        return started(source, asked, bigger, spread=spread)
    centre = X.mean(axis=0)
    scale = np.maximum(X.std(axis=0), 1e-9 * np.abs(centre) + 1e-300)
    sigma = SPREAD * float(np.std(asked.scores(X, first.w)) + SPREAD)
    if spread:
        halves = [_half(asked, problem, part, first.w) for part in (order[::2], order[1::2])]
        if halves[0] is not None and halves[1] is not None:
            sigma = max(sigma * SPREAD, 0.5 * float(np.std(asked.scores(X, halves[0] - halves[1]))))
    return Start(first.w, sigma, centre, scale, len(y))


def _half(asked: ScanTask, problem: SmallProblem, part: Any, start: Vector) -> Vector | None:
    part = np.sort(part)
    y, weight = problem.y[part], None if problem.weight is None else problem.weight[part]
    if asked.targets.classes is not None and len(np.unique(y)) < 2:
        return None
    small = replace(problem, X=problem.X[part], y=y, weight=weight, tolerance=HALVES, start=start)
    try:
        return asked.solve(small).w
    except UnboundedError:
        return None
