"""C = ∞: the plane of largest margin, min ‖w‖² subject to y (x·w + b) ≥ 1, or the proof that none exists."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import fields, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from dualgap.arrays import Vector
from dualgap.drive.limits import Limits, Status
from dualgap.drive.turns import one_by_one
from dualgap.errors import DataError, InfeasibleError
from dualgap.fitting.objective import Objective, OneTask
from dualgap.fitting.reading import Reading, read
from dualgap.fitting.signs import refuse_signs
from dualgap.fitting.solution import Solution
from dualgap.fitting.telling import told
from dualgap.kernel_machines.hull import Hulls, PlaneProblem, rounded_up, widest_plane
from dualgap.losses import Loss
from dualgap.penalties import L2
from dualgap.proof.certificate import Certificate
from dualgap.proof.check import Checked
from dualgap.proof.exact import hulls_meet, margin_at_most
from dualgap.proof.margin import check_margin
from dualgap.traits import Trait

if TYPE_CHECKING:
    from dualgap.proof.certificate import Task


class MarginTask(OneTask):
    """A plane without any error, judged as such."""

    def judged(self, w: Vector, theta: Any) -> Checked:
        """What the proof's kernel says."""
        return check_margin(self.problem, w, theta[self.used], self.tolerance)


class HardMargin(Objective):
    """No loss at all is allowed, and ‖w‖² is minimised."""

    hard = True

    def words(self) -> str:
        """The objective in one line."""
        return f"sum w_j^2 subject to a {self.loss} loss of zero in every row (hard margin)"

    def tasks(self, certificate: Certificate, X: Any, y: Any) -> Sequence[Task]:
        """The problem stated again on the rows given."""
        tasks = super().tasks(certificate, X, y)
        return [MarginTask(task.problem, task.used, task.tolerance) for task in tasks]  # type: ignore[attr-defined]


def _column_factors(terms: Objective) -> Vector:
    """The penalty is ‖factor ∘ w‖²."""
    factors: Vector = terms.scale * np.sqrt(terms.factors)
    if np.any(factors == 0):
        raise DataError("C=inf needs every column penalised; a penalty factor of 0 leaves the plane open.")
    return factors


def fit_hard_margin(X: Any, y: Any, limits: Limits, *, penalty: Any, **asked: Any) -> Solution:
    """The solution for C = ∞; InfeasibleError with the proof where the classes cannot be separated."""
    reading = read(X, y, penalty=penalty, lam=1.0, **asked)
    refuse_signs(reading.terms, "the hard margin C=inf", "give a large finite C.")
    refuse_soft(reading.terms.loss, reading.terms.penalty)
    values = {f.name: getattr(reading.terms, f.name) for f in fields(Objective)}
    reading = replace(reading, terms=HardMargin(**values))
    if not reading.many_classes:
        return _fit_plane(reading, 1, limits)
    from dualgap.fitting.multiclass import together

    began = time.perf_counter()
    assert reading.labels is not None
    parts = one_by_one(len(reading.labels), limits, lambda k, own: _fit_plane(reading, k, own))
    if any(part.status == Status.INTERRUPTED.value for part in parts) and not parts[-1].objective < np.inf:
        raise KeyboardInterrupt  # the planes that are there are of no use without the others
    return together(reading, parts, limits, time.perf_counter() - began)


def refuse_soft(loss: Loss, penalty: Any) -> None:
    """DataError unless the loss is nothing beyond a margin of one, and the penalty that of the widest."""
    beyond = np.array([1.0, 2.0])
    vanishes = Trait.CLASSIFICATION in loss.traits and not np.any(loss.value(np.ones(2), beyond))
    if not vanishes or not np.any(loss.value(np.ones(1), np.full(1, 0.5))):
        raise DataError(
            f"C=inf asks for a loss of zero in every row, a hard margin, which the {loss} loss cannot give; "
            'use loss="hinge", or a finite C.'
        )
    if penalty != L2():
        raise DataError(f'C=inf is the hard margin and needs penalty="l2", not "{penalty}".')


def _fit_plane(reading: Reading, positive: int, limits: Limits) -> Solution:
    began = time.perf_counter()
    terms, y = reading.terms, reading.targets(positive)
    asked = terms.problem(reading.table.design, y)
    problem = PlaneProblem(asked, _column_factors(terms))
    outcome, hulls = widest_plane(problem, limits)
    if not outcome.bounds.primal < np.inf:
        _refuse_without_a_plane(reading, y, hulls, problem, ended=outcome.status is Status.STALLED)
    gap = outcome.bounds.gap / outcome.bounds.primal if outcome.bounds.primal < np.inf else np.inf
    facts, seconds = reading.facts(outcome.bounds.primal), time.perf_counter() - began
    return told(reading, asked, outcome, limits.tolerance, relative_gap=gap, facts=facts, seconds=seconds)


def _refuse_without_a_plane(
    reading: Reading, y: Vector, hulls: Hulls, problem: PlaneProblem, *, ended: bool
) -> None:
    """Say what is proven: no plane has a margin at all or, where the search ended, none above a number."""
    terms, X, side, tied = reading.terms, problem.X, problem.y, problem.intercept
    proof = np.zeros(len(y))
    proof[terms.used] = side * hulls.weights
    rows = int(np.count_nonzero(proof))
    if tied:
        what = "the convex hulls of the two classes meet"
        shows = "weights that add up to one in each class and give both the same mean"
    else:
        what = "no plane through the origin separates the classes"
        shows = "weights that add up to one and take the rows y·x to zero"
    if hulls_meet(X, side, hulls.weights, intercept=tied):
        left = float(np.abs(proof[terms.used] @ X).max(initial=0.0))
        raise InfeasibleError(
            f"C=inf asks for a plane without any error, but {what}: error.proof holds, for {rows} rows, "
            f"{shows} (to {left:.1e}, and some near them do so without rounding). Give a finite C.",
            proof=proof,
        )
    if not ended:
        return
    # scales and factors are rounded: a little less of them allows a little more margin
    factors = np.nextafter(np.nextafter(problem.factors, 0.0), 0.0)
    margin = margin_at_most(X, side, hulls.weights, intercept=tied, factors=factors)
    raise InfeasibleError(
        f"C=inf asks for a plane without any error. None was found in double precision, and any plane has a "
        f"margin of at most {rounded_up(margin)}: error.proof holds, for {rows} rows, all but {shows}. Give "
        "a finite C, or columns with less of an offset.",
        proof=proof,
    )
