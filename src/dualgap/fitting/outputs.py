"""Several outputs fitted jointly: with one price for each column (l21), or as quantiles that do not cross."""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import scipy.sparse as sp

from dualgap.arrays import Mask, Matrix, Vector
from dualgap.design import BlockDiagonal, Design
from dualgap.drive.limits import Limits
from dualgap.drive.registry import at_once, candidates
from dualgap.drive.run import run
from dualgap.drive.solver import Solver
from dualgap.errors import DataError
from dualgap.fitting.inputs import read_numbers, read_outputs
from dualgap.fitting.joint_problem import joint_regulariser
from dualgap.fitting.objective import Objective, OneTask
from dualgap.fitting.options import read_iterate
from dualgap.fitting.reading import Reading
from dualgap.fitting.solution import Solution
from dualgap.fitting.telling import answer, no_error_bar, over_all_rows
from dualgap.losses import Loss
from dualgap.losses.levels import RowKinks
from dualgap.multinomial.working import JointPursuit
from dualgap.outputs.problem import OutputsProblem
from dualgap.outputs.rising import Rising, RisingProblem
from dualgap.outputs.working import OutputsWorking
from dualgap.penalties import Regulariser
from dualgap.penalties.forms import unregularised
from dualgap.problem.precondition import Working, precondition
from dualgap.problem.problem import Problem
from dualgap.problem.zeros import with_zeros
from dualgap.proof.certificate import Certificate
from dualgap.proof.check import Checked
from dualgap.proof.claims import distance, proven_zero
from dualgap.proof.constraints import Constraints


def fit_jointly(reading: Reading, solver: str | Solver, limits: Limits, warm_start: Any = None) -> Solution:
    """All outputs at once."""
    return OutputFits(reading, solver, limits).fit(reading.terms.lam, reading.terms.budget, warm_start)


class OutputFits:
    """Fits of the same data at one strength after another, each started from the one before."""

    def __init__(self, reading: Reading, solver: str | Solver, limits: Limits) -> None:
        self._reading, self._solver, self._limits = reading, solver, limits
        self._working: OutputsWorking | None = None
        self._last: Solution | None = None

    def fit(self, lam: float | None, budget: float | None, start: Any = None) -> Solution:
        """See `Fits`."""
        began = time.perf_counter()
        reading = replace(self._reading, terms=replace(self._reading.terms, lam=lam, budget=budget))
        if self._working is None:
            self._working = outputs_working(reading)
        working = self._working = _at(self._working, reading.terms)
        given = self._last if start is None else start
        first = read_iterate(given, working, reading.terms, (reading.count,), duals=False)
        outcome = run(
            JointPursuit(working, self._limits.tolerance),
            lambda: _in_turn(working.problem, self._solver),
            first,
            self._limits,
        )
        asked = working.asked
        found = with_zeros(asked, outcome.bounds, self._limits.tolerance, mends=asked.tied)
        self._last = _told(reading, asked, found, outcome, self._limits.tolerance, began)
        return self._last

    def top(self) -> float:
        """The least λ at which all weights that have a price are zero."""
        if self._working is None:
            self._working = outputs_working(
                replace(self._reading, terms=replace(self._reading.terms, lam=1.0))
            )
        asked = self._working.asked
        return asked.regulariser.gauge.smallest_strength_at_zero(asked.correlation(asked.null_dual))


def _in_turn(problem: OutputsProblem, solver: str | Solver) -> Iterator[Solver]:
    """The solver asked for; for "auto" the one that is sure to be the best, if any, then all by cost."""
    if not problem.p:
        return
    first = at_once(problem) if isinstance(solver, str) and solver == "auto" else None
    if first is not None:
        yield first
    yield from (other for other in candidates(problem, solver) if first is None or other.name != first.name)


def _targets(reading: Reading) -> list[Vector]:
    return [reading.targets(k) for k in range(reading.count)]


def output_problem(terms: Objective, design: Design, targets: Sequence[Vector]) -> OutputsProblem:
    """The problem on these data, an entry of `targets` for each output; rows of weight zero are left out."""
    return _stacked(terms, [terms.alone(k).problem(design, y) for k, y in enumerate(targets)])


def _stacked(terms: Objective, singles: Sequence[Problem]) -> OutputsProblem:
    """The problems of single outputs as one."""
    first, count = singles[0], len(singles)
    loss, y = _rows(terms, singles)
    return OutputsProblem(
        BlockDiagonal((first.design,) * count),
        y,
        np.tile(first.a, count),
        loss,
        joint_regulariser(terms, count),
        False,
        constraints=_rising(first.design.matrix, count, tied=first.intercept) if terms.loss.joint else None,
        outputs=count,
        tied=first.intercept,
        one=tuple((float(one.null_weights[-1]) if one.intercept else 0.0, one.null) for one in singles),
    )


def _rows(terms: Objective, singles: Sequence[Problem]) -> tuple[Loss, Vector]:
    """The loss of all rows, and its targets, output after output."""
    if not terms.loss.each:
        return singles[0].loss, np.concatenate([one.y for one in singles])
    return RowKinks(), np.concatenate([_kinks(one) for one in singles])


def _kinks(one: Problem) -> Matrix:
    return np.column_stack([one.y, *one.loss.domain(one.y)])


def _rising(X: Any, count: int, *, tied: bool) -> Constraints:
    """Rows x·(w_{k+1} − w_k) + b_{k+1} − b_k ≥ 0, quantile after quantile."""
    n = X.shape[0]
    steps = sp.diags_array([-1.0, 1.0], offsets=[0, 1], shape=(count - 1, count))
    if sp.issparse(X):
        one = sp.hstack([X, np.ones((n, 1))]) if tied else X
        return Constraints(sp.csr_array(sp.kron(steps, one)), np.zeros(n * (count - 1)), _ends(n, count))
    one = np.column_stack([X, np.ones(n)]) if tied else np.asarray(X)
    return Constraints(np.kron(steps.toarray(), one), np.zeros(n * (count - 1)), _ends(n, count))


def _ends(n: int, count: int) -> Vector:
    return np.full(n * (count - 1), np.inf)


def outputs_working(reading: Reading) -> OutputsWorking:
    """All outputs in columns and units of one: that whose targets are the largest, once they are centred."""
    terms = reading.terms
    design = reading.table.design
    singles = [terms.alone(k).problem(design, y) for k, y in enumerate(_targets(reading))]
    asked = _stacked(terms, singles)
    sizes = [float(one.a @ np.abs(one.unshifted.centre)) if one.loss.translates else 0.0 for one in singles]
    shared = precondition(singles[int(np.argmax(sizes))])
    moved = [_moved(shared, one) for one in singles]
    inner = [working.problem for working in moved]
    width, unit = inner[0].design.shape[1], shared.unit
    about: dict[str, Any] = {
        "outputs": len(inner),
        "tied": asked.tied,
        "one": tuple((float(p.null_weights[-1]) if p.intercept else 0.0, p.null) for p in inner),
    }
    blocks = BlockDiagonal((inner[0].design,) * len(inner))
    regulariser = _inner(asked, shared, width)
    if terms.loss.joint:
        levels = np.array([working.offset for working in moved])
        held = np.repeat(-np.diff(levels) / unit, len(inner[0].a))
        sides = np.tile([-np.inf, 0.0], (len(held), 1))
        y = np.concatenate([*map(_kinks, inner), np.column_stack([held, sides])])
        a = np.tile(inner[0].a, 2 * len(inner) - 1)
        problem: OutputsProblem = RisingProblem(Rising(blocks), y, a, RowKinks(), regulariser, False, **about)
    else:
        y, a = np.concatenate([p.y for p in inner]), np.tile(inner[0].a, len(inner))
        problem = OutputsProblem(blocks, y, a, inner[0].loss, regulariser, False, **about)
    kept = shared.keep, shared.centre, shared.scale, shared.basis
    return OutputsWorking(asked, problem, *kept, unit, 0.0, singles=tuple(moved))


def _moved(shared: Working, one: Problem) -> Working:
    """A single output in the coordinates and the unit of another."""
    plain, inner = one.unshifted, shared.problem
    if not plain.loss.translates:
        return replace(shared, asked=one, problem=replace(inner, y=one.y, loss=one.loss))
    offset = plain.best_constant if one.intercept else 0.0
    y = (plain.y - offset) / shared.unit
    return replace(
        shared, asked=one, problem=replace(inner, y=y, loss=plain.loss.rescaled(shared.unit)), offset=offset
    )


def _inner(asked: OutputsProblem, shared: Working, width: int) -> Regulariser:
    """The penalty in the coordinates of the solvers."""
    if shared.basis is not None:
        return unregularised(asked.outputs * width)
    mask, factor = shared.keep, shared.unit / shared.scale
    if asked.tied:
        mask, factor = np.append(mask, True), np.append(factor, shared.unit)
    gauge = asked.regulariser.gauge.restricted(np.tile(mask, asked.outputs))
    regulariser = asked.regulariser.with_gauge(gauge)
    degree = asked.loss.degree
    return regulariser.substituted(np.tile(factor, asked.outputs), 1.0 / shared.unit**degree)


def _at(working: OutputsWorking, terms: Objective) -> OutputsWorking:
    """The same data at another strength."""
    regulariser = joint_regulariser(terms, working.asked.outputs)
    asked = _priced(working.asked, regulariser)
    width = working.problem.p // asked.outputs
    inner = _priced(working.problem, _inner(asked, working.singles[0], width))
    return replace(working, asked=asked, problem=inner)


def _priced(problem: OutputsProblem, regulariser: Regulariser) -> OutputsProblem:
    """The same data with another price."""
    found = problem.with_regulariser(regulariser)
    assert isinstance(found, OutputsProblem)
    return found


def _told(
    reading: Reading, asked: OutputsProblem, found: Checked, outcome: Any, tolerance: float, began: float
) -> Solution:
    zero, error = proven_zero(asked, found).reshape(reading.count, -1), distance(asked, found)
    return answer(
        reading,
        joint_certificate(reading, found, tolerance),
        outcome,
        relative_gap=asked.relative(found.gap, found.primal),
        coef_error=error,
        coef_error_reason="" if error is not None else no_error_bar(reading.terms),
        proven_zero=zero[:, : len(reading.terms.scale)],
        facts=reading.facts(asked.null),
        seconds=time.perf_counter() - began,
    )


def joint_certificate(reading: Reading, found: Checked, tolerance: float) -> Certificate:
    """What the kernel said of the rows that count, for all rows: a column of θ for each output."""
    terms, count, p = reading.terms, reading.count, len(reading.terms.scale)
    table, held = found.w.reshape(count, -1), int(terms.used.sum()) * count
    rows, between = found.theta[:held], found.theta[held:]
    return Certificate(
        over_all_rows(terms, np.ascontiguousarray(rows.reshape(count, -1).T)),
        np.ascontiguousarray(table[:, :p]),
        table[:, p].copy() if terms.fit_intercept else np.zeros(count),
        found.primal,
        found.dual,
        terms,
        form="joint",
        box=_of_columns(found.box, count),
        tolerance=tolerance,
        multipliers=over_all_rows(terms, between.reshape(count - 1, -1).T) if len(between) else None,
        violation=found.violation,
    )


@dataclass(frozen=True, eq=False)
class OutputsTask:
    """A problem of several outputs on the rows that count, and θ given for all rows."""

    problem: OutputsProblem
    used: Mask
    tolerance: float

    def judged(self, w: Vector, theta: Any) -> Checked:
        """What the kernel says."""
        found = self.problem.judged(w, self.counted(theta), self.tolerance)
        return replace(found, box=_of_columns(found.box, self.problem.outputs))

    def counted(self, theta: Vector) -> Vector:
        """θ of the rows that count, the multipliers between outputs behind it."""
        return theta.reshape(-1, len(self.used))[:, self.used].ravel()


def _of_columns(box: Vector | None, outputs: int) -> Vector | None:
    """A size for each column, the least of what it may have in any output."""
    return None if box is None else np.asarray(box.reshape(outputs, -1).min(axis=0))


def output_tasks(terms: Objective, certificate: Certificate, design: Design, y: Any) -> Sequence[Any]:
    """The problem stated again on these rows, jointly or output by output."""
    n, count = design.shape[0], len(certificate.coef)
    if terms.loss.each:
        targets = [read_numbers(y, n)] * len(terms.loss.each)
    else:
        found, _ = read_outputs(y, n)
        targets = list(found.T)
    if len(targets) != count:
        raise DataError(f"This certificate is for {count} outputs, y has {len(targets)}.")
    for k, one in enumerate(targets):
        terms.alone(k).loss.check_targets(one[terms.used])
    if certificate.form == "joint":
        return [OutputsTask(output_problem(terms, design, targets), terms.used, certificate.tolerance)]
    each = [terms.alone(k).problem(design, one) for k, one in enumerate(targets)]
    return [OneTask(problem, terms.used, certificate.tolerance) for problem in each]
