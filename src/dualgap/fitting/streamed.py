"""dg.fit on rows that are elsewhere: state the problem without them, scan, tell."""

from __future__ import annotations

import time
import warnings
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dualgap.arrays import Mask, Vector
from dualgap.blocks.addresses import give_back
from dualgap.blocks.dataset import Dataset, dataset
from dualgap.blocks.source import RowBlock, RowSource
from dualgap.design import Compressed, Dense, Design
from dualgap.drive.limits import Limits, Status
from dualgap.drive.memory import free_bytes
from dualgap.drive.scans import ScanOutcome, ScanPursuit, scanned
from dualgap.drive.trace import Trace
from dualgap.errors import DataError
from dualgap.fitting.assessment import Assessment
from dualgap.fitting.checkpoint import Checkpoint
from dualgap.fitting.decisions import decisions
from dualgap.fitting.inputs import Table, read_factors, read_strength
from dualgap.fitting.multiclass import form_of, joined
from dualgap.fitting.names import loss_named, penalty_named
from dualgap.fitting.objective import Objective
from dualgap.fitting.offsets import counted_alike, refuse_offset
from dualgap.fitting.one_problem import solve_part
from dualgap.fitting.options import read_flag
from dualgap.fitting.reading import Reading, read, refuse_runaway
from dualgap.fitting.solution import Solution
from dualgap.fitting.streamed_joint import fit_joint_streamed, joint_statement, refuse_many
from dualgap.fitting.telling import answer, no_error_bar, relative_gap
from dualgap.losses import Squared
from dualgap.losses.shifted import Shifted, parted_targets
from dualgap.penalties import L2
from dualgap.proof.blocks import StreamStatement, Weighed, judged
from dualgap.proof.certificate import Certificate
from dualgap.proof.check import Checked
from dualgap.proof.claims import distance, proven_zero
from dualgap.proof.moments import MomentSums, judged_by_moments
from dualgap.streaming.asked import ScanTask, SlopeRule, SmallAnswer, SmallProblem, Solve, Targets
from dualgap.streaming.columns import classes_of, column_scan, refuse_bad, weight_scan, within_reach
from dualgap.streaming.far import deviations
from dualgap.streaming.kinked import KinkedPursuit
from dualgap.streaming.rules import AffineSlopes
from dualgap.streaming.sampling import DrawnRows, Start, drawn, started
from dualgap.streaming.smooth import SmoothPursuit
from dualgap.streaming.squared import MomentPursuit, largest, moments_scan, scales_of
from dualgap.streaming.wide import GradientPursuit, rows_wanted, served, wide
from dualgap.traits import Trait

EARLY = "{} before the first scan was over: the weights are those of a sample, and nothing is proven of them."
SOFT = 1e-9  # of the loss: the bound of a hinge without a penalty, 10⁶ rows, loses less than 1e-8 by it
ROUGH = 1e-6  # the same for a sample, whose answer is off by a thousandth anyway; it may tell classes apart
ENOUGH = 100  # iterations for a sample: with rare levels, 1000 were counted without it
KINKED = 4  # fits of kinked losses that share their scans: each holds rows of its own
PAIRS = 4  # matrices of products that a scan and what follows it hold at a time
SHIFT = 10_000  # rows whose means the moments are taken about: a hundredth of a standard deviation off


class StreamedObjective(Objective):
    """An objective whose rows are elsewhere: their weights are with them."""

    def tasks(self, certificate: Certificate, X: Any, y: Any) -> Sequence[Any]:
        """The problem stated again on the rows given, which are scanned once for each."""
        weights = self.sample_weight if len(self.sample_weight) else None
        rows = X if isinstance(X, Dataset) else dataset(X, y, weights=weights)
        rows = counted_alike(self, rows, None)
        if rows.source.p != len(self.scale):
            raise DataError(
                f"This certificate is for {len(self.scale)} columns, the rows have {rows.source.p}."
            )
        classes = None if certificate.classes is None else np.array(certificate.classes)
        if certificate.form == "multinomial" and classes is not None:
            if Trait.ENTROPIC not in self.loss.traits:
                raise DataError(f"All classes jointly are a form of the logistic loss, not of {self.loss}.")
            targets = Targets(classes, jointly=True)
            stated = joint_statement(self, len(classes))
            return [StreamTask(rows.source, stated, targets, certificate.tolerance)]
        statement = self.statement()
        positive = (1,) if certificate.form == "single" else range(len(certificate.classes or ()))
        return [
            StreamTask(rows.source, statement, Targets(classes, k, loss=self.loss), certificate.tolerance)
            for k in positive
        ]

    def statement(self) -> StreamStatement:
        """Loss and regulariser."""
        loss = self.loss if self.offset is None else Shifted(self.loss)
        return StreamStatement.stated(loss, self.regulariser, intercept=self.fit_intercept)

    def counted_from(self, source: RowSource) -> StreamedObjective:
        """With the offset that these rows have: where it is, for the numbers stay with the rows."""
        if not source.shifted():
            return self
        return replace(self, offset=np.empty(0), offset_name=source.offset_name)


@dataclass(frozen=True, eq=False)
class StreamTask:
    """A problem on rows that are elsewhere, judged by one scan; in twice the digits, if need be."""

    source: RowSource
    statement: StreamStatement
    targets: Targets
    tolerance: float

    def judged(self, w: Vector, rule: Any) -> Checked:
        """What the kernel says of the weights and the rule for θ."""
        seen = self.weighed(w, rule)
        found = judged(self.statement, seen, w, self.tolerance)
        if found.gap <= self.tolerance * found.primal:
            return found
        if isinstance(rule, AffineSlopes) and Trait.QUADRATIC in self.statement.loss.traits:
            sums = self.source.reduced(moments_scan, self.targets, rule.shift).whole
            again = judged_by_moments(self.statement, sums, sums, w, rule.kappa, self.tolerance)
            return found.improved(again)
        if found.rounding > 0.125 * self.tolerance * found.primal:
            seen = self.weighed(w, rule, exact=True)
            found = judged(self.statement, seen, w, self.tolerance).improved(found)
        return found

    def weighed(self, w: Vector, rule: Any, *, exact: bool = False) -> Weighed:
        """By a scan."""
        seen: Weighed = self.source.reduced(rule_scan, self.statement, self.targets, w, rule, exact)
        if not seen.finite:
            refuse_bad(self.source, self.targets.classes)
        return seen


def null_risk(task: StreamTask) -> float:
    """The objective without columns, at the best constant of a sample."""
    sample = drawn(task.source, task.targets.classes, task.statement.loss)
    y, weight = task.targets.of(sample.block())[1:3]
    a = np.ones(len(y)) / len(y) if weight is None else weight / weight.sum()
    w = np.zeros(len(task.statement.free))
    if task.targets.jointly and task.targets.classes is not None:
        share = np.bincount(y.astype(np.intp), a, len(task.targets.classes))
        if task.statement.intercept:
            w.reshape(len(share), -1)[:, -1] = np.log(np.maximum(share, 1e-300))
    elif task.statement.intercept:
        w[-1] = task.statement.loss.best_constant(y, a)
    seen = task.weighed(w, None)
    return float(seen.risk.value.sum() / seen.weight.value)


def rule_scan(
    block: RowBlock,
    statement: StreamStatement,
    targets: Targets,
    w: Vector,
    rule: SlopeRule | None,
    exact: bool,
) -> Weighed:
    """One block; no rule is the rule that proves next to nothing."""
    X, y, weight, numbers = targets.of(block)
    u = None if rule is None else rule.slopes(X, y, numbers)
    return statement.weigh(X, y, weight, w, u, exact=exact)


@dataclass(frozen=True, eq=False)
class StreamedReading(Reading):
    """What was asked of a data set; there are no rows in it."""

    source: RowSource
    spread: Vector  # standard deviations of the columns in a sample

    @staticmethod
    def early(status: Status) -> str:
        """What to say of an end before the first scan was over."""
        return EARLY.format("Interrupted" if status is Status.INTERRUPTED else "The time limit came")

    def facts(self, null: float, problem: Any = None, **other: Any) -> dict[str, Any]:
        return {"n": self.source.n or 0, "p": self.source.p, "null": null, "spread": self.spread, **other}


def fit_streamed(rows: Dataset, limits: Limits, asked: dict[str, Any]) -> Solution:
    """The fit of a data set; `asked` are the keywords of dg.fit that say what is minimised."""
    began, before = time.perf_counter(), rows.source.passes
    limits = limits.shared()
    form = asked.pop("multiclass", "auto")
    kept = asked.pop("checkpoint", None)
    rows = with_zeros_if_needed(rows, asked)
    reading, sample, scaled = read_streamed(rows, **asked)
    _refuse_searches(reading, rows)
    if reading.many_classes and form_of(reading, form) == "multinomial":
        return _jointly(rows, reading, sample, limits, kept, before)
    many = len(reading.classes) if reading.many_classes and reading.classes is not None else 1
    own = replace(limits, tolerance=0.5 * limits.tolerance) if many > 1 else limits
    checkpoint = None if kept is None else Checkpoint(kept, reading.terms.words(), many)
    size = rows.source.p + reading.terms.fit_intercept
    starts: Sequence[Start | None] = (checkpoint.starts(size) if checkpoint else None) or [None] * many
    pursuits = [
        _pursuit(reading, sample, k if many > 1 else 1, own, scaled=scaled, start=starts[k])
        for k in range(many)
    ]
    size = sample.X.size
    del sample  # what scans keep needs its room
    give_back(size)
    runs = scanned(
        rows.source,
        pursuits,
        own,
        bad=lambda: refuse_bad(rows.source, reading.classes),
        each=checkpoint.keep if checkpoint else None,
    )
    if checkpoint and all(run.status is Status.CERTIFIED for run in runs):
        checkpoint.done()
    seconds = time.perf_counter() - began
    scans = rows.source.passes - before
    parts = [outcome_told(reading, run, k, limits.tolerance, seconds) for k, run in enumerate(runs)]
    found = parts[0] if many == 1 else together(reading, parts, limits.tolerance, seconds)
    if rows.weights is not None:
        found.facts["weights"] = rows.weights
    return replace(found, scans=scans, recipe=rows.recipe)


def _jointly(
    rows: Dataset, reading: StreamedReading, sample: DrawnRows, limits: Limits, kept: Any, before: float
) -> Solution:
    """All classes in one problem."""
    if Trait.ENTROPIC not in reading.terms.loss.traits:
        raise DataError(
            "The joint hinge (crammer_singer) is fitted in memory only, where these rows take "
            f'{_gigabytes(rows):.1f} GiB: say multiclass="one_vs_rest".'
        )
    assert reading.classes is not None
    refuse_many(len(reading.classes), rows.source.p)
    found = fit_joint_streamed(
        reading, sample, limits, solver_of, kept, lambda: refuse_bad(rows.source, reading.classes)
    )
    if rows.weights is not None:
        found.facts["weights"] = rows.weights
    return replace(found, scans=rows.source.passes - before, recipe=rows.recipe)


def _gigabytes(rows: Dataset) -> float:
    each = 12.0 if rows.source.sparse else 8.0
    return each * (rows.source.n or 0) * rows.source.width / 2**30


def refuse_wide(p: int) -> None:
    """A scan sums products of every two columns: DataError where those do not fit into memory."""
    bytes_ = PAIRS * 8.0 * (p + 2) ** 2
    if bytes_ > free_bytes():
        raise DataError(
            f"{p} columns have {(p + 2) ** 2:.1e} products of two, which take {bytes_ / 2**30:.1f} GiB in a "
            f"scan, and {free_bytes() / 2**30:.1f} GiB are free. Take fewer columns, or fit a sparse matrix "
            "of them in memory."
        )


def with_zeros_if_needed(rows: Dataset, asked: dict[str, Any]) -> Dataset:
    """Sparse rows as they are, but for a smooth loss whose penalty is no sum over the columns."""
    loss, penalty = loss_named(asked["loss"]), penalty_named(asked.get("penalty", "l2"))
    if not rows.source.sparse or Trait.SMOOTH not in loss.traits:
        return rows
    gauge = penalty.gauge(np.ones(rows.source.p), np.ones(rows.source.p)) if penalty.takes_strength else None
    if gauge is not None and gauge.elastic is not None and asked.get("budget") is None:
        return rows
    refuse_wide(rows.source.p)
    return Dataset(rows.source.with_zeros(), recipe=rows.recipe, weights=rows.weights, notes=rows.notes)


def _refuse_wide(rows: Dataset, terms: StreamedObjective) -> None:
    """Many columns are a matter of gradients, or of rows near a kink: DataError for all other problems."""
    source, regulariser = rows.source, terms.regulariser
    if Trait.SMOOTH not in terms.loss.traits or (wide(source) and served(terms.loss, regulariser)):
        return
    if source.sparse:
        raise DataError(
            f"{terms.words()} is not fitted to sparse rows in blocks: that takes l1, l2 or elastic_net with "
            f"lam; in memory the rows take {_gigabytes(rows):.1f} GiB."
        )
    refuse_wide(source.p)


def _spreads(X: Any) -> tuple[Vector, Vector]:
    """Means and standard deviations of the columns."""
    if not hasattr(X, "indptr"):
        return X.mean(axis=0), deviations(X)
    mean = np.asarray(X.mean(axis=0)).ravel()
    square = np.asarray(X.multiply(X).mean(axis=0)).ravel()
    return mean, np.sqrt(np.maximum(square - mean * mean, 0.0))


def _refuse_targets(
    source: RowSource, sample: DrawnRows, targets: Targets, table: Table, *, tied: bool
) -> None:
    """What the sample tells of targets that the loss does not know, or that leave it no minimiser."""
    loss = targets.loss
    assert loss is not None
    try:
        targets.of(sample.block())
    except DataError:
        for block in source.blocks():  # the same, told by its place in the files
            targets.of(block)
        raise
    if Trait.MEANS in loss.traits:  # the sample has rows that are above zero, if there are any
        refuse_runaway(loss, np.asarray(sample.y, dtype=np.float64), table, intercept=tied)


def _refuse_searches(reading: StreamedReading, rows: Dataset) -> None:
    terms = reading.terms
    if Trait.CONVEX not in terms.loss.traits & terms.regulariser.traits:
        raise DataError(
            f"{terms.words()} is not convex: it is searched in memory only, where these rows take "
            f"{_gigabytes(rows):.1f} GiB. Read them into an array."
        )


def read_streamed(  # noqa: PLR0913
    rows: Dataset,
    *,
    loss: Any,
    penalty: Any = "l2",
    lam: Any = None,
    C: Any = None,
    budget: Any = None,
    fit_intercept: Any = True,
    penalty_factors: Any = None,
    standardize: Any = False,
) -> tuple[StreamedReading, DrawnRows, bool]:
    """Check what is asked, learn the classes, draw the sample; True where scales come from the moments."""
    source = rows.source
    loss, penalty = loss_named(loss), penalty_named(penalty)
    tied, scaled = read_flag("fit_intercept", fit_intercept), read_flag("standardize", standardize)
    classes = classes_of(source) if Trait.CLASSIFICATION in loss.traits else None
    targets = Targets(classes)
    table = Table(read_columns(source.p), source.names)
    factors = read_factors(penalty_factors, table)
    # moments want no more of a sample than a point near the means
    few = min(SHIFT, source.n or SHIFT) if Trait.QUADRATIC in loss.traits else None
    if wide(source):
        few = rows_wanted(source)
    sample = drawn(source, classes, loss, rows=few)
    if not (
        within_reach(sample.X.data if source.sparse else sample.X)
        and (classes is not None or sample.y.dtype.kind != "f" or within_reach(sample.y))
    ):
        refuse_bad(source, classes)
    if source.shifted() and classes is not None and len(classes) > 2:
        refuse_offset(source, "several classes")
    _refuse_targets(source, sample, Targets(classes, loss=loss), table, tied=tied)
    strength: tuple[float | None, float | None] = (None, None)
    if penalty.takes_strength:
        total = 1.0 if C is None else float(source.reduced(weight_scan, targets).weight)
        strength = read_strength(lam, C, budget, total)
    elif any(value is not None for value in (lam, C, budget)):
        raise DataError('penalty="none" takes no strength; leave lam, C and budget out.')
    later = scaled and Trait.QUADRATIC in loss.traits and not wide(source)
    scale = np.ones(source.p)
    mean, spread = _spreads(sample.X)
    if scaled and not later:
        centre = _finite(mean)
        sums = source.reduced(column_scan, targets, centre)
        if not sums.finite:
            refuse_bad(source, classes)
        scale = sums.scales(centre, tied=tied)
    terms = StreamedObjective(loss, penalty, *strength, tied, np.ones(0), factors, scale)
    terms = terms.counted_from(source)
    _refuse_wide(rows, terms)  # and factors that the penalty cannot take
    spread = _finite(spread)
    spread[spread == 0.0] = 1.0
    return StreamedReading(table, terms, np.empty(0), classes, source, spread), sample, later


@dataclass(frozen=True)
class _Shape:
    p: int

    @property
    def shape(self) -> tuple[int, int]:
        return 0, self.p


def read_columns(p: int) -> Any:
    """A design of which only the number of columns is known."""
    return _Shape(p)


def _finite(values: Vector) -> Vector:
    return np.where(np.isfinite(values), values, 0.0)


def solver_of(terms: Objective, limits: Limits) -> Solve:
    """Small problems go to the solvers like any other."""

    def solve(small: SmallProblem) -> SmallAnswer:
        loss, tied = (Squared(), False) if small.plain else (terms.loss, terms.fit_intercept)
        weight = np.ones(len(small.y)) if small.weight is None else small.weight
        y, shift = parted_targets(small.y)
        own = Objective(
            loss,
            terms.penalty,
            terms.lam,
            terms.budget,
            tied,
            weight,
            terms.factors,
            terms.scale,
            offset=shift,
        )
        if not small.plain and own.regulariser.free[: len(terms.scale)].any():
            own = _softened(own, replace(small, y=y))
        reading = Reading(Table(_designed(small.X), None), own, y, None)
        start = None
        if small.start is not None:
            start = (small.start[:-1], small.start[-1]) if tied else (small.start, 0.0)
        most = ENOUGH if small.rough else None
        # a sample is solved whatever the time: weights of a few rows are better than none
        timed = limits.untimed() if small.rough else replace(limits, seconds=None)
        inner = replace(timed, tolerance=small.tolerance, iterations=most, callback=None, rule=None)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            found = solve_part(reading, y, inner, start)
        if found.status is Status.INTERRUPTED:
            raise KeyboardInterrupt
        return SmallAnswer(found.bounds.w, found.bounds.theta, found.bounds.primal)

    return solve


def _designed(X: Any) -> Design:
    """Rows as a design."""
    return Compressed(X) if hasattr(X, "indptr") else Dense(np.asarray(X))


def _softened(own: Objective, small: SmallProblem) -> Objective:
    """A price of next to nothing on free columns, which many rows are slow to be balanced against.

    The scan balances all rows against them: what this price moves of θ costs as small a share of the bound.
    """
    soft = ROUGH if small.rough else SOFT
    a = own.sample_weight / own.sample_weight.sum()
    mean = a @ small.X
    scale = np.sqrt(np.maximum(a @ (small.X * small.X) - mean * mean, 0.0))
    if own.lam or own.budget is not None:
        size = scale / own.scale  # squared where prices are: weights of small columns are large
        prices = soft * np.where(size > 0.0, np.minimum(size, size * size), 1.0)
        return replace(own, factors=np.where(own.factors == 0.0, prices, own.factors))
    level = float(a @ own.loss.value(small.y, own.shifted(np.zeros(len(small.y)))))
    scale = np.where(scale > 0.0, scale, 1.0)
    return replace(own, penalty=L2(), lam=soft * max(level, 1e-300), scale=scale)


def _pursuit(
    reading: StreamedReading,
    sample: DrawnRows,
    positive: int,
    limits: Limits,
    *,
    scaled: bool,
    targets: Targets | None = None,
    start: Start | None = None,
) -> ScanPursuit:
    terms, source = reading.terms, reading.source
    targets = targets or Targets(reading.classes, positive, loss=reading.terms.loss)

    def asked_of(terms: Any) -> ScanTask:
        return ScanTask(terms.statement(), targets, solver_of(terms, limits), limits.tolerance, terms)

    gradients = wide(source) and served(terms.loss, terms.regulariser)
    if Trait.QUADRATIC in terms.loss.traits and not gradients:
        shift = shift_of(sample, targets)

        def make(sums: MomentSums) -> ScanTask:
            scale = scales_of(sums, tied=terms.fit_intercept) if scaled else terms.scale
            return asked_of(replace(terms, scale=scale))

        return MomentPursuit(targets, shift, make)
    asked = asked_of(terms)
    if not gradients:
        start = start or started(source, asked, sample)
    X, y, weight, _ = targets.of(sample.block())
    constant = asked.statement.loss.best_constant(
        y, np.ones(len(y)) / len(y) if weight is None else weight / weight.sum()
    )
    constant = constant if terms.fit_intercept else 0.0
    if gradients:
        return GradientPursuit(asked, (X, y, weight), source, constant, start)
    assert start is not None
    if Trait.SMOOTH in terms.loss.traits:
        return SmoothPursuit(asked, start, None, constant, source.n)
    return KinkedPursuit(asked, start, source.n, constant, source.width)


def shift_of(sample: DrawnRows, targets: Targets) -> Vector:
    """A point near the means, about which squares lose nothing."""
    X, y, _, _ = targets.of(sample.block())
    y = y if y.ndim == 1 else y[:, 0] - y[:, 1]
    if not len(y):  # of no weight, as all of them may be
        return np.zeros(X.shape[1] + 1)
    return _finite(np.append(X[:SHIFT].mean(axis=0), y[:SHIFT].mean()))


def outcome_told(
    reading: StreamedReading, run: ScanOutcome, k: int, tolerance: float, seconds: float
) -> Solution:
    """One problem's answer."""
    pursuit, found = run.pursuit, run.best
    asked = getattr(pursuit, "asked", None)
    terms: Any = reading.terms if asked is None else asked.terms
    reading = replace(reading, terms=terms)
    status = run.status.value
    if found is None:
        status = reading.early(run.status)
        w = np.asarray(getattr(pursuit, "w", np.zeros(reading.source.p + terms.fit_intercept)))
        zero = np.zeros(len(w))
        found = Checked(w, np.zeros(1), np.inf, 0.0, 0.0, zero, zero)
    statement = replace(terms.statement(), largest=_tops(pursuit))
    how = {"solver": pursuit.name, "n_iter": run.scans, "seconds": seconds, "trace": run.trace}
    facts = reading.facts(pursuit.null) | {"how": how}
    facts["n"] = facts["n"] or getattr(pursuit, "rows", 0)
    told = claimed(terms, reading.table.names, found, run.rule, statement, tolerance, facts, reading.classes)
    return replace(told, status=status)


def claimed(  # noqa: PLR0913
    terms: Any,
    names: tuple[str, ...] | None,
    found: Checked,
    rule: Any,
    statement: StreamStatement,
    tolerance: float,
    facts: dict[str, Any],
    classes: NDArray[Any] | None = None,
) -> Solution:
    """What the kernel said, and what follows from it, as a Solution; `facts` say how it was found."""
    coef, level = (found.w[:-1], float(found.w[-1])) if terms.fit_intercept else (found.w, 0.0)
    labels = None if classes is None else tuple(classes.tolist())
    proof = Certificate(
        rule, coef, level, found.primal, found.dual, terms, labels, box=found.box, tolerance=tolerance
    )
    error = distance(statement, found) if np.isfinite(found.primal) else None
    zeros: Mask = np.zeros(len(coef), dtype=bool)
    if statement.largest is not None:
        zeros = proven_zero(statement, found)[: len(coef)]
    relative = relative_gap(proof.gap, proof.objective, facts["null"])
    table = Table(read_columns(len(coef)), names)
    return answer(
        Reading(table, terms, np.empty(0), classes),
        proof,
        None,
        relative_gap=relative,
        converged=bool(relative <= tolerance),
        status=Status.CERTIFIED.value,
        coef_error=error,
        coef_error_reason="" if error is not None else no_error_bar(terms),
        proven_zero=zeros,
        facts={name: value for name, value in facts.items() if name != "how"},
        multiclass=None,
        **facts["how"],
    )


def _tops(pursuit: Any) -> Vector | None:
    if getattr(pursuit, "tops", None) is not None:
        return np.asarray(pursuit.tops)
    sums = getattr(pursuit, "sums", None)
    return None if sums is None else largest(sums.whole)


def together(reading: StreamedReading, parts: list[Solution], tolerance: float, seconds: float) -> Solution:
    """One class against the rest: sums of the values, a row of weights each."""
    reading = replace(reading, terms=parts[0].terms)
    proof = joined([part.certificate for part in parts], tolerance)
    null = sum(part.facts["null"] for part in parts)
    relative = relative_gap(proof.gap, proof.objective, null)
    errors = [part.coef_error for part in parts if part.coef_error is not None]
    failed = [part.status for part in parts if not part.converged]
    good = bool(relative <= tolerance)
    return answer(
        reading,
        proof,
        None,
        relative_gap=relative,
        converged=good,
        status=Status.CERTIFIED.value if good else (failed or [Status.STALLED.value])[0],
        solver=parts[0].solver,
        n_iter=max(part.n_iter for part in parts),
        seconds=seconds,
        trace=Trace(),
        coef_error=float(np.linalg.norm(errors)) if len(errors) == len(parts) else None,
        coef_error_reason=parts[0].coef_error_reason,
        proven_zero=np.array([part.proven_zero for part in parts]),
        facts=reading.facts(null) | {"n": parts[0].facts["n"]},
        parts=tuple(parts),
        multiclass="one_vs_rest",
    )


def fit_strengths(
    rows: Dataset,
    strengths: Vector,
    limits: Limits,
    asked: dict[str, Any],
    folds: int = 1,
    form: str = "lam",
) -> list[Solution]:
    """A fit at every λ or budget (and without every fold), all of them by the same scans."""
    began = time.perf_counter()
    limits = limits.shared()
    plain = {name: value for name, value in asked.items() if name != "multiclass"}
    plain = {**plain, form: float(strengths[0])}
    rows = with_zeros_if_needed(rows, plain)
    reading, sample, _ = read_streamed(rows, **plain)
    if reading.many_classes:
        raise DataError(
            "Rows in blocks have paths and folds for numbers and for two classes; fit each class."
        )
    _refuse_searches(reading, rows)
    pursuits = []
    for fold in range(folds):
        without = fold if folds > 1 else None
        targets = Targets(reading.classes, folds=folds, without=without, loss=reading.terms.loss)
        for strength in strengths:
            lam, budget = (float(strength), None) if form == "lam" else (None, float(strength))
            own = replace(reading, terms=replace(reading.terms, lam=lam, budget=budget))
            pursuits.append(_pursuit(own, sample, 1, limits, scaled=False, targets=targets))
    lot = len(pursuits) if Trait.SMOOTH in reading.terms.loss.traits else KINKED
    runs = []
    for k in range(0, len(pursuits), lot):
        lots = pursuits[k : k + lot]
        runs += scanned(rows.source, lots, limits, bad=lambda: refuse_bad(rows.source, reading.classes))
    seconds = time.perf_counter() - began
    return [outcome_told(reading, run, 0, limits.tolerance, seconds) for run in runs]


def sample_reading(rows: Dataset, asked: dict[str, Any]) -> Reading:
    """The problem on a sample, in memory."""
    plain = {name: value for name, value in asked.items() if name != "multiclass"}
    loss = loss_named(plain["loss"])
    classes = classes_of(rows.source) if Trait.CLASSIFICATION in loss.traits else None
    sample = drawn(rows.source, classes, loss)
    return read(sample.X, sample.y, sample_weight=sample.weight, offset=sample.shift, **plain)


def scores_of(
    rows: Dataset, coef: NDArray[np.float64], intercept: Any, names: Sequence[str] | None = None
) -> NDArray[np.float64]:
    """Xw + b of all rows, block by block; where columns have names, each by its own."""
    p = np.atleast_2d(coef).shape[1]
    if rows.source.p != p:
        raise DataError(f"The data set has {rows.source.p} columns, the fit had {p}.")
    held = rows.names
    if names is not None and held is not None and tuple(names) != tuple(held):
        absent = [name for name in names if name not in held]
        if absent:
            raise DataError(f"The data set has no column {absent[0]!r}, which the fit had.")
        coef = coef[..., [list(names).index(name) for name in held]]
    parts = []
    for block in rows.source.blocks():
        found = decisions(_designed(block.X), coef, intercept)
        parts.append(found if block.shift is None else found + block.shift)
    return np.concatenate(parts)


def certify_streamed(
    rows: Dataset, coef: Any, intercept: Any, limits: Limits, asked: dict[str, Any]
) -> Assessment:
    """How far above the optimum are these weights? A fit finds the rule, one more scan their value."""
    began = time.perf_counter()
    best = fit_streamed(rows, limits, dict(asked))
    single = best.coef.ndim == 1
    table = np.atleast_2d(np.asarray(coef, dtype=np.float64))
    levels = np.broadcast_to(np.asarray(intercept, dtype=np.float64).ravel(), (len(table),))
    if table.shape != np.atleast_2d(best.coef).shape:
        shape = np.atleast_2d(best.coef).shape
        raise DataError(f"coef has the shape {np.shape(coef)}; these rows need {shape}.")
    if not (np.isfinite(table).all() and np.isfinite(levels).all()):
        raise DataError("The weights hold NaN or infinity.")
    if not best.terms.fit_intercept and np.any(levels):
        raise DataError("fit_intercept=False, but the weights come with an intercept.")
    given = replace(
        best.certificate,
        coef=table[0] if single else table,
        intercept=float(levels[0]) if single else levels.copy(),
    )
    proof = given.recheck(rows)
    bound = max(proof.bound, best.bound) if best.certificate.box is None else proof.bound
    proof = replace(proof, bound=min(bound, proof.objective))
    null = best.facts["null"]
    return Assessment(
        objective=proof.objective,
        bound=proof.bound,
        best_known=min(best.objective, proof.objective),
        relative_gap=relative_gap(proof.gap, proof.objective, null),
        coef_error=None,
        certificate=proof,
        words=best.terms.words(),
        source="These weights",
        shape=(rows.source.n or 0, rows.source.p),
        seconds=time.perf_counter() - began,
    )
