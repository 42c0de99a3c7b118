"""A sample that is solved in memory: where an algorithm starts, and how far from there the answer may be."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from dualgap.arrays import Matrix, Vector
from dualgap.blocks.addresses import give_back
from dualgap.blocks.source import RowBlock, RowSource, SampledBlock
from dualgap.blocks.stacks import stacked
from dualgap.errors import DataError, UnboundedError
from dualgap.losses import Loss
from dualgap.losses.shifted import parted_targets
from dualgap.streaming.asked import ScanTask, SmallProblem
from dualgap.streaming.far import centred, far_out
from dualgap.traits import Trait

ROWS = 100_000  # of a sample at least: at 2·10⁶×50 logistic and hinge needed two scans with it
# where curvature jumps, rows near there are kept: with half as many some fits at 10⁷×50 needed a third scan
BENT = 200_000
PER_COLUMN = 400  # rows for each column: with 200 of them a third scan was needed at 500 columns
# times n^⅔: what a sample costs rises with its rows, what is near a kink falls with their root; 10⁷ rows have
# 16 % near one with 10⁵ rows in the sample, 7 % with 4.6·10⁵
KINKED = 10
LARGEST = 1 << 26  # numbers of a sample at most, 512 MB,
FEWEST = 4  # unless these rows for each column are more: fewer say nothing
ALL = 1 << 21  # numbers: data of no more are their own sample
ROUGH, PART = (
    1e-5,
    1e-4,
)  # relative gaps of the sample's fit, and of that of a part, which says its spread
SPREAD = 1e-3  # of z, where both agree to the last digit
GROWN = 4  # times the rows where a sample has no minimum
RARE = 2000  # rows of a scarce class, at most, in a block
SCARCE = (
    100,
    20,
)  # rows of a class at least, and for each column: with 30 of them logistic took 14 scans, not 3
MANY = 10_000  # the same for any number of columns


def sample_size(n: int, p: int, *, kinked: bool = False, bent: bool = False) -> int:
    """How many rows to draw; where rows near a kink are to be kept, as many as keep their number small."""
    wanted = max(BENT if bent else ROWS, PER_COLUMN * p)
    if kinked and n < 1 << 60:
        wanted = max(wanted, min(int(KINKED * n ** (2.0 / 3.0)), LARGEST // 2 // p))
    return n if n * p <= ALL else min(n, wanted, max(LARGEST // p, FEWEST * p))


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
    shift: Vector | None = None  # the offset of each row

    def block(self) -> RowBlock:
        """As a block."""
        return RowBlock(self.X, self.y, self.weight, 0, "the sample", 0, self.shift)


def drawn(source: RowSource, classes: Any, loss: Loss, seed: int = 0, rows: int | None = None) -> DrawnRows:
    """The sample, with rows enough of every class; of targets with means, of those that are not zero."""
    kinked, means = Trait.SMOOTH not in loss.traits, Trait.MEANS in loss.traits
    bent = not kinked and has_bends(loss)
    wanted = rows or sample_size(source.n or 1 << 62, source.p, kinked=kinked, bent=bent)
    found = source.sample(wanted, seed)
    if source.n is not None and rows is None:
        size = sample_size(source.n, source.p, kinked=kinked, bent=bent)
        found = source.sample(size, seed) if size > wanted else found
    if (classes is None and not means) or len(found) >= (source.n or found.seen):
        return DrawnRows(found.X, found.y, found.weight, found.shift)
    kinds = np.array([True]) if classes is None else classes
    have, least = _kinds(found.y, classes), max(SCARCE[0], min(SCARCE[1] * source.p, MANY))
    scarce = np.array([kind for kind in kinds if np.count_nonzero(have == kind) < least], dtype=kinds.dtype)
    return (
        DrawnRows(found.X, found.y, found.weight, found.shift)
        if not len(scarce)
        else _completed(source, found, scarce, classes)
    )


def has_bends(loss: Loss) -> bool:
    """Does the curvature of a smooth loss jump?"""
    return Trait.PIECEWISE_QUADRATIC in loss.traits and Trait.QUADRATIC not in loss.traits


def _kinds(y: Any, classes: Any) -> Any:
    """The classes; of numbers whether they are above zero."""
    return np.asarray(y) if classes is not None else np.asarray(y, dtype=np.float64) > 0.0


@dataclass(frozen=True, eq=False)
class _Rare:
    blocks: list[RowBlock]
    count: int

    def plus(self, other: _Rare) -> _Rare:
        return _Rare([*self.blocks, *other.blocks], self.count + other.count)


def _of_kinds(block: RowBlock, scarce: Any, classes: Any) -> _Rare:
    own = np.flatnonzero(np.isin(_kinds(block.y, classes), scarce))
    return _Rare([block.taken(own[:RARE])] if len(own) else [], len(own))


def _completed(source: RowSource, found: SampledBlock, scarce: Any, classes: Any) -> DrawnRows:
    """A scan for rows of classes that the sample has hardly met, each weighing what it stands for."""
    more = source.reduced(_of_kinds, scarce, classes)
    scale = (source.n or found.seen) / len(found)
    common = np.flatnonzero(~np.isin(_kinds(found.y, classes), scarce))
    X = stacked([found.X[common], *(one.X for one in more.blocks)])
    y = np.concatenate([found.y[common], *(one.y for one in more.blocks)])
    weight = np.ones(len(common)) if found.weight is None else found.weight[common]
    own = [np.ones(len(one)) if one.weight is None else one.weight for one in more.blocks]
    held = sum(map(len, own))
    shares = [one * (more.count / max(held, 1)) / scale for one in own]
    shift = None
    if found.shift is not None:
        shift = np.concatenate([found.shift[common], *(one.shift for one in more.blocks)])
    return DrawnRows(X, y, np.concatenate([weight, *shares]), shift)


def started(source: RowSource, asked: ScanTask, rows: DrawnRows, *, spread: bool = True) -> Start:
    """The sample's answer, and that of a part of it, which tells by how much such answers differ."""
    X, y, weight, _ = asked.targets.of(rows.block())
    if len(y) == 0:
        raise DataError("No row of the sample counts: all of its weights are zero.")
    # a file may be sorted: neighbours are alike
    order = np.random.default_rng(0).permutation(len(y))
    tolerance = ROUGH if len(y) < (source.n or 0) else min(ROUGH, asked.tolerance)
    problem = SmallProblem(X, y, weight, False, tolerance, rough=len(y) < (source.n or 0))
    try:
        first = asked.solve(problem)
    except UnboundedError:
        if len(y) >= (source.n or 0) // GROWN or len(y) > 4 * ROWS:
            raise
        bigger = drawn(source, asked.targets.classes, asked.statement.loss, rows=GROWN * len(rows.y))
        return started(source, asked, bigger, spread=spread)
    centre, scale = centred(X)
    usual = np.ones(len(y), dtype=bool)
    usual[far_out(X, np.arange(X.shape[1]), centre, scale)] = False
    sigma = SPREAD * float(np.std(asked.scores(X, first.w)[usual]) + SPREAD)
    if spread:
        m = len(y)
        give_back(X.size)
        k = min(m // 2, max(ROWS, PER_COLUMN * source.p) // 2)
        part = _part(asked, problem, order[:k], first.w)
        if part is not None:
            apart = float(np.std(asked.scores(X, part - first.w)[usual]))
            sigma = max(sigma * SPREAD, np.sqrt(k / (m - k)) * apart)  # of k rows of its m
    return Start(first.w, sigma, centre, scale, len(y))


def _part(asked: ScanTask, problem: SmallProblem, part: Any, start: Vector) -> Vector | None:
    part = np.sort(part)
    if not len(part):
        return None
    y, weight = problem.y[part], None if problem.weight is None else problem.weight[part]
    if asked.targets.classes is not None and len(np.unique(parted_targets(y)[0])) < 2:
        return None
    small = replace(problem, X=problem.X[part], y=y, weight=weight, tolerance=PART, start=start)
    try:
        return asked.solve(small).w
    except UnboundedError:
        return None
