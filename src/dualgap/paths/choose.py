"""Which curve a path gets: the engine's, the ridge's, a grid, or points that cover a range."""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass

import numpy as np

from dualgap.arrays import Vector
from dualgap.drive.limits import Limits
from dualgap.drive.solver import Solver
from dualgap.errors import NoSolverError
from dualgap.paths.constant import Constant
from dualgap.paths.curve import Curve
from dualgap.paths.everywhere import SHARE, Covering
from dualgap.paths.grid import Gridded, Walk
from dualgap.paths.homotopy.engine import Engine
from dualgap.paths.homotopy.exact import Traced
from dualgap.paths.homotopy.rational import Tilted
from dualgap.paths.homotopy.trace import Trace
from dualgap.paths.ridge import Ridge
from dualgap.paths.setting import Pair, Setting
from dualgap.paths.strengths import at_zero, default_ratio, falling, largest
from dualgap.problem.problem import Problem
from dualgap.traits import Trait

AFFORDABLE = 2e11  # operations that "auto" spends on an exact path
SEEDS = 3
NOTHING = 1e-13  # gradients of this size, in working units, are rounding
GOOD = 1e-8  # relative gap at the checked places of a trace


@dataclass(frozen=True)
class Wishes:
    """What the user asked of the points of a path; `curve_for` takes λ in working units."""

    exact: bool | None  # None: where it can be had at a reasonable price
    lams: Vector | None
    count: int
    ratio: float | None
    everywhere: float | None
    solver: str | Solver
    limits: Limits


def curve_for(setting: Setting, wishes: Wishes) -> Curve:
    """See the module."""
    problem = setting.problem
    if not problem.convex:
        raise NoSolverError(
            f"A path needs a convex loss and penalty, which {problem.loss} with this penalty is not; "
            "fit one strength at a time: fit(..., budget=k)."
        )
    still = _at_rest(setting)
    if still is not None:
        return Constant(still, wishes.lams)
    able = refusal(problem)
    if wishes.exact and able:
        raise NoSolverError(f"exact=True: {able}; exact=False follows a grid of λ, proven at every point.")
    exact = not able if wishes.exact is None else wishes.exact
    if exact and wishes.exact is None and wishes.solver != "auto":
        exact = False
    if exact and (wishes.exact or _price(problem) <= AFFORDABLE):
        found = _exact(setting, wishes)
        if found is not None:
            return found
    return _gridded(setting, wishes)


def _at_rest(setting: Setting) -> Pair | None:
    """The answer at every λ, if no penalised weight can lower the loss."""
    problem, zero = setting.problem, at_zero(setting)
    assert zero.theta is not None
    v = problem.design.transpose_matvec(zero.theta)
    if np.abs(v[~problem.free]).max(initial=0.0) <= NOTHING:
        return zero
    idle = Pair(zero.w, np.zeros(problem.n))  # no loss is below its minimum
    working = setting.at(1.0)
    return idle if setting.proof(working, idle).gap <= 0.0 else None


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


def _range(setting: Setting, wishes: Wishes) -> tuple[float, float]:
    """The largest and smallest λ to be shown."""
    if wishes.lams is not None:
        return float(wishes.lams[0]), float(wishes.lams[-1])
    top = largest(setting)
    ratio = default_ratio(setting.problem) if wishes.ratio is None else wishes.ratio
    return top, top * ratio


def _exact(setting: Setting, wishes: Wishes) -> Curve | None:
    """The exact curve; None where the engine could not prove itself."""
    problem = setting.problem
    if _is_ridge(problem):
        return Ridge(problem, _grid(setting, wishes))
    for seed in range(SEEDS):
        engine = Engine(problem, seed, limits=wishes.limits)
        try:
            if not engine.start():
                return None
            if engine.curved and _squares(problem):
                found: Curve = Tilted(engine, _grid(setting, wishes))
            else:
                found = Traced(Trace(engine, _end(setting, wishes)), wishes.lams)
        except np.linalg.LinAlgError:  # bends that rounding cannot tell apart
            continue
        if _holds(setting, found):
            return found
    return None


def _grid(setting: Setting, wishes: Wishes) -> Vector:
    if wishes.lams is not None:
        return wishes.lams
    return falling(*_range(setting, wishes), wishes.count)


def _end(setting: Setting, wishes: Wishes) -> float:
    """Where a traced path ends: at λ = 0 for l1, unless asked otherwise."""
    if wishes.lams is None and wishes.ratio is None and not _squares(setting.problem):
        return 0.0
    return _range(setting, wishes)[1]


def _holds(setting: Setting, curve: Curve) -> bool:
    """Is the curve proven at a few places? (Points that are not are mended one by one.)"""
    if isinstance(curve, Traced) and not (curve.trace.complete or curve.stopped):
        return False
    for lam in _places(curve):
        working = setting.at(lam)
        found = setting.proof(working, curve.pair(lam))
        if not working.asked.relative(found.gap, found.primal) <= GOOD:
            return False
    return True


def _places(curve: Curve) -> list[float]:
    """Where a curve is tried."""
    if isinstance(curve, Traced):
        natural, end = curve.trace.engine.natural, float(curve.trace.lams[-1])
        return [natural * share for share in (0.3, 0.03, 1e-3) if natural * share >= end]
    return [float(curve.lams[k]) for k in {len(curve.lams) // 2, len(curve.lams) - 1}]


def _gridded(setting: Setting, wishes: Wishes) -> Curve:
    if wishes.everywhere is None or wishes.lams is not None:
        walk = Walk(setting, wishes.solver, wishes.limits)
        return Gridded(walk, _grid(setting, wishes))
    top, end = _range(setting, wishes)
    limits = _tightened(wishes.limits, SHARE * wishes.everywhere)
    return Covering(Walk(setting, wishes.solver, limits), top, end, wishes.everywhere)


def _tightened(limits: Limits, tolerance: float) -> Limits:
    return dataclasses.replace(limits, tolerance=min(tolerance, limits.tolerance or tolerance))
