"""Which curve a path gets: the engine's, the ridge's, a grid, or points that cover a range."""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass

import numpy as np

from dualgap.arrays import Vector
from dualgap.drive.limits import Limits
from dualgap.drive.solver import Solver
from dualgap.errors import NoSolverError
from dualgap.paths.covering import SHARE, CoveringCurve
from dualgap.paths.curve import SolutionCurve, ZeroCurve
from dualgap.paths.family import Family, Pair
from dualgap.paths.grid import GridCurve, Walk
from dualgap.paths.homotopy.engine import Engine
from dualgap.paths.homotopy.rational_curve import RationalCurve
from dualgap.paths.homotopy.trace import PathTrace, TracedCurve
from dualgap.paths.ridge import RidgeCurve
from dualgap.paths.strengths import at_zero, default_ratio, falling, largest
from dualgap.problem.problem import Problem
from dualgap.traits import Trait

AFFORDABLE = 2e11  # operations that "auto" spends on an exact path
SEEDS = 3  # a choice: bends of the problem that are tried before the grid is taken instead
NOTHING = 1e-13  # gradients of this size, in working units, are rounding
GOOD = 1e-8  # relative gap at the checked places of a trace


@dataclass(frozen=True)
class PathRequest:
    """What the user asked of the points of a path; `curve_for` takes λ in working units."""

    exact: bool | None  # None: where it can be had at a reasonable price
    lams: Vector | None
    count: int
    ratio: float | None
    everywhere: float | None
    solver: str | Solver
    limits: Limits


def curve_for(family: Family, request: PathRequest) -> SolutionCurve:
    """See the module."""
    problem = family.problem
    if problem.bounded:
        if request.exact or request.everywhere is not None:
            asked = "exact=True" if request.exact else "everywhere="
            raise NoSolverError(
                f"{asked} is for weights without bounds and constraints; with them a path is a grid of λ."
            )
        return _gridded(family, request)
    if not problem.convex:
        raise NoSolverError(
            f"A path needs a convex loss and penalty, which {problem.loss} with this penalty is not; "
            "fit one strength at a time: fit(..., budget=k)."
        )
    still = _at_rest(family)
    if still is not None:
        return ZeroCurve(still, request.lams)
    able = refusal(problem)
    if request.exact and able:
        raise NoSolverError(f"exact=True: {able}; exact=False follows a grid of λ, proven at every point.")
    exact = not able if request.exact is None else request.exact
    if exact and request.exact is None and request.solver != "auto":
        exact = False
    if exact and (request.exact or _price(problem) <= AFFORDABLE):
        found = _exact(family, request)
        if found is not None:
            return found
    return _gridded(family, request)


def _at_rest(family: Family) -> Pair | None:
    """The answer at every λ, if no penalised weight can lower the loss."""
    problem, zero = family.problem, at_zero(family)
    assert zero.theta is not None
    v = problem.design.transpose_matvec(zero.theta)
    if np.abs(v[~problem.free]).max(initial=0.0) <= NOTHING:
        return zero
    idle = Pair(zero.w, np.zeros(problem.n))  # no loss is below its minimum
    working = family.at(1.0)
    return idle if family.proof(working, idle).gap <= 0.0 else None


def refusal(problem: Problem) -> str:
    """Why there is no exact path; empty if there is one."""
    if Trait.PIECEWISE_QUADRATIC not in problem.loss.traits:
        return f"the {problem.loss.name} loss is not piecewise linear or quadratic"
    elastic = problem.regulariser.gauge.elastic
    if elastic is None:
        return "the penalty is not l1, l2 or elastic_net"
    if problem.free.all():
        return "no weight is penalised"
    return ""


def _is_ridge(problem: Problem) -> bool:
    """squared + l2, for which one decomposition gives every λ?"""
    return problem.loss_has(Trait.QUADRATIC) and Trait.QUADRATIC in problem.regulariser.traits


def _squares(problem: Problem) -> bool:
    """Are there squares in the penalty?"""
    return Trait.POLYHEDRAL not in problem.regulariser.traits


def _price(problem: Problem) -> float:
    """A guess of the work of an exact path."""
    n, p = problem.n, problem.p
    if _is_ridge(problem):
        return float(n) * p * min(n, p)
    straight = problem.loss_has(Trait.PIECEWISE_LINEAR)
    kinks = 0 if problem.loss_has(Trait.QUADRATIC) else n
    width = min(n, p) * (2 if straight else 1)
    events = 2.0 * kinks + 2.0 * min(n, p)
    return events * (4.0 * width * width + 4.0 * n + 2.0 * p + (0 if straight else 2.0 * n * width))


def _range(family: Family, request: PathRequest) -> tuple[float, float]:
    """The largest and smallest λ to be shown."""
    if request.lams is not None:
        return float(request.lams[0]), float(request.lams[-1])
    top = largest(family)
    ratio = default_ratio(family.problem) if request.ratio is None else request.ratio
    return top, top * ratio


def _exact(family: Family, request: PathRequest) -> SolutionCurve | None:
    """The exact curve; None where the engine could not prove itself."""
    problem = family.problem
    if _is_ridge(problem):
        return RidgeCurve(problem, _grid(family, request))
    for seed in range(SEEDS):
        engine = Engine(problem, seed, limits=request.limits)
        try:
            if not engine.start():
                return None
            if engine.curved and _squares(problem):
                found: SolutionCurve = RationalCurve(engine, _grid(family, request))
            else:
                found = TracedCurve(PathTrace(engine, _end(family, request)), request.lams)
        except np.linalg.LinAlgError:  # bends that rounding cannot tell apart
            continue
        if _holds(family, found):
            return found
    return None


def _grid(family: Family, request: PathRequest) -> Vector:
    if request.lams is not None:
        return request.lams
    top, end = _range(family, request)
    return falling(top, end, request.count) if top > 0.0 else np.ones(1)  # nothing moves: one will do


def _end(family: Family, request: PathRequest) -> float:
    """Where a traced path ends: at λ = 0 for l1, unless asked otherwise."""
    if request.lams is None and request.ratio is None and not _squares(family.problem):
        return 0.0
    return _range(family, request)[1]


def _holds(family: Family, curve: SolutionCurve) -> bool:
    """Is the curve proven at a few places? (Points that are not are mended one by one.)"""
    for lam in curve.places() if curve.complete else ():
        working = family.at(lam)
        found = family.proof(working, curve.pair(lam))
        if not working.asked.relative(found.gap, found.primal) <= GOOD:
            return False
    return curve.complete


def _gridded(family: Family, request: PathRequest) -> SolutionCurve:
    if request.everywhere is None or request.lams is not None:
        lams = _grid(family, request)
        walk = Walk(family, request.solver, request.limits)
        points = walk.along(lams)
        return GridCurve(walk, points, stopped=len(points) < len(lams))
    top, end = _range(family, request)
    limits = _tightened(request.limits, SHARE * request.everywhere)
    return CoveringCurve(Walk(family, request.solver, limits), top, end, request.everywhere)


def _tightened(limits: Limits, tolerance: float) -> Limits:
    return dataclasses.replace(limits, tolerance=min(tolerance, limits.tolerance or tolerance))
