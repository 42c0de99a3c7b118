"""Several classes jointly on rows that are elsewhere: the softmax by scans."""

from __future__ import annotations

import time
import warnings
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np

from dualgap.arrays import Vector
from dualgap.design import Dense
from dualgap.drive.limits import Limits, Status
from dualgap.drive.scans import ScanOutcome, scanned
from dualgap.errors import DataError
from dualgap.fitting.checkpoint import Checkpoint
from dualgap.fitting.inputs import Table
from dualgap.fitting.joint_problem import joint_regulariser
from dualgap.fitting.multiclass import fit_many
from dualgap.fitting.objective import Objective
from dualgap.fitting.reading import Reading
from dualgap.fitting.solution import Solution
from dualgap.fitting.telling import answer, no_error_bar, relative_gap
from dualgap.multinomial.table import hessian
from dualgap.penalties import L2
from dualgap.proof.certificate import Certificate
from dualgap.proof.check import Checked
from dualgap.proof.claims import distance, proven_zero
from dualgap.proof.joint_blocks import JointStreamStatement
from dualgap.streaming.asked import ScanTask, Solve, Targets
from dualgap.streaming.joint import WIDEST, SoftmaxPursuit, with_levels
from dualgap.streaming.sampling import ROUGH, DrawnRows

SOFT = 1e-6  # ridge of a sample without a penalty, which may tell its classes apart
ENOUGH = 100  # iterations for a sample


def refuse_many(classes: int, p: int) -> None:
    """H has the square of all weights: DataError where that is more than a scan should sum."""
    if classes * p > WIDEST:
        raise DataError(
            f"{classes} classes and {p} columns have {classes * p} weights; in blocks all classes jointly "
            f'are fitted up to {WIDEST} of them: say multiclass="one_vs_rest", or take fewer columns.'
        )


def joint_statement(terms: Objective, classes: int) -> JointStreamStatement:
    """Loss and regulariser of all classes."""
    regulariser = joint_regulariser(terms, classes)
    return JointStreamStatement.of_classes(terms.loss, regulariser, classes, intercept=terms.fit_intercept)


def fit_joint_streamed(
    reading: Any,
    sample: DrawnRows,
    limits: Limits,
    solver_of: Callable[[Objective, Limits], Solve],
    kept: Any,
    bad: Callable[[], object],
) -> Solution:
    """The fit of all classes together."""
    began, terms, count = time.perf_counter(), reading.terms, len(reading.classes)
    statement = joint_statement(terms, count)
    tiled = replace(
        terms,
        penalty=terms.penalty.tiled(count, False),
        factors=np.tile(terms.factors, count),
        scale=np.tile(terms.scale, count),
        fit_intercept=False,
    )
    targets = Targets(reading.classes, jointly=True)
    asked = ScanTask(statement, targets, solver_of(tiled, limits), limits.tolerance, terms)
    checkpoint = None if kept is None else Checkpoint(kept, terms.words(), 1)
    starts = None if checkpoint is None else checkpoint.starts(len(statement.free))
    start = _started(reading, sample, targets, limits) if starts is None else starts[0].w
    pursuit = SoftmaxPursuit(asked, statement, start, hessian)
    run = scanned(
        reading.source, [pursuit], limits, bad=bad, each=None if checkpoint is None else checkpoint.keep
    )[0]
    if checkpoint and run.status is Status.CERTIFIED:
        checkpoint.done()
    return _told(reading, run, statement, limits.tolerance, time.perf_counter() - began)


def _started(reading: Any, sample: DrawnRows, targets: Targets, limits: Limits) -> Vector:
    """The sample's answer, in memory."""
    X, y, weight, _ = targets.of(sample.block())
    terms = replace(reading.terms, sample_weight=np.ones(len(y)) if weight is None else weight)
    if terms.budget is None and not terms.lam:
        terms = replace(terms, penalty=L2(), lam=SOFT)
    inner = replace(limits.untimed(), tolerance=ROUGH, iterations=ENOUGH, callback=None, rule=None)
    whole = Reading(Table(Dense(np.asarray(X)), None), terms, y, reading.classes)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        found = fit_many(whole, "multinomial", "auto", inner)
    if found.status == Status.INTERRUPTED.value:
        raise KeyboardInterrupt
    table = np.column_stack([found.coef, found.intercept]) if terms.fit_intercept else found.coef
    return np.asarray(table).ravel()


def _told(
    reading: Any, run: ScanOutcome, statement: JointStreamStatement, tolerance: float, seconds: float
) -> Solution:
    pursuit, found, status = run.pursuit, run.best, run.status.value
    if found is None:
        status = reading.early(run.status)
        w: Vector = np.asarray(getattr(pursuit, "w", np.zeros(len(statement.free))))
        zero = np.zeros(len(w))
        found = Checked(w, np.zeros(1), np.inf, 0.0, 0.0, zero, zero)
    tops = getattr(pursuit, "tops", None)
    statement = replace(statement, largest=None if tops is None else np.asarray(tops))
    table, terms, p = with_levels(found.w, statement), reading.terms, statement.columns
    levels = table[:, -1]
    proof = Certificate(
        run.rule,
        table[:, :p],
        levels,
        found.primal,
        found.dual,
        terms,
        tuple(reading.classes.tolist()),
        "multinomial",
        found.box,
        tolerance,
    )
    error = distance(statement, found) if np.isfinite(found.primal) else None
    zeros = np.zeros(table[:, :p].shape, dtype=bool)
    if statement.largest is not None:
        zeros = proven_zero(statement, found).reshape(len(table), -1)[:, :p]
    relative = relative_gap(proof.gap, proof.objective, pursuit.null)
    return answer(
        reading,
        proof,
        None,
        relative_gap=relative,
        converged=bool(relative <= tolerance),
        status=status,
        solver=pursuit.name,
        n_iter=run.scans,
        seconds=seconds,
        trace=run.trace,
        coef_error=error,
        coef_error_reason="" if error is not None else no_error_bar(terms),
        proven_zero=zeros,
        facts=reading.facts(pursuit.null) | {"n": reading.source.n or getattr(pursuit, "rows", 0)},
        multiclass="multinomial",
    )
