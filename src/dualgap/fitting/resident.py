"""dg.fit on rows of a device: read what is there, pass over it, tell in NumPy's numbers."""

from __future__ import annotations

import time
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dualgap.arrays import Vector, on_device
from dualgap.blocks.resident import ResidentRows
from dualgap.device.arrivals import as_tensor, place_named, refuse_complex, to_host
from dualgap.device.matrix import held
from dualgap.drive.limits import Limits, Status
from dualgap.drive.scans import scanned
from dualgap.errors import DataError
from dualgap.fitting.inputs import Table, read_factors, read_strength
from dualgap.fitting.multiclass import read_form
from dualgap.fitting.names import loss_named, penalty_named
from dualgap.fitting.options import read_flag
from dualgap.fitting.reading import refuse_runaway
from dualgap.fitting.solution import Solution
from dualgap.fitting.streamed import (
    StreamedObjective,
    StreamedReading,
    outcome_told,
    read_columns,
    together,
)
from dualgap.losses import Loss
from dualgap.streaming.asked import MOST_CLASSES, RUN
from dualgap.streaming.bands import BandPursuit
from dualgap.streaming.columns import SumsError, refuse_bad
from dualgap.streaming.resident import (
    CHEAP,
    NearStart,
    ResidentPursuit,
    ResidentTask,
    null_slopes,
    served,
)
from dualgap.streaming.resident_products import ProductsPursuit
from dualgap.streaming.resident_table import StrengthTable
from dualgap.streaming.resident_wide import ColumnsPursuit, few_columns
from dualgap.traits import Trait

GIVEN_UP = (SumsError, np.linalg.LinAlgError)  # steps into infinity, and models without a minimiser
ELSEWHERE = ("groups", "bounds", "constraints", "offset")  # keywords that are the host's matter
FREE = 500  # columns without a price, and without a sample: each is two groups of rows in the proof
ABOVE = 100.0  # as in paths.strengths: squares alone have no λ at which the weights are zero


@dataclass(frozen=True, eq=False)
class ResidentReading:
    """What was asked of rows on a device, checked."""

    rows: ResidentRows
    reading: StreamedReading
    targets: tuple[Any, ...]  # on the device: numbers, or ±1 for the second class (for each of many)
    heavy: float

    def pursuit(
        self, terms: Any, limits: Limits, k: int = 0, weight: Any = None, start: NearStart | None = None
    ) -> Any:
        """The algorithm for one problem; `start` is where it begins, if it can make use of that."""
        matrix, task = self.rows.matrix, self.task(terms, limits, k, weight)
        if Trait.SMOOTH not in terms.loss.traits:
            return BandPursuit(matrix, task)
        if self.sampled:
            return ResidentPursuit(matrix, task)
        make = ColumnsPursuit if task.prices[0].any() else ProductsPursuit
        return make(matrix, task, start)

    @property
    def sampled(self) -> bool:
        """Does a sample tell the curvature of all rows?"""
        return self.rows.matrix.tall and not self.rows.matrix.sparse

    def solved(self, pursuits: list[Any], limits: Limits) -> list[Any]:
        """Run them, one after the other."""
        return [run for one in pursuits for run in self.together([one], limits)]

    def together(self, pursuits: list[Any], limits: Limits) -> list[Any]:
        """Run them, pass by pass."""
        return scanned(self.rows, pursuits, limits, bad=lambda: refuse_bad(self.rows, self.reading.classes))

    def task(self, terms: Any, limits: Limits, k: int = 0, weight: Any = None) -> ResidentTask:
        """One problem; `weight` in place of the rows' own."""
        own, heavy = self.rows.weight if weight is None else weight, self.heavy
        if weight is not None:
            heavy = float(weight.sum())
        eager = limits.watched or self.rows.matrix.stored <= CHEAP
        return ResidentTask(terms.statement(), self.targets[k], own, heavy, limits.tolerance, terms, eager)


def fit_resident(
    X: Any, y: Any, sample_weight: Any, device: Any, limits: Limits, asked: dict[str, Any]
) -> Solution | None:
    """The fit on the device; None where only the host can do it."""
    began = time.perf_counter()
    limits = limits.shared()
    form = asked.pop("multiclass", "auto")
    got = read_resident(X, y, sample_weight, device, asked)
    if got is None:
        return None
    many, terms = len(got.targets), got.reading.terms
    if many > 1 and read_form(form, terms.loss, terms.penalty) != "one_vs_rest":
        return None
    own = replace(limits, tolerance=0.5 * limits.tolerance) if many > 1 else limits
    try:
        with np.errstate(all="ignore"):  # sums that are no numbers are noticed
            runs = [run for k in range(many) for run in got.solved([got.pursuit(terms, own, k)], own)]
    except GIVEN_UP:
        return None  # the host takes shorter steps
    small = got.rows.matrix.stored <= CHEAP
    given_up = (Status.STALLED, Status.ROUNDING) if small else (Status.STALLED,)
    if not limits.watched and any(run.status in given_up for run in runs):
        return None  # the host has more ways, and more digits
    seconds = time.perf_counter() - began
    parts = [outcome_told(got.reading, run, k, limits.tolerance, seconds) for k, run in enumerate(runs)]
    found = parts[0] if many == 1 else together(got.reading, parts, limits.tolerance, seconds)
    return replace(found, scans=got.rows.passes)


def read_resident(
    X: Any, y: Any, sample_weight: Any, device: Any, asked: dict[str, Any]
) -> ResidentReading | None:
    """Check everything; None where the loss or the penalty is none that a device is used for."""
    loss, penalty = loss_named(asked["loss"]), penalty_named(asked.get("penalty", "l2"))
    tied = read_flag("fit_intercept", asked.get("fit_intercept", True))
    scaled = read_flag("standardize", asked.get("standardize", False))
    place = None if device is None else place_named(device)
    if penalty.takes_groups or any(asked.get(name) is not None for name in ELSEWHERE):
        return None
    if y is None:
        raise DataError("Give the targets: dg.fit(X, y, …).")
    matrix = held(X, place)
    n, p = matrix.shape
    if not n * p:
        raise DataError(f"X has {n} rows and {p} columns: there is nothing to fit.")
    refuse_complex(y, "y")
    values = as_tensor(y, matrix.place) if on_device(y) else np.asarray(y)
    if values.ndim == 2 and values.shape[1] == 1:
        values = values.reshape(-1)
    if tuple(values.shape) != (n,):
        raise DataError(f"X has {n} rows, and y the shape {tuple(values.shape)}: it needs a target for each.")
    table = Table(read_columns(p), None)
    factors = read_factors(asked.get("penalty_factors"), table)
    weight = _weights(sample_weight, matrix)
    heavy = float(n) if weight is None else float(weight.sum())
    strength: tuple[float | None, float | None] = (None, None)
    lam, C, budget = (asked.get(name) for name in ("lam", "C", "budget"))
    if penalty.takes_strength:
        strength = read_strength(lam, C, budget, heavy)
    elif any(value is not None for value in (lam, C, budget)):
        raise DataError('penalty="none" takes no strength; leave lam, C and budget out.')
    scale = matrix.scales(weight, centred=tied) if scaled else np.ones(p)
    kept = np.ones(0) if weight is None else to_host(weight)
    terms = StreamedObjective(loss, penalty, *strength, tied, kept, factors, scale)
    if not (served(loss, terms.regulariser) and _followed(loss, terms.regulariser, matrix)):
        return None
    classes, targets = _targets(values, loss, matrix, weight, tied=tied)
    rows = ResidentRows(matrix, values, weight)
    if not matrix.sweeps and not np.isfinite(matrix.tops).all():  # else the first pass sees to that
        refuse_bad(rows, classes)
    reading = StreamedReading(table, terms, np.empty(0), classes, rows, matrix.sample_spread())
    return ResidentReading(rows, reading, targets, heavy)


def _followed(loss: Loss, regulariser: Any, matrix: Any) -> bool:
    """Is there a way for rows of this shape?"""
    if Trait.SMOOTH not in loss.traits:
        return bool(matrix.tall and matrix.roomy)
    if matrix.tall and not matrix.sparse:
        return True
    if regulariser.gauge.elastic.l1[: matrix.p].any():
        return few_columns(regulariser, matrix.p)
    return int(np.count_nonzero(regulariser.free)) <= (FREE if matrix.tall else 1 + FREE // 2)


def _weights(given: Any, matrix: Any) -> Any:
    if given is None:
        return None
    refuse_complex(given, "sample_weight")
    if not on_device(given):
        try:
            given = np.asarray(given, dtype=np.float64)
            given = given if given.ndim else np.full(matrix.n, given)
        except (TypeError, ValueError):
            raise DataError("sample_weight holds no numbers, but weights are numbers.") from None
    weight = as_tensor(given, matrix.place).to(matrix.torch.float64)
    if weight.ndim == 2 and weight.shape[1] == 1:
        weight = weight[:, 0]
    weight = weight.contiguous()  # or no kernel takes it
    if weight.shape != (matrix.n,):
        raise DataError(f"sample_weight must hold one number for each of the {matrix.n} rows.")
    bad = ~(matrix.torch.isfinite(weight) & (weight >= 0.0))
    if bool(bad.any()):
        i = int(to_host(bad).argmax())
        raise DataError(f"The weight is {float(weight[i])} in row {i}; weights are finite and not negative.")
    if not bool((weight > 0.0).any()):
        raise DataError("All weights are zero: no row counts.")
    return weight


def _targets(
    y: Any, loss: Loss, matrix: Any, weight: Any, *, tied: bool
) -> tuple[NDArray[Any] | None, tuple[Any, ...]]:
    """Classes, and the targets of every problem on the device."""
    if Trait.CLASSIFICATION in loss.traits:
        classes, number = matrix.labelled(y) if on_device(y) else _labelled(y, matrix)
        if len(classes) == 1:
            raise DataError(
                f"y has one class only, {classes.tolist()[0]!r}: a classifier needs at least two classes."
            )
        if len(classes) > MOST_CLASSES:
            raise DataError(f"y has {len(classes)} different values: a classification loss needs classes.")
        chosen = (1,) if len(classes) == 2 else range(len(classes))
        targets = tuple((number == k) * 2.0 - 1.0 for k in chosen)
        return classes, tuple(one.to(matrix.torch.float64) for one in targets)
    try:
        numbers = y if on_device(y) else np.asarray(y, dtype=np.float64)
    except (TypeError, ValueError):
        raise DataError("y holds no numbers, but a regression loss needs them.") from None
    target = as_tensor(numbers, matrix.place).to(matrix.torch.float64).contiguous()
    beyond = ~matrix.torch.isfinite(target) | (target < loss.lowest) | (target > loss.highest)
    if weight is not None:
        beyond = beyond & (weight > 0.0)
    if bool(beyond.any()):
        i = int(to_host(beyond).argmax())
        raise DataError(f"The {loss.name} loss needs {loss.needs}; y is {float(target[i]):g} in row {i}.")
    if Trait.ATTAINED not in loss.traits and not bool((target != target[0]).any()):
        refuse_runaway(loss, to_host(target[:1]), Table(read_columns(matrix.p), None), intercept=tied)
    return None, (target,)


def _labelled(y: Any, matrix: Any) -> tuple[NDArray[Any], Any]:
    classes, number = np.unique(np.asarray(y), return_inverse=True)
    return classes, as_tensor(number.reshape(-1), matrix.place)


def largest_strength(got: ResidentReading) -> float:
    """The λ from which on no priced column has a weight; for squares alone ABOVE times the natural size."""
    terms, matrix = got.reading.terms, got.rows.matrix
    task = got.task(replace(terms, lam=1.0), Limits())
    gauge: Any = task.statement.regulariser.gauge
    v = matrix.pulled(null_slopes(task)[:, None])[:, 0]
    v = np.append(to_host(v), 0.0)[: len(gauge.free)] / got.heavy
    top = float(gauge.smallest_strength_at_zero(v))
    if np.isfinite(top):
        return top
    l2 = gauge.elastic.l2
    return ABOVE * float(np.max(np.abs(v[l2 > 0.0]) / l2[l2 > 0.0], initial=0.0))


def fit_columns(
    got: ResidentReading, lams: Vector, limits: Limits, folds: int = 1
) -> list[list[tuple[Solution, float]]]:
    """A fit at every strength without every fold (of all rows if there is one), and its loss on the fold."""
    matrix, loss = got.rows.matrix, got.reading.terms.loss
    fold = matrix.index((np.arange(matrix.n) // RUN) % folds)
    own = got.rows.weight
    found: list[list[tuple[Solution, float]]] = []
    near: tuple[Any, Any] | None = None
    for k in range(folds):
        weight, held = own, None
        if folds > 1:
            inside = (fold != k).to(matrix.torch.float64)
            weight = inside if own is None else inside * own
            held = 1.0 - inside if own is None else (1.0 - inside) * own
        row = [outcome_of(got, run, limits) for run in _strengths(got, lams, limits, weight, near)]
        near = np.array([told.coef for told in row]), np.array([float(told.intercept) for told in row])
        scores = [0.0] * len(row)
        if held is not None:
            matrix.foresee([told.coef for told in row])
            for i, told in enumerate(row):
                z = matrix.times(told.coef)[0] + float(told.intercept)
                scores[i] = float((held * loss.value(got.targets[0], z)).sum() / held.sum())
        found.append(list(zip(row, scores, strict=True)))
    return found


def _strengths(
    got: ResidentReading, lams: Vector, limits: Limits, weight: Any, near: tuple[Any, Any] | None
) -> list[Any]:
    """A run at every strength; smooth losses of tall dense rows are started and proven together."""
    terms = [replace(got.reading.terms, lam=float(lam), budget=None) for lam in lams]
    if Trait.SMOOTH not in got.reading.terms.loss.traits or not got.sampled:
        return _followed_down(got, terms, limits, weight, near)
    table = StrengthTable(got.rows.matrix, [got.task(one, limits, weight=weight) for one in terms])
    pursuits = [
        ResidentPursuit(table.matrix, task, start)
        for task, start in zip(table.tasks, table.starts(near), strict=True)
    ]
    runs = []
    for i in range(0, len(pursuits), table.width):
        runs += got.together(pursuits[i : i + table.width], limits)
    return runs


def _followed_down(
    got: ResidentReading, terms: list[Any], limits: Limits, weight: Any, near: tuple[Any, Any] | None
) -> list[Any]:
    """One after the other, each from the answer of the one before it, or of another fold."""
    runs: list[Any] = []
    smooth = Trait.SMOOTH in got.reading.terms.loss.traits
    for k, one in enumerate(terms):
        start = None
        if smooth and runs:
            last = runs[-1].pursuit
            start = NearStart(last.coef, last.level, None, last.null)
        if start is not None and near is not None:
            start = replace(start, coef=near[0][k], level=float(near[1][k]))
        runs += got.solved([got.pursuit(one, limits, weight=weight, start=start)], limits)
    return runs


def outcome_of(got: ResidentReading, run: Any, limits: Limits) -> Solution:
    """What a run found."""
    return outcome_told(got.reading, run, 0, limits.tolerance, run.trace[-1].seconds if run.trace else 0.0)


def fold_weights(got: ResidentReading, folds: int) -> Vector:
    """Σs of every fold."""
    fold = (np.arange(got.rows.matrix.n) // RUN) % folds
    own = None if got.rows.weight is None else to_host(got.rows.weight)
    return np.asarray(np.bincount(fold, weights=own, minlength=folds), dtype=np.float64)
