"""The paths of a page to explore: every loss with every penalty, each point with its proof."""

from __future__ import annotations

import time
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from dualgap.arrays import Vector
from dualgap.errors import InfeasibleError, NoSolverError, NotCertifiedWarning, UnboundedError
from dualgap.losses import (
    Absolute,
    Exponential,
    Hinge,
    Huber,
    Logistic,
    Loss,
    Quantile,
    Squared,
    SquaredHinge,
)
from dualgap.paths.path import Path
from dualgap.paths.request import path
from dualgap.penalties import L1, L2, ElasticNet, Linf, Penalty
from dualgap.report.explorer.world import World

ABOVE = 1.01  # at the very strength at which weights leave zero some losses have many answers; above it, one
POINTS = 48  # strengths of a path: steps of a slider that an eye takes for a motion
ENDLESS = (
    30.0  # a path on which weights are never all zero begins so far below the strength that dg.path takes
)


@dataclass(frozen=True, eq=False)
class SolvedPair:
    """One loss with one penalty: its path, or the sentence that says why there is none."""

    loss: Loss
    penalty: Penalty
    path: Path | None
    said: str


def losses_of(world: World, quantile: float = 0.9) -> tuple[Loss, ...]:
    """Four of each kind. Half of the rows lie within huber's δ of their median."""
    if world.classes is not None:
        return Hinge(), SquaredHinge(), Logistic(), Exponential()
    middle = float(np.median(world.y))
    near = float(np.median(np.abs(world.y - middle))) or float(np.std(world.y))
    return Squared(), Absolute(), Huber(float(f"{near:.3g}")), Quantile(quantile)


def penalties_of(world: World) -> tuple[Penalty, ...]:
    """Four shapes of balls; squares weigh as much as sizes for weights as large as the target's spread."""
    alpha = ElasticNet().alpha if world.classes else 1.0 / float(np.std(world.y))
    return L1(), L2(), ElasticNet(float(f"{alpha:.2g}")), Linf()


def solve(
    world: World, losses: tuple[Loss, ...], limit: float, tol: float, tell: Callable[[str], None]
) -> list[list[SolvedPair]]:
    """Every pair, first each loss with the first penalty, until the time is over."""
    until = time.perf_counter() + limit
    found: list[list[SolvedPair]] = [[] for _ in losses]
    for penalty in penalties_of(world):
        for row, loss in zip(found, losses, strict=True):
            began = time.perf_counter()
            row.append(_pair(world, loss, penalty, until - began, tol))
            tell(f"{loss} with {penalty}: {row[-1].said} ({time.perf_counter() - began:.1f} s)")
    return found


def _pair(world: World, loss: Loss, penalty: Penalty, left: float, tol: float) -> SolvedPair:
    if left <= 0.0:
        return SolvedPair(loss, penalty, None, "no time was left for it")
    until = time.perf_counter() + left
    share = None if np.ptp(world.share) == 0.0 else world.share * len(world.share)
    told: dict[str, Any] = {"loss": loss, "penalty": penalty, "sample_weight": share, "tol": tol}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", NotCertifiedWarning)  # the page says the gap of every point
        try:
            ends = path(world.X, world.y, **told, exact=False, n_lams=2, max_time=left)
            rest = until - time.perf_counter()
            if ends.stopped or len(ends) < 2 or rest <= 0.0:
                return SolvedPair(loss, penalty, None, "no time was left for it")
            found = path(world.X, world.y, **told, lams=_grid(ends), max_time=rest)
        except (NoSolverError, InfeasibleError, UnboundedError) as error:
            return SolvedPair(loss, penalty, None, str(error))
    if len(found) < 2:
        return SolvedPair(loss, penalty, None, "no time was left for it")
    return SolvedPair(loss, penalty, found, _sentence(found, tol))


def _grid(ends: Path) -> Vector:
    """From the strength at which all weights are zero; where there is none, from where they are small."""
    top, end = float(ends.lams[0]), float(ends.lams[-1])
    return np.asarray(np.geomspace(top / ENDLESS if ends.coefs[0].any() else ABOVE * top, end, POINTS))


def _sentence(found: Path, tol: float) -> str:
    worst = float(np.max(found.gaps))
    short = f", {np.count_nonzero(~(found.gaps <= tol))} of them beyond {tol:g}" if worst > tol else ""
    ended = "; the time limit came before the last" if found.stopped else ""
    return f"{len(found)} points, largest relative gap {worst:.1e}{short}{ended}"
