"""The keywords that say how to solve, not what: limits, solver, flags, a start."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from typing import Any

import numpy as np

from dualgap.arrays import Vector
from dualgap.drive.limits import Limits
from dualgap.drive.registry import SOLVERS
from dualgap.drive.solver import Iterate, Solver
from dualgap.drive.stopping import Stop
from dualgap.drive.trace import Callback
from dualgap.errors import DataError, NoSolverError
from dualgap.fitting.objective import Objective
from dualgap.problem.precondition import Working


def read_limits(
    tol: Any, max_iter: Any, max_time: Any, callback: Callback | None, stop: Any = None
) -> Limits:
    """The stopping rules, checked."""
    if not _number(tol, lambda value: value >= 0):
        raise DataError(f"tol must be a finite number of at least 0, not {tol!r}.")
    if max_iter is not None and not _number(max_iter, lambda value: value >= 1 and value.is_integer()):
        raise DataError(f"max_iter must be a whole number of at least 1, not {max_iter!r}.")
    if max_time is not None and not _number(max_time, lambda value: value > 0):
        raise DataError(f"max_time must be a positive number of seconds, not {max_time!r}.")
    if callback is not None and not callable(callback):
        raise DataError(f"callback must be a function of one record, not {type(callback).__name__}.")
    if stop is not None and not isinstance(stop, Stop):
        raise DataError(f"stop must be a rule of dg.stopping, not {type(stop).__name__}.")
    return Limits(float(tol), None if max_iter is None else int(max_iter), max_time, callback, stop)


def _number(given: Any, accepts: Callable[[float], bool]) -> bool:
    """Is this a finite number of which that holds?"""
    if isinstance(given, str | bytes):
        return False
    try:
        value = float(given)
    except (TypeError, ValueError):
        return False
    return bool(np.isfinite(value)) and accepts(value)


def read_inside(name: str, given: Any) -> float:
    """A number strictly between 0 and 1."""
    if not _number(given, lambda value: True):
        raise DataError(f"{name} must be a number, not {given!r}.")
    if not 0.0 < float(given) < 1.0:
        raise DataError(f"{name} must be between 0 and 1, not {given!r}.")
    return float(given)


def read_rising(name: str, given: Any, *, zero: bool) -> Vector:
    """Finite numbers above 0, or from 0 on, the least first."""
    try:
        values = np.atleast_1d(np.asarray(given, dtype=np.float64)).ravel()
    except (TypeError, ValueError):
        raise DataError(f"{name} must be a list of numbers.") from None
    if not len(values) or not np.all(np.isfinite(values) & ((values > 0.0) | (zero & (values == 0.0)))):
        kind = "finite numbers of at least 0" if zero else "positive finite numbers"
        raise DataError(f"{name} must be {kind}, at least one.")
    return np.sort(values)


def read_flag(name: str, given: Any) -> bool:
    """True or False; a word that happens to be true is a slip."""
    if isinstance(given, bool | np.bool_ | int) and given in (0, 1):
        return bool(given)
    raise DataError(f"{name} must be True or False, not {given!r}.")


def is_infinite(C: Any) -> bool:
    """Is this C = ∞?"""
    return isinstance(C, float | np.floating) and bool(np.isposinf(C))


def read_solver(solver: Any) -> str | Solver:
    """A name or a solver with its options."""
    if isinstance(solver, str):
        return solver
    if isinstance(solver, type) or not hasattr(solver, "iterates"):
        what = f"the class {solver.__name__}" if isinstance(solver, type) else repr(solver)
        raise NoSolverError(f"solver must be a name or a solver such as dg.solvers.Newton(), not {what}.")
    chosen: Solver = solver
    return chosen


def seeded(solver: str | Solver, random_state: Any) -> str | Solver:
    """The solver with this seed, where it draws random numbers; None leaves it as it is."""
    if random_state is None or (isinstance(solver, str) and solver not in SOLVERS):
        return solver
    chosen = SOLVERS[solver]() if isinstance(solver, str) else solver
    if not hasattr(chosen, "random_state"):
        return solver
    number = isinstance(random_state, int | np.integer)
    seed = int(random_state) if number else int(random_state.randint(2**31 - 1))
    replaced: Solver = dataclasses.replace(chosen, random_state=seed)  # type: ignore[type-var]
    return replaced


def read_start(warm_start: Any, shape: tuple[int, ...]) -> tuple[Vector, Vector, Vector | None]:
    """(coef, intercept, θ) of a Solution, or of a pair (coef, intercept); `shape` is that of coef."""
    theta = getattr(getattr(warm_start, "certificate", None), "theta", None)
    try:
        pair = (warm_start.coef, warm_start.intercept) if hasattr(warm_start, "coef") else warm_start
        coef, intercept = (np.asarray(part, dtype=np.float64) for part in pair)
        coef = coef.ravel() if len(shape) == 1 else coef
        intercept = np.broadcast_to(intercept, shape[:-1])
    except (TypeError, ValueError):
        raise DataError("warm_start must be a Solution or a pair (coef, intercept) of numbers.") from None
    if coef.shape != shape:
        raise DataError(f"warm_start has weights of shape {coef.shape}; this problem has {shape}.")
    if not (np.all(np.isfinite(coef)) and np.all(np.isfinite(intercept))):
        raise DataError("warm_start holds NaN or infinity.")
    return coef, intercept, None if theta is None else np.asarray(theta)


def read_iterate(
    warm_start: Any, working: Working, terms: Objective, classes: tuple[int, ...] = (), *, duals: bool = True
) -> Iterate | None:
    """A warm start in the solver's coordinates, a row of weights for each of so many classes; `duals` with
    its θ.
    """
    if warm_start is None:
        return None
    coef, intercept, theta = read_start(warm_start, (*classes, len(terms.scale)))
    w = np.concatenate([coef, intercept[..., None]], axis=-1) if terms.fit_intercept else coef
    if not duals or theta is None or theta.shape != (len(terms.used), *classes):
        return Iterate(working.coordinates(w.ravel()))
    theta = theta[terms.used]
    if working.asked.constraints is not None:  # their multipliers go behind
        known = getattr(warm_start.certificate, "multipliers", None)
        if known is None or classes or len(known) != len(working.asked.constraints):
            return Iterate(working.coordinates(w.ravel()))
        theta = np.append(theta, known)
    return Iterate(working.coordinates(w.ravel()), working.working_theta(theta))
