"""Can bounds, constraints and a budget be met at all? If not, which of them conflict, and the proof."""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction

import numpy as np

from dualgap.arrays import Index, Vector
from dualgap.errors import DataError, InfeasibleError
from dualgap.fitting.inputs import Table
from dualgap.fitting.objective import Objective
from dualgap.penalties.bounded import least_size
from dualgap.penalties.weight_bounds import WeightBounds
from dualgap.problem.on_constraints import nearest_on
from dualgap.problem.problem import Problem
from dualgap.proof.check import Checked
from dualgap.proof.constraints import Constraints, contradicts

ROUND = (1, 2, 6, 60, 1000, 10**6)  # denominators of multipliers that people write, then finer ones
SOLVED = 60  # rows whose multipliers are solved for with fractions, where none of these will do
NOTHING = 1e-9  # of the largest: multipliers and sums of this size are rounding of the linear program
NAMED = 6  # rows named in the message


def refuse_infeasible(terms: Objective, table: Table) -> None:
    """InfeasibleError, with the multipliers, where nothing meets what is asked."""
    if terms.bounds is None and terms.constraints is None:
        return
    box = terms.bounds or _everything(len(terms.scale))
    if terms.budget is not None:
        gauge = terms.penalty.gauge(terms.factors, terms.scale)
        least = least_size(gauge, box)
        if least - gauge.doubt(box.nearest, least) > terms.budget:
            raise InfeasibleError(
                f"No weights within the bounds keep the budget: the penalty is at least {least:.6g}, the "
                f"budget is {terms.budget:.6g}.",
                proof=box.nearest,
            )
    if terms.constraints is not None and not _met(terms.constraints, box):
        mu = _farkas(terms.constraints, box)
        if mu is not None:
            raise InfeasibleError(_message(terms.constraints, box, mu, table), proof=mu)


def refuse_unmet(terms: Objective, problem: Problem, found: Checked) -> None:
    """InfeasibleError without a proof: nothing was found that meets the constraints. What meets them may be
    so far out that its loss has no number.
    """
    if problem.constraints is not None and not np.isfinite(found.primal):
        if problem.constraints.kept(problem.coef(found.w))[1]:
            raise DataError(
                f"The {terms.loss} loss overflows at all weights that were tried and meet what is asked: "
                "predictions are too far out. Rescale the columns, or let weights come nearer to zero."
            )
        within = " within the budget" if terms.budget is not None else ""
        which = "bounds" if terms.constraints is None else "constraints"
        raise InfeasibleError(
            f"No weights were found that meet the {which}{within}; that there are none is not proven. "
            "Loosen them, or rescale rows whose numbers are far apart."
        )


def endless(terms: Objective, coef: Vector) -> bool:
    """Does no bound and no constraint end the way along this direction, in exact arithmetic?"""
    for one in np.atleast_2d(coef):
        if terms.bounds is not None and _ended(one, terms.bounds.low, terms.bounds.high):
            return False
        if terms.constraints is not None:
            along = [Fraction(number) for number in one.tolist()]
            rises = [
                sum((Fraction(number) * step for number, step in zip(row, along, strict=True)), Fraction(0))
                for row in terms.constraints.matrix.tolist()
            ]
            signs = np.array([(rise > 0) - (rise < 0) for rise in rises])
            if _ended(signs, terms.constraints.lower, terms.constraints.upper):
                return False
    return True


def _ended(rise: Vector, low: Vector, high: Vector) -> bool:
    """Does any of these meet an end?"""
    return bool((((rise > 0) & (high < np.inf)) | ((rise < 0) & (low > -np.inf))).any())


def _everything(p: int) -> WeightBounds:
    return WeightBounds(np.full(p, -np.inf), np.full(p, np.inf))


def _met(constraints: Constraints, box: WeightBounds) -> bool:
    """Do a few projections find weights that meet them? Mostly they do, and no linear program is needed."""
    return constraints.kept(nearest_on(constraints, box, box.nearest))[1]


def _farkas(constraints: Constraints, box: WeightBounds) -> Vector | None:
    """The multipliers of fewest rows that a linear program finds and exact arithmetic confirms; else None."""
    from scipy.optimize import linprog  # here: most fits never need it

    A, m, p = constraints.matrix, len(constraints), constraints.matrix.shape[1]
    ends = (constraints.lower, -constraints.upper, box.low, -box.high)
    blocks = [A.T, -A.T, np.eye(p), -np.eye(p)]
    kept = [np.flatnonzero(np.isfinite(end)) for end in ends]
    system = np.hstack([block[:, some] for block, some in zip(blocks, kept, strict=True)])
    gain = np.concatenate([end[some] for end, some in zip(ends, kept, strict=True)])
    size = float(np.abs(gain).max(initial=0.0)) or 1.0
    found = linprog(
        np.ones(len(gain)),
        A_eq=np.vstack([system, gain / size]),
        b_eq=np.append(np.zeros(p), 1.0),
        method="highs",
    )
    if found.status != 0:
        return None
    mu = np.zeros(m)
    mu[kept[0]] += found.x[: len(kept[0])]
    mu[kept[1]] -= found.x[len(kept[0]) : len(kept[0]) + len(kept[1])]
    top = float(np.abs(mu).max(initial=0.0))
    if top == 0.0:
        return None
    mu = np.where(np.abs(mu) > NOTHING * top, mu / top, 0.0)
    for candidate in _candidates(constraints, mu):
        if contradicts(constraints, box.low, box.high, candidate):
            return np.array([float(value) for value in candidate])
    return None


def _candidates(constraints: Constraints, mu: Vector) -> Iterator[list[Fraction]]:
    """Multipliers near these: round ones, these themselves, those that take some columns to zero exactly."""
    for most in ROUND:
        yield [Fraction(float(value)).limit_denominator(most) for value in mu]
    yield [Fraction(float(value)) for value in mu]
    support = np.flatnonzero(mu)
    if len(support) <= SOLVED:
        exact = _solved(constraints, mu, support)
        if exact is not None:
            yield exact


def _solved(constraints: Constraints, mu: Vector, support: Index) -> list[Fraction] | None:
    """The one direction with Aᵀμ = 0 in the columns where that is nearly so."""
    A = constraints.matrix
    pull, size = mu @ A, np.abs(mu) @ np.abs(A)
    rows = [
        [Fraction(float(A[k, j])) for k in support]
        for j in np.flatnonzero((np.abs(pull) <= NOTHING * size) & (size > 0.0))
    ]
    pivots: list[int] = []
    for column in range(len(support)):
        place = next((i for i in range(len(pivots), len(rows)) if rows[i][column]), None)
        if place is None:
            continue
        at = len(pivots)
        rows[at], rows[place] = rows[place], rows[at]
        rows[at] = [value / rows[at][column] for value in rows[at]]
        for i, row in enumerate(rows):
            if i != at and row[column]:
                rows[i] = [a - row[column] * b for a, b in zip(row, rows[at], strict=True)]
        pivots.append(column)
    free = [column for column in range(len(support)) if column not in pivots]
    if not free:
        return None
    found = [Fraction(0)] * len(mu)
    for column in free:
        found[support[column]] = Fraction(float(mu[support[column]]))
    for at, column in enumerate(pivots):
        found[support[column]] = -sum((rows[at][k] * found[support[k]] for k in free), Fraction(0))
    return found


def _message(constraints: Constraints, box: WeightBounds, mu: Vector, table: Table) -> str:
    rows = np.flatnonzero(mu)
    pull = mu @ constraints.matrix
    ends = [
        table.label(int(j)) for j in np.flatnonzero(np.abs(pull) > NOTHING * np.abs(pull).max(initial=0.0))
    ]
    ends = [] if not np.isfinite(box.low).any() and not np.isfinite(box.high).any() else ends
    shown = ", ".join(str(int(k)) for k in rows[:NAMED]) + (", …" if len(rows) > NAMED else "")
    what = f"constraint {shown}" if len(rows) == 1 else f"constraints {shown}"
    if ends:
        listed = ", ".join(ends[:NAMED]) + (", …" if len(ends) > NAMED else "")
        what += f" and the bounds of {listed}"
    return (
        f"No weights meet the constraints: {what} conflict. error.proof holds a multiplier for each "
        "constraint; the sum of the rows times these asks for more than the bounds allow, which was checked "
        "in exact arithmetic. Drop or loosen one of them."
    )
