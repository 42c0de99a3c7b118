"""The loop around a search: the objective is computed here, the clock read, and the end decided.

Objectives are from above and bounds from below, each as a real number. A bound above an objective can then
only be a wrong one: it is not cut down to what would pass, it counts for nothing.
"""

from __future__ import annotations

import time
from collections.abc import Iterator

import numpy as np

from dualgap.arrays import Vector
from dualgap.discrete.base import Answer, Finding, Search
from dualgap.discrete.progress import Progress
from dualgap.discrete.reached import reached
from dualgap.drive.limits import Limits, Status
from dualgap.drive.stopping import Moment
from dualgap.drive.trace import Record, Trace
from dualgap.problem.problem import Problem

ROUNDED = 1e-12  # of the objective without columns: more than rounding takes of it
PROVEN = "Proven: no weights do better, up to the tolerance."


class _Run:
    """State of one pursuit: the clock, the best weights and bound, the trace."""

    def __init__(self, problem: Problem, solver: Search, limits: Limits) -> None:
        self.problem, self.solver, self.limits = problem, solver, limits
        self.seconds = solver.seconds if limits.seconds is None else limits.seconds
        self.began = time.perf_counter()
        self.w = problem.null_weights
        self.primal = problem.null * (1.0 + ROUNDED)
        self.offered: Vector | None = None
        self.bound, self.nodes = -np.inf, 0
        self.theta: Vector | None = None
        self.ending, self.remark = Status.STALLED.value, ""
        self.trace = Trace()
        self.rule = None if limits.rule is None else limits.rule.watch()
        self.progress = Progress(wanted=limits.callback is None)

    @property
    def elapsed(self) -> float:
        return time.perf_counter() - self.began

    @property
    def proven(self) -> bool:
        if self.bound == -np.inf:
            return False
        return self.problem.relative(self.primal - self.reported, self.primal) <= self.limits.tolerance

    def see(self, finding: Finding) -> str | None:
        """Take a finding in; the sentence that ends the run, if it does."""
        self.nodes = max(self.nodes, finding.nodes)
        self.ending, self.remark = finding.ending or self.ending, finding.remark or self.remark
        if finding.w is not None and finding.w is not self.offered:
            self._offer(finding.w)
        if finding.bound > self.bound:
            self.bound, self.theta = finding.bound, finding.theta
        record = Record(self.nodes, self.elapsed, self.primal, self.primal, self.reported, self.solver.name)
        self.trace.append(record)
        self.progress.show(record)
        return PROVEN if self.proven else self._limit(record)

    @property
    def reported(self) -> float:
        """The bound; no loss is below zero, and a bound above the objective is none."""
        return self.bound if 0.0 <= self.bound <= self.primal else 0.0

    def _offer(self, w: Vector) -> None:
        self.offered = w
        inside = self.problem.regulariser.feasible(w)
        primal = reached(self.problem, inside, self.limits.tolerance)
        if primal < self.primal:
            self.w, self.primal = inside, primal

    def _moment(self, record: Record) -> Moment:
        return Moment(record, self.w, self.problem.relative(record.gap, record.best))

    def _limit(self, record: Record) -> str | None:
        limits = self.limits
        if limits.callback is not None and limits.callback(record):
            return Status.STOPPED.value
        if self.rule is not None and self.nodes and self.rule(self._moment(record)):
            return Status.RULE.value
        if limits.iterations is not None and self.nodes >= limits.iterations:
            return Status.ITERATIONS.value
        if self.seconds is not None and self.elapsed >= self.seconds:
            return Status.TIME.value
        return None


def pursue(problem: Problem, solver: Search, start: Vector | None, limits: Limits) -> Answer:
    """Run the search until its bound meets the tolerance, a limit is met, or it ends."""
    run = _Run(problem, solver, limits)
    try:
        status = _follow(run, solver.findings(problem, start, limits), start)
    except KeyboardInterrupt:
        status = Status.INTERRUPTED.value
    finally:
        run.progress.wipe()
    return Answer(
        run.w,
        run.primal,
        run.reported,
        run.theta,
        run.proven,
        f"{PROVEN if run.proven else status} {run.remark}".strip(),
        solver,
        run.nodes,
        run.elapsed,
        run.trace,
        status in (Status.INTERRUPTED.value, Status.STOPPED.value),
        run.remark,
    )


def _follow(run: _Run, findings: Iterator[Finding], start: Vector | None) -> str:
    if start is not None:
        run.see(Finding(start))
    with np.errstate(all="ignore"):
        for finding in findings:
            status = run.see(finding)
            if status is not None:
                return status
    return run.ending
